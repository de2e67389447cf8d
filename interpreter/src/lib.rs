//! Executes kernels on the CPU, warp by warp, and reports events to an [`Observer`].
//!
//! ```text
//! Module ── program (lower once) ──► Program ─┐
//!                                             ├─► exec: grid → CTA → warp → lanes ──► memory
//! Launch + DeviceMemory ──────────────────────┘            │              │
//!                                                          └─► Observer   └─► semantics
//! ```
//!
//! The crate knows PTX semantics and memory. It knows nothing of counts, caches or times. A fault
//! of the kernel is a value, never a panic.

mod access_kind;
mod exec;
pub mod fault;
mod grid_box;
pub mod host_memory;
mod instance;
mod lane;
pub mod launch;
pub mod memory;
pub mod observer;
pub mod program;
pub mod semantics;
pub mod tensor_map;
pub mod texture;

pub use exec::{
    ByClasses, BySample, ClassEffort, prepare, run, run_classes, run_in, run_sample, tally_classes,
    window_classes,
};
pub use fault::{Fault, FaultKind};
pub use instance::ModuleInstance;
pub use launch::{
    Argument, AsyncTiming, GridLimits, Host, Launch, LaunchError, Options, RunError, Schedule,
    Silent, StopReason, Summary, UnknownTiming,
};
pub use memory::DeviceMemory;
pub use observer::{
    ALIKE_BYTES, Access, AccessKind, Arrival, BadAccess, ClusterStep, ClusterUse, CopyDone,
    CountOverflow, CtaStart, Exit, Further, FurtherAccess, GridBox, GroupQueue, GroupStep,
    GroupUse, HeapUse, MbarrierStep, MbarrierUse, NoObserver, Observer, Pattern, Recorder, Release,
    Samples, Several, SeveralRecorders, Shifts, ShuffleUse, StandIn, Tally, TensorCells,
    TensorMemoryStep, TensorMemoryUse, TensorUse, WarpArrival, WarpRelease, Windows,
};
pub use program::{Buffers, LowerError, Program, Reach, Slice, Slicer, Treatment, Unsupported};
