//! Matrices in shared memory as `wgmma` sees them (PTX ISA 9.7.17.5.1.2): descriptors, and where
//! each element lies.
//!
//! A matrix is made of rows of 16 bytes: T consecutive elements along its leading dimension, K or
//! M/N. The manual gives the layouts in CuTe's notation (table "Canonical Layouts"); a swizzling
//! mode permutes the 16-byte rows within patterns of eight times 32, 64 or 128 bytes.

/// The dimension that is contiguous in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Major {
    /// K: A by rows, B by columns.
    K,
    /// M of A, N of B: `imm-trans` is 1.
    MN,
}

/// A matrix descriptor (9.7.17.5.1.2.2), decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// Address in the CTA's shared memory.
    pub start: u64,
    /// Leading dimension byte offset.
    pub leading: u64,
    /// Stride dimension byte offset.
    pub stride: u64,
    /// Offset of the start of a pattern, in units of 128 bytes, if not at a multiple of its size.
    pub base_offset: u64,
    /// Bits of the swizzle: 0 for none, 1, 2 and 3 for 32, 64 and 128 bytes.
    pub swizzle: u32,
}

impl Descriptor {
    /// The descriptor in a register.
    #[must_use]
    pub const fn decode(bits: u64) -> Self {
        const fn field(bits: u64, at: u32) -> u64 {
            (bits >> at & 0x3fff) << 4
        }
        let swizzle = match bits >> 62 {
            0 => 0,
            1 => 3,
            2 => 2,
            _ => 1,
        };
        Self {
            start: field(bits, 0),
            leading: field(bits, 16),
            stride: field(bits, 32),
            base_offset: bits >> 49 & 7,
            swizzle,
        }
    }

    /// Returns the place of the 16-byte row that holds element (`mn`, `k`) of a matrix whose rows
    /// hold `per_row` elements.
    #[must_use]
    pub const fn row(self, major: Major, per_row: u32, mn: u32, k: u32) -> u64 {
        let (mn, k, per_row) = (mn as u64, k as u64, per_row as u64);
        // Rows of a pattern that lie next to each other.
        let width = 1u64 << self.swizzle;
        let offset = match (major, self.swizzle) {
            (Major::K, 0) => mn % 8 * 16 + mn / 8 * self.stride + k / per_row * self.leading,
            (Major::K, _) => mn % 8 * 16 * width + mn / 8 * self.stride + k / per_row * 16,
            (Major::MN, 0) => k % 8 * 16 + k / 8 * self.leading + mn / per_row * self.stride,
            (Major::MN, _) => {
                let row = mn / per_row;
                row % width * 16
                    + row / width * self.leading
                    + k % 8 * 16 * width
                    + k / 8 * self.stride
            }
        };
        self.swizzled(self.start + offset)
    }

    /// CuTe's `Swizzle<B, 4, 3>` of an address: bits from 4 on are exchanged with those from 7 on,
    /// which count from where the pattern begins.
    const fn swizzled(self, address: u64) -> u64 {
        let line = (address >> 7).wrapping_sub(self.base_offset);
        let mask = (1 << self.swizzle) - 1;
        address ^ (line & mask) << 4
    }
}
