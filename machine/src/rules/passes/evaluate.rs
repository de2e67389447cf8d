//! Operations on literals, computed by the interpreter.
//!
//! An operation whose arguments are all known is executed by a kernel of one thread. So there is
//! one definition of an instruction's result.

use std::fmt::Write;

use gpucast_interpreter::{
    Argument, DeviceMemory, Launch, NoObserver, Options, Program, Silent, run,
};
use gpucast_ptx_frontend::isa::{Access, Modifier, Opcode, OperandKind, OperandShape, ShapeType};
use gpucast_ptx_frontend::module::Operand;
use gpucast_ptx_frontend::types::{ScalarType, TypeKind};

use super::super::graph::{Arg, Op};

/// A result: its bits and its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Value {
    pub(super) bits: u64,
    pub(super) ty: ScalarType,
}

/// The result of an operation on literals, if `ptxas` computes it; `None` of all others.
pub(super) fn evaluate(op: &Op<'_>) -> Option<Value> {
    let is_as_written =
        op.opcode == op.source.opcode && op.source.types().next().is_none_or(|ty| ty == op.ty);
    if !is_as_written || op.guard.is_some() || op.memory.is_some() || !is_computed(op) {
        return None;
    }
    let arguments: Option<Vec<u64>> = op
        .args
        .iter()
        .map(|arg| match arg {
            Arg::Constant(bits) => Some(*bits),
            _ => None,
        })
        .collect();
    execute(op, &arguments?)
}

/// Returns true if `ptxas` computes an operation itself when its operands are literals (12.9, sm_50
/// and sm_80, tried for each). It does not compute:
///
/// - floating-point multiply-adds, rounded quotients and roots, and directed roundings;
/// - integer quotients, permutations and `lop3`;
/// - conversions of integers to doubles, or of 64-bit integers to floating-point numbers.
fn is_computed(op: &Op<'_>) -> bool {
    use Opcode as O;
    let simple = matches!(op.ty.kind(), TypeKind::Unsigned | TypeKind::Signed | TypeKind::Bits)
        || matches!(op.ty, ScalarType::F32 | ScalarType::F64);
    let directed = [Modifier::Rz, Modifier::Rm, Modifier::Rp].iter().any(|&m| op.has(m));
    match op.opcode {
        O::Cvt => computes_conversion(op),
        O::Mul if op.has(Modifier::Hi) && op.ty.bits() == 64 => false,
        O::Add | O::Sub | O::Mul => simple && !directed && !op.has(Modifier::Cc),
        O::Mad => op.is_integer() && !op.has(Modifier::Cc),
        O::Mul24
        | O::Mad24
        | O::Abs
        | O::Neg
        | O::Min
        | O::Max
        | O::Set
        | O::Setp
        | O::Selp
        | O::Slct
        | O::Testp => simple,
        O::Popc
        | O::Clz
        | O::Bfind
        | O::Fns
        | O::Brev
        | O::Bfe
        | O::Bfi
        | O::And
        | O::Or
        | O::Xor
        | O::Not
        | O::Cnot
        | O::Shf
        | O::Shl
        | O::Shr => simple,
        O::Rcp | O::Sqrt | O::Div => {
            op.ty == ScalarType::F32 && (op.has(Modifier::Approx) || op.has(Modifier::Full))
        }
        O::Rsqrt | O::Sin | O::Cos | O::Lg2 | O::Ex2 => op.ty == ScalarType::F32,
        _ => false,
    }
}

fn computes_conversion(op: &Op<'_>) -> bool {
    let mut types = op.source.types();
    let (Some(to), Some(from)) = (types.next(), types.next()) else { return false };
    let is_float = |ty: ScalarType| ty.kind() == TypeKind::Float;
    let is_integer = |ty: ScalarType| matches!(ty.kind(), TypeKind::Unsigned | TypeKind::Signed);
    match (is_integer(from), is_float(to)) {
        (true, true) => from.bits() <= 32 && to.bits() <= 32,
        (true, false) => is_integer(to),
        (false, _) => is_float(from) && (is_float(to) || is_integer(to)),
    }
}

/// Runs the operation in a kernel of its own.
fn execute(op: &Op<'_>, arguments: &[u64]) -> Option<Value> {
    let shapes = &op.source.form.form().operands;
    let is_plain = |operand: &Operand| {
        matches!(operand, Operand::Register(_) | Operand::Immediate(_) | Operand::Special(_))
    };
    let [result, ..] = op.source.operands.as_slice() else { return None };
    let fits = matches!(result, Operand::Register(_))
        && op.source.operands.iter().all(is_plain)
        && op.source.operands.len() == arguments.len() + 1
        && shapes.first().is_some_and(|shape| shape.access == Access::Write);
    if !fits {
        return None;
    }
    let ty = type_of(op, shapes.first()?)?;
    let text = kernel(op, ty, shapes, arguments)?;
    let module = gpucast_ptx_frontend::load(&text).ok()?;
    let program = Program::new(&module, &text, "k").ok()?;
    let mut memory = DeviceMemory::new();
    let address = memory.allocate("result", 8).ok()?;
    let launch = Launch {
        grid: [1; 3],
        block: [1; 3],
        cluster: None,
        dynamic_shared_bytes: 0,
        arguments: vec![Argument::Address(address)],
    };
    run(&program, &launch, &mut memory, &mut NoObserver, &Options::default(), &Silent).ok()?;
    let bytes = memory.bytes("result")?.try_into().ok()?;
    Some(Value { bits: u64::from_le_bytes(bytes), ty })
}

/// A module whose kernel executes the operation on the arguments and stores its result.
fn kernel(
    op: &Op<'_>,
    ty: ScalarType,
    shapes: &[OperandShape],
    arguments: &[u64],
) -> Option<String> {
    let mut declarations = declaration("d", ty);
    let mut moves = String::new();
    let mut operands = String::from("%d");
    for (index, (&bits, shape)) in arguments.iter().zip(shapes.get(1..)?).enumerate() {
        if shape.kind == OperandKind::Immediate {
            write!(operands, ", {bits}").ok()?;
            continue;
        }
        let ty = type_of(op, shape)?;
        declarations += &declaration(&format!("a{index}"), ty);
        match width(ty) {
            1 => writeln!(moves, "setp.ne.u32 %a{index}, {}, 0;", bits & 1).ok()?,
            width => {
                let bits = if width >= 64 { bits } else { bits & ((1 << width) - 1) };
                writeln!(moves, "mov.b{width} %a{index}, {bits:#x};").ok()?;
            }
        }
        write!(operands, ", %a{index}").ok()?;
    }
    let modifiers: String =
        op.source.modifiers.iter().map(|modifier| format!(".{}", modifier.text())).collect();
    let store = match width(ty) {
        1 => "selp.b32 %w, 1, 0, %d;\nst.global.b32 [%out], %w;".to_owned(),
        width => format!("st.global.b{width} [%out], %d;"),
    };
    Some(format!(
        ".version 8.8\n.target sm_90\n.address_size 64\n\
         .visible .entry k(.param .u64 out) {{\n\
         .reg .b64 %out; .reg .b32 %w;\n{declarations}\
         ld.param.u64 %out, [out];\n{moves}{}{modifiers} {operands};\n{store}\nret;\n}}",
        op.opcode.text()
    ))
}

fn declaration(name: &str, ty: ScalarType) -> String {
    match width(ty) {
        1 => format!(".reg .pred %{name};\n"),
        width => format!(".reg .b{width} %{name};\n"),
    }
}

/// Bits of a register for a type: predicates have one, bytes stand in 16.
fn width(ty: ScalarType) -> u32 {
    if ty == ScalarType::Pred { 1 } else { ty.bits().max(16) }
}

/// The type of an operand.
fn type_of(op: &Op<'_>, shape: &OperandShape) -> Option<ScalarType> {
    match shape.ty {
        ShapeType::Modifier(index) => op.source.types().nth(usize::from(index)),
        ShapeType::Fixed(ty) => Some(ty),
        ShapeType::Wide => match op.ty.bits() {
            16 => Some(ScalarType::B32),
            32 => Some(ScalarType::B64),
            _ => None,
        },
        ShapeType::Pointer | ShapeType::None => None,
    }
}
