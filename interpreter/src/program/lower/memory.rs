//! Loads, stores and atomics.

use gpucast_ptx_frontend::ScalarType as T;
use gpucast_ptx_frontend::isa::{Modifier as M, Opcode};
use gpucast_ptx_frontend::module::{
    Address, AddressBase, Formal, FunctionId, FunctionKind, Instruction, Operand, RegisterId,
    VariableId,
};
use gpucast_ptx_frontend::types::StateSpace;

use super::super::memory_op::{
    Atomic, AtomicOperation, Extend, MemoryOp, SameBase, Simple, SimpleSpace, Space,
};
use super::super::op::Code;
use super::super::registers::{ConstantValue, ParameterRow};
use super::super::side_tables;
use super::builder::{Builder, Lowered, Slot, Width, operand};
use super::copy::{copy_locally, elements, mov_code};
use crate::access_kind::AccessKind;

/// The place that an address operand means: the space, a base row and its width, and an offset.
pub(super) struct Target {
    pub(super) space: Space,
    pub(super) base: Option<(u32, Width)>,
    pub(super) offset: u64,
    /// The variable that the address is relative to.
    pub(super) variable: Option<VariableId>,
}

pub(super) fn target(
    builder: &mut Builder<'_>,
    instruction: &Instruction,
    address: &Operand,
) -> Lowered<Target> {
    let stated = instruction.modifiers.iter().find_map(|modifier| modifier.as_space());
    target_in(builder, stated, address)
}

/// As [`target`], for an operand whose space is `stated`.
fn target_in(
    builder: &mut Builder<'_>,
    stated: Option<StateSpace>,
    address: &Operand,
) -> Lowered<Target> {
    let Operand::Address(Address { base, offset }) = *address else {
        return Err("a memory operand is needed here".to_owned());
    };
    let in_kernel = builder.current_function().kind == FunctionKind::Entry;
    let space = match stated {
        Some(StateSpace::Global) => Space::Global,
        Some(StateSpace::Shared) => Space::Shared,
        Some(StateSpace::Local) => Space::Local,
        Some(StateSpace::Const) => Space::Const,
        // Parameters of device functions are stack slots of the thread.
        Some(StateSpace::Param) if in_kernel => Space::Param,
        Some(StateSpace::Param) => Space::Local,
        Some(StateSpace::Reg | StateSpace::Sreg | StateSpace::Tex) | None => Space::Generic,
    };
    match base {
        AddressBase::Register(register) => match builder.slot(register) {
            Slot::Row { row, bits } => {
                let width = if bits == 32 { Width::W32 } else { Width::W64 };
                let base = Some((row, width));
                Ok(Target { space, base, offset: offset as u64, variable: None })
            }
            Slot::Predicate(_) => Err("a predicate is not an address".to_owned()),
        },
        AddressBase::Absolute => {
            Ok(Target { space, base: None, offset: offset as u64, variable: None })
        }
        AddressBase::Variable(variable) => {
            let space = builder.layout.space(variable);
            if let Some(place) = builder.layout.place(variable).filter(|place| place.framed) {
                let base = Some((builder.frame_pointer(), Width::W32));
                let offset = place.offset.wrapping_add_signed(offset);
                return Ok(Target { space, base, offset, variable: Some(variable) });
            }
            if let Some(row) = builder.ranked_address(variable, offset) {
                let base = Some((row, Width::W32));
                return Ok(Target { space, base, offset: 0, variable: Some(variable) });
            }
            match builder.layout.address(variable, offset) {
                Some(ConstantValue::Bits(address)) => {
                    Ok(Target { space, base: None, offset: address, variable: Some(variable) })
                }
                _ => {
                    let row = builder.variable_address(variable, offset, Width::W64)?;
                    let base = Some((row, Width::W64));
                    Ok(Target { space, base, offset: 0, variable: Some(variable) })
                }
            }
        }
    }
}

/// The memory type of an instruction: the last type among its modifiers.
fn element_type(instruction: &Instruction) -> Lowered<T> {
    instruction.types().last().ok_or_else(|| "the type is missing".to_owned())
}

/// Checks that a vector access has at most 8 elements and a power of two of bytes.
fn check_elements(elements: &[Operand], ty: T) -> Lowered<()> {
    let bytes = elements.len() as u32 * ty.bytes();
    if elements.len() > 8 || !bytes.is_power_of_two() {
        return Err(format!("no access has {} elements", elements.len()));
    }
    Ok(())
}

pub(super) fn memory_op(
    builder: &Builder<'_>,
    target: &Target,
    kind: AccessKind,
    ty: T,
) -> MemoryOp {
    MemoryOp {
        instruction: builder.instruction,
        space: target.space,
        kind,
        element_bytes: ty.bytes() as u8,
        elements: 1,
        wide_registers: false,
        extend: Extend::Zero,
        rows: [None; 8],
        base: target.base.map(|(row, _)| row),
        wide_base: target.base.is_some_and(|(_, width)| width == Width::W64),
        offset: target.offset,
        atomic: None,
        // Stack slots that carry arguments are registers on a GPU.
        counted: !is_call_parameter(builder, target),
        moves: builder.computes,
        simple: None,
        same_base: SameBase::default(),
    }
}

/// The access of one `ty` at operand `index`, whose space is `stated`, for instructions with
/// operations of their own.
pub(super) fn address(
    builder: &mut Builder<'_>,
    instruction: &Instruction,
    index: usize,
    stated: Option<StateSpace>,
    kind: AccessKind,
    ty: T,
) -> Lowered<MemoryOp> {
    address_of(builder, operand(instruction, index)?, stated, kind, ty)
}

/// As [`address`], for an operand of its own.
pub(super) fn address_of(
    builder: &mut Builder<'_>,
    operand: &Operand,
    stated: Option<StateSpace>,
    kind: AccessKind,
    ty: T,
) -> Lowered<MemoryOp> {
    let target = target_in(builder, stated, operand)?;
    if let (Some(stated), Some(variable)) = (stated, target.variable)
        && target.space.state_space() != Some(stated)
    {
        let variable = &builder.module.variables[variable.index()];
        return Err(format!(
            "{} is in .{} memory, not in .{}",
            variable.name,
            variable.space.text(),
            stated.text()
        ));
    }
    Ok(memory_op(builder, &target, kind, ty))
}

fn is_call_parameter(builder: &Builder<'_>, target: &Target) -> bool {
    let is_param = |variable: VariableId| {
        builder.module.variables[variable.index()].space == StateSpace::Param
    };
    target.space == Space::Local && target.variable.is_some_and(is_param)
}

/// The short way that an access may take.
pub(super) fn simple(op: &MemoryOp) -> Option<Simple> {
    let is_load = matches!(op.kind, AccessKind::Load | AccessKind::LoadReadOnly);
    let is_whole = (op.elements > 1 || op.rows[0].is_some())
        && op.atomic.is_none()
        && op.extend == Extend::Zero
        && op.moves;
    let space = match op.space {
        _ if !is_whole => return None,
        Space::Global => SimpleSpace::Global,
        Space::Shared => SimpleSpace::Shared,
        Space::Const if is_load => SimpleSpace::Const,
        Space::Const | Space::Local | Space::Param | Space::Generic => return None,
    };
    match (op.element_bytes, op.wide_registers) {
        (4, false) if is_load => Some(Simple::Load32(space)),
        (8, true) if is_load => Some(Simple::Load64(space)),
        (4, false) if op.kind == AccessKind::Store => Some(Simple::Store32(space)),
        (8, true) if op.kind == AccessKind::Store => Some(Simple::Store64(space)),
        _ => None,
    }
}

fn emit_memory_op(builder: &mut Builder<'_>, mut op: MemoryOp) {
    op.simple = simple(&op);
    let code = if op.moves { Code::Memory } else { Code::Probe };
    let index = side_tables::add(&mut builder.tables.memory_ops, op);
    builder.emit(code, 0, 0, [index, 0, 0]);
}

/// `ld`, `ldu`, `ld.global.nc` and `multimem.ld_reduce`.
pub(super) fn load(builder: &mut Builder<'_>, instruction: &Instruction) -> Lowered<()> {
    let ty = element_type(instruction)?;
    let address = operand(instruction, 1)?;
    let target = target(builder, instruction, address)?;
    let destinations = elements(builder, operand(instruction, 0)?);
    check_elements(&destinations, ty)?;
    if target.space == Space::Param && target.base.is_none() {
        if !builder.computes {
            return Ok(());
        }
        return load_parameter(builder, &destinations, ty, target.offset);
    }
    let read_only = instruction.has(M::Nc)
        || instruction.has(M::ProxyReadonly)
        || instruction.opcode == Opcode::Ldu;
    let kind = if read_only { AccessKind::LoadReadOnly } else { AccessKind::Load };
    let mut op = memory_op(builder, &target, kind, ty);
    op.elements = destinations.len() as u8;
    if !op.moves {
        emit_memory_op(builder, op);
        return Ok(());
    }
    let mut width = None;
    let mut widened = Vec::new();
    for (index, destination) in destinations.iter().enumerate() {
        let (register, element) = match destination {
            Operand::Register(register) => (*register, 0),
            Operand::Element(register, element) => (*register, *element),
            Operand::Sink => continue,
            other => return Err(format!("operand {other:?} cannot be loaded into")),
        };
        let declared = builder.current_function().registers[register.index()].ty;
        match builder.slot_of(builder.function, register, element) {
            Slot::Row { row, bits } => {
                if width.is_some_and(|width| width != bits) {
                    return Err("the registers of a vector load differ in width".to_owned());
                }
                if bits == 128 && ty.bytes() != 16 {
                    let low = builder.temporary(Width::W64);
                    widened.push((row, low));
                    op.rows[index] = Some(low);
                    width = Some(64);
                } else {
                    op.rows[index] = Some(row);
                    width = Some(bits);
                }
            }
            Slot::Predicate(_) => return Err("a predicate cannot be loaded".to_owned()),
        }
        if ty.is_signed() && ty.bytes() < declared.bytes() && declared.bytes() == 16 {
            return Err("a signed value cannot be loaded into a 128-bit register".to_owned());
        }
        if ty.is_signed() && ty.bytes() < declared.bytes() {
            op.extend = Extend::Sign { register_bits: (8 * declared.bytes()) as u8 };
        }
    }
    op.wide_registers = width == Some(64);
    if width.is_none_or(|bits| bits < 8 * ty.bytes()) {
        return Err("the register is narrower than what is loaded".to_owned());
    }
    emit_memory_op(builder, op);
    let high = builder.bits(0, Width::W64);
    for (row, low) in widened {
        builder.emit(Code::Pack64, 0, row, [low, high, 0]);
    }
    Ok(())
}

/// A kernel parameter at a known place: a row filled in at launch.
fn load_parameter(
    builder: &mut Builder<'_>,
    destinations: &[Operand],
    ty: T,
    offset: u64,
) -> Lowered<()> {
    for (index, destination) in destinations.iter().enumerate() {
        if *destination == Operand::Sink {
            continue;
        }
        let at = offset.wrapping_add(index as u64 * u64::from(ty.bytes()));
        let end = at.checked_add(u64::from(ty.bytes()));
        if end.is_none_or(|end| end > builder.layout.parameter_bytes) {
            return Err(format!(
                "parameter load at offset {} is outside the {} bytes of parameters",
                at.cast_signed(),
                builder.layout.parameter_bytes
            ));
        }
        let (code, rows) = match Width::of(ty) {
            Width::W32 => (Code::Mov32, [parameter_row(builder, at, ty), 0, 0]),
            Width::W64 => (Code::Mov64, [parameter_row(builder, at, ty), 0, 0]),
            Width::W128 => {
                let halves = [at, at + 8].map(|at| parameter_row(builder, at, T::B64));
                (Code::Pack64, [halves[0], halves[1], 0])
            }
        };
        builder.define(destination, ty, |builder, destination| {
            builder.emit(code, 0, destination, rows);
            Ok(())
        })?;
    }
    Ok(())
}

/// The row of the `ty`, of 64 bits at most, at offset `at` of the parameters.
fn parameter_row(builder: &mut Builder<'_>, at: u64, ty: T) -> u32 {
    let wide = Width::of(ty) == Width::W64;
    let key = (at as u32, ty.bytes() as u8, ty.is_signed(), wide);
    if let Some(&row) = builder.parameters.get(&key) {
        return row;
    }
    let row = builder.temporary(Width::of(ty));
    builder.registers.parameters.push(ParameterRow {
        row,
        wide,
        offset: at as u32,
        bytes: ty.bytes() as u8,
        // Rows hold narrow values zero-extended; `define` widens them by type.
        signed: false,
    });
    builder.parameters.insert(key, row);
    row
}

/// `st` and `multimem.st`.
pub(super) fn store(builder: &mut Builder<'_>, instruction: &Instruction) -> Lowered<()> {
    let ty = element_type(instruction)?;
    let target = target(builder, instruction, operand(instruction, 0)?)?;
    let sources = elements(builder, operand(instruction, 1)?);
    check_elements(&sources, ty)?;
    let mut op = memory_op(builder, &target, AccessKind::Store, ty);
    op.elements = sources.len() as u8;
    op.wide_registers = ty.bytes() == 8;
    let moved = if op.moves { sources.as_slice() } else { &[] };
    for (index, source) in moved.iter().enumerate() {
        op.rows[index] = Some(builder.value(source, ty)?);
    }
    emit_memory_op(builder, op);
    Ok(())
}

/// `atom`, `red` and `multimem.red`, each element of a vector on its own.
pub(super) fn atomic(builder: &mut Builder<'_>, instruction: &Instruction) -> Lowered<()> {
    let ty = element_type(instruction)?;
    let reduction = instruction.opcode != Opcode::Atom;
    let first = usize::from(!reduction);
    let Some(operation) = AtomicOperation::of(instruction, ty) else {
        return Err(format!(
            "there is no {} of this kind on {}",
            instruction.opcode.text(),
            ty.text()
        ));
    };
    let target = target(builder, instruction, operand(instruction, first)?)?;
    let sources = elements(builder, operand(instruction, first + 1)?);
    check_elements(&sources, ty)?;
    let mut op = memory_op(builder, &target, AccessKind::Reduction, ty);
    op.wide_registers = ty.bytes() == 8;
    op.elements = sources.len() as u8;
    let results = match instruction.operands.first() {
        Some(results) if !reduction && *results != Operand::Sink => elements(builder, results),
        _ => Vec::new(),
    };
    if results.len() > sources.len() {
        return Err("there are more results than elements".to_owned());
    }
    if !op.moves {
        if results.len() == 1 || results.iter().any(|result| *result != Operand::Sink) {
            op.kind = AccessKind::Atomic;
        }
        emit_memory_op(builder, op);
        return Ok(());
    }
    let mut atomic = Atomic { operation, operands: [0; 8], compare: None, destinations: [None; 8] };
    for (index, source) in sources.iter().enumerate() {
        atomic.operands[index] = builder.value(source, ty)?;
    }
    if operation.compares() {
        atomic.compare = Some(atomic.operands[0]);
        atomic.operands[0] = builder.value(operand(instruction, first + 2)?, ty)?;
    }
    if let [result] = &results[..] {
        return builder.define(result, ty, |builder, row| {
            op.kind = AccessKind::Atomic;
            atomic.destinations[0] = Some(row);
            op.atomic = Some(atomic);
            emit_memory_op(builder, op);
            Ok(())
        });
    }
    // Results may be operands as well, so they are written after all elements have been updated.
    let mut old = Vec::new();
    for (index, result) in results.iter().enumerate().filter(|(_, r)| **r != Operand::Sink) {
        op.kind = AccessKind::Atomic;
        let row = builder.temporary(Width::of(ty));
        atomic.destinations[index] = Some(row);
        old.push((result, row));
    }
    op.atomic = Some(atomic);
    emit_memory_op(builder, op);
    for (result, old) in old {
        builder.define(result, ty, |builder, row| {
            builder.emit(Code::Mov32, 0, row, [old, 0, 0]);
            Ok(())
        })?;
    }
    Ok(())
}

/// Returns the offset in local memory of a device function's `.param` formal or a call's `.param`
/// actual. The flag says whether the offset counts from the current function's frame.
pub(super) fn stack_slot(builder: &Builder<'_>, variable: VariableId) -> Lowered<(u64, bool)> {
    match builder.layout.place(variable) {
        Some(place) if place.space == Space::Local => Ok((place.offset, place.framed)),
        _ => Err("a call argument is not a parameter variable".to_owned()),
    }
}

/// An access to local memory that stands for moving a register; nobody is told.
fn slot_op(
    builder: &mut Builder<'_>,
    (offset, framed): (u64, bool),
    kind: AccessKind,
    ty: T,
    row: u32,
) -> MemoryOp {
    let base = framed.then(|| (builder.frame_pointer(), Width::W32));
    let target = Target { space: Space::Local, base, offset, variable: None };
    let mut op = memory_op(builder, &target, kind, ty);
    op.wide_registers = ty.bytes() == 8;
    op.rows[0] = Some(row);
    op.counted = false;
    op.moves = true;
    op
}

/// Loads a row from a fixed place in local memory.
pub(super) fn load_local(builder: &mut Builder<'_>, offset: u64, ty: T, row: u32) {
    builder.load_slot((offset, false), ty, row);
}

/// Stores a row to a fixed place in local memory.
pub(super) fn store_local(builder: &mut Builder<'_>, offset: u64, ty: T, row: u32) {
    builder.store_slot((offset, false), ty, row);
}

impl Builder<'_> {
    /// Loads a row from a slot in local memory; see [`stack_slot`].
    pub(super) fn load_slot(&mut self, slot: (u64, bool), ty: T, row: u32) {
        let op = slot_op(self, slot, AccessKind::Load, ty, row);
        emit_memory_op(self, op);
    }

    /// Stores a row to a slot in local memory; see [`stack_slot`].
    pub(super) fn store_slot(&mut self, slot: (u64, bool), ty: T, row: u32) {
        let op = slot_op(self, slot, AccessKind::Store, ty, row);
        emit_memory_op(self, op);
    }
}

/// Passes a predicate to the predicate `formal` of the callee, or the other way round.
fn pass_predicate(
    builder: &mut Builder<'_>,
    actual: &Operand,
    formal: u32,
    to_callee: bool,
) -> Lowered<()> {
    let (from, negated, to) = if to_callee {
        let (actual, negated) = builder.predicate(actual)?;
        (actual, negated, formal)
    } else {
        (formal, false, builder.predicate_destination(actual)?)
    };
    builder.emit(Code::PredicateLogic, if negated { 4 } else { 3 }, to, [from, from, 0]);
    Ok(())
}

/// Passes `actual` to `formal`, which has a fixed place, or the other way round for results.
pub(super) fn pass(
    builder: &mut Builder<'_>,
    caller: FunctionId,
    callee: FunctionId,
    actual: &Operand,
    formal: Formal,
    to_callee: bool,
) -> Lowered<()> {
    match (actual, formal) {
        (Operand::Variable(actual, 0), Formal::Variable(formal)) => {
            let bytes = builder.module.variables[formal.index()].size_bytes;
            let (actual, formal) = (stack_slot(builder, *actual)?, stack_slot(builder, formal)?);
            let (from, to) = if to_callee { (actual, formal) } else { (formal, actual) };
            copy_locally(builder, from, to, bytes);
            Ok(())
        }
        (actual, Formal::Register(formal)) => {
            debug_assert!(builder.function == caller, "operands are the caller's");
            let register = &builder.module.functions[callee.index()].registers[formal.index()];
            let ty = register.ty;
            let parts = parts_of(builder, actual, register.vector)?;
            for (element, actual) in parts.iter().enumerate() {
                pass_register(builder, callee, actual, (formal, element as u8), ty, to_callee)?;
            }
            Ok(())
        }
        (actual, Formal::Variable(formal)) => {
            let variable = &builder.module.variables[formal.index()];
            let ty = variable.ty;
            let parts = parts_of(builder, actual, variable.vector)?;
            let (offset, framed) = stack_slot(builder, formal)?;
            for (element, actual) in parts.iter().enumerate() {
                let slot = (offset + element as u64 * u64::from(ty.bytes()), framed);
                if to_callee {
                    let row = builder.value(actual, ty)?;
                    builder.store_slot(slot, ty, row);
                } else {
                    builder.define(actual, ty, |builder, row| {
                        builder.load_slot(slot, ty, row);
                        Ok(())
                    })?;
                }
            }
            Ok(())
        }
    }
}

/// The registers of an argument or result whose formal is a vector of `count` elements.
pub(super) fn parts_of(
    builder: &Builder<'_>,
    actual: &Operand,
    count: u8,
) -> Lowered<Vec<Operand>> {
    let count = usize::from(count.max(1));
    let parts = elements(builder, actual);
    if parts.len() == count {
        return Ok(parts);
    }
    // Nobody wants the result.
    if *actual == Operand::Sink {
        return Ok(vec![Operand::Sink; count]);
    }
    Err(format!("the call passes {} values where the function has {count}", parts.len()))
}

/// Passes one register, or one element of a vector register.
fn pass_register(
    builder: &mut Builder<'_>,
    callee: FunctionId,
    actual: &Operand,
    (formal, element): (RegisterId, u8),
    ty: T,
    to_callee: bool,
) -> Lowered<()> {
    let row = match builder.slot_of(callee, formal, element) {
        Slot::Row { row, .. } => row,
        Slot::Predicate(formal) => return pass_predicate(builder, actual, formal, to_callee),
    };
    let code = mov_code(Width::of(ty));
    if to_callee {
        let value = builder.value(actual, ty)?;
        builder.emit(code, 0, row, [value, 0, 0]);
        return Ok(());
    }
    builder.define(actual, ty, |builder, destination| {
        builder.emit(code, 0, destination, [row, 0, 0]);
        Ok(())
    })
}
