//! Machine code in the form that the loop of the simulation reads.

use super::gates::Needs;
use super::phases::expected;
use crate::clock::clock_at;
use crate::code::{Action, Class, Control, MemoryAccess, Space, TensorMemoryAction};
use crate::launch::{CtaClass, Launch};
use crate::parameters::{Parameters, UnitUse};
use crate::walk::QueueUses;

/// Instruction in the loop's form.
#[derive(Clone, Copy, Debug)]
pub(super) struct Op {
    pub(super) control: Control,
    pub(super) action: Action,
    pub(super) units: UnitUse,
    /// Its unit and its queue, as the scheduler asks for them.
    pub(super) needs: Needs,
    /// Clocks until a result that a barrier announces is there.
    pub(super) latency: f64,
    /// The same in whole clocks.
    pub(super) latency_clocks: u64,
    /// Clocks until its operands may be overwritten, if it is no access.
    pub(super) operand_clocks: u64,
    /// True if an operand may be a constant that has to be fetched before it issues.
    pub(super) reads_constant: bool,
    /// The line of code that it is in.
    pub(super) line: u32,
    /// True if it takes a place in the sub-core's queue for the load-store path.
    pub(super) is_queued: bool,
    /// True if that queue is named after global accesses.
    pub(super) is_global: bool,
    pub(super) class: Class,
}

/// The code with everything looked up.
#[derive(Clone, Debug)]
pub(crate) struct Prepared {
    pub(super) ops: Vec<Op>,
    /// First and end instruction of each block.
    pub(super) blocks: Vec<(u32, u32)>,
    /// Barriers that the code uses.
    pub(super) barriers: usize,
    /// Barriers whose events are waited for by number.
    pub(super) counted: u64,
    pub(super) lines: usize,
    /// Arrivals at the phases of mbarriers, by class, sample and phase.
    pub(super) phases: Vec<Vec<Vec<u32>>>,
}

impl Prepared {
    pub(crate) fn new(launch: &Launch, parameters: &Parameters) -> Self {
        let code = &launch.code;
        let bytes = f64::from(code.bytes) / code.instructions.len().max(1) as f64;
        let in_line = (parameters.launch.code_line / bytes.max(1.0)).max(1.0);
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
                let units = parameters.unit_of(instruction);
                let is_queued = matches!(instruction.action, Action::Access(_) | Action::Fence(_))
                    || instruction.class == Class::Shuffle;
                let latency = match instruction.action {
                    Action::Multiply { .. } => units.interval + parameters.tensor.tensor_latency,
                    Action::TensorMemory(TensorMemoryAction::Transfer { .. }) => {
                        units.interval + parameters.load_store.shared_latency
                    }
                    _ => parameters.latencies[class],
                };
                let operands = latency.min(parameters.load_store.operand_latency);
                // A product beside the warp waits for the tensor core in its queue.
                let awaited = match instruction.action {
                    Action::Multiply { is_asynchronous: true, .. } => {
                        UnitUse { unit: None, ..units }
                    }
                    _ => units,
                };
                Op {
                    control,
                    action: instruction.action,
                    units,
                    needs: Needs::new(&awaited, is_queued),
                    latency,
                    latency_clocks: clock_at(latency),
                    operand_clocks: operands as u64,
                    reads_constant: !is_queued && instruction.constant.is_some(),
                    line: (index as f64 / in_line) as u32,
                    is_queued,
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
        let of_class = |class: &CtaClass| {
            class.samples.iter().map(|cta| expected(launch, &uses, cta)).collect()
        };
        let phases = launch.classes.iter().map(of_class).collect();
        let lines = ops.last().map_or(0, |op| op.line as usize + 1);
        Self { ops, blocks, barriers, counted, lines, phases }
    }
}
