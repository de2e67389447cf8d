//! When the result of an instruction is there, on a machine that does nothing else.

use gpucast_simulation::code::{
    AccessKind, Action, Instruction, MemoryAccess, Space, TensorMemoryAction,
};
use gpucast_simulation::launch::Request;
use gpucast_simulation::parameters::Parameters;
use gpucast_simulation::states::State;

/// The result of an instruction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Latency {
    /// Clocks from issue until its result is there.
    pub(super) result: f64,
    /// Clocks from issue until its operands may be overwritten.
    pub(super) operands: f64,
    /// The state of a warp that waits for the result.
    pub(super) cause: State,
    /// True if the result comes through the data stage of the load-store path.
    pub(super) uses_path: bool,
}

/// Clocks that the data stage hides in the latency of the caches.
const HIDDEN_CLOCKS: f64 = 2.0;

/// The latency of an instruction whose access has a request, if lanes take part.
pub(super) fn latency(
    instruction: &Instruction,
    request: Option<&Request>,
    parameters: &Parameters,
) -> Latency {
    let operand_latency = parameters.load_store.operand_latency;
    let of_class = parameters.latencies[instruction.class as usize];
    let computed = |result: f64| Latency {
        result,
        operands: result.min(operand_latency),
        cause: State::ShortScoreboard,
        uses_path: false,
    };
    match instruction.action {
        Action::Access(access) => of_access(&access, request, parameters),
        Action::Multiply { .. } => {
            let interval = parameters.unit_of(instruction).interval;
            computed(interval + parameters.tensor.tensor_latency)
        }
        Action::Fence(scope) => Latency {
            cause: State::Membar,
            ..computed(parameters.synchronisation.fences[scope as usize])
        },
        Action::TensorMemory(action) => {
            let (result, cause) = of_tensor_memory(&action, request, parameters);
            Latency { cause, ..computed(result) }
        }
        Action::Compute
        | Action::CtaBarrier { .. }
        | Action::CtaArrive { .. }
        | Action::AwaitCounter { .. }
        | Action::CommitCopies { .. }
        | Action::ArriveAtPhase { .. }
        | Action::AwaitPhase { .. }
        | Action::AwaitProducts { .. }
        | Action::Exit => computed(of_class),
    }
}

/// The latency of an instruction of tensor memory, and the state of warps that wait for it.
fn of_tensor_memory(
    action: &TensorMemoryAction,
    request: Option<&Request>,
    parameters: &Parameters,
) -> (f64, State) {
    match (action, request.filter(|request| request.lanes > 0)) {
        (TensorMemoryAction::Multiply(product), Some(request)) => {
            (parameters.product_clocks(product, request).latency, State::Products)
        }
        (TensorMemoryAction::Copy { .. }, Some(request)) => {
            (parameters.tensor_copy_clocks(request).latency, State::Products)
        }
        (TensorMemoryAction::Transfer { bytes, writes }, _) => {
            let moving = parameters.transfer_clocks(*bytes, *writes);
            (moving + parameters.load_store.shared_latency, State::ShortScoreboard)
        }
        _ => (0.0, State::Products),
    }
}

fn of_access(access: &MemoryAccess, request: Option<&Request>, parameters: &Parameters) -> Latency {
    let path = &parameters.load_store;
    let memory = &parameters.memory;
    let operands = path.operand_latency;
    let short = |result: f64, uses_path| Latency {
        result,
        operands,
        cause: State::ShortScoreboard,
        uses_path,
    };
    let Some(request) = request.filter(|request| request.lanes > 0) else {
        let is_constant = access.space == Space::Constant;
        return short(if is_constant { path.constant_latency } else { path.shared_latency }, false);
    };
    let space = if access.space == Space::Generic { request.space } else { access.space };
    let passes = f64::from(request.passes.max(1));
    match space {
        Space::Constant => short(path.constant_latency + passes - 1.0, false),
        Space::Shared => {
            let shown = (path.shared_clocks(access, request) - HIDDEN_CLOCKS).max(0.0);
            short(path.shared_latency + shown, true)
        }
        Space::Global | Space::Local | Space::Generic => {
            let shown = (path.global_clocks(access, request) - HIDDEN_CLOCKS).max(0.0);
            // Half of the hits of a partitioned L2 are in the partition farther away.
            let l2 = memory.l2_latency + memory.l2_far_latency / 2.0;
            let (latency, cause) = match access.kind {
                AccessKind::Store => (operands, State::L1Latency),
                AccessKind::BulkStore => (operands, State::L2Latency),
                AccessKind::Atomic | AccessKind::Reduction | AccessKind::BulkReduction => {
                    let in_turn = f64::from(request.serial.max(1)) - 1.0;
                    let in_turn = in_turn * memory.atomic_interval;
                    (l2 + memory.atomic_latency + in_turn, State::L2Latency)
                }
                AccessKind::Load | AccessKind::AsyncCopy { .. } | AccessKind::BulkCopy => {
                    if request.dram_sectors > 0 {
                        (memory.memory_latency, State::DramLatency)
                    } else if request.l2_sectors > 0 {
                        (l2, State::L2Latency)
                    } else {
                        (path.l1_latency, State::L1Latency)
                    }
                }
            };
            Latency { result: latency + shown, operands, cause, uses_path: true }
        }
    }
}
