//! A GPU as a CUDA host program sees it, on a machine that has none.
//!
//! ```text
//! C interface of CUDA (crate `cuda`)
//!        │
//!     Device ──┬── memory, arena, copy    buffers at host addresses
//!              ├── module                 images → PTX → variables and kernels
//!              ├── array, mipmap          arrays, and those of several levels
//!              ├── texture                the objects that kernels read arrays through
//!              ├── launch                 executes, counts and predicts one launch
//!              ├── clock                  streams and events in predicted time
//!              ├── graph                  work that is put together first and launched later
//!              ├── properties             what the program is told of the GPU
//!              └── record ──► report      the table of launches
//! ```
//!
//! Device addresses are host addresses. Copies are plain copies then, and managed, pinned and
//! mapped memory need nothing else.
//!
//! Every operation is done when its call returns. Times are those of the modelled GPU: a launch
//! takes its predicted time, on the virtual [`clock`] of its stream.
//!
//! The crate knows no C. Handles are numbers, arguments are bytes, and [`Error`] has CUDA's
//! numbers. It prints nothing: the [`Program`] passes on what kernels print and what the user
//! should know.
//!
//! - **Modules.** Each global *and constant* variable of a module instance has a device address,
//!   and a launch copies constants from there. PTX is parsed at the first use of a name, and
//!   kernels are lowered at their first launch.
//! - **Faults.** One ends the launch, and lasts. With `OnFault::Report` the engine leaves faulting
//!   accesses out, and an observer beside the counters hears of them.
//! - **Threads.** The thread that makes the device takes part in the pool, so short launches wait
//!   for no other thread: 10⁵ empty ones take a quarter of a second of CPU.
//! - **The way back.** Each process writes its report into a folder of `gpucast exec`, when the
//!   program unregisters its kernels and when it ends.

mod arena;
mod array;
mod binding;
mod block;
mod checking;
pub mod clock;
pub mod collection;
mod contents;
mod copy;
mod device;
mod effects;
mod error;
mod faults;
pub mod graph;
mod graph_calls;
mod launch;
#[cfg(target_os = "linux")]
mod lending;
pub mod linking;
mod memory;
mod mipmap;
mod module;
mod place;
mod predicted;
mod profiler;
pub mod properties;
mod record;
mod repeats;
pub mod report;
mod request;
pub mod settings;
mod texture;
pub mod timeline;
mod workers;

pub use array::{Array, ArrayId, ArrayShape, Corner};
pub use block::{BlockKind, BlockRange};
pub use device::{Device, Program};
pub use error::Error;
pub use mipmap::MipmapId;
pub use module::{FunctionFacts, Image, ModuleId};
pub use place::{Extent, PitchedMemory};
pub use request::{FunctionId, LaunchRequest};
pub use settings::Settings;
