//! A profiler's view of an instruction: its class and its floating-point operations.

use gpucast_ptx_frontend::isa::InstructionClass;
use gpucast_ptx_frontend::module::Instruction;
use gpucast_ptx_frontend::types::{ScalarType, StateSpace};

use gpucast_ptx_frontend::isa::{FloatRow, opcode_facts};
use serde::{Deserialize, Serialize};

/// The floating-point format that the `flop_count_*` metrics tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Precision {
    /// 16 bits: `f16` and `bf16`, also packed.
    Half,
    /// 32 bits.
    Single,
    /// 64 bits.
    Double,
}

/// The operation that the `flop_count_*` metrics tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum FlopKind {
    /// Additions and subtractions.
    Add,
    /// Multiplications.
    Mul,
    /// Multiply-adds, which count once here and twice in `flop_count_sp` and its like.
    Fma,
    /// Reciprocals, roots and transcendentals, which no `flop_count_sp` includes.
    Special,
}

/// The floating-point operations of one thread that executes an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Flops {
    /// The format of the operands.
    pub precision: Precision,
    /// The kind of operation.
    pub kind: FlopKind,
    /// Operations per thread: 2 for packed formats.
    pub per_thread: u64,
}

/// The floating-point operations of `instruction`, if a `flop_count_*` metric counts any.
///
/// Comparisons, minima, conversions and divisions are none; a division expands to several
/// machine operations, which only machine-level counts can know. Matrix instructions are none:
/// profilers count them apart.
#[must_use]
pub fn flops(instruction: &Instruction) -> Option<Flops> {
    let kind = flop_kind(opcode_facts(instruction.opcode).float?)?;
    let (precision, per_thread) = match instruction.types().next()? {
        ScalarType::F16 | ScalarType::Bf16 => (Precision::Half, 1),
        ScalarType::F16x2 | ScalarType::Bf16x2 => (Precision::Half, 2),
        ScalarType::F32 => (Precision::Single, 1),
        ScalarType::F32x2 => (Precision::Single, 2),
        ScalarType::F64 => (Precision::Double, 1),
        _ => return None,
    };
    Some(Flops { precision, kind, per_thread })
}

/// The operation that profilers count for a row.
const fn flop_kind(row: FloatRow) -> Option<FlopKind> {
    match row {
        FloatRow::Sum => Some(FlopKind::Add),
        FloatRow::Product => Some(FlopKind::Mul),
        FloatRow::MultiplyAdd => Some(FlopKind::Fma),
        FloatRow::Special => Some(FlopKind::Special),
        FloatRow::Compare | FloatRow::Sign | FloatRow::Quotient => None,
    }
}

/// The class that `instruction` is counted in: that of its row in the instruction table, except
/// that accesses to the parameter space are moves.
///
/// Kernel parameters are operands from a constant bank and device-function parameters are
/// registers, so no machine load or store stands for them.
#[must_use]
pub fn class(instruction: &Instruction) -> InstructionClass {
    let class = instruction.form.form().class;
    let of_param = || {
        instruction.modifiers.iter().any(|modifier| modifier.as_space() == Some(StateSpace::Param))
    };
    if class == InstructionClass::LoadStore && of_param() { InstructionClass::Misc } else { class }
}

/// The nvprof metric that counts a class.
#[must_use]
pub const fn class_metric(class: InstructionClass) -> &'static str {
    match class {
        InstructionClass::Fp16 => "inst_fp_16",
        InstructionClass::Fp32 => "inst_fp_32",
        InstructionClass::Fp64 => "inst_fp_64",
        InstructionClass::Integer => "inst_integer",
        InstructionClass::BitConvert => "inst_bit_convert",
        InstructionClass::LoadStore => "inst_compute_ld_st",
        InstructionClass::Control => "inst_control",
        InstructionClass::InterThread => "inst_inter_thread_communication",
        InstructionClass::Texture => "inst_executed_tex_ops",
        InstructionClass::Tensor => "inst_executed_pipe_tensor",
        InstructionClass::Misc => "inst_misc",
    }
}

#[cfg(test)]
mod tests {
    use gpucast_ptx_frontend::isa::{Modifier, Opcode, forms_of};
    use gpucast_ptx_frontend::source::Span;

    use super::*;

    fn instruction(opcode: Opcode, modifiers: &[Modifier]) -> Instruction {
        let (form, _) = forms_of(opcode)
            .find(|(_, form)| gpucast_ptx_frontend::isa::match_modifiers(form, modifiers).is_ok())
            .unwrap();
        Instruction {
            opcode,
            form,
            modifiers: modifiers.iter().copied().collect(),
            guard: None,
            operands: Default::default(),
            span: Span::default(),
            location: None,
        }
    }

    #[test]
    fn arithmetic_counts_by_its_first_type() {
        use Modifier as M;
        type Counted = Option<(Precision, FlopKind, u64)>;
        let cases: &[(Opcode, &[M], Counted)] = &[
            (Opcode::Add, &[M::F32], Some((Precision::Single, FlopKind::Add, 1))),
            (Opcode::Sub, &[M::F64], Some((Precision::Double, FlopKind::Add, 1))),
            (Opcode::Mul, &[M::Rn, M::F32], Some((Precision::Single, FlopKind::Mul, 1))),
            (Opcode::Fma, &[M::Rn, M::F64], Some((Precision::Double, FlopKind::Fma, 1))),
            (Opcode::Fma, &[M::Rn, M::F16x2], Some((Precision::Half, FlopKind::Fma, 2))),
            (Opcode::Sin, &[M::Approx, M::F32], Some((Precision::Single, FlopKind::Special, 1))),
            (Opcode::Add, &[M::S32], None),
            (Opcode::Mad, &[M::Lo, M::S32], None),
            (Opcode::Max, &[M::F32], None),
        ];
        for (opcode, modifiers, expected) in cases {
            let found = flops(&instruction(*opcode, modifiers));
            let found = found.map(|flops| (flops.precision, flops.kind, flops.per_thread));
            assert_eq!(found, *expected, "{opcode} {modifiers:?}");
        }
    }

    #[test]
    fn parameters_are_not_loads() {
        let load = |space| class(&instruction(Opcode::Ld, &[space, Modifier::F32]));
        assert_eq!(load(Modifier::Global), InstructionClass::LoadStore);
        assert_eq!(load(Modifier::Const), InstructionClass::LoadStore);
        assert_eq!(load(Modifier::Param), InstructionClass::Misc);
    }
}
