//! `.decompress::lut::b`: B is stored as indices of tables (PTX ISA 9.4, 9.7.18.10.8).
//!
//! Eight columns of B share a table of eight `.e4m3` for each 64 elements along K. An element is an
//! index of three bits; those of a column follow each other closely from the lowest bit on, so that
//! a column has 24 bytes. Two products share its 48 bytes in shared memory: a bit of the matrix
//! descriptor says which half is used. Table `t`, of columns 8t to 8t + 7, has the lane `t` of
//! tensor memory, two columns wide, with entry 0 in the lowest byte. Each CTA of a pair has the
//! tables of its own columns.
//!
//! The manual shows these places in pictures. Two programs state them in numbers: Triton's test of
//! such products (its pull request 11027) and the simulator of the TIRx harness.

use super::super::matrix::OperandFault;
use super::memory::TensorMemory;
use super::shared::read_row;
use super::{Memories, of_lane, undefined};
use crate::observer::TensorCells;
use crate::semantics::matrix::warpgroup::Major;
use crate::semantics::tensor_memory::Cell;
use crate::semantics::tensor_memory::descriptor::{
    Element, InstructionDescriptor, MatrixDescriptor,
};

/// Columns of B that share a table.
const COLUMNS: u32 = 8;
/// Elements of a column of B.
const DEPTH: u32 = 64;
/// Bits of an index.
const INDEX_BITS: u32 = 3;
/// Bytes of a column of B as it is stored.
const BYTES: u32 = DEPTH * INDEX_BITS / 8;
/// Columns of tensor memory that a table takes.
const WIDTH: u32 = 2;
/// Bytes of the unit that descriptors of matrices place.
const ROW: u32 = 16;

/// The tables of a product and the indices that choose among their entries.
pub(super) struct Tables {
    /// The place of the first table in each CTA.
    first: Cell,
    indices: MatrixDescriptor,
    /// The half of each column's bytes that is used.
    segment: u32,
}

impl Tables {
    /// Returns true if B of a product with this descriptor may be decompressed.
    pub(super) fn may_serve(descriptor: &InstructionDescriptor) -> bool {
        descriptor.deep && descriptor.b == Element::E4m3 && descriptor.major_b == Major::K
    }

    /// The tables from cell `first` on of the indices that a matrix descriptor describes.
    pub(super) fn of(
        descriptor: &InstructionDescriptor,
        indices: MatrixDescriptor,
        first: Cell,
        lane: u32,
    ) -> Result<Self, OperandFault> {
        debug_assert!(Self::may_serve(descriptor));
        if !indices.holds(Major::K, 2 * BYTES) {
            let what = "a swizzle that the rows of indices do not fit into";
            return Err(undefined(lane, what, (2 * BYTES).into()));
        }
        let Some(segment) = indices.segment() else {
            return Err(undefined(lane, "this part of a matrix of indices", 2));
        };
        Ok(Self { first, indices, segment })
    }

    /// The 16-byte rows along K that hold a column's indices, and the byte at which they begin.
    fn rows_along_k(&self) -> (std::ops::Range<u32>, u32) {
        let begin = self.segment * BYTES;
        (begin / ROW..(begin + BYTES).div_ceil(ROW), begin % ROW)
    }

    fn address(&self, memories: &Memories<'_>, column: u32, row: u32, cta: u32) -> u64 {
        let address = self.indices.row(Major::K, ROW, column, row * ROW);
        memories.shared_address(cta, address)
    }

    /// The words of the columns of B of one CTA, an element in each byte.
    pub(super) fn decompress(
        &self,
        memories: &Memories<'_>,
        columns: u32,
        cta: u32,
        lane: u32,
    ) -> Result<Vec<u32>, OperandFault> {
        let memory = memories.of(cta)?;
        memory.check(self.first, columns / COLUMNS, WIDTH).map_err(of_lane(lane))?;
        let (rows, begin) = self.rows_along_k();
        let mut words = Vec::with_capacity((columns * DEPTH / 4) as usize);
        for column in 0..columns {
            let table = self.table(&memory, column / COLUMNS);
            let mut bytes = [0; 2 * ROW as usize];
            for (row, part) in rows.clone().zip(bytes.chunks_exact_mut(ROW as usize)) {
                let address = self.address(memories, column, row, cta);
                part.copy_from_slice(&read_row(memories, address, lane)?);
            }
            // Three bytes hold eight indices.
            for three in bytes[begin as usize..][..BYTES as usize].as_chunks::<3>().0 {
                let [a, b, c] = *three;
                let packed = u32::from_le_bytes([a, b, c, 0]);
                let entry = |at: u32| table[(packed >> (INDEX_BITS * at) & 7) as usize];
                words.extend([0, 4].map(|first| {
                    u32::from_le_bytes([first, first + 1, first + 2, first + 3].map(entry))
                }));
            }
        }
        Ok(words)
    }

    /// The entries of table `at`.
    fn table(&self, memory: &TensorMemory, at: u32) -> [u8; 8] {
        let word = |column| u64::from(memory.get(self.first.offset(at, column)));
        (word(0) | word(1) << 32).to_le_bytes()
    }

    /// The addresses of the 16-byte rows that [`Self::decompress`] reads, eight columns together.
    pub(super) fn addresses(&self, memories: &Memories<'_>, columns: u32, cta: u32) -> Vec<u64> {
        let (rows, _) = self.rows_along_k();
        let of_table = |first: u32| {
            let of_row = move |row| (first..first + COLUMNS).map(move |column| (column, row));
            rows.clone().flat_map(of_row)
        };
        let places = (0..columns).step_by(COLUMNS as usize).flat_map(of_table);
        places.map(|(column, row)| self.address(memories, column, row, cta)).collect()
    }

    /// The cells of the tables of the CTA of this rank.
    pub(super) fn cells(&self, rank: u32, columns: u32) -> TensorCells {
        let Cell { lane, column } = self.first;
        TensorCells { rank, lane, lanes: columns / COLUMNS, column, columns: WIDTH }
    }
}
