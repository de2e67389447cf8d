//! The pieces of a time, and the resource that each is spent on.

use std::fmt;

use serde::Serialize;

/// A piece of the kernel's time: the whole of it, or a stage between two barriers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Part {
    /// Its name: `kernel`, `stage 3`, `dispatch`.
    pub name: String,
    /// The time that it adds to the kernel's, in milliseconds.
    pub time_ms: f64,
    /// The resource that bounds it.
    pub bound: Bound,
    /// The time that each resource is busy with it, in milliseconds; those that work at the same
    /// time do not add up.
    pub components: Vec<Component>,
}

/// The time that one resource is busy with a part of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Component {
    /// The resource.
    pub resource: Bound,
    /// Its time, in milliseconds.
    pub time_ms: f64,
}

/// The resource that bounds a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Bound {
    /// The issue and execution of instructions.
    Compute,
    /// The bandwidth of device memory.
    Memory,
    /// The bandwidth of shared memory.
    Shared,
    /// The bandwidth of the first-level caches.
    L1,
    /// The bandwidth of the L2.
    L2,
    /// The time before the first and after the last instruction: launch and transfers.
    Overhead,
}

impl Bound {
    /// Its only name: in documents, tables, sentences and pictures. The glossary explains each.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Compute => "compute",
            Self::Memory => "memory",
            Self::Shared => "shared",
            Self::L1 => "l1",
            Self::L2 => "l2",
            Self::Overhead => "overhead",
        }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
