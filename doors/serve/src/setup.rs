//! What the server runs, and how much of it.

use std::path::PathBuf;

/// The variable of the environment that may have the token.
pub const TOKEN_VARIABLE: &str = "GPUCAST_SERVE_TOKEN";

/// The limits of each request.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Seconds of a run.
    pub seconds: u64,
    /// Bytes of memory that a run may take.
    pub bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { seconds: 120, bytes: 4 << 30 }
    }
}

/// What the server runs, and how much of it at once.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The program `gpucast`.
    pub program: PathBuf,
    /// Processes at a time.
    pub workers: usize,
    /// Requests that wait for one.
    pub queue: usize,
    /// Threads of a process.
    pub threads: usize,
    /// The limits of each request.
    pub limits: Limits,
    /// The CUDA compiler that the server's user has chosen.
    pub cuda_compiler: Option<PathBuf>,
}
