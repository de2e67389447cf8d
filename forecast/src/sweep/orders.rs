//! The orders of issue on the GPUs that a sweep changes.
//!
//! Rows of one GPU are compared with each other. So their simulations follow the order of the GPU
//! as it was, whichever process has which row.

use std::sync::Arc;

use gpucast_model::Gpu;
use gpucast_model::sm_simulation::Orders;

use super::Point;

/// The orders of each GPU that some points change.
pub(super) struct OrdersOfBases(Vec<(Arc<Gpu>, Option<Arc<Orders>>)>);

impl OrdersOfBases {
    /// Those of the GPUs of some points.
    pub(super) fn new<'a>(points: impl Iterator<Item = &'a Point>) -> Self {
        let mut bases: Vec<(Arc<Gpu>, Option<Arc<Orders>>)> = Vec::new();
        for point in points {
            if !bases.iter().any(|(base, _)| Arc::ptr_eq(base, &point.base)) {
                bases.push((Arc::clone(&point.base), Orders::of_gpu(&point.base)));
            }
        }
        Self(bases)
    }

    /// Those of the GPU that a point changes, if it can be simulated.
    pub(super) fn of(&self, point: &Point) -> Option<Arc<Orders>> {
        let base = self.0.iter().find(|(base, _)| Arc::ptr_eq(base, &point.base));
        base.and_then(|(_, orders)| orders.clone())
    }
}
