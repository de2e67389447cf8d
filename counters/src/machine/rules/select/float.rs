//! Floating-point arithmetic that is one instruction in every generation.

use gpucast_ptx_frontend::isa::{InstructionClass, Opcode};
use gpucast_ptx_frontend::types::ScalarType;
use smallvec::smallvec;

use super::super::graph::Op;
use super::{Selected, Selection};
use crate::operation::{FlopKind, Flops, Precision};

pub(super) fn select(op: &Op<'_>) -> Selection {
    use Opcode as O;
    let (class, precision, lanes) = match op.ty {
        ScalarType::F64 => (InstructionClass::Fp64, Precision::Double, 1),
        ScalarType::F16 | ScalarType::Bf16 => (InstructionClass::Fp16, Precision::Half, 1),
        ScalarType::F16x2 | ScalarType::Bf16x2 => (InstructionClass::Fp16, Precision::Half, 2),
        ScalarType::F32x2 => (InstructionClass::Fp32, Precision::Single, 2),
        _ => (InstructionClass::Fp32, Precision::Single, 1),
    };
    let names: [&'static str; 6] = match precision {
        Precision::Double => ["DADD", "DMUL", "DFMA", "DSETP", "DMNMX", "FSEL"],
        Precision::Single => ["FADD", "FMUL", "FFMA", "FSETP", "FMNMX", "FSEL"],
        Precision::Half => ["HADD2", "HMUL2", "HFMA2", "HSETP2", "HMNMX2", "SEL"],
    };
    let (name, kind, count) = match op.opcode {
        O::Add | O::Sub => (names[0], Some(FlopKind::Add), 1),
        O::Mul => (names[1], Some(FlopKind::Mul), 1),
        O::Fma | O::Mad => (names[2], Some(FlopKind::Fma), 1),
        O::Setp | O::Set | O::Testp => (names[3], None, 1),
        O::Min | O::Max => (names[4], None, 1),
        O::Selp | O::Slct => (names[5], None, if op.ty == ScalarType::F64 { 2 } else { 1 }),
        O::Abs | O::Neg => (names[0], None, 1),
        O::Copysign => ("LOP3", None, 1),
        O::Rcp | O::Sqrt | O::Rsqrt | O::Sin | O::Cos | O::Lg2 | O::Ex2 | O::Tanh => {
            ("MUFU", Some(FlopKind::Special), 1)
        }
        other => (other.text(), None, 1),
    };
    let flops = kind.map(|kind| Flops { precision, kind, per_thread: lanes });
    smallvec![Selected { flops, ..Selected::new(name, class, count) }]
}
