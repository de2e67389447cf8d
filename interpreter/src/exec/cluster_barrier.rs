//! The state of each lane at the barrier of its cluster.

use super::access::AccessFault;
use crate::fault::FaultKind;
use crate::program::op::{Op, cluster_barrier};

/// The lanes of a warp at the cluster's barrier.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ClusterLanes {
    /// Lanes that have arrived in the current phase.
    pub(crate) arrived: u32,
    /// Lanes that have arrived, in this phase or the one before, and not waited since.
    owed: u32,
}

impl ClusterLanes {
    /// Executes `barrier.cluster.arrive` or `.wait` for the lanes of `mask`. Returns the lanes that
    /// have to wait.
    pub(crate) fn barrier(&mut self, op: &Op, mask: u32) -> Result<u32, AccessFault> {
        let fault = |lanes: u32, kind| AccessFault { lane: lanes.trailing_zeros(), kind };
        if op.n & cluster_barrier::WAIT == 0 {
            if mask & self.owed != 0 {
                return Err(fault(mask & self.owed, FaultKind::ClusterArrivedTwice));
            }
            self.arrived |= mask;
            self.owed |= mask;
            return Ok(0);
        }
        if mask & !self.owed != 0 {
            return Err(fault(mask & !self.owed, FaultKind::ClusterWaitFirst));
        }
        self.owed &= !mask;
        Ok(mask & self.arrived)
    }
}
