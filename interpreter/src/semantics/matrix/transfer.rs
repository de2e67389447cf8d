//! `ldmatrix`, `stmatrix` and `movmatrix` (PTX ISA 9.7.16.5.15 to 17): rows of 16 bytes, or of 8,
//! against fragments.
//!
//! Lane `i` gives the address of row `i` of the first matrix, then of the next, and so on.

/// The format of the 16 bytes of an unpacked row, and the bytes of them that a lane gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowFormat {
    /// Eight elements of 16 bits; with `transpose` a lane gets two rows of one column.
    M8n8B16 {
        /// `.trans`
        transpose: bool,
    },
    /// Sixteen bytes of eight rows (`.m8n16`), after [`Packing`].
    M8n16,
    /// Sixteen rows of sixteen bytes, transposed (`.m16n16.trans`), after [`Packing`].
    M16n16,
    /// A 16-by-8 matrix of bytes, stored column by column (`stmatrix.m16n8.trans`).
    M16n8,
}

/// The layout of elements in a row of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// As they are.
    None,
    /// `.b6x16_p32`: sixteen elements of 6 bits, then 32 bits that are not used.
    Six,
    /// `.b4x16_p64`: sixteen elements of 4 bits, then 64 bits that are not used.
    Four,
    /// `.s4`: sixteen signed elements of 4 bits in 8 bytes.
    SignedFour,
}

impl Packing {
    /// Bytes of a row in memory, of which its address is a multiple.
    #[must_use]
    pub const fn row_bytes(self) -> u32 {
        match self {
            Self::SignedFour => 8,
            Self::None | Self::Six | Self::Four => 16,
        }
    }

    /// A row with its elements in bytes of their own, the first in the lowest: the low bits of
    /// them, or extended by their sign.
    #[must_use]
    pub fn unpack(self, row: u128) -> u128 {
        let bits = match self {
            Self::None => return row,
            Self::Six => 6,
            Self::Four | Self::SignedFour => 4,
        };
        (0..16).fold(0, |bytes, i| {
            let element = (row >> (bits * i) & ((1 << bits) - 1)) as u8;
            let byte = match self {
                Self::SignedFour => ((element << 4) as i8 >> 4) as u8,
                _ => element,
            };
            bytes | u128::from(byte) << (8 * i)
        })
    }
}

impl RowFormat {
    /// Rows of one matrix.
    #[must_use]
    pub const fn rows(self) -> u32 {
        match self {
            Self::M16n16 => 16,
            Self::M8n8B16 { .. } | Self::M8n16 | Self::M16n8 => 8,
        }
    }

    /// Registers of one matrix.
    #[must_use]
    pub const fn registers(self) -> u32 {
        match self {
            Self::M16n16 => 2,
            Self::M8n8B16 { .. } | Self::M8n16 | Self::M16n8 => 1,
        }
    }

    /// Returns the place of byte `byte` of register `register` of `lane`: the row of the matrix,
    /// and the byte of the row.
    #[must_use]
    pub const fn place(self, lane: u32, register: u32, byte: u32) -> (u32, u32) {
        let (group, member) = (lane / 4, lane % 4);
        match self {
            Self::M8n8B16 { transpose: false } | Self::M8n16 => (group, 4 * member + byte),
            Self::M8n8B16 { transpose: true } => (2 * member + byte / 2, 2 * group + byte % 2),
            Self::M16n16 => (4 * member + byte, group + 8 * register),
            Self::M16n8 => (2 * member + byte % 2, group + 8 * (byte / 2)),
        }
    }
}

/// `movmatrix.m8n8.trans.b16`: the transpose of a matrix whose rows are held by groups of four
/// lanes.
#[must_use]
pub fn transpose(source: &[u32; 32]) -> [u32; 32] {
    let element =
        |row: usize, column: usize| source[4 * row + column / 2] >> (16 * (column % 2)) & 0xffff;
    std::array::from_fn(|lane| {
        let (row, column) = (lane / 4, lane % 4 * 2);
        element(column, row) | element(column + 1, row) << 16
    })
}
