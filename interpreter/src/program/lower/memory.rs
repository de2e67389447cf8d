//! Loads, stores and atomics.

use gpucast_ptx_frontend::ScalarType as T;
use gpucast_ptx_frontend::isa::{Modifier as M, Opcode};
use gpucast_ptx_frontend::module::{
    Address, AddressBase, Formal, FunctionKind, Instruction, Operand, VariableId,
};
use gpucast_ptx_frontend::types::StateSpace;

use super::super::memory_op::{Atomic, AtomicOperation, Extend, MemoryOp, Space};
use super::super::op::Code;
use super::super::registers::{ConstantValue, ParameterRow};
use super::builder::{Builder, Lowered, Slot, Width, operand};
use crate::observer::AccessKind;

/// Where an address operand leads: the space, a base row and its width, and an offset.
struct Target {
    space: Space,
    base: Option<(u32, Width)>,
    offset: u64,
    /// The variable that the address is relative to.
    variable: Option<VariableId>,
}

fn target(
    builder: &mut Builder<'_>,
    instruction: &Instruction,
    address: &Operand,
) -> Lowered<Target> {
    let Operand::Address(Address { base, offset }) = *address else {
        return Err("a memory operand is needed here".to_owned());
    };
    let stated = instruction.modifiers.iter().find_map(|modifier| modifier.as_space());
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

/// The registers of a scalar or vector operand; a vector register is all of its elements.
fn elements(builder: &Builder<'_>, operand: &Operand) -> Vec<Operand> {
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

/// What a vector access holds at most.
fn check_elements(elements: &[Operand], ty: T) -> Lowered<()> {
    let bytes = elements.len() as u32 * ty.bytes();
    if elements.len() > 8 || !bytes.is_power_of_two() {
        return Err(format!("accesses of {} elements are not executed yet", elements.len()));
    }
    Ok(())
}

fn memory_op(builder: &Builder<'_>, target: &Target, kind: AccessKind, ty: T) -> MemoryOp {
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
        is_simple: false,
    }
}

fn is_call_parameter(builder: &Builder<'_>, target: &Target) -> bool {
    let is_param = |variable: VariableId| {
        builder.module.variables[variable.index()].space == StateSpace::Param
    };
    target.space == Space::Local && target.variable.is_some_and(is_param)
}

fn emit_memory_op(builder: &mut Builder<'_>, mut op: MemoryOp) {
    let whole_register = matches!((op.element_bytes, op.wide_registers), (4, false) | (8, true));
    let own_space = matches!(op.space, Space::Global | Space::Shared | Space::Const);
    op.is_simple = op.elements == 1
        && whole_register
        && own_space
        && op.rows[0].is_some()
        && op.atomic.is_none()
        && op.extend == Extend::Zero;
    let index = builder.memory_ops.len() as u32;
    builder.memory_ops.push(op);
    builder.emit(Code::Memory, 0, 0, [index, 0, 0]);
}

/// `ld`, `ldu` and `ld.global.nc`.
pub(super) fn load(builder: &mut Builder<'_>, instruction: &Instruction) -> Lowered<()> {
    let ty = element_type(instruction)?;
    let address = operand(instruction, 1)?;
    let target = target(builder, instruction, address)?;
    let destinations = elements(builder, operand(instruction, 0)?);
    check_elements(&destinations, ty)?;
    if target.space == Space::Param && target.base.is_none() {
        return load_parameter(builder, &destinations, ty, target.offset);
    }
    let read_only = instruction.has(M::Nc) || instruction.opcode == Opcode::Ldu;
    let kind = if read_only { AccessKind::LoadReadOnly } else { AccessKind::Load };
    let mut op = memory_op(builder, &target, kind, ty);
    op.elements = destinations.len() as u8;
    let mut width = None;
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
                    return Err("loads that widen to 128 bits are not executed yet".to_owned());
                }
                width = Some(bits);
                op.rows[index] = Some(row);
            }
            Slot::Predicate(_) => return Err("a predicate cannot be loaded".to_owned()),
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
    Ok(())
}

/// A kernel parameter at a known place: a row filled in at launch.
fn load_parameter(
    builder: &mut Builder<'_>,
    destinations: &[Operand],
    ty: T,
    offset: u64,
) -> Lowered<()> {
    if ty.bytes() == 16 {
        return Err("loading 128-bit parameters is not executed yet".to_owned());
    }
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
        let wide = Width::of(ty) == Width::W64;
        let key = (at as u32, ty.bytes() as u8, ty.is_signed(), wide);
        let row = match builder.parameters.get(&key) {
            Some(&row) => row,
            None => {
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
        };
        let code = if wide { Code::Mov64 } else { Code::Mov32 };
        builder.define(destination, ty, |builder, destination| {
            builder.emit(code, 0, destination, [row, 0, 0]);
            Ok(())
        })?;
    }
    Ok(())
}

/// `st`.
pub(super) fn store(builder: &mut Builder<'_>, instruction: &Instruction) -> Lowered<()> {
    let ty = element_type(instruction)?;
    let target = target(builder, instruction, operand(instruction, 0)?)?;
    let sources = elements(builder, operand(instruction, 1)?);
    check_elements(&sources, ty)?;
    let mut op = memory_op(builder, &target, AccessKind::Store, ty);
    op.elements = sources.len() as u8;
    op.wide_registers = ty.bytes() == 8;
    for (index, source) in sources.iter().enumerate() {
        op.rows[index] = Some(builder.value(source, ty)?);
    }
    emit_memory_op(builder, op);
    Ok(())
}

/// `atom` and `red`.
pub(super) fn atomic(builder: &mut Builder<'_>, instruction: &Instruction) -> Lowered<()> {
    let ty = element_type(instruction)?;
    let reduction = instruction.opcode == Opcode::Red;
    let first = usize::from(!reduction);
    let vector = [M::V2, M::V4, M::V8].into_iter().any(|vector| instruction.has(vector));
    let Some(operation) = AtomicOperation::of(instruction, ty) else {
        return Err(format!("{} on {} is not executed yet", instruction.opcode.text(), ty.text()));
    };
    if vector || ty.bytes() == 16 {
        return Err("vector and 128-bit atomics are not executed yet".to_owned());
    }
    let target = target(builder, instruction, operand(instruction, first)?)?;
    let b = builder.value(operand(instruction, first + 1)?, ty)?;
    let (operand_row, compare) = if operation.compares() {
        let c = builder.value(operand(instruction, first + 2)?, ty)?;
        (c, Some(b))
    } else {
        (b, None)
    };
    let mut op = memory_op(builder, &target, AccessKind::Reduction, ty);
    op.wide_registers = ty.bytes() == 8;
    let result = match instruction.operands.first() {
        Some(Operand::Sink) | None => None,
        Some(result) if !reduction => Some(result),
        Some(_) => None,
    };
    let atomic = |destination| Atomic { operation, operand: operand_row, compare, destination };
    match result {
        None => {
            op.atomic = Some(atomic(None));
            emit_memory_op(builder, op);
            Ok(())
        }
        Some(result) => builder.define(result, ty, |builder, row| {
            op.kind = AccessKind::Atomic;
            op.atomic = Some(atomic(Some(row)));
            emit_memory_op(builder, op);
            Ok(())
        }),
    }
}

/// The offset in local memory of a device function's `.param` formal or a call's `.param` actual.
pub(super) fn stack_slot(builder: &Builder<'_>, variable: VariableId) -> Lowered<u64> {
    match builder.layout.place(variable) {
        Some(place) if place.space == Space::Local => Ok(place.offset),
        _ => Err("a call argument is not a parameter variable".to_owned()),
    }
}

/// Pass `actual` to `formal`, or the other way round for results.
pub(super) fn pass(
    builder: &mut Builder<'_>,
    caller: gpucast_ptx_frontend::module::FunctionId,
    callee: gpucast_ptx_frontend::module::FunctionId,
    actual: &Operand,
    formal: Formal,
    to_callee: bool,
) -> Lowered<()> {
    match (actual, formal) {
        (Operand::Variable(actual, 0), Formal::Variable(formal)) => {
            let bytes = builder.module.variables[formal.index()].size_bytes as u32;
            let (actual, formal) = (stack_slot(builder, *actual)?, stack_slot(builder, formal)?);
            let (from, to) = if to_callee { (actual, formal) } else { (formal, actual) };
            builder.emit(Code::CopyLocal, 0, 0, [from as u32, to as u32, bytes]);
            Ok(())
        }
        (actual, Formal::Register(formal)) => {
            let ty = builder.module.functions[callee.index()].registers[formal.index()].ty;
            let Slot::Row { row, .. } = builder.slot_of(callee, formal, 0) else {
                return Err("predicate arguments are not executed yet".to_owned());
            };
            debug_assert!(builder.function == caller, "operands are the caller's");
            let code = if Width::of(ty) == Width::W64 { Code::Mov64 } else { Code::Mov32 };
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
        (actual, Formal::Variable(formal)) => {
            let ty = builder.module.variables[formal.index()].ty;
            let offset = stack_slot(builder, formal)?;
            let target = Target { space: Space::Local, base: None, offset, variable: Some(formal) };
            if to_callee {
                let mut op = memory_op(builder, &target, AccessKind::Store, ty);
                op.wide_registers = ty.bytes() == 8;
                op.rows[0] = Some(builder.value(actual, ty)?);
                emit_memory_op(builder, op);
                return Ok(());
            }
            let op = memory_op(builder, &target, AccessKind::Load, ty);
            builder.define(actual, ty, |builder, row| {
                let rows = [Some(row), None, None, None, None, None, None, None];
                emit_memory_op(builder, MemoryOp { wide_registers: ty.bytes() == 8, rows, ..op });
                Ok(())
            })
        }
    }
}
