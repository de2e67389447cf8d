//! What is to be executed: the one form that corpus names, launch files and command-line
//! arguments all become.

use std::path::PathBuf;

use gpucast_ptx_frontend::container::{Cubin, Target};

use super::init::Init;
use super::scalar::ElementType;
use super::structure::Structure;
use crate::failure::{Anchor, SourceText};

/// A module, its buffers, its launches, and what is expected of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The PTX text.
    pub module: SourceText,
    /// Which PTX of a container it is and why, if there was a choice.
    pub note: Option<String>,
    /// Machine code of the module, where the container has some.
    pub cubins: Vec<Cubin>,
    /// The architecture that was asked for, or else that of the PTX.
    pub target: Option<Target>,
    /// The corpus kernel that it comes from; its published measurements apply.
    pub corpus_name: Option<&'static str>,
    /// Paths of buffer files are relative to this folder.
    pub folder: PathBuf,
    /// Buffers in device memory.
    pub buffers: Vec<Buffer>,
    /// Launches in their order.
    pub launches: Vec<PlannedLaunch>,
    /// Contents expected after the last launch.
    pub expectations: Vec<Expectation>,
}

/// A buffer in device memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Buffer {
    /// Its name.
    pub name: String,
    /// The elements' type.
    pub ty: ElementType,
    /// Elements.
    pub len: usize,
    /// Contents before the first launch.
    pub init: Init,
    /// Where it is described.
    pub anchor: Anchor,
}

impl Buffer {
    /// Size in bytes; lengths for which this would overflow are refused when a plan is read.
    pub fn bytes(&self) -> u64 {
        self.len as u64 * self.ty.bytes() as u64
    }
}

/// One launch, possibly repeated.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedLaunch {
    /// The kernel's name in the module.
    pub kernel: String,
    /// CTAs of the grid.
    pub grid: [u32; 3],
    /// Threads of a CTA.
    pub block: [u32; 3],
    /// CTAs of a cluster, where the launch says so.
    pub cluster: Option<[u32; 3]>,
    /// Dynamic shared memory of a CTA.
    pub shared_bytes: u32,
    /// How many times in a row, at least once.
    pub repeat: u32,
    /// The kernel's arguments.
    pub arguments: Vec<PlannedArgument>,
    /// Where the kernel is named.
    pub kernel_anchor: Anchor,
    /// Where each part is written.
    pub places: LaunchPlaces,
}

/// Where a launch is described, so that what is wrong with it can be pointed at.
#[derive(Clone, Debug, PartialEq)]
pub struct LaunchPlaces {
    /// The launch as a whole.
    pub launch: Anchor,
    /// The grid.
    pub grid: Anchor,
    /// The block.
    pub block: Anchor,
    /// The cluster, where one is given.
    pub cluster: Option<Anchor>,
    /// The dynamic shared memory, where it is given.
    pub shared_bytes: Option<Anchor>,
    /// Each argument.
    pub arguments: Vec<Anchor>,
}

/// A kernel argument.
#[derive(Clone, Debug, PartialEq)]
pub enum PlannedArgument {
    /// The device address of a buffer, an index into [`Plan::buffers`].
    Buffer(usize),
    /// A scalar's little-endian bits.
    Scalar {
        /// Its type.
        ty: ElementType,
        /// The bits.
        bits: u64,
    },
    /// A structure passed by value.
    Structure(Structure),
}

/// What a buffer must hold after the last launch.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation {
    /// An index into [`Plan::buffers`].
    pub buffer: usize,
    /// What it is compared with.
    pub against: Against,
    /// Relative tolerance.
    pub rtol: f64,
    /// Absolute tolerance.
    pub atol: f64,
    /// Where it is written.
    pub anchor: Anchor,
}

/// Where the expected values come from.
#[derive(Clone, Debug, PartialEq)]
pub enum Against {
    /// Values or a file.
    Contents(Init),
    /// The corpus's CPU implementation of this name.
    Reference(String),
}

/// Checks a buffer's length: its size must be addressable.
pub(super) fn checked_len(len: u64, ty: ElementType) -> Result<usize, String> {
    /// Far above any GPU's memory, far below where device addresses would wrap.
    const MOST_BYTES: u64 = 1 << 46;
    if len == 0 {
        return Err("a buffer needs at least one element".to_owned());
    }
    match len.checked_mul(ty.bytes() as u64) {
        Some(bytes) if bytes <= MOST_BYTES => Ok(len as usize),
        _ => Err(format!("a buffer of {len} elements of {} is larger than 64 TiB", ty.name())),
    }
}
