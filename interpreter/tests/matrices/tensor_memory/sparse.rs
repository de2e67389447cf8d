//! Products of a sparse A, whose metadata lies in tensor memory.

use super::narrow::{Codes, E2M1, E2M3, E4M3, E5M2, Narrow, Scaling};
use super::{
    COLUMNS, COMMIT, Images, SHARED, assert_same, descriptor, encode, kernel, of_newest_target,
};
use crate::machine::{Random, keep};
use crate::warpgroup::{Element, Matrix, place};

/// The place of an element's share of the metadata in CuTe's layout of it: a lane, and a bit.
/// `per_element` bits belong to each element of the dense matrix.
fn metadata_place(bits: usize, row: usize, k: usize, per_element: usize) -> (usize, usize) {
    // Shape ((8, 2, 8), (half, 2)) with strides ((1, 128 * half, 16), (128, 8)), or (128, K) with
    // strides (1, 128).
    let position = match bits {
        16 | 32 => {
            let half = 256 / bits;
            row % 8 + row / 8 % 2 * 128 * half + row / 16 * 16 + k % half * 128 + k / half * 8
        }
        _ => row + 128 * k,
    };
    (position % 128, position / 128 * per_element)
}

fn check(kind: &str, element: Element, code: u32, d: u32, ws: bool, seed: u64) {
    let (m, n) = (128, 64);
    let random = &mut Random::new(seed);
    let name = format!("sparse {kind}, ws {ws}");
    let mut images = Images::random(random);
    let (a, b) = (Matrix::new(element, m, 32, random), Matrix::new(element, n, 64, random));
    let bits = 256 / a.depth();
    let mut used = vec![0; SHARED];
    let at = (&mut images.shared[..], &mut used[..]);
    let a_descriptor = descriptor(place(&a, m, false, at, 0, random));
    let at = (&mut images.shared[..], &mut used[..]);
    let b_descriptor = descriptor(place(&b, n, false, at, 24 << 10, random));
    // Only kinds with a column of metadata select one of two.
    let selector = if bits >= 16 { random.below(2) as usize } else { 0 };
    let (mut columns, metadata) = (Vec::new(), 450);
    let chunk = if bits == 32 { 2 } else { 4 };
    for row in 0..m {
        for at in 0..a.depth() / (chunk / 2) {
            let field = if bits == 32 {
                let second = random.below(2);
                columns.push(2 * at + second as usize);
                if second == 1 { 0b1110 } else { 0b0100 }
            } else {
                let lower = random.below(3);
                let upper = lower + 1 + random.below(3 - lower);
                columns.extend([4 * at + lower as usize, 4 * at + upper as usize]);
                (lower | upper << 2) as u32
            };
            let (lane, bit) = metadata_place(bits, row, chunk * at, 4 / chunk);
            let cell = images.cell(lane, metadata + selector + bit / 32);
            *cell = *cell & !(15 << (bit % 32)) | field << (bit % 32);
        }
    }
    let idesc = selector as u32
        | 1 << 2
        | d << 4
        | code << 7
        | code << 10
        | (n as u32 >> 3) << 17
        | (m as u32 >> 4) << 24;
    let ws_text = if ws { ".ws" } else { "" };
    let body = format!(
        "mov.b64 %da, {a_descriptor}; mov.b64 %db, {b_descriptor}; mov.b32 %idesc, {idesc}; setp.eq.u32 %adds, 1, 0;\n\
         @%p tcgen05.mma{ws_text}.sp.cta_group::1.kind::{kind} [%t], %da, %db, [%t + {metadata}], %idesc, %adds;\n{COMMIT}"
    );
    let text = kernel(".reg .b64 %da, %db; .reg .b32 %idesc; .reg .pred %adds;", &body);
    let text = if kind == "ti16" { of_newest_target(&text) } else { text };
    keep(&name, &text);
    let (tensor, _) = images.run(&text, 0).unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut expected = images.tensor.clone();
    for row in 0..m {
        for column in 0..n {
            let stored = a.depth();
            let products =
                (0..stored).map(|at| a.at(row, at).0 * b.at(column, columns[row * stored + at]).0);
            expected[row * COLUMNS + column] = encode(d, products.sum());
        }
    }
    assert_same(&name, &tensor, &expected);
}

#[test]
fn sparse_products_are_those_of_integers() {
    for seed in 1..9 {
        for ws in [false, true] {
            check("f16", Element::F16, 0, 1, ws, seed);
            check("f16", Element::Bf16, 1, 1, ws, seed);
            check("tf32", Element::Tf32, 2, 1, ws, seed);
            check("f8f6f4", Element::E4m3, 0, 1, ws, seed);
            check("i8", Element::S8, 1, 2, ws, seed);
            check("ti16", Element::S1z4m11, 3, 2, ws, seed);
        }
    }
}

/// A product of a sparse A with block scales. Factors belong to blocks of the dense matrix, whose
/// depth is twice that of the stored one. Elements of 4 bits are kept and left out in pairs.
fn check_scaled(a: Narrow, b: Narrow, scaling: Scaling, in_tensor: bool, seed: u64) {
    let (m, n) = (128, 64);
    let random = &mut Random::new(seed);
    let dense = scaling.kind.starts_with("mxf4");
    let name = format!("sparse {a:?} x {b:?}, {}{}", scaling.kind, scaling.modifier);
    let (stored, run) = if dense { (64, 2) } else { (32, 1) };
    let depth = 2 * stored;
    let mut images = Images::random(random);
    let rows = Codes::random(a, dense, m, stored, random);
    let columns = Codes::random(b, dense, n, depth, random);
    let b_descriptor = columns.place(&mut images.shared, 16 << 10);
    let a_descriptor = rows.place(&mut images.shared, 0);
    if in_tensor {
        rows.hold(&mut images, 300);
    }
    let a_text = if in_tensor { "[%t + 300]" } else { "%da" };
    // The column of the dense matrix of each stored element.
    let (mut places, metadata) = (Vec::new(), 450);
    for row in 0..m {
        for chunk in 0..depth / (4 * run) {
            let lower = random.below(3);
            let upper = lower + 1 + random.below(3 - lower);
            for kept in [lower, upper] {
                places.extend((0..run).map(|at| (4 * chunk + kept as usize) * run + at));
            }
            let (lane, bit) = metadata_place(8, row, 4 * chunk, 1);
            let cell = images.cell(lane, metadata + bit / 32);
            let field = (lower | upper << 2) as u32;
            *cell = *cell & !(15 << (bit % 32)) | field << (bit % 32);
        }
    }
    let (of_a, first_a) = scaling.fill(&mut images, m, 400, random);
    let (of_b, first_b) = scaling.fill(&mut images, n, 410, random);
    let code = |format: Narrow| if dense { 1 } else { format.code };
    let idesc = 1 << 2
        | first_b << 4
        | code(a) << 7
        | code(b) << 10
        | (n as u32 >> 3) << 17
        | u32::from(scaling.exponents) << 23
        | (m as u32 >> 4) << 24
        | first_a << 29;
    let kind = format!("{}.block_scale{}", scaling.kind, scaling.modifier);
    let body = format!(
        "mov.b64 %da, {a_descriptor}; mov.b64 %db, {b_descriptor}; mov.b32 %idesc, {idesc}; setp.eq.u32 %adds, 1, 0;\n\
         @%p tcgen05.mma.sp.cta_group::1.kind::{kind} [%t], {a_text}, %db, [%t + {metadata}], %idesc, [%t + 400], [%t + 410], %adds;\n{COMMIT}"
    );
    let text = kernel(".reg .b64 %da, %db; .reg .b32 %idesc; .reg .pred %adds;", &body);
    keep(&name, &text);
    let (tensor, _) = images.run(&text, 0).unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut expected = images.tensor.clone();
    let factors = scaling.factors;
    for row in 0..m {
        for column in 0..n {
            let term = |at: usize| {
                let k = places[row * stored + at];
                let block = k / (depth / factors);
                let scale = of_a[row * factors + block] * of_b[column * factors + block];
                rows.value(row, at) * columns.value(column, k) * scale
            };
            let sum: f64 = (0..stored).map(term).sum();
            expected[row * COLUMNS + column] = (sum as f32).to_bits();
        }
    }
    assert_same(&name, &tensor, &expected);
}

#[test]
fn blocks_of_sparse_products_have_scales() {
    let of = |kind, modifier, factors, exponents| Scaling { kind, modifier, factors, exponents };
    let bytes = of("mxf8f6f4", "", 1, true);
    for (seed, (a, b)) in [(E4M3, E5M2), (E2M3, E4M3), (E2M1, E4M3)].into_iter().enumerate() {
        check_scaled(a, b, bytes, seed % 2 == 0, 300 + seed as u64);
    }
    for (seed, scaling) in [
        of("mxf4", "", 2, true),
        of("mxf4nvf4", ".scale_vec::2X", 2, true),
        of("mxf4nvf4", ".scale_vec::4X", 4, false),
        of("mxf4nvf4", ".block16", 4, true),
    ]
    .into_iter()
    .enumerate()
    {
        for in_tensor in [false, true] {
            check_scaled(E2M1, E2M1, scaling, in_tensor, 400 + seed as u64);
        }
    }
}
