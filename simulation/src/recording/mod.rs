//! All that happened on a simulated SM: what each warp did and waited for, and when.
//!
//! | file | idea |
//! |---|---|
//! | `recorder` | the observer that writes a recording |
//! | `critical_path` | the chain of last-arriving dependencies |
//! | `usage` | how much a part of the machine is used, over time |

mod critical_path;
mod recorder;
mod usage;

use crate::observer::Resource;
use crate::states::State;
pub use critical_path::Step;
pub(crate) use recorder::Recorder;
pub use usage::{Sample, Usage};

/// An SM from the start of a launch to the end of its simulated CTAs.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// SMs of the GPU that it stands for.
    pub alike: f64,
    /// Its CTAs, in the order of their starts.
    pub ctas: Vec<Cta>,
    /// Their warps, in the order of their starts.
    pub warps: Vec<Warp>,
    /// Warp instructions, in the order of their issue.
    pub issues: Vec<Issue>,
    /// What warps waited for, issue by issue, each in order of time.
    pub waits: Vec<Wait>,
    /// The issue slots of each sub-core, without a gap.
    pub slots: Vec<Vec<Slots>>,
    /// The use of each resource, in the order of [`Resource::all`].
    pub usage: Vec<Usage>,
    /// The clock at which its simulated CTAs have ended, and the L2 has their stores.
    pub ctas_ended: f64,
    /// The clock at which the launch has ended, if nothing is left out.
    pub end: f64,
    /// The last store, if the L2 takes it behind the last issue.
    pub last_store: Option<u32>,
}

/// A CTA on the SM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cta {
    /// Its class: an index into [`Launch::classes`](crate::launch::Launch::classes).
    pub class: u32,
    /// The recorded CTA of the class that stands for it.
    pub sample: u32,
    /// The clock from which its first warp may issue.
    pub started: u64,
    /// The clock of its last issue.
    pub ended: u64,
}

/// A warp on the SM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Warp {
    /// Index into [`Recording::ctas`].
    pub cta: u32,
    /// Its number in the CTA.
    pub number: u32,
    /// Its sub-core.
    pub sub_core: u32,
    /// The clock from which it may issue.
    pub started: u64,
}

/// The issue of a warp instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Issue {
    /// The clock.
    pub clock: u64,
    /// Index into [`Recording::warps`].
    pub warp: u32,
    /// Index into [`Code::instructions`](crate::code::Code::instructions).
    pub instruction: u32,
    /// The end of its waits in [`Recording::waits`]; they begin where those of the issue before
    /// end.
    pub waits_end: u32,
    /// The issue that it follows on a critical path: of all that it waited for, the last to arrive.
    pub follows: Option<u32>,
    /// What it waited for in between, [`State::Selected`] if for nothing.
    pub waited_for: State,
}

/// Clocks that a warp spent in one state before it issued.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wait {
    /// The state.
    pub state: State,
    /// The first clock; a part of one where an event divides its clocks among states.
    pub from: f64,
    /// The clock behind the last one.
    pub until: f64,
    /// The issue that brings about what the warp waits for, if it waits for one.
    pub producer: Option<u32>,
}

/// Clocks in which the issue slots of a sub-core went to one state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slots {
    /// The state.
    pub state: State,
    /// The first clock.
    pub from: f64,
    /// The clock behind the last one.
    pub until: f64,
}

impl Recording {
    /// What a warp waited for before an issue, in order of time.
    #[must_use]
    pub fn waits_of(&self, issue: usize) -> &[Wait] {
        let end = |at: usize| self.issues.get(at).map_or(0, |issue| issue.waits_end as usize);
        let begin = issue.checked_sub(1).map_or(0, end);
        self.waits.get(begin..end(issue)).unwrap_or(&[])
    }

    /// The use of a resource.
    #[must_use]
    pub fn usage_of(&self, resource: Resource) -> Option<&Usage> {
        self.usage.get(resource.place())
    }
}
