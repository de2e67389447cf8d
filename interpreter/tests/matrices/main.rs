//! Warp-level matrix instructions against definitions of their own.
//!
//! The layouts of [`layout`] are the manual's formulas, shape by shape; [`exact`] multiplies and
//! rounds with big integers; [`multiply`], [`wmma`], [`warpgroup`] and [`rows`] write down every
//! combination of modifiers of every row of the instruction table and compare what it computes.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests are not inside the test functions that the lints spare"
)]

mod exact;
mod faults;
mod kernels;
mod layout;
mod machine;
mod multiply;
mod rows;
mod schedules;
mod special;
mod tensor_memory;
mod warpgroup;
mod wmma;
