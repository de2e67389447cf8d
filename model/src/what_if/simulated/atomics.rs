//! Atomics in global memory, to words of the block in shared memory.

use std::collections::HashSet;

use gpucast_simulation::code::{AccessKind, Action, Space};
use gpucast_simulation::launch::{Beside, CtaTrace, Request, Turn};

use super::super::editor::Editor;
use super::requests::count;

/// Updates of lines that CTAs share go to shared memory. The first update of each line by a CTA
/// stays, and stands for adding its words up at the end. Lanes at one word take turns there as
/// well. Setting the words to zero is left out. Atomics whose results are read stay as they are.
pub(in super::super) fn block_atomics(counts: &mut Editor) {
    counts.launches("recorded updates in shared memory", "request", |launch, _| {
        let mut queues = HashSet::new();
        for instruction in &mut launch.code.instructions {
            if let Action::Access(access) = &mut instruction.action
                && access.kind == AccessKind::Reduction
                && access.space != Space::Shared
                && let Some(queue) = access.queue
            {
                access.space = Space::Generic;
                queues.insert(queue as usize);
            }
        }
        let turns = &launch.turns;
        let samples = launch.classes.iter_mut().flat_map(|class| &mut class.samples);
        samples.map(|sample| update(sample, &queues, turns)).sum()
    });
}

/// Changes the requests of a CTA. Returns how many go to shared memory.
fn update(cta: &mut CtaTrace, queues: &HashSet<usize>, turns: &[Turn]) -> u64 {
    let mut seen: HashSet<u32> = HashSet::new();
    let mut touched = 0;
    for warp in &mut cta.warps {
        for (at, requests) in warp.requests.iter_mut().enumerate() {
            if !queues.contains(&at) {
                continue;
            }
            for request in requests {
                let Beside::Turns { first, lines } = request.beside else { continue };
                let first = first as usize;
                let Some(turns) = turns.get(first..first + usize::from(lines)) else { continue };
                let is_new = turns.iter().filter(|turn| seen.insert(turn.line)).count() > 0;
                if !is_new && turns.iter().all(|turn| turn.is_shared) {
                    *request = Request {
                        space: Space::Shared,
                        passes: count(request.serial.into()),
                        lines: 0,
                        l1_sectors: 0,
                        l2_sectors: 0,
                        dram_sectors: 0,
                        fetched_ago: None,
                        beside: Beside::Nothing,
                        ..*request
                    };
                    touched += 1;
                }
            }
        }
    }
    touched
}
