//! `spcompress` and `spdecompress`: vectors of registers, lane by lane.

use super::super::lanes::Frame;
use super::OperandFault;
use crate::fault::FaultKind;
use crate::program::matrix_op::{VectorCompression, VectorExpansion};
use crate::semantics::sparse_vector::{self, SparsityDescriptor};

/// Keeps two of each four elements.
pub(super) fn compress(
    frame: &Frame,
    op: &VectorCompression,
    mask: u32,
) -> Result<(), OperandFault> {
    for lane in (0..32).filter(|lane| mask >> lane & 1 != 0) {
        let dense = read(frame, &op.dense, lane);
        let bits = frame.lane::<u32>(op.descriptor, lane as usize);
        let descriptor = SparsityDescriptor::decode(bits, op.element_bits)
            .ok_or_else(|| undefined(lane, "this sparsity descriptor", bits))?;
        let compressed =
            sparse_vector::compress(&dense, op.element_bits, op.index_bits, descriptor);
        let compressed = compressed
            .ok_or_else(|| undefined(lane, "an element of six bits with higher bits", bits))?;
        write(frame, &op.metadata, lane, &compressed.metadata);
        write(frame, &op.kept, lane, &compressed.kept);
    }
    Ok(())
}

/// Puts elements at their places among zeros.
pub(super) fn expand(frame: &Frame, op: &VectorExpansion, mask: u32) -> Result<(), OperandFault> {
    for lane in (0..32).filter(|lane| mask >> lane & 1 != 0) {
        let (metadata, stored) = (read(frame, &op.metadata, lane), read(frame, &op.stored, lane));
        let dense = op.expansion.expand(&metadata, &stored).map_err(|index| {
            undefined(lane, "an index that lies outside the group of elements", index)
        })?;
        write(frame, &op.dense, lane, &dense);
    }
    Ok(())
}

fn undefined(lane: u32, what: &'static str, value: u32) -> OperandFault {
    OperandFault { lane, kind: FaultKind::UndefinedOperand { what, value: value.into() } }
}

/// A lane's words of rows.
fn read(frame: &Frame, rows: &[u32], lane: u32) -> Vec<u32> {
    rows.iter().map(|&row| frame.lane::<u32>(row, lane as usize)).collect()
}

/// Changes a lane's words of rows; missing words are 0.
fn write(frame: &Frame, rows: &[u32], lane: u32, words: &[u32]) {
    for (&row, word) in rows.iter().zip(words.iter().copied().chain(std::iter::repeat(0))) {
        frame.set_lanes::<u32>(row, 1 << lane, [word; 32]);
    }
}
