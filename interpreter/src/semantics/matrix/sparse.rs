//! Structured sparsity of `mma.sp` (PTX ISA 9.7.14.6): where the stored half of A's elements go.
//!
//! A row of A is cut into chunks, of whose elements half are stored. A 4-bit field of metadata says
//! which: two 2-bit indices of elements, or of pairs of them.

/// The choice of the stored elements of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sparsity {
    /// One of two (`.tf32`).
    OneOfTwo,
    /// Two of four.
    TwoOfFour,
    /// Two pairs of four (4-bit elements).
    PairsOfFour,
}

impl Sparsity {
    /// Elements in a chunk.
    #[must_use]
    pub const fn chunk(self) -> u32 {
        match self {
            Self::OneOfTwo => 2,
            Self::TwoOfFour => 4,
            Self::PairsOfFour => 8,
        }
    }

    /// Returns the positions of a chunk's stored elements, as many as are stored (`chunk() / 2`).
    /// `None` if the manual gives the field no meaning; `ordered` is `::ordered_metadata`.
    #[must_use]
    pub fn positions(self, field: u32, ordered: bool) -> Option<[u32; 4]> {
        let (first, second) = (field & 3, field >> 2 & 3);
        match self {
            Self::OneOfTwo => match field & 15 {
                0b0100 => Some([0; 4]),
                0b1110 => Some([1, 0, 0, 0]),
                _ => None,
            },
            _ if first == second || ordered && first > second => None,
            Self::TwoOfFour => Some([first, second, 0, 0]),
            Self::PairsOfFour => Some([2 * first, 2 * first + 1, 2 * second, 2 * second + 1]),
        }
    }
}

/// The layout of the metadata of a row's chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// Chunks of one row.
    pub chunks: u32,
    /// True if the two rows of a group share registers, half and half (elements of 16 and 32 bits).
    /// Otherwise they alternate (8 and 4 bits).
    pub rows_share_registers: bool,
}

impl Metadata {
    /// Lanes of each group of four that hold metadata.
    #[must_use]
    pub const fn lanes(self) -> u32 {
        // Two rows of 4-bit fields in registers of 32 bits.
        2 * self.chunks * 4 / 32
    }

    /// Returns true if `selector` selects lanes that exist.
    #[must_use]
    pub const fn is_selector_valid(self, selector: u32) -> bool {
        selector < 4 / self.lanes()
    }

    /// The lane and the lowest bit of the field for `chunk` of `row`.
    #[must_use]
    pub fn field(self, selector: u32, row: u32, chunk: u32) -> (u32, u32) {
        let (group, upper) = (row % 8, row / 8);
        let (member, bit) = if self.rows_share_registers {
            (chunk / 4, 16 * upper + 4 * (chunk % 4))
        } else {
            (2 * (chunk / 8) + upper, 4 * (chunk % 8))
        };
        (4 * group + (selector * self.lanes() + member) % 4, bit)
    }
}
