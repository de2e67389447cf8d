//! The raw data of a measurement: every kernel with the times of its trials.

/// A kernel that was timed for a parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// The field of the parameter.
    pub field: &'static str,
    /// The kernel's name.
    pub kernel: String,
    /// Its size in the parameter's unit of work: passes, loads, blocks, bytes.
    pub work: u64,
    /// Blocks of the grid.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Launches between the two events.
    pub launches: u32,
    /// True if the caches held nothing of it when it began.
    pub is_cold: bool,
    /// Seconds of each trial, in order.
    pub seconds: Vec<f64>,
    /// Trials that the mean leaves out.
    pub excluded: usize,
}
