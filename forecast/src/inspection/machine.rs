//! Figures from a cubin for the PTX kernel of the same name.

use gpucast_counters::{Kind, MetricValue, Number};
use gpucast_ptx_frontend::container::{Cubin, CubinKernel};
use serde::Serialize;

use crate::input::plan::Plan;

/// The machine code of a kernel for one architecture, as its compiler made it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct MachineCode {
    /// `sm_80`.
    pub target: String,
    /// Registers of a thread.
    pub registers_per_thread: u32,
    /// Static shared memory of a CTA; from sm_90 on with the kilobyte that the system takes.
    pub shared_bytes: u64,
    /// Stack of a thread with all calls, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stack_bytes: Option<u32>,
    /// Local memory outside the stack.
    pub local_bytes: u64,
    /// All constant banks of the kernel and those that the module's kernels share.
    pub constant_bytes: u64,
    /// Bytes of the parameters.
    pub parameter_bytes: u32,
    /// Bytes of the instructions.
    pub code_bytes: u64,
}

/// Machine code for one architecture.
#[derive(Serialize)]
#[non_exhaustive]
pub struct MachineFile {
    /// `sm_80`.
    pub target: String,
    /// Its kernels.
    pub kernels: Vec<NamedMachineCode>,
}

#[derive(Serialize)]
pub struct NamedMachineCode {
    pub name: String,
    #[serde(flatten)]
    pub facts: MachineCode,
}

impl MachineCode {
    /// The facts of a kernel of a cubin.
    pub fn of(cubin: &Cubin, kernel: &CubinKernel) -> Self {
        let banks = kernel.constant_banks.iter().chain(&cubin.constant_banks);
        Self {
            target: cubin.target.to_string(),
            registers_per_thread: kernel.registers,
            shared_bytes: kernel.shared_bytes,
            stack_bytes: kernel.stack_bytes,
            local_bytes: kernel.local_bytes,
            constant_bytes: banks.map(|bank| bank.bytes).sum(),
            parameter_bytes: kernel.param_bytes,
            code_bytes: kernel.code_bytes,
        }
    }

    /// Returns the figures that each of `cubins` has for the kernel `name`.
    pub fn of_kernel(cubins: &[Cubin], name: &str) -> Vec<Self> {
        let fits = |cubin: &Cubin| {
            let kernel = cubin.kernels.iter().find(|kernel| kernel.name == name)?;
            Some(Self::of(cubin, kernel))
        };
        cubins.iter().filter_map(fits).collect()
    }
}

impl MachineFile {
    pub(super) fn of(cubin: &Cubin) -> Self {
        let named = |kernel: &CubinKernel| NamedMachineCode {
            name: kernel.name.clone(),
            facts: MachineCode::of(cubin, kernel),
        };
        Self {
            target: cubin.target.to_string(),
            kernels: cubin.kernels.iter().map(named).collect(),
        }
    }
}

/// Facts of a launch that its machine code settles, whatever is executed.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct MachineFacts {
    /// The architecture of the machine code.
    pub target: String,
    /// Registers of a thread.
    pub registers_per_thread: MetricValue,
    /// Static, of a CTA.
    pub shared_bytes: MetricValue,
    /// Stack and other local memory of a thread; missing where recursion leaves it open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub local_bytes: Option<MetricValue>,
}

impl MachineFacts {
    /// The facts of a plan's kernel: those of the asked or the PTX's own architecture, else those
    /// of the newest that the container has.
    pub fn of(plan: &Plan, kernel: &str) -> Option<Self> {
        let has_kernel =
            |cubin: &&Cubin| cubin.kernels.iter().any(|kernel_there| kernel_there.name == kernel);
        let preference = |cubin: &&Cubin| {
            let sm = plan.target.map(|target| target.sm);
            (Some(cubin.target) == plan.target, Some(cubin.target.sm) == sm, cubin.target)
        };
        let cubin = plan.cubins.iter().filter(has_kernel).max_by_key(preference)?;
        let code = cubin.kernels.iter().find(|found| found.name == kernel)?;
        let fact = |count: u64, unit| MetricValue {
            value: Number::Count(count.into()),
            unit,
            kind: Kind::Exact,
        };
        let local = code.stack_bytes.map(|stack| u64::from(stack) + code.local_bytes);
        Some(Self {
            target: cubin.target.to_string(),
            registers_per_thread: fact(code.registers.into(), "register"),
            shared_bytes: fact(code.shared_bytes, "byte"),
            local_bytes: local.map(|bytes| fact(bytes, "byte")),
        })
    }
}

impl std::fmt::Display for MachineFacts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let count = |fact: &MetricValue| match fact.value {
            Number::Count(count) => crate::number::count(count),
            Number::Real(real) => crate::number::real(real),
        };
        write!(
            f,
            "machine code for {}: {} registers per thread, {} bytes of static shared memory",
            self.target,
            count(&self.registers_per_thread),
            count(&self.shared_bytes)
        )?;
        match &self.local_bytes {
            Some(bytes) => write!(f, ", {} bytes of local memory per thread", count(bytes)),
            None => Ok(()),
        }
    }
}
