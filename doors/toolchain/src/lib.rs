//! NVIDIA's programs and libraries where a machine has them: `ptxas`, NVRTC, nvcc, the driver; and
//! clang.
//!
//! ```text
//! installed (folders) ──► assembler (ptxas: finds, runs, caches) ──► a Toolchain of the forecast
//!                    └──► compiler (NVRTC, nvcc, clang)          ──► a Compiler of the forecast
//! driver (libcuda.so.1)                                           ──► a Device of measurements
//!                              process (runs a program, with a limit and a [`Stop`])
//! ```
//!
//! The forecast knows these as traits. Programs and language bindings lend them to it. All of them
//! are optional: without an assembler, rules estimate machine instructions.

pub mod assembler;
pub mod compiler;
pub mod driver;
mod foreign;
pub mod installed;
mod process;
mod stop;

pub use stop::Stop;
