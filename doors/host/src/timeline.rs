//! What a program's calls and its GPU do over the virtual clock, kept for a timeline.
//!
//! The host takes no time, so a call lasts only while it waits for the GPU. What an engine does
//! never overlaps, and so it has a track of its own for each stream.

use std::cell::RefCell;

use serde::{Deserialize, Serialize};

use crate::clock::{Engine, StreamId};

/// Calls and operations that a process keeps; later ones are counted alone.
const MOST: usize = 500_000;

/// Calls and operations of a process, in the order of their submission.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Timeline {
    /// Calls of CUDA's interfaces.
    pub calls: Vec<Call>,
    /// Work of the GPU.
    pub work: Vec<Work>,
    /// Calls and operations that came when there were too many.
    pub left_out: u64,
}

/// A call of the host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// The function.
    pub name: String,
    /// Its beginning on the virtual clock, in milliseconds.
    pub from_ms: f64,
    /// Its end, which is later if it waited for the GPU.
    pub until_ms: f64,
}

/// An operation of the GPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Work {
    /// What is done.
    pub what: What,
    /// The stream's number.
    pub stream: StreamId,
    /// The place of the call that submitted it, if that was kept.
    pub call: Option<usize>,
    /// Its beginning on the virtual clock, in milliseconds.
    pub start_ms: f64,
    /// Its time in milliseconds.
    pub time_ms: f64,
}

/// A kind of work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// A launch.
    Kernel {
        /// The kernel's name for people.
        name: String,
        /// CTAs in x, y and z.
        grid: [u32; 3],
        /// Threads of a CTA in x, y and z.
        block: [u32; 3],
        /// The resource that the time is spent on, if it was predicted.
        bound: Option<String>,
    },
    /// A copy.
    Copy {
        /// Its direction.
        direction: Direction,
        /// Bytes.
        bytes: u64,
    },
    /// A fill of device memory.
    Fill {
        /// Bytes.
        bytes: u64,
    },
}

/// The direction of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// From the host to the device.
    ToDevice,
    /// From the device to the host.
    ToHost,
    /// Within the device.
    OnDevice,
}

impl From<Engine> for Direction {
    /// The direction of the engine's copies.
    fn from(engine: Engine) -> Self {
        match engine {
            Engine::Compute => Self::OnDevice,
            Engine::ToDevice => Self::ToDevice,
            Engine::ToHost => Self::ToHost,
        }
    }
}

thread_local! {
    /// The places of the calls that this thread is in, the innermost last: a call that waits may
    /// run a callback of the host, which makes calls of its own. `None` is one that is not kept.
    static CALLS: RefCell<Vec<Option<usize>>> = const { RefCell::new(Vec::new()) };
}

impl Timeline {
    fn is_full(&mut self) -> bool {
        let is_full = self.calls.len() + self.work.len() >= MOST;
        self.left_out += u64::from(is_full);
        is_full
    }

    /// A call of this thread begins.
    pub(crate) fn begin(&mut self, name: &str, now_ms: f64) {
        let is_full = self.is_full();
        CALLS.with_borrow_mut(|calls| calls.push((!is_full).then_some(self.calls.len())));
        if is_full {
            return;
        }
        self.calls.push(Call { name: name.to_owned(), from_ms: now_ms, until_ms: now_ms });
    }

    /// The innermost call of this thread ends.
    pub(crate) fn end(&mut self, now_ms: f64) {
        let ended = CALLS.with_borrow_mut(Vec::pop).flatten();
        if let Some(call) = ended.and_then(|at| self.calls.get_mut(at)) {
            call.until_ms = now_ms;
        }
    }

    /// Keeps an operation of the call that this thread is in.
    pub(crate) fn add(&mut self, what: What, stream: StreamId, start_ms: f64, time_ms: f64) {
        if !self.is_full() {
            let call = CALLS.with_borrow(|calls| calls.last().copied().flatten());
            self.work.push(Work { what, stream, call, start_ms, time_ms });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_belongs_to_the_innermost_call() {
        let mut timeline = Timeline::default();
        let fill = || What::Fill { bytes: 4 };
        timeline.begin("cudaStreamSynchronize", 0.0);
        timeline.begin("cudaMemset", 1.0);
        timeline.add(fill(), 0, 1.0, 1.0);
        timeline.end(2.0);
        timeline.add(fill(), 0, 2.0, 1.0);
        timeline.end(3.0);
        // The end of a call whose beginning nobody has told.
        timeline.end(4.0);
        timeline.add(fill(), 0, 4.0, 1.0);
        let calls: Vec<Option<usize>> = timeline.work.iter().map(|work| work.call).collect();
        assert_eq!(calls, [Some(1), Some(0), None]);
        let ends: Vec<f64> = timeline.calls.iter().map(|call| call.until_ms).collect();
        assert_eq!(ends, [3.0, 2.0]);
    }

    #[test]
    fn what_does_not_fit_is_counted() {
        let mut timeline = Timeline::default();
        for _ in 0..MOST - 1 {
            timeline.begin("cudaMemset", 0.0);
        }
        timeline.add(What::Fill { bytes: 4 }, 0, 0.0, 1.0);
        timeline.end(1.0);
        assert_eq!((timeline.left_out, timeline.work[0].call), (0, Some(MOST - 2)));
        timeline.begin("cudaMemset", 1.0);
        timeline.add(What::Fill { bytes: 4 }, 0, 1.0, 1.0);
        timeline.end(2.0);
        assert_eq!(
            (timeline.calls.len(), timeline.work.len(), timeline.left_out),
            (MOST - 1, 1, 2)
        );
    }
}
