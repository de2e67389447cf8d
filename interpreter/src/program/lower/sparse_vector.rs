//! `spcompress` and `spdecompress`.

use gpucast_ptx_frontend::ScalarType as T;
use gpucast_ptx_frontend::isa::{Modifier as M, Opcode, sparse_vectors};
use gpucast_ptx_frontend::module::Instruction;

use super::super::matrix_op::{MatrixOp, VectorCompression, VectorExpansion};
use super::super::op::Code;
use super::super::side_tables;
use super::builder::{Builder, Lowered, Width, operand};
use super::matrix::{destinations, sources};
use crate::semantics::sparse_vector::Expansion;

pub(super) fn lower(builder: &mut Builder<'_>, instruction: &Instruction) -> Lowered<()> {
    let has = |modifier| instruction.has(modifier);
    let (element_bits, index_bits) =
        (if has(M::B8) { 8 } else { 16 }, if has(M::IndexB2) { 2 } else { 4 });
    let rows = |builder: &mut Builder<'_>, at| sources(builder, operand(instruction, at)?, T::B32);
    let results = |builder: &mut Builder<'_>, at| {
        destinations(builder, operand(instruction, at)?, Width::W32)
    };
    let op = if instruction.opcode == Opcode::Spcompress {
        MatrixOp::Compress(Box::new(VectorCompression {
            element_bits,
            index_bits,
            descriptor: builder.value(operand(instruction, 3)?, T::B32)?,
            dense: rows(builder, 2)?,
            metadata: results(builder, 0)?,
            kept: results(builder, 1)?,
        }))
    } else {
        let (stored, dense) = factor(instruction).ok_or("the factor of sparsity is missing")?;
        let vectors = sparse_vectors(instruction.opcode, &instruction.modifiers);
        let vectors = vectors.ok_or("the number is missing")??;
        let groups = vectors.dense * 32 / (dense * element_bits as usize);
        MatrixOp::Expand(Box::new(VectorExpansion {
            expansion: Expansion { element_bits, index_bits, stored, dense, groups },
            metadata: rows(builder, 1)?,
            stored: rows(builder, 2)?,
            dense: results(builder, 0)?,
        }))
    };
    let index = side_tables::add(&mut builder.tables.matrix_ops, op);
    builder.emit(Code::Matrix, 0, 0, [index, 0, 0]);
    Ok(())
}

/// The stored elements of a group and all of its elements, as `.sp::2:4` states them.
fn factor(instruction: &Instruction) -> Option<(usize, usize)> {
    instruction.modifiers.iter().find_map(|modifier| {
        let (stored, dense) = modifier.text().strip_prefix("sp::")?.split_once(':')?;
        Some((stored.parse().ok()?, dense.parse().ok()?))
    })
}
