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
pub(crate) struct Plan {
    /// The PTX text.
    pub(crate) module: SourceText,
    /// Which PTX of a container it is and why, if there was a choice.
    pub(crate) note: Option<String>,
    /// Machine code of the module, where the container has some.
    pub(crate) cubins: Vec<Cubin>,
    /// The architecture that was asked for, or else that of the PTX.
    pub(crate) target: Option<Target>,
    /// The corpus kernel that it comes from; its published measurements apply.
    pub(crate) corpus_name: Option<&'static str>,
    /// Paths of buffer files are relative to this folder.
    pub(crate) folder: PathBuf,
    pub(crate) buffers: Vec<Buffer>,
    pub(crate) launches: Vec<PlannedLaunch>,
    pub(crate) expectations: Vec<Expectation>,
}

/// A buffer in device memory.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Buffer {
    pub(crate) name: String,
    pub(crate) ty: ElementType,
    /// Elements.
    pub(crate) len: usize,
    pub(crate) init: Init,
    pub(crate) anchor: Anchor,
}

impl Buffer {
    /// Size in bytes; lengths for which this would overflow are refused when a plan is read.
    pub(crate) fn bytes(&self) -> u64 {
        self.len as u64 * self.ty.bytes() as u64
    }
}

/// One launch, possibly repeated.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PlannedLaunch {
    pub(crate) kernel: String,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    /// CTAs of a cluster, where the launch says so.
    pub(crate) cluster: Option<[u32; 3]>,
    pub(crate) shared_bytes: u32,
    /// How many times in a row, at least once.
    pub(crate) repeat: u32,
    pub(crate) arguments: Vec<PlannedArgument>,
    /// Where the kernel is named.
    pub(crate) kernel_anchor: Anchor,
    pub(crate) places: LaunchPlaces,
}

/// Where a launch is described, so that what is wrong with it can be pointed at.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LaunchPlaces {
    /// The launch as a whole.
    pub(crate) launch: Anchor,
    pub(crate) grid: Anchor,
    pub(crate) block: Anchor,
    pub(crate) cluster: Option<Anchor>,
    pub(crate) shared_bytes: Option<Anchor>,
    /// Each argument.
    pub(crate) arguments: Vec<Anchor>,
}

/// A kernel argument.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum PlannedArgument {
    /// The device address of a buffer, an index into [`Plan::buffers`].
    Buffer(usize),
    /// A scalar's little-endian bits.
    Scalar { ty: ElementType, bits: u64 },
    /// A structure passed by value.
    Structure(Structure),
}

/// What a buffer must hold after the last launch.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Expectation {
    /// An index into [`Plan::buffers`].
    pub(crate) buffer: usize,
    pub(crate) against: Against,
    /// Relative tolerance.
    pub(crate) rtol: f64,
    /// Absolute tolerance.
    pub(crate) atol: f64,
    pub(crate) anchor: Anchor,
}

/// Where the expected values come from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Against {
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
