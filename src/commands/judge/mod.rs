//! `gpucast judge`: a candidate beside a reference, in a process of its own.
//!
//! ```text
//! parent: folder, limit of time ──► child: confine ──► judging ──► document, status
//!    └── ends it at the limit; whose fault that is stands in the folder ◄── phase
//! ```

mod judging;
mod parent;
mod readable;

use std::fs;
use std::path::{Path, PathBuf};

use gpucast_judge::{Phase, Verdict};

use crate::cli::judge::Judge;
use crate::confine::{Confined, Limits};
use crate::failure::Failure;

/// The files and folders that a confined process reads to judge.
pub(crate) fn readable(arguments: &Judge) -> Vec<PathBuf> {
    readable::readable(arguments)
}

/// Judges here if the process is confined, else in one that is.
pub(crate) fn run(arguments: &Judge, confined: Option<Confined>) -> Result<(), Failure> {
    let Some(Confined { folder, held }) = confined else { return parent::run(arguments) };
    let phase = |phase: Phase| tell(&folder, phase);
    ended(judging::judge_here(arguments, held, &phase)?)
}

fn limits(arguments: &Judge) -> Limits {
    Limits { seconds: arguments.time_limit, bytes: arguments.memory_limit }
}

/// The file in which a child says which side is at work.
const PHASE: &str = "phase";
const OF_CANDIDATE: &str = "candidate";

/// Says which side is at work. If it cannot be said, an early end is the reference's.
fn tell(folder: &Path, phase: Phase) {
    let word = match phase {
        Phase::Reference => "reference",
        Phase::Candidate => OF_CANDIDATE,
    };
    let _ = fs::write(folder.join(PHASE), word);
}

/// The end of the program with a verdict.
fn ended(verdict: Verdict) -> Result<(), Failure> {
    match status(verdict) {
        0 => Ok(()),
        status => Err(Failure::Exit(status)),
    }
}

/// The exit status of a verdict. The statuses of the program's own failures are others.
fn status(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Faster => 0,
        Verdict::Wrong => 10,
        Verdict::Unsafe => 11,
        Verdict::Slower => 12,
        Verdict::Unsure => 13,
    }
}
