//! Stops a run from outside: its host asks for it, or its time is over.
//!
//! The engine asks every few CTAs, and every few rounds of a CTA.

use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Instant;

use crate::launch::{Host, StopReason};

/// The sources that can end a run early. They are asked now and then; the answer is kept for all
/// threads.
pub(crate) struct Stop<'a> {
    host: &'a dyn Host,
    deadline: Option<Instant>,
    /// [`RUNNING`], [`ASKED`] or [`DEADLINE`].
    state: AtomicU8,
}

const RUNNING: u8 = 0;
const ASKED: u8 = 1;
const DEADLINE: u8 = 2;

impl<'a> Stop<'a> {
    pub(crate) fn new(host: &'a dyn Host, deadline: Option<Instant>) -> Self {
        Self { host, deadline, state: AtomicU8::new(RUNNING) }
    }

    /// Asks the sources and returns true if the run is to stop; once true, always true.
    pub(crate) fn poll(&self) -> bool {
        if self.reason().is_some() {
            return true;
        }
        let state = if self.host.stop() {
            ASKED
        } else if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            DEADLINE
        } else {
            return false;
        };
        self.state.store(state, Ordering::Relaxed);
        true
    }

    /// Returns the reason for the stop, if the run stops.
    pub(crate) fn reason(&self) -> Option<StopReason> {
        match self.state.load(Ordering::Relaxed) {
            RUNNING => None,
            ASKED => Some(StopReason::Asked),
            _ => Some(StopReason::Deadline),
        }
    }
}
