//! Products that a sum alone reads, and that no compiler may join to a multiply-add as they are.

use std::collections::HashMap;

use gpucast_interpreter::Program;
use gpucast_ptx_frontend::dataflow::Uses;
use gpucast_ptx_frontend::isa::{Modifier, Opcode};
use gpucast_ptx_frontend::module::{FunctionId, Instruction, RegisterId};
use gpucast_ptx_frontend::types::{ScalarType, TypeKind};

/// The multiplications each of whose products goes into additions of its type and nowhere else,
/// where a product or a sum names its rounding.
///
/// PTX ISA, `mul` and `add`: without a rounding modifier both may be contracted, and so compilers
/// join them by themselves; with `.rn` they round each on its own.
pub(super) fn fusable_products(program: &Program) -> Vec<u32> {
    let mut readers: HashMap<(FunctionId, RegisterId), Vec<&Instruction>> = HashMap::new();
    for one in program.instructions() {
        for register in Uses::of(&one.instruction).read {
            readers.entry((one.function, register)).or_default().push(&one.instruction);
        }
    }
    let is_fusable = |one: &&gpucast_interpreter::program::StaticInstruction| {
        let product = &one.instruction;
        let Some(ty) = float_type(product).filter(|_| product.opcode == Opcode::Mul) else {
            return false;
        };
        let written = Uses::of(product).written;
        let [result] = written.as_slice() else { return false };
        let sums = readers.get(&(one.function, *result)).map_or(&[][..], Vec::as_slice);
        let adds = |sum: &&Instruction| {
            matches!(sum.opcode, Opcode::Add | Opcode::Sub) && float_type(sum) == Some(ty)
        };
        let is_apart = |sum: &&Instruction| rounds(product) || rounds(sum);
        !sums.is_empty() && sums.iter().all(adds) && sums.iter().any(is_apart)
    };
    let instructions = (0..).zip(program.instructions());
    instructions.filter(|(_, one)| is_fusable(one)).map(|(index, _)| index).collect()
}

fn float_type(instruction: &Instruction) -> Option<ScalarType> {
    instruction.types().next().filter(|ty| matches!(ty.kind(), TypeKind::Float))
}

fn rounds(instruction: &Instruction) -> bool {
    instruction.modifiers.contains(&Modifier::Rn)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The opcodes' places, by a body over `%f` and `%d`.
    #[track_caller]
    fn check(body: &str, expected: &[usize]) {
        let text = format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p) {{\n\
             .reg .f32 %f<9>; .reg .f64 %d<9>; .reg .b64 %rd<2>;\n\
             ld.param.u64 %rd1, [p];\n{body}\nst.global.f32 [%rd1], %f0;\nret;\n}}"
        );
        let module = gpucast_ptx_frontend::load(&text).unwrap();
        let program = Program::new(&module, &text, "k").unwrap();
        let found: Vec<usize> = fusable_products(&program).iter().map(|&at| at as usize).collect();
        assert_eq!(found, expected, "{body}");
    }

    #[test]
    fn products_that_round_and_go_into_sums_alone_can_be_fused() {
        check("mul.rn.f32 %f1, %f2, %f3; add.rn.f32 %f0, %f1, %f4;", &[1]);
        check("mul.f32 %f1, %f2, %f3; sub.rn.f32 %f0, %f4, %f1;", &[1]);
        check("mul.rn.f64 %d1, %d2, %d3; add.rn.f64 %d0, %d1, %d4;", &[1]);
    }

    #[test]
    fn nothing_else_can() {
        // A compiler joins these by itself.
        check("mul.f32 %f1, %f2, %f3; add.f32 %f0, %f1, %f4;", &[]);
        // The sum comes first.
        check("add.rn.f32 %f1, %f2, %f3; mul.rn.f32 %f0, %f1, %f4;", &[]);
        // Both are there, apart from each other.
        check("mul.rn.f32 %f1, %f2, %f3; add.rn.f32 %f0, %f4, %f5; max.f32 %f0, %f0, %f1;", &[]);
        // The product is needed by itself, too.
        check("mul.rn.f32 %f1, %f2, %f3; add.rn.f32 %f0, %f1, %f4; max.f32 %f0, %f0, %f1;", &[]);
    }
}
