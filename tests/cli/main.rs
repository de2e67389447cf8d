//! The program from outside: what it prints, where, and its exit status.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "helpers of tests may fail as tests do; clippy.toml only allows it inside #[test]"
)]

mod broken;
mod calibrate;
mod check;
mod compare;
mod containers;
mod corpus;
mod cost_model;
mod diff;
mod gpucast;
mod gpus;
mod help;
mod machine;
mod modules;
mod plot;
mod predict;
mod profile;
mod report;
mod robustness;
mod run;
mod sanitiser;
mod sensitivity;
mod sweep;
mod what_if;
