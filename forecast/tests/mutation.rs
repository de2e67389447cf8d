//! No input file makes a reader panic: the committed corpus of the fuzz targets is read as it is
//! and damaged in many ways. The fuzz targets of `tests/fuzz/` ask the same of more inputs.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests may fail loudly, like the tests"
)]

#[path = "../../tests/fuzz/corpus.rs"]
mod corpus;
mod fuzzed;

use corpus::corpus;

/// A small generator (xorshift64*), so that every run damages the same bytes.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) % limit.max(1) as u64) as usize
    }
}

/// What may stand in place of a part of a text.
const PIECES: &[&str] = &[
    "",
    "=",
    "\"",
    "[",
    "]",
    "{",
    "}",
    ",",
    "\n",
    "-1",
    "0",
    "1e308",
    "-1e-308",
    "nan",
    "inf",
    "18446744073709551615",
    "340282366920938463463374607431768211456",
    "${",
    "'",
    "\u{0}",
    "é",
    "%",
    "[[launch]]",
    "x",
    ":",
    "*",
    "(",
    ")",
    "\\u",
];

/// `GPUCAST_MUTATIONS=100` damages a hundred times as many inputs, outside the gate.
fn factor() -> usize {
    std::env::var("GPUCAST_MUTATIONS").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

/// Every input as it is, then `rounds` damaged ones.
fn check(target: &str, rounds: usize, read: impl Fn(&[u8])) {
    let inputs = corpus(target);
    inputs.iter().for_each(|input| read(input));
    let rounds = rounds * factor();
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for _ in 0..rounds {
        let mut input = inputs[random.below(inputs.len())].clone();
        for _ in 0..=random.below(3) {
            let at = random.below(input.len());
            let end = (at + random.below(12)).min(input.len());
            match random.below(4) {
                0 => input.truncate(at),
                1 => input[at..end].fill(random.below(256) as u8),
                2 => {
                    let piece = PIECES[random.below(PIECES.len())];
                    input.splice(at..end, piece.bytes());
                }
                _ => {
                    let copied = input[at..end].to_vec();
                    let to = random.below(input.len());
                    input.splice(to..to, copied);
                }
            }
            if input.is_empty() {
                break;
            }
        }
        read(&input);
    }
}

#[test]
fn launch_files_become_plans_or_reports() {
    check("launch", 3000, fuzzed::launch);
}

#[test]
fn gpu_files_are_read_or_refused() {
    check("gpu", 1500, fuzzed::gpu);
}

#[test]
fn tables_of_profilers_are_read_or_refused() {
    check("metrics", 5000, fuzzed::metrics);
}

#[test]
fn arrays_hold_what_their_headers_say() {
    check("array", 20_000, fuzzed::array);
}

#[test]
fn machine_code_is_read_or_refused() {
    check("machine_code", 3000, fuzzed::machine_code);
}

#[test]
fn written_launch_files_become_plans_or_reports() {
    check("written_launch", 2000, fuzzed::written_launch);
}

#[test]
fn project_files_are_read_or_refused() {
    check("project", 2000, fuzzed::project);
}

#[test]
fn damaged_stores_give_no_wrong_rows() {
    check("store", 150, fuzzed::store);
}
