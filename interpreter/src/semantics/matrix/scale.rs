//! Block scaling of `mma` (PTX ISA 9.7.14.3): D = (A · scale_A) (B · scale_B) + C.
//!
//! A row of A, or a column of B, is cut into 1, 2 or 4 blocks, each with a factor of its own. The
//! factors are bytes of one register of some of the lanes. For A these are a pair in each group of
//! four, which has the factors of rows `group` and `group + 8`. For B it is one lane.

use super::element;

/// The format of a factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScaleFormat {
    /// `.ue8m0`: a power of two; 0xff is NaN.
    Ue8m0,
    /// `.ue4m3`: `.e4m3` without its sign, whose bit is ignored; 0x7f is NaN.
    Ue4m3,
}

impl ScaleFormat {
    /// The value of a factor.
    #[must_use]
    pub fn value(self, code: u8) -> f64 {
        match self {
            Self::Ue8m0 if code == 0xff => f64::NAN,
            Self::Ue8m0 => f64::from_bits((u64::from(code) + 1023 - 127) << 52),
            Self::Ue4m3 => element::e4m3(code & 0x7f),
        }
    }
}

/// The lane whose register holds the factors of `row` of A.
#[must_use]
pub fn lane_of_row(row: u32, thread_id: u32) -> u32 {
    4 * (row % 8) + 2 * (thread_id % 2) + row / 8
}

/// The lane whose register holds the factors of `column` of B.
#[must_use]
pub fn lane_of_column(column: u32, thread_id: u32) -> u32 {
    4 * column + thread_id % 4
}

/// The byte of `block` in that register.
#[must_use]
pub fn factor(register: u32, byte_id: u32, block: u32) -> u8 {
    (register >> (8 * ((byte_id + block) % 4))) as u8
}

/// Returns true if the manual (table 37) allows these selectors with `blocks` blocks; `threads` is
/// 2 for A and 4 for B.
#[must_use]
pub fn are_selectors_valid(blocks: u32, byte_id: u32, thread_id: u32, threads: u32) -> bool {
    byte_id + blocks <= 4 && byte_id.is_multiple_of(blocks) && thread_id < threads
}
