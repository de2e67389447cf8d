//! A rehearsal of a plan's launches, which leaves the L2 to them as a loop around them does.
//!
//! A launch of a loop finds what the one before it left: lines in the L2, some of them dirty, and
//! values in its buffers. So with [`L2Contents::Repeated`] each launch of the plan is executed
//! once more before all of them, and what that counts is dropped. Repetitions of a launch leave the
//! same, so that one of them is rehearsal enough. Nobody hears of it, and what the kernels print
//! goes nowhere.

use std::borrow::Cow;

use gpucast_counters::hierarchy::L2Contents;

use crate::input::plan::{Plan, PlannedLaunch};

/// A plan with its rehearsal in front, if it has one.
pub(super) fn rehearsed(plan: &Plan) -> Cow<'_, Plan> {
    if plan.l2 != L2Contents::Repeated {
        return Cow::Borrowed(plan);
    }
    let once = |launch: &PlannedLaunch| PlannedLaunch { repeat: 1, ..launch.clone() };
    let mut launches: Vec<PlannedLaunch> = plan.launches.iter().map(once).collect();
    launches.extend(plan.launches.iter().cloned());
    Cow::Owned(Plan { launches, ..plan.clone() })
}

/// The launches of a plan with its rehearsal whose counts are dropped.
pub(super) fn dropped(rehearsed: &Plan) -> usize {
    match rehearsed.l2 {
        L2Contents::Repeated => rehearsed.launches.len() / 2,
        L2Contents::Cold | L2Contents::Keep | L2Contents::Warm | L2Contents::Overwritten => 0,
    }
}
