//! What copies have in common: the registers of an operand, the operation for a row, and copies
//! within local memory.

use gpucast_ptx_frontend::module::Operand;

use super::super::op::{Code, copy_local};
use super::builder::{Builder, Width};

/// The operation that copies a row of this width.
pub(super) fn mov_code(width: Width) -> Code {
    match width {
        Width::W32 => Code::Mov32,
        Width::W64 => Code::Mov64,
        Width::W128 => Code::Mov128,
    }
}

/// The registers of a scalar or vector operand; a vector register is all of its elements.
pub(super) fn elements(builder: &Builder<'_>, operand: &Operand) -> Vec<Operand> {
    match operand {
        Operand::Vector(elements) => elements.to_vec(),
        Operand::Register(register) => {
            match builder.current_function().registers[register.index()].vector {
                0 | 1 => vec![operand.clone()],
                count => (0..count).map(|i| Operand::Element(*register, i)).collect(),
            }
        }
        scalar => vec![scalar.clone()],
    }
}

/// Copies `bytes` bytes within local memory; each side is an offset and whether that counts from
/// the current function's frame.
pub(super) fn copy_locally(
    builder: &mut Builder<'_>,
    from: (u64, bool),
    to: (u64, bool),
    bytes: u64,
) {
    let mut n = 0;
    n |= if from.1 { copy_local::FROM_FRAME } else { 0 };
    n |= if to.1 { copy_local::TO_FRAME } else { 0 };
    let frame = if n == 0 { 0 } else { builder.frame_pointer() };
    builder.emit(Code::CopyLocal, n, frame, [from.0 as u32, to.0 as u32, bytes as u32]);
}
