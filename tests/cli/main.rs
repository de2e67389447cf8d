//! The program from outside: what it prints, where, and its exit status.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "helpers of tests may fail as tests do; clippy.toml only allows it inside #[test]"
)]

mod advise;
mod broken;
mod calibrate;
mod changes;
mod check;
#[cfg(unix)]
mod ci;
mod clang;
mod clients;
mod collection;
mod compare;
mod confined;
mod containers;
mod corpus;
mod cost_model;
mod counts;
mod ctest;
mod cuda;
mod diff;
mod doctor;
mod exec;
mod explain;
mod formulas;
mod framework;
mod gpucast;
mod gpus;
mod hardware;
mod help;
#[cfg(unix)]
mod judge;
mod killed_workers;
mod lab;
mod large_counts;
mod limits;
mod machine;
mod management;
mod measuring;
mod modules;
mod ncu;
mod pages;
mod plot;
mod predict;
mod profile;
mod project;
mod removal;
mod report;
mod robustness;
mod run;
mod sanitiser;
mod schemas;
mod sensitivity;
mod shared_sweep;
mod shell;
#[cfg(target_os = "linux")]
mod signals;
mod sweep;
#[cfg(feature = "cloud")]
mod sweep_on_s3;
#[cfg(unix)]
mod trace;
mod trust;
mod tune;
mod what_if;
#[cfg(unix)]
mod wrappers;
