//! The requests of a recorded warp, as runs of equal ones.
//!
//! A loop over a tile of shared memory asks the same thousands of times. The warps of an SM read
//! hundreds of such queues side by side, so that each would come from far in the host's memory.

use std::rc::Rc;

use crate::code::{Action, Code, MemoryAccess, Space};
use crate::launch::{CtaTrace, Request};
use crate::walk::{Cursor, QueueUses};

/// Equal requests that follow each other.
#[derive(Clone, Copy, Debug)]
struct Run {
    request: Request,
    /// The place behind the last one.
    end: u64,
}

/// The requests of a queue of a warp.
#[derive(Clone, Debug)]
pub(super) struct QueueRuns {
    runs: Vec<Run>,
    requests: u64,
    /// Executions of instructions of the queue.
    executions: u64,
}

/// The queues of each warp of a recorded CTA.
pub(super) type CtaQueues = Vec<Rc<[QueueRuns]>>;

/// What the requests of some code are read for.
#[derive(Clone, Debug)]
pub(super) struct Queues {
    uses: QueueUses,
    /// True for queues of accesses to shared memory alone, if a request says so: nobody asks which
    /// sectors it begins with.
    is_shared: Vec<bool>,
}

impl Queues {
    pub(super) fn of(code: &Code) -> Self {
        let mut is_shared = vec![true; code.queues as usize];
        for instruction in &code.instructions {
            if let Action::Access(MemoryAccess { space, queue: Some(queue), .. }) =
                instruction.action
                && !matches!(space, Space::Shared | Space::Generic)
                && let Some(is_shared) = is_shared.get_mut(queue as usize)
            {
                *is_shared = false;
            }
        }
        Self { uses: QueueUses::of(code), is_shared }
    }

    /// The requests of a recorded CTA.
    pub(super) fn of_cta(&self, trace: &CtaTrace) -> CtaQueues {
        trace
            .warps
            .iter()
            .map(|warp| {
                let executions = self.uses.executions(warp);
                let queues = warp.requests.iter().zip(executions).enumerate();
                queues.map(|(at, (all, executions))| self.of_queue(at, all, executions)).collect()
            })
            .collect()
    }

    fn of_queue(&self, at: usize, all: &[Request], executions: u64) -> QueueRuns {
        let is_shared = self.is_shared.get(at).copied().unwrap_or(false);
        let mut runs: Vec<Run> = Vec::new();
        for (place, request) in all.iter().enumerate() {
            let mut request = *request;
            if is_shared && request.space == Space::Shared {
                request.first_sector = None;
            }
            let end = place as u64 + 1;
            match runs.last_mut() {
                Some(run) if run.request == request => run.end = end,
                _ => runs.push(Run { request, end }),
            }
        }
        QueueRuns { runs, requests: all.len() as u64, executions }
    }
}

/// A warp's place in a queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader {
    cursor: Cursor,
    run: usize,
}

impl Reader {
    /// Before the first execution.
    pub(super) fn new(queue: &QueueRuns) -> Self {
        Self { cursor: Cursor::new(queue.executions), run: 0 }
    }

    /// The request of the next execution.
    #[inline]
    pub(super) fn next<'q>(&mut self, queue: &'q QueueRuns) -> Option<&'q Request> {
        let place = self.cursor.next(queue.requests)?;
        while place >= queue.runs.get(self.run)?.end {
            self.run += 1;
        }
        queue.runs.get(self.run).map(|run| &run.request)
    }
}
