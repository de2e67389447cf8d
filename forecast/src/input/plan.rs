//! The plan of an execution: the one form that corpus names, launch files and command-line
//! arguments all become.

use std::path::PathBuf;

use gpucast_buffers::init::Init;
use gpucast_buffers::scalar::ElementType;
use gpucast_counters::hierarchy::L2Contents;
use gpucast_interpreter::GridLimits;
use gpucast_interpreter::texture::Textures;
use gpucast_model::Timing;
use gpucast_ptx_frontend::container::{Cubin, Target};
use serde::{Deserialize, Serialize};

use super::structure::Structure;
use super::texture::PlannedTexture;
use crate::failure::{Anchor, SourceText};

pub use super::buffer::Buffer;
pub use super::load_caching::LoadCaching;
pub use super::pointer::Pointer;

/// A module, its buffers, its launches, and their expected results.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Plan {
    /// The PTX text.
    pub module: SourceText,
    /// Names the chosen PTX of a container with the reason, if there was a choice.
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
    /// Variables of the module that are filled before the first launch.
    pub symbols: Vec<Symbol>,
    /// Textures and surfaces, in the order of their handles.
    pub textures: Vec<PlannedTexture>,
    /// Cache level that keeps loads without a cache operator, if not that of the generation.
    pub load_caching: Option<LoadCaching>,
    /// The L2's contents when launches begin.
    pub l2: L2Contents,
    /// The way in which times are measured; the kernel alone without one. No count depends on it.
    pub timing: Option<Timing>,
    /// Launches in their order.
    pub launches: Vec<PlannedLaunch>,
    /// Contents expected after the last launch.
    pub expectations: Vec<Expectation>,
}

impl Plan {
    /// The texture whose handle an argument is, as an index into [`Plan::textures`].
    #[must_use]
    pub fn texture_of(&self, passed: &PlannedArgument) -> Option<usize> {
        let is_passed = |&index: &usize| {
            self.textures[index].is_argument && *passed == PlannedArgument::texture(index)
        };
        (0..self.textures.len()).find(is_passed)
    }
}

/// One launch, possibly repeated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PlannedLaunch {
    /// The kernel's name in the module.
    pub kernel: String,
    /// CTAs of the grid.
    pub grid: [u32; 3],
    /// True if the grid may be larger than CUDA allows.
    pub beyond_cuda: bool,
    /// Threads of a CTA.
    pub block: [u32; 3],
    /// CTAs of a cluster, where the launch says so.
    pub cluster: Option<[u32; 3]>,
    /// Dynamic shared memory of a CTA.
    pub shared_bytes: u32,
    /// Number of executions in a row, at least one.
    pub repeat: u32,
    /// The kernel's arguments.
    pub arguments: Vec<PlannedArgument>,
    /// Place of the kernel's name.
    pub kernel_anchor: Anchor,
    /// Place of each part.
    pub places: LaunchPlaces,
}

impl PlannedLaunch {
    /// How large its grid may be.
    #[must_use]
    pub(crate) fn grid_limits(&self) -> GridLimits {
        if self.beyond_cuda { GridLimits::Registers } else { GridLimits::Cuda }
    }

    /// What is to be said of a grid that no GPU runs.
    #[must_use]
    pub(crate) fn beyond_cuda_note(&self) -> Option<String> {
        let [x, y, z] = GridLimits::Cuda.extents();
        let exceeds = self.grid.iter().zip([x, y, z]).any(|(&extent, most)| extent > most);
        (self.beyond_cuda && exceeds).then(|| {
            format!(
                "{}: the grid is larger than the {x} x {y} x {z} blocks that CUDA allows",
                self.kernel
            )
        })
    }
}

/// The places of a launch's parts, so that reports can point at a fault.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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

impl Pointer {
    /// Reads `name` or `name+8192` where buffers of these names and sizes are known.
    ///
    /// # Errors
    ///
    /// The name that no buffer has, or a sentence about the offset.
    pub(super) fn read(text: &str, buffers: &[Buffer]) -> Result<Self, PointerError> {
        let index = |name: &str| buffers.iter().position(|buffer| buffer.name == name);
        // A name may have a `+` of its own.
        if let Some(buffer) = index(text) {
            return Ok(Self::to(buffer));
        }
        let unknown = |name: &str| PointerError::Unknown(name.trim().to_owned());
        let (name, offset) = text.rsplit_once('+').ok_or_else(|| unknown(text))?;
        let buffer = index(name.trim()).ok_or_else(|| unknown(name))?;
        let digits = offset.trim();
        let offset = match digits.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => digits.parse(),
        };
        let offset = offset.map_err(|_| {
            PointerError::Offset(format!("`{digits}` is no number of bytes behind `{name}`"))
        })?;
        let bytes = buffers[buffer].bytes();
        if offset > bytes {
            let message =
                format!("buffer {name} has {bytes} bytes, and byte {offset} is behind it");
            return Err(PointerError::Offset(message));
        }
        Ok(Self { buffer, offset })
    }
}

/// Reason why a text is no pointer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PointerError {
    /// No buffer has this name.
    Unknown(String),
    /// The offset is no number, or leaves the buffer.
    Offset(String),
}

/// Values for a variable of the module, as `cudaMemcpyToSymbol` would write them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Symbol {
    /// The variable: its name, mangled or not, or a part that only one has.
    pub name: String,
    /// The type of the values.
    pub ty: ElementType,
    /// Number of values to write; `None` fills the variable.
    pub len: Option<usize>,
    /// The values.
    pub init: Init,
    /// Place of its description.
    pub anchor: Anchor,
}

/// A kernel argument.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum PlannedArgument {
    /// A pointer into a buffer.
    Pointer(Pointer),
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

impl PlannedArgument {
    /// The handle of the texture at `index` of [`Plan::textures`].
    pub(super) fn texture(index: usize) -> Self {
        Self::Scalar { ty: ElementType::U64, bits: Textures::handle(index) }
    }

    /// The buffers that the argument points into, as indices into [`Plan::buffers`].
    pub fn buffers(&self) -> Vec<usize> {
        match self {
            Self::Pointer(pointer) => vec![pointer.buffer],
            Self::Structure(structure) => structure.buffers().collect(),
            Self::Scalar { .. } => Vec::new(),
        }
    }
}

/// The expected content of a buffer after the last launch.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation {
    /// An index into [`Plan::buffers`].
    pub buffer: usize,
    /// Origin of the expected values.
    pub against: Against,
    /// Relative tolerance.
    pub rtol: f64,
    /// Absolute tolerance.
    pub atol: f64,
    /// Place of its description.
    pub anchor: Anchor,
}

/// Origin of the expected values.
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
