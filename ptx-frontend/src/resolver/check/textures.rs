//! Textures that are read as their geometry does not allow.

use super::problem;
use crate::ast::Instruction;
use crate::isa::{Modifier, Opcode, TextureExtras, texture_extras};
use crate::module::Operand;
use crate::source::{Diagnostic, DiagnosticCode as Code, Span};

/// Checks a `tex` or `tld4` whose operands fit a row.
pub(super) fn check(
    instruction: &Instruction<'_>,
    operands: &[Operand],
    span: Span,
) -> Result<(), Diagnostic> {
    if !matches!(instruction.opcode, Opcode::Tex | Opcode::Tld4) {
        return Ok(());
    }
    let extras = texture_extras(&instruction.modifiers);
    let TextureExtras { offset, depth } =
        extras.map_err(|message| problem(Code::WrongModifiers, message.to_owned(), span))?;
    // The result, the place, and a level or two gradients come first.
    let has = |modifier| instruction.modifiers.contains(&modifier);
    let levels = if has(Modifier::Grad) { 2 } else { usize::from(has(Modifier::Level)) };
    for (index, operand) in operands.iter().enumerate().skip(2 + levels) {
        let message = match operand {
            Operand::Vector(_) if !offset => "a cube map has no offset",
            Operand::Vector(_) => continue,
            _ if !depth => "depths are compared at `.f32` coordinates, and not in `.3d`",
            _ => continue,
        };
        let at = instruction.operands.get(index).map_or(span, |operand| operand.span);
        return Err(problem(Code::WrongOperand, message.to_owned(), at));
    }
    Ok(())
}
