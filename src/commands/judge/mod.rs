//! `gpucast judge`: a candidate beside a reference, in a process of its own.
//!
//! ```text
//! parent: folder, limit of time ──► child: confine ──► judging ──► document, status
//!    └── ends it at the limit; whose fault that is stands in the folder ◄── phase
//! ```

mod confine;
mod judging;
mod parent;

use std::fs;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use gpucast_judge::judgement::Confinement;
use gpucast_judge::{Phase, Verdict};

use crate::cli::judge::Judge;
use crate::failure::Failure;

static CONFINED: Mutex<Option<Confinement>> = Mutex::new(None);

/// Gives up what the process that judges does not need, before it has read anything of a
/// candidate. The process that starts it stays as it is.
pub(crate) fn confine(arguments: &Judge) -> Result<(), Failure> {
    if let Some(folder) = &arguments.confined {
        let confinement = confine::confine(arguments, folder)?;
        confine::tell(&confinement, folder);
        *CONFINED.lock().unwrap_or_else(PoisonError::into_inner) = Some(confinement);
    }
    Ok(())
}

pub(crate) fn run(arguments: &Judge) -> Result<(), Failure> {
    let Some(folder) = &arguments.confined else { return parent::run(arguments) };
    let confinement = CONFINED.lock().unwrap_or_else(PoisonError::into_inner).take();
    let phase = |phase: Phase| tell(folder, phase);
    ended(judging::judge_here(arguments, confinement, &phase)?)
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
