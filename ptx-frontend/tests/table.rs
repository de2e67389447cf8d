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

use gpucast_ptx_frontend::isa::{
    Access, Count, Form, Modifier, Opcode, OperandKind, OperandShape, PairResult, ShapeType, forms,
};
use gpucast_ptx_frontend::{ScalarType, load};

/// Every way to write `form` that differs in one modifier, with every optional operand and
/// without.
fn samples(form: &Form) -> Vec<String> {
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
        let modifiers: Vec<Modifier> = modifiers.into_iter().flatten().collect();
        for full in [false, true] {
            let text = instruction(form, &modifiers, full);
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
    }
    texts
}

fn instruction(form: &Form, modifiers: &[Modifier], full: bool) -> String {
    let mut text = form.opcode.to_string();
    let unified = modifiers.contains(&Modifier::Unified);
    for modifier in modifiers.iter().filter(|&&modifier| modifier != Modifier::Unified) {
        write!(text, ".{modifier}").unwrap();
    }
    let mut first = true;
    for shape in &form.operands {
        let wanted = match shape.name {
            "cache" => modifiers.contains(&Modifier::L2CacheHint),
            "ctamask" => modifiers.contains(&Modifier::MulticastCluster),
            _ => full && shape.name != "hint",
        };
        if shape.optional && !wanted {
            continue;
        }
        write!(text, "{}{}", if first { " " } else { ", " }, operand(form, shape, modifiers))
            .unwrap();
        if unified && shape.kind == OperandKind::Address {
            text.push_str(".unified");
        }
        first = false;
    }
    text + ";"
}

fn register(ty: ScalarType) -> &'static str {
    match (ty, ty.bits()) {
        (ScalarType::Pred, _) => "%p1",
        (ScalarType::F32, _) => "%f1",
        (ScalarType::F64, _) => "%fd1",
        (_, ..=8) => "%b1",
        (_, 16) => "%h1",
        (_, 32) => "%r1",
        (_, 64) => "%rd1",
        _ => "%q1",
    }
}

fn coordinates(modifiers: &[Modifier]) -> &'static str {
    let is = |modifier| modifiers.contains(&modifier);
    let float = modifiers.iter().filter_map(|one| one.as_type()).nth(1) == Some(ScalarType::F32);
    match () {
        () if is(Modifier::TileGather4) || is(Modifier::TileScatter4) => {
            "{%r1, %r1, %r1, %r1, %r1}"
        }
        () if is(Modifier::D1) && float => "{%f1}",
        () if is(Modifier::D2) && float => "{%f1, %f1}",
        () if (is(Modifier::D3) || is(Modifier::Cube)) && float => "{%f1, %f1, %f1, %f1}",
        () if is(Modifier::A1d) && float => "{%r1, %f1}",
        () if is(Modifier::D1) => "{%r1}",
        () if is(Modifier::D2) || is(Modifier::A1d) => "{%r1, %r1}",
        () if is(Modifier::MbarrierCompleteTxBytes) && is(Modifier::D3) => "{%r1, %r1, %r1}",
        () if is(Modifier::D5) => "{%r1, %r1, %r1, %r1, %r1}",
        () => "{%r1, %r1, %r1, %r1}",
    }
}

fn operand(form: &Form, shape: &OperandShape, modifiers: &[Modifier]) -> String {
    let is = |modifier| modifiers.contains(&modifier);
    let types: Vec<ScalarType> = modifiers.iter().filter_map(|one| one.as_type()).collect();
    let ty = match shape.ty {
        ShapeType::Modifier(index) => types[usize::from(index)],
        ShapeType::Wide => match types[0].bits() {
            16 => ScalarType::B32,
            _ => ScalarType::B64,
        },
        ShapeType::Fixed(ty) => ty,
        ShapeType::Pointer | ShapeType::None => ScalarType::B64,
    };
    let ty = if shape.wider && ty.bits() == 8 { ScalarType::B16 } else { ty };
    let one = register(ty);
    match shape.kind {
        OperandKind::Address => return "[%rd1]".to_owned(),
        OperandKind::Indexed => return format!("[%rd1, {}]", coordinates(modifiers)),
        OperandKind::Label => return "L".to_owned(),
        OperandKind::BranchTargets => return "T".to_owned(),
        OperandKind::Callee => return "f".to_owned(),
        OperandKind::List if shape.access == Access::Write => return "(%r1)".to_owned(),
        OperandKind::List => return "(%r2)".to_owned(),
        OperandKind::CallTargets => return "C".to_owned(),
        OperandKind::Immediate => {
            let value = match (shape.name, form.opcode) {
                ("size", Opcode::CpAsync) => 16,
                ("size", _) => 128,
                ("align", _) => 8,
                ("n", Opcode::Setmaxnreg) => 64,
                ("ia" | "ib", _) => 1,
                ("split", _) => 2,
                _ => 0,
            };
            return value.to_string();
        }
        OperandKind::Value | OperandKind::Any | OperandKind::AddressValue => {}
    }
    let vector = |count: usize| format!("{{{}}}", vec![one; count].join(", "));
    let count = match shape.count {
        Count::One => None,
        Count::Vector => [(Modifier::V2, 2), (Modifier::V4, 4), (Modifier::V8, 8)]
            .iter()
            .find(|(modifier, _)| is(*modifier))
            .map(|(_, count)| *count),
        Count::Matrices => {
            let number = match () {
                () if is(Modifier::X4) => 4,
                () if is(Modifier::X2) => 2,
                () => 1,
            };
            Some(number * if is(Modifier::M16n16) { 2 } else { 1 })
        }
        Count::Exactly(count) => Some(usize::from(count)),
        Count::Any => Some(open_count(form, shape, modifiers)),
    };
    let mut text = count.map_or_else(|| one.to_owned(), vector);
    if shape.pair == PairResult::Required {
        text.push_str("|%p2");
    }
    text
}

/// How many registers the operands have that the table leaves open.
fn open_count(form: &Form, shape: &OperandShape, modifiers: &[Modifier]) -> usize {
    let texts: Vec<&str> = modifiers.iter().map(|modifier| modifier.text()).collect();
    let warpgroup = texts.iter().find_map(|text| {
        let (n, _) = text.strip_prefix("m64n")?.split_once('k')?;
        n.parse::<usize>().ok()
    });
    if let Some(n) = warpgroup {
        let half = modifiers.iter().find_map(|one| one.as_type()) == Some(ScalarType::F16);
        return if half { n / 4 } else { n / 2 };
    }
    let repeat = texts.iter().find_map(|text| text.strip_prefix('x')?.parse::<usize>().ok());
    if let Some(repeat) = repeat {
        return match () {
            () if texts.contains(&"16x128b") => repeat * 2,
            () if texts.contains(&"16x256b") => repeat * 4,
            () => repeat,
        };
    }
    match (shape.name, form.opcode) {
        ("lanes", _) if texts.contains(&"cta_group::2") => 8,
        ("lanes", _) => 4,
        _ => match () {
            () if texts.contains(&"1d") || texts.contains(&"a1d") => 1,
            () if texts.contains(&"3d") => 4,
            () => 2,
        },
    }
}

/// A kernel with one instruction a line, from line 20 on.
fn module(target: &str, instructions: &[String]) -> String {
    let mut text = format!(
        ".version 9.2\n.target {target}\n.address_size 64\n\
         .func (.reg .b32 r) f(.reg .b32 a) {{ ret; }}\n\
         .func g {{ ret; }}\n\
         .entry k() {{\n\
         .reg .pred %p<9>;\n.reg .b8 %b<9>;\n.reg .b16 %h<9>;\n.reg .b32 %r<9>;\n\
         .reg .b64 %rd<9>;\n.reg .f32 %f<9>;\n.reg .f64 %fd<9>;\n.reg .b128 %q<9>;\n\
         T: .branchtargets L;\nC: .callprototype (.reg .b32 _) _ (.reg .b32 _);\n\n\n\n"
    );
    for instruction in instructions {
        writeln!(text, "{instruction}").unwrap();
    }
    text + "L: ret;\n}\n"
}

#[test]
fn every_row_accepts_what_is_written_from_it() {
    let mut by_target: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut failures = String::new();
    for form in forms() {
        // Old enough for most rows, new enough for every modifier that may stand in them.
        let sm = form.min_target.sm.max(90);
        let suffix = if form.min_target.specific { "a" } else { "" };
        let target = format!("sm_{sm}{suffix}");
        for sample in samples(form) {
            let rounded =
                form.opcode != Opcode::Mad || !sample.contains("f32") || sample.contains(".r");
            // A call without a callee's results is another function's; the form is the same.
            let narrow = sample.contains("L2::evict") && sample.starts_with(['l', 's']);
            // Priorities and widths of vectors depend on each other; `check_vector` knows how.
            let vector = [".v4.b128", ".v2.b128", ".v8.b8", ".v8.b128"]
                .iter()
                .any(|text| sample.contains(text));
            let old =
                matches!(form.opcode, Opcode::Shfl | Opcode::Vote) && !sample.contains("sync");
            if !rounded || form.opcode == Opcode::Call || narrow || vector || old {
                continue;
            }
            let text = module(&target, std::slice::from_ref(&sample));
            match load(&text) {
                Ok(module) => {
                    let matched = module.functions.iter().flat_map(|one| one.body.as_ref());
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
            std::fs::write(path, module(target, samples)).unwrap();
        }
    }
    assert!(failures.is_empty(), "{failures}");
}
