//! The registers of `tcgen05.ld` and `tcgen05.st` (PTX ISA 9.7.16.2.3.1).

use super::Cell;

/// The shape that one repetition of a transfer moves: lanes times bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// `.32x32b`
    L32B32,
    /// `.16x64b`
    L16B64,
    /// `.16x128b`
    L16B128,
    /// `.16x256b`
    L16B256,
    /// `.16x32bx2`: the upper half of the warp moves columns that begin `split` further on.
    L16B32Twice {
        /// Distance of the two parts in columns.
        split: u32,
    },
}

impl Shape {
    /// Lanes of tensor memory that are accessed.
    #[must_use]
    pub const fn lanes(self) -> u32 {
        match self {
            Self::L32B32 => 32,
            _ => 16,
        }
    }

    /// Registers of one repetition.
    #[must_use]
    pub const fn registers(self) -> u32 {
        match self {
            Self::L32B32 | Self::L16B64 | Self::L16B32Twice { .. } => 1,
            Self::L16B128 => 2,
            Self::L16B256 => 4,
        }
    }

    /// The cell of register `register` of `lane`, from the transfer's address on. `packed` is
    /// `.pack::16b` or `.unpack::16b`: the register then holds the low halves of this cell and the
    /// next.
    #[must_use]
    pub const fn cell(self, lane: u32, register: u32, packed: bool) -> Cell {
        let (group, member) = (lane / 4, lane % 4);
        let (row, column, first) = match self {
            Self::L32B32 => (lane, register, 0),
            Self::L16B64 => (group + 8 * (lane % 2), lane / 2 % 2 + 2 * register, 0),
            Self::L16B128 => (group + 8 * (register % 2), member + 4 * (register / 2), 0),
            Self::L16B256 => {
                (group + 8 * (register / 2 % 2), register % 2 + 2 * member + 8 * (register / 4), 0)
            }
            Self::L16B32Twice { split } => (lane % 16, register, lane / 16 * split),
        };
        let columns = if packed { 2 } else { 1 };
        Cell { lane: row, column: first + columns * column }
    }
}
