//! Warpgroups: four warps that execute `wgmma.fence` and `wgmma.mma_async` together.
//!
//! A product belongs to the warpgroup: the tensor cores begin it when the last of the four warps
//! has issued it. A warp that waits for its group therefore knows that the others' rows are done
//! too, and may have the tile overwritten. So no warp goes on from here before all have come.

use super::cta::{Cta, LaunchContext};
use super::warp::{Context, Split, Wait, Warp, WarpFault};
use crate::fault::{Fault, FaultKind};
use crate::observer::Recorder;
use crate::program::Program;
use crate::program::matrix_op::MatrixOp;

/// Warps of a warpgroup.
const WARPS: usize = 4;

impl Program {
    /// Returns true if warps of a warpgroup come together somewhere.
    pub(super) fn uses_warpgroups(&self) -> bool {
        self.tables.matrix_ops.iter().any(MatrixOp::is_of_warpgroup)
    }
}

impl Warp {
    /// The split that waits for the other warps of its warpgroup: all lanes of the warp.
    fn at_warpgroup(&self) -> Option<&Split> {
        self.splits.iter().find(|split| split.wait == Wait::Warpgroup)
    }

    /// Executes the instruction that the warps of a warpgroup have come to.
    fn with_warpgroup(
        &mut self,
        context: &Context<'_>,
        recorder: &mut dyn Recorder,
    ) -> Result<(), WarpFault> {
        let waits = |split: &Split| split.wait == Wait::Warpgroup;
        let Some(at) = self.splits.iter().position(waits) else { return Ok(()) };
        let split = self.splits.swap_remove(at);
        let frame = self.frame(context);
        let op = &context.program.ops[split.pc as usize];
        let done = self.matrix(context, recorder, &frame, op, &split, split.mask);
        self.splits.push(split);
        done?;
        if let Some(split) = self.splits.last_mut() {
            split.pass_barrier();
        }
        Ok(())
    }
}

impl Cta {
    /// Executes the instruction that the warpgroup of warp `at` waits at, if all of its warps have
    /// come to the same one. Returns true if they have.
    pub(super) fn meet_in_warpgroup(
        &mut self,
        launch: &LaunchContext<'_>,
        context: &Context<'_>,
        recorder: &mut dyn Recorder,
        at: usize,
    ) -> Result<bool, Box<Fault>> {
        let first = at / WARPS * WARPS;
        let Some(warps) = self.warps.get_mut(first..first + WARPS) else { return Ok(false) };
        let pc = |warp: &Warp| warp.at_warpgroup().map(|split| split.pc);
        let Some(common) = pc(&warps[0]) else { return Ok(false) };
        if !warps.iter().all(|warp| pc(warp) == Some(common)) {
            return Ok(false);
        }
        for (index, warp) in (first..).zip(warps) {
            if let Err(fault) = warp.with_warpgroup(context, recorder) {
                return Err(self.fault(launch, index, fault));
            }
        }
        Ok(true)
    }

    /// The fault of a warpgroup that warp `at` waits for in vain.
    pub(super) fn warpgroup_deadlock(&self, at: usize) -> FaultKind {
        let first = at / WARPS * WARPS;
        let warps = self.warps.iter().skip(first).take(WARPS);
        let pc = |warp: &Warp| warp.at_warpgroup().map(|split| split.pc);
        let own = self.warps.get(at).and_then(pc);
        let here = warps.clone().filter(|warp| pc(warp) == own).count() as u32;
        let live = warps.filter(|warp| warp.live != 0).count() as u32;
        FaultKind::WarpgroupDeadlock { here, live }
    }
}
