//! Operands that stand for an instruction of their own.
//!
//! NVIDIA's assembler accepts a register plus a constant as a value (`add.u32 d, %r1+4, b`) and
//! array elements (`ld.global.u32 d, array[%r1]`). The assembler computes both with instructions
//! in front; so does the resolver, into registers of its own.

use smallvec::{SmallVec, smallvec};

use super::{Resolver, constant, problem};
use crate::ast::{self, Expression, OperandKind};
use crate::isa::{FormId, Modifier, Opcode, forms_of, match_modifiers};
use crate::module::{
    Address, AddressBase, FunctionId, Immediate, Instruction, Operand, Register, RegisterId,
    VariableId,
};
use crate::source::{Diagnostic, DiagnosticCode as Code, Span};
use crate::types::{ScalarType, StateSpace, TypeKind};

/// An instruction that computes an operand of the next one.
pub(super) struct Prelude {
    pub(super) opcode: Opcode,
    pub(super) form: FormId,
    pub(super) modifiers: SmallVec<[Modifier; 6]>,
    pub(super) operands: SmallVec<[Operand; 4]>,
}

impl Prelude {
    /// The instruction, guarded and placed like the one that it computes an operand of.
    pub(super) fn before(self, next: &Instruction) -> Instruction {
        Instruction {
            opcode: self.opcode,
            form: self.form,
            modifiers: self.modifiers,
            guard: next.guard,
            operands: self.operands,
            span: next.span,
            location: next.location,
        }
    }
}

impl<'a> Resolver<'a> {
    /// `register + addend` as a value: a new register with the sum.
    pub(super) fn sum(
        &mut self,
        name: &str,
        register: RegisterId,
        addend: i64,
        span: Span,
        function: FunctionId,
    ) -> Result<Operand, Diagnostic> {
        let declared = self.register_of(register, function);
        let Some(ty) = unsigned(&declared) else {
            let message = format!("`{name}` is {}; only integers have offsets", declared.ty);
            return Err(problem(Code::WrongOperand, message, span));
        };
        let addend = Operand::Immediate(Immediate::Integer(i128::from(addend)));
        let text = format!("{name} + constant");
        self.compute(Opcode::Add, &[ty], &text, function, [Operand::Register(register), addend])
            .ok_or_else(|| {
                problem(Code::WrongOperand, format!("`{name}` cannot have an offset here"), span)
            })
    }

    /// `array[index]`: the address of an element, as a variable plus an offset if the index is
    /// a constant, else in a new register.
    pub(super) fn element(
        &mut self,
        name: &'a str,
        index: &Expression<'a>,
        span: Span,
        function: FunctionId,
    ) -> Result<Operand, Diagnostic> {
        let array = match self.name(name, span, function)? {
            Operand::Variable(variable, 0) => variable,
            _ => {
                return Err(problem(Code::WrongOperand, format!("`{name}` is not an array"), span));
            }
        };
        let variable = &self.module.variables[array.index()];
        if variable.dimensions.is_empty() {
            return Err(problem(Code::WrongOperand, format!("`{name}` is not an array"), span));
        }
        // The assembler counts scalars, also in vectors and in arrays of several dimensions.
        let bytes = i64::from(variable.ty.bytes());
        if let Ok(value) = constant::evaluate(index, span) {
            let Some(value) = value.as_u64() else {
                return Err(problem(Code::WrongOperand, "an index is an integer", span));
            };
            return Ok(Operand::Variable(array, (value as i64).wrapping_mul(bytes)));
        }
        let Operand::Register(index) = self.value(index, span, function)? else {
            return Err(problem(Code::WrongOperand, "an index is a register or a constant", span));
        };
        let misfit = problem(
            Code::WrongOperand,
            format!("`{name}` cannot be indexed by this register"),
            span,
        );
        self.element_address(array, index, bytes, function).ok_or(misfit)
    }

    /// A new register with the address of an element; `None` if the registers do not fit.
    fn element_address(
        &mut self,
        array: VariableId,
        index: RegisterId,
        bytes: i64,
        function: FunctionId,
    ) -> Option<Operand> {
        let variable = &self.module.variables[array.index()];
        if variable.space == StateSpace::Param {
            return None;
        }
        let name = variable.name.clone();
        let address = match self.module.address_bits {
            32 => Modifier::U32,
            _ => Modifier::U64,
        };
        let index_type = unsigned(&self.register_of(index, function))?;
        let base = [Operand::Variable(array, 0)];
        let start = self.compute(Opcode::Mov, &[address], &name, function, base)?;
        let modifiers = match index_type {
            same if same == address => [Modifier::Lo, address],
            half if 2 * half.as_type()?.bits() == address.as_type()?.bits() => {
                [Modifier::Wide, half]
            }
            _ => return None,
        };
        let size = Operand::Immediate(Immediate::Integer(i128::from(bytes)));
        let operands = [Operand::Register(index), size, start];
        self.compute(Opcode::Mad, &modifiers, &format!("{name}[]"), function, operands)
    }

    /// Puts an instruction into the prelude; a new register with its result.
    fn compute<const N: usize>(
        &mut self,
        opcode: Opcode,
        modifiers: &[Modifier],
        name: &str,
        function: FunctionId,
        operands: [Operand; N],
    ) -> Option<Operand> {
        let fits = |form: &crate::isa::Form| match_modifiers(form, modifiers).is_ok();
        let (form, _) = forms_of(opcode).find(|(_, form)| fits(form))?;
        let ty = modifiers.last()?.as_type()?;
        let ty = match (modifiers.contains(&Modifier::Wide), ty) {
            (true, ScalarType::U16) => ScalarType::U32,
            (true, _) => ScalarType::U64,
            (false, ty) => ty,
        };
        let result = Operand::Register(self.new_register(function, name, ty, 1));
        let mut all: SmallVec<[Operand; 4]> = smallvec![result.clone()];
        all.extend(operands);
        let modifiers = SmallVec::from_slice(modifiers);
        self.prelude.push(Prelude { opcode, form, modifiers, operands: all });
        Some(result)
    }

    fn register_of(&self, register: RegisterId, function: FunctionId) -> Register {
        self.module.functions[function.index()].registers[register.index()].clone()
    }

    /// Operands that mean something else in this instruction than in others: vector registers of
    /// a scalar `mov`, which are all of their elements, and array elements that are accessed.
    pub(super) fn reinterpret(
        &self,
        instruction: &ast::Instruction<'a>,
        operands: &mut [Operand],
        function: FunctionId,
    ) {
        let registers = &self.module.functions[function.index()].registers;
        let scalar_move = instruction.opcode == Opcode::Mov
            && !instruction
                .modifiers
                .iter()
                .any(|modifier| matches!(modifier, Modifier::V2 | Modifier::V4));
        let accesses = matches!(instruction.opcode, Opcode::Ld | Opcode::Ldu | Opcode::St);
        for (operand, written) in operands.iter_mut().zip(&instruction.operands) {
            let indexed = matches!(written.kind, OperandKind::Value(Expression::Index(..)));
            match *operand {
                Operand::Register(id) if scalar_move && registers[id.index()].vector > 1 => {
                    let count = registers[id.index()].vector;
                    let elements = (0..count).map(|element| Operand::Element(id, element));
                    *operand = Operand::Vector(elements.collect());
                }
                Operand::Variable(variable, offset) if accesses && indexed => {
                    *operand = address(AddressBase::Variable(variable), offset);
                }
                Operand::Register(id) if accesses && indexed => {
                    *operand = address(AddressBase::Register(id), 0);
                }
                _ => {}
            }
        }
    }
}

fn address(base: AddressBase, offset: i64) -> Operand {
    Operand::Address(Address { base, offset })
}

/// The unsigned type of an integer or untyped register; `None` for all other registers.
fn unsigned(register: &Register) -> Option<Modifier> {
    let whole =
        matches!(register.ty.kind(), TypeKind::Bits | TypeKind::Signed | TypeKind::Unsigned);
    match (whole && register.vector == 1, register.ty.bits()) {
        (true, 16) => Some(Modifier::U16),
        (true, 32) => Some(Modifier::U32),
        (true, 64) => Some(Modifier::U64),
        _ => None,
    }
}
