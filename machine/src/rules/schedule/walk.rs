//! The way of recorded warps through the blocks of machine code, and their requests by queue.

use std::collections::{BTreeMap, HashMap};

use gpucast_counters::trace::{CtaRecord, WarpRecord};
use gpucast_simulation::code::Space;
use gpucast_simulation::launch::{Beside, CtaTrace, Request, WarpTrace};
use smallvec::SmallVec;

use super::super::Compiled;
use super::super::branches::home;
use super::layout::{Layout, Visit};

/// The source of the requests of a queue.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    /// The operation whose requests they are.
    pub(super) operation: u32,
    /// The space of its accesses.
    pub(super) space: Space,
    /// Operations whose accesses became part of its own.
    pub(super) followers: SmallVec<[u32; 3]>,
    /// Machine instructions that divide each of its requests among them.
    pub(super) parts: u32,
}

/// What a walk needs to know of the program.
pub(super) struct Walker<'a, 'p> {
    pub(super) compiled: &'a Compiled<'p>,
    pub(super) layout: &'a Layout,
    /// Machine instructions of each block.
    pub(super) lengths: &'a [u32],
    pub(super) queues: &'a [Queue],
}

impl Walker<'_, '_> {
    pub(super) fn cta(&self, record: &CtaRecord) -> CtaTrace {
        CtaTrace { warps: record.warps.iter().map(|warp| self.warp(warp)).collect() }
    }

    fn warp(&self, record: &WarpRecord) -> WarpTrace {
        let path = self.path(record);
        let rounds = Rounds::new(self.compiled, record);
        let requests =
            self.queues.iter().map(|queue| self.requests(queue, record, &rounds)).collect();
        let machine: u64 = path.iter().map(|&block| u64::from(self.lengths[block as usize])).sum();
        let of_ptx = |block: u32| {
            let block = &self.compiled.graph.blocks[block as usize];
            u64::from(block.end - block.first)
        };
        let blocks = record.blocks.iter().filter(|visit| self.is_block(visit.block));
        let ptx: u64 = blocks.map(|visit| of_ptx(visit.block)).sum();
        // What was left out has as many machine instructions for one of PTX as the rest.
        let left_out = u128::from(record.left_out_instructions) * u128::from(machine);
        let left_out = left_out.checked_div(u128::from(ptx)).unwrap_or_default();
        WarpTrace {
            path,
            requests,
            left_out_instructions: u64::try_from(left_out).unwrap_or(u64::MAX),
        }
    }

    fn is_block(&self, block: u32) -> bool {
        (block as usize) < self.layout.visits.len()
    }

    fn path(&self, record: &WarpRecord) -> Vec<u32> {
        let mut path = Vec::new();
        // Executions of each block of PTX so far, and how many of them a final block has ended.
        let mut executed: HashMap<u32, u64> = HashMap::new();
        let mut ended: HashMap<u32, u64> = HashMap::new();
        let mut visits = record.blocks.iter().map(|visit| visit.block).peekable();
        while let Some(block) = visits.next() {
            let Some(visit) = self.layout.visits.get(block as usize) else { continue };
            *executed.entry(block).or_default() += 1;
            match visit {
                Visit::Absorbed => {}
                Visit::Block(machine) => path.push(*machine),
                Visit::RunInto { block: machine, from } => {
                    let came: u64 = from.iter().filter_map(|from| executed.get(from)).sum();
                    let ended = ended.entry(block).or_default();
                    if came > *ended {
                        *ended += 1;
                        path.push(*machine);
                    }
                }
                Visit::Loop { entry, rounds } => {
                    let mut count = 1_usize;
                    while visits.next_if_eq(&block).is_some() {
                        count += 1;
                    }
                    path.push(*entry);
                    let whole = rounds.len().max(1);
                    if let Some(all) = rounds.last() {
                        path.extend(std::iter::repeat_n(*all, count / whole));
                    }
                    let rest = (count % whole).checked_sub(1).and_then(|rest| rounds.get(rest));
                    path.extend(rest);
                }
            }
        }
        path.retain(|&block| self.lengths[block as usize] > 0);
        path
    }

    /// The requests of a queue, one for each execution of its machine instructions where that is
    /// known.
    fn requests(&self, queue: &Queue, record: &WarpRecord, rounds: &Rounds) -> Vec<Request> {
        let of = |operation| record.requests.get(&operation).map_or(&[][..], Vec::as_slice);
        let mut requests = of(queue.operation).to_vec();
        for &follower in &queue.followers {
            // Instructions of one block differ only if they have guards.
            let other = of(follower);
            if other.len() == requests.len() {
                requests.iter_mut().zip(other).for_each(|(one, other)| one.join(other));
            }
        }
        let block = self.compiled.graph.op(queue.operation).block;
        let is_guarded = home(&self.compiled.graph, block) != block;
        if is_guarded {
            requests = rounds.spread(self.compiled, block, queue.space, requests);
        }
        if queue.parts > 1 && requests.len() as u64 == rounds.executions(self.compiled, block) {
            let parts = |request: &Request| divide(*request, queue.parts);
            requests = requests.iter().flat_map(parts).collect();
        }
        requests
    }
}

/// The executions of blocks by a warp.
struct Rounds {
    /// Executions of each block.
    executed: BTreeMap<u32, u64>,
    /// For each block that has become guarded instructions, the executions of the block that it is
    /// part of now in which it was executed itself.
    taken: BTreeMap<u32, Vec<u64>>,
}

impl Rounds {
    fn new(compiled: &Compiled<'_>, record: &WarpRecord) -> Self {
        let graph = &compiled.graph;
        let mut rounds = Self { executed: BTreeMap::new(), taken: BTreeMap::new() };
        for visit in &record.blocks {
            let block = visit.block;
            if block as usize >= graph.blocks.len() {
                continue;
            }
            let home = home(graph, block);
            if home != block {
                let round = rounds.executed.get(&home).copied().unwrap_or_default();
                rounds.taken.entry(block).or_default().push(round.saturating_sub(1));
            }
            *rounds.executed.entry(block).or_default() += 1;
        }
        rounds
    }

    /// Executions of the machine instructions of a block.
    fn executions(&self, compiled: &Compiled<'_>, block: u32) -> u64 {
        let home = home(&compiled.graph, block);
        self.executed.get(&home).copied().unwrap_or_default()
    }

    /// Puts the requests of a guarded block where the block was executed; no lane takes part in
    /// the other executions of its instructions.
    fn spread(
        &self,
        compiled: &Compiled<'_>,
        block: u32,
        space: Space,
        requests: Vec<Request>,
    ) -> Vec<Request> {
        let taken = self.taken.get(&block).map_or(&[][..], Vec::as_slice);
        let total = self.executions(compiled, block);
        let is_plain = taken.len() == requests.len()
            && taken.windows(2).all(|pair| pair[0] < pair[1])
            && taken.last().is_none_or(|&last| last < total);
        let (true, Ok(total)) = (is_plain, usize::try_from(total)) else { return requests };
        let mut spread = vec![idle(space); total];
        for (&round, request) in taken.iter().zip(&requests) {
            if let Some(place) = usize::try_from(round).ok().and_then(|at| spread.get_mut(at)) {
                *place = *request;
            }
        }
        spread
    }
}

/// The request of an execution in which no lane takes part.
const fn idle(space: Space) -> Request {
    Request {
        space,
        lanes: 0,
        lines: 0,
        passes: 0,
        serial: 1,
        is_paired: false,
        l1_sectors: 0,
        l2_sectors: 0,
        dram_sectors: 0,
        fetched_ago: None,
        first_sector: None,
        beside: Beside::Nothing,
    }
}

/// Divides a request among several instructions; the first ones take what is left over.
fn divide(request: Request, parts: u32) -> impl Iterator<Item = Request> {
    let parts = u16::try_from(parts).unwrap_or(u16::MAX);
    (0..parts).map(move |part| {
        let share = |whole: u16| whole / parts + u16::from(part < whole % parts);
        Request {
            lines: share(request.lines),
            passes: share(request.passes),
            l1_sectors: share(request.l1_sectors),
            l2_sectors: share(request.l2_sectors),
            dram_sectors: share(request.dram_sectors),
            ..request
        }
    })
}
