//! Compute capabilities by number; `rows` is the table of their parameters.

use std::fmt;

use super::rows::{CapabilityRow, TABLE};

/// A CUDA compute capability such as 8.6.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Capability {
    /// The generation.
    pub major: u32,
    /// The variant within it.
    pub minor: u32,
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// The document that states the parameters of a capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// Warps, CTAs, threads, registers and shared memory.
    pub limits: &'static str,
    /// Units of allocation, sub-partitions, reserved shared memory.
    pub allocation: &'static str,
    /// Registers of a thread.
    pub registers_per_thread: &'static str,
    /// Coalescing and the profiler's transactions.
    pub coalescing: &'static str,
    /// Banks of shared memory.
    pub banks: &'static str,
    /// Constant memory.
    pub constants: &'static str,
    /// First-level caches.
    pub first_level: &'static str,
    /// Bytes that a miss of the L2 reads.
    pub l2_fill: &'static str,
}

impl Capability {
    /// The capabilities of which the parameters are known.
    pub const KNOWN: [Self; TABLE.len()] = {
        let mut known = [Self { major: 0, minor: 0 }; TABLE.len()];
        let mut index = 0;
        while index < TABLE.len() {
            known[index] = TABLE[index].capability;
            index += 1;
        }
        known
    };

    /// The parameters; `None` if the capability is unknown.
    pub(super) fn row(self) -> Option<&'static CapabilityRow> {
        const ROWS: &[CapabilityRow] = &TABLE;
        ROWS.iter().find(|row| row.capability == self)
    }

    /// The sources of the parameters; `None` if the capability is unknown.
    #[must_use]
    pub fn sources(self) -> Option<Source> {
        self.row().map(|row| row.source)
    }
}
