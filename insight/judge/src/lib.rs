//! Whether a kernel does what a reference does, safely, and in less time.
//!
//! ```text
//! candidate ─┐ side: opened at a size    ┌─ inputs: the same for both, other ones in each run
//!            ├──────► stage ◄────────────┤
//! reference ─┘  interface: which buffer  └─ trial: a run under all checks ◄── footprint: elements
//!                  is which    │
//!                              ▼
//!        right: sizes × inputs ──► faults ─────┐
//!        cost: work, predicted times, advice ──┴──► Judgement
//! ```
//!
//! | module | idea |
//! |---|---|
//! | [`side`] | a kernel with its launch, which can be opened at any size |
//! | [`interface`] | which buffer of the candidate is which of the reference |
//! | [`sizes`] | odd sizes near the given one |
//! | [`inputs`] | contents of buffers by seeds, with outliers, and random bits where nobody fills |
//! | [`tolerance`] | how far results may be from the reference's |
//! | [`footprint`] | elements that are read and written, and those that blocks share without an order |
//! | [`trial`] | one run, watched |
//! | [`work`] | bytes and operations of both sides, and those that the candidate leaves out |
//! | [`time`] | predicted times, and the interval of their ratio |
//! | [`judgement`] | the answer, as data |
//!
//! The candidate runs in one memory, again and again with other inputs: what it keeps from run to
//! run shows. The reference runs in new memory each time. What the reference writes is the answer,
//! and what it leaves must stay as it is.
//!
//! The crate knows no command line and no terminal, and nothing of how a judgement looks.

mod cost;
pub mod footprint;
pub mod inputs;
pub mod interface;
pub mod judgement;
mod right;
pub mod side;
pub mod sizes;
mod stage;
pub mod time;
pub mod tolerance;
pub mod trial;
pub mod work;

use std::path::{Path, PathBuf};

use gpucast_forecast::Supervisor;
use gpucast_forecast::input::cuda_source;
use gpucast_forecast::input::expression::Parameters;
use gpucast_forecast::input::kernel_argument::ReadFailure;
use gpucast_interpreter::Options;

pub use judgement::{Judgement, Verdict};
pub use side::Side;
pub use time::Forecast;

/// What is to be judged, and how.
pub struct Request<'a> {
    /// The candidate.
    pub candidate: &'a Side,
    /// What it is judged by; without one, expected values alone.
    pub reference: Option<&'a Side>,
    /// Files of values that buffers have after a run with the given inputs.
    pub expected: &'a [Expected],
    /// Values of parameters that take the place of usual ones.
    pub parameters: &'a Parameters,
    /// Runs with different inputs at the given size, at least one.
    pub seeds: u32,
    /// True if odd sizes near the given one are tried, too.
    pub tries_odd_sizes: bool,
    /// The buffers that are results; by default those that the reference's launch file has
    /// expectations of, or else all that the reference writes.
    pub outputs: &'a [String],
    /// Limits in place of the types'.
    pub tolerances: tolerance::Overrides,
    /// Limits of each launch, and the moment at which all of it ends.
    pub options: Options,
    /// How times are predicted; without it nobody asks for them.
    pub forecast: Option<Forecast<'a>>,
    /// Hears which side is at work.
    pub phase: &'a (dyn Fn(Phase) + Sync),
    /// Where else CUDA files lie.
    pub source_root: Option<&'a Path>,
    /// Hears of progress and can end it.
    pub supervisor: &'a dyn Supervisor,
}

/// The values that a buffer should have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected {
    /// The buffer.
    pub buffer: String,
    /// A `.npy` or `.bin` file.
    pub file: PathBuf,
}

impl Request<'_> {
    /// The side that gives inputs and sizes.
    pub(crate) fn given_by(&self) -> &Side {
        self.reference.unwrap_or(self.candidate)
    }

    /// The name of what the candidate is judged by.
    pub(crate) fn reference_name(&self) -> &str {
        self.reference.map_or("expected values", |reference| &reference.input)
    }
}

/// The side that is read, runs or is predicted. Whoever judges in a process of its own knows by it
/// whose fault an early end is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The reference.
    Reference,
    /// The candidate.
    Candidate,
}

/// Judges a candidate.
///
/// # Errors
///
/// What is wrong with the reference, with the launch of either side, or with the request. What is
/// wrong with the candidate's code is the judgement.
pub fn judge(request: &Request<'_>) -> Result<Judgement, ReadFailure> {
    let mut judgement = Judgement::new(&request.candidate.input, request.reference_name());
    if let Some(compared) = right::compare(request, &mut judgement)? {
        let candidate = &compared.stage.candidate;
        let files =
            cuda_source::files(&candidate.plan, &candidate.loaded.module, request.source_root);
        // Nothing is known of the work of a candidate that did not run to its end.
        let was_tried = !judgement.cases.is_empty();
        if judgement.evidence.is_empty() && was_tried && request.reference.is_some() {
            cost::compare(request, &compared, &files, &mut judgement)?;
        }
        judgement.code = Some(judgement::Code { loaded: compared.stage.candidate.loaded, files });
    }
    judgement.conclude();
    Ok(judgement)
}
