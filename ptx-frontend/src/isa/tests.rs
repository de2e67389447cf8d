use std::collections::BTreeSet;

use super::table::TABLE;
use super::*;

#[test]
fn every_row_can_be_read() {
    assert_eq!(TABLE.errors, Vec::<String>::new());
}

#[test]
fn every_mnemonic_has_a_row() {
    let missing: Vec<_> =
        Opcode::ALL.iter().filter(|&&opcode| forms_of(opcode).len() == 0).collect();
    assert!(missing.is_empty(), "no row for {missing:?}");
}

#[test]
fn every_modifier_is_used_or_named_elsewhere() {
    let used: BTreeSet<Modifier> = forms()
        .iter()
        .flat_map(|form| form.slots.iter().flat_map(|slot| slot.choices.iter().copied()))
        .collect();
    let unused: Vec<_> = Modifier::ALL.iter().filter(|modifier| !used.contains(modifier)).collect();
    insta::assert_debug_snapshot!(unused);
}

#[test]
fn names_are_unique_and_found_again() {
    for &opcode in Opcode::ALL {
        assert_eq!(Opcode::from_prefix(opcode.text()), Some((opcode, opcode.text().len())));
    }
    for &modifier in Modifier::ALL {
        assert_eq!(Modifier::from_text(modifier.text()), Some(modifier));
    }
    for register in SpecialRegister::all() {
        assert_eq!(SpecialRegister::from_text(&register.to_string()), Some(register));
    }
}

#[test]
fn the_longest_mnemonic_wins() {
    let found = |text| Opcode::from_prefix(text).map(|(opcode, length)| (opcode, &text[length..]));
    assert_eq!(found("bar.warp.sync"), Some((Opcode::BarWarp, ".sync")));
    assert_eq!(found("bar.sync"), Some((Opcode::Bar, ".sync")));
    assert_eq!(found("cp.async.bulk.tensor.2d"), Some((Opcode::CpAsyncBulkTensor, ".2d")));
    assert_eq!(found("addx.s32"), None);
}

/// Two rows of one mnemonic are ambiguous if one instruction could match both, that is if some
/// choice of modifiers fits both and their operands could be the same.
#[test]
fn no_two_rows_are_ambiguous() {
    let mut ambiguous = Vec::new();
    for &opcode in Opcode::ALL {
        let rows: Vec<_> = forms_of(opcode).map(|(_, form)| form).collect();
        for (at, first) in rows.iter().enumerate() {
            for second in &rows[at + 1..] {
                if operands_overlap(first, second) && modifiers_overlap(first, second) {
                    ambiguous.push(format!("{}\n{}", first.text, second.text));
                }
            }
        }
    }
    assert!(ambiguous.is_empty(), "{}", ambiguous.join("\n\n"));
}

/// Whether some multiset of modifiers fills both rows: every way to choose the required ones
/// of `first` must be tried against `second`, and the rest of `second` must be optional.
fn modifiers_overlap(first: &Form, second: &Form) -> bool {
    fn search(slots: &[&Slot], written: &mut Vec<Modifier>, first: &Form, second: &Form) -> bool {
        let Some((slot, rest)) = slots.split_first() else {
            // Add what `second` still requires where `first` can optionally take it.
            return complete(second, written, first);
        };
        let choices: Vec<Modifier> = slot
            .choices
            .iter()
            .copied()
            .filter(|choice| second.slots.iter().any(|slot| slot.choices.contains(choice)))
            .collect();
        choices.into_iter().any(|choice| {
            written.push(choice);
            let found = search(rest, written, first, second);
            written.pop();
            found
        })
    }
    fn complete(second: &Form, written: &[Modifier], first: &Form) -> bool {
        let mut all = written.to_vec();
        for _ in 0..second.slots.len() {
            match match_modifiers(second, &all) {
                Ok(()) => return match_modifiers(first, &all).is_ok(),
                Err(ModifierMismatch::Missing(choices)) => {
                    let usable = choices.iter().find(|&&choice| {
                        let mut longer = all.clone();
                        longer.push(choice);
                        match_modifiers(first, &longer).is_ok()
                    });
                    match usable {
                        Some(&choice) => all.push(choice),
                        None => return false,
                    }
                }
                Err(ModifierMismatch::Unexpected(_)) => return false,
            }
        }
        false
    }
    let required: Vec<&Slot> = first.slots.iter().filter(|slot| !slot.optional).collect();
    search(&required, &mut Vec::new(), first, second)
}

fn operands_overlap(first: &Form, second: &Form) -> bool {
    let range = |form: &Form| {
        let required = form.operands.iter().filter(|operand| !operand.optional).count();
        required..=form.operands.len()
    };
    let (a, b) = (range(first), range(second));
    if a.start() > b.end() || b.start() > a.end() {
        return false;
    }
    // Forms that differ in what stands at some place they both require are told apart.
    let both = first.operands.iter().zip(&second.operands);
    both.take_while(|(x, y)| !x.optional && !y.optional).all(|(x, y)| {
        x.kind == y.kind
            && (x.count == Count::One) == (y.count == Count::One)
            && (x.ty == y.ty
                || x.ty != ShapeType::Fixed(crate::ScalarType::Pred)
                    && y.ty != ShapeType::Fixed(crate::ScalarType::Pred))
    })
}
