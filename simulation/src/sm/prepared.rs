//! Machine code in the form that the loop of the simulation reads.

use crate::code::{Action, Class, Control, MemoryAccess, Space};
use crate::launch::{CtaTrace, Launch};
use crate::parameters::{Parameters, Unit, UnitUse};
use crate::walk::QueueUses;

/// Instruction in the loop's form.
#[derive(Clone, Copy, Debug)]
pub(super) struct Op {
    pub(super) control: Control,
    pub(super) action: Action,
    pub(super) units: UnitUse,
    /// Clocks until a result that a barrier announces is there.
    pub(super) latency: f64,
    /// The line of code that it is in.
    pub(super) line: u32,
    /// True if it takes a place in the sub-core's queue for the load-store path.
    pub(super) is_queued: bool,
    /// A product that waits for the tensor core beside its warp.
    pub(super) runs_beside: bool,
    /// True if that queue is named after global accesses.
    pub(super) is_global: bool,
    pub(super) class: Class,
}

/// The code with everything looked up.
#[derive(Clone, Debug)]
pub(super) struct Prepared {
    pub(super) ops: Vec<Op>,
    /// First and end instruction of each block.
    pub(super) blocks: Vec<(u32, u32)>,
    /// Barriers that the code uses.
    pub(super) barriers: usize,
    /// Barriers whose events are waited for by number.
    pub(super) counted: u64,
    pub(super) lines: usize,
    /// Executions of instructions of each queue, by class, sample and warp.
    pub(super) executions: Vec<Vec<Vec<Vec<u64>>>>,
}

impl Prepared {
    pub(super) fn new(launch: &Launch, parameters: &Parameters) -> Self {
        let code = &launch.code;
        let bytes = f64::from(code.bytes) / code.instructions.len().max(1) as f64;
        let in_line = (parameters.launch.code_line_bytes / bytes.max(1.0)).max(1.0);
        let mut barriers = 0;
        let mut counted = 0_u64;
        let ops: Vec<Op> = code
            .instructions
            .iter()
            .enumerate()
            .map(|(index, instruction)| {
                let control = instruction.control;
                for barrier in [control.write_barrier, control.read_barrier].into_iter().flatten() {
                    barriers = barriers.max(usize::from(barrier & 63) + 1);
                }
                barriers = barriers.max(64 - control.wait_mask.leading_zeros() as usize);
                if let Action::AwaitCounter { counter, .. } = instruction.action {
                    counted |= 1 << (counter & 63);
                    barriers = barriers.max(usize::from(counter & 63) + 1);
                }
                let class = instruction.class as usize;
                let mut units = parameters.units[class];
                if let Action::Multiply { multiply_adds, format, .. } = instruction.action {
                    let rate = parameters.tensor.rates[format as usize];
                    let of_sub_core = rate / f64::from(parameters.issue.sub_cores.max(1));
                    if of_sub_core > 0.0 {
                        units.unit = Some(Unit::Tensor);
                        units.interval = f64::from(multiply_adds) / of_sub_core;
                    }
                }
                let is_queued = matches!(instruction.action, Action::Access(_))
                    || instruction.class == Class::Shuffle;
                Op {
                    control,
                    action: instruction.action,
                    units,
                    latency: match instruction.action {
                        Action::Multiply { .. } => units.interval + parameters.tensor.latency,
                        _ => parameters.latencies[class],
                    },
                    line: (index as f64 / in_line) as u32,
                    is_queued,
                    runs_beside: matches!(
                        instruction.action,
                        Action::Multiply { is_asynchronous: true, .. }
                    ),
                    is_global: matches!(
                        instruction.action,
                        Action::Access(MemoryAccess { space, .. })
                            if matches!(space, Space::Global | Space::Local | Space::Generic)
                    ),
                    class: instruction.class,
                }
            })
            .collect();
        let blocks: Vec<(u32, u32)> = (0..code.blocks.len())
            .map(|block| code.range(block))
            .map(|r| (r.start, r.end))
            .collect();
        let uses = QueueUses::of(code);
        let executions = launch
            .classes
            .iter()
            .map(|class| {
                let of_cta =
                    |cta: &CtaTrace| cta.warps.iter().map(|warp| uses.executions(warp)).collect();
                class.samples.iter().map(of_cta).collect()
            })
            .collect();
        let lines = ops.last().map_or(0, |op| op.line as usize + 1);
        Self { ops, blocks, barriers, counted, lines, executions }
    }
}
