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
//!
//! | module | idea |
//! |---|---|
//! | `program/lower` | a kernel and its functions become blocks of 24-byte operations |
//! | `program/lower/sharing`, `ordering` | loads that decide, and kernels that can see the order of CTAs |
//! | `program/lower/slice` | what counts depend on |
//! | `program/follow`, `exec/classes` | one CTA executed for all that do the same |
//! | `exec/lanes`, `exec/access` | the inner loop: operations and accesses of a warp |
//! | `exec/warp`, `exec/cta`, `exec/cluster` | splits, barriers, CTAs that run together |
//! | `exec/parallel`, `exec/sums`, `exec/watch` | CTAs on threads, and the check that order cannot be seen |
//! | `exec/async_copy`, `exec/bulk_copy`, `exec/tensor_copy` | copies of elements, ranges and tensors |
//! | `exec/mbarrier`, `exec/ending`, `exec/tensor_memory` | mbarriers, when copies end, `tcgen05` |
//! | `semantics` | pure functions near the manual |
//! | `memory`, `texture`, `tensor_map` | device memory and the objects that describe it |
//! | `observer` | the events of an execution |

mod access_kind;
mod exec;
pub mod fault;
mod grid_box;
pub mod host_memory;
mod instance;
mod lane;
pub mod launch;
pub mod memory;
pub mod mixing;
pub mod observer;
pub mod program;
pub mod semantics;
pub mod tensor_map;
pub mod texture;

pub use exec::{
    ByClasses, BySample, ClassEffort, prepare, run, run_classes, run_cluster, run_sample,
    tally_classes, window_classes,
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
    GroupUse, HeapUse, MbarrierStep, MbarrierUse, NoObserver, Observer, Pattern, Recorder,
    RegisterName, RegisterValues, Registers, Release, Samples, Several, SeveralRecorders, Shifts,
    ShuffleUse, StandIn, Step, Tally, TensorCells, TensorMemoryStep, TensorMemoryUse, TensorUse,
    WarpArrival, WarpRelease, Windows,
};
pub use program::{Buffers, LowerError, Program, Reach, Slice, Slicer, Treatment, Unsupported};
