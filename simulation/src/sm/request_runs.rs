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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::{AccessKind, Control};
    use crate::launch::WarpTrace;
    use crate::walk::Walk;
    use crate::writer::Writer;

    /// The requests of a loop as the walk finds them, and as runs give them, with the runs.
    fn both(space: Space, rounds: usize, requests: &[Request]) -> [Vec<Option<Request>>; 2] {
        let mut writer = Writer::default();
        writer.end_block().access(space, AccessKind::Load, 4, Control::NEXT).end_block().exit();
        let code = writer.finish();
        let mut trace = WarpTrace::of_loop(rounds, &[]);
        trace.requests = vec![requests.to_vec()];
        let uses = QueueUses::of(&code);
        let walk = Walk::new(&code, &uses, &trace);
        let accesses = walk.filter(|step| matches!(step.instruction.action, Action::Access(_)));
        let walked = accesses.map(|step| step.request).collect();
        let cta = CtaTrace { warps: vec![trace] };
        let queues = Queues::of(&code).of_cta(&cta);
        let queue = &queues[0][0];
        let mut reader = Reader::new(queue);
        let read = (0..rounds).map(|_| reader.next(queue).copied()).collect();
        [walked, read]
    }

    #[test]
    fn runs_give_the_requests_of_the_walk() {
        let of = |at: u16| Request::global(at / 3 % 2, 0, 4).beginning_at(u32::from(at / 3));
        for rounds in [1, 2, 5, 8, 30] {
            for count in [0, 1, 4, 7, 8, 30, 31, 60] {
                let requests: Vec<Request> = (0..count).map(of).collect();
                let [walked, read] = both(Space::Global, rounds, &requests);
                assert_eq!(walked.len(), rounds);
                assert_eq!(walked, read, "{count} requests of {rounds} rounds");
            }
        }
    }

    #[test]
    fn requests_to_shared_memory_are_equal_wherever_they_begin() {
        let requests: Vec<Request> =
            (0..6).map(|at| Request::shared(1 + at / 4).beginning_at(u32::from(at))).collect();
        let [walked, read] = both(Space::Shared, 6, &requests);
        let passes = |all: &[Option<Request>]| -> Vec<Option<u16>> {
            all.iter().map(|one| one.map(|request| request.passes)).collect()
        };
        assert_eq!(passes(&walked), passes(&read));
        assert!(read.iter().flatten().all(|request| request.first_sector.is_none()));
    }
}
