//! Instructions written down from rows of the table, for tests and for the coverage report.

use std::fmt::Write as _;

use super::{
    Access, Count, Form, Modifier, Opcode, OperandKind, OperandShape, PairResult, ShapeType,
    sparse_vectors, texture_extras,
};
use crate::types::ScalarType;

/// An instruction of `form` with these modifiers, one of each slot that is not left out, with all
/// of its optional operands that go with them (`full`) or without. Its operands are the names that
/// [`module`] declares.
#[must_use]
pub fn instruction(form: &Form, modifiers: &[Modifier], full: bool) -> String {
    let mut text = form.opcode.to_string();
    let unified = modifiers.contains(&Modifier::Unified);
    for modifier in modifiers.iter().filter(|&&modifier| modifier != Modifier::Unified) {
        let _ = write!(text, ".{modifier}");
    }
    let mut first = true;
    let extras = matches!(form.opcode, Opcode::Tex | Opcode::Tld4);
    for shape in &form.operands {
        let wanted = match shape.name {
            "cache" => modifiers.contains(&Modifier::L2CacheHint),
            "offsets" => {
                full && modifiers.iter().any(|modifier| modifier.text().starts_with("im2col"))
            }
            "ctamask" => {
                modifiers.contains(&Modifier::MulticastCluster)
                    || modifiers.contains(&Modifier::MulticastCluster16b)
            }
            "e" if extras => full && texture_extras(modifiers).is_ok_and(|extras| extras.offset),
            "f" if extras => full && texture_extras(modifiers).is_ok_and(|extras| extras.depth),
            _ => full && shape.name != "hint",
        };
        if shape.optional && !wanted {
            continue;
        }
        text.push_str(if first { " " } else { ", " });
        text.push_str(&operand(form, shape, modifiers, full));
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

fn coordinates(form: &Form, modifiers: &[Modifier]) -> &'static str {
    let is = |modifier| modifiers.contains(&modifier);
    let float =
        modifiers.iter().filter_map(|modifier| modifier.as_type()).nth(1) == Some(ScalarType::F32);
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
        () if is(Modifier::D3) && form.opcode.text().ends_with("tensor") => "{%r1, %r1, %r1}",
        () if is(Modifier::D5) => "{%r1, %r1, %r1, %r1, %r1}",
        () => "{%r1, %r1, %r1, %r1}",
    }
}

/// Returns the operands that replace parts of a tensor map: an endpoint, the base address, sizes
/// and strides.
fn overrides(form: &Form, modifiers: &[Modifier]) -> String {
    let is = |modifier| modifiers.contains(&modifier);
    let mut text = String::new();
    if !is(Modifier::OverrideGlobalAddress) {
        return text;
    }
    if form.opcode.text().starts_with("fabric") {
        text.push_str("%r1, ");
    }
    text.push_str("%rd2, ");
    if is(Modifier::CountedBytes) {
        text.push_str("%rd3, ");
    }
    let dimensions = [Modifier::D1, Modifier::D2, Modifier::D3, Modifier::D4, Modifier::D5];
    let rank = 1 + dimensions.iter().position(|&dimension| is(dimension)).unwrap_or_default();
    let several = |name: &str, count: usize| format!("{{{}}}, ", vec![name; count].join(", "));
    if is(Modifier::OverrideGlobalDim) || is(Modifier::OverrideGlobalDimStride) {
        text.push_str(&several("%h1", rank));
    }
    if is(Modifier::OverrideGlobalDimStride) {
        text.push_str(&several("%r1", rank - 1));
        text.push_str("%h1, ");
    }
    text
}

fn operand(form: &Form, shape: &OperandShape, modifiers: &[Modifier], full: bool) -> String {
    let is = |modifier| modifiers.contains(&modifier);
    let types: Vec<ScalarType> =
        modifiers.iter().filter_map(|modifier| modifier.as_type()).collect();
    let ty = match shape.ty {
        ShapeType::Modifier(index) => {
            types.get(usize::from(index)).copied().unwrap_or(ScalarType::B32)
        }
        ShapeType::Wide => match types.first().map_or(0, |ty| ty.bits()) {
            16 => ScalarType::B32,
            _ => ScalarType::B64,
        },
        ShapeType::Fixed(ty) => ty,
        ShapeType::Pointer | ShapeType::None => ScalarType::B64,
    };
    let ty = if shape.wider && ty.bits() == 8 { ScalarType::B16 } else { ty };
    let one = register(ty);
    match shape.kind {
        OperandKind::Address if shape.name == "taddr" => return "[%r1]".to_owned(),
        OperandKind::Address => return "[%rd1]".to_owned(),
        OperandKind::Indexed => {
            return format!(
                "[%rd1, {}{}]",
                overrides(form, modifiers),
                coordinates(form, modifiers)
            );
        }
        OperandKind::Handle { counted: false } => return "[%r1, %rd1]".to_owned(),
        OperandKind::Handle { counted: true } => return "[%r1, %rd1, %rd2]".to_owned(),
        OperandKind::Label => return "L".to_owned(),
        OperandKind::BranchTargets => return "T".to_owned(),
        // `f` takes and returns a value, which only the full form of a call passes.
        OperandKind::Callee => return if full { "f" } else { "g" }.to_owned(),
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
                ("membermask", _) => return "0xFFFFFFFF".to_owned(),
                _ => 0,
            };
            return value.to_string();
        }
        OperandKind::Value | OperandKind::Any | OperandKind::AddressValue => {}
    }
    let arrives = matches!(form.opcode, Opcode::MbarrierArrive | Opcode::MbarrierArriveDrop);
    let elsewhere = is(Modifier::SharedCluster) || is(Modifier::MulticastCluster32b);
    if arrives && shape.access == Access::Write && elsewhere {
        return "_".to_owned();
    }
    // The assembler minds if long results overlap or one register gets two.
    let apart = shape.count == Count::Any && one == "%r1";
    let first = if shape.name == "q" { 150 } else { 10 };
    let vector = |count: usize| {
        let names = (0..count).map(|index| match apart {
            true => format!("%r{}", first + index),
            false => one.to_owned(),
        });
        format!("{{{}}}", names.collect::<Vec<_>>().join(", "))
    };
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

/// Returns the number of registers of operands whose number the table leaves open.
fn open_count(form: &Form, shape: &OperandShape, modifiers: &[Modifier]) -> usize {
    let texts: Vec<&str> = modifiers.iter().map(|modifier| modifier.text()).collect();
    let warpgroup = texts.iter().find_map(|text| {
        let (n, _) = text.strip_prefix("m64n")?.split_once('k')?;
        n.parse::<usize>().ok()
    });
    if let Some(n) = warpgroup {
        let half =
            modifiers.iter().find_map(|modifier| modifier.as_type()) == Some(ScalarType::F16);
        return if half { n / 4 } else { n / 2 };
    }
    if let Some(count) = sparse_count(form, shape, modifiers) {
        return count;
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
        ("offsets", _) if !texts.contains(&"im2col") => 2,
        ("offsets", _) if texts.contains(&"3d") => 1,
        ("offsets", _) if texts.contains(&"5d") => 3,
        ("offsets", _) => 2,
        _ => match () {
            () if texts.contains(&"1d") || texts.contains(&"a1d") => 1,
            () if texts.contains(&"3d") => 4,
            () => 2,
        },
    }
}

/// Returns the number of registers of a vector of an instruction on structured sparsity.
fn sparse_count(form: &Form, shape: &OperandShape, modifiers: &[Modifier]) -> Option<usize> {
    let vectors = sparse_vectors(form.opcode, modifiers)?.ok()?;
    Some(match (form.opcode, shape.name) {
        (Opcode::Spdecompress, "d") | (Opcode::Spcompress, "data") => vectors.dense,
        (
            Opcode::Spcompress | Opcode::Tcgen05LdSpcompress | Opcode::Tcgen05LdRedSpcompress,
            "q",
        )
        | (Opcode::Spdecompress, "data") => vectors.stored,
        _ => vectors.metadata,
    })
}

/// The line of the first instruction of [`module`].
pub const FIRST_LINE: u32 = 20;

/// A module for `target` whose kernel `k` holds the instructions, one per line, from line
/// [`FIRST_LINE`] on.
#[must_use]
pub fn module(target: &str, instructions: &[String]) -> String {
    let mut text = format!(
        ".version 9.5\n.target {target}\n.address_size 64\n\
         .func (.reg .b32 r) f(.reg .b32 a) {{ ret; }}\n\
         .func g {{ ret; }}\n\
         .entry k() {{\n\
         .reg .pred %p<9>;\n.reg .b8 %b<9>;\n.reg .b16 %h<9>;\n.reg .b32 %r<300>;\n\
         .reg .b64 %rd<9>;\n.reg .f32 %f<9>;\n.reg .f64 %fd<9>;\n.reg .b128 %q<9>;\n\
         T: .branchtargets L;\nC: .callprototype (.reg .b32 _) _ (.reg .b32 _);\n\n\n\n"
    );
    for instruction in instructions {
        text.push_str(instruction);
        text.push('\n');
    }
    text + "L: ret;\n}\n"
}
