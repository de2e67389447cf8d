//! Writes PTX with a source line for each instruction, ready for the assembler; the inputs of the
//! tests of machine code are made with it (`tests/ptxas/regenerate.py`).
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it is a program")]

fn main() -> std::process::ExitCode {
    let Some(path) = std::env::args().nth(1) else {
        eprintln!("usage: with_lines FILE.ptx");
        return std::process::ExitCode::FAILURE;
    };
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) => {
            eprintln!("{path}: {error}");
            return std::process::ExitCode::FAILURE;
        }
    };
    match gpucast_machine::ptxas::prepare(&text) {
        Ok(prepared) => {
            print!("{}", prepared.text);
            std::process::ExitCode::SUCCESS
        }
        Err(diagnostics) => {
            eprintln!("{path}: {}", diagnostics[0]);
            std::process::ExitCode::FAILURE
        }
    }
}
