//! Messages about an instruction whose modifiers fit no row.

use smallvec::SmallVec;

use crate::ast::Instruction;
use crate::isa::{Form, Modifier, ModifierMismatch, forms_of, match_modifiers};
use crate::source::{Diagnostic, DiagnosticCode as Code, Span};

/// The instruction with its modifiers, for messages.
pub(super) fn spelled(instruction: &Instruction<'_>) -> String {
    let mut text = instruction.opcode.text().to_owned();
    for modifier in &instruction.modifiers {
        text.push('.');
        text.push_str(modifier.text());
    }
    text
}

/// Lists the modifiers that may stand somewhere, for hints; long lists are cut.
pub(super) fn choices(modifiers: &[Modifier]) -> String {
    const SHOWN: usize = 12;
    let shown = modifiers.iter().take(SHOWN).map(|modifier| format!("`.{modifier}`"));
    let mut text = shown.collect::<Vec<_>>().join(", ");
    if modifiers.len() > SHOWN {
        text.push_str(", …");
    }
    text
}

/// No row takes the modifiers: say which one is wrong or missing in the row that comes closest.
pub(super) fn no_such_modifiers(instruction: &Instruction<'_>, span: Span) -> Diagnostic {
    let opcode = instruction.opcode;
    let written = &instruction.modifiers;
    let mut missing: Vec<Modifier> = Vec::new();
    let mut furthest = 0;
    let mut allowed: Vec<Modifier> = Vec::new();
    for (_, form) in forms_of(opcode) {
        match match_modifiers(form, written) {
            Ok(()) => {}
            Err(ModifierMismatch::Missing(choices)) => missing.extend(choices),
            Err(ModifierMismatch::Unexpected(index)) => {
                if index > furthest {
                    allowed.clear();
                    furthest = index;
                }
                if index == furthest {
                    allowed.extend(free_choices(form, &written[..index]));
                }
            }
        }
    }
    if !missing.is_empty() {
        missing.sort_unstable();
        missing.dedup();
        return Diagnostic {
            code: Code::WrongModifiers,
            message: format!("`{}` lacks a modifier", spelled(instruction)),
            span,
            hint: Some(format!("one of {} belongs there", choices(&missing))),
        };
    }
    allowed.sort_unstable();
    allowed.dedup();
    let before = written[..furthest]
        .iter()
        .fold(opcode.text().to_owned(), |text, modifier| format!("{text}.{modifier}"));
    let hint = if allowed.is_empty() {
        format!("no modifier can follow `{before}`")
    } else {
        format!("after `{before}` can stand {}", choices(&allowed))
    };
    let wrong = written.get(furthest).map_or("", |modifier| modifier.text());
    Diagnostic {
        code: Code::WrongModifiers,
        message: format!("`.{wrong}` does not belong in `{}`", spelled(instruction)),
        span,
        hint: Some(hint),
    }
}

/// Returns the modifiers that could still stand in `form` after the modifiers `written`.
fn free_choices<'f>(
    form: &'f Form,
    written: &'f [Modifier],
) -> impl Iterator<Item = Modifier> + 'f {
    form.slots.iter().flat_map(|slot| slot.choices.iter().copied()).filter(|&choice| {
        let mut longer: SmallVec<[Modifier; 8]> = written.into();
        longer.push(choice);
        !matches!(match_modifiers(form, &longer), Err(ModifierMismatch::Unexpected(_)))
    })
}
