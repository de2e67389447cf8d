//! Matching written modifiers against a row.

use super::{Form, Modifier};

/// Reason why the modifiers of an instruction do not fit a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModifierMismatch {
    /// The modifier at this index fits no place that is still free.
    Unexpected(usize),
    /// A required place stayed empty; these could stand there.
    Missing(Vec<Modifier>),
}

/// Checks `written` against the places of `form`.
///
/// Like NVIDIA's assembler, this takes modifiers in any order (the manual's own examples write
/// `atom.global.v8.f16.max.noftz`): each takes the first free place that allows it. Types, layouts
/// and spaces keep their order among each other: `cvt.f16.bf16` is not `cvt.bf16.f16`.
///
/// # Errors
///
/// The first modifier that fits nowhere, or the first required place that stayed empty.
pub fn match_modifiers(form: &Form, written: &[Modifier]) -> Result<(), ModifierMismatch> {
    let mut taken = 0_u64;
    // For each family, behind the place of its last member.
    let mut next = [0; 3];
    for (index, modifier) in written.iter().enumerate() {
        let family = family(*modifier);
        let first = family.map_or(0, |family| next[family]);
        let free = form
            .slots
            .iter()
            .enumerate()
            .skip(first)
            .find(|(at, slot)| taken & (1 << at) == 0 && slot.choices.contains(modifier));
        match free {
            Some((at, _)) => {
                taken |= 1 << at;
                if let Some(family) = family {
                    next[family] = at + 1;
                }
            }
            None => return Err(ModifierMismatch::Unexpected(index)),
        }
    }
    for (at, slot) in form.slots.iter().enumerate() {
        if taken & (1 << at) == 0 && !slot.optional {
            return Err(ModifierMismatch::Missing(slot.choices.clone()));
        }
    }
    Ok(())
}

/// Modifiers whose order among each other has a meaning: types, layouts, spaces.
fn family(modifier: Modifier) -> Option<usize> {
    if modifier.as_type().is_some() {
        Some(0)
    } else if matches!(modifier, Modifier::Row | Modifier::Col) {
        Some(1)
    } else {
        modifier.as_space().map(|_| 2)
    }
}
