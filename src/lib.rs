//! The program `gpucast`: forecasts how fast a CUDA kernel runs on a GPU that you do not have.
//!
//! ```text
//! cli ──► commands ──► gpucast_forecast (what is to run, counts, predictions)
//!                 ├──► gpucast_render (text, JSON, CSV, SVG, HTML)
//!                 └──► output (standard output, files, standard error)
//! ```
//!
//! The libraries return data and typed errors. Only this program prints, runs other programs, and
//! exits.
//!
//! It is a library itself because the Python package has one file with all code: there, a launcher
//! loads it and calls [`run`].

mod cli;
mod code;
mod commands;
mod confine;
mod failure;
mod interrupt;
mod output;
mod project;
mod store;
mod trust;

use std::io::Write as _;
use std::path::PathBuf;

use crate::cli::{Early, ErrorFormat, Unparsed};
use crate::failure::Failure;
use crate::output::manner::{self, Verbosity};

/// The input is at fault.
const INPUT: u8 = 1;
/// The command line is at fault.
const USAGE: u8 = 2;

/// Does what the words of this process's command line ask for, and returns the exit status.
///
/// `library` is the file with this code where that is not the process's program.
pub fn run(library: Option<PathBuf>) -> u8 {
    if let Some(path) = library {
        code::is_in(path);
    }
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
            return INPUT;
        }
        Err(Unparsed::CommandLine(error)) => {
            // `--help` and `--version` come along here, too, and go to the standard output.
            let code = if error.use_stderr() { USAGE } else { 0 };
            if error.use_stderr() && early.errors == ErrorFormat::Json {
                manner::set(colour, Verbosity::Usual, early.errors);
                output::diagnostic::print(&[cli::report(&error)]);
                return code;
            }
            let _ = error.print();
            let _ = std::io::stdout().flush();
            return code;
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
        Ok(()) => 0,
        Err(Failure::Input(reports)) => {
            output::diagnostic::print(&reports);
            INPUT
        }
        Err(Failure::Usage(report)) => {
            output::diagnostic::print(&[report]);
            USAGE
        }
        Err(Failure::Unlaunched(module)) => {
            output::diagnostic::print(&[commands::proposal::report(&module)]);
            USAGE
        }
        Err(Failure::Exit(status)) => status,
        Err(Failure::Said) => INPUT,
        Err(Failure::Stopped) => interrupt::STATUS,
        Err(Failure::BrokenPipe) => 0,
    }
}
