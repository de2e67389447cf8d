//! CTAs in whose place one does the work of several.

use gpucast_simulation::code::{Code, Control, Instruction};
use gpucast_simulation::launch::{CtaTrace, Request};

use super::super::editor::Editor;
use super::change_launches;
use super::requests::sectors;
use super::shape::{WARP_LANES, shorten};
use crate::evidence::Merged;
use crate::predictor::InstructionFacts;

/// Warps of a CTA that are left where threads of one block are merged, too.
const LEAST_WARPS: u64 = 4;

/// Each thread does the work of `all` threads of neighbouring CTAs. It does
/// [`InstructionFacts::work`], which differs from CTA to CTA, for each of them. These instructions
/// follow each other directly, so that none waits for another. All else it does once.
///
/// CTAs of more than four warps have fewer warps then, rather than being fewer: the grid stays as
/// fine as it can. The first warps stand for all, as they do the sums over threads. What all CTAs
/// get from below the first level stays as much. A thread needs a register more for each further
/// result.
pub(in super::super) fn merged_blocks(counts: &mut Editor, all: u64) {
    let Some(mut shape) = counts.conditions.launch.filter(|shape| shape.blocks > 0) else { return };
    let Some(facts) = counts.conditions.evidence.instructions.clone() else { return };
    if all < 2 || facts.work.is_empty() {
        return;
    }
    let merged = facts.merged(all);
    let warps = shape.threads_per_block.div_ceil(WARP_LANES as u64);
    let mut split = 1;
    while split * 2 <= all && warps / (split * 2) >= LEAST_WARPS {
        split *= 2;
    }
    let before = shape.blocks;
    shape.blocks = (before * u128::from(split)).div_ceil(all.into());
    shape.threads_per_block = shape.threads_per_block.div_ceil(split);
    let most = facts.work.keys().map(|&instruction| facts.times(instruction, merged)).max();
    let results = u32::try_from(most.unwrap_or(1) - 1).unwrap_or(u32::MAX);
    shape.registers = shape.registers.map(|registers| registers.saturating_add(results));
    counts.conditions.launch = Some(shape);
    counts.note("blocks", Some(before as f64), shape.blocks as f64, "block");
    change_launches(&mut counts.conditions, |launch, facts| {
        let of_queue = repeat(&mut launch.code, facts, merged);
        let kept = warps.div_ceil(split) as usize;
        for sample in launch.classes.iter_mut().flat_map(|class| &mut class.samples) {
            sample.warps.truncate(kept);
            repeat_requests(sample, &of_queue, merged);
        }
        shorten(launch, shape.blocks.try_into().unwrap_or(u64::MAX));
        1
    });
}

/// Writes each instruction as often as it is done. Returns how often, by queues.
fn repeat(code: &mut Code, facts: &InstructionFacts, merged: Merged) -> Vec<u64> {
    let mut of_queue = vec![1; code.queues as usize];
    let mut all: Vec<Instruction> = Vec::with_capacity(code.instructions.len());
    let before = code.instructions.len();
    for block in &mut code.blocks {
        let begun = all.len() as u32;
        for instruction in
            code.instructions.get(block.start as usize..block.end as usize).into_iter().flatten()
        {
            let times = instruction.ptx.map_or(1, |ptx| facts.times(ptx, merged));
            if let Some(times_of_queue) =
                instruction.action.queue().and_then(|queue| of_queue.get_mut(queue as usize))
            {
                *times_of_queue = times;
            }
            for at in 0..times {
                all.push(Instruction {
                    control: nth_of(instruction.control, at, times),
                    ..instruction.clone()
                });
            }
        }
        *block = begun..all.len() as u32;
    }
    code.bytes = (u64::from(code.bytes) * all.len() as u64 / before.max(1) as u64) as u32;
    code.instructions = all;
    of_queue
}

/// The control of one of several instructions that follow each other. The first waits for all
/// operands. The clocks after the last are those that the others did not take.
pub(super) fn nth_of(control: Control, at: u64, times: u64) -> Control {
    let others = u8::try_from(times - 1).unwrap_or(u8::MAX);
    let stall = match at + 1 == times {
        true => control.stall.saturating_sub(others).max(control.stall.min(1)),
        false => control.stall.min(1),
    };
    let wait_mask = if at == 0 { control.wait_mask } else { 0 };
    Control { stall, wait_mask, ..control }
}

/// Gives each instruction its requests.
fn repeat_requests(cta: &mut CtaTrace, of_queue: &[u64], merged: Merged) {
    for warp in &mut cta.warps {
        for (requests, &times) in warp.requests.iter_mut().zip(of_queue) {
            let spared = merged.all() / times.max(1);
            *requests = requests
                .iter()
                .flat_map(|request| (0..times).map(move |at| nth_request(request, at, spared)))
                .collect();
        }
    }
}

/// One of the requests in the place of those of merged CTAs. Where it stands for several that asked
/// for the same, as much as they got from a level below comes from there.
fn nth_request(request: &Request, at: u64, spared: u64) -> Request {
    let all = sectors(request);
    let grown =
        |part: u16, most: u32| u64::from(part).saturating_mul(spared).min(most.into()) as u16;
    let dram_sectors = grown(request.dram_sectors, all);
    let l2_sectors = grown(request.l2_sectors, all - u32::from(dram_sectors));
    Request {
        dram_sectors,
        l2_sectors,
        l1_sectors: (all - u32::from(dram_sectors) - u32::from(l2_sectors)) as u16,
        // The others ask for other data.
        first_sector: request.first_sector.filter(|_| at == 0),
        ..*request
    }
}
