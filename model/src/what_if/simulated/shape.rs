//! CTAs, warps and their ways as they would be.

use gpucast_simulation::code::{Action, Code};
use gpucast_simulation::launch::{CtaClass, CtaRun, CtaTrace, Launch, Request, WarpTrace};

use super::super::editor::Editor;
use super::change_launches;
use super::requests::Diffusion;
use crate::predictor::InstructionFacts;

/// Lanes of a warp.
pub(super) const WARP_LANES: f64 = 32.0;
/// Blocks with this share of active lanes count as full.
const FULL: f64 = 0.98;

/// The share of active lanes in each block of machine code: the mean of its instructions.
fn active_shares(code: &Code, facts: &InstructionFacts) -> Vec<f64> {
    let of_block = |range: &std::ops::Range<u32>| {
        let instructions = code.instructions.get(range.start as usize..range.end as usize);
        let (mut sum, mut count) = (0.0, 0.0);
        for instruction in instructions.into_iter().flatten() {
            // Everybody has to come to a barrier, and to the end.
            if matches!(
                instruction.action,
                Action::CtaBarrier { .. } | Action::CtaArrive { .. } | Action::Exit
            ) {
                return 1.0;
            }
            let lanes = instruction.ptx.and_then(|ptx| facts.active_lanes.get(ptx as usize));
            if let Some(&lanes) = lanes.filter(|&&lanes| lanes > 0.0) {
                sum += lanes / WARP_LANES;
                count += 1.0;
            }
        }
        if count > 0.0 { sum / count } else { 1.0 }
    };
    code.blocks.iter().map(of_block).collect()
}

/// The threads of each CTA are packed into full warps, block by block of the code: a block that
/// half of the lanes execute is executed by half of the warps, with requests twice as large.
pub(in super::super) fn no_divergence(counts: &mut Editor) {
    counts.launches("recorded executions of blocks left out", "block", |launch, facts| {
        let shares = active_shares(&launch.code, facts);
        if shares.iter().all(|&share| share >= FULL) {
            return 0;
        }
        let of_queue = queue_shares(&launch.code, &shares);
        let mut left_out = 0;
        for sample in launch.classes.iter_mut().flat_map(|class| &mut class.samples) {
            // As many warps as the threads fill, the last one in part.
            let mut kept: Vec<Diffusion> =
                shares.iter().map(|&share| Diffusion::rounding_up(share)).collect();
            for warp in &mut sample.warps {
                let before = warp.path.len();
                warp.path.retain(|&block| {
                    let block = block as usize;
                    match shares.get(block) {
                        Some(&share) if share < FULL => kept[block].take(share, 1) == 1,
                        _ => true,
                    }
                });
                left_out += (before - warp.path.len()) as u64;
                for (requests, &share) in warp.requests.iter_mut().zip(&of_queue) {
                    if share < FULL {
                        requests.iter_mut().for_each(|request| widen(request, 1.0 / share));
                    }
                }
            }
        }
        left_out
    });
}

/// The share of active lanes in the blocks of each queue's instructions.
fn queue_shares(code: &Code, shares: &[f64]) -> Vec<f64> {
    let mut of_queue = vec![1.0; code.queues as usize];
    for (range, &share) in code.blocks.iter().zip(shares) {
        let instructions = code.instructions.get(range.start as usize..range.end as usize);
        for instruction in instructions.into_iter().flatten() {
            if let Action::Access(access) = instruction.action
                && let Some(queue) = access.queue.and_then(|queue| of_queue.get_mut(queue as usize))
            {
                *queue = share;
            }
        }
    }
    of_queue
}

/// A request of more lanes, each of which asks for as much as before.
fn widen(request: &mut Request, factor: f64) {
    let wide = |count: u16| (f64::from(count) * factor).round().min(f64::from(u16::MAX)) as u16;
    request.lanes = (f64::from(request.lanes) * factor).round().min(WARP_LANES) as u8;
    request.lines = wide(request.lines);
    request.l1_sectors = wide(request.l1_sectors);
    request.l2_sectors = wide(request.l2_sectors);
    request.dram_sectors = wide(request.dram_sectors);
}

/// Rounds of a part, from which a way that loops is divided by rounds.
const LEAST_ROUNDS: usize = 4;

/// Each CTA becomes several ones, as many as lead to `wanted`. Where its warps loop, each part does
/// some of the rounds with as many warps; otherwise the warps are dealt to the parts.
pub(in super::super) fn spread_blocks(counts: &mut Editor, wanted: u64) {
    let Some(mut shape) = counts.conditions.launch.filter(|shape| shape.blocks > 0) else { return };
    let warps = shape.threads_per_block.div_ceil(WARP_LANES as u64).max(1);
    // No more than are wanted.
    let parts = u128::from(wanted).div_ceil(shape.blocks).max(1) as u64;
    let loops =
        counts.conditions.evidence.simulation.iter().flat_map(|all| all.iter()).any(|launch| {
            let samples = launch.launch.classes.iter().flat_map(|class| &class.samples);
            let mut ways = samples.flat_map(|sample| &sample.warps).map(|warp| warp.path.len());
            ways.any(|rounds| rounds / LEAST_ROUNDS >= parts as usize)
        });
    let parts = if loops { parts } else { parts.min(warps) };
    if parts == 1 {
        return;
    }
    let before = shape.blocks;
    shape.blocks *= u128::from(parts);
    if !loops {
        shape.threads_per_block = shape.threads_per_block.div_ceil(parts);
        shape.shared_bytes = shape.shared_bytes.div_ceil(parts);
    }
    counts.conditions.launch = Some(shape);
    counts.note("blocks", Some(before as f64), shape.blocks as f64, "block");
    change_launches(&mut counts.conditions, |launch, _| {
        let parts = parts as usize;
        for class in &mut launch.classes {
            let divided = |sample: &CtaTrace| match loops {
                true => by_rounds(sample, parts),
                false => by_warps(sample, parts),
            };
            class.samples = class.samples.iter().flat_map(divided).collect();
        }
        launch.order.iter_mut().for_each(|run| run.ctas *= parts as u64);
        parts as u64
    });
}

/// The warps of a CTA dealt to `parts` CTAs.
fn by_warps(sample: &CtaTrace, parts: usize) -> Vec<CtaTrace> {
    let each = sample.warps.len().div_ceil(parts).max(1);
    let mut all: Vec<CtaTrace> =
        sample.warps.chunks(each).map(|warps| CtaTrace { warps: warps.to_vec() }).collect();
    // CTAs that get no warp end at once; the grid has them all the same.
    all.resize(parts, CtaTrace { warps: vec![WarpTrace::default()] });
    all
}

/// A CTA for each of `parts` parts of the ways of its warps, with the requests on them.
fn by_rounds(sample: &CtaTrace, parts: usize) -> Vec<CtaTrace> {
    let part_of = |warp: &WarpTrace, part: usize| WarpTrace {
        path: slice(&warp.path, part, parts).to_vec(),
        requests: warp.requests.iter().map(|queue| slice(queue, part, parts).to_vec()).collect(),
        left_out_instructions: warp.left_out_instructions / parts as u64,
    };
    let cta = |part: usize| CtaTrace {
        warps: sample.warps.iter().map(|warp| part_of(warp, part)).collect(),
    };
    (0..parts).map(cta).collect()
}

/// One of several parts of about the same length.
fn slice<T>(all: &[T], part: usize, parts: usize) -> &[T] {
    &all[all.len() * part / parts..all.len() * (part + 1) / parts]
}

/// The work of the grid falls on as many CTAs as fill the SMs in whole waves of `wave` CTAs; each
/// does as much more as there are fewer.
pub(in super::super) fn even_waves(counts: &mut Editor, wave: u64) {
    let Some(mut shape) = counts.conditions.launch.filter(|_| wave > 0) else { return };
    let wave = u128::from(wave);
    let full = shape.blocks / wave * wave;
    if full == 0 || full == shape.blocks {
        return;
    }
    let before = shape.blocks;
    let ratio = before as f64 / full as f64;
    shape.blocks = full;
    counts.conditions.launch = Some(shape);
    counts.note("blocks", Some(before as f64), full as f64, "block");
    change_launches(&mut counts.conditions, |launch, _| {
        // Recorded launches have fewer than 2⁶⁴ CTAs.
        shorten(launch, full.try_into().unwrap_or(u64::MAX));
        launch.classes.iter_mut().for_each(|class| {
            let CtaClass { scale, .. } = class;
            *scale = if *scale > 0.0 { *scale } else { 1.0 } * ratio;
        });
        1
    });
}

/// Keeps `ctas` CTAs, of each class in proportion.
pub(super) fn shorten(launch: &mut Launch, ctas: u64) {
    let before = launch.ctas().max(1) as f64;
    let mut parts = Diffusion::default();
    let mut left = ctas;
    let mut order: Vec<CtaRun> = Vec::with_capacity(launch.order.len());
    for run in &launch.order {
        let most = u32::try_from(run.ctas.min(left)).unwrap_or(u32::MAX);
        let kept = u64::from(parts.take(run.ctas as f64 * ctas as f64 / before, most));
        left -= kept;
        if kept > 0 {
            order.push(CtaRun { ctas: kept, ..*run });
        }
    }
    // Rounding may leave a CTA over.
    if let Some(last) = order.last_mut() {
        last.ctas += left;
    }
    launch.order = order;
}
