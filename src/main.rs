//! `gpucast`: forecasts how fast a CUDA kernel runs on a GPU that you do not have.
//!
//! ```text
//! cli ──► commands ──► input (what is to run) ──► execute (interpreter + counters)
//!                 └──► render (text, JSON, CSV, diagnostics) ◄── model (predictions)
//! ```
//!
//! The libraries return data and typed errors. Only this program reads paths, prints, and exits.

mod assembler;
mod cli;
mod commands;
mod comparison;
mod cost_model;
mod counting;
mod execute;
mod failure;
mod gpu_argument;
mod input;
mod inspection;
mod machine;
mod metric_choice;
mod model_choice;
mod pictures;
mod published;
mod render;
mod report;
mod sources;
mod sweep;
mod trouble;
mod what_if;

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
            render::diagnostic::print(&reports);
            ExitCode::from(INPUT)
        }
        Err(Failure::Usage(report)) => {
            render::diagnostic::print(&[report]);
            ExitCode::from(USAGE)
        }
        Err(Failure::Said) => ExitCode::from(INPUT),
        Err(Failure::BrokenPipe) => ExitCode::SUCCESS,
    }
}
