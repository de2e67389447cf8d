//! CUDA's C interfaces, for programs that `gpucast exec` runs.
//!
//! ```text
//! program ── libcudart.so.11.0 ┐
//!            libcudart.so.12   │
//!            libcudart.so.13   ├── facades: names, versions, jumps ──► libgpucast_cuda.so ──► host
//!            libcuda.so.1      ┘                                       runtime, driver
//! ```
//!
//! One library has all functions and one device, whichever interfaces a program uses. The names
//! under which programs find them stand in [`facade`]s: small ELF files that `gpucast exec` writes.
//! A facade has every symbol of the library that it stands for, under the version that programs
//! ask for. Symbols of functions that are not there lead to `gpucast_unsupported`, which says the
//! name once and returns an error.
//!
//! All interfaces are made from CUDA's public headers: names, signatures and layouts. NVIDIA's own
//! runtime asks the driver for a proof that it is NVIDIA's. Nothing here answers that; programs
//! that carry that runtime inside have to be linked with the shared one.

#![allow(clippy::redundant_closure_call, reason = "a function's `?` returns to the closure")]

#[cfg(target_os = "linux")]
mod abi;
#[cfg(target_os = "linux")]
mod both;
#[cfg(target_os = "linux")]
mod driver;
pub mod facade;
#[cfg(target_os = "linux")]
mod notices;
#[cfg(target_os = "linux")]
mod runtime;
#[cfg(target_os = "linux")]
mod state;
#[cfg(target_os = "linux")]
mod texture;
