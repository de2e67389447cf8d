//! `tcgen05.cp`: rows of shared memory to lanes.

use super::super::access;
use super::super::lanes::Frame;
use super::super::matrix::OperandFault;
use super::shared::SharedMatrix;
use super::{Memories, cell, of_lane, undefined};
use crate::observer::TensorCells;
use crate::program::tensor_memory_op::{CopyFromShared, Spread};
use crate::semantics::matrix::transfer::Packing;
use crate::semantics::matrix::warpgroup::Major;
use crate::semantics::tensor_memory::descriptor::{Element, MatrixDescriptor};
use crate::semantics::tensor_memory::{Cell, LANES};

/// What a copy has read and written.
pub(super) struct Copied {
    /// Addresses of 16-byte rows of shared memory.
    pub(super) reads: Vec<u64>,
    pub(super) writes: Vec<TensorCells>,
}

/// The operands of a copy.
#[derive(Clone, Copy, Debug)]
pub(in crate::exec) struct CopyValues {
    base: Cell,
    /// The bits of the matrix descriptor.
    source: u64,
}

impl CopyValues {
    /// Those of a lane.
    pub(super) fn of(frame: &Frame, op: &CopyFromShared, lane: u32) -> Self {
        let source = frame.lane::<u64>(op.source, lane as usize);
        Self { base: cell(frame, &op.address, lane), source }
    }
}

/// Executes a copy that one lane issues. Without `computes` it is only checked.
pub(super) fn copy(
    memories: &access::Memories<'_>,
    op: &CopyFromShared,
    values: CopyValues,
    lane: u32,
    computes: bool,
) -> Result<Copied, OperandFault> {
    let CopyValues { base, source: bits } = values;
    let descriptor = MatrixDescriptor::decode(bits);
    let descriptor = descriptor.ok_or_else(|| undefined(lane, "this matrix descriptor", bits))?;
    // The format only says how a row is unpacked.
    let element = match op.packing {
        Packing::Six => Element::E3m2,
        Packing::Four => Element::E2m1,
        Packing::None | Packing::SignedFour => Element::U8,
    };
    let (rows, bytes) = (op.rows, 16 * op.parts);
    let matrix = SharedMatrix { descriptor, major: Major::K, element, rows, bytes };
    let memories = Memories::new(memories, if op.pair { 2 } else { 1 });
    let (mut reads, mut writes) = (Vec::new(), Vec::new());
    for at in 0..memories.ctas {
        let words = matrix.read(&memories, at, lane)?;
        let mut memory = memories.of(at)?;
        let columns = bytes / 4;
        if base.lane != 0 {
            let what = "a copy to a lane of tensor memory other than the first";
            return Err(undefined(lane, what, base.lane.into()));
        }
        memory.check(base, LANES, columns).map_err(of_lane(lane))?;
        if computes {
            for (row, words) in (0..).zip(words.chunks_exact(columns as usize)) {
                for target in targets(op.spread, row) {
                    for (&word, column) in words.iter().zip(0..) {
                        // Six bits lie in the middle of their byte here.
                        let word = if op.packing == Packing::Six { word << 1 } else { word };
                        memory.set(base.offset(target, column), word);
                    }
                }
            }
        }
        reads.extend(matrix.addresses(&memories, at));
        let cells = |lane, lanes| {
            let (rank, column) = (memories.first + at, base.column);
            TensorCells { rank, lane, lanes, column, columns }
        };
        match op.spread {
            Spread::Quarters => writes.extend((0..rows).map(|row| cells(32 * row, 1))),
            _ => writes.push(cells(0, LANES)),
        }
    }
    Ok(Copied { reads, writes })
}

/// The lanes that receive a row.
fn targets(spread: Spread, row: u32) -> Vec<u32> {
    match spread {
        Spread::Once => vec![row],
        Spread::Quarters => vec![32 * row],
        Spread::Halves => vec![row, row + 64],
        Spread::Neighbours => {
            let first = row % 32 + row / 32 * 64;
            vec![first, first + 32]
        }
        Spread::All => (0..4).map(|quarter| row + 32 * quarter).collect(),
    }
}
