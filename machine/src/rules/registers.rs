//! Registers of a thread, estimated from the values that are live at the same time.
//!
//! The rules assign no registers. `ptxas` needs a place for each value that is still read, so the
//! most live words of the code that the rules arrange lie near the registers that it takes. The
//! rules load ahead without regard to registers. `ptxas` does so with up to 32, and beyond them
//! keeps to what the order of the PTX needs. `docs/evidence/machine-rules.md` has how far `ptxas`
//! 12.9 is from the estimate.

use std::collections::BTreeSet;

use gpucast_counters::{DeviceModel, RegisterRange, ThreadRegisters};
use gpucast_ptx_frontend::cfg::ControlFlowGraph;
use gpucast_ptx_frontend::liveness::Liveness;
use gpucast_ptx_frontend::module::{
    Function, FunctionId, FunctionKind, Module, Operand, PerformanceDirectives, TargetList,
};

/// Registers that `ptxas` 12.9 takes beyond live words: the median of small kernels. Pairs and
/// quadruples must be aligned, and addresses are computed where the rules see none.
const RESERVE: u32 = 5;

/// The registers up to which `ptxas` 12.9 loads ahead (sm_50 to sm_90).
const AHEAD: u32 = 32;

/// Registers that `ptxas` takes beyond the estimate, of kernels with few.
const MORE: u32 = 12;

/// What a kernel says of its registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegisterDemand {
    /// The most words of 32 bits that live values take at the same time, in the order of the PTX.
    pub live_words: u32,
    /// `.maxnreg`.
    most: Option<u32>,
    /// Threads of a CTA by `.reqntid` or `.maxntid`.
    threads: Option<u64>,
    /// `.minnctapersm`.
    ctas: u32,
}

impl RegisterDemand {
    /// That of `kernel`; `None` if the module has no such kernel with a body.
    #[must_use]
    pub fn new(module: &Module, kernel: &str) -> Option<Self> {
        let functions = (0..).map(FunctionId).zip(&module.functions);
        let mut entries = functions.filter(|(_, function)| {
            function.kind == FunctionKind::Entry
                && function.name == kernel
                && function.body.is_some()
        });
        let (id, entry) = entries.next()?;
        let all = reachable(module, id).into_iter();
        let live_words = all.filter_map(|function| most_words(module, function)).max()?;
        let PerformanceDirectives { maxntid, reqntid, minnctapersm, maxnreg, .. } =
            entry.directives;
        let threads = |extents: [u32; 3]| extents.into_iter().map(u64::from).product();
        Some(Self {
            live_words,
            most: maxnreg,
            threads: reqntid.or(maxntid).map(threads),
            ctas: minnctapersm.unwrap_or(1),
        })
    }

    /// The registers that an assembler would give a thread on a GPU, if `code_words` are live in
    /// the code that the rules arrange ([`Compiled::live_words`](super::Compiled::live_words)). It
    /// keeps to the limits of the GPU and to those that the kernel states, and spills what is
    /// beyond.
    #[must_use]
    pub fn on(&self, device: &DeviceModel, code_words: u32) -> ThreadRegisters {
        let limit = self.limit(device);
        let (count, RegisterRange { least, most }) = self.unlimited(code_words);
        ThreadRegisters {
            count: count.min(limit),
            estimated: Some(RegisterRange { least: least.min(limit), most: most.min(limit) }),
            spilled: least.saturating_sub(limit),
        }
    }

    /// The same for a thread that is known to have `count` registers.
    #[must_use]
    pub fn with(&self, count: u32, code_words: u32) -> ThreadRegisters {
        let (_, RegisterRange { least, .. }) = self.unlimited(code_words);
        ThreadRegisters { count, estimated: None, spilled: least.saturating_sub(count) }
    }

    /// The most registers of a thread, by the GPU and by what the kernel states.
    fn limit(&self, device: &DeviceModel) -> u32 {
        let of_bounds = self.threads.and_then(|threads| device.most_registers(threads, self.ctas));
        let stated = self.most.into_iter().chain(of_bounds);
        stated.chain([device.limits.max_registers_per_thread]).min().unwrap_or(u32::MAX)
    }

    /// The registers without any limit, and their range.
    fn unlimited(&self, code_words: u32) -> (u32, RegisterRange) {
        let of_code = code_words.saturating_add(RESERVE);
        let count = of_code.min(self.live_words.max(AHEAD));
        let two_thirds = u64::from(count) * 2 / 3;
        let most = (count / 2).max(MORE).saturating_add(count).max(of_code);
        (count, RegisterRange { least: u32::try_from(two_thirds).unwrap_or(u32::MAX), most })
    }
}

/// The most live words of one function.
fn most_words(module: &Module, id: FunctionId) -> Option<u32> {
    let Function { body, registers, .. } = &module.functions[id.index()];
    let body = body.as_ref()?;
    let graph = ControlFlowGraph::new(body).ok()?;
    let liveness = Liveness::new(&body.instructions, &graph, registers.len());
    Some(liveness.most_words(&graph, registers))
}

/// The functions that a kernel names, and those that they name. A callee saves what its caller
/// still needs, so that a kernel takes the registers of the function that needs most.
fn reachable(module: &Module, kernel: FunctionId) -> BTreeSet<FunctionId> {
    let mut found = BTreeSet::from([kernel]);
    let mut pending = vec![kernel];
    while let Some(id) = pending.pop() {
        let Some(body) = &module.functions[id.index()].body else { continue };
        let operands = body.instructions.iter().flat_map(|instruction| &instruction.operands);
        let named = operands.flat_map(|operand| match operand {
            Operand::Function(callee) => vec![*callee],
            Operand::Targets(list) => match body.target_lists.get(list.index()) {
                Some(TargetList::Functions(callees)) => callees.clone(),
                _ => Vec::new(),
            },
            _ => Vec::new(),
        });
        pending.extend(named.filter(|callee| found.insert(*callee)));
    }
    found
}
