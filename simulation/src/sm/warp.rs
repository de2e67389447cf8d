//! A warp on its way through the code.

use std::collections::VecDeque;

use super::blocked::Blocked;
use super::prepared::Prepared;
use super::request_runs::{Reader, WarpQueues};
use super::scoreboard::{Done, Event, Scoreboard};
use crate::launch::{Request, WarpTrace};

/// A resident warp, or the room of one that ended.
#[derive(Clone, Debug, Default)]
pub(super) struct Warp<'a, T> {
    trace: Option<&'a WarpTrace>,
    /// Position in the trace's path.
    at: usize,
    pub(super) pc: u32,
    end: u32,
    /// Requests of each queue.
    queues: Option<WarpQueues>,
    /// Its place in each queue whose executions differ.
    readers: Vec<Reader>,
    pub(super) scoreboard: Scoreboard<T>,
    pub(super) cta: u32,
    pub(super) sub_core: u32,
    /// Its place among the residents of the sub-core.
    pub(super) at_sub_core: u32,
    /// The clock from which it may issue but for barriers and fetches.
    pub(super) resume: u64,
    /// The clock from which it may issue but for the constant of its next instruction.
    pub(super) fetched: u64,
    /// What its next instruction waits for.
    pub(super) event: Event<T>,
    /// What its last instruction made it wait for.
    pub(super) awaited: Event<T>,
    pub(super) issued_at: u64,
    pub(super) stall: u8,
    pub(super) blocked: Option<Blocked>,
    pub(super) arrived: u64,
    /// The arrival that let it go on at the last barrier.
    pub(super) released_by: T,
    pub(super) is_new: bool,
    /// The latest of its asynchronous copies.
    pub(super) copied: Event<T>,
    /// The latest of its transfers between tensor memory and registers.
    pub(super) transferred: Event<T>,
    /// Its asynchronous products.
    pub(super) products: VecDeque<Product<T>>,
    issues: Issues,
}

/// A product that runs beside its warp.
#[derive(Clone, Copy, Debug)]
pub(super) struct Product<T> {
    pub(super) done: Done<T>,
    /// True if it is the last one of its group.
    pub(super) ends_group: bool,
}

/// The clocks at which a warp issued its latest instructions.
#[derive(Clone, Debug)]
struct Issues {
    /// Low bits of the clocks, each at the number of its instruction.
    clocks: [u32; LATEST],
    /// Instructions so far; it wraps.
    count: u32,
}

/// Instructions of which the clock is remembered.
const LATEST: usize = 64;

impl Default for Issues {
    fn default() -> Self {
        Self { clocks: [0; LATEST], count: 0 }
    }
}

impl<'a, T: Copy + Default> Warp<'a, T> {
    /// Begins a trace. Returns false if it executes nothing.
    pub(super) fn begin(
        &mut self,
        code: &Prepared,
        trace: &'a WarpTrace,
        queues: &WarpQueues,
        cta: u32,
        clock: u64,
    ) -> bool {
        self.trace = Some(trace);
        self.cta = cta;
        self.scoreboard.reset(code.barriers);
        self.readers.clear();
        self.readers.extend(queues.readers());
        self.queues = Some(queues.clone());
        self.products.clear();
        self.copied = Event::default();
        self.transferred = Event::default();
        self.awaited = Event::default();
        self.event = Event::default();
        self.issued_at = clock;
        self.issues.count = 0;
        self.stall = 0;
        self.blocked = None;
        self.is_new = true;
        self.at = 0;
        self.enter(code)
    }

    /// Enters the block at its position of the path, or the next one that is not empty.
    fn enter(&mut self, code: &Prepared) -> bool {
        let Some(trace) = self.trace else { return false };
        while let Some(&block) = trace.path.get(self.at) {
            if let Some(&(first, end)) = code.blocks.get(block as usize)
                && first < end
            {
                (self.pc, self.end) = (first, end);
                return true;
            }
            self.at += 1;
        }
        false
    }

    /// Remembers that an instruction issues.
    #[inline]
    pub(super) fn note_issue(&mut self, clock: u64) {
        self.issued_at = clock;
        self.issues.clocks[self.issues.count as usize % LATEST] = clock as u32;
        self.issues.count = self.issues.count.wrapping_add(1);
    }

    /// Clocks since it issued the instruction so many before the one that issues now, if it has
    /// issued as many.
    pub(super) fn clocks_since(&self, instructions_ago: u8, clock: u64) -> Option<u32> {
        let ago = u32::from(instructions_ago);
        let is_known = ago < self.issues.count && (ago as usize) < LATEST;
        let place = self.issues.count.wrapping_sub(ago) as usize % LATEST;
        match ago {
            0 => Some(0),
            _ => is_known.then(|| (clock as u32).wrapping_sub(self.issues.clocks[place])),
        }
    }

    /// Goes on to the instruction after one with a stall count. Returns false at the end of the
    /// path.
    #[inline]
    pub(super) fn advance(&mut self, code: &Prepared, stall: u8) -> bool {
        self.stall = stall;
        self.is_new = false;
        self.pc += 1;
        if self.pc < self.end {
            return true;
        }
        self.at += 1;
        self.enter(code)
    }

    /// Takes its groups of products but for the latest `pending`. Returns the last one of them.
    /// Products behind the last group are one that is not closed yet.
    pub(super) fn take_products(&mut self, pending: usize) -> Option<Done<T>> {
        let is_open = self.products.back().is_some_and(|product| !product.ends_group);
        let closed = self.products.iter().filter(|product| product.ends_group).count();
        let mut groups = closed + usize::from(is_open);
        let mut last: Option<Done<T>> = None;
        while groups > pending {
            let Some(Product { done, ends_group }) = self.products.pop_front() else { break };
            groups -= usize::from(ends_group || self.products.is_empty());
            last = last.filter(|last| last.clock >= done.clock).or(Some(done));
        }
        last
    }

    pub(super) fn blocked_since(&self) -> Option<u64> {
        self.blocked.map(|_| self.arrived)
    }

    /// The request of the next execution of an instruction with this queue, of its own or of those
    /// that warps share.
    #[inline]
    pub(super) fn next_request<'q>(
        &'q mut self,
        queue: Option<u32>,
        shared: &'q [Request],
    ) -> Option<&'q Request> {
        self.queues.as_ref()?.next(queue? as usize, &mut self.readers, shared)
    }
}
