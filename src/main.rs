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

mod cli;
mod commands;
mod confine;
mod failure;
mod interrupt;
mod output;
mod project;
mod store;
mod trust;

use std::io::Write as _;
use std::process::ExitCode;

use crate::cli::{Early, ErrorFormat, Unparsed};
use crate::failure::Failure;
use crate::output::manner::{self, Verbosity};

/// The input is at fault.
const INPUT: u8 = 1;
/// The command line is at fault.
const USAGE: u8 = 2;

fn main() -> ExitCode {
    commands::completions::answer();
    let early = Early::read(cli::given_words().into_iter());
    let colour = early.colour.unwrap_or_default();
    let parsed = cli::parse(&early);
    if let Some(text) = project::left_out() {
        output::diagnostic::warning(text);
    }
    let cli = match parsed {
        Ok(cli) => cli,
        Err(Unparsed::Project(report)) => {
            manner::set(colour, Verbosity::Usual, early.errors);
            output::diagnostic::print(&[report]);
            return ExitCode::from(INPUT);
        }
        Err(Unparsed::CommandLine(error)) => {
            // `--help` and `--version` come along here, too, and go to the standard output.
            let code = if error.use_stderr() { USAGE } else { 0 };
            if error.use_stderr() && early.errors == ErrorFormat::Json {
                manner::set(colour, Verbosity::Usual, early.errors);
                output::diagnostic::print(&[cli::report(&error)]);
                return ExitCode::from(code);
            }
            let _ = error.print();
            let _ = std::io::stdout().flush();
            return ExitCode::from(code);
        }
    };
    manner::set(
        colour,
        match (cli.quiet, cli.verbose) {
            (true, _) => Verbosity::Quiet,
            (false, true) => Verbosity::Verbose,
            (false, false) => Verbosity::Usual,
        },
        early.errors,
    );
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
        Err(Failure::Unlaunched(module)) => {
            output::diagnostic::print(&[commands::proposal::report(&module)]);
            ExitCode::from(USAGE)
        }
        Err(Failure::Exit(status)) => ExitCode::from(status),
        Err(Failure::Said) => ExitCode::from(INPUT),
        Err(Failure::Stopped) => ExitCode::from(interrupt::STATUS),
        Err(Failure::BrokenPipe) => ExitCode::SUCCESS,
    }
}
