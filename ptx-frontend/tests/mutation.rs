//! No input makes the front end panic: sound texts are damaged in many ways and loaded.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests may fail loudly, like the tests"
)]

use gpucast_ptx_frontend::{ControlFlowGraph, load, parse};

/// A small generator (xorshift64*), so that every run damages the same bytes.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}

/// What damage puts in place of what was there.
const PIECES: &[&str] = &[
    "",
    ";",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ",",
    "%r1",
    "%p1",
    "0x",
    "0f",
    "\"",
    ".",
    ".b32",
    ".reg",
    "@",
    "|",
    "-",
    "\u{0}",
    "é",
    "18446744073709551615",
    "<",
    "/*",
    "//",
    ":",
    "=",
    "ret;",
    "_",
    ".param",
    ".entry k",
];

fn survives(text: &str) {
    let (file, _) = parse(text);
    let printed = file.to_string();
    let _ = parse(&printed);
    if let Ok(module) = load(text) {
        for body in module.functions.iter().filter_map(|function| function.body.as_ref()) {
            ControlFlowGraph::new(body).expect("loaded branches have labels");
        }
    }
}

#[test]
fn damaged_texts_never_panic() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    insta::glob!("valid/*.ptx", |path| {
        let text = std::fs::read_to_string(path).unwrap();
        let boundaries: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        for _ in 0..400 {
            let mut damaged = text.clone();
            for _ in 0..=random.below(3) {
                let start = boundaries[random.below(boundaries.len())].min(damaged.len());
                let end = (start + random.below(12)).min(damaged.len());
                if damaged.is_char_boundary(start) && damaged.is_char_boundary(end) {
                    damaged.replace_range(start..end, PIECES[random.below(PIECES.len())]);
                }
            }
            survives(&damaged);
        }
        for _ in 0..40 {
            survives(&text[..boundaries[random.below(boundaries.len())]]);
        }
    });
}

#[test]
fn deep_and_long_expressions_never_exhaust_the_stack() {
    let head = ".version 8.0\n.target sm_80\n.address_size 64\n";
    for piece in ["(", "-", "!", "{", "1+", "1?", "generic(", "(.s64)", "[", "1+(", "1?1:"] {
        survives(&format!("{head}.global .u32 x = {};", piece.repeat(100_000)));
        survives(&format!("{head}.entry k() {{ mov.u32 %r1, {}; }}", piece.repeat(100_000)));
    }
    survives(&format!("{head}.entry k() {}", "{".repeat(100_000)));
    survives(&format!("{head}.entry k() {{ {} }}", "{}".repeat(100_000)));
    survives(&"}".repeat(100_000));
}

#[test]
fn noise_never_panics() {
    let mut random = Random(7);
    for length in [1, 10, 100, 10_000] {
        let bytes: Vec<u8> = (0..length).map(|_| random.next() as u8).collect();
        survives(&String::from_utf8_lossy(&bytes));
    }
}
