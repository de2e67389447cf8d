//! Splits: the lanes of a warp that execute together, and which of them goes next.
//!
//! The split whose block comes first in reverse post-order runs first, deepest call first. Lanes
//! that fell behind therefore catch up, and splits meet at the reconvergence point; splits at the
//! same place merge. A split that has run [`SPLIT_QUANTUM`] blocks while others wait gives way.
//! Lanes that spin on an action of another lane of their warp therefore make progress, as on Volta
//! and later.

use super::Warp;
use crate::observer::{Recorder, WarpRelease};
use crate::program::Program;
use crate::program::op::NO_BLOCK;

/// Blocks that a split runs before it gives way to the other splits of its warp.
const SPLIT_QUANTUM: u32 = 1 << 10;

/// The reason why a split does not run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::exec) enum Wait {
    /// It can run.
    #[default]
    Nothing,
    /// It has arrived at a barrier of its CTA.
    Barrier { id: u32 },
    /// It waits for the other lanes of `members`: where lanes exchange values, to reach the same
    /// instruction, otherwise to reach any `bar.warp.sync` with these members.
    Lanes { members: u32, exchange: bool },
    /// `lanes` of it wait for the phase of an mbarrier, for `patience` more turns, since so many
    /// phases were complete in the cluster.
    Mbarrier { lanes: u32, patience: u32, since: u64 },
    /// It waits for the cluster's barrier, at which it has arrived.
    ClusterBarrier,
    /// It waits for the other warps of its warpgroup to come to the same instruction.
    Warpgroup,
    /// It waits for columns of tensor memory, for which it asks again in each turn.
    TensorMemory,
}

/// The next step of a split after an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::exec) enum Next {
    /// It goes on with the next operation.
    Operation,
    /// It has entered a block.
    Block,
    /// It has been set aside, is gone, or others have taken its place.
    Other,
}

/// Lanes that execute together.
#[derive(Clone, Debug, Default)]
pub(in crate::exec) struct Split {
    pub(in crate::exec) mask: u32,
    pub(in crate::exec) pc: u32,
    /// The block of `pc`.
    pub(in crate::exec) block: u32,
    /// True if the block is still to be entered (and counted).
    pub(super) entering: bool,
    pub(in crate::exec) wait: Wait,
    /// Return addresses, innermost last: block and program counter.
    pub(in crate::exec) stack: Vec<(u32, u32)>,
    /// Blocks run since other splits began to wait.
    pub(super) ran: u32,
}

impl Split {
    /// The lanes of `mask` of it, which wait.
    pub(in crate::exec) fn part(&self, mask: u32, wait: Wait) -> Self {
        Self { mask, wait, ..self.clone() }
    }

    pub(in crate::exec) fn enter(&mut self, program: &Program, block: u32) {
        self.block = block;
        self.pc = program.blocks[block as usize].first_op;
        self.entering = true;
    }

    /// Enters `block`, or goes on behind the branch where the text has no block after it.
    pub(super) fn fall_through(&mut self, program: &Program, block: u32) {
        if block == NO_BLOCK {
            self.pc += 1;
        } else {
            self.enter(program, block);
        }
    }

    /// Continue after the instruction that the split waits at.
    pub(in crate::exec) fn pass_barrier(&mut self) {
        self.wait = Wait::Nothing;
        self.pc += 1;
    }
}

impl Warp {
    /// Merges the splits that can be merged and chooses the one to run.
    pub(super) fn next_split(&mut self, recorder: &mut dyn Recorder) -> Option<usize> {
        if self.splits.len() == 1 {
            let split = &mut self.splits[0];
            split.ran = 0;
            if let Wait::Lanes { members, exchange } = split.wait
                && members & self.live & !split.mask == 0
            {
                split.wait = Wait::Nothing;
                if !exchange {
                    let (warp, lanes) = (self.index, split.mask);
                    recorder.warp_release(&WarpRelease { warp, lanes });
                }
            }
            return (split.wait == Wait::Nothing).then_some(0);
        }
        self.merge_splits();
        self.wake_complete(recorder);
        let runnable = self.splits.iter().enumerate().filter(|(_, s)| s.wait == Wait::Nothing);
        let priority =
            |s: &Split| (s.ran / SPLIT_QUANTUM, usize::MAX - s.stack.len(), s.block, s.pc);
        runnable.min_by_key(|(_, split)| priority(split)).map(|(index, _)| index)
    }

    /// Lets lanes go on for which all others have come.
    fn wake_complete(&mut self, recorder: &mut dyn Recorder) {
        for at in 0..self.splits.len() {
            let wait = self.splits[at].wait;
            let Wait::Lanes { members, exchange } = wait else { continue };
            let together =
                |index: usize, split: &Split| split.wait == wait && (index == at || !exchange);
            let here = self.splits.iter().enumerate();
            let here = here.filter(|(index, split)| together(*index, split));
            let here = here.fold(0, |lanes, (_, split)| lanes | split.mask);
            if members & self.live & !here == 0 {
                if !exchange {
                    recorder.warp_release(&WarpRelease { warp: self.index, lanes: here });
                }
                for (index, split) in self.splits.iter_mut().enumerate() {
                    if together(index, split) {
                        split.wait = Wait::Nothing;
                    }
                }
            }
        }
    }

    /// Joins splits that stand at the same place, waiting for the same thing.
    fn merge_splits(&mut self) {
        let mut at = 0;
        while at < self.splits.len() {
            let mut other = at + 1;
            while other < self.splits.len() {
                let (a, b) = (&self.splits[at], &self.splits[other]);
                if a.pc == b.pc
                    && a.entering == b.entering
                    && a.wait == b.wait
                    && a.stack == b.stack
                {
                    let merged = self.splits.swap_remove(other);
                    self.splits[at].mask |= merged.mask;
                    self.splits[at].ran = self.splits[at].ran.min(merged.ran);
                } else {
                    other += 1;
                }
            }
            at += 1;
        }
    }
}

/// The lanes of `mask` for which `f` holds.
pub(in crate::exec) fn lanes_with(mask: u32, f: impl Fn(usize) -> bool) -> u32 {
    let holds = |&lane: &usize| mask >> lane & 1 != 0 && f(lane);
    (0..32).filter(holds).fold(0, |lanes, lane| lanes | 1 << lane)
}
