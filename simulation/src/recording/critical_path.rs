//! The critical path of an SM: the chain of last-arriving dependencies.
//!
//! Of all that an instruction waits for, one thing arrives last: the result of another instruction,
//! the last warp at a barrier, the warp that had the issue slot, the instruction in its unit. The
//! chain goes back from the end of the SM to the start of the launch, and its steps add up to the
//! time.

use super::{Issue, Recording};
use crate::states::State;

/// A step of the critical path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// The first clock.
    pub from: f64,
    /// The clock behind the last one.
    pub until: f64,
    /// What the time went to.
    pub state: State,
    /// The issue that ends the step; `None` behind the last one.
    pub issue: Option<u32>,
}

impl Recording {
    /// The steps from the start of the launch to the end of its simulated CTAs, in order of time,
    /// without a gap.
    #[must_use]
    pub fn critical_path(&self) -> Vec<Step> {
        let last = self.last_store.or_else(|| (self.issues.len() as u32).checked_sub(1));
        let mut until = last.and_then(|last| self.clock(last)).unwrap_or(0.0);
        let mut steps = Vec::new();
        // What is left is the L2's, which takes the stores, or that of the end of the launch.
        let behind = |from: f64, until: f64, state| Step { from, until, state, issue: None };
        if self.end > self.ctas_ended {
            steps.push(behind(self.ctas_ended, self.end, State::Tail));
        }
        if self.ctas_ended > until {
            let state = if self.last_store.is_some() { State::L2Queue } else { State::Selected };
            steps.push(behind(until, self.ctas_ended, state));
        }
        let mut next = last;
        while let Some(at) = next
            && let Some(&Issue { follows, waited_for, .. }) = self.issues.get(at as usize)
        {
            // An issue follows an earlier one, so that the chain has an end.
            let before = follows.filter(|&before| before < at);
            let from = before.and_then(|before| self.clock(before)).unwrap_or(0.0);
            let state = if before.is_some() { waited_for } else { State::Launch };
            steps.push(Step { from, until, state, issue: Some(at) });
            (until, next) = (from, before);
        }
        steps.retain(|step| step.until > step.from);
        steps.reverse();
        steps
    }

    fn clock(&self, issue: u32) -> Option<f64> {
        self.issues.get(issue as usize).map(|issue| issue.clock as f64)
    }
}
