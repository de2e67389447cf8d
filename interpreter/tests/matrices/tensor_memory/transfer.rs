//! `tcgen05.ld` and `tcgen05.st` of every shape and number.

use std::fmt::Write as _;

use super::{COLUMNS, Images, assert_same, kernel};
use crate::machine::{Random, keep};

/// Lane and column of register `r` of thread `t` of a warp (figures 183 to 187).
fn fragment(shape: &str, t: usize, r: usize) -> (usize, usize) {
    match shape {
        "32x32b" => (t, r),
        // Pairs of threads hold two rows eight apart, pairs of pairs two columns.
        "16x64b" => (t / 4 + 8 * (t % 2), t % 4 / 2 + 2 * r),
        "16x128b" => (t / 4 + 8 * (r % 2), t % 4 + 4 * (r / 2)),
        "16x256b" => (t / 4 + 8 * (r % 4 / 2), 2 * (t % 4) + r % 2 + 8 * (r / 4)),
        "16x32bx2" => (t % 16, r + if t < 16 { 0 } else { 96 }),
        other => panic!("no shape {other}"),
    }
}

const SHAPES: [(&str, usize); 5] =
    [("32x32b", 1), ("16x64b", 1), ("16x128b", 2), ("16x256b", 4), ("16x32bx2", 1)];

/// Loads or stores with every shape and number, from the lanes that a warp may reach.
fn check_transfer(shape: &str, registers: usize, number: usize, packed: bool, store: bool) {
    let name = format!("{shape} x{number}, packed {packed}, store {store}");
    let mut random = Random::new((number * 64 + registers) as u64);
    let images = Images::random(&mut random);
    let shift = if shape == "32x32b" { 0 } else { 16 * random.below(2) as usize };
    let columns = (0..32).map(|t| fragment(shape, t, registers - 1).1 + 1).max().unwrap_or(0);
    let columns = if packed { 2 * columns } else { columns };
    let first = random.below((COLUMNS - columns) as u64 + 1) as usize;
    let list: Vec<String> = (0..registers).map(|r| format!("%r{r}")).collect();
    let list = list.join(", ");
    let split = if shape == "16x32bx2" { ", 96" } else { "" };
    let address = format!("[%mine + {}]", (shift << 16) + first);
    let mut body =
        format!("mul.wide.u32 %wide, %thread, {}; add.u64 %rest, %rest, %wide;\n", 4 * registers);
    if store {
        for r in 0..registers {
            // Thread and register, and something in the upper half.
            writeln!(body, "mul.lo.u32 %r{r}, %thread, {registers}; add.u32 %r{r}, %r{r}, {r}; mul.lo.u32 %r{r}, %r{r}, 2654435761;").unwrap();
        }
        let unpack = if packed { ".unpack::16b" } else { "" };
        writeln!(body, "tcgen05.st.sync.aligned.{shape}.x{number}{unpack}.b32 {address}{split}, {{{list}}};\ntcgen05.wait::st.sync.aligned;").unwrap();
    } else {
        let pack = if packed { ".pack::16b" } else { "" };
        writeln!(body, "tcgen05.ld.sync.aligned.{shape}.x{number}{pack}.b32 {{{list}}}, {address}{split};\ntcgen05.wait::ld.sync.aligned;").unwrap();
        for r in 0..registers {
            writeln!(body, "st.global.b32 [%rest + {}], %r{r};", 4 * r).unwrap();
        }
    }
    let text = kernel(&format!(".reg .b32 %r<{registers}>;"), &body);
    keep(&name, &text);
    let further = 128 * registers;
    let (tensor, registers_after) =
        images.run(&text, further).unwrap_or_else(|e| panic!("{name}: {e}"));
    let mut expected = images.tensor.clone();
    let mut loaded = vec![0xcccc_cccc; further];
    for thread in 0..128 {
        for r in 0..registers {
            let (lane, column) = fragment(shape, thread % 32, r);
            let lane = 32 * (thread / 32) + shift + lane;
            let value = ((thread * registers + r) as u32).wrapping_mul(2_654_435_761);
            // Packed halves lie in the low halves of two columns; the distance of the two parts of
            // `16x32bx2` counts columns.
            let column = match (packed, shape, thread % 32 / 16) {
                (false, ..) => first + column,
                (true, "16x32bx2", 1) => first + 96 + 2 * (column - 96),
                (true, ..) => first + 2 * column,
            };
            let at = lane * COLUMNS + column;
            match (store, packed) {
                (true, false) => expected[at] = value,
                (true, true) => {
                    expected[at] = value & 0xffff;
                    expected[at + 1] = value >> 16;
                }
                (false, false) => loaded[thread * registers + r] = images.tensor[at],
                (false, true) => {
                    let [low, high] = [images.tensor[at], images.tensor[at + 1]];
                    loaded[thread * registers + r] = low & 0xffff | high << 16;
                }
            }
        }
    }
    assert_same(&name, &tensor, &expected);
    if !store {
        assert!(registers_after == loaded, "{name}: other registers");
    }
}

#[test]
fn transfers_have_the_layouts_of_the_manual() {
    for (shape, each) in SHAPES {
        for log in 0..8 {
            let registers = each << log;
            // Both parts of `16x32bx2` must lie in tensor memory, and not on each other.
            let limit = if shape == "16x32bx2" { 32 } else { 128 };
            for store in [false, true] {
                if registers <= limit {
                    check_transfer(shape, registers, 1 << log, false, store);
                    check_transfer(shape, registers, 1 << log, true, store);
                }
            }
        }
    }
}
