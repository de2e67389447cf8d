//! The order of an instruction's accesses, as its text gives it.

use gpucast_interpreter::{GroupQueue, Program};
use gpucast_ptx_frontend::isa::{Modifier as M, Opcode as O};
use gpucast_ptx_frontend::module::Instruction;

/// Facts about one instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Role {
    /// Relaxed, acquire, release or volatile: two such accesses of different warps are no race
    /// (manual, memory consistency model: morally strong).
    pub(crate) strong: bool,
    /// Volatile only: strong between warps, but no substitute for `bar.warp.sync` within one.
    pub(crate) volatile: bool,
    /// True if it publishes the thread's earlier actions.
    pub(crate) releases: bool,
    /// A use of an mbarrier object: atomic unless it makes the object. Ending it counts as a use:
    /// libcu++ lets one lane do that for others that it has met in `match.any.sync` only.
    pub(crate) mbarrier: bool,
    /// `cp.async`, whose write is pending until it is waited for.
    pub(crate) copy: bool,
    /// An asynchronous operation that tells an mbarrier of its bytes.
    pub(crate) bulk: bool,
    /// The queue in which its reads of shared memory are pending until their group is waited for.
    pub(crate) reads_later: Option<GroupQueue>,
    /// One thread starts it and the tensor cores read shared memory for it, so that the lanes of
    /// its accesses are nobody's.
    pub(crate) of_no_thread: bool,
    /// `tcgen05.commit`: it tells an mbarrier when the tensor cores are done for its thread.
    pub(crate) commits: bool,
    /// `bar` and `barrier`: all threads of a warp must execute it together.
    pub(crate) aligned: bool,
    /// `bar` and `barrier` with a number of threads.
    pub(crate) counted: bool,
    /// A mask names the lanes that execute it together.
    pub(crate) names_lanes: bool,
    /// The lanes may be at any instruction of this kind.
    pub(crate) meets_anywhere: bool,
}

impl Role {
    fn of(instruction: &Instruction) -> Self {
        let has = |modifier| instruction.has(modifier);
        let volatile = has(M::Volatile);
        let ordered = [M::Relaxed, M::Acquire, M::Release, M::AcqRel, M::Mmio, M::Sc];
        let opcode = instruction.opcode;
        let barrier = matches!(opcode, O::Bar | O::Barrier);
        let reduces = has(M::Popc) || has(M::And) || has(M::Or);
        let operands = instruction.operands.len();
        Self {
            strong: volatile || ordered.into_iter().any(has),
            volatile,
            releases: has(M::Release) || has(M::AcqRel),
            mbarrier: matches!(
                opcode,
                O::MbarrierArrive
                    | O::MbarrierArriveDrop
                    | O::MbarrierExpectTx
                    | O::MbarrierCompleteTx
                    | O::MbarrierTestWait
                    | O::MbarrierTryWait
                    | O::MbarrierInval
                    | O::CpAsyncMbarrierArrive
                    | O::Tcgen05Commit
            ),
            copy: opcode == O::CpAsync,
            bulk: matches!(
                opcode,
                O::CpAsyncBulk
                    | O::CpReduceAsyncBulk
                    | O::CpAsyncBulkTensor
                    | O::StAsync
                    | O::RedAsync
            ) || opcode == O::ClusterlaunchcontrolTryCancel,
            reads_later: match opcode {
                O::WgmmaMmaAsync | O::WgmmaMmaAsyncSp => Some(GroupQueue::Warpgroup),
                _ if has(M::BulkGroup) => Some(GroupQueue::Bulk),
                _ => None,
            },
            of_no_thread: matches!(
                opcode,
                O::Tcgen05Cp
                    | O::Tcgen05Mma
                    | O::Tcgen05MmaSp
                    | O::Tcgen05MmaWs
                    | O::Tcgen05MmaWsSp
                    | O::Tcgen05Shift
            ),
            commits: opcode == O::Tcgen05Commit,
            aligned: opcode == O::Bar || barrier && has(M::Aligned),
            counted: barrier && operands > if reduces { 3 } else { 1 },
            names_lanes: opcode == O::BarWarp
                || has(M::Sync)
                    && matches!(opcode, O::Shfl | O::Vote | O::Match | O::Redux | O::Elect),
            meets_anywhere: opcode == O::BarWarp,
        }
    }
}

/// The roles of all instructions of a program, and the blocks that fence.
#[derive(Clone, Debug)]
pub(crate) struct Roles {
    roles: Vec<Role>,
    fences: Vec<bool>,
}

impl Roles {
    pub(crate) fn new(program: &Program) -> Self {
        let instructions = program.instructions();
        let is_fence = |at: u32| {
            let instruction = instructions.get(at as usize);
            instruction.is_some_and(|i| matches!(i.instruction.opcode, O::Membar | O::Fence))
        };
        let fences = program.blocks().iter().map(|block| {
            let end = block.first_instruction + block.instruction_count;
            (block.first_instruction..end).any(is_fence)
        });
        Self {
            fences: fences.collect(),
            roles: instructions.iter().map(|i| Role::of(&i.instruction)).collect(),
        }
    }

    pub(crate) fn of(&self, instruction: u32) -> Role {
        self.roles.get(instruction as usize).copied().unwrap_or_default()
    }

    /// Returns true if a block has a fence in it.
    pub(crate) fn fences(&self, block: u32) -> bool {
        self.fences.get(block as usize).copied().unwrap_or_default()
    }
}
