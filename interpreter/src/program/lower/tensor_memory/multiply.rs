//! `tcgen05.mma`, `.mma.sp`, `.mma.ws` and `.mma.ws.sp`.

use gpucast_ptx_frontend::ScalarType as T;
use gpucast_ptx_frontend::isa::{Modifier as M, Opcode as O};
use gpucast_ptx_frontend::module::{Instruction, Operand};

use super::super::super::tensor_memory_op::{BlockScales, FactorA, TensorMemoryOp, TensorMultiply};
use super::super::builder::{Builder, Lowered, operand};
use super::super::matrix::sources;
use super::{address, constant, emit};
use crate::semantics::tensor_memory::descriptor::Kind;

/// Words of the mask of one CTA's lanes.
const MASK_WORDS: usize = 4;

pub(super) fn lower(builder: &mut Builder<'_>, instruction: &Instruction) -> Lowered<()> {
    let has = |modifier| instruction.has(modifier);
    let kind = kind(instruction)?;
    let weight_stationary = matches!(instruction.opcode, O::Tcgen05MmaWs | O::Tcgen05MmaWsSp);
    let is_sparse = matches!(instruction.opcode, O::Tcgen05MmaSp | O::Tcgen05MmaWsSp);
    let d = address(builder, operand(instruction, 0)?)?;
    let a = match operand(instruction, 1)? {
        place @ Operand::Address(_) => FactorA::Tensor(Box::new(address(builder, place)?)),
        descriptor => FactorA::Shared(builder.value(descriptor, T::B64)?),
    };
    let b = builder.value(operand(instruction, 2)?, T::B64)?;
    let mut rest = instruction.operands.iter().skip(3);
    let mut next = || rest.next().ok_or("an operand is missing");
    let metadata = match is_sparse {
        true => Some(address(builder, next()?)?),
        false => None,
    };
    let tables_of_b = match has(M::DecompressLutB) {
        true => Some(address(builder, next()?)?),
        false => None,
    };
    let descriptor = builder.value(next()?, T::B32)?;
    let scales = match kind.is_scaled() {
        true => {
            let (a, b) = (address(builder, next()?)?, address(builder, next()?)?);
            Some(BlockScales { a, b, factors: factors(instruction, kind)? })
        }
        false => None,
    };
    let ctas = if has(M::CtaGroup2) { 2 } else { 1 };
    let mut adds = next()?;
    let mut disabled_lanes = Vec::new();
    if matches!(adds, Operand::Vector(_)) {
        disabled_lanes = sources(builder, adds, T::B32)?;
        let needed = MASK_WORDS * ctas as usize;
        if disabled_lanes.len() != needed {
            let given = disabled_lanes.len();
            return Err(format!("{given} masks of lanes are given where {needed} are needed"));
        }
        adds = next()?;
    }
    let adds = builder.predicate(adds)?;
    let (mut shift_d, mut zeros) = (0, None);
    match rest.next() {
        Some(mask) if weight_stationary => zeros = Some(builder.value(mask, T::B64)?),
        Some(scale) => {
            shift_d = constant(scale, "the scale of D")?;
            if shift_d > 15 {
                return Err("the scale of D must be between 0 and 15".to_owned());
            }
        }
        None => {}
    }
    let op = TensorMultiply {
        instruction: builder.instruction,
        computes: builder.computes,
        kind,
        ctas,
        weight_stationary,
        d,
        a,
        shifts_a: has(M::Ashift),
        b,
        descriptor,
        metadata,
        tables_of_b,
        scales,
        disabled_lanes,
        adds,
        shift_d,
        zeros,
    };
    emit(builder, TensorMemoryOp::Multiply(Box::new(op)));
    Ok(())
}

fn kind(instruction: &Instruction) -> Lowered<Kind> {
    let kinds = [
        (M::KindF16, Kind::F16),
        (M::KindTf32, Kind::Tf32),
        (M::KindF8f6f4, Kind::F8F6F4),
        (M::KindI8, Kind::I8),
        (M::KindTi16, Kind::Ti16),
        (M::KindMxf8f6f4, Kind::Mxf8F6F4),
        (M::KindMxf4, Kind::Mxf4),
        (M::KindMxf4nvf4, Kind::Mxf4),
    ];
    let kind = kinds.into_iter().find(|&(modifier, _)| instruction.has(modifier));
    kind.map(|(_, kind)| kind).ok_or_else(|| "this kind of product is not executed yet".to_owned())
}

/// The factors that a row of A or a column of B has.
fn factors(instruction: &Instruction, kind: Kind) -> Lowered<u32> {
    let has = |modifier| instruction.has(modifier);
    let sixteens = has(M::ScaleVec4x) || has(M::Block16);
    let of_32 = |kind| if kind == Kind::Mxf4 { 2 } else { 1 };
    match (kind, sixteens) {
        (_, false) => Ok(of_32(kind)),
        (Kind::Mxf4, true) if has(M::KindMxf4nvf4) => Ok(4),
        _ => Err("there are no blocks of 16 elements of this kind".to_owned()),
    }
}
