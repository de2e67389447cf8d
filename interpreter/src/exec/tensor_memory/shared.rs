//! Matrices in shared memory that descriptors describe, and where their rows lie.

use super::super::matrix::OperandFault;
use super::{Memories, of_lane, undefined};
use crate::program::memory_op::Space;
use crate::semantics::matrix::transfer::Packing;
use crate::semantics::matrix::warpgroup::Major;
use crate::semantics::tensor_memory::descriptor::{Element, MatrixDescriptor};

/// A matrix of rows of A or columns of B in the shared memory of one CTA.
#[derive(Clone, Copy)]
pub(super) struct SharedMatrix {
    pub(super) descriptor: MatrixDescriptor,
    pub(super) major: Major,
    pub(super) element: Element,
    /// Rows of A or columns of B.
    pub(super) rows: u32,
    /// Bytes of each of them.
    pub(super) bytes: u32,
}

impl SharedMatrix {
    /// The words of all rows, each in the order of K, from the CTA at place `at`. Narrow elements
    /// come in bytes of their own, as registers of `mma` hold them.
    pub(super) fn read(
        &self,
        memories: &Memories<'_>,
        at: u32,
        lane: u32,
    ) -> Result<Vec<u32>, OperandFault> {
        if !self.descriptor.holds(self.major, self.bytes) {
            let what = "a swizzle that the rows of a matrix do not fit into";
            return Err(undefined(lane, what, self.bytes.into()));
        }
        let row = |mn, k| {
            let address = self.descriptor.row(self.major, self.element.per_row(), mn, k);
            read_row(memories, memories.shared_address(at, address), lane)
        };
        let mut words = Vec::with_capacity((self.rows * self.bytes / 4) as usize);
        let mut push = |bytes: &[u8; 4]| words.push(u32::from_le_bytes(*bytes));
        match self.major {
            Major::K => {
                let per_row = self.element.per_row();
                for mn in 0..self.rows {
                    for part in 0..self.bytes / 16 {
                        let row = unpacked(self.element, row(mn, part * per_row)?);
                        row.as_chunks::<4>().0.iter().for_each(&mut push);
                    }
                }
            }
            Major::MN => {
                if !self.element.may_be_transposed() {
                    let what = "a transposed matrix of elements of less than 8 bits";
                    return Err(undefined(lane, what, 1));
                }
                let size = 16 / self.element.per_row();
                let mut line = vec![0; self.bytes as usize];
                for mn in 0..self.rows {
                    let first = (mn % self.element.per_row() * size) as usize;
                    for (bytes, k) in line.chunks_exact_mut(size as usize).zip(0..) {
                        bytes.copy_from_slice(&row(mn, k)?[first..][..size as usize]);
                    }
                    line.as_chunks::<4>().0.iter().for_each(&mut push);
                }
            }
        }
        Ok(words)
    }

    /// The addresses of its 16-byte rows, in groups of eight that lie together unless a swizzle
    /// takes them apart.
    pub(super) fn addresses(&self, memories: &Memories<'_>, at: u32) -> Vec<u64> {
        let per_row = self.element.per_row();
        let place = |mn, k| {
            let address = self.descriptor.row(self.major, per_row, mn, k);
            memories.shared_address(at, address)
        };
        match self.major {
            Major::K => {
                let groups = (0..self.rows).step_by(8);
                let parts = |first: u32| {
                    let rows = first..(first + 8).min(self.rows);
                    let part = move |part| rows.clone().map(move |mn| (mn, part * per_row));
                    (0..self.bytes / 16).flat_map(part)
                };
                groups.flat_map(parts).map(|(mn, k)| place(mn, k)).collect()
            }
            Major::MN => {
                let depth = self.bytes * per_row / 16;
                let rows = (0..self.rows).step_by(per_row as usize);
                rows.flat_map(|mn| (0..depth).map(move |k| (mn, k)))
                    .map(|(mn, k)| place(mn, k))
                    .collect()
            }
        }
    }
}

/// Sixteen bytes of shared memory.
pub(super) fn read_row(
    memories: &Memories<'_>,
    address: u64,
    lane: u32,
) -> Result<[u8; 16], OperandFault> {
    let row = memories.memories.read(Space::Shared, lane, address);
    row.map_err(of_lane(lane))
}

/// A row with each narrow element in a byte: six bits in the low bits of it, four in the middle.
fn unpacked(element: Element, row: [u8; 16]) -> [u8; 16] {
    let row = u128::from_le_bytes(row);
    let bytes = match element {
        Element::E2m3 | Element::E3m2 => Packing::Six.unpack(row),
        Element::E2m1 => Packing::Four.unpack(row) << 2,
        _ => row,
    };
    bytes.to_le_bytes()
}
