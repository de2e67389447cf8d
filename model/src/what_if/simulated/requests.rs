//! Recorded requests as they would be.

use gpucast_simulation::Combiner;
use gpucast_simulation::code::{AccessKind, Action, Code, Space};
use gpucast_simulation::launch::{Launch, Request};

use super::super::editor::Editor;

/// Bytes of a sector.
pub(super) const SECTOR_BYTES: u32 = 32;
/// Bytes of a line, and of one pass over the banks.
pub(super) const LINE_BYTES: u32 = 128;

/// The instructions that take requests from a queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Queue {
    /// Bytes of one lane.
    pub(super) bytes: u32,
    /// What they do.
    pub(super) kind: AccessKind,
}

/// The instructions of each queue; `None` where nobody takes its requests.
pub(super) fn queues(code: &Code) -> Vec<Option<Queue>> {
    let mut queues = vec![None; code.queues as usize];
    for instruction in &code.instructions {
        let Action::Access(access) = instruction.action else { continue };
        let Some(queue) = access.queue.and_then(|queue| queues.get_mut(queue as usize)) else {
            continue;
        };
        let bytes = queue.map_or(0, |queue: Queue| queue.bytes).max(access.bytes);
        *queue = Some(Queue { bytes, kind: access.kind });
    }
    queues
}

/// All requests with the instructions that take them.
pub(super) fn requests<'a>(
    launch: &'a mut Launch,
    queues: &'a [Option<Queue>],
) -> impl Iterator<Item = (Queue, &'a mut Request)> {
    let samples = launch.classes.iter_mut().flat_map(|class| &mut class.samples);
    let warps = samples.flat_map(|sample| &mut sample.warps);
    warps.flat_map(move |warp| warp.requests.iter_mut().zip(queues)).flat_map(
        |(requests, queue)| {
            let queue = *queue;
            requests.iter_mut().filter_map(move |request| Some((queue?, request)))
        },
    )
}

/// Sectors that a request moves, whatever level serves them.
pub(super) fn sectors(request: &Request) -> u32 {
    u32::from(request.l1_sectors) + u32::from(request.l2_sectors) + u32::from(request.dram_sectors)
}

/// A count of a request; larger ones do not occur, for a request has 32 lanes.
pub(super) fn count(value: u32) -> u16 {
    u16::try_from(value).unwrap_or(u16::MAX)
}

pub(super) fn of_lanes(request: &Request, queue: Queue) -> u32 {
    u32::from(request.lanes) * queue.bytes
}

/// Hands out whole parts of fractions so that their sum stays right.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Diffusion {
    rest: f64,
}

impl Diffusion {
    /// The sum of parts of this size is rounded up.
    pub(super) fn rounding_up(part: f64) -> Self {
        Self { rest: 1.0 - part }
    }

    /// The whole part of `value` and what earlier ones left, at most `most`.
    pub(super) fn take(&mut self, value: f64, most: u32) -> u32 {
        let wanted = value + self.rest;
        let whole = (wanted + 1e-9).floor().clamp(0.0, f64::from(most));
        self.rest = wanted - whole;
        whole as u32
    }
}

/// Every shared access takes the passes that its bytes fill.
pub(in super::super) fn no_bank_conflicts(counts: &mut Editor) {
    counts.launches("recorded requests without conflicts", "request", |launch, _| {
        let queues = queues(&launch.code);
        let mut touched = 0;
        for (queue, request) in requests(launch, &queues) {
            let fewest = count(of_lanes(request, queue).div_ceil(LINE_BYTES).max(1));
            if request.space == Space::Shared && request.passes > fewest {
                request.passes = fewest;
                touched += 1;
            }
        }
        touched
    });
}

/// Sums over the requests that move more sectors than their bytes fill.
#[derive(Clone, Copy, Debug, Default)]
struct Excess {
    /// Sectors that their bytes fill.
    filled: f64,
    /// Sectors that the L2 serves now.
    l2: f64,
    /// Sectors that DRAM serves now.
    dram: f64,
}

/// Global loads and stores move the sectors that their bytes fill, in as many lines.
///
/// A level below serves as many sectors as before as long as that many are left: what was fetched
/// once and then found in a cache must still be fetched once.
pub(in super::super) fn perfect_coalescing(counts: &mut Editor) {
    counts.launches("recorded requests coalesced", "request", |launch, _| {
        let queues = queues(&launch.code);
        let is_meant = |queue: Queue, request: &Request| {
            let kind = matches!(
                queue.kind,
                AccessKind::Load | AccessKind::Store | AccessKind::AsyncCopy { .. }
            );
            kind && request.space == Space::Global && request.lanes > 0
        };
        let filled =
            |queue, request: &Request| of_lanes(request, queue).div_ceil(SECTOR_BYTES).max(1);
        let mut loads = Excess::default();
        let mut stores = (0.0, 0.0);
        for (queue, request) in requests(launch, &queues) {
            if !is_meant(queue, request) {
                continue;
            }
            let (before, after) = (sectors(request), filled(queue, request).min(sectors(request)));
            if queue.kind == AccessKind::Store {
                stores = (stores.0 + f64::from(before), stores.1 + f64::from(after));
            } else if before > after {
                loads.filled += f64::from(after);
                loads.l2 += f64::from(request.l2_sectors);
                loads.dram += f64::from(request.dram_sectors);
            }
        }
        let dram = loads.dram.min(loads.filled) / loads.filled.max(1.0);
        let l2 = (loads.l2 / loads.filled.max(1.0)).min(1.0 - dram);
        let (mut dram_parts, mut l2_parts) = (Diffusion::default(), Diffusion::default());
        let mut touched = 0;
        for (queue, request) in requests(launch, &queues) {
            if !is_meant(queue, request) {
                continue;
            }
            let after = filled(queue, request);
            let lines = count(of_lanes(request, queue).div_ceil(LINE_BYTES).max(1));
            if sectors(request) > after || request.passes > lines {
                touched += 1;
            }
            request.passes = request.passes.min(lines);
            if sectors(request) <= after {
                continue;
            }
            request.lines = request.lines.min(lines);
            if queue.kind == AccessKind::Store {
                request.l1_sectors = 0;
                request.dram_sectors = 0;
                request.l2_sectors = count(after);
                continue;
            }
            let from_dram = dram_parts.take(f64::from(after) * dram, after);
            let from_l2 = l2_parts.take(f64::from(after) * l2, after - from_dram);
            request.dram_sectors = count(from_dram);
            request.l2_sectors = count(from_l2);
            request.l1_sectors = count(after - from_dram - from_l2);
        }
        // DRAM writes no more than before, and no more than is stored.
        if stores.1 > 0.0 {
            let written = launch.dram_writes_per_store * stores.0;
            launch.dram_writes_per_store =
                (written / stores.1).min(launch.dram_writes_per_store.max(1.0));
        }
        touched
    });
}

/// Lanes of an atomic that change one address do not wait for each other.
pub(in super::super) fn no_contention(counts: &mut Editor) {
    counts.launches("recorded atomics without contention", "request", |launch, _| {
        let queues = queues(&launch.code);
        let mut turns = std::mem::take(&mut launch.turns);
        let mut combiner = Combiner::default();
        let mut touched = 0;
        for (queue, request) in requests(launch, &queues) {
            let updates = matches!(queue.kind, AccessKind::Atomic | AccessKind::Reduction);
            if updates && request.serial > 1 {
                *request = combiner.combined(request, &mut turns);
                touched += 1;
            }
        }
        launch.turns = turns;
        touched
    });
}

/// The L2 holds a fraction of the sectors that loads ask it for.
pub(in super::super) fn l2_hits(counts: &mut Editor, fraction: f64) {
    counts.launches("recorded requests with other hits", "request", |launch, _| {
        move_between_l2_and_dram(launch, |l2, dram| (1.0 - fraction) * (l2 + dram))
    });
}

/// DRAM moves another number of bytes, over those of before.
pub(in super::super) fn dram_bytes(counts: &mut Editor, ratio: f64) {
    counts.launches("recorded requests with other traffic", "request", |launch, _| {
        launch.dram_writes_per_store *= ratio;
        move_between_l2_and_dram(launch, |l2, dram| (ratio * dram).min(l2 + dram)).max(1)
    });
}

/// Gives DRAM another number of the sectors that it and the L2 serve loads with.
fn move_between_l2_and_dram(launch: &mut Launch, of_dram: impl Fn(f64, f64) -> f64) -> u64 {
    let queues = queues(&launch.code);
    let is_load = |queue: Queue| {
        matches!(queue.kind, AccessKind::Load | AccessKind::AsyncCopy { .. } | AccessKind::BulkCopy)
    };
    let (mut l2, mut dram) = (0.0, 0.0);
    for (queue, request) in requests(launch, &queues) {
        if is_load(queue) {
            l2 += f64::from(request.l2_sectors);
            dram += f64::from(request.dram_sectors);
        }
    }
    let wanted = of_dram(l2, dram);
    let mut parts = Diffusion::default();
    let mut touched = 0;
    for (queue, request) in requests(launch, &queues) {
        let both = u32::from(request.l2_sectors) + u32::from(request.dram_sectors);
        if !is_load(queue) || both == 0 {
            continue;
        }
        // Where DRAM gets fewer, requests keep their part of them; where it gets more, those that
        // the L2 serves share what is added.
        let share = if wanted <= dram {
            f64::from(request.dram_sectors) * wanted / dram.max(1.0)
        } else {
            f64::from(request.dram_sectors)
                + f64::from(request.l2_sectors) * (wanted - dram) / l2.max(1.0)
        };
        let from_dram = parts.take(share, both);
        touched += u64::from(from_dram != u32::from(request.dram_sectors));
        request.dram_sectors = count(from_dram);
        request.l2_sectors = count(both - from_dram);
    }
    touched
}

/// One request for several whose addresses follow each other: the lanes' bytes together. Where one
/// of them goes to global memory, all do.
pub(super) fn joined(first: &Request, others: &[Request], bytes: u32) -> Request {
    let sum = |of: fn(&Request) -> u16| -> u32 {
        u32::from(of(first)) + others.iter().map(|other| u32::from(of(other))).sum::<u32>()
    };
    let lanes = others.iter().map(|other| other.lanes).fold(first.lanes, u8::max);
    let all = u32::from(lanes) * bytes;
    // Threads whose words lie apart move a sector each, however wide their accesses are.
    let most = |of: fn(&Request) -> u32| others.iter().map(of).fold(of(first), u32::max);
    let sectors = all.div_ceil(SECTOR_BYTES).max(most(sectors)).max(1);
    let dram = sum(|request| request.dram_sectors).min(sectors);
    let l2 = sum(|request| request.l2_sectors).min(sectors - dram);
    let l1 = sum(|request| request.l1_sectors).min(sectors - dram - l2);
    let lines = all.div_ceil(LINE_BYTES).max(most(|request| request.lines.into())).max(1);
    let mut each = std::iter::once(first).chain(others);
    let is_shared = each.clone().all(|request| request.space == Space::Shared);
    let passes = match is_shared {
        // Words that follow each other lie in other banks; the bytes of all lanes count besides.
        true => each.clone().map(|request| request.passes.into()).max().unwrap_or(1),
        false => lines.min(sum(|request| request.passes)),
    };
    let beyond = each.find(|request| request.space != Space::Shared);
    Request {
        space: beyond.map_or(first.space, |request| request.space),
        lanes,
        lines: count(lines.min(sum(|request| request.lines))),
        passes: count(passes.max(1)),
        l1_sectors: count(l1),
        l2_sectors: count(l2),
        dram_sectors: count(dram),
        ..*first
    }
}
