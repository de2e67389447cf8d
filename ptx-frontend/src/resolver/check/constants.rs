//! Checks operands that are read without being a register: literals, special registers, addresses
//! as values.

use super::operands::Context;
use super::ranges::in_range;
use super::{Misfit, misfit};
use crate::isa::{Form, Opcode, OperandKind, OperandShape, SpecialRegister};
use crate::module::{Immediate, Operand};
use crate::types::TypeKind;

/// Video instructions on two or four values at once.
fn is_simd_video(opcode: Opcode) -> bool {
    let text = opcode.text();
    text.starts_with('v') && text.ends_with(['2', '4'])
}

impl Context<'_, '_> {
    pub(super) fn immediate(
        &self,
        form: &Form,
        shape: &OperandShape,
        immediate: Immediate,
    ) -> Result<(), Misfit> {
        let wanted = self.wanted(shape);
        let (kind, bits) = match wanted {
            Some(ty) => (ty.kind(), ty.bits()),
            None => return Ok(()),
        };
        let fits = match (immediate, kind) {
            // Several values in one register have no spelling.
            (_, TypeKind::Packed | TypeKind::Opaque) => false,
            _ if is_simd_video(form.opcode) => false,
            (Immediate::Integer(_), TypeKind::Float) => false,
            (Immediate::Integer(_), _) => true,
            (_, TypeKind::Float) => bits >= 32,
            (Immediate::F32(_), TypeKind::Bits) => bits == 32,
            (Immediate::F64(_), TypeKind::Bits) => bits == 64,
            (_, TypeKind::Unsigned | TypeKind::Signed | TypeKind::Predicate) => false,
        };
        if fits {
            return match immediate {
                Immediate::Integer(value) => in_range(form.opcode, self.modifiers, shape, value),
                Immediate::F32(_) | Immediate::F64(_) => Ok(()),
            };
        }
        let what = match immediate {
            Immediate::Integer(_) => "an integer literal",
            Immediate::F32(_) | Immediate::F64(_) => "a floating-point literal",
        };
        let wanted = wanted.map(|ty| ty.to_string()).unwrap_or_default();
        Err(Misfit {
            message: format!("{what} does not fit `{}`, which is {wanted}", shape.name),
            hint: match (immediate, kind, bits) {
                (Immediate::Integer(_), TypeKind::Float, 32 | 64) => {
                    Some("write it as a floating-point literal: `1.0`, `0f3F800000`".to_owned())
                }
                _ => None,
            },
        })
    }

    /// Special registers are read by `mov` and, in old code, by `cvt`.
    pub(super) fn special(
        &self,
        form: &Form,
        shape: &OperandShape,
        special: SpecialRegister,
    ) -> Result<(), Misfit> {
        if !matches!(form.opcode, Opcode::Mov | Opcode::Cvt) {
            return Err(Misfit {
                message: format!("`{}` cannot read the special register `{special}`", form.opcode),
                hint: Some("copy it with `mov` first".to_owned()),
            });
        }
        let (module, since) = (&self.resolver.module, special.since());
        let known = module.target_sm != 0 && module.isa_version != (0, 0);
        if known && (module.isa_version < since.isa || module.target_sm < since.target.sm) {
            let ((major, minor), target) = (since.isa, since.target);
            return Err(misfit(format!(
                "`{special}` needs PTX ISA version {major}.{minor} and {target}"
            )));
        }
        let Some(wanted) = self.wanted(shape) else { return Ok(()) };
        if special == SpecialRegister::IsExplicitCluster {
            return match wanted.kind() {
                TypeKind::Predicate => Ok(()),
                _ => Err(misfit(format!("`{special}` is a predicate and does not fit {wanted}"))),
            };
        }
        let whole = matches!(wanted.kind(), TypeKind::Bits | TypeKind::Unsigned | TypeKind::Signed);
        // The low half of a 32-bit special register may be read as .u16 (ISA 1.x code does);
        // %gridid was 32 bits wide in ISA 1.x and 2.x.
        let half = special.bits() == 32 && wanted.bits() == 16;
        let narrow = special == SpecialRegister::Gridid && wanted.bits() == 32;
        let predicate = wanted.kind() == TypeKind::Predicate && special.bits() == 1;
        if predicate || whole && (wanted.bits() == special.bits() || half || narrow) {
            return Ok(());
        }
        Err(misfit(format!("`{special}` has {} bits and does not fit {wanted}", special.bits())))
    }

    /// The address of a variable or function as a value.
    pub(super) fn address_value(
        &self,
        shape: &OperandShape,
        operand: &Operand,
    ) -> Result<(), Misfit> {
        let allowed = match shape.kind {
            OperandKind::Any => true,
            OperandKind::AddressValue => matches!(operand, Operand::Variable(..)),
            _ => false,
        };
        if !allowed {
            return Err(Misfit {
                message: format!("`{}` is a register or a constant, not an address", shape.name),
                hint: Some("take the address with `mov` first".to_owned()),
            });
        }
        match self.wanted(shape) {
            Some(ty) if ty.kind() == TypeKind::Float || ty.bits() < 32 => {
                Err(misfit(format!("an address does not fit {ty}")))
            }
            _ => Ok(()),
        }
    }
}
