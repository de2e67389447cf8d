//! One register or constant against the type that its place asks for (manual, section 9.4).

use super::operands::Context;
use super::{Misfit, misfit};
use crate::isa::{Access, Count, Form, OperandKind, OperandShape, ShapeType, SpecialRegister};
use crate::module::{Immediate, Operand, Register};
use crate::types::{ScalarType, TypeKind};

impl Context<'_, '_> {
    pub(super) fn scalar(
        &self,
        form: &Form,
        shape: &OperandShape,
        operand: &Operand,
    ) -> Result<(), Misfit> {
        let name = shape.name;
        let written = shape.access != Access::Read;
        match operand {
            Operand::Register(id) => self.fit_register(form, shape, self.register(*id)),
            Operand::Element(id, _) => {
                let mut element = self.register(*id).clone();
                element.vector = 1;
                self.fit_register(form, shape, &element)
            }
            _ if written
                && !matches!(operand, Operand::Part { .. } | Operand::Lanes { .. })
                && !(shape.kind == OperandKind::Any && matches!(operand, Operand::Vector(_))) =>
            {
                Err(misfit(format!("`{name}` is written, so it must be a register")))
            }
            Operand::Negated(id) => match self.wanted(shape) {
                Some(ScalarType::Pred) if self.register(*id).ty == ScalarType::Pred => Ok(()),
                _ => Err(misfit("only predicates are negated with `!`")),
            },
            Operand::Part { .. } | Operand::Lanes { .. } | Operand::Negative(_) => {
                if shape.selectable {
                    Ok(())
                } else {
                    Err(misfit(format!("`{name}` of `{}` takes a whole register", form.opcode)))
                }
            }
            Operand::Immediate(immediate) => self.immediate(form, shape, *immediate),
            Operand::Special(SpecialRegister::WarpSz) => {
                self.immediate(form, shape, Immediate::Integer(32))
            }
            Operand::Special(special) => self.special(form, shape, *special),
            Operand::Variable(..) | Operand::Function(_) => self.address_value(shape, operand),
            Operand::Vector(elements) if shape.kind == OperandKind::Any => {
                self.pack(shape, elements)
            }
            Operand::Vector(_) => Err(misfit(format!("`{name}` is one register, not a vector"))),
            Operand::Sink => Err(misfit(format!("`{name}` cannot be `_`"))),
            Operand::Label(_)
            | Operand::Address(_)
            | Operand::Pair(_)
            | Operand::List(_)
            | Operand::Targets(_)
            | Operand::Prototype(_)
            | Operand::Indexed(_) => Err(misfit(format!("`{name}` is a register or a constant"))),
        }
    }

    /// A register fits an instruction type by the rules of the manual's section 9.4.
    pub(super) fn fit_register(
        &self,
        form: &Form,
        shape: &OperandShape,
        register: &Register,
    ) -> Result<(), Misfit> {
        if register.vector > 1 && shape.count == Count::One {
            let message = format!("`{}` is a vector; name one of its elements", register.name);
            return Err(misfit(message));
        }
        let Some(wanted) = self.wanted(shape) else {
            return match shape.ty {
                ShapeType::Pointer if register.ty.kind() == TypeKind::Float => {
                    Err(misfit(format!("`{}` is {}, not an integer", register.name, register.ty)))
                }
                _ => Ok(()),
            };
        };
        if fits(register.ty, wanted, shape.wider) {
            return Ok(());
        }
        let wider = if shape.wider { " or a wider one" } else { "" };
        let same_size = register.ty.bits() == wanted.bits();
        Err(Misfit {
            message: format!(
                "`{}` is {}, but `{}` needs {wanted}{wider} as `{}`",
                register.name, register.ty, form.opcode, shape.name
            ),
            hint: same_size
                .then(|| format!("a .b{} register fits any type of its size", register.ty.bits())),
        })
    }

    /// `{lo, hi}` of `mov`: as many bits as the type, in equal parts.
    pub(super) fn pack(&self, shape: &OperandShape, elements: &[Operand]) -> Result<(), Misfit> {
        let Some(wanted) = self.wanted(shape) else { return Ok(()) };
        if wanted.kind() != TypeKind::Bits || !matches!(elements.len(), 1 | 2 | 4 | 8) {
            return Err(misfit(format!("{wanted} cannot be split into {} parts", elements.len())));
        }
        let part = wanted.bits() / elements.len() as u32;
        for element in elements {
            let bits = match element {
                Operand::Register(id) | Operand::Element(id, _) => {
                    let ty = self.register(*id).ty;
                    if ty == ScalarType::Pred { 1 } else { ty.bits() }
                }
                Operand::Immediate(_) if shape.access == Access::Read => part,
                Operand::Sink if shape.access == Access::Write => part,
                _ => 0,
            };
            if bits != part {
                return Err(misfit(format!("{wanted} is {} parts of {part} bits", elements.len())));
            }
        }
        Ok(())
    }
}

/// Returns true if a register of type `register` can hold an operand of type `wanted`.
pub(super) fn fits(register: ScalarType, wanted: ScalarType, wider: bool) -> bool {
    if register == ScalarType::Pred || wanted == ScalarType::Pred {
        return register == wanted;
    }
    let (have, need) = (register.bits(), wanted.bits());
    // Sub-byte results take a whole byte register, and there are none below 16 bits.
    let need = need.max(8);
    if have < need || (have != need && !wider) {
        return false;
    }
    let (a, b) = (register.kind(), wanted.kind());
    let bits = |kind| kind == TypeKind::Bits;
    let integer = |kind| matches!(kind, TypeKind::Signed | TypeKind::Unsigned);
    if wider && have != need {
        // Wider registers hold integers of any kind, and floats only as bits.
        return bits(a) || (integer(a) && (integer(b) || bits(b)));
    }
    bits(a) || bits(b) || (integer(a) && integer(b)) || register == wanted
}
