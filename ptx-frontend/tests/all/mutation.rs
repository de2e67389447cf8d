//! No input makes the front end panic: sound texts and containers are damaged in many ways and
//! read. The fuzz targets of `tests/fuzz/` ask the same of more inputs; what they found is kept
//! here.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests may fail loudly, like the tests"
)]

#[path = "../../../tests/fuzz/corpus.rs"]
mod corpus;

use corpus::corpus;

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
    crate::fuzzed::text(text.as_bytes());
}

#[test]
fn damaged_texts_never_panic() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    insta::glob!("../valid", "*.ptx", |path| {
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

#[test]
fn damaged_containers_never_panic() {
    let mut random = Random(0x0123_4567_89ab_cdef);
    insta::glob!("../containers/files", "*", |path| {
        // The folder itself fits the pattern.
        if path.is_dir() {
            return;
        }
        let data = std::fs::read(path).unwrap();
        for _ in 0..60 {
            let mut damaged = data.clone();
            for _ in 0..=random.below(4) {
                let at = random.below(damaged.len());
                match random.below(5) {
                    0 => damaged[at] ^= 1 << random.below(8),
                    1 => damaged[at] = [0, 1, 0x7f, 0x80, 0xff][random.below(5)],
                    2 => damaged.truncate(at.max(1)),
                    3 => {
                        let end = (at + random.below(64)).min(damaged.len());
                        damaged.drain(at..end);
                        damaged.push(0);
                    }
                    _ => {
                        let end = (at + 8).min(damaged.len());
                        let value = random.next() >> random.below(64);
                        let count = end - at;
                        damaged[at..end].copy_from_slice(&value.to_le_bytes()[..count]);
                    }
                }
            }
            crate::fuzzed::container(&damaged);
        }
    });
}

/// What fuzzing found.
#[test]
fn inputs_that_once_failed_are_read() {
    let in_kernel = |code: &str| {
        format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n.entry k() {{ .reg .b32 %r<9>; {code} }}"
        )
    };
    // `%%` was a name of its own, which printed as two operators.
    survives(&in_kernel("mov.u32 %%1 ,rlaneid;"));
    survives(&in_kernel("mov.u32 %r1, 7 %% 3;"));
    // Tokens of a section are kept as they are, and a string without an end goes on and on.
    let head = ".version 8.0\n.target sm_80\n.address_size 64\n";
    survives(&format!("{head}.section .debug {{\n.b8 1 \",2,3  \n.b8 4\n}}\n"));
    survives(&format!("{head}.section .debug {{\n@@DWARF 1\n.b8 4\n}}\n"));
}

#[test]
fn the_committed_corpus_is_read() {
    for (target, read) in
        [("text", crate::fuzzed::text as fn(&[u8])), ("container", crate::fuzzed::container)]
    {
        corpus(target).iter().for_each(|input| read(input));
    }
}
