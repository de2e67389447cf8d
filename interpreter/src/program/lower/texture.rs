//! Textures and surfaces.

use gpucast_ptx_frontend::ScalarType as T;
use gpucast_ptx_frontend::isa::{Modifier as M, Opcode};
use gpucast_ptx_frontend::module::{AddressBase, Instruction, Operand};

use super::super::memory_op::AtomicOperation;
use super::super::op::Code;
use super::super::side_tables;
use super::super::texture_op::{
    DetailRows, Fact, Fetch, ObjectKind, Outside, ResultFormat, SurfaceAccess, SurfaceAction,
    TextureOp,
};
use super::builder::{Builder, Lowered, Width, operand};
use super::copy::elements;
use crate::texture::Geometry;

/// The shape that the modifiers name.
fn geometry(instruction: &Instruction) -> Lowered<Geometry> {
    const fn plain(axes: usize) -> Geometry {
        Geometry { axes, layered: false, cube: false, multisampled: false }
    }
    const SHAPES: [(M, Geometry); 9] = [
        (M::D1, plain(1)),
        (M::D2, plain(2)),
        (M::D3, plain(3)),
        (M::A1d, Geometry { layered: true, ..plain(1) }),
        (M::A2d, Geometry { layered: true, ..plain(2) }),
        (M::Cube, Geometry { cube: true, ..plain(3) }),
        (M::Acube, Geometry { layered: true, cube: true, ..plain(3) }),
        (M::D2ms, Geometry { multisampled: true, ..plain(2) }),
        (M::A2dms, Geometry { layered: true, multisampled: true, ..plain(2) }),
    ];
    let shape = SHAPES.iter().find(|shape| instruction.has(shape.0));
    shape.map(|shape| shape.1).ok_or_else(|| "the geometry is missing".to_owned())
}

fn emit(builder: &mut Builder<'_>, op: TextureOp) {
    let index = side_tables::add(&mut builder.tables.texture_ops, op);
    builder.emit(Code::Texture, 0, 0, [index, 0, 0]);
}

/// The parts of `[object, sampler, {coordinates}]`: rows of the handles and of the coordinates.
struct TextureOperands {
    object: u32,
    sampler: Option<u32>,
    layer: Option<u32>,
    sample: Option<u32>,
    coordinates: [Option<u32>; 3],
}

fn place(
    builder: &mut Builder<'_>,
    operand: &Operand,
    geometry: Geometry,
    ty: T,
) -> Lowered<TextureOperands> {
    let Operand::Indexed(parts) = operand else {
        return Err("an object with coordinates is needed here".to_owned());
    };
    let (object, sampler, coordinates) = match parts.as_slice() {
        [object, coordinates] => (object, None, coordinates),
        [object, sampler, coordinates] => (object, Some(sampler), coordinates),
        _ => return Err("an object and its coordinates are needed here".to_owned()),
    };
    let coordinates = elements(builder, coordinates);
    let layers = usize::from(geometry.layered);
    // The layer comes first, then the sample.
    let before = layers + usize::from(geometry.multisampled);
    if coordinates.len() < before + geometry.axes {
        return Err(format!("{} coordinates are needed here", before + geometry.axes));
    }
    let object = builder.value(object, T::U64)?;
    let sampler = sampler.map(|sampler| builder.value(sampler, T::U64)).transpose()?;
    let layer = match geometry.layered {
        true => Some(builder.value(&coordinates[0], T::U32)?),
        false => None,
    };
    let sample = match geometry.multisampled {
        true => Some(builder.value(&coordinates[layers], T::U32)?),
        false => None,
    };
    let mut rows = [None; 3];
    for (row, coordinate) in rows.iter_mut().zip(&coordinates[before..]).take(geometry.axes) {
        *row = Some(builder.value(coordinate, ty)?);
    }
    Ok(TextureOperands { object, sampler, layer, sample, coordinates: rows })
}

/// The operands behind the coordinates that choose among levels: their rows and their number.
fn detail(
    builder: &mut Builder<'_>,
    instruction: &Instruction,
    axes: usize,
    coordinate_type: T,
) -> Lowered<(DetailRows, usize)> {
    if instruction.has(M::Level) {
        let level = builder.value(operand(instruction, 2)?, coordinate_type)?;
        return Ok((DetailRows::Level(level), 1));
    }
    if !instruction.has(M::Grad) {
        return Ok((DetailRows::Base, 0));
    }
    let mut gradients = [[None; 3]; 2];
    for (index, gradient) in gradients.iter_mut().enumerate() {
        let parts = elements(builder, operand(instruction, 2 + index)?);
        for (row, part) in gradient.iter_mut().zip(&parts).take(axes) {
            *row = Some(builder.value(part, T::F32)?);
        }
    }
    Ok((DetailRows::Gradients(gradients), 2))
}

/// `tex` and `tld4`.
pub(super) fn fetch(builder: &mut Builder<'_>, instruction: &Instruction) -> Lowered<()> {
    let geometry = geometry(instruction)?;
    let types: Vec<T> = instruction.types().collect();
    let &[result_type, coordinate_type] = types.as_slice() else {
        return Err("a fetch has a type of results and one of coordinates".to_owned());
    };
    let gathers = match instruction.opcode {
        Opcode::Tld4 => {
            const CHANNELS: [M; 4] = [M::R, M::ComponentG, M::ComponentB, M::ComponentA];
            let channel = CHANNELS.iter().position(|&channel| instruction.has(channel));
            Some(channel.unwrap_or(0) as u8)
        }
        _ => None,
    };
    let place = place(builder, operand(instruction, 1)?, geometry, coordinate_type)?;
    let (detail, choosing) = detail(builder, instruction, geometry.axes, coordinate_type)?;
    let (mut offset, mut depth) = ([None; 3], None);
    for extra in instruction.operands.iter().skip(2 + choosing) {
        match extra {
            Operand::Vector(_) => {
                let parts = elements(builder, extra);
                for (row, part) in offset.iter_mut().zip(&parts).take(geometry.axes) {
                    *row = Some(builder.value(part, T::S32)?);
                }
            }
            value => depth = Some(builder.value(value, T::F32)?),
        }
    }
    let (results, resident) = match operand(instruction, 0)? {
        Operand::Pair(pair) => (&pair[0], Some(&pair[1])),
        results => (results, None),
    };
    let results = elements(builder, results);
    let result = match result_type {
        T::F16x2 => ResultFormat::Pairs,
        T::F16 => ResultFormat::Halves,
        _ => ResultFormat::Words,
    };
    let mut rows = [None; 4];
    if results.len() > rows.len() {
        return Err("a fetch has at most four results".to_owned());
    }
    let moves = builder.computes;
    for (row, result) in rows.iter_mut().zip(&results) {
        if moves && *result != Operand::Sink {
            *row = Some(builder.temporary(Width::W32));
        }
    }
    let fetch = Fetch {
        instruction: builder.instruction,
        texture: place.object,
        sampler: place.sampler,
        geometry,
        layer: place.layer,
        sample: place.sample,
        coordinates: place.coordinates,
        real: coordinate_type == T::F32,
        detail,
        offset,
        depth,
        gathers,
        result,
        rows,
        moves,
    };
    emit(builder, TextureOp::Fetch(Box::new(fetch)));
    if moves {
        receive(builder, &results, &rows, result_type)?;
        if let Some(resident) = resident {
            // All texels are in memory.
            let predicate = builder.predicate_destination(resident)?;
            builder.emit(Code::PredicateConstant, 1, predicate, [0; 3]);
        }
    }
    Ok(())
}

/// Brings results from rows of their own into the registers that receive them.
fn receive(
    builder: &mut Builder<'_>,
    results: &[Operand],
    rows: &[Option<u32>],
    ty: T,
) -> Lowered<()> {
    let code = if ty.bytes() == 8 { Code::Mov64 } else { Code::Mov32 };
    for (result, row) in results.iter().zip(rows) {
        let Some(row) = *row else { continue };
        builder.define(result, ty, |builder, destination| {
            builder.emit(code, 0, destination, [row, 0, 0]);
            Ok(())
        })?;
    }
    Ok(())
}

/// The row of the handle that `[a]` names.
fn handle(builder: &mut Builder<'_>, operand: &Operand) -> Lowered<u32> {
    match operand {
        Operand::Address(address) => match address.base {
            AddressBase::Register(register) => builder.value(&Operand::Register(register), T::U64),
            AddressBase::Variable(variable) => {
                builder.variable_address(variable, address.offset, Width::W64)
            }
            AddressBase::Absolute => Err("an object is needed here".to_owned()),
        },
        value => builder.value(value, T::U64),
    }
}

/// `txq` and `suq`.
pub(super) fn query(builder: &mut Builder<'_>, instruction: &Instruction) -> Lowered<()> {
    const FACTS: [(M, Fact); 15] = [
        (M::Width, Fact::Extent(0)),
        (M::Height, Fact::Extent(1)),
        (M::Depth, Fact::Extent(2)),
        (M::ArraySize, Fact::Layers),
        (M::ChannelDataType, Fact::ChannelType),
        (M::ChannelOrder, Fact::ChannelOrder),
        (M::NormalizedCoords, Fact::NormalizedCoordinates),
        (M::NumMipmapLevels, Fact::Levels),
        (M::NumSamples, Fact::Samples),
        (M::ForceUnnormalizedCoords, Fact::ForceUnnormalizedCoordinates),
        (M::FilterMode, Fact::Filter),
        (M::AddrMode0, Fact::AddressMode(0)),
        (M::AddrMode1, Fact::AddressMode(1)),
        (M::AddrMode2, Fact::AddressMode(2)),
        (M::MemoryLayout, Fact::MemoryLayout),
    ];
    let fact = FACTS.iter().find(|(modifier, _)| instruction.has(*modifier));
    let &(_, fact) = fact.ok_or_else(|| "the query is not known".to_owned())?;
    let object = handle(builder, operand(instruction, 1)?)?;
    let level = match instruction.has(M::Level) {
        true => Some(builder.value(operand(instruction, 2)?, T::B32)?),
        false => None,
    };
    builder.define(operand(instruction, 0)?, T::B32, |builder, answer| {
        emit(builder, TextureOp::Query { object, fact, level, answer });
        Ok(())
    })
}

/// `istypep`.
pub(super) fn is_type(builder: &mut Builder<'_>, instruction: &Instruction) -> Lowered<()> {
    let kind = match () {
        () if instruction.has(M::Samplerref) => ObjectKind::Sampler,
        () if instruction.has(M::Surfref) => ObjectKind::Surface,
        () => ObjectKind::Texture,
    };
    let object = handle(builder, operand(instruction, 1)?)?;
    let answer = builder.temporary(Width::W32);
    emit(builder, TextureOp::IsType { object, kind, answer });
    let predicate = builder.predicate_destination(operand(instruction, 0)?)?;
    builder.emit(Code::NotZero32, 0, predicate, [answer, 0, 0]);
    Ok(())
}

/// `suld`, `sust` and `sured`.
pub(super) fn surface(builder: &mut Builder<'_>, instruction: &Instruction) -> Lowered<()> {
    let geometry = geometry(instruction)?;
    let ty = instruction.types().last().ok_or_else(|| "the type is missing".to_owned())?;
    let is_load = instruction.opcode == Opcode::Suld;
    let formatted = instruction.has(M::Formatted);
    let action = match instruction.opcode {
        Opcode::Suld => SurfaceAction::Load,
        Opcode::Sust if formatted => SurfaceAction::StoreFormatted,
        Opcode::Sust => SurfaceAction::Store,
        _ => reduction(instruction, ty)?,
    };
    let at = usize::from(is_load);
    let place = place(builder, operand(instruction, at)?, geometry, T::S32)?;
    let values = elements(builder, operand(instruction, 1 - at)?);
    let mut rows = [None; 4];
    if values.len() > rows.len() {
        return Err("a surface access has at most four elements".to_owned());
    }
    let moves = builder.computes;
    for (row, value) in rows.iter_mut().zip(&values) {
        *row = match moves {
            false => None,
            true if !is_load => Some(builder.value(value, ty)?),
            true if *value == Operand::Sink => None,
            true => Some(builder.temporary(Width::of(ty))),
        };
    }
    let access = SurfaceAccess {
        instruction: builder.instruction,
        surface: place.object,
        geometry,
        layer: place.layer,
        coordinates: place.coordinates,
        in_bytes: !formatted,
        outside: match () {
            () if instruction.has(M::Trap) => Outside::Trap,
            () if instruction.has(M::Clamp) => Outside::Clamp,
            () => Outside::Zero,
        },
        action,
        element_bytes: ty.bytes() as u8,
        elements: values.len() as u8,
        rows,
        moves,
    };
    emit(builder, TextureOp::Surface(Box::new(access)));
    if is_load && moves {
        receive(builder, &values, &rows, ty)?;
    }
    Ok(())
}

/// The operation of a `sured`. A `sured.p` has no sign of its own.
fn reduction(instruction: &Instruction, ty: T) -> Lowered<SurfaceAction> {
    use AtomicOperation as A;
    let wide = ty.bytes() == 8;
    let (unsigned, signed) = match () {
        () if instruction.has(M::Add) => (A::Add, A::Add),
        () if instruction.has(M::And) => (A::And, A::And),
        () if instruction.has(M::Or) => (A::Or, A::Or),
        () if instruction.has(M::Min) && wide => (A::MinU64, A::MinS64),
        () if instruction.has(M::Min) => (A::MinU32, A::MinS32),
        () if instruction.has(M::Max) && wide => (A::MaxU64, A::MaxS64),
        () if instruction.has(M::Max) => (A::MaxU32, A::MaxS32),
        () => return Err("there is no such reduction".to_owned()),
    };
    Ok(match ty {
        T::U32 | T::U64 => SurfaceAction::Reduce { unsigned, signed: unsigned },
        T::S32 | T::S64 => SurfaceAction::Reduce { unsigned: signed, signed },
        _ => SurfaceAction::Reduce { unsigned, signed },
    })
}
