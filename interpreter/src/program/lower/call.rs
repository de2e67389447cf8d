//! Calls: direct, indirect, recursive, and of the device runtime; prologues and epilogues.
//!
//! A directly called function that is never active twice has fixed places for everything: the
//! call copies arguments to the formals, and results back. All other functions (see
//! [`super::call_graph::Convention`]) exchange values through the thread's *argument area*: the
//! caller writes it, the callee's prologue reads it, the epilogue writes the results there. A
//! caller that the call may enter again saves its registers around the call.

use gpucast_ptx_frontend::ScalarType as T;
use gpucast_ptx_frontend::isa::Opcode;
use gpucast_ptx_frontend::module::{
    Formal, Function, FunctionId, FunctionKind, Instruction, Operand,
};

use super::super::op::Code;
use super::super::runtime::{RuntimeCall, RuntimeFunction, Value};
use super::super::side_tables;
use super::builder::{Builder, Lowered, Slot, Width, operand};
use super::call_graph::{Signature, area_offsets, indirect_signature};
use super::copy::{copy_locally, elements};
use super::memory::{load_local, pass, stack_slot, store_local};

/// The parts of a `call`.
struct Call<'a> {
    results: &'a [Operand],
    arguments: &'a [Operand],
    callee: &'a Operand,
}

fn parts(instruction: &Instruction) -> Lowered<Call<'_>> {
    let (mut results, mut callee, mut arguments) = (&[][..], None, &[][..]);
    for operand in &instruction.operands {
        match operand {
            Operand::List(list) if callee.is_none() => results = list,
            Operand::List(list) => arguments = list,
            Operand::Function(_) | Operand::Register(_) if callee.is_none() => {
                callee = Some(operand);
            }
            _ => {}
        }
    }
    let callee = callee.ok_or("a call without a function")?;
    Ok(Call { results, arguments, callee })
}

/// `call`.
pub(super) fn call(builder: &mut Builder<'_>, instruction: &Instruction) -> Lowered<()> {
    let call = parts(instruction)?;
    match *call.callee {
        Operand::Function(callee) => {
            let function = &builder.module.functions[callee.index()];
            if function.kind == FunctionKind::Entry {
                return Err(format!(
                    "{} is a kernel; kernels that call kernels are not executed yet",
                    function.name
                ));
            }
            if function.body.is_none() {
                return declared(builder, &call, function);
            }
            let signature = signature_of(builder, function);
            check_sizes(builder, &call, &signature)?;
            if builder.calls.convention(callee).through_area {
                let reenters = builder.calls.reenters(builder.function, callee);
                through_area(builder, &call, &signature, reenters, |builder| {
                    builder.emit(Code::Call, 0, 0, [callee.0, 0, 0]);
                })
            } else {
                fixed(builder, &call, callee, function)
            }
        }
        _ => {
            let body = builder.current_function().body.as_ref().ok_or("a call without code")?;
            let signature = indirect_signature(builder.module, body, instruction);
            let signature =
                signature.ok_or("an indirect call needs a prototype or a list of functions")?;
            check_sizes(builder, &call, &signature)?;
            let target = builder.value(call.callee, T::U64)?;
            let reenters = builder.calls.reenters_indirectly(builder.function, &signature);
            let index = side_tables::add(&mut builder.tables.signatures, signature.clone());
            through_area(builder, &call, &signature, reenters, |builder| {
                builder.emit(Code::CallIndirect, 0, 0, [target, index, 0]);
            })
        }
    }
}

/// `ptxas` refuses a call that does not pass as many values as the function has, or variables of
/// other sizes.
fn check_sizes(builder: &Builder<'_>, call: &Call<'_>, signature: &Signature) -> Lowered<()> {
    let lists = [
        (call.arguments, &signature.params, "arguments"),
        (call.results, &signature.returns, "results"),
    ];
    for (given, wanted, what) in lists {
        if given.len() != wanted.len() {
            let (given, wanted) = (given.len(), wanted.len());
            return Err(format!("the call passes {given} {what}, the function has {wanted}"));
        }
        for (operand, &bytes) in given.iter().zip(wanted) {
            let Operand::Variable(variable, 0) = *operand else { continue };
            let variable = &builder.module.variables[variable.index()];
            if variable.size_bytes != bytes {
                return Err(format!(
                    "the call passes `{}` of {} bytes, where the function has {bytes}",
                    variable.name, variable.size_bytes
                ));
            }
        }
    }
    Ok(())
}

fn signature_of(builder: &Builder<'_>, function: &Function) -> Signature {
    Signature::of(builder.module, function)
}

/// Calls a function whose formals have fixed places.
fn fixed(
    builder: &mut Builder<'_>,
    call: &Call<'_>,
    callee: FunctionId,
    function: &Function,
) -> Lowered<()> {
    let caller = builder.function;
    for (actual, &formal) in call.arguments.iter().zip(&function.params) {
        pass(builder, caller, callee, actual, formal, true)?;
    }
    builder.emit(Code::Call, 0, 0, [callee.0, 0, 0]);
    after_call(builder, |builder| {
        for (actual, &formal) in call.results.iter().zip(&function.returns) {
            pass(builder, caller, callee, actual, formal, false)?;
        }
        Ok(())
    })
}

/// Calls through the argument area.
fn through_area(
    builder: &mut Builder<'_>,
    call: &Call<'_>,
    signature: &Signature,
    reenters: bool,
    emit: impl FnOnce(&mut Builder<'_>),
) -> Lowered<()> {
    let area = builder.layout.area;
    let offsets = area_offsets(&signature.params);
    for ((actual, &bytes), offset) in call.arguments.iter().zip(&signature.params).zip(offsets) {
        match *actual {
            Operand::Variable(variable, 0) => {
                let slot = stack_slot(builder, variable)?;
                copy_locally(builder, slot, (area + offset, false), bytes);
            }
            ref value => {
                for part in parts_by_value(builder, value, area + offset, bytes)? {
                    let row = builder.value(&part.operand, part.ty)?;
                    store_local(builder, part.offset, part.ty, row);
                }
            }
        }
    }
    let saved = reenters.then(|| builder.saved_index());
    if let Some(index) = saved {
        builder.emit(Code::SaveRegisters, 0, 0, [index, 0, 0]);
    }
    emit(builder);
    after_call(builder, |builder| {
        if let Some(index) = saved {
            builder.emit(Code::RestoreRegisters, 0, 0, [index, 0, 0]);
        }
        let offsets = area_offsets(&signature.returns);
        for ((actual, &bytes), offset) in call.results.iter().zip(&signature.returns).zip(offsets) {
            match *actual {
                Operand::Variable(variable, 0) => {
                    let slot = stack_slot(builder, variable)?;
                    copy_locally(builder, (area + offset, false), slot, bytes);
                }
                ref register => {
                    for part in parts_by_value(builder, register, area + offset, bytes)? {
                        builder.define(&part.operand, part.ty, |builder, row| {
                            load_local(builder, part.offset, part.ty, row);
                            Ok(())
                        })?;
                    }
                }
            }
        }
        Ok(())
    })
}

/// A register that is passed by value, or an element of one.
struct Part {
    operand: Operand,
    /// Offset in local memory.
    offset: u64,
    ty: T,
}

/// The registers of a value of `bytes` bytes that lies at `offset` of local memory.
fn parts_by_value(
    builder: &Builder<'_>,
    value: &Operand,
    offset: u64,
    bytes: u64,
) -> Lowered<Vec<Part>> {
    let operands = elements(builder, value);
    let each = bytes / operands.len().max(1) as u64;
    let ty = bits_type(each)?;
    let part = |(index, operand)| Part { operand, offset: offset + index as u64 * each, ty };
    Ok(operands.into_iter().enumerate().map(part).collect())
}

/// Emits the operations that follow the call operation just emitted. Only lanes that called get
/// there, so nothing of it is guarded; the others skip it and wait behind it.
fn after_call(
    builder: &mut Builder<'_>,
    emit: impl FnOnce(&mut Builder<'_>) -> Lowered<()>,
) -> Lowered<()> {
    let call = builder.ops.len() - 1;
    let guarded = builder.guard != 0;
    builder.guard = 0;
    emit(builder)?;
    // Where nothing follows, lanes return to the place at which the others wait.
    if guarded && builder.ops.len() - 1 > call {
        builder.emit(Code::Rejoin, 0, 0, [0, 0, 0]);
    }
    let following = builder.ops.len() - 1 - call;
    builder.ops[call].n =
        u16::try_from(following).map_err(|_| "the call returns too many values".to_owned())?;
    Ok(())
}

/// The untyped type of a register that is passed by value.
fn bits_type(bytes: u64) -> Lowered<T> {
    match bytes {
        1 => Ok(T::B8),
        2 => Ok(T::B16),
        4 => Ok(T::B32),
        8 => Ok(T::B64),
        16 => Ok(T::B128),
        _ => Err(format!("a register cannot be passed as {bytes} bytes")),
    }
}

/// Emits the prologue of a function, before its first block: find its frame and fetch its
/// arguments.
pub(super) fn prologue(builder: &mut Builder<'_>) -> Lowered<()> {
    let convention = builder.calls.convention(builder.function);
    if convention.framed {
        let bytes = builder.layout.frame_bytes(builder.function) as u32;
        let (frame, stack) = (builder.frame_pointer(), builder.stack_pointer());
        builder.emit(Code::EnterFrame, 0, frame, [bytes, stack, 0]);
    }
    if convention.through_area {
        let function = builder.current_function();
        let signature = signature_of(builder, function);
        exchange(builder, &function.params, &signature.params, true)?;
    }
    Ok(())
}

/// Emits the epilogue of a function, before it returns: leave its results and its frame.
pub(super) fn epilogue(builder: &mut Builder<'_>) -> Lowered<()> {
    let convention = builder.calls.convention(builder.function);
    if convention.through_area {
        let function = builder.current_function();
        let signature = signature_of(builder, function);
        exchange(builder, &function.returns, &signature.returns, false)?;
    }
    if convention.framed {
        let (frame, stack) = (builder.frame_pointer(), builder.stack_pointer());
        builder.emit(Code::Mov32, 0, stack, [frame, 0, 0]);
    }
    Ok(())
}

/// Copies formals from the argument area (`fetch`) or to it.
fn exchange(
    builder: &mut Builder<'_>,
    formals: &[Formal],
    sizes: &[u64],
    fetch: bool,
) -> Lowered<()> {
    let area = builder.layout.area;
    for ((&formal, &bytes), offset) in formals.iter().zip(sizes).zip(area_offsets(sizes)) {
        let in_area = (area + offset, false);
        match formal {
            Formal::Variable(variable) => {
                let slot = stack_slot(builder, variable)?;
                let (from, to) = if fetch { (in_area, slot) } else { (slot, in_area) };
                copy_locally(builder, from, to, bytes);
            }
            Formal::Register(register) => {
                let count = builder.current_function().registers[register.index()].vector;
                let each = bytes / u64::from(count.max(1));
                let ty = bits_type(each)?;
                for element in 0..count {
                    let slot = builder.slot_of(builder.function, register, element);
                    let Slot::Row { row, .. } = slot else {
                        return Err("predicate arguments are not executed yet".to_owned());
                    };
                    let at = in_area.0 + u64::from(element) * each;
                    if fetch {
                        load_local(builder, at, ty, row);
                    } else {
                        store_local(builder, at, ty, row);
                    }
                }
            }
        }
    }
    Ok(())
}

/// A call of a function that has no body here.
fn declared(builder: &mut Builder<'_>, call: &Call<'_>, function: &Function) -> Lowered<()> {
    let Some(runtime) = RuntimeFunction::named(&function.name) else {
        return Err(format!("{} is declared here but defined in another module", function.name));
    };
    let address_bits = builder.module.address_bits;
    let own = signature_of(builder, function);
    let (result, parameters) = runtime.values();
    let sizes: Vec<u64> = parameters.iter().map(|value| value.bytes(address_bits)).collect();
    let result_bytes = result.map(|value| value.bytes(address_bits));
    let fits = own.params == sizes && own.returns.first().copied() == result_bytes;
    if !fits || call.arguments.len() != own.params.len() || call.results.len() > 1 {
        return Err(format!("{} is not declared as CUDA declares it", function.name));
    }
    let mut arguments = Vec::new();
    for ((actual, &bytes), &value) in call.arguments.iter().zip(&sizes).zip(parameters) {
        let ty = bits_type(bytes)?;
        let row = match *actual {
            Operand::Variable(variable, 0) => {
                let slot = stack_slot(builder, variable)?;
                let row = builder.temporary(Width::of(ty));
                builder.load_slot(slot, ty, row);
                row
            }
            ref value => builder.value(value, ty)?,
        };
        arguments.push(if value == Value::Address && ty == T::B32 {
            let wide = builder.temporary(Width::W64);
            builder.emit(Code::ZeroExtend32, 0, wide, [row, 0, 0]);
            wide
        } else {
            row
        });
    }
    let mut row = result.map(|value| {
        builder.temporary(if value == Value::Address { Width::W64 } else { Width::W32 })
    });
    let index = side_tables::add(
        &mut builder.tables.runtime_calls,
        RuntimeCall { function: runtime, arguments, result: row },
    );
    builder.emit(Code::Runtime, 0, 0, [index, 0, 0]);
    if let (Some(Value::Address), Some(4), Some(wide)) = (result, result_bytes, row) {
        let narrow = builder.temporary(Width::W32);
        builder.emit(Code::Low32, 0, narrow, [wide, 0, 0]);
        row = Some(narrow);
    }
    let (Some(row), Some(bytes), Some(actual)) = (row, result_bytes, call.results.first()) else {
        return Ok(());
    };
    let ty = bits_type(bytes)?;
    match *actual {
        Operand::Variable(variable, 0) => {
            let slot = stack_slot(builder, variable)?;
            builder.store_slot(slot, ty, row);
            Ok(())
        }
        ref register => {
            let code = if Width::of(ty) == Width::W64 { Code::Mov64 } else { Code::Mov32 };
            builder.define(register, ty, |builder, destination| {
                builder.emit(code, 0, destination, [row, 0, 0]);
                Ok(())
            })
        }
    }
}

/// `alloca`, `stacksave` and `stackrestore`.
pub(super) fn stack(builder: &mut Builder<'_>, instruction: &Instruction) -> Lowered<()> {
    let ty = instruction.types().next().unwrap_or(T::U64);
    let wide = Width::of(ty) == Width::W64;
    let top = builder.stack_pointer();
    match instruction.opcode {
        Opcode::Stackrestore => {
            let row = builder.value(operand(instruction, 0)?, ty)?;
            builder.emit(if wide { Code::Low32 } else { Code::Mov32 }, 0, top, [row, 0, 0]);
            Ok(())
        }
        Opcode::Stacksave => builder.define(operand(instruction, 0)?, ty, |builder, row| {
            builder.emit(if wide { Code::ZeroExtend32 } else { Code::Mov32 }, 0, row, [top, 0, 0]);
            Ok(())
        }),
        _ => {
            let bytes = builder.value(operand(instruction, 1)?, T::U64)?;
            // Without an alignment the result is aligned to 8 bytes.
            let align = match instruction.operands.get(2) {
                Some(Operand::Immediate(gpucast_ptx_frontend::module::Immediate::Integer(n))) => {
                    u32::try_from(*n).ok().filter(|n| n.is_power_of_two())
                }
                None => Some(8),
                Some(_) => None,
            };
            let align = align.ok_or("the alignment of alloca is not a power of two")?;
            let row = builder.temporary(Width::W32);
            builder.emit(Code::Allocate, 0, row, [bytes, top, align]);
            builder.define(operand(instruction, 0)?, ty, |builder, destination| {
                let code = if wide { Code::ZeroExtend32 } else { Code::Mov32 };
                builder.emit(code, 0, destination, [row, 0, 0]);
                Ok(())
            })
        }
    }
}
