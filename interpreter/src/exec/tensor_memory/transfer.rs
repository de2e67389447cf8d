//! `tcgen05.ld` and `tcgen05.st`: registers against cells.

#![allow(unsafe_code, reason = "registers are rows of checked programs")]

use super::super::access::addresses;
use super::super::lanes::{FULL_MASK, Frame};
use super::super::matrix::OperandFault;
use super::memory::TensorMemory;
use super::{of_lane, same};
use crate::fault::FaultKind;
use crate::program::tensor_memory_op::{ReducedValues, Reduction, Transfer};
use crate::semantics::float;
use crate::semantics::tensor_memory::Cell;

/// Executes a transfer by warp `warp` of the CTA. Without rows the cells are only checked.
///
/// # Safety
///
/// The invariants of [`Frame`]; `op` belongs to its program.
pub(super) unsafe fn transfer(
    frame: &Frame,
    memory: &mut TensorMemory,
    op: &Transfer,
    warp: u32,
) -> Result<(), OperandFault> {
    // SAFETY: by the contract.
    let addresses = unsafe { addresses(frame, &op.address) }.map(|address| address as u32);
    let address = same(&addresses, "an address of tensor memory that differs between lanes")?;
    let base = Cell::of_address(address);
    check_quarter(base, op, warp)?;
    let columns = if op.packed { 2 } else { 1 };
    let cell = |lane: usize, register| {
        let cell = op.shape.cell(lane as u32, register, op.packed);
        base.offset(cell.lane, cell.column)
    };
    for register in 0..op.registers {
        for lane in 0..32 {
            memory.check(cell(lane, register), 1, columns).map_err(of_lane(lane as u32))?;
        }
    }
    let mut reduced: Option<[u32; 32]> = None;
    for (&row, register) in op.rows.iter().zip(0..) {
        if op.is_store {
            // SAFETY: by the contract.
            let values = unsafe { frame.row::<u32>(row) };
            for (lane, &value) in values.iter().enumerate() {
                let cell = cell(lane, register);
                if op.packed {
                    memory.set(cell, value & 0xffff);
                    memory.set(cell.offset(0, 1), value >> 16);
                } else {
                    memory.set(cell, value);
                }
            }
            continue;
        }
        let value = |lane| {
            let cell = cell(lane, register);
            match op.packed {
                true => memory.get(cell) & 0xffff | memory.get(cell.offset(0, 1)) << 16,
                false => memory.get(cell),
            }
        };
        let values: [u32; 32] = std::array::from_fn(value);
        if let Some(reduction) = &op.reduction {
            let before = reduced.unwrap_or(values);
            let combine = |lane| reduce(reduction, before[lane], values[lane]);
            reduced = Some(std::array::from_fn(combine));
        }
        // SAFETY: by the contract.
        unsafe { frame.set_row::<u32>(row, FULL_MASK, values) };
    }
    if let (Some(reduction), Some(values)) = (&op.reduction, reduced) {
        // SAFETY: by the contract.
        unsafe { frame.set_row::<u32>(reduction.row, FULL_MASK, values) };
    }
    Ok(())
}

/// A warp reaches the lanes of one quarter only: its index modulo four.
fn check_quarter(base: Cell, op: &Transfer, warp: u32) -> Result<(), OperandFault> {
    let first = warp % 4 * 32;
    let fits = match op.shape.lanes() {
        32 => base.lane == first,
        _ => base.lane == first || base.lane == first + 16,
    };
    if fits {
        return Ok(());
    }
    let (what, value) = ("the first lane of tensor memory", u64::from(base.lane));
    let allowed = "that of the warp's quarter (32 times the warp's index modulo 4), or, for shapes \
                   of 16 lanes, 16 more";
    Err(OperandFault { lane: 0, kind: FaultKind::BadOperand { what, value, allowed } })
}

/// The smaller or larger of two values. A value alone is combined with itself, which makes its NaN
/// canonical.
fn reduce(reduction: &Reduction, a: u32, b: u32) -> u32 {
    match (reduction.values, reduction.maximum) {
        (ReducedValues::U32, true) => a.max(b),
        (ReducedValues::U32, false) => a.min(b),
        (ReducedValues::S32, true) => a.cast_signed().max(b.cast_signed()).cast_unsigned(),
        (ReducedValues::S32, false) => a.cast_signed().min(b.cast_signed()).cast_unsigned(),
        (ReducedValues::F32 { magnitudes, nan }, maximum) => {
            let mask = if magnitudes { 0x7fff_ffff } else { u32::MAX };
            let (a, b) = (f32::from_bits(a & mask), f32::from_bits(b & mask));
            let result = match (maximum, nan) {
                (true, true) => float::max_f32::<false, true>(a, b),
                (true, false) => float::max_f32::<false, false>(a, b),
                (false, true) => float::min_f32::<false, true>(a, b),
                (false, false) => float::min_f32::<false, false>(a, b),
            };
            result.to_bits()
        }
    }
}
