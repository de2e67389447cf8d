//! Whether single instructions are valid: `judge HEAD TAIL < INSTRUCTIONS` puts each line of the
//! standard input between the two files, loads the text, and writes `ok` or what is wrong.
#![allow(clippy::print_stdout, reason = "the verdicts are what this program is for")]

use std::io::{BufRead as _, stdin};

fn main() {
    let read = |index| {
        let path = std::env::args().nth(index).unwrap_or_default();
        std::fs::read_to_string(path).unwrap_or_default()
    };
    let (head, tail) = (read(1), read(2));
    for line in stdin().lock().lines().map_while(Result::ok) {
        match gpucast_ptx_frontend::load(&format!("{head}{line}\n{tail}")) {
            Ok(_) => println!("ok"),
            Err(diagnostics) => println!("{}", diagnostics[0].message.replace('\n', " ")),
        }
    }
}
