//! Matching an instruction to its row of the table, and the manual's type rules.
//!
//! ```text
//! modifiers ──► rows that take them ──► operands ──► scalar, constants, addresses
//!                  │ none: messages         └──► the row ──► since: version and target
//! ```

mod addresses;
mod constants;
mod messages;
mod operands;
mod ranges;
mod scalar;
mod since;
mod textures;

use smallvec::SmallVec;

use super::{KnownForms, Resolver, problem};
use crate::ast::Instruction;
use crate::isa::{FormId, forms_of, match_modifiers};
use crate::module::{FunctionId, Operand};
use crate::source::{Diagnostic, DiagnosticCode as Code, Span};
use messages::no_such_modifiers;
use operands::Context;

/// Reason why an operand does not fit its place.
struct Misfit {
    message: String,
    hint: Option<String>,
}

fn misfit(message: impl Into<String>) -> Misfit {
    Misfit { message: message.into(), hint: None }
}

impl<'a> Resolver<'a> {
    /// The row that `instruction` is an instance of.
    pub(super) fn check(
        &mut self,
        instruction: &Instruction<'a>,
        operands: &[Operand],
        span: Span,
        function: FunctionId,
    ) -> Result<FormId, Diagnostic> {
        let known = self.matching_forms(instruction, span)?;
        let context = Context {
            resolver: self,
            registers: &self.module.functions[function.index()].registers,
            modifiers: &instruction.modifiers,
            types: instruction.modifiers.iter().filter_map(|modifier| modifier.as_type()).collect(),
        };
        // The first row whose operands fit; else the misfit of the row that fits furthest.
        let mut best: Option<(usize, Diagnostic)> = None;
        for &id in &self.known_forms[known].fitting {
            let form = id.form();
            let (fitting, diagnostic) = match context.fit(form, operands) {
                Ok(()) => {
                    textures::check(instruction, operands, span)?;
                    if self.known_forms[known].allowed != Some(id) {
                        self.check_since(form, instruction, span)?;
                        self.known_forms[known].allowed = Some(id);
                    }
                    return Ok(id);
                }
                Err((index, misfit)) => {
                    let at = instruction.operands.get(index).map_or(span, |operand| operand.span);
                    (
                        index,
                        Diagnostic {
                            code: Code::WrongOperand,
                            message: misfit.message,
                            span: at,
                            hint: misfit.hint,
                        },
                    )
                }
            };
            if best.as_ref().is_none_or(|(furthest, _)| fitting > *furthest) {
                best = Some((fitting, diagnostic));
            }
        }
        Err(best.map_or_else(
            || {
                problem(
                    Code::WrongOperand,
                    format!("`{}` has no such form", instruction.opcode),
                    span,
                )
            },
            |(_, diagnostic)| diagnostic,
        ))
    }

    /// The index in `Resolver::known_forms` of the instruction's mnemonic and modifiers.
    fn matching_forms(
        &mut self,
        instruction: &Instruction<'a>,
        span: Span,
    ) -> Result<usize, Diagnostic> {
        let key = (instruction.opcode, instruction.modifiers.clone());
        if let Some(known) = self.forms.get(&key) {
            return Ok(*known);
        }
        let fitting: SmallVec<[FormId; 2]> = forms_of(instruction.opcode)
            .filter(|(_, form)| match_modifiers(form, &instruction.modifiers).is_ok())
            .map(|(id, _)| id)
            .collect();
        if fitting.is_empty() {
            return Err(no_such_modifiers(instruction, span));
        }
        let index = self.known_forms.len();
        self.known_forms.push(KnownForms { fitting, allowed: None });
        self.forms.insert(key, index);
        Ok(index)
    }
}
