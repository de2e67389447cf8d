//! The requests of a recorded warp, as runs of equal ones.
//!
//! A loop over a tile of shared memory asks the same thousands of times. The warps of an SM read
//! hundreds of such queues side by side, so that each would come from far in the host's memory.
//! Where every execution of an instruction asks the same, all warps share one copy of the request,
//! and none has a place in its queue.

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

/// Where the requests of a queue are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum QueuePlace {
    /// Each execution has the same request: its number among those that warps share.
    Shared(u32),
    /// Executions differ: its number among such queues of the warp.
    OfWarp(u32),
}

/// The queues of a warp.
#[derive(Clone, Debug)]
pub(super) struct WarpQueues {
    /// By queue. Warps with equal places share them.
    places: Rc<[QueuePlace]>,
    /// Queues whose executions differ.
    runs: Rc<[QueueRuns]>,
}

impl WarpQueues {
    /// A warp's places in its queues, before the first execution.
    pub(super) fn readers(&self) -> impl Iterator<Item = Reader> {
        self.runs.iter().map(Reader::new)
    }

    /// The request of the next execution of an instruction of `queue`. `shared` are the requests
    /// that warps share ([`Queues::shared`]).
    #[inline]
    pub(super) fn next<'q>(
        &'q self,
        queue: usize,
        readers: &mut [Reader],
        shared: &'q [Request],
    ) -> Option<&'q Request> {
        match *self.places.get(queue)? {
            QueuePlace::Shared(number) => shared.get(number as usize),
            QueuePlace::OfWarp(number) => {
                let number = number as usize;
                readers.get_mut(number)?.next(self.runs.get(number)?)
            }
        }
    }
}

/// The queues of each warp of a recorded CTA.
pub(super) type CtaQueues = Vec<WarpQueues>;

/// Requests that warps share, at most: each is looked for among them. Those of shared memory differ
/// in lanes and passes, which take few values.
const MOST_SHARED: usize = 256;

/// What the requests of some code are read for.
#[derive(Clone, Debug)]
pub(super) struct Queues {
    uses: QueueUses,
    /// True for queues of accesses to shared memory alone, if a request says so: nobody asks which
    /// sectors it begins with.
    is_shared: Vec<bool>,
    shared: Vec<Request>,
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
        Self { uses: QueueUses::of(code), is_shared, shared: Vec::new() }
    }

    /// The requests that warps share.
    #[inline]
    pub(super) fn shared(&self) -> &[Request] {
        &self.shared
    }

    /// The requests of a recorded CTA.
    pub(super) fn of_cta(&mut self, trace: &CtaTrace) -> CtaQueues {
        let mut of_warps = CtaQueues::with_capacity(trace.warps.len());
        for warp in &trace.warps {
            let executions = self.uses.executions(warp);
            let (mut places, mut runs) = (Vec::new(), Vec::new());
            for (at, (all, executions)) in warp.requests.iter().zip(executions).enumerate() {
                let queue = self.of_queue(at, all, executions);
                places.push(match self.share(&queue) {
                    Some(number) => QueuePlace::Shared(number),
                    None => {
                        runs.push(queue);
                        QueuePlace::OfWarp(runs.len() as u32 - 1)
                    }
                });
            }
            let places = match of_warps.last() {
                Some(WarpQueues { places: last, .. }) if **last == *places => Rc::clone(last),
                _ => places.into(),
            };
            of_warps.push(WarpQueues { places, runs: runs.into() });
        }
        of_warps
    }

    /// The number of the request that all executions of a queue have, if it is worth sharing.
    fn share(&mut self, queue: &QueueRuns) -> Option<u32> {
        let QueueRuns { runs, requests, executions } = queue;
        let [Run { request, .. }] = runs[..] else { return None };
        if requests != executions || request.first_sector.is_some() {
            return None;
        }
        let number = self.shared.iter().position(|known| *known == request);
        let number = number.or_else(|| {
            (self.shared.len() < MOST_SHARED).then(|| {
                self.shared.push(request);
                self.shared.len() - 1
            })
        })?;
        Some(number as u32)
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
        let mut queues = Queues::of(&code);
        let of_warp = &queues.of_cta(&cta)[0];
        let mut readers: Vec<Reader> = of_warp.readers().collect();
        let mut next = || of_warp.next(0, &mut readers, queues.shared()).copied();
        let read = (0..rounds).map(|_| next()).collect();
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
    fn warps_whose_executions_ask_the_same_share_the_request() {
        let mut writer = Writer::default();
        writer.end_block().access(Space::Shared, AccessKind::Load, 4, Control::NEXT);
        writer.end_block().exit();
        let code = writer.finish();
        let trace = |requests: Vec<Request>| {
            let mut trace = WarpTrace::of_loop(6, &[]);
            trace.requests = vec![requests];
            trace
        };
        let equal = |passes| vec![Request::shared(passes); 6];
        let warps = vec![trace(equal(2)), trace(equal(2)), trace(equal(1)), trace(vec![])];
        let differing = trace([equal(2)[..3].to_vec(), equal(1)[..3].to_vec()].concat());
        let fewer = trace(equal(2)[..5].to_vec());
        let cta = CtaTrace { warps: [warps, vec![differing, fewer]].concat() };
        let mut queues = Queues::of(&code);
        let of_cta = queues.of_cta(&cta);
        let shared: Vec<_> = of_cta.iter().map(|warp| warp.places[0]).collect();
        let of_warp = QueuePlace::OfWarp(0);
        let expected = [0, 0, 1].map(QueuePlace::Shared).into_iter().chain([of_warp; 3]);
        assert!(shared.iter().copied().eq(expected), "{shared:?}");
        assert_eq!(queues.shared().len(), 2);
        assert!(Rc::ptr_eq(&of_cta[0].places, &of_cta[1].places));
    }

    #[test]
    fn requests_to_shared_memory_are_equal_wherever_they_begin() {
        let requests: Vec<Request> =
            (0..6).map(|at| Request::shared(1 + at / 4).beginning_at(u32::from(at))).collect();
        let [walked, read] = both(Space::Shared, 6, &requests);
        let passes = |all: &[Option<Request>]| -> Vec<Option<u16>> {
            all.iter().map(|drawn| drawn.map(|request| request.passes)).collect()
        };
        assert_eq!(passes(&walked), passes(&read));
        assert!(read.iter().flatten().all(|request| request.first_sector.is_none()));
    }
}
