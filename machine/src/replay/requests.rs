//! The recorded requests that machine instructions take.
//!
//! Each PTX instruction with requests has a queue of them. An access of the machine that stands for
//! it takes them in order. Requests of accesses that became part of another one are joined with
//! those of that one.

use gpucast_counters::trace::WarpRecord;
use gpucast_simulation::code::Space;
use gpucast_simulation::launch::{Beside, Request};

/// The source of the requests of a queue.
#[derive(Clone, Debug)]
pub(crate) struct Queue {
    /// The PTX instruction whose requests they are.
    pub(crate) ptx: u32,
    /// Instructions whose accesses became part of its own.
    pub(crate) joined: Vec<u32>,
    /// The executions that take them, if that is known.
    pub(crate) draw: Option<Draw>,
}

/// The machine instructions that take the requests of a queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Draw {
    /// The PTX block of the instruction.
    pub(crate) block: u32,
    /// The space of its accesses.
    pub(crate) space: Space,
    /// Machine instructions that divide each request among them.
    pub(crate) parts: u32,
}

impl Queue {
    /// The requests of a warp, one for each execution of their machine instructions where that is
    /// known.
    pub(super) fn requests(&self, record: &WarpRecord, rounds: &Rounds<'_>) -> Vec<Request> {
        let of = |ptx: &u32| record.requests.get(ptx).map_or(&[][..], Vec::as_slice);
        let mut requests = of(&self.ptx).to_vec();
        for other in self.joined.iter().map(of) {
            // Instructions of one block differ only if they have guards.
            if other.len() == requests.len() {
                requests.iter_mut().zip(other).for_each(|(one, other)| one.join(other));
            }
        }
        match self.draw {
            Some(draw) => rounds.drawn(draw, requests),
            None => requests,
        }
    }
}

/// The executions of blocks by a warp.
pub(super) struct Rounds<'a> {
    /// The PTX block whose machine instructions hold those of each block.
    homes: &'a [u32],
    /// Executions of each block.
    executed: Vec<u64>,
    /// For each block that has become guarded instructions, the executions of the block that it is
    /// part of now in which it was executed itself.
    taken: Vec<Vec<u64>>,
}

impl<'a> Rounds<'a> {
    pub(super) fn new(homes: &'a [u32], record: &WarpRecord) -> Self {
        let mut executed = vec![0_u64; homes.len()];
        let mut taken = vec![Vec::new(); homes.len()];
        for visit in &record.blocks {
            let block = visit.block as usize;
            let Some(&home) = homes.get(block) else { continue };
            if home != visit.block {
                // Blocks stand in the order in which a round comes to them.
                let begun = executed[home as usize];
                let is_behind = home < visit.block;
                taken[block].push(if is_behind { begun.saturating_sub(1) } else { begun });
            }
            executed[block] += 1;
        }
        Self { homes, executed, taken }
    }

    /// The requests that machine instructions take.
    fn drawn(&self, draw: Draw, mut requests: Vec<Request>) -> Vec<Request> {
        let Draw { block, space, parts } = draw;
        let Some(&home) = self.homes.get(block as usize) else { return requests };
        let executions = self.executed[home as usize];
        if home != block {
            requests = spread(&self.taken[block as usize], executions, space, requests);
        }
        if parts > 1 && requests.len() as u64 == executions {
            requests = requests.iter().flat_map(|request| divide(*request, parts)).collect();
        }
        requests
    }
}

/// Puts the requests of a guarded block where the block was executed, of `total` executions of its
/// instructions. No lane takes part in the others.
fn spread(taken: &[u64], total: u64, space: Space, requests: Vec<Request>) -> Vec<Request> {
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
