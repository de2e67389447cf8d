//! The inputs that a model reads beyond metrics, and that cost time to gather.

use std::iter::Sum;
use std::ops::BitOr;

/// Inputs to gather while a launch is counted. Several models need what any of them needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// The counts between barriers: [`Evidence::stages`](crate::Evidence::stages).
    pub stages: bool,
    /// The features of accesses and operations:
    /// [`Evidence::features`](crate::Evidence::features).
    pub features: bool,
    /// The order of events in some CTAs, and the machine code:
    /// [`Evidence::simulation`](crate::Evidence::simulation).
    pub order: bool,
}

impl Needs {
    /// Metrics alone.
    pub const METRICS: Self = Self { stages: false, features: false, order: false };
    /// The counts between barriers.
    pub const STAGES: Self = Self { stages: true, ..Self::METRICS };
    /// The features of accesses and operations.
    pub const FEATURES: Self = Self { features: true, ..Self::METRICS };
    /// The order of events.
    pub const ORDER: Self = Self { order: true, ..Self::METRICS };
}

impl BitOr for Needs {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self {
            stages: self.stages | other.stages,
            features: self.features | other.features,
            order: self.order | other.order,
        }
    }
}

impl Sum for Needs {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::METRICS, BitOr::bitor)
    }
}
