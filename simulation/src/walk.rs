//! A warp's way through the code: its instructions in order, each with its request.

use std::slice::Iter;

use crate::code::{Action, Code, Instruction, MemoryAccess};
use crate::launch::{Request, WarpTrace};

/// For each block, the queues that its instructions read and how often.
#[derive(Clone, Debug, Default)]
pub struct QueueUses {
    of_block: Vec<Vec<(u32, u64)>>,
}

impl QueueUses {
    /// The queues that the blocks of some code read.
    #[must_use]
    pub fn of(code: &Code) -> Self {
        let of_block = |block: usize| {
            let block = code.range(block);
            let mut uses: Vec<(u32, u64)> = Vec::new();
            for instruction in &code.instructions[block.start as usize..block.end as usize] {
                if let Action::Access(MemoryAccess { queue: Some(queue), .. }) = instruction.action
                {
                    match uses.iter_mut().find(|(one, _)| *one == queue) {
                        Some((_, count)) => *count += 1,
                        None => uses.push((queue, 1)),
                    }
                }
            }
            uses
        };
        Self { of_block: (0..code.blocks.len()).map(of_block).collect() }
    }

    /// Executions of instructions of each queue by a warp.
    pub(crate) fn executions(&self, warp: &WarpTrace) -> Vec<u64> {
        let mut executions = vec![0; warp.requests.len()];
        for &block in &warp.path {
            for &(queue, count) in self.of_block.get(block as usize).into_iter().flatten() {
                if let Some(executions) = executions.get_mut(queue as usize) {
                    *executions += count;
                }
            }
        }
        executions
    }
}

/// Executions of a queue by a warp so far, and all of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor {
    executions: u64,
    /// Executions so far times requests, over all executions: quotient and remainder.
    taken: u64,
    remainder: u64,
}

impl Cursor {
    /// Before the first of some executions.
    pub(crate) fn new(executions: u64) -> Self {
        Self { executions: executions.max(1), taken: 0, remainder: 0 }
    }

    /// The place of the next execution's request among as many; see [`WarpTrace::requests`].
    #[inline]
    pub(crate) fn next(&mut self, requests: u64) -> Option<u64> {
        let before = self.taken;
        self.remainder += requests;
        // As a rule each execution has one request or none, and nothing has to be divided.
        if self.remainder >= 2 * self.executions {
            self.taken += self.remainder / self.executions;
            self.remainder %= self.executions;
        } else if self.remainder >= self.executions {
            self.taken += 1;
            self.remainder -= self.executions;
        }
        (self.taken != before && before < requests).then_some(before)
    }
}

/// An instruction on a warp's way.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    /// Its place in the code.
    pub at: usize,
    /// The instruction.
    pub instruction: &'a Instruction,
    /// The request of its access; `None` if it has none, or if no lane takes part.
    pub request: Option<Request>,
}

/// The instructions of a warp in order.
#[derive(Clone, Debug)]
pub struct Walk<'a> {
    code: &'a Code,
    warp: &'a WarpTrace,
    path: Iter<'a, u32>,
    cursors: Vec<Cursor>,
    next: u32,
    end: u32,
}

impl<'a> Walk<'a> {
    /// Begins at the warp's first instruction.
    #[must_use]
    pub fn new(code: &'a Code, uses: &QueueUses, warp: &'a WarpTrace) -> Self {
        let cursors = uses.executions(warp).into_iter().map(Cursor::new).collect();
        Self { code, warp, path: warp.path.iter(), cursors, next: 0, end: 0 }
    }
}

impl<'a> Iterator for Walk<'a> {
    type Item = Step<'a>;

    fn next(&mut self) -> Option<Step<'a>> {
        while self.next == self.end {
            let block = self.code.range(*self.path.next()? as usize);
            (self.next, self.end) = (block.start, block.end);
        }
        let at = self.next as usize;
        self.next += 1;
        let instruction = &self.code.instructions[at];
        let queue = match instruction.action {
            Action::Access(MemoryAccess { queue, .. }) => queue,
            _ => None,
        };
        let request = queue.and_then(|queue| {
            let requests = self.warp.requests.get(queue as usize)?;
            let place = self.cursors.get_mut(queue as usize)?.next(requests.len() as u64)?;
            requests.get(place as usize).copied()
        });
        Some(Step { at, instruction, request })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Execution *k* of *n* has request ⌊*k* · *r* / *n*⌋ of *r*, if the next one has another.
    #[test]
    fn requests_are_spread_evenly_over_executions() {
        for executions in [0, 1, 2, 3, 7, 8, 20] {
            for count in 0..25_u64 {
                let mut cursor = Cursor::new(executions);
                for at in 0..executions {
                    let (before, after) = (at * count / executions, (at + 1) * count / executions);
                    let expected = (before != after).then_some(before);
                    assert_eq!(cursor.next(count), expected, "{at} of {executions}, {count}");
                }
            }
        }
    }
}
