//! The library as a caller uses it: kernels with launches in, memory and counts out.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests may fail as tests do; clippy.toml only allows it inside #[test]"
)]

mod common;
mod contention;
mod counting_version;
mod coverage;
mod formulas;
mod guarded_calls;
mod host_launches;
mod kept;
mod large_counts;
mod launches;
mod nsight;
mod protocols;
mod registers;
mod repeats;
mod roles;
mod rungs;
mod samples;
mod shared_memory;
mod simulated_traffic;
mod smoothness;
mod steps;
mod stopping;
mod tensor_memory;
mod textures;
mod together;
mod traces;
mod windows;
mod windows_corpus;
