//! Repetitions of a launch that count as the one before them.
//!
//! A launch that is counted by classes writes nothing that its counts depend on. So what a
//! repetition counts follows from the L2 that it finds. Once a repetition leaves the L2 as it found
//! it, all later ones count the same, and none of them is executed.

use gpucast_counters::hierarchy::{L2, L2State};

use crate::run::repetitions::Repetition;

/// Repetitions in a row that may find another L2 than the one before, until nobody asks any more.
/// To hash an L2 of 50 MB takes some milliseconds.
const MOST_CHANGES: u32 = 8;

/// What is known of the last repetition of a launch.
#[derive(Default)]
pub(super) struct Recurrence {
    /// The L2 that it found, if any.
    found: Option<Option<L2State>>,
    /// Its counts, if all of them were counted.
    counted: Option<Repetition>,
    /// Repetitions that found another L2 than the one before.
    changes: u32,
}

impl Recurrence {
    /// A repetition has ended.
    pub(super) fn end(&mut self, repetition: &Repetition) {
        let is_counted = repetition.profile.intervals.is_empty();
        self.counted = is_counted.then(|| repetition.untraced());
    }

    /// True if a repetition that is about to find this L2 counts as the last one did.
    pub(super) fn is_before(&mut self, l2: Option<&mut L2>) -> bool {
        if self.changes > MOST_CHANGES {
            return false;
        }
        let found = l2.map(L2::state);
        let is_same = self.found.replace(found) == Some(found);
        self.changes = if is_same { 0 } else { self.changes + 1 };
        is_same && self.counted.is_some()
    }

    /// The counts of the last repetition, if all of them were counted.
    pub(super) fn counted(&self) -> Option<Repetition> {
        self.counted.clone()
    }
}
