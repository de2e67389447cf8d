//! Dense products without block scales: kinds, shapes, layouts, swizzles and everything that
//! descriptors and operands choose.

use std::fmt::Write as _;

use super::shift::shift_down;
use super::{
    COLUMNS, COMMIT, Images, LANES, SHARED, assert_same, descriptor, encode, kernel,
    of_newest_target,
};
use crate::machine::{Random, keep, words};
use crate::warpgroup::{Element, Matrix, place};

/// How a product's rows and columns of D lie in lanes and columns.
fn cell_of_d(m: usize, n: usize, ws: bool, row: usize, column: usize) -> (usize, usize) {
    match (m, ws) {
        (128, _) => (row, column),
        // Sixteen rows in the lower half of each quarter.
        (64, false) => (row + row / 16 * 16, column),
        (64, true) => (row + if column < n / 2 { 0 } else { 64 }, column % (n / 2)),
        (32, true) => (row + 32 * (column / (n / 4)), column % (n / 4)),
        _ => panic!("no product has {m} rows"),
    }
}

/// Formats of A, B and D of a dense product without scales.
#[derive(Clone, Copy)]
struct Formats {
    kind: &'static str,
    a: (Element, u32),
    b: (Element, u32),
    d: u32,
}

const FORMATS: [Formats; 10] = {
    use Element::{Bf16, E4m3, E5m2, F16, S1z4m11, S8, Tf32, U8};
    const fn of(kind: &'static str, a: (Element, u32), b: (Element, u32), d: u32) -> Formats {
        Formats { kind, a, b, d }
    }
    [
        of("f16", (F16, 0), (F16, 0), 1),
        of("f16", (F16, 0), (F16, 0), 0),
        of("f16", (Bf16, 1), (F16, 0), 1),
        of("f16", (F16, 0), (Bf16, 1), 1),
        of("tf32", (Tf32, 2), (Tf32, 2), 1),
        of("f8f6f4", (E4m3, 0), (E5m2, 1), 1),
        of("f8f6f4", (E5m2, 1), (E4m3, 0), 0),
        of("i8", (S8, 1), (U8, 0), 2),
        of("i8", (U8, 0), (S8, 1), 2),
        of("ti16", (S1z4m11, 3), (S1z4m11, 3), 2),
    ]
};

/// One dense product with everything chosen at random.
fn check_product(formats: Formats, m: usize, n: usize, ws: bool, in_tensor: bool, seed: u64) {
    let random = &mut Random::new(seed);
    let Formats { kind, a: (a_element, a_code), b: (b_element, b_code), d } = formats;
    let name =
        format!("{kind} {m}x{n}, ws {ws}, A in tensor memory {in_tensor}, D {d}, seed {seed}");
    let mut images = Images::random(random);
    let flip = |random: &mut Random, possible: bool| possible && random.below(2) == 1;
    // The manual contradicts itself about transposed matrices of the newest kind.
    let is_newest = kind == "ti16";
    let transposed = [flip(random, !in_tensor && !is_newest), flip(random, !is_newest)];
    let is_float = kind != "i8";
    let negated = [flip(random, is_float), flip(random, is_float)];
    let (adds, saturates) = (flip(random, true), flip(random, !is_float));
    let scales = flip(random, kind == "f16" || kind == "tf32") && !ws;
    let disables = flip(random, !ws);
    let shifts = flip(random, in_tensor && !ws && m == 128);
    let a = Matrix::new(a_element, m, 32, random);
    let b = Matrix::new(b_element, n, 32, random);
    let mut used = vec![0; SHARED];
    let at = (&mut images.shared[..], &mut used[..]);
    let b_descriptor = descriptor(place(&b, n, transposed[1], at, 20 << 10, random));
    let (d_column, a_column) = (32 * random.below(4) as usize, 400 + 8 * random.below(8) as usize);
    let a_operand = if in_tensor {
        for row in 0..m {
            let (lane, _) = cell_of_d(m, n, ws, row, 0);
            let bytes: Vec<u8> = (0..a.depth()).flat_map(|k| a.at(row, k).1.clone()).collect();
            for (column, word) in words(&bytes).into_iter().enumerate() {
                *images.cell(lane, a_column + column) = word;
            }
        }
        format!("[%t + {a_column}]")
    } else {
        let at = (&mut images.shared[..], &mut used[..]);
        let a_descriptor = descriptor(place(&a, m, transposed[0], at, 0, random));
        format!("{a_descriptor}")
    };
    let bit = |flag: bool, at: u32| u32::from(flag) << at;
    let idesc = bit(saturates, 3)
        | d << 4
        | a_code << 7
        | b_code << 10
        | bit(negated[0], 13)
        | bit(negated[1], 14)
        | bit(transposed[0], 15)
        | bit(transposed[1], 16)
        | (n as u32 >> 3) << 17
        | (m as u32 >> 4) << 24;
    let before: Vec<i64> = (0..m * n)
        .map(|_| match d {
            0 | 1 => 16 * (random.below(65) as i64 - 32),
            _ if random.below(4) == 0 => i64::from(i32::MAX) - random.below(1000) as i64,
            _ => i64::from(random.next() as i32),
        })
        .collect();
    for row in 0..m {
        for column in 0..n {
            let (lane, at) = cell_of_d(m, n, ws, row, column);
            let noise = if d == 0 { (random.next() as u32) << 16 } else { 0 };
            *images.cell(lane, d_column + at) = encode(d, before[row * n + column]) | noise;
        }
    }
    let disabled: Vec<u32> =
        (0..4).map(|_| if disables { random.next() as u32 } else { 0 }).collect();
    let scale = if scales { 1 + random.below(4) as u32 } else { 0 };
    let masks = if disables {
        let words: Vec<String> = disabled.iter().map(u32::to_string).collect();
        let mut text = String::new();
        for (at, word) in words.iter().enumerate() {
            write!(text, "mov.b32 %m{at}, {word}; ").unwrap();
        }
        (text, ", {%m0, %m1, %m2, %m3}")
    } else {
        (String::new(), "")
    };
    let scaling = if scales { format!(", {scale}") } else { String::new() };
    let ws_text = if ws { ".ws" } else { "" };
    let shift_text = if shifts { ".ashift" } else { "" };
    let adding = u32::from(adds);
    let body = format!(
        "{}mov.b64 %da, {a}; mov.b64 %db, {b_descriptor}; mov.b32 %idesc, {idesc}; setp.eq.u32 %adds, {adding}, 1;\n\
         @%p tcgen05.mma{ws_text}.cta_group::1.kind::{kind}{shift_text} [%t + {d_column}], {a_operand}, %db, %idesc{}, %adds{scaling};\n{COMMIT}",
        masks.0,
        masks.1,
        a = if in_tensor { "0" } else { &a_operand },
        a_operand = if in_tensor { &a_operand } else { "%da" },
    );
    let text = kernel(".reg .b64 %da, %db; .reg .b32 %idesc, %m<4>; .reg .pred %adds;", &body);
    let text = if is_newest { of_newest_target(&text) } else { text };
    keep(&name, &text);
    let (tensor, _) = images.run(&text, 0).unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut expected = images.tensor.clone();
    for row in 0..m {
        for column in 0..n {
            let products = (0..a.depth()).map(|k| a.at(row, k).0 * b.at(column, k).0);
            let sign = if negated[0] == negated[1] { 1 } else { -1 };
            let sum = sign * products.sum::<i64>();
            let old = if adds { before[row * n + column] >> scale } else { 0 };
            let total = sum + old;
            let total = match (d, saturates) {
                (2, true) => total.clamp(i32::MIN.into(), i32::MAX.into()),
                _ => total,
            };
            let (lane, at) = cell_of_d(m, n, ws, row, column);
            if disabled[lane / 32] >> (lane % 32) & 1 == 0 {
                expected[lane * COLUMNS + d_column + at] = encode(d, total);
            }
        }
    }
    if shifts {
        shift_down(&images.tensor, &mut expected, 0..LANES, a_column);
    }
    assert_same(&name, &tensor, &expected);
}

#[test]
fn products_are_those_of_integers() {
    let mut seed = 1;
    for formats in FORMATS {
        for (m, n, ws) in [
            (128, 16, false),
            (128, 64, false),
            (128, 256, false),
            (64, 8, false),
            (64, 136, false),
            (32, 64, true),
            (64, 128, true),
            (128, 64, true),
        ] {
            for in_tensor in [false, true] {
                // A of fewer rows in tensor memory is refused where lanes share the columns.
                if !(in_tensor && ws && m < 128) {
                    seed += 1;
                    check_product(formats, m, n, ws, in_tensor, seed);
                }
            }
        }
    }
}

/// Elements of a sign and eleven bits have no value if they set other bits, and are not transposed.
#[test]
fn undefined_integers_of_sixteen_bits_are_faults() {
    let fault = |idesc: u32, element: u16| {
        let body = format!(
            "mov.b64 %da, {a}; mov.b64 %db, {a}; mov.b32 %idesc, {idesc}; setp.eq.u32 %adds, 1, 0;\n\
             @%p tcgen05.mma.cta_group::1.kind::ti16 [%t], %da, %db, %idesc, %adds;\n{COMMIT}",
            a = 1u64 << 46 | 8 << 32 | 128 << 16
        );
        let text = kernel(".reg .b64 %da, %db; .reg .b32 %idesc; .reg .pred %adds;", &body);
        let mut images = Images::random(&mut Random::new(3));
        for bytes in images.shared.chunks_exact_mut(2) {
            bytes.copy_from_slice(&element.to_le_bytes());
        }
        images.run(&of_newest_target(&text), 0).err().map(|error| error.to_string())
    };
    let idesc = 2 << 4 | 3 << 7 | 3 << 10 | (16 >> 3) << 17 | (128 >> 4) << 24;
    assert_eq!(fault(idesc, 0x87ff), None);
    let error = fault(idesc, 0x0800).unwrap();
    assert!(error.contains("sets one of its bits 11 to 14"), "{error}");
    let error = fault(idesc | 1 << 16, 0).unwrap();
    assert!(error.contains("this instruction descriptor"), "{error}");
}
