//! The operands of texture and surface instructions that do not fit into a micro-operation.

use super::memory_op::AtomicOperation;
use crate::texture::Geometry;

/// A texture or surface instruction. Handles are rows of 64 bits, coordinates rows of 32.
#[derive(Clone, Debug)]
pub(crate) enum TextureOp {
    Fetch(Box<Fetch>),
    Query {
        /// Row of the handle.
        object: u32,
        fact: Fact,
        /// Row of the number of the level that is asked for, if it is not the first.
        level: Option<u32>,
        /// Row of the answer.
        answer: u32,
    },
    IsType {
        object: u32,
        kind: ObjectKind,
        /// Row that becomes 1 or 0.
        answer: u32,
    },
    Surface(Box<SurfaceAccess>),
}

/// `tex` and `tld4`.
#[derive(Clone, Debug)]
pub(crate) struct Fetch {
    /// Index into the program's instructions.
    pub(crate) instruction: u32,
    pub(crate) texture: u32,
    /// Row of the sampler's handle, if it is not the texture's own.
    pub(crate) sampler: Option<u32>,
    pub(crate) geometry: Geometry,
    /// Row of the layer's index.
    pub(crate) layer: Option<u32>,
    /// Row of the sample's number.
    pub(crate) sample: Option<u32>,
    pub(crate) coordinates: [Option<u32>; 3],
    /// True if the coordinates are `.f32`, false for `.s32`.
    pub(crate) real: bool,
    pub(crate) detail: DetailRows,
    /// Rows of the offset in texels.
    pub(crate) offset: [Option<u32>; 3],
    /// Row of the depth that texels are compared with.
    pub(crate) depth: Option<u32>,
    /// `tld4`: the channel.
    pub(crate) gathers: Option<u8>,
    pub(crate) result: ResultFormat,
    /// Rows of the results; `None` for the sink.
    pub(crate) rows: [Option<u32>; 4],
    /// False if nothing needs the values: addresses are checked and told.
    pub(crate) moves: bool,
}

/// The rows that choose among the levels of a texture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DetailRows {
    /// Level 0.
    Base,
    /// `.level`: of the coordinates' type.
    Level(u32),
    /// `.grad`: two gradients.
    Gradients([[Option<u32>; 3]; 2]),
}

/// The registers that a fetch writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResultFormat {
    /// Four of 32 bits.
    Words,
    /// Four halves.
    Halves,
    /// Two pairs of halves.
    Pairs,
}

/// The object that `istypep` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ObjectKind {
    Texture,
    Sampler,
    Surface,
}

/// The fact that `txq` and `suq` ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fact {
    Extent(usize),
    Layers,
    Samples,
    ChannelType,
    ChannelOrder,
    NormalizedCoordinates,
    /// Coordinates are always as the texture says.
    ForceUnnormalizedCoordinates,
    Levels,
    Filter,
    AddressMode(usize),
    MemoryLayout,
}

/// `suld`, `sust` and `sured`.
#[derive(Clone, Debug)]
pub(crate) struct SurfaceAccess {
    pub(crate) instruction: u32,
    pub(crate) surface: u32,
    pub(crate) geometry: Geometry,
    pub(crate) layer: Option<u32>,
    pub(crate) coordinates: [Option<u32>; 3],
    /// True if the first coordinate counts bytes, false for texels.
    pub(crate) in_bytes: bool,
    pub(crate) outside: Outside,
    pub(crate) action: SurfaceAction,
    /// Bytes of a register's value.
    pub(crate) element_bytes: u8,
    pub(crate) elements: u8,
    /// Rows of the results of a load and the operands of all others.
    pub(crate) rows: [Option<u32>; 4],
    pub(crate) moves: bool,
}

/// The effect of a surface instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SurfaceAction {
    Load,
    Store,
    /// `sust.p`: registers are converted to the surface's format.
    StoreFormatted,
    /// The operation on unsigned numbers and on signed ones. `sured.p` chooses by the surface's
    /// format.
    Reduce {
        unsigned: AtomicOperation,
        signed: AtomicOperation,
    },
}

/// The effect of coordinates outside a surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outside {
    /// `.trap`: the launch ends.
    Trap,
    /// `.clamp`: the nearest place inside.
    Clamp,
    /// `.zero`: zeros are loaded, and nothing is stored.
    Zero,
}
