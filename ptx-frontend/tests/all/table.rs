//! The instruction table against itself: from every row instructions are written down, one for
//! each modifier that may stand somewhere, and each must be accepted and matched to its row.
//!
//! `GPUCAST_SAMPLES=DIR` writes the texts there, so that they can be given to NVIDIA's
//! assembler as well.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests may fail loudly, like the tests"
)]

use std::collections::BTreeMap;
use std::fmt::Write as _;

use gpucast_ptx_frontend::isa::{Form, Modifier, Opcode, Target, clash, forms, sample};
use gpucast_ptx_frontend::load;

/// Every way to write `form` that differs in one modifier, with every optional operand and
/// without; with the oldest target that has it.
fn samples(form: &Form) -> Vec<(String, Target)> {
    let mut choices: Vec<Vec<Option<Modifier>>> = Vec::new();
    let required = |index: usize| {
        let slot = &form.slots[index];
        if slot.optional { None } else { slot.choices.first().copied() }
    };
    let base: Vec<Option<Modifier>> = (0..form.slots.len()).map(required).collect();
    choices.push(base.clone());
    for (index, slot) in form.slots.iter().enumerate() {
        for &choice in &slot.choices {
            let mut varied = base.clone();
            varied[index] = Some(choice);
            choices.push(varied);
        }
    }
    choices.dedup();
    let mut texts = Vec::new();
    for modifiers in choices {
        let Some(modifiers) = reconciled(form, modifiers) else { continue };
        for full in [false, true] {
            let text = sample::instruction(form, &modifiers, full);
            let target = form.since(&modifiers).target;
            if !texts.iter().any(|(known, _)| *known == text) {
                texts.push((text, target));
            }
        }
    }
    texts
}

/// The modifiers with what they demand beside them: the first optional one that helps is added,
/// or another choice taken.
fn reconciled(form: &Form, modifiers: Vec<Option<Modifier>>) -> Option<Vec<Modifier>> {
    let flat = |chosen: &[Option<Modifier>]| chosen.iter().copied().flatten().collect::<Vec<_>>();
    let sound = |chosen: &[Option<Modifier>]| clash(form.opcode, &flat(chosen)).is_none();
    if sound(&modifiers) {
        return Some(flat(&modifiers));
    }
    for (index, slot) in form.slots.iter().enumerate() {
        for &choice in &slot.choices {
            let mut varied = modifiers.clone();
            varied[index] = Some(choice);
            if sound(&varied) {
                return Some(flat(&varied));
            }
        }
    }
    None
}

#[test]
fn every_row_accepts_what_is_written_from_it() {
    let mut by_target: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut failures = String::new();
    for form in forms() {
        for (sample, target) in samples(form) {
            let suffix = if target.specific { "a" } else { "" };
            let target = format!("sm_{}{suffix}", target.sm.max(90));
            let rounded =
                form.opcode != Opcode::Mad || !sample.contains("f32") || sample.contains(".r");
            // A call without a callee's results is another function's; the form is the same.
            let narrow = sample.contains("L2::evict") && sample.starts_with(['l', 's']);
            // Priorities and widths of vectors depend on each other; `check_vector` knows how.
            let vector = [".v4.b128", ".v2.b128", ".v8.b8", ".v8.b128"]
                .iter()
                .any(|text| sample.contains(text));
            let old = matches!(form.opcode, Opcode::Shfl | Opcode::Vote)
                && !sample.contains("sync")
                || sample.starts_with("wmma") && !sample.contains("aligned");
            // Sizes that do not go together, which `isa::sparse_vectors` knows.
            let odd = sample.starts_with("spdecompress")
                && [".b2.sp::1:8", ".b2.sp::1:16", ".b2.sp::2:8", ".b2.sp::2:16", "sp::4:8"]
                    .into_iter()
                    .chain([".b2.sp::4:16", ".b8.b2.sp::1:2.x1 ", ".b8.b4.sp::1:2.x1 "])
                    .any(|text| sample.contains(text));
            // Geometries that do not go with coordinates or levels, which `isa::textures` knows.
            let mnemonic = sample.split(' ').next().unwrap_or_default();
            let has = |texts: &[&str]| texts.iter().any(|text| mnemonic.contains(text));
            let is_texture = form.opcode == Opcode::Tex;
            let whole = is_texture && has(&[".cube.", ".acube."]) && mnemonic.ends_with(".s32");
            let several = is_texture && has(&[".2dms.", ".a2dms."]);
            let several = several && (mnemonic.ends_with(".f32") || has(&[".level", ".grad"]));
            // Sizes and types of tensor memory, which `isa::combinations` knows.
            let wide = has(&["16x128b.x128", "16x256b.x64", "16x256b.x128"]);
            let signs = mnemonic.starts_with("tcgen05.ld.red") && has(&[".abs", ".NaN"]);
            let unreal = wide || signs && !mnemonic.ends_with(".f32");
            if whole || several || unreal {
                continue;
            }
            // Addresses have 64 bits in the texts here.
            let short = form.opcode == Opcode::Cvta && sample.contains(".u32");
            if short || !rounded || form.opcode == Opcode::Call || narrow || vector || old || odd {
                continue;
            }
            let text = sample::module(&target, std::slice::from_ref(&sample));
            match load(&text) {
                Ok(module) => {
                    let matched =
                        module.functions.iter().flat_map(|function| function.body.as_ref());
                    let found = matched
                        .flat_map(|body| &body.instructions)
                        .any(|instruction| instruction.form.form() == form);
                    if !found {
                        writeln!(failures, "{sample} matches another row than {}", form.text)
                            .unwrap();
                    }
                }
                Err(diagnostics) => {
                    writeln!(failures, "{sample}: {} ({})", diagnostics[0], form.text).unwrap();
                }
            }
            by_target.entry(target.clone()).or_default().push(sample);
        }
    }
    if let Some(folder) = std::env::var_os("GPUCAST_SAMPLES") {
        for (target, samples) in &by_target {
            let path = std::path::Path::new(&folder).join(format!("{target}.ptx"));
            std::fs::write(path, sample::module(target, samples)).unwrap();
        }
    }
    assert!(failures.is_empty(), "{failures}");
}
