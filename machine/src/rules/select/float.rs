//! Floating-point arithmetic that is one instruction in every generation.

use gpucast_ptx_frontend::isa::{FloatRow, Opcode, opcode_facts};
use gpucast_ptx_frontend::types::ScalarType;
use smallvec::smallvec;

use super::super::family::Family;
use super::super::graph::Op;
use super::{Selected, Selection};

/// The instructions of one format.
struct Names {
    sum: &'static str,
    product: &'static str,
    multiply_add: &'static str,
    compare: &'static str,
    minimum: &'static str,
}

const HALF: Names = Names {
    sum: "HADD2",
    product: "HMUL2",
    multiply_add: "HFMA2",
    compare: "HSETP2",
    minimum: "HMNMX2",
};
const SINGLE: Names = Names {
    sum: "FADD",
    product: "FMUL",
    multiply_add: "FFMA",
    compare: "FSETP",
    minimum: "FMNMX",
};
/// Two single-precision numbers at once.
const PAIR: Names = Names { sum: "FADD2", product: "FMUL2", multiply_add: "FFMA2", ..SINGLE };
const DOUBLE: Names = Names {
    sum: "DADD",
    product: "DMUL",
    multiply_add: "DFMA",
    compare: "DSETP",
    minimum: "DMNMX",
};

pub(super) fn select(op: &Op<'_>, family: &Family) -> Selection {
    let names = match op.ty {
        ScalarType::F64 => DOUBLE,
        ScalarType::F16 | ScalarType::Bf16 | ScalarType::F16x2 | ScalarType::Bf16x2 => HALF,
        ScalarType::F32x2 => PAIR,
        _ => SINGLE,
    };
    let name = match opcode_facts(op.opcode).float {
        // The sign is a bit, which logic takes from one number and puts into the other.
        _ if op.opcode == Opcode::Copysign => {
            let logic = if family.lop3 { ("LOP3", 1) } else { ("LOP", 3) };
            return smallvec![Selected::new(logic.0, logic.1)];
        }
        Some(FloatRow::Sum | FloatRow::Sign) | None => names.sum,
        Some(FloatRow::Product) => names.product,
        Some(FloatRow::MultiplyAdd) => names.multiply_add,
        Some(FloatRow::Compare) if matches!(op.opcode, Opcode::Min | Opcode::Max) => names.minimum,
        Some(FloatRow::Compare) => names.compare,
        Some(FloatRow::Special | FloatRow::Quotient) => "MUFU",
    };
    smallvec![Selected::new(name, 1)]
}
