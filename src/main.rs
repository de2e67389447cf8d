//! `gpucast`: forecasts how fast a CUDA kernel runs on a GPU that you do not have.
//!
//! ```text
//! cli ──► commands ──► gpucast_forecast (what is to run, counts, predictions)
//!                 ├──► gpucast_render (text, JSON, CSV, SVG, HTML)
//!                 └──► output (standard output, files, standard error)
//! ```
//!
//! The libraries return data and typed errors. Only this program prints, runs other programs, and
//! exits.

mod assembler;
mod cli;
mod commands;
mod failure;
mod interrupt;
mod output;

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;

use crate::failure::Failure;

/// The input is at fault.
const INPUT: u8 = 1;
/// The command line is at fault.
const USAGE: u8 = 2;

fn main() -> ExitCode {
    let cli = match cli::Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
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
            output::diagnostic::print(&reports);
            ExitCode::from(INPUT)
        }
        Err(Failure::Usage(report)) => {
            output::diagnostic::print(&[report]);
            ExitCode::from(USAGE)
        }
        Err(Failure::Said) => ExitCode::from(INPUT),
        Err(Failure::Stopped) => ExitCode::from(interrupt::STATUS),
        Err(Failure::BrokenPipe) => ExitCode::SUCCESS,
    }
}
