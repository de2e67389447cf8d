//! Tensor memory (PTX ISA 9.7.16): where values lie in it, and what its descriptors say.
//!
//! Each CTA has 128 lanes of 512 columns of 32 bits, and on some targets a few more. An address has
//! the lane in its upper half and the column in its lower one. [`fragment`] gives the places of the
//! registers of `tcgen05.ld` and `.st`, [`layout`] those of matrices; [`descriptor`] decodes the
//! descriptors of products. Where the manual shows a layout as a picture only, the places are those
//! that CUTLASS's CuTe layouts state (`mma_traits_sm100_frag.hpp`, `copy_traits_sm100.hpp`).

pub mod descriptor;
pub mod fragment;
pub mod layout;

/// Lanes of a CTA's tensor memory.
pub const LANES: u32 = 128;
/// Columns of a lane that allocations share, of 32 bits each.
pub const COLUMNS: u32 = 512;
/// Columns of a lane that an exclusive allocation may take on the targets that have most (table 58
/// of PTX ISA 9.4).
pub const CAPACITY: u32 = 576;
/// The unit of allocations in columns.
pub const ALLOCATION: u32 = 32;

/// A cell of tensor memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The lane, of which there are [`LANES`].
    pub lane: u32,
    /// The column, of which there are [`CAPACITY`] at most.
    pub column: u32,
}

impl Cell {
    /// The cell that an address means.
    #[must_use]
    pub const fn of_address(address: u32) -> Self {
        Self { lane: address >> 16, column: address & 0xffff }
    }

    /// The cell so many lanes and columns further on.
    #[must_use]
    pub const fn offset(self, lanes: u32, columns: u32) -> Self {
        Self { lane: self.lane + lanes, column: self.column + columns }
    }
}
