//! No kernel makes the lowering or the executor panic: micro-kernels are damaged token by token,
//! and what still loads is lowered and run with a small budget.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests may fail loudly, like the tests"
)]

use std::path::Path;

#[path = "../../../tests/fuzz/corpus.rs"]
mod corpus;

use corpus::corpus;
use gpucast_ptx_frontend::isa::{forms, sample};

/// A small generator (xorshift64*), so that every run damages the same tokens.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) % limit.max(1) as u64) as usize
    }
}

/// Words, numbers and single other characters.
fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_ascii_alphanumeric() || "_$%:".contains(c);
        let end = match is_word(first) {
            true => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            false => first.len_utf8(),
        };
        tokens.push(&rest[..end]);
        rest = &rest[end..];
    }
    tokens
}

/// What may stand in place of a token.
const PIECES: &[&str] = &[
    "0",
    "1",
    "-1",
    "31",
    "32",
    "33",
    "64",
    "255",
    "4294967295",
    "0x7fffffff",
    "u8",
    "u16",
    "s16",
    "u32",
    "s32",
    "b32",
    "u64",
    "s64",
    "b64",
    "f16",
    "f32",
    "f64",
    "sat",
    "ftz",
    "rn",
    "rz",
    "hi",
    "wide",
    "v2",
    "v4",
    "shared",
    "local",
    "global",
    "const",
    "param",
    "%r1",
    "%tid",
    "add",
    "bra",
    "ret",
    "exit",
    "ld",
    "st",
    "atom",
    "call",
    "bar",
    "",
    "x",
    "y",
];

#[test]
fn damaged_kernels_end_in_a_result_a_refusal_or_a_fault() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/instructions");
    let mut paths: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for path in paths {
        let text = crate::cases::expanded(&std::fs::read_to_string(&path).unwrap());
        // One kernel of the file at a time: an error elsewhere would hide what happens to it.
        let kernels: Vec<usize> = text.match_indices(".visible .entry").map(|(at, _)| at).collect();
        let head = &text[..kernels.first().copied().unwrap_or(0)];
        for _ in 0..60 {
            let index = random.below(kernels.len());
            let (Some(&start), end) = (kernels.get(index), kernels.get(index + 1)) else {
                continue;
            };
            let body = &text[start..end.copied().unwrap_or(text.len())];
            let mut tokens = tokens(body);
            let brace = tokens.iter().position(|token| *token == "{").unwrap_or(0);
            for _ in 0..=random.below(2) {
                let at = brace + random.below(tokens.len() - brace);
                tokens[at] = match random.below(3) {
                    0 => PIECES[random.below(PIECES.len())],
                    1 => tokens[brace + random.below(tokens.len() - brace)],
                    _ => "",
                };
            }
            crate::fuzzed::execute(format!("{head}{}", tokens.concat()).as_bytes());
        }
    }
}

/// The registers of a sample, one of each type.
const REGISTERS: [&str; 8] = ["%p1", "%b1", "%h1", "%r1", "%rd1", "%q1", "%f1", "%fd1"];

/// The text with a kernel whose 64-bit registers begin with the address of a buffer, so that
/// accesses by way of them succeed.
fn with_addresses(text: &str) -> String {
    let kernel = ".global .align 256 .b8 buffer[4096];\n.entry k() {";
    let begin = "mov.u64 %rd1, buffer; T: .branchtargets";
    text.replace(".entry k() {", kernel).replace("T: .branchtargets", begin)
}

/// Builds with debug assertions check that each row is as wide as its operation says.
#[test]
fn registers_of_any_type_end_in_a_result_a_refusal_or_a_fault() {
    let times = std::env::var("GPUCAST_MUTATIONS").ok().and_then(|text| text.parse().ok());
    let each = 2 * times.unwrap_or(1_usize);
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut loaded = 0;
    for form in forms() {
        let variants = crate::coverage::variants(form);
        for _ in 0..each {
            let mut text = tokens(&variants[random.below(variants.len())]).concat();
            let places: Vec<(usize, &str)> = REGISTERS
                .iter()
                .flat_map(|name| text.match_indices(name).map(|(at, _)| (at, *name)))
                .filter(|(at, name)| {
                    !text[at + name.len()..].starts_with(|c: char| c.is_ascii_digit())
                })
                .collect();
            if let Some(&(at, name)) = places.get(random.below(places.len())) {
                let other = REGISTERS[random.below(REGISTERS.len())];
                text.replace_range(at..at + name.len(), other);
            }
            for target in ["sm_90a", "sm_107a"] {
                let text = with_addresses(&sample::module(target, std::slice::from_ref(&text)));
                if gpucast_ptx_frontend::load(&text).is_ok() {
                    loaded += 1;
                    crate::fuzzed::execute(text.as_bytes());
                    break;
                }
            }
        }
    }
    assert!(loaded > forms().len() / 4, "{loaded} texts were executed");
}

#[test]
fn the_committed_corpus_is_executed() {
    corpus("execute").iter().for_each(|input| crate::fuzzed::execute(input));
}

#[test]
fn lanes_compute_the_same_whichever_lanes_are_active() {
    corpus("lanes").iter().for_each(|input| crate::fuzzed::lanes(input));
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for index in 0..600 {
        let mut input: Vec<u8> = (0..518).map(|_| random.below(256) as u8).collect();
        // All operations in all ways; full and empty masks too.
        (input[0], input[1]) = (index as u8, (index / 23) as u8);
        match index % 10 {
            0 => input[2..6].fill(0xff),
            1 => input[2..6].fill(0),
            _ => {}
        }
        crate::fuzzed::lanes(&input);
    }
}
