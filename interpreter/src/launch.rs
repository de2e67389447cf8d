//! The launch of a kernel by a host program: its settings, its arguments and its result.

use std::fmt;
use std::str::FromStr;
use std::time::Instant;

use gpucast_ptx_frontend::ScalarType;

use crate::fault::Fault;
use crate::memory::AllocationError;
use crate::observer::CountOverflow;

/// A kernel argument, in the order of the kernel's parameters.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// A scalar of the given type; the low bytes of `bits` are its little-endian value.
    Scalar {
        /// The type that the caller meant; checked against the parameter's.
        ty: ScalarType,
        /// The value's bits.
        bits: u64,
    },
    /// A device address, usually of a buffer.
    Address(u64),
    /// A structure passed by value.
    Bytes(Vec<u8>),
}

/// The most CTAs of a cluster: 16 if a kernel allows a size that is not portable (CUDA programming
/// guide, thread block clusters).
pub const MAX_CLUSTER_CTAS: usize = 16;

/// One kernel launch.
#[derive(Clone, Debug, PartialEq)]
pub struct Launch {
    /// CTAs in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a CTA in x, y and z.
    pub block: [u32; 3],
    /// CTAs of a cluster in x, y and z, if the launch says so; otherwise the kernel does, or every
    /// CTA is a cluster of its own.
    pub cluster: Option<[u32; 3]>,
    /// Dynamic shared memory in bytes.
    pub dynamic_shared_bytes: u32,
    /// Arguments in the order of the kernel's parameters.
    pub arguments: Vec<Argument>,
}

impl Launch {
    /// Threads of one CTA.
    #[must_use]
    pub fn threads_per_cta(&self) -> u64 {
        product(self.block)
    }

    /// CTAs of the grid: fewer than 2⁹⁶.
    #[must_use]
    pub fn ctas(&self) -> u128 {
        self.grid.iter().map(|&extent| u128::from(extent)).product()
    }
}

fn product(extents: [u32; 3]) -> u64 {
    extents.iter().fold(1, |product: u64, &n| product.saturating_mul(u64::from(n)))
}

/// The largest extents that a grid may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GridLimits {
    /// Those of CUDA since compute capability 3.0: 2³¹−1 in x, 65,535 in y and z (CUDA programming
    /// guide, technical specifications).
    #[default]
    Cuda,
    /// Those of PTX, whose registers `%ctaid` and `%nctaid` have 32 bits: 2³²−1 each. No GPU runs
    /// such a grid; its counts say what one would do.
    Registers,
}

impl GridLimits {
    /// The largest extents in x, y and z.
    #[must_use]
    pub fn extents(self) -> [u32; 3] {
        match self {
            Self::Cuda => [(1 << 31) - 1, 65_535, 65_535],
            Self::Registers => [u32::MAX; 3],
        }
    }
}

/// In which order CTAs may run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Schedule {
    /// Parallel unless the code or the run shows that the order of CTAs can be observed.
    #[default]
    Automatic,
    /// One CTA after the other, each yielding when it waits for another one.
    Ordered,
    /// In parallel whatever the code says.
    Parallel,
}

/// The time at which asynchronous copies and products end. No program that waits for them as it
/// must can tell these apart, and its threads execute as many instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AsyncTiming {
    /// Data are there at once. An mbarrier is told when the cluster's warps have gone as far as
    /// they can, so that each of them sees each phase.
    #[default]
    Usual,
    /// Everything is done at once, so that a warp that comes late to a wait can miss a phase.
    Early,
    /// Data, too, are there only when an mbarrier is told. Tensor cores read and write only then.
    Late,
    /// Each operation ends at a time of its own, which this seed decides.
    Random(u64),
}

/// A word that names no [`AsyncTiming`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is none of early, late, random, random:SEED and usual")]
pub struct UnknownTiming(String);

impl FromStr for AsyncTiming {
    type Err = UnknownTiming;

    fn from_str(text: &str) -> Result<Self, UnknownTiming> {
        match (text, text.strip_prefix("random:").map(str::parse)) {
            ("usual", _) => Ok(Self::Usual),
            ("early", _) => Ok(Self::Early),
            ("late", _) => Ok(Self::Late),
            ("random", _) => Ok(Self::Random(0)),
            (_, Some(Ok(seed))) => Ok(Self::Random(seed)),
            _ => Err(UnknownTiming(text.to_owned())),
        }
    }
}

impl fmt::Display for AsyncTiming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usual => f.write_str("usual"),
            Self::Early => f.write_str("early"),
            Self::Late => f.write_str("late"),
            Self::Random(seed) => write!(f, "random:{seed}"),
        }
    }
}

/// Limits and choices of a run.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Warp-instructions after which the launch is given up as endless.
    pub instruction_budget: u64,
    /// Moment at which the launch is given up, finished or not ([`RunError::Stopped`]). Instruction
    /// counts do not cover the time that a huge grid of empty CTAs or a slow observer takes.
    /// Several launches may share one moment. [`Host::stop`] ends a run at any other time.
    pub deadline: Option<Instant>,
    /// The most bytes that the launch may take of the host: all buffers, and the registers, shared
    /// and local memory of the CTAs under way. Fewer CTAs run at the same time where they would
    /// need more. A launch of which one cluster needs more is [`LaunchError::Memory`], with the
    /// sum. `None` leaves it to [`DeviceMemory::room`](crate::DeviceMemory::room).
    pub memory_limit: Option<u64>,
    /// In which order CTAs may run.
    pub schedule: Schedule,
    /// How large grids may be.
    pub grid_limits: GridLimits,
    /// Bytes of the device heap that `malloc` of device code takes from, where a kernel uses it.
    pub heap_bytes: u64,
    /// Bytes of each thread's stack, where a kernel needs one: for recursive functions and
    /// `alloca`.
    pub stack_bytes: u32,
    /// True to go on after loads, stores, atomics and `cp.async` that are out of bounds, misaligned
    /// or write to read-only memory. Loads give zero, stores do nothing, and the recorder is told
    /// of each ([`Recorder::bad_access`](crate::Recorder::bad_access)). Otherwise the first one is
    /// the launch's fault.
    pub skip_bad_accesses: bool,
    /// When asynchronous copies and products end.
    pub async_timing: AsyncTiming,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            instruction_budget: 1 << 32,
            deadline: None,
            memory_limit: None,
            schedule: Schedule::Automatic,
            grid_limits: GridLimits::Cuda,
            // CUDA's default.
            heap_bytes: 8 << 20,
            stack_bytes: 16 << 10,
            skip_bad_accesses: false,
            async_timing: AsyncTiming::Usual,
        }
    }
}

/// The host of a run, which is told of it while it goes on.
pub trait Host: Sync {
    /// Is told that `done` of `ctas` CTAs are done: of short ones, once for several.
    fn progress(&self, _done: u128, _ctas: u128) {}

    /// A kernel has printed this; texts arrive in order of the CTAs.
    fn print(&self, _text: &[u8]) {}

    /// Returns true if the run is to end now, with [`RunError::Stopped`].
    ///
    /// The engine asks from all its threads: at least every few CTAs, and every few million
    /// instructions of a CTA. A flag is enough:
    ///
    /// ```
    /// use std::sync::atomic::{AtomicBool, Ordering};
    /// use gpucast_interpreter::Host;
    ///
    /// struct Cancel(AtomicBool);
    ///
    /// impl Host for Cancel {
    ///     fn stop(&self) -> bool {
    ///         self.0.load(Ordering::Relaxed)
    ///     }
    /// }
    /// ```
    fn stop(&self) -> bool {
        false
    }
}

/// Reason why a run was given up from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// [`Host::stop`] said so.
    Asked,
    /// [`Options::deadline`] has passed.
    Deadline,
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Asked => "it was asked to",
            Self::Deadline => "its time is over",
        })
    }
}

/// A host that is not interested.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Host for Silent {}

/// The facts about a launch that ran to its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Warp-instructions issued.
    pub warp_instructions: u128,
    /// Instructions issued times the lanes that were active, guard true or not.
    pub issued_lanes: u128,
    /// Reason why CTAs ran one after the other, if they did.
    pub ordered_because: Option<String>,
    /// The run was watched, because the code alone did not tell if the order of CTAs matters.
    pub watched: bool,
}

/// The sentence of [`LaunchError::Memory`].
fn memory(needed: u64, buffers: u64, limit: Option<u64>) -> String {
    let ctas = needed.saturating_sub(buffers);
    let sum = format!(
        "the launch needs {needed} bytes of memory ({buffers} for buffers, {ctas} for the threads \
         that run at once)"
    );
    match limit {
        Some(limit) => format!("{sum}; it may take {limit}"),
        None => format!("{sum}; this machine has not so much"),
    }
}

/// Extents as people write them: `4 x 1 x 1`.
fn shape([x, y, z]: &[u32; 3]) -> String {
    format!("{x} x {y} x {z}")
}

/// A launch that cannot be made, found before anything runs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LaunchError {
    /// The number of arguments is not the number of parameters.
    #[error(
        "the kernel takes {} arguments ({}), but {given} were given",
        expected.len(),
        expected.join(", ")
    )]
    ArgumentCount {
        /// Arguments given.
        given: usize,
        /// The parameters' names.
        expected: Vec<String>,
    },
    /// An argument does not fit its parameter.
    #[error("argument {} is {found}, but parameter {parameter} is {expected}", index + 1)]
    ArgumentType {
        /// Zero-based place of the argument.
        index: usize,
        /// The parameter's name.
        parameter: String,
        /// Description of the parameter.
        expected: String,
        /// Description of the argument.
        found: String,
    },
    /// Too many threads in a CTA.
    #[error("a block of {} has {threads} threads; at most {limit} are possible", shape(block))]
    Threads {
        /// The block's extents.
        block: [u32; 3],
        /// Their product.
        threads: u64,
        /// The most that are possible.
        limit: u64,
    },
    /// An extent of the grid or block is zero or too large.
    #[error("{what} size {extent} in {axis} is not between 1 and {limit}")]
    Extent {
        /// `grid` or `block`.
        what: &'static str,
        /// `x`, `y` or `z`.
        axis: &'static str,
        /// The extent.
        extent: u32,
        /// The largest possible one.
        limit: u32,
    },
    /// The kernel is compiled for one block shape.
    #[error(
        "the kernel requires blocks of {} threads (.reqntid), not {}",
        shape(required),
        shape(block)
    )]
    RequiredBlock {
        /// The block's extents.
        block: [u32; 3],
        /// The extents that the kernel states.
        required: [u32; 3],
    },
    /// The kernel is compiled for one cluster shape.
    #[error(
        "the kernel requires clusters of {} blocks (.reqnctapercluster), not {}",
        shape(required),
        shape(cluster)
    )]
    RequiredCluster {
        /// The cluster's extents.
        cluster: [u32; 3],
        /// The extents that the kernel states.
        required: [u32; 3],
    },
    /// The kernel must be launched in clusters.
    #[error("the kernel must be launched in clusters (.explicitcluster), and no size was given")]
    NoCluster,
    /// Too many CTAs in a cluster.
    #[error("a cluster of {} blocks has {ctas}; at most {limit} are possible", shape(cluster))]
    ClusterSize {
        /// The cluster's extents.
        cluster: [u32; 3],
        /// Their product.
        ctas: u64,
        /// The most that are possible.
        limit: u64,
    },
    /// A grid that is not made of whole clusters.
    #[error(
        "a grid of {} blocks cannot be divided into clusters of {}",
        shape(grid),
        shape(cluster)
    )]
    PartialCluster {
        /// The grid's extents.
        grid: [u32; 3],
        /// The cluster's extents.
        cluster: [u32; 3],
    },
    /// A grid that is too large to be executed CTA by CTA.
    #[error(
        "a grid of {} blocks has 2⁶⁴ or more, which only classes of blocks without caches count",
        shape(grid)
    )]
    GridSize {
        /// The grid's extents.
        grid: [u32; 3],
    },
    /// More shared memory than any GPU has.
    #[error("a block uses {bytes} bytes of shared memory; at most {limit} are possible")]
    SharedMemory {
        /// Static and dynamic bytes.
        bytes: u64,
        /// The most that are possible.
        limit: u64,
    },
    /// A global variable could not be allocated.
    #[error(transparent)]
    Allocation(#[from] AllocationError),
    /// The launch needs more of the host's memory than it may have, or than there is.
    #[error("{}", memory(*needed, *buffers, *limit))]
    Memory {
        /// Bytes of the buffers, and of the CTAs that run at the same time, at least a cluster.
        needed: u64,
        /// Bytes of the buffers alone.
        buffers: u64,
        /// The limit that held; `None` if the allocator refused.
        limit: Option<u64>,
    },
    /// Its counts are too large for the counters.
    #[error(transparent)]
    Counts(#[from] CountOverflow),
    /// A global variable's initialiser needs an address that does not exist here.
    #[error("the initialiser of {variable} takes an address that is not supported yet")]
    Initializer {
        /// The variable.
        variable: String,
    },
}

/// Reason why a launch did not run to its end.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RunError {
    /// It could not begin.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// The kernel failed.
    #[error(transparent)]
    Fault(Box<Fault>),
    /// It was given up from outside.
    #[error("the launch stopped after {done} of {ctas} CTAs: {reason}")]
    Stopped {
        /// Reason for the stop.
        reason: StopReason,
        /// CTAs that have ended.
        done: u128,
        /// CTAs of the grid.
        ctas: u128,
    },
}
