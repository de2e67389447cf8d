//! The barrier of a cluster, and addresses in the shared memories of its CTAs.
//!
//! Lowered to ordinary operations on addresses; see [`window::CTA_BITS`] for their layout.

use gpucast_ptx_frontend::ScalarType as T;
use gpucast_ptx_frontend::isa::{Modifier as M, SpecialRegister as S};
use gpucast_ptx_frontend::module::{Instruction, Operand};

use super::super::memory_op::window;
use super::super::op::{Code, cluster_barrier};
use super::builder::{Builder, Lowered, Width, operand};

/// `barrier.cluster`.
pub(super) fn barrier(builder: &mut Builder<'_>, instruction: &Instruction) -> Lowered<()> {
    let wait = if instruction.has(M::Wait) { cluster_barrier::WAIT } else { 0 };
    let aligned = if instruction.has(M::Aligned) { cluster_barrier::ALIGNED } else { 0 };
    builder.emit(Code::ClusterBarrier, wait | aligned, 0, [0; 3]);
    Ok(())
}

/// `row` combined with a constant, in a new row.
fn with_constant(builder: &mut Builder<'_>, code: Code, row: u32, constant: u64) -> u32 {
    let constant = builder.bits(constant, Width::W32);
    let result = builder.temporary(Width::W32);
    builder.emit_unguarded(code, result, [row, constant, 0]);
    result
}

/// The first address of the CTA whose rank is in `rank`.
fn first_address(builder: &mut Builder<'_>, rank: u32) -> u32 {
    // No cluster has a CTA of this rank, so that its addresses lead nowhere.
    let none = window::SHARED_BYTES >> window::CTA_BITS;
    let rank = with_constant(builder, Code::MinU32, rank, none);
    with_constant(builder, Code::Shl32, rank, u64::from(window::CTA_BITS))
}

/// `mapa`.
pub(super) fn mapa(builder: &mut Builder<'_>, instruction: &Instruction) -> Lowered<()> {
    let ty = instruction.types().next().unwrap_or(T::U64);
    let address = builder.value(operand(instruction, 1)?, T::U32)?;
    let rank = builder.value(operand(instruction, 2)?, T::U32)?;
    let offset = with_constant(builder, Code::And32, address, window::CTA_BYTES - 1);
    let first = first_address(builder, rank);
    let narrow = ty.bytes() == 4;
    let generic = !instruction.has(M::SharedCluster);
    let window = if generic { window::SHARED } else { 0 };
    let first = with_constant(builder, Code::Add32, first, window);
    builder.define(operand(instruction, 0)?, ty, |builder, row| {
        if narrow {
            builder.emit(Code::Or32, 0, row, [offset, first, 0]);
            return Ok(());
        }
        let address = builder.temporary(Width::W32);
        builder.emit_unguarded(Code::Or32, address, [offset, first, 0]);
        builder.emit(Code::ZeroExtend32, 0, row, [address, 0, 0]);
        Ok(())
    })
}

/// `getctarank`.
pub(super) fn getctarank(builder: &mut Builder<'_>, instruction: &Instruction) -> Lowered<()> {
    let address = builder.value(operand(instruction, 1)?, T::U32)?;
    // The window of a generic address does not matter.
    let address = with_constant(builder, Code::And32, address, window::SHARED_BYTES - 1);
    let rank = with_constant(builder, Code::ShrU32, address, u64::from(window::CTA_BITS));
    builder.define(operand(instruction, 0)?, T::U32, |builder, row| {
        builder.emit(Code::Mov32, 0, row, [rank, 0, 0]);
        Ok(())
    })
}

/// `isspacep.shared::cta`: tests that the generic address in row `address` lies in the CTA's own
/// memory.
pub(super) fn is_own_shared(
    builder: &mut Builder<'_>,
    address: u32,
    destination: u32,
) -> Lowered<()> {
    let [offset, wide, from_first] = [(); 3].map(|()| builder.temporary(Width::W64));
    let window = builder.bits(window::SHARED, Width::W64);
    let bytes = builder.bits(window::CTA_BYTES, Width::W64);
    builder.emit_unguarded(Code::Sub64, offset, [address, window, 0]);
    if !builder.names_ranks {
        builder.emit(Code::LtU64, 0, destination, [offset, bytes, 0]);
        return Ok(());
    }
    let own = builder.value(&Operand::Special(S::ClusterCtarank), T::U32)?;
    let first = first_address(builder, own);
    builder.emit_unguarded(Code::ZeroExtend32, wide, [first, 0, 0]);
    builder.emit_unguarded(Code::Sub64, from_first, [offset, wide, 0]);
    builder.emit(Code::LtU64, 0, destination, [from_first, bytes, 0]);
    Ok(())
}
