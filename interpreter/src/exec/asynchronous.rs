//! Asynchronous instructions: operations that leave the lane loop for copies, mbarriers, clusters
//! and textures.

use super::access::AccessReport;
use super::async_copy::PendingCopy;
use super::lanes::Frame;
use super::warp::{Context, Next, Split, Wait, Warp, WarpFault};
use crate::observer::{ClusterStep, ClusterUse, GroupQueue, GroupStep, GroupUse, Recorder};
use crate::program::asynchronous::wait;
use crate::program::op::{Code, Op, cluster_barrier};

impl Warp {
    /// Executes `op`, an asynchronous copy, an operation on an mbarrier or a texture, or the
    /// cluster's barrier.
    #[cold]
    pub(super) fn asynchronous(
        &mut self,
        context: &Context<'_>,
        recorder: &mut dyn Recorder,
        frame: &Frame,
        op: &Op,
        split: &mut Split,
        report: &mut AccessReport,
    ) -> Result<Next, WarpFault> {
        let mask = frame.count_lanes_of(op, split.mask);
        if mask == 0 {
            return Ok(Next::Operation);
        }
        match op.code {
            Code::AsyncCopy => {
                self.copy_async(context, recorder, frame, op, split, mask, report)?;
            }
            Code::AsyncWait if op.b != wait::COPIES => {
                let queue = match op.b {
                    wait::BULK => GroupQueue::Bulk,
                    _ => GroupQueue::Warpgroup,
                };
                let step = match op.n {
                    wait::COMMIT => GroupStep::Commit,
                    _ => GroupStep::Wait { left: op.a },
                };
                if queue == GroupQueue::Bulk {
                    match step {
                        GroupStep::Commit => self.late_stores.commit(mask),
                        GroupStep::Wait { left } => self.wait_for_stores(context, mask, left)?,
                    }
                }
                recorder.group(&GroupUse { warp: self.index, mask, queue, step });
            }
            Code::AsyncWait => {
                let mut done = |copy: &PendingCopy, lanes| {
                    recorder.copy_done(&copy.done(self.index, lanes, true));
                };
                self.copies.group(&context.memories, op, mask, &mut done);
            }
            Code::Bulk => self.bulk(context, recorder, frame, op, split, mask)?,
            Code::Tensor => self.tensor(context, recorder, frame, op, split, mask)?,
            Code::Texture => self.texture(context, recorder, frame, op, split, mask)?,
            Code::TensorMemory => {
                return self.tensor_memory(context, recorder, frame, op, split, mask, report);
            }
            Code::Mbarrier => {
                return self.mbarrier(context, recorder, frame, op, split, mask, report);
            }
            _ => {
                let waiting = self.cluster.barrier(op, mask);
                let waiting = waiting.map_err(|fault| fault.at(split.pc))?;
                let (step, lanes) = match op.n & cluster_barrier::WAIT {
                    0 => (ClusterStep::Arrive, mask),
                    _ => (ClusterStep::Passed, mask & !waiting),
                };
                if lanes != 0 {
                    let warp = self.index;
                    recorder.cluster_barrier(&ClusterUse { warp, mask: lanes, step });
                }
                if waiting != 0 {
                    let wait = Wait::ClusterBarrier;
                    self.splits.push(split.part(waiting, wait));
                    split.mask &= !waiting;
                    if split.mask == 0 {
                        return Ok(Next::Other);
                    }
                }
            }
        }
        Ok(Next::Operation)
    }
}
