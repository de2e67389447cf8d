//! `gpucast serve`: starts the program that answers requests. It is a program of its own, so that
//! nobody builds a server who asks for a forecast.

use std::process::Command;

use crate::cli::serve::Serve;
use crate::failure::{Failure, Report};

const SERVER: &str = "gpucast-serve";

pub(crate) fn run(arguments: &Serve, threads: Option<u16>) -> Result<(), Failure> {
    let own = std::env::current_exe();
    let own = own.map_err(|error| Report::new(format!("cannot find this program: {error}")))?;
    let server = own.with_file_name(format!("{SERVER}{}", std::env::consts::EXE_SUFFIX));
    if !server.is_file() {
        let report = Report::new(format!("there is no {SERVER} beside {}", own.display()));
        let hint =
            "releases have it; from source, `cargo build --release -p gpucast-serve` makes it";
        return Err(report.hint(hint).into());
    }
    let mut command = Command::new(&server);
    // The one option of both that the command line takes first.
    command.args(threads.map(|threads| format!("--threads={threads}")));
    command.args(&arguments.options);
    Err(replaced_by(command)?)
}

/// The server takes this process over, so that signals and streams are its own.
#[cfg(unix)]
fn replaced_by(mut command: Command) -> Result<Failure, Failure> {
    let error = std::os::unix::process::CommandExt::exec(&mut command);
    Err(Report::new(format!("cannot start {SERVER}: {error}")).into())
}

#[cfg(not(unix))]
fn replaced_by(mut command: Command) -> Result<Failure, Failure> {
    let cannot = |error| Report::new(format!("cannot start {SERVER}: {error}"));
    let status = command.status().map_err(cannot)?;
    Ok(Failure::Exit(status.code().and_then(|code| code.try_into().ok()).unwrap_or(1)))
}
