//! Blocks of memory that kernels reach.

/// The way in which a program got memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockKind {
    /// For the device alone.
    Device,
    /// For host and device, moved by the driver.
    Managed,
    /// On the host, which the device reaches.
    Pinned,
    /// The program's own, which it registered.
    Registered,
    /// A variable of a module.
    Variable,
    /// The elements of an array, whose address programs do not get.
    Array,
    /// The levels of a mipmapped array.
    Mipmap,
}

impl BlockKind {
    /// The call that gives it, for messages.
    pub(crate) fn origin(self) -> &'static str {
        match self {
            Self::Device => "device memory",
            Self::Managed => "managed memory",
            Self::Pinned => "pinned memory",
            Self::Registered => "registered memory",
            Self::Variable => "module variable",
            Self::Array => "array",
            Self::Mipmap => "mipmapped array",
        }
    }

    /// Returns true if it takes memory of the GPU.
    pub(crate) const fn is_on_device(self) -> bool {
        matches!(self, Self::Device | Self::Managed | Self::Variable | Self::Array | Self::Mipmap)
    }
}

/// A block of memory that kernels reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockRange {
    /// Its first address.
    pub address: u64,
    /// Its size in bytes.
    pub bytes: u64,
    /// The way in which the program got it.
    pub kind: BlockKind,
}
