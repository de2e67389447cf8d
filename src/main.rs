//! `gpucast`: forecasts how fast a CUDA kernel runs on a GPU that you do not have.
//!
//! ```text
//! cli ──► commands ──► gpucast_forecast (what is to run, counts, predictions)
//!                 └──► render, pictures, report (text, JSON, CSV, diagnostics, SVG, HTML)
//! ```
//!
//! The libraries return data and typed errors. Only this program prints, runs other programs, and
//! exits.

mod assembler;
mod cli;
mod commands;
mod compiler;
mod failure;
mod installed;
mod interrupt;
mod pictures;
mod project;
mod render;
mod report;

use std::io::Write as _;
use std::process::ExitCode;

use crate::cli::Unparsed;
use crate::failure::Failure;

/// The input is at fault.
const INPUT: u8 = 1;
/// The command line is at fault.
const USAGE: u8 = 2;

fn main() -> ExitCode {
    commands::completions::answer();
    let cli = match cli::parse() {
        Ok(cli) => cli,
        Err(Unparsed::Project(report)) => {
            render::diagnostic::print(&[report]);
            return ExitCode::from(INPUT);
        }
        Err(Unparsed::CommandLine(error)) => {
            // `--help` and `--version` come along here, too, and go to the standard output.
            let code = if error.use_stderr() { USAGE } else { 0 };
            let _ = error.print();
            let _ = std::io::stdout().flush();
            return ExitCode::from(code);
        }
    };
    match commands::run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Input(reports)) => {
            render::diagnostic::print(&reports);
            ExitCode::from(INPUT)
        }
        Err(Failure::Usage(report)) => {
            render::diagnostic::print(&[report]);
            ExitCode::from(USAGE)
        }
        Err(Failure::Said) => ExitCode::from(INPUT),
        Err(Failure::Stopped) => ExitCode::from(interrupt::STATUS),
        Err(Failure::BrokenPipe) => ExitCode::SUCCESS,
    }
}
