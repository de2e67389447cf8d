//! Bulk copies of tensors, and changes of tensor maps.

use gpucast_ptx_frontend::ScalarType as T;
use gpucast_ptx_frontend::isa::{Modifier as M, Opcode};
use gpucast_ptx_frontend::module::{Address, AddressBase, Instruction, Operand};
use gpucast_ptx_frontend::types::StateSpace;

use super::super::asynchronous::{Boxes, Direction, ShapeRows, TensorCopy, TensorOp};
use super::super::memory_op::{AtomicOperation, MemoryOp, Space};
use super::super::op::Code;
use super::super::side_tables;
use super::async_copy::literal;
use super::builder::{Builder, Lowered, operand};
use super::memory;
use crate::access_kind::AccessKind;
use crate::tensor_map::{Element, Field, Im2colMode};

/// `cp.async.bulk.tensor` and `cp.reduce.async.bulk.tensor`.
pub(super) fn copy(builder: &mut Builder<'_>, instruction: &Instruction) -> Lowered<()> {
    let has = |modifier| instruction.has(modifier);
    let reports = |modifier: &M| modifier.text().starts_with("mbarrier::report::validity");
    if instruction.modifiers.iter().any(reports) {
        return Err("reports about the data of bulk copies are not made yet".to_owned());
    }
    let to_shared = has(M::MbarrierCompleteTxBytes);
    let (tensor, shared) = if to_shared { (1, 0) } else { (0, 1) };
    let Operand::Indexed(parts) = operand(instruction, tensor)? else {
        return Err("a tensor map with coordinates is needed here".to_owned());
    };
    let (Some(map), Some(Operand::Vector(coordinates))) = (parts.first(), parts.last()) else {
        return Err("a tensor map with coordinates is needed here".to_owned());
    };
    let map = map_address(builder, map)?;
    let global_address = match parts.get(1) {
        Some(address) if has(M::OverrideGlobalAddress) => Some(builder.value(address, T::U64)?),
        _ => None,
    };
    let coordinates = rows(builder, coordinates, T::S32)?;
    let dimensions = [M::D1, M::D2, M::D3, M::D4, M::D5];
    let rank = dimensions
        .iter()
        .position(|&dimension| has(dimension))
        .ok_or("the dimension is missing")?
        + 1;
    let shape = match (has(M::OverrideGlobalDim) || has(M::OverrideGlobalDimStride), parts.get(2..))
    {
        (true, Some(parts)) => Some(shape(builder, parts, rank)?),
        _ => None,
    };
    let four_rows = has(M::TileGather4) || has(M::TileScatter4);
    let pixels = match () {
        () if has(M::Im2col) || has(M::Im2colNoOffs) => Some(Im2colMode::Space),
        () if has(M::Im2colW) || has(M::Im2colNoOffsW) => Some(Im2colMode::Width),
        () if has(M::Im2colW128) => Some(Im2colMode::Width128),
        () => None,
    };
    let wanted = if four_rows { 5 } else { rank };
    if coordinates.len() != wanted {
        return Err(format!("{} coordinates stand where {wanted} belong", coordinates.len()));
    }
    if four_rows && rank != 2 {
        return Err("four rows are those of a tensor of two dimensions".to_owned());
    }
    if pixels.is_some() && rank < 3 {
        return Err("images have three dimensions or more".to_owned());
    }
    let (reads, writes) = (AccessKind::Load, AccessKind::Store);
    let (at_shared, at_global) = match () {
        () if to_shared => (writes, reads),
        () if instruction.opcode == Opcode::CpReduceAsyncBulkTensor => {
            (reads, AccessKind::Reduction)
        }
        () => (reads, writes),
    };
    let shared = memory::address(
        builder,
        instruction,
        shared,
        Some(StateSpace::Shared),
        at_shared,
        T::B128,
    )?;
    let mut rest = instruction.operands.iter().skip(if to_shared { 3 } else { 2 });
    // `wHalo` stands before `wOffset`.
    let along_width = has(M::Im2colW) || has(M::Im2colW128);
    let count = match () {
        () if along_width => 2,
        () if has(M::Im2col) => rank - 2,
        () => 0,
    };
    let values = if count == 0 { &[] } else { filter_operands(rest.next(), count)? };
    let mut values = rows(builder, values, T::U16)?.into_iter();
    let halo = if along_width { values.next() } else { None };
    let offsets = std::array::from_fn(|_| values.next());
    let direction = match at_global {
        AccessKind::Load => {
            let stated = Some(StateSpace::Shared);
            let kind = AccessKind::Reduction;
            let mbarrier = memory::address(builder, instruction, 2, stated, kind, T::B64)?;
            let mbarrier = Box::new(mbarrier);
            let multicast = instruction.modifiers.iter().find_map(|modifier| match modifier {
                M::MulticastCluster | M::MulticastCluster16b => Some(T::U16),
                M::MulticastCluster32b => Some(T::U32),
                _ => None,
            });
            let multicast = match (multicast, rest.next()) {
                (Some(ty), Some(mask)) => Some(builder.value(mask, ty)?),
                (Some(_), None) => return Err("the mask of the CTAs is missing".to_owned()),
                (None, _) => None,
            };
            let (own, pair) = (has(M::SharedCta), has(M::CtaGroup2));
            Direction::ToShared { mbarrier, multicast, own, pair }
        }
        AccessKind::Reduction => {
            Direction::Reduce(Element::ALL.map(|element| reduction(instruction, element)))
        }
        _ => Direction::ToGlobal,
    };
    let boxes = match pixels {
        _ if four_rows => Boxes::FourRows,
        Some(mode) => Boxes::Pixels { mode, offsets, halo },
        None => Boxes::Tile,
    };
    let global = MemoryOp { space: Space::Global, kind: at_global, ..map.clone() };
    emit(
        builder,
        TensorOp::Copy(Box::new(TensorCopy {
            map,
            global_address,
            shape,
            rank,
            boxes,
            coordinates,
            global,
            shared,
            direction,
        })),
    );
    Ok(())
}

/// The rows of values.
fn rows(builder: &mut Builder<'_>, values: &[Operand], ty: T) -> Lowered<Vec<u32>> {
    values.iter().map(|value| builder.value(value, ty)).collect()
}

/// The sizes and strides among the parts of a tensor's operand, from the sizes on to the
/// coordinates (manual, "Tensor Attribute Override").
fn shape(builder: &mut Builder<'_>, parts: &[Operand], rank: usize) -> Lowered<ShapeRows> {
    let of_count = |values: &[Operand], count: usize| match values.len() == count {
        true => Ok(()),
        false => Err(format!("{} sizes or strides stand where {count} belong", values.len())),
    };
    match parts {
        [Operand::Vector(sizes), _coordinates] if rank == 1 => {
            of_count(sizes, 1)?;
            Ok(ShapeRows {
                sizes: rows(builder, sizes, T::U16)?,
                lower_strides: Vec::new(),
                upper_strides: None,
            })
        }
        [Operand::Vector(sizes), Operand::Vector(lower), upper, _coordinates] if rank > 1 => {
            of_count(sizes, rank)?;
            of_count(lower, rank - 1)?;
            Ok(ShapeRows {
                sizes: rows(builder, sizes, T::U16)?,
                lower_strides: rows(builder, lower, T::U32)?,
                upper_strides: Some(builder.value(upper, T::U16)?),
            })
        }
        _ => Err("the sizes and strides of the tensor are missing".to_owned()),
    }
}

/// The `count` values that say where the filter reads, or how far.
fn filter_operands(operand: Option<&Operand>, count: usize) -> Lowered<&[Operand]> {
    let Some(Operand::Vector(values)) = operand else {
        return Err("the offsets into the filter are missing".to_owned());
    };
    if values.len() != count {
        return Err(format!("{} offsets stand where {count} belong", values.len()));
    }
    Ok(values)
}

/// The access to a tensor map, which stands as a value but is an address.
fn map_address(builder: &mut Builder<'_>, map: &Operand) -> Lowered<MemoryOp> {
    let address = |base, offset| Operand::Address(Address { base, offset });
    let map = match *map {
        Operand::Register(register) => address(AddressBase::Register(register), 0),
        Operand::Variable(variable, offset) => address(AddressBase::Variable(variable), offset),
        ref other => other.clone(),
    };
    memory::address_of(builder, &map, None, AccessKind::Load, T::B128)
}

/// Returns the effect of a reduction on elements of a type, if it is allowed (manual, section
/// 9.7.9.25.5.3).
fn reduction(instruction: &Instruction, element: Element) -> Option<AtomicOperation> {
    let bits = [M::And, M::Or, M::Xor].iter().any(|&operation| instruction.has(operation));
    let integer = matches!(element, Element::U32 | Element::S32 | Element::U64 | Element::S64);
    match element {
        Element::Tf32 | Element::Tf32Ftz => None,
        _ if bits && !integer => None,
        _ => AtomicOperation::of(instruction, element.scalar()),
    }
}

/// `tensormap.replace`.
pub(super) fn replace(builder: &mut Builder<'_>, instruction: &Instruction) -> Lowered<()> {
    let has = |modifier| instruction.has(modifier);
    let stated = instruction.modifiers.iter().find_map(|modifier| modifier.as_space());
    let map = memory::address(builder, instruction, 0, stated, AccessKind::Store, T::B64)?;
    // Fields of one dimension come with its number.
    let dimension = |most: u64| match literal(instruction, 1)? {
        ordinal if ordinal <= most => Ok(ordinal as u8),
        ordinal => Err(format!("the ordinal is {ordinal}, and {most} is the last")),
    };
    let (field, value) = match () {
        () if has(M::BoxDim) => (Field::BoxDim(dimension(4)?), 2),
        () if has(M::GlobalDim) => (Field::GlobalDim(dimension(4)?), 2),
        () if has(M::GlobalStride) => (Field::GlobalStride(dimension(3)?), 2),
        () if has(M::ElementStride) => (Field::ElementStride(dimension(4)?), 2),
        () if has(M::GlobalAddress) => (Field::GlobalAddress, 1),
        () if has(M::Rank) => (Field::Rank, 1),
        () if has(M::Elemtype) => (Field::ElementType, 1),
        () if has(M::InterleaveLayout) => (Field::Interleave, 1),
        () if has(M::SwizzleMode) => (Field::Swizzle, 1),
        () if has(M::SwizzleAtomicity) => (Field::Atomicity, 1),
        () if has(M::FillMode) => (Field::Fill, 1),
        () => return Err("the field is missing".to_owned()),
    };
    let wide = has(M::GlobalAddress) || has(M::GlobalStride);
    let ty = if wide { T::U64 } else { T::U32 };
    let value = builder.value(operand(instruction, value)?, ty)?;
    emit(builder, TensorOp::Replace { map: Box::new(map), field, value, wide });
    Ok(())
}

fn emit(builder: &mut Builder<'_>, op: TensorOp) {
    let index = side_tables::add(&mut builder.tables.tensor_ops, op);
    builder.emit(Code::Tensor, 0, 0, [index, 0, 0]);
}
