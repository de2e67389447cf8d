//! Prints a parsed text back: `reprint FILE`, for example to hand the result to `ptxas -c`.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the text and its errors are what this program is for"
)]

use std::process::ExitCode;

use gpucast_ptx_frontend::source::LineIndex;

fn main() -> ExitCode {
    let path = std::env::args().nth(1).unwrap_or_default();
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) => {
            eprintln!("{path}: {error}");
            return ExitCode::FAILURE;
        }
    };
    let (file, diagnostics) = gpucast_ptx_frontend::parse(&text);
    let index = LineIndex::new(&text);
    for diagnostic in &diagnostics {
        eprintln!("{path}:{}: {diagnostic}", index.position(&text, diagnostic.span.start));
    }
    print!("{file}");
    if diagnostics.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
