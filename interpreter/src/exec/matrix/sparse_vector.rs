//! `spcompress` and `spdecompress`: vectors of registers, lane by lane.

#![allow(unsafe_code, reason = "registers are rows of checked programs")]

use super::super::lanes::Frame;
use super::OperandFault;
use crate::fault::FaultKind;
use crate::program::matrix_op::{VectorCompression, VectorExpansion};
use crate::semantics::sparse_vector::{self, SparsityDescriptor};

/// Keeps two of each four elements.
///
/// # Safety
///
/// The invariants of [`Frame`]; `op` belongs to its program.
pub(super) unsafe fn compress(
    frame: &Frame,
    op: &VectorCompression,
    mask: u32,
) -> Result<(), OperandFault> {
    for lane in (0..32).filter(|lane| mask >> lane & 1 != 0) {
        // SAFETY: by the contract.
        let (dense, bits) = unsafe {
            (read(frame, &op.dense, lane), frame.row::<u32>(op.descriptor)[lane as usize & 31])
        };
        let descriptor = SparsityDescriptor::decode(bits, op.element_bits)
            .ok_or_else(|| undefined(lane, "this sparsity descriptor", bits))?;
        let compressed =
            sparse_vector::compress(&dense, op.element_bits, op.index_bits, descriptor);
        let compressed = compressed
            .ok_or_else(|| undefined(lane, "an element of six bits with higher bits", bits))?;
        // SAFETY: by the contract.
        unsafe {
            write(frame, &op.metadata, lane, &compressed.metadata);
            write(frame, &op.kept, lane, &compressed.kept);
        }
    }
    Ok(())
}

/// Puts elements at their places among zeros.
///
/// # Safety
///
/// As [`compress`].
pub(super) unsafe fn expand(
    frame: &Frame,
    op: &VectorExpansion,
    mask: u32,
) -> Result<(), OperandFault> {
    for lane in (0..32).filter(|lane| mask >> lane & 1 != 0) {
        // SAFETY: by the contract.
        let (metadata, stored) =
            unsafe { (read(frame, &op.metadata, lane), read(frame, &op.stored, lane)) };
        let dense = op.expansion.expand(&metadata, &stored).map_err(|index| {
            undefined(lane, "an index that lies outside the group of elements", index)
        })?;
        // SAFETY: by the contract.
        unsafe { write(frame, &op.dense, lane, &dense) };
    }
    Ok(())
}

fn undefined(lane: u32, what: &'static str, value: u32) -> OperandFault {
    OperandFault { lane, kind: FaultKind::UndefinedOperand { what, value: value.into() } }
}

/// A lane's words of rows.
///
/// # Safety
///
/// As [`compress`].
unsafe fn read(frame: &Frame, rows: &[u32], lane: u32) -> Vec<u32> {
    // SAFETY: by the contract.
    rows.iter().map(|&row| unsafe { frame.row::<u32>(row) }[lane as usize & 31]).collect()
}

/// Changes a lane's words of rows; missing words are 0.
///
/// # Safety
///
/// As [`compress`].
unsafe fn write(frame: &Frame, rows: &[u32], lane: u32, words: &[u32]) {
    for (&row, word) in rows.iter().zip(words.iter().copied().chain(std::iter::repeat(0))) {
        // SAFETY: by the contract.
        unsafe { frame.set_row::<u32>(row, 1 << lane, [word; 32]) };
    }
}
