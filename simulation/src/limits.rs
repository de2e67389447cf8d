//! How far a simulation goes before the rest follows from it.

/// How far a simulation goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Residencies of CTAs of an SM that are simulated at most, as far as they have
    /// `steady_instructions`.
    pub residencies: u32,
    /// Warp instructions up to which further residencies are simulated. CTAs of a few instructions
    /// live for one or two latencies of memory, and the use of DRAM settles over many of them.
    pub steady_instructions: u64,
    /// Warp instructions that are simulated at most, of all SMs.
    pub instructions: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { residencies: 6, steady_instructions: 30_000, instructions: 5_000_000 }
    }
}
