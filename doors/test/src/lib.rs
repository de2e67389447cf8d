//! Tests of CUDA kernels that run under `cargo test`, without a GPU.
//!
//! ```
//! use gpucast_test::{Argument, Buffers, kernel_test};
//!
//! const N: u32 = 1000;
//!
//! #[kernel_test(
//!     "kernels/saxpy.ptx",
//!     grid = 4,
//!     block = 256,
//!     argument = N,
//!     argument = 2.0_f32,
//!     argument = Argument::f32_buffer(1000).uniform(-1.0, 1.0, 7),
//!     argument = Argument::f32_buffer(1000).iota(),
//!     limit = "global_load_sectors_per_request <= 4.1",
//!     limit = "time <= 10us",
//!     gpu = "h100-sxm, rtx-4090"
//! )]
//! fn y_grows_by_a_times_x(buffers: &mut Buffers) {
//!     let x = buffers.get::<f32>("arg2");
//!     let y = buffers.get::<f32>("arg3");
//!     let sum: Vec<f32> = x.iter().zip(y).map(|(x, y)| 2.0 * x + y).collect();
//!     buffers.set("arg3", &sum);
//! }
//! ```
//!
//! The function does on the CPU what the kernel is to do; all buffers are then compared. Words are
//! the methods of [`KernelTest`], which is a test without the attribute, for loops over sizes.
//!
//! ```text
//! #[kernel_test] ──► KernelTest ──► outcome ┬─► a run under checks ──► findings ────┐
//!                                           ├─► buffers beside the function's ──────┼─► Failed
//!                                           └─► counts and predictions ──► limits ──┘
//! ```
//!
//! Files are PTX or CUDA, which a compiler of this machine makes PTX of. Kernels of `rust-cuda` are
//! `concat!(env!("OUT_DIR"), "/kernels.ptx")`.

mod buffers;
mod failed;
mod kernel_test;
mod outcome;

pub use buffers::{Buffers, Element};
pub use failed::Failed;
pub use gpucast_forecast::settings::MachineChoice;
pub use gpucast_forecast::{Argument, BufferArgument, LaunchOptions};
pub use gpucast_test_macros::kernel_test;
pub use half::{bf16, f16};
pub use kernel_test::{Extent, KernelTest};
