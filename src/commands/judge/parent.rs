//! The process that starts another one to judge, and outlives it.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Read as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use gpucast_judge::{Judgement, Verdict};
use gpucast_render::judgement;

use super::{OF_CANDIDATE, PHASE, ended, limits};
use crate::cli::judge::Judge;
use crate::confine::{self, Limits};
use crate::failure::{Failure, Report};
use crate::interrupt;
use crate::output::Output;

/// A child that keeps to the limit by itself has so long to say so.
const GRACE: Duration = Duration::from_secs(2);
/// The first pause between two looks at the child, and the longest.
const SHORTEST: Duration = Duration::from_millis(1);
const LONGEST: Duration = Duration::from_millis(20);
/// A longer document is nobody's judgement.
const LONGEST_DOCUMENT: u64 = 64 << 20;

pub(super) fn run(arguments: &Judge) -> Result<(), Failure> {
    let mut output = Output::open(arguments.output.clone())?;
    interrupt::listen();
    let cannot = |error: &io::Error| Report::new(format!("cannot start a process: {error}"));
    let folder = tempfile::Builder::new().prefix("gpucast-judge-").tempdir();
    let folder = folder.map_err(|error| cannot(&error))?;
    let program = std::env::current_exe().map_err(|error| cannot(&error))?;
    let mut command = Command::new(program);
    command.args(words(arguments, folder.path())).stdin(Stdio::null()).stdout(Stdio::piped());
    command.env("TMPDIR", folder.path()).env("GPUCAST_CACHE", folder.path().join("cache"));
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command.spawn().map_err(|error| cannot(&error))?;
    let reader = child.stdout.take().map(|pipe| {
        thread::spawn(move || {
            let mut document = String::new();
            let read = pipe.take(LONGEST_DOCUMENT).read_to_string(&mut document);
            read.map(|_| document)
        })
    });
    let limit = Duration::from_secs(arguments.time_limit) + GRACE;
    let status = wait(&mut child, limit).map_err(|error| cannot(&error))?;
    end(&mut child);
    let document = reader.and_then(|reader| reader.join().ok()?.ok()).unwrap_or_default();
    match status {
        End::Stopped => Err(Failure::Stopped),
        End::Exited(status) => match status.code() {
            Some(code) if !document.is_empty() => {
                output.write(&document)?;
                if code == 0 { Ok(()) } else { Err(Failure::Exit(code as u8)) }
            }
            // It has said why on the standard error.
            Some(code) => Err(Failure::Exit(code as u8)),
            // A signal: a limit of the system, or no memory.
            None => ended_early(arguments, folder.path(), &mut output),
        },
        End::PastLimit => ended_early(arguments, folder.path(), &mut output),
    }
}

/// The words of the command line behind those that make a confined process of the program. Its
/// result goes to the parent, whatever the words say.
fn words(arguments: &Judge, folder: &Path) -> Vec<OsString> {
    let Limits { seconds, bytes } = limits(arguments);
    let own = [
        "--confined".into(),
        folder.into(),
        format!("--confined-seconds={seconds}").into(),
        format!("--confined-bytes={bytes}").into(),
    ];
    own.into_iter().chain(std::env::args_os().skip(1)).collect()
}

/// The end of a child.
enum End {
    Exited(ExitStatus),
    PastLimit,
    Stopped,
}

fn wait(child: &mut Child, limit: Duration) -> io::Result<End> {
    let started = Instant::now();
    let mut pause = SHORTEST;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(End::Exited(status));
        }
        if interrupt::is_asked() {
            return Ok(End::Stopped);
        }
        if started.elapsed() > limit {
            return Ok(End::PastLimit);
        }
        thread::sleep(pause);
        pause = (2 * pause).min(LONGEST);
    }
}

/// Ends a child and what it has started.
fn end(child: &mut Child) {
    #[cfg(unix)]
    if let Some(group) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
        // A group of which nobody is left is the aim, so its error is ignored.
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let _ = child.kill();
    let _ = child.wait();
}

/// A child that did not come to a judgement: the candidate ran past a limit, or the reference did.
fn ended_early(arguments: &Judge, folder: &Path, output: &mut Output) -> Result<(), Failure> {
    let phase = fs::read_to_string(folder.join(PHASE)).unwrap_or_default();
    if phase != OF_CANDIDATE {
        let reference = reference_name(arguments);
        let message = format!("the reference {reference} runs past the limit");
        let hint = "choose a smaller size, or raise --time-limit or --memory-limit";
        return Err(Report::new(message).hint(hint).into());
    }
    let mut judged = Judgement::past_limit(&arguments.candidate, reference_name(arguments));
    judged.confinement = Some(confine::told(limits(arguments), folder));
    output.write(&judgement::document(&judged, arguments.format)?)?;
    ended(Verdict::Wrong)
}

fn reference_name(arguments: &Judge) -> &str {
    arguments.reference.as_deref().unwrap_or("expected values")
}
