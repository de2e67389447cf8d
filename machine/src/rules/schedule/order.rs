//! The order of a block's instructions: list scheduling.
//!
//! In each clock the instruction issues whose operands are there and from which the longest path
//! leads to the end of the block. Loads are far from their uses in this reckoning, so that the
//! loads of a batch and their addresses come first and all else is put behind them. The registers
//! that loads hold are limited: beyond the limit a load waits for uses of earlier ones.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use gpucast_simulation::code::{AccessKind, Action, Space};

use super::latency::{Latencies, Pipe, Use, expected, is_pair};
use super::node::Node;

/// An order of a block's instructions.
#[derive(Debug, Default)]
pub(super) struct Order {
    /// Indices of the instructions.
    pub(super) nodes: Vec<u32>,
    /// For each place, true if its instruction may issue in the clock of the one before it.
    pub(super) is_paired: Vec<bool>,
}

/// Orders the instructions of a block.
pub(super) fn order(nodes: &[Node], latencies: &Latencies) -> Order {
    let mut scheduler = Scheduler {
        nodes,
        latencies,
        ready_at: vec![0; nodes.len()],
        issued: vec![0; nodes.len()],
        clock: 0,
        free_at: [0; Pipe::COUNT],
        order: Order::default(),
    };
    for region in regions(nodes) {
        scheduler.region(region);
    }
    scheduler.order
}

/// Runs of instructions that may change places; a fence is one of its own.
fn regions(nodes: &[Node]) -> Vec<Range<usize>> {
    let mut regions = Vec::new();
    let mut start = 0;
    for (index, node) in nodes.iter().enumerate() {
        if node.is_fence {
            regions.extend([start..index, index..index + 1]);
            start = index + 1;
        }
    }
    regions.push(start..nodes.len());
    regions.retain(|region| !region.is_empty());
    regions
}

struct Scheduler<'a> {
    nodes: &'a [Node],
    latencies: &'a Latencies,
    /// The clock from which the operands of each instruction are there.
    ready_at: Vec<u32>,
    /// The clock in which each instruction issued.
    issued: Vec<u32>,
    clock: u32,
    /// The clock from which each pipe takes an instruction.
    free_at: [u32; Pipe::COUNT],
    order: Order,
}

/// Instructions that could issue, best first, by pipe; loads are apart.
#[derive(Default)]
struct Ready {
    heaps: [BinaryHeap<Candidate>; Pipe::COUNT + 1],
}

/// Longest path first, then the order of the PTX.
type Candidate = (u32, Reverse<usize>);

/// The heap of loads.
const LOADS: usize = Pipe::COUNT;

/// A dependence of an instruction on an earlier one of the same region.
struct Link {
    to: usize,
    clocks: u32,
}

impl Scheduler<'_> {
    /// Clocks from an instruction to one that uses its result, as an assembler expects them.
    fn clocks(&self, from: usize, to: usize, by: Use) -> u32 {
        let (producer, consumer) = (&self.nodes[from], &self.nodes[to]);
        if self.latencies.is_variable(producer.class) {
            expected(producer.class, producer.is_far())
        } else {
            u32::from(self.latencies.between(producer.class, consumer.class, by))
        }
    }

    fn region(&mut self, region: Range<usize>) {
        let start = region.start;
        let mut links: Vec<Vec<Link>> = region.clone().map(|_| Vec::new()).collect();
        let mut waits_for = vec![0_u32; region.len()];
        for to in region.clone() {
            let node = &self.nodes[to];
            self.ready_at[to] = self.clock;
            let uses = node.sources.iter().map(|source| (source.node as usize, Some(source.by)));
            let orders = node.after.iter().map(|&from| (from as usize, None));
            for (from, by) in uses.chain(orders) {
                let clocks = by.map_or(1, |by| self.clocks(from, to, by));
                if from >= start {
                    links[from - start].push(Link { to, clocks });
                    waits_for[to - start] += 1;
                } else {
                    self.ready_at[to] = self.ready_at[to].max(self.issued[from] + clocks);
                }
            }
        }
        let lengths = self.lengths(start, &links);
        let mut pending = BinaryHeap::new();
        for index in region.clone() {
            if waits_for[index - start] == 0 {
                pending.push(Reverse((self.ready_at[index], index)));
            }
        }
        let mut window = Window::new(self.nodes, region);
        let mut ready = Ready::default();
        let mut last: Option<usize> = None;
        loop {
            while let Some(&Reverse((at, index))) = pending.peek() {
                if at > self.clock {
                    break;
                }
                pending.pop();
                let heap = if window.words(index) > 0 { LOADS } else { self.pipe(index) };
                ready.heaps[heap].push((lengths[index - start], Reverse(index)));
            }
            let partner = last
                .take()
                .and_then(|first| self.best(&ready, &window, |index| self.pairs(first, index)));
            let is_paired = partner.is_some();
            let Some(heap) = partner.or_else(|| self.best(&ready, &window, |_| true)) else {
                let of_pipes = ready.heaps[..LOADS].iter().zip(self.free_at);
                let of_pipes = of_pipes.filter(|(heap, _)| !heap.is_empty()).map(|(_, at)| at);
                let waiting = pending.peek().map(|&Reverse((at, _))| at);
                let loads = &ready.heaps[LOADS];
                let port = self.free_at[Pipe::Memory as usize];
                let of_loads = loads.peek().filter(|_| port > self.clock).map(|_| port);
                match of_pipes.chain(waiting).chain(of_loads).min() {
                    Some(at) => self.clock = self.clock.max(at),
                    // Nothing but loads is left.
                    None if !loads.is_empty() => window.open(),
                    None => break,
                }
                continue;
            };
            let Some((_, Reverse(index))) = ready.heaps[heap].pop() else { break };
            let node = &self.nodes[index];
            self.issued[index] = self.clock;
            self.order.nodes.push(index as u32);
            self.order.is_paired.push(is_paired);
            window.issue(index, self.nodes);
            self.free_at[self.pipe(index)] =
                self.clock + u32::from(self.latencies.interval(node.class));
            for link in &links[index - start] {
                let at = self.issued[index] + link.clocks;
                let to = link.to;
                self.ready_at[to] = self.ready_at[to].max(at);
                waits_for[to - start] -= 1;
                if waits_for[to - start] == 0 {
                    pending.push(Reverse((self.ready_at[to], to)));
                }
            }
            let may_pair = self.latencies.has_dual_issue && !is_paired && !node.is_fence;
            let has_partner = || self.best(&ready, &window, |other| self.pairs(index, other));
            if may_pair && has_partner().is_some() {
                last = Some(index);
            } else {
                let least = self.latencies.least_stall(node.class, node.is_barrier());
                self.clock += u32::from(least);
            }
        }
    }

    fn pipe(&self, index: usize) -> usize {
        Pipe::of(self.nodes[index].class) as usize
    }

    fn pairs(&self, first: usize, second: usize) -> bool {
        is_pair(self.nodes[first].class, self.nodes[second].class)
    }

    /// The heap whose first instruction is the best one that can issue now and fits.
    fn best(&self, ready: &Ready, window: &Window, fits: impl Fn(usize) -> bool) -> Option<usize> {
        let can_issue = |index: usize| {
            self.free_at[self.pipe(index)] <= self.clock
                && window.has_room(index, self.latencies.load_words)
                && fits(index)
        };
        let first = |heap: usize| ready.heaps[heap].peek().copied().map(|first| (first, heap));
        let heaps = (0..ready.heaps.len()).filter_map(first);
        heaps.filter(|&((_, Reverse(index)), _)| can_issue(index)).max().map(|(_, heap)| heap)
    }

    /// For each instruction, the clocks of the longest path from it to the end of the region.
    fn lengths(&self, start: usize, links: &[Vec<Link>]) -> Vec<u32> {
        let mut lengths = vec![0; links.len()];
        for index in (0..links.len()).rev() {
            let node = &self.nodes[start + index];
            // Results that only other blocks use take their time, too.
            let own = if node.has_result && self.latencies.is_variable(node.class) {
                expected(node.class, node.is_far())
            } else {
                1
            };
            let paths = links[index].iter().map(|link| link.clocks + lengths[link.to - start]);
            lengths[index] = paths.fold(own, u32::max);
        }
        lengths
    }
}

/// The registers that loads of a region hold until their last use in it.
struct Window {
    start: usize,
    /// Words that each instruction loads.
    words: Vec<u32>,
    /// Uses of each instruction that have not issued.
    uses: Vec<u32>,
    held: u32,
    /// True if the next load issues in any case.
    is_open: bool,
}

impl Window {
    fn new(nodes: &[Node], region: Range<usize>) -> Self {
        let mut uses = vec![0; region.len()];
        for node in &nodes[region.clone()] {
            for source in &node.sources {
                if let Some(count) =
                    (source.node as usize).checked_sub(region.start).and_then(|at| uses.get_mut(at))
                {
                    *count += 1;
                }
            }
        }
        let words = nodes[region.clone()].iter().map(loaded_words).collect();
        Self { start: region.start, words, uses, held: 0, is_open: false }
    }

    fn words(&self, index: usize) -> u32 {
        self.words[index - self.start]
    }

    const fn open(&mut self) {
        self.is_open = true;
    }

    fn has_room(&self, index: usize, most: u32) -> bool {
        let words = self.words(index);
        words == 0 || self.is_open || self.held == 0 || self.held + words <= most
    }

    fn issue(&mut self, index: usize, nodes: &[Node]) {
        let words = self.words(index);
        if words > 0 {
            self.held += words;
            self.is_open = false;
        }
        for source in &nodes[index].sources {
            let Some(at) = (source.node as usize).checked_sub(self.start) else { continue };
            if let Some(uses) = self.uses.get_mut(at) {
                *uses = uses.saturating_sub(1);
                if *uses == 0 {
                    self.held = self.held.saturating_sub(self.words[at]);
                }
            }
        }
    }
}

/// Registers of 32 bits that an instruction loads from memory.
fn loaded_words(node: &Node) -> u32 {
    match node.action {
        Action::Access(access)
            if access.kind == AccessKind::Load
                && access.space != Space::Constant
                && node.has_result =>
        {
            access.bytes.div_ceil(4).max(1)
        }
        _ => 0,
    }
}
