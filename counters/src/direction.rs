//! The kinds of access that profilers tell apart.

use gpucast_interpreter::AccessKind;

/// The kinds of access that profilers tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Loads, read-only or not.
    Load,
    /// Stores.
    Store,
    /// Atomics and reductions.
    Update,
}

impl Direction {
    /// The direction of an access.
    #[must_use]
    pub fn of(kind: AccessKind) -> Self {
        match kind {
            AccessKind::Load | AccessKind::LoadReadOnly => Self::Load,
            AccessKind::Store => Self::Store,
            AccessKind::Atomic | AccessKind::Reduction => Self::Update,
        }
    }
}

/// As [`Direction`], with atomics and reductions apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Loads, read-only or not.
    Load,
    /// Stores.
    Store,
    /// Updates that return the old value.
    Atomic,
    /// Updates that return nothing.
    Reduction,
}

impl Operation {
    pub(crate) fn of(kind: AccessKind) -> Self {
        match kind {
            AccessKind::Load | AccessKind::LoadReadOnly => Self::Load,
            AccessKind::Store => Self::Store,
            AccessKind::Atomic => Self::Atomic,
            AccessKind::Reduction => Self::Reduction,
        }
    }
}
