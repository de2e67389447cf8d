//! Moves, packing, address conversion and communication between lanes.

use gpucast_ptx_frontend::ScalarType as T;
use gpucast_ptx_frontend::isa::{Modifier as M, Opcode};
use gpucast_ptx_frontend::module::{Instruction, Operand};
use gpucast_ptx_frontend::types::StateSpace;

use super::super::memory_op::{Space, window};
use super::super::op::{Code, MEMBERS, SHUFFLES, extremum};
use super::builder::{Builder, Lowered, Width, operand};
use super::copy::{elements, mov_code};
use super::layout::window_of;

/// `mov`, including packing into and unpacking from a wider register.
pub(super) fn mov(builder: &mut Builder<'_>, instruction: &Instruction) -> Lowered<()> {
    let Some(ty) = instruction.types().next() else {
        return Err("mov without a type".to_owned());
    };
    let (destination, source) = (operand(instruction, 0)?, operand(instruction, 1)?);
    match (destination, source) {
        (_, _) if ty == T::Pred => predicate(builder, destination, source),
        (_, _) if instruction.has(M::V2) || instruction.has(M::V4) => {
            vectors(builder, destination, source, ty)
        }
        (Operand::Vector(parts), source) => unpack(builder, parts, source, ty),
        (destination, Operand::Vector(parts)) => {
            let packed = pack(builder, parts, ty)?;
            builder.define(destination, ty, |builder, row| {
                builder.emit(mov_code(Width::of(ty)), 0, row, [packed, 0, 0]);
                Ok(())
            })
        }
        (_, Operand::Label(_)) => Err("the address of a label is not a value here".to_owned()),
        (destination, source) => {
            let value = builder.value(source, ty)?;
            builder.define(destination, ty, |builder, row| {
                builder.emit(mov_code(Width::of(ty)), 0, row, [value, 0, 0]);
                Ok(())
            })
        }
    }
}

/// `mov.v2` and `mov.v4`: all sources are read before the first destination is written.
fn vectors(
    builder: &mut Builder<'_>,
    destination: &Operand,
    source: &Operand,
    ty: T,
) -> Lowered<()> {
    let code = mov_code(Width::of(ty));
    let mut values = Vec::new();
    for source in elements(builder, source) {
        let value = builder.value(&source, ty)?;
        let copy = builder.temporary(Width::of(ty));
        builder.emit_unguarded(code, copy, [value, 0, 0]);
        values.push(copy);
    }
    for (destination, value) in elements(builder, destination).iter().zip(values) {
        builder.define(destination, ty, |builder, row| {
            builder.emit(code, 0, row, [value, 0, 0]);
            Ok(())
        })?;
    }
    Ok(())
}

fn predicate(builder: &mut Builder<'_>, destination: &Operand, source: &Operand) -> Lowered<()> {
    let (source, negated) = builder.predicate(source)?;
    let destination = builder.predicate_destination(destination)?;
    builder.emit(Code::PredicateLogic, if negated { 4 } else { 3 }, destination, [source; 3]);
    Ok(())
}

/// The type of each part when `parts` parts make up a `ty`.
fn part_type(ty: T, parts: usize) -> Lowered<T> {
    Ok(match (ty.bytes() as usize, parts) {
        (_, 1) => ty,
        (16, 2) => T::B64,
        (16, 4) | (8, 2) => T::B32,
        (8, 4) | (4, 2) => T::B16,
        (4, 4) | (2, 2) => T::B8,
        _ => return Err(format!("{parts} parts do not make up a {}", ty.text())),
    })
}

/// A row with the parts next to each other, lowest first.
fn pack(builder: &mut Builder<'_>, parts: &[Operand], ty: T) -> Lowered<u32> {
    let part = part_type(ty, parts.len())?;
    let mut rows = Vec::new();
    for operand in parts {
        rows.push(builder.value(operand, part)?);
    }
    let mut width = part;
    while rows.len() > 1 {
        let (code, wider) = match width {
            T::B64 => (Code::Pack64, T::B128),
            T::B32 => (Code::Pack32, T::B64),
            T::B16 => (Code::Pack16, T::B32),
            _ => (Code::Pack8, T::B16),
        };
        let mut joined = Vec::new();
        for pair in rows.chunks(2) {
            let row = builder.temporary(Width::of(wider));
            builder.emit_unguarded(code, row, [pair[0], pair[1], 0]);
            joined.push(row);
        }
        (rows, width) = (joined, wider);
    }
    Ok(rows[0])
}

/// Writes the parts of a value to registers, lowest first.
fn unpack(builder: &mut Builder<'_>, parts: &[Operand], source: &Operand, ty: T) -> Lowered<()> {
    let part = part_type(ty, parts.len())?;
    let mut values = vec![builder.value(source, ty)?];
    let mut width = ty.bytes();
    while values.len() < parts.len() {
        let (low, high, narrower) = match width {
            16 => (Code::Low64, Code::High64, Width::W64),
            8 => (Code::Low32, Code::High32, Width::W32),
            4 => (Code::Low16, Code::High16, Width::W32),
            _ => (Code::Low8, Code::High8, Width::W32),
        };
        let mut split = Vec::new();
        for value in values {
            for code in [low, high] {
                let row = builder.temporary(narrower);
                builder.emit_unguarded(code, row, [value, 0, 0]);
                split.push(row);
            }
        }
        values = split;
        width /= 2;
    }
    for (operand, value) in parts.iter().zip(values) {
        if *operand == Operand::Sink {
            continue;
        }
        builder.define(operand, part, |builder, row| {
            builder.emit(mov_code(Width::of(part)), 0, row, [value, 0, 0]);
            Ok(())
        })?;
    }
    Ok(())
}

/// The result of `createpolicy`. Policies are opaque and no cache hint has an effect on results, so
/// one stands for all.
const CACHE_POLICY: u64 = 1 << 60;

/// `createpolicy`.
pub(super) fn create_policy(builder: &mut Builder<'_>, instruction: &Instruction) -> Lowered<()> {
    let policy = match operand(instruction, 1) {
        Ok(property) if instruction.has(M::Cvt) => builder.value(property, T::B64)?,
        _ => builder.bits(CACHE_POLICY, Width::W64),
    };
    builder.define(operand(instruction, 0)?, T::B64, |builder, row| {
        builder.emit(Code::Mov64, 0, row, [policy, 0, 0]);
        Ok(())
    })
}

fn space_of(instruction: &Instruction) -> Space {
    match instruction.modifiers.iter().find_map(|modifier| modifier.as_space()) {
        Some(StateSpace::Shared) => Space::Shared,
        Some(StateSpace::Local) => Space::Local,
        Some(StateSpace::Const) => Space::Const,
        Some(StateSpace::Param) => Space::Param,
        _ => Space::Global,
    }
}

/// `cvta`: generic addresses are window base plus address.
pub(super) fn cvta(builder: &mut Builder<'_>, instruction: &Instruction) -> Lowered<()> {
    let ty = instruction.types().next().unwrap_or(T::U64);
    let source = builder.value(operand(instruction, 1)?, ty)?;
    let window = window_of(space_of(instruction));
    builder.define(operand(instruction, 0)?, ty, |builder, row| {
        if window == 0 {
            builder.emit(mov_code(Width::of(ty)), 0, row, [source, 0, 0]);
        } else {
            let base = builder.window_row(window, Width::of(ty));
            let code = match (Width::of(ty), instruction.has(M::To)) {
                (Width::W64, true) => Code::Sub64,
                (Width::W64, false) => Code::Add64,
                (_, true) => Code::Sub32,
                (_, false) => Code::Add32,
            };
            builder.emit(code, 0, row, [source, base, 0]);
        }
        Ok(())
    })
}

/// `isspacep`: compares an address with the limits of a window.
pub(super) fn isspacep(builder: &mut Builder<'_>, instruction: &Instruction) -> Lowered<()> {
    let address = builder.value(operand(instruction, 1)?, T::U64)?;
    let destination = builder.predicate_destination(operand(instruction, 0)?)?;
    if space_of(instruction) == Space::Shared && !instruction.has(M::SharedCluster) {
        return super::cluster::is_own_shared(builder, address, destination);
    }
    let offset = builder.temporary(Width::W64);
    // Global memory is everything that is in no window, from the end of the last one on.
    let (start, bytes, invert) = match space_of(instruction) {
        Space::Global => {
            (window::LOCAL, window::SHARED + window::SHARED_BYTES - window::LOCAL, true)
        }
        Space::Shared => (window::SHARED, window::SHARED_BYTES, false),
        space => (window_of(space), window::BYTES, false),
    };
    let start = builder.window_row(start, Width::W64);
    let bytes = builder.bits(bytes, Width::W64);
    builder.emit(Code::Sub64, 0, offset, [address, start, 0]);
    builder.emit(Code::LtU64, u16::from(invert), destination, [offset, bytes, 0]);
    Ok(())
}

/// Waits for the member lanes of a `.sync` instruction; `mask` is the operand's index. Returns the
/// row of the member masks.
fn synchronise(builder: &mut Builder<'_>, instruction: &Instruction, mask: usize) -> Lowered<u32> {
    let members = builder.value(operand(instruction, mask)?, T::U32)?;
    builder.emit(Code::WarpSync, MEMBERS, 0, [members, 0, 0]);
    Ok(members)
}

/// `shfl`.
pub(super) fn shuffle(builder: &mut Builder<'_>, instruction: &Instruction) -> Lowered<()> {
    if !builder.computes {
        if instruction.has(M::Sync) {
            synchronise(builder, instruction, 4)?;
        }
        return Ok(());
    }
    let mode = [(M::Up, 0), (M::Down, 1), (M::Bfly, 2)];
    let mode = mode.into_iter().find(|&(m, _)| instruction.has(m)).map_or(3, |(_, n)| n);
    let a = builder.value(operand(instruction, 1)?, T::B32)?;
    let b = builder.value(operand(instruction, 2)?, T::U32)?;
    let c = builder.value(operand(instruction, 3)?, T::U32)?;
    let (members, flag) = if instruction.has(M::Sync) {
        (builder.value(operand(instruction, 4)?, T::U32)?, MEMBERS)
    } else {
        (0, 0)
    };
    builder.emit(Code::WarpSync, SHUFFLES | flag | mode, 0, [members, b, c]);
    let (value, predicate) = match operand(instruction, 0)? {
        Operand::Pair(pair) => (&pair[0], Some(&pair[1])),
        value => (value, None),
    };
    // The predicate first: the value's register may be one of the operands.
    if let Some(predicate) = predicate {
        let predicate = builder.predicate_destination(predicate)?;
        builder.emit(Code::ShuffleInRange, mode, predicate, [a, b, c]);
    }
    builder.define(value, T::B32, |builder, row| {
        builder.emit(Code::Shuffle, mode, row, [a, b, c]);
        Ok(())
    })
}

/// `vote`, `match`, `activemask`, `redux`, `elect`.
pub(super) fn between_lanes(builder: &mut Builder<'_>, instruction: &Instruction) -> Lowered<()> {
    // The member masks, and the flag that says that there are some.
    let (members, flag) = if instruction.has(M::Sync) {
        let last = instruction.operands.len().saturating_sub(1);
        (synchronise(builder, instruction, last)?, MEMBERS)
    } else {
        (0, 0)
    };
    if !builder.computes {
        return Ok(());
    }
    let destination = operand(instruction, 0)?;
    match instruction.opcode {
        Opcode::Vote => {
            let (a, negated) = builder.predicate(operand(instruction, 1)?)?;
            let invert = if negated { 4 } else { 0 };
            if instruction.has(M::Ballot) {
                return builder.define(destination, T::B32, |builder, row| {
                    builder.emit(Code::Ballot, invert | flag, row, [a, members, 0]);
                    Ok(())
                });
            }
            let mode = if instruction.has(M::All) {
                0
            } else if instruction.has(M::Any) {
                1
            } else {
                2
            };
            let destination = builder.predicate_destination(destination)?;
            builder.emit(Code::Vote, mode | invert | flag, destination, [a, members, 0]);
            Ok(())
        }
        Opcode::Activemask => builder.define(destination, T::B32, |builder, row| {
            builder.emit(Code::ActiveMask, 0, row, [0; 3]);
            Ok(())
        }),
        Opcode::Match => {
            let ty = instruction.types().next().unwrap_or(T::B32);
            let wide = ty.bytes() == 8;
            let a = builder.value(operand(instruction, 1)?, ty)?;
            if instruction.has(M::Any) {
                let code = if wide { Code::MatchAny64 } else { Code::MatchAny32 };
                return builder.define(destination, T::B32, |builder, row| {
                    builder.emit(code, flag, row, [a, members, 0]);
                    Ok(())
                });
            }
            let code = if wide { Code::MatchAll64 } else { Code::MatchAll32 };
            let (value, predicate) = match destination {
                Operand::Pair(pair) => (&pair[0], builder.predicate_destination(&pair[1])?),
                value => (value, builder.temporary_predicate()),
            };
            builder.define(value, T::B32, |builder, row| {
                builder.emit(code, flag, row, [a, members, predicate]);
                Ok(())
            })
        }
        Opcode::Redux => {
            let ty = instruction.types().next().unwrap_or(T::U32);
            let operation = instruction.modifiers.iter().find_map(|modifier| {
                Some(match (modifier, ty.is_signed()) {
                    (M::Add, _) => 0,
                    (M::Min, false) => 1,
                    (M::Max, false) => 2,
                    (M::Min, true) => 3,
                    (M::Max, true) => 4,
                    (M::And, _) => 5,
                    (M::Or, _) => 6,
                    (M::Xor, _) => 7,
                    _ => return None,
                })
            });
            let (code, n) = match operation {
                _ if ty == T::F32 => {
                    let flag = |modifier, flag| if instruction.has(modifier) { flag } else { 0 };
                    let n = flag(M::Max, extremum::MAX) | flag(M::Abs, extremum::ABS);
                    (Code::ReduxF32, n | flag(M::Nan, extremum::NAN))
                }
                Some(operation) => (Code::Redux, operation),
                None => return Err("redux needs an operation".to_owned()),
            };
            let a = builder.value(operand(instruction, 1)?, ty)?;
            builder.define(destination, ty, |builder, row| {
                builder.emit(code, n | flag, row, [a, members, 0]);
                Ok(())
            })
        }
        Opcode::Elect => {
            let Operand::Pair(pair) = destination else {
                return Err("elect needs two results".to_owned());
            };
            let predicate = builder.predicate_destination(&pair[1])?;
            builder.define(&pair[0], T::B32, |builder, row| {
                builder.emit(Code::Elect, flag, row, [0, members, predicate]);
                Ok(())
            })
        }
        other => Err(format!("{} is not executed yet", other.text())),
    }
}
