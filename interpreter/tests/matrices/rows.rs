//! `ldmatrix`, `stmatrix` and `movmatrix` against the manual's figures 104 to 110; rows of `.s4`
//! are sixteen nibbles in a row, the first in the low half of its byte.

use std::fmt::Write as _;

use gpucast_ptx_frontend::isa::{Form, Modifier, Opcode, forms_of};

use crate::machine::{Random, keep, launch, to_bytes, words};
use crate::multiply::combinations;

/// The instruction's shape: rows of a matrix, registers of it, bits of an element, bytes of a row.
struct Shape {
    rows: usize,
    registers: usize,
    bits: usize,
    row_bytes: usize,
}

fn shape(modifiers: &[Modifier]) -> (Shape, usize) {
    let has = |text: &str| modifiers.iter().any(|m| m.text() == text);
    let number = if has("x4") {
        4
    } else if has("x2") {
        2
    } else {
        1
    };
    let bits = if has("b16") {
        16
    } else if has("b6x16_p32") {
        6
    } else if has("b4x16_p64") || has("s4") {
        4
    } else {
        8
    };
    let (rows, registers) = if has("m16n16") { (16, 2) } else { (8, 1) };
    let row_bytes = if has("s4") { 8 } else { 16 };
    (Shape { rows, registers, bits, row_bytes }, number)
}

/// Element `column` of a row of elements of `bits` bits.
fn element(row: &[u8], bits: usize, column: usize) -> u32 {
    let bit = |at: usize| u32::from(row[at / 8] >> (at % 8) & 1);
    (0..bits).map(|i| bit(column * bits + i) << i).sum()
}

/// What register `register` of lane `lane` holds of a matrix with these rows.
fn expected(modifiers: &[Modifier], rows: &[&[u8]], lane: usize, register: usize) -> u32 {
    let (Shape { bits, .. }, _) = shape(modifiers);
    let transposed = modifiers.contains(&Modifier::Trans);
    let (group, thread) = (lane / 4, lane % 4);
    if bits == 16 {
        // Figure 104: a group holds a row, a thread two neighbours of it; transposed, a column.
        let at = |column: usize| match transposed {
            false => element(rows[group], 16, column),
            true => element(rows[column], 16, group),
        };
        return at(2 * thread) | at(2 * thread + 1) << 16;
    }
    // Figures 105 and 106: four neighbours of a row (of a column, if transposed), in a byte each.
    let at = |column: usize| match transposed {
        false => element(rows[group], bits, column),
        true => element(rows[column], bits, group + 8 * register),
    };
    let byte = |column: usize| match modifiers.contains(&Modifier::S4) {
        true if at(column) >= 8 => at(column) + 0xf0,
        _ => at(column),
    };
    (0..4).map(|i| byte(4 * thread + i) << (8 * i)).sum()
}

/// Beginning of a kernel: `%row` is the lane's address in 1024 bytes of shared memory at `s`, into
/// which the input behind the first `skip` bytes has been copied.
fn prologue(form: &Form, generic: bool, skip: usize) -> String {
    let (major, minor) = form.min_isa.max((7, 8));
    let target = form.min_target;
    let (sm, suffix) = (target.sm, if target.specific { "a" } else { "" });
    let convert = if generic { "cvta.shared.u64 %row, %row;" } else { "" };
    format!(
        ".version {major}.{minor}\n.target sm_{sm}{suffix}\n.address_size 64\n\
         .visible .entry k(.param .u64 in, .param .u64 out) {{\n\
         .reg .b64 %in, %out, %row, %at, %s, %to; .reg .b32 %r<4>, %i, %word, %lane; .reg .pred %p;\n\
         .shared .align 16 .b8 s[1024];\n\
         ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; mov.u32 %lane, %tid.x;\n\
         mov.u64 %s, s; shl.b32 %i, %lane, 2;\n\
         L: cvt.u64.u32 %at, %i; add.u64 %to, %s, %at; add.u64 %at, %at, %in;\n\
         ld.global.u32 %word, [%at+{skip}]; st.shared.u32 [%to], %word;\n\
         add.u32 %i, %i, 128; setp.lt.u32 %p, %i, 1024; @%p bra L;\n\
         mad.wide.u32 %at, %lane, 4, %in; ld.global.u32 %word, [%at];\n\
         cvt.u64.u32 %row, %word; add.u64 %row, %row, %s; {convert}\n\
         bar.sync 0;\n"
    )
}

/// Offsets of the lanes' rows: any order, and nonsense where the instruction must not look.
fn offsets(random: &mut Random, used: usize, row_bytes: u32) -> Vec<u32> {
    let mut places: Vec<u32> = (0..64).collect();
    (0..32)
        .map(|lane| {
            let place = places.swap_remove(random.below(places.len() as u64) as usize);
            if lane < used { row_bytes * place } else { 0x7fff_0001 }
        })
        .collect()
}

fn mnemonic(form: &Form, modifiers: &[Modifier]) -> String {
    let mut text = form.opcode.to_string();
    for modifier in modifiers {
        write!(text, ".{modifier}").unwrap();
    }
    text
}

fn registers(count: usize) -> String {
    let names: Vec<_> = (0..count).map(|i| format!("%r{i}")).collect();
    format!("{{{}}}", names.join(", "))
}

#[test]
fn every_ldmatrix_of_the_table_distributes_rows() {
    let mut random = Random::new(1);
    for (_, form) in forms_of(Opcode::Ldmatrix) {
        for modifiers in combinations(form) {
            let (Shape { rows, registers: per_matrix, row_bytes, .. }, number) = shape(&modifiers);
            let used = rows * number;
            if used > 32 {
                continue;
            }
            let offsets = offsets(&mut random, used, row_bytes as u32);
            let data: Vec<u8> = (0..1024).map(|_| random.next() as u8).collect();
            let count = number * per_matrix;
            let generic = !modifiers.iter().any(|m| m.text().starts_with("shared"));
            let mut text = prologue(form, generic, 128);
            let mnemonic = mnemonic(form, &modifiers);
            writeln!(text, "{mnemonic} {}, [%row];", registers(count)).unwrap();
            writeln!(text, "mad.wide.u32 %at, %lane, {}, %out;", 4 * count).unwrap();
            for i in 0..count {
                writeln!(text, "st.global.u32 [%at+{}], %r{i};", 4 * i).unwrap();
            }
            text += "ret; }\n";
            keep(&mnemonic, &text);
            let input = [to_bytes(&offsets), data.clone()].concat();
            let result = words(&launch(&text, &input, 128 * count));
            for (lane, result) in result.chunks(count).enumerate() {
                for (at, &word) in result.iter().enumerate() {
                    let (matrix, register) = (at / per_matrix, at % per_matrix);
                    let rows: Vec<&[u8]> = offsets[matrix * rows..][..rows]
                        .iter()
                        .map(|&offset| &data[offset as usize..][..row_bytes])
                        .collect();
                    let expected = expected(&modifiers, &rows, lane, register);
                    assert_eq!(word, expected, "{mnemonic}, lane {lane}, register {at}");
                }
            }
        }
    }
}

#[test]
fn every_stmatrix_of_the_table_stores_rows() {
    let mut random = Random::new(2);
    for (_, form) in forms_of(Opcode::Stmatrix) {
        for modifiers in combinations(form) {
            let (Shape { bits, .. }, number) = shape(&modifiers);
            let transposed = modifiers.contains(&Modifier::Trans);
            let offsets = offsets(&mut random, 8 * number, 16);
            let values: Vec<u32> = (0..32 * number).map(|_| random.next() as u32).collect();
            let data: Vec<u8> = (0..1024).map(|_| random.next() as u8).collect();
            let generic = !modifiers.iter().any(|m| m.text().starts_with("shared"));
            let mut text = prologue(form, generic, 128 + 4 * values.len());
            writeln!(text, "mad.wide.u32 %at, %lane, {}, %in;", 4 * number).unwrap();
            for i in 0..number {
                writeln!(text, "ld.global.u32 %r{i}, [%at+{}];", 128 + 4 * i).unwrap();
            }
            let mnemonic = mnemonic(form, &modifiers);
            writeln!(text, "{mnemonic} [%row], {};", registers(number)).unwrap();
            text += "bar.sync 0; shl.b32 %i, %lane, 2;\n\
                     M: cvt.u64.u32 %at, %i; add.u64 %to, %s, %at; add.u64 %at, %at, %out;\n\
                     ld.shared.u32 %word, [%to]; st.global.u32 [%at], %word;\n\
                     add.u32 %i, %i, 128; setp.lt.u32 %p, %i, 1024; @%p bra M;\nret; }\n";
            keep(&mnemonic, &text);
            let input = [to_bytes(&offsets), to_bytes(&values), data.clone()].concat();
            let result = launch(&text, &input, 1024);
            let mut expected = data;
            for lane in 0..32 {
                let (group, thread) = (lane / 4, lane % 4);
                for matrix in 0..number {
                    let bytes = values[lane * number + matrix].to_le_bytes();
                    for (i, byte) in bytes.into_iter().enumerate() {
                        // Row and column of the matrix that the byte belongs to: a 16-bit
                        // element's, or of a 16-by-8 matrix whose fragments are those of an
                        // accumulator.
                        let (row, column) = match bits {
                            16 => (group, 2 * thread + i / 2),
                            _ => (group + 8 * (i / 2), 2 * thread + i % 2),
                        };
                        let (line, place) = if transposed { (column, row) } else { (row, column) };
                        let within = if bits == 16 { 2 * place + i % 2 } else { place };
                        expected[offsets[8 * matrix + line] as usize + within] = byte;
                    }
                }
            }
            assert!(result == expected, "{mnemonic}");
        }
    }
}

#[test]
fn movmatrix_transposes() {
    let mut random = Random::new(3);
    for (_, form) in forms_of(Opcode::Movmatrix) {
        let source: Vec<u32> = (0..32).map(|_| random.next() as u32).collect();
        let text = "\
            .version 7.8\n.target sm_75\n.address_size 64\n\
            .visible .entry k(.param .u64 in, .param .u64 out) {\n\
            .reg .b64 %in, %out; .reg .b32 %r, %lane;\n\
            ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; mov.u32 %lane, %tid.x;\n\
            mad.wide.u32 %in, %lane, 4, %in; mad.wide.u32 %out, %lane, 4, %out;\n\
            ld.global.u32 %r, [%in];\n\
            movmatrix.sync.aligned.m8n8.trans.b16 %r, %r;\n\
            st.global.u32 [%out], %r; ret; }\n";
        assert!(form.text.starts_with("movmatrix.sync.aligned.m8n8.trans.b16 "));
        keep("movmatrix", text);
        let result = words(&launch(text, &to_bytes(&source), 128));
        let at = |words: &[u32], row: usize, column: usize| {
            words[4 * row + column / 2] >> (16 * (column % 2)) & 0xffff
        };
        for row in 0..8 {
            for column in 0..8 {
                assert_eq!(at(&result, row, column), at(&source, column, row));
            }
        }
    }
}
