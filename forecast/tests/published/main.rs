//! The corpus's kernels at their papers' sizes: what is counted and predicted here, beside what the
//! papers print.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests may fail as tests do; clippy.toml only allows it inside #[test]"
)]

mod common;
mod gate;
mod models;
mod papers;
mod scoreboard;
mod thesis;
mod times;
