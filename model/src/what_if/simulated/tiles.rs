//! Loads that warps of a CTA have in common, from tiles in shared memory.

use std::collections::BTreeMap;

use gpucast_simulation::code::{Action, Code, Space};
use gpucast_simulation::launch::{CtaTrace, Launch, Request};

use super::super::editor::Editor;
use super::code::join_groups;
use super::requests::{
    Diffusion, LINE_BYTES, Queue, SECTOR_BYTES, count, of_lanes, queues, sectors,
};
use crate::predictor::InstructionFacts;

/// Sectors that a CTA has asked for before come from shared memory, without conflicts.
///
/// The loads that remain fill the tiles. Evenly distributed requests stand for them, and move as
/// much from below the first level as before, but no more than they load. Compilers join reads of
/// neighbouring words of a tile, because they know where it begins. Stores to the tiles and
/// barriers are left out.
pub(in super::super) fn tiled_loads(counts: &mut Editor) {
    counts.launches("recorded requests to tiles in shared memory", "request", |launch, facts| {
        let Launch { code, classes, .. } = launch;
        let queues = queues(code);
        let shares = tiled_queues(code, facts);
        let samples = classes.iter_mut().flat_map(|class| &mut class.samples);
        let touched = samples.map(|sample| tile(sample, &shares, &queues)).sum();
        let is_tiled = |group: &&Vec<u32>| group.iter().all(|ptx| facts.reread.contains_key(ptx));
        join_groups(launch, facts.neighbours.iter().filter(is_tiled));
        touched
    });
}

/// The queues of the loads that are tiled, each with the share of the sectors that tiles hold.
/// Where the load reads is left to its requests.
fn tiled_queues(code: &mut Code, facts: &InstructionFacts) -> BTreeMap<u32, f64> {
    let mut shares = BTreeMap::new();
    for instruction in &mut code.instructions {
        let share = instruction.ptx.and_then(|ptx| facts.reread.get(&ptx));
        if let (Action::Access(access), Some(&share)) = (&mut instruction.action, share)
            && let Some(queue) = access.queue
            && matches!(access.space, Space::Global | Space::Generic)
        {
            access.space = Space::Generic;
            shares.insert(queue, share);
        }
    }
    shares
}

/// Changes the requests of a CTA. Returns how many go to shared memory.
fn tile(cta: &mut CtaTrace, shares: &BTreeMap<u32, f64>, queues: &[Option<Queue>]) -> u64 {
    let mut touched = 0;
    for (&at, share) in shares {
        let at = at as usize;
        let Some(Some(queue)) = queues.get(at) else { continue };
        let of_queue = cta.warps.iter().filter_map(|warp| warp.requests.get(at)).flatten();
        let (mut all, mut l2, mut dram) = (0.0, 0.0, 0.0);
        for request in of_queue.filter(|request| is_global(request)) {
            all += f64::from(sectors(request));
            l2 += f64::from(request.l2_sectors);
            dram += f64::from(request.dram_sectors);
        }
        let kept = (all * (1.0 - share)).max(f64::MIN_POSITIVE);
        let from_dram = dram.min(kept) / kept;
        let from_l2 = (l2 / kept).min(1.0 - from_dram);
        let mut fills = Diffusion::rounding_up(1.0 - share);
        let (mut dram_parts, mut l2_parts) = (Diffusion::default(), Diffusion::default());
        let of_queue = cta.warps.iter_mut().filter_map(|warp| warp.requests.get_mut(at)).flatten();
        for request in of_queue.filter(|request| is_global(request)) {
            let moved = sectors(request);
            if *share < 1.0 && fills.take(1.0 - share, 1) == 1 {
                let dram = dram_parts.take(f64::from(moved) * from_dram, moved);
                let l2 = l2_parts.take(f64::from(moved) * from_l2, moved - dram);
                request.dram_sectors = count(dram);
                request.l2_sectors = count(l2);
                request.l1_sectors = count(moved - dram - l2);
            } else {
                *request = of_tile(request, *queue);
                touched += 1;
            }
        }
    }
    touched
}

fn is_global(request: &Request) -> bool {
    request.space == Space::Global && request.lanes > 0 && sectors(request) > 0
}

/// The same data from shared memory: lanes that ask for one word get it in one pass.
fn of_tile(request: &Request, queue: Queue) -> Request {
    let bytes = of_lanes(request, queue).min(sectors(request) * SECTOR_BYTES);
    Request {
        space: Space::Shared,
        passes: count(bytes.div_ceil(LINE_BYTES).max(1)),
        lines: 0,
        l1_sectors: 0,
        l2_sectors: 0,
        dram_sectors: 0,
        ..*request
    }
}
