//! `tcgen05.ld`, those that reduce and compress, and `tcgen05.st`: registers against cells.

use std::ops::Range;

use super::super::access::checked_addresses;
use super::super::lanes::{FULL_MASK, Frame};
use super::super::matrix::OperandFault;
use super::memory::TensorMemory;
use super::{of_lane, same};
use crate::fault::FaultKind;
use crate::observer::TensorCells;
use crate::program::tensor_memory_op::{Compression, ReducedValues, Reduction, Transfer};
use crate::semantics::float;
use crate::semantics::sparse_vector::{Comparable, Fields, GROUP};
use crate::semantics::tensor_memory::fragment::Shape;
use crate::semantics::tensor_memory::{Cell, LANES};

/// Executes a transfer by warp `warp` of the CTA. Without rows the cells are only checked. Returns
/// the cells.
pub(super) fn transfer(
    frame: &Frame,
    memory: &mut TensorMemory,
    op: &Transfer,
    warp: u32,
) -> Result<Vec<TensorCells>, OperandFault> {
    let addresses = checked_addresses(frame, &op.address).map(|address| address as u32);
    let address = same(&addresses, "an address of tensor memory that differs between lanes")?;
    let base = Cell::of_address(address);
    // A load or store sees the 128 lanes of its own CTA, whatever the bits above them say.
    let base = Cell { lane: base.lane % LANES, ..base };
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
    // A load that compresses keeps some of the values only.
    let cells = match &op.compression {
        Some(_) => vec![None; op.registers as usize],
        None => op.rows.iter().copied().map(Some).collect(),
    };
    let mut dense: Vec<[u32; 32]> = Vec::new();
    for (row, register) in cells.into_iter().zip(0..) {
        if let (true, Some(row)) = (op.is_store, row) {
            let values = frame.lanes::<u32>(row);
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
        match row {
            Some(row) => frame.set_lanes::<u32>(row, FULL_MASK, values),
            None => dense.push(values),
        }
    }
    if let Some(compression) = &op.compression {
        compress(frame, compression, &dense);
    }
    if let (Some(reduction), Some(values)) = (&op.reduction, reduced) {
        frame.set_lanes::<u32>(reduction.row, FULL_MASK, values);
    }
    Ok(cells_of(op, base))
}

/// The cells of a transfer: a rectangle, or two of them side by side.
fn cells_of(op: &Transfer, base: Cell) -> Vec<TensorCells> {
    let last = op.registers.saturating_sub(1);
    let end = |lanes: Range<u32>| {
        let last = lanes.map(|lane| op.shape.cell(lane, last, op.packed).column).max();
        last.unwrap_or_default() + if op.packed { 2 } else { 1 }
    };
    let cells = |first: u32, end: u32| TensorCells {
        rank: 0,
        lane: base.lane,
        lanes: op.shape.lanes(),
        column: base.column + first,
        columns: end - first,
    };
    match op.shape {
        Shape::L16B32Twice { split } => {
            vec![cells(0, end(0..16)), cells(split, end(16..32))]
        }
        _ => vec![cells(0, end(0..32))],
    }
}

/// Keeps two of each four values of a thread, and tells which.
fn compress(frame: &Frame, op: &Compression, dense: &[[u32; 32]]) {
    let indices = Fields { bits: 2 };
    let mut metadata = vec![[0; 32]; op.metadata.len()];
    let mut kept = vec![[0; 32]; op.kept.len()];
    for lane in 0..32 {
        let mut words = vec![0; metadata.len()];
        for (group, cells) in dense.chunks_exact(GROUP).enumerate() {
            let elements = std::array::from_fn(|place| Comparable::of_f32(cells[place][lane]));
            for (at, place) in op.selection.choose(elements).into_iter().enumerate() {
                indices.set(&mut words, 2 * group + at, place as u32);
                kept[2 * group + at][lane] = cells[place][lane];
            }
        }
        metadata.iter_mut().zip(words).for_each(|(row, word)| row[lane] = word);
    }
    let rows = op.metadata.iter().zip(metadata).chain(op.kept.iter().zip(kept));
    for (&row, values) in rows {
        frame.set_lanes::<u32>(row, FULL_MASK, values);
    }
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
