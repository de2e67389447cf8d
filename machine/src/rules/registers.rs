//! Registers of a thread, estimated from the values that are live at the same time.
//!
//! The rules assign no registers. `ptxas` needs a place for each value that is still read, so the
//! most live words of the PTX lie near the registers that it takes. It takes fewer where it
//! computes addresses again, and more where it unrolls a loop and loads ahead.
//! `docs/evidence/machine-rules.md` has how far `ptxas` 12.9 is from the estimate.

use std::collections::BTreeSet;

use gpucast_counters::{DeviceModel, RegisterRange, ThreadRegisters};
use gpucast_ptx_frontend::cfg::ControlFlowGraph;
use gpucast_ptx_frontend::liveness::Liveness;
use gpucast_ptx_frontend::module::{
    Function, FunctionId, FunctionKind, Module, Operand, PerformanceDirectives, TargetList,
};

/// Registers that `ptxas` takes beyond the estimate, of kernels with few.
const MORE: u32 = 12;

/// What a kernel says of its registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegisterDemand {
    /// The most words of 32 bits that live values take at the same time.
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

    /// The registers that an assembler would give a thread on a GPU. It keeps to the limits that
    /// the kernel states, and spills what is beyond.
    #[must_use]
    pub fn on(&self, device: &DeviceModel) -> ThreadRegisters {
        let of_bounds = self.threads.and_then(|threads| device.most_registers(threads, self.ctas));
        let limit = self.most.into_iter().chain(of_bounds).min().unwrap_or(u32::MAX);
        let words = self.live_words;
        let least = u64::from(words) * 2 / 3;
        let most = (u64::from(words) * 4 / 3).max(u64::from(words) + u64::from(MORE));
        let limited = |registers: u64| u32::try_from(registers).unwrap_or(u32::MAX).min(limit);
        ThreadRegisters {
            count: words.min(limit),
            estimated: Some(RegisterRange { least: limited(least), most: limited(most) }),
        }
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
