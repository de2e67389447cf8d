//! What a host program says when it launches a kernel, and what it gets back.

use gpucast_ptx_frontend::ScalarType;

use crate::fault::Fault;
use crate::memory::AllocationError;

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

/// The most CTAs of a cluster: 16 where a kernel allows what is not portable (CUDA programming
/// guide, thread block clusters).
pub const MAX_CLUSTER_CTAS: usize = 16;

/// One kernel launch.
#[derive(Clone, Debug, PartialEq)]
pub struct Launch {
    /// CTAs in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a CTA in x, y and z.
    pub block: [u32; 3],
    /// CTAs of a cluster in x, y and z, if the launch says so; otherwise the kernel does, or every CTA is a
    /// cluster of its own.
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

    /// CTAs of the grid.
    #[must_use]
    pub fn ctas(&self) -> u64 {
        product(self.grid)
    }
}

fn product(extents: [u32; 3]) -> u64 {
    extents.iter().fold(1, |product: u64, &n| product.saturating_mul(u64::from(n)))
}

/// In which order CTAs may run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Schedule {
    /// Parallel unless the code shows that the order of CTAs can be observed.
    #[default]
    Automatic,
    /// One CTA after the other, each yielding when it waits for another one.
    Ordered,
    /// In parallel whatever the code says.
    Parallel,
}

/// Limits and choices of a run.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Warp-instructions after which the launch is given up as endless.
    pub instruction_budget: u64,
    /// In which order CTAs may run.
    pub schedule: Schedule,
    /// Bytes of the device heap that `malloc` of device code takes from, where a kernel uses it.
    pub heap_bytes: u64,
    /// Bytes of each thread's stack, where a kernel needs one: for recursive functions and
    /// `alloca`.
    pub stack_bytes: u32,
    /// Go on after loads, stores, atomics and `cp.async` that are out of bounds, misaligned or
    /// write what cannot be written: loads give zero, stores do nothing, and the recorder is told of
    /// each ([`Recorder::bad_access`](crate::Recorder::bad_access)). Otherwise the first one is
    /// the launch's fault.
    pub skip_bad_accesses: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            instruction_budget: 1 << 32,
            schedule: Schedule::Automatic,
            // CUDA's default.
            heap_bytes: 8 << 20,
            stack_bytes: 16 << 10,
            skip_bad_accesses: false,
        }
    }
}

/// What a run tells its host while it goes on.
pub trait Host: Sync {
    /// So many CTAs are done, of how many.
    fn progress(&self, _done: u64, _ctas: u64) {}

    /// A kernel has printed this; texts arrive in order of the CTAs.
    fn print(&self, _text: &[u8]) {}
}

/// A host that is not interested.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Host for Silent {}

/// What is known after a launch that ran to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Warp-instructions issued.
    pub warp_instructions: u64,
    /// Instructions issued times the lanes that were active, guard true or not.
    pub issued_lanes: u64,
    /// Why CTAs ran one after the other, if they did.
    pub ordered_because: Option<String>,
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
        /// What the parameter is.
        expected: String,
        /// What the argument is.
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
    /// More shared memory than any GPU has.
    #[error("a block uses {bytes} bytes of shared memory; at most {limit} are possible")]
    SharedMemory {
        /// Static and dynamic bytes.
        bytes: u64,
        /// The most that are possible.
        limit: u64,
    },
    /// More memory for blocks under way than this machine has left.
    #[error(
        "the {blocks} blocks that run together need {needed} bytes of memory ({local} of local memory \
         for each thread, {shared} of shared memory for each block); {available} bytes are available"
    )]
    HostMemory {
        /// CTAs that run at the same time.
        blocks: u64,
        /// Bytes that they need.
        needed: u64,
        /// Bytes of local memory of a thread.
        local: u64,
        /// Bytes of shared memory of a CTA.
        shared: u64,
        /// Bytes that may still be taken.
        available: u64,
    },
    /// A global variable could not be allocated.
    #[error(transparent)]
    Allocation(#[from] AllocationError),
    /// A global variable's initialiser needs an address that does not exist here.
    #[error("the initialiser of {variable} takes an address that is not supported yet")]
    Initializer {
        /// The variable.
        variable: String,
    },
}

/// Why a launch did not run to its end.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RunError {
    /// It could not begin.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// The kernel failed.
    #[error(transparent)]
    Fault(Box<Fault>),
}
