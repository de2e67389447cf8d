//! Kernels to forecast without bringing any of one's own.
//!
//! An [`Entry`] is a CUDA kernel with its committed PTX and launch files. One launch file has the
//! size that its source used, a smaller one is for quick tests. If a paper measured the kernel, the
//! entry has the published metrics. Everything is embedded in the binary. A
//! [`reference`](mod@reference) states the kernel's computation a second time, in plain Rust.
//!
//! This crate is data: it knows nothing of PTX, launches or GPUs, and reads no files. The README
//! beside it tells where every kernel comes from and how the PTX is made again.
//!
//! - [`entry`](mod@entry): the content of an entry
//! - [`entries`](entries()): all of them, [`find`] one by its name
//! - [`reference`](mod@reference): the results, computed on the CPU
//! - [`generator`](mod@generator): buffers with a structure, such as sparse matrices
//! - [`published`]: measurements from the literature

mod entries;
pub mod entry;
pub mod generator;
mod gpp;
mod mixbench;
pub mod published;
pub mod reference;

pub use entries::{entries, find};
pub use entry::{Entry, Module};
