//! `gpucast completions`: the script that makes a shell complete commands, options and names.
//!
//! The script asks the program at each press of the key, so that names never grow stale. The
//! question comes in a variable of the environment, which `main` looks at before anything else.

use std::env;
use std::path::Path;

use clap::CommandFactory as _;
use clap_complete::CompleteEnv;
use clap_complete::aot::Shell;
use clap_complete::env::Shells;

use crate::cli::{Cli, names};
use crate::failure::{Failure, Report};
use crate::output::Output;
use crate::project;

const PROGRAM: &str = "gpucast";
/// A shell's script sets this to the shell's name when it asks.
const VARIABLE: &str = "GPUCAST_COMPLETE";

/// Answers the question of a shell's script, if that is what the program was started for, and ends
/// the program then.
pub(crate) fn answer() {
    let command = || {
        // A faulty project is complained about when a command runs.
        let _ = project::read();
        names::taught(Cli::command())
    };
    CompleteEnv::with_factory(command).var(VARIABLE).bin(PROGRAM).complete();
}

pub(crate) fn run(shell: Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    let cannot = |reason: String| Report::new(format!("cannot write a script: {reason}"));
    let shells = Shells::builtins();
    let completer = shells
        .completer(&shell.to_string())
        .ok_or_else(|| cannot(format!("completions do not know {shell}")))?;
    completer
        .write_registration(VARIABLE, PROGRAM, PROGRAM, &itself(), &mut script)
        .map_err(|error| cannot(error.to_string()))?;
    Output::open(None)?.write_bytes(&script)
}

/// The program as the script finds it: by its name on the search path, or where it was started.
fn itself() -> String {
    let called = env::args_os().next().unwrap_or_default();
    let is_path = Path::new(&called).components().count() > 1;
    let place = is_path.then(|| env::current_exe().ok()).flatten();
    place.map_or_else(|| PROGRAM.to_owned(), |path| path.display().to_string())
}
