//! The register and address parts of `ldmatrix`, `stmatrix`, `movmatrix`, `wmma.load` and
//! `wmma.store`. The accesses are those of loads and stores.

use super::super::lanes::{FULL_MASK, Frame};
use super::OperandFault;
use crate::access_kind::AccessKind;
use crate::fault::FaultKind;
use crate::program::matrix_op::{FragmentPart, FragmentTransfer, RowTransfer};
use crate::semantics::matrix::transfer;

/// Brings the rows that `ldmatrix` has loaded into its registers.
pub(crate) fn distribute_rows(frame: &Frame, op: &RowTransfer) {
    let mut bytes = [0; 512];
    let rows = match op.packing.row_bytes() {
        8 => frame.lanes::<u64>(op.staging).map(u128::from),
        _ => frame.lanes::<u128>(op.staging),
    };
    for (bytes, row) in bytes.as_chunks_mut::<16>().0.iter_mut().zip(rows) {
        *bytes = op.packing.unpack(row).to_le_bytes();
    }
    for (&row, places) in op.rows.iter().zip(op.places.chunks_exact(32)) {
        let mut register = [0; 32];
        for (word, places) in register.iter_mut().zip(places) {
            *word = u32::from_le_bytes(places.map(|place| bytes[usize::from(place) % 512]));
        }
        frame.set_lanes::<u32>(row, FULL_MASK, register);
    }
}

/// Brings the registers of `stmatrix` into the rows that it is about to store.
pub(crate) fn collect_rows(frame: &Frame, op: &RowTransfer) {
    let mut bytes = [0; 512];
    for (&row, places) in op.rows.iter().zip(op.places.chunks_exact(32)) {
        let register = frame.lanes::<u32>(row);
        for (word, places) in register.iter().zip(places) {
            for (&place, byte) in places.iter().zip(word.to_le_bytes()) {
                bytes[usize::from(place) % 512] = byte;
            }
        }
    }
    let mut rows = [0; 32];
    for (row, bytes) in rows.iter_mut().zip(bytes.as_chunks::<16>().0) {
        *row = u128::from_le_bytes(*bytes);
    }
    frame.set_lanes::<u128>(op.staging, FULL_MASK, rows);
}

/// `movmatrix`.
pub(crate) fn transpose(frame: &Frame, source: u32, destination: u32) {
    let result = transfer::transpose(&frame.lanes::<u32>(source));
    frame.set_lanes::<u32>(destination, FULL_MASK, result);
}

/// The address and the stride in bits of `wmma.load` and `wmma.store`, which must be the same in
/// all lanes, checked for alignment.
pub(crate) fn fragment_address(
    frame: &Frame,
    op: &FragmentTransfer,
) -> Result<(u64, u64), OperandFault> {
    let bases = match op.base {
        None => [op.offset; 32],
        Some(row) if op.wide_base => {
            frame.lanes::<u64>(row).map(|base| base.wrapping_add(op.offset))
        }
        Some(row) => {
            frame.lanes::<u32>(row).map(|base| u64::from(base.wrapping_add(op.offset as u32)))
        }
    };
    let strides = frame.lanes::<u32>(op.stride);
    for lane in 0..32 {
        let different = if bases[lane] != bases[0] {
            Some(("an address that differs between lanes", bases[lane]))
        } else if strides[lane] != strides[0] {
            Some(("a stride that differs between lanes", u64::from(strides[lane])))
        } else {
            None
        };
        if let Some((what, value)) = different {
            let kind = FaultKind::UndefinedOperand { what, value };
            return Err(OperandFault { lane: lane as u32, kind });
        }
    }
    let stride = u64::from(strides[0]) * u64::from(op.element_bits);
    for instance in 0..u64::from(op.instances.min(2)) {
        let address = bases[0].wrapping_add(instance * stride / 8);
        if !address.is_multiple_of(u64::from(op.alignment)) {
            let kind = FaultKind::Misaligned { address, bytes: op.alignment };
            return Err(OperandFault { lane: 0, kind });
        }
    }
    Ok((bases[0], stride))
}

/// Gives the next access of a fragment its addresses, which begin at `start`, and the values that
/// it stores.
pub(crate) fn before_access(
    frame: &Frame,
    op: &FragmentTransfer,
    part: &FragmentPart,
    (start, stride): (u64, u64),
) {
    let addresses = part.places.map(|(instance, element)| {
        let bits = u64::from(instance) * stride + u64::from(element) * u64::from(op.element_bits);
        start.wrapping_add(bits / 8)
    });
    frame.set_lanes::<u64>(op.addresses, FULL_MASK, addresses);
    if let (Some(part_of), [Some(row), ..], AccessKind::Store) =
        (part.part_of, part.access.rows, part.access.kind)
    {
        let mask = u32::MAX >> (32 - part_of.bits);
        let bits = frame.lanes::<u32>(part_of.row).map(|word| word >> part_of.shift & mask);
        frame.set_lanes::<u32>(row, FULL_MASK, bits);
    }
}

/// Moves the value that the access of `part` has loaded into its part of a register, and copies the
/// register.
pub(crate) fn after_access(frame: &Frame, part: &FragmentPart) {
    let ([Some(row), ..], AccessKind::Load) = (part.access.rows, part.access.kind) else { return };
    let mut whole = row;
    if let Some(part_of) = part.part_of {
        let mask = (u32::MAX >> (32 - part_of.bits)) << part_of.shift;
        let mut register = frame.lanes::<u32>(part_of.row);
        for (word, bits) in register.iter_mut().zip(frame.lanes::<u32>(row)) {
            *word = bits << part_of.shift & mask | *word & !mask;
        }
        frame.set_lanes::<u32>(part_of.row, FULL_MASK, register);
        whole = part_of.row;
    }
    for &copy in &part.copies {
        frame.set_lanes::<u32>(copy, FULL_MASK, frame.lanes::<u32>(whole));
    }
}
