//! The row of the vendor's throughput table that an instruction belongs to.
//!
//! The CUDA C++ Programming Guide tabulates results per clock and SM for each compute capability
//! and kind of operation ("Arithmetic Instructions", "Throughput of Native Arithmetic
//! Instructions"). The rows here are those of the table, as far as GPU descriptions keep them
//! apart.

use gpucast_ptx_frontend::isa::{FloatRow, InstructionClass, IntegerRow, opcode_facts};
use gpucast_ptx_frontend::module::Instruction;
use gpucast_ptx_frontend::types::ScalarType;

use crate::operation::class;

/// A kind of operation with a throughput of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Operation {
    /// Half-precision arithmetic and comparisons.
    Fp16,
    /// Single-precision addition and multiply-add.
    Fp32,
    /// Single-precision multiplication, which further units take on compute capability 1.x.
    Fp32Multiply,
    /// Single-precision comparison, minimum and maximum.
    Fp32Compare,
    /// Reciprocals, roots and transcendentals of single precision.
    Special,
    /// Double-precision arithmetic and comparisons.
    Fp64,
    /// Integer addition and subtraction, and the operations that run beside them.
    IntegerAdd,
    /// Integer multiplication and multiply-add.
    IntegerMultiply,
    /// Integer comparison, minimum and maximum.
    IntegerCompare,
    /// Shifts, bit fields and absolute differences.
    Shift,
    /// Counts of bits, leading zeros and bits in reverse.
    BitCount,
    /// Bitwise logic.
    Logic,
    /// Conversions between types of at most 32 bits.
    Conversion,
    /// Conversions from and to types of 64 bits.
    WideConversion,
    /// Shuffles and votes.
    Shuffle,
    /// Loads, stores, atomics and textures.
    LoadStore,
    /// Matrix products of the tensor cores.
    Tensor,
    /// Moves, selections, branches, barriers: instructions that only have to be issued.
    Other,
}

impl Operation {
    /// Every operation, in order of declaration.
    pub const ALL: [Self; 18] = [
        Self::Fp16,
        Self::Fp32,
        Self::Fp32Multiply,
        Self::Fp32Compare,
        Self::Special,
        Self::Fp64,
        Self::IntegerAdd,
        Self::IntegerMultiply,
        Self::IntegerCompare,
        Self::Shift,
        Self::BitCount,
        Self::Logic,
        Self::Conversion,
        Self::WideConversion,
        Self::Shuffle,
        Self::LoadStore,
        Self::Tensor,
        Self::Other,
    ];

    /// In words.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Fp16 => "half-precision arithmetic",
            Self::Fp32 => "single-precision additions and multiply-adds",
            Self::Fp32Multiply => "single-precision multiplications",
            Self::Fp32Compare => "single-precision comparisons",
            Self::Special => "special functions",
            Self::Fp64 => "double-precision arithmetic",
            Self::IntegerAdd => "integer additions",
            Self::IntegerMultiply => "integer multiplications",
            Self::IntegerCompare => "integer comparisons",
            Self::Shift => "shifts",
            Self::BitCount => "counts of bits",
            Self::Logic => "bitwise logic",
            Self::Conversion => "conversions",
            Self::WideConversion => "conversions of 64 bits",
            Self::Shuffle => "shuffles",
            Self::LoadStore => "loads and stores",
            Self::Tensor => "matrix products",
            Self::Other => "moves and control",
        }
    }

    /// The classes that profilers count it in, with all others of the same class.
    #[must_use]
    pub const fn classes(self) -> &'static [InstructionClass] {
        match self {
            Self::Fp16 => &[InstructionClass::Fp16],
            Self::Fp32 | Self::Fp32Multiply | Self::Fp32Compare | Self::Special => {
                &[InstructionClass::Fp32]
            }
            Self::Fp64 => &[InstructionClass::Fp64],
            Self::IntegerAdd
            | Self::IntegerMultiply
            | Self::IntegerCompare
            | Self::Shift
            | Self::BitCount
            | Self::Logic => &[InstructionClass::Integer],
            Self::Conversion | Self::WideConversion => &[InstructionClass::BitConvert],
            Self::Shuffle => &[InstructionClass::InterThread],
            Self::LoadStore => &[InstructionClass::LoadStore],
            Self::Tensor => &[InstructionClass::Tensor],
            Self::Other => &[InstructionClass::Control, InstructionClass::Misc],
        }
    }

    /// The operation of an instruction.
    ///
    /// A division counts as its reciprocal, which takes longest of its parts; only machine-level
    /// counts know the rest of its expansion.
    #[must_use]
    pub fn of(instruction: &Instruction) -> Self {
        let facts = opcode_facts(instruction.opcode);
        match class(instruction) {
            InstructionClass::Fp16 => Self::Fp16,
            InstructionClass::Fp32 => facts.float.map_or(Self::Fp32, Self::from),
            InstructionClass::Fp64 => Self::Fp64,
            InstructionClass::Integer => facts.integer.map_or(Self::Other, Self::from),
            InstructionClass::BitConvert => match instruction.types().any(is_wide) {
                true => Self::WideConversion,
                false => Self::Conversion,
            },
            InstructionClass::InterThread => Self::Shuffle,
            InstructionClass::LoadStore | InstructionClass::Texture => Self::LoadStore,
            InstructionClass::Tensor => Self::Tensor,
            InstructionClass::Control | InstructionClass::Misc => Self::Other,
        }
    }
}

impl From<IntegerRow> for Operation {
    /// The rate of GPU descriptions that integer instructions of the row run at.
    ///
    /// Bit fields and absolute differences have the rate of shifts in the vendor's table, and SIMD
    /// video instructions that of additions. This holds wherever they are one instruction, except
    /// on capabilities 3.5 and 3.7, where they are half as fast as shifts.
    fn from(row: IntegerRow) -> Self {
        match row {
            IntegerRow::Add | IntegerRow::Simd => Self::IntegerAdd,
            IntegerRow::Multiply | IntegerRow::Divide => Self::IntegerMultiply,
            IntegerRow::Compare => Self::IntegerCompare,
            IntegerRow::Shift | IntegerRow::BitField | IntegerRow::Absolute => Self::Shift,
            IntegerRow::Logic => Self::Logic,
            IntegerRow::BitCount => Self::BitCount,
        }
    }
}

impl From<FloatRow> for Operation {
    /// The rate of GPU descriptions that single precision of the row runs at.
    fn from(row: FloatRow) -> Self {
        match row {
            FloatRow::Sum | FloatRow::MultiplyAdd | FloatRow::Sign => Self::Fp32,
            FloatRow::Product => Self::Fp32Multiply,
            FloatRow::Compare => Self::Fp32Compare,
            FloatRow::Special | FloatRow::Quotient => Self::Special,
        }
    }
}

fn is_wide(one: ScalarType) -> bool {
    matches!(one, ScalarType::F64 | ScalarType::S64 | ScalarType::U64 | ScalarType::B64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The operation of the only instruction in a kernel besides `ret`.
    fn operation(text: &str) -> Operation {
        let module = format!(
            ".version 8.8\n.target sm_80\n.address_size 64\n.visible .entry k() {{\n\
             .reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .f32 %f<4>; .reg .f64 %d<4>; .reg .pred %p;\n\
             {text}\nret; }}"
        );
        let module = gpucast_ptx_frontend::load(&module).unwrap();
        Operation::of(&module.functions[0].body.as_ref().unwrap().instructions[0])
    }

    #[test]
    fn instructions_have_the_rows_of_the_programming_guide() {
        for (text, expected) in [
            ("fma.rn.f32 %f0, %f1, %f2, %f3;", Operation::Fp32),
            ("mul.f32 %f0, %f1, %f2;", Operation::Fp32Multiply),
            ("setp.lt.f32 %p, %f1, %f2;", Operation::Fp32Compare),
            ("div.full.f32 %f0, %f1, %f2;", Operation::Special),
            ("sin.approx.f32 %f0, %f1;", Operation::Special),
            ("fma.rn.f64 %d0, %d1, %d2, %d3;", Operation::Fp64),
            ("add.s32 %r0, %r1, %r2;", Operation::IntegerAdd),
            ("mul.wide.s32 %rd0, %r1, %r2;", Operation::IntegerMultiply),
            ("mad.lo.s32 %r0, %r1, %r2, %r3;", Operation::IntegerMultiply),
            ("setp.lt.s32 %p, %r1, %r2;", Operation::IntegerCompare),
            ("shl.b32 %r0, %r1, %r2;", Operation::Shift),
            ("xor.b32 %r0, %r1, %r2;", Operation::Logic),
            ("bfe.u32 %r0, %r1, %r2, %r3;", Operation::Shift),
            ("sad.u32 %r0, %r1, %r2, %r3;", Operation::Shift),
            ("popc.b32 %r0, %r1;", Operation::BitCount),
            ("clz.b32 %r0, %r1;", Operation::BitCount),
            ("rem.u32 %r0, %r1, %r2;", Operation::IntegerMultiply),
            ("vmad.u32.u32.u32 %r0, %r1, %r2, %r3;", Operation::IntegerMultiply),
            ("selp.b32 %r0, %r1, %r2, %p;", Operation::Other),
            ("prmt.b32 %r0, %r1, %r2, %r3;", Operation::Other),
            ("cvt.rn.f32.s32 %f0, %r1;", Operation::Conversion),
            ("cvt.s64.s32 %rd0, %r1;", Operation::WideConversion),
            ("ld.global.f32 %f0, [%rd1];", Operation::LoadStore),
            ("mov.b32 %r0, %r1;", Operation::Other),
            ("bar.sync 0;", Operation::Other),
        ] {
            assert_eq!(operation(text), expected, "{text}");
        }
    }
}
