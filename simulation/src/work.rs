//! The warp instructions of a launch, and how long its CTAs are beside each other.

use crate::code::{AccessKind, Action, Code};
use crate::launch::{CtaClass, CtaRun, CtaTrace, Launch, Request, WarpTrace};
use crate::parameters::Parameters;

/// Warp instructions of a CTA of a class, by its samples' paths.
#[derive(Clone, Copy, Debug)]
struct OfClass {
    /// Those of the paths.
    kept: f64,
    /// Those of the CTAs that the paths stand for: more where paths were cut or where samples of
    /// another class stand in.
    whole: f64,
}

/// Warp instructions of a launch.
#[derive(Clone, Debug)]
pub(crate) struct Work {
    of_class: Vec<OfClass>,
    /// Those of the launch's paths.
    pub(crate) instructions: f64,
    /// Instructions of the launch over those of the paths that stand for it.
    pub(crate) scale: f64,
}

impl Work {
    pub(crate) fn of(launch: &Launch) -> Self {
        let in_block: Vec<u64> = (0..launch.code.blocks.len())
            .map(|block| launch.code.range(block).len() as u64)
            .collect();
        let of_class: Vec<OfClass> =
            launch.classes.iter().map(|class| of_class(class, &in_block)).collect();
        let mut work = Self { of_class, instructions: 0.0, scale: 1.0 };
        work.instructions = work.of_runs(&launch.order);
        work.scale = work.scale_of(&launch.order);
        work
    }

    /// Those of a CTA of a class, by its samples' paths.
    pub(crate) fn of_cta(&self, class: u32) -> f64 {
        self.of_class.get(class as usize).map_or(0.0, |of_class| of_class.kept)
    }

    /// Those of some CTAs, by the paths that stand for them.
    pub(crate) fn of_runs(&self, runs: &[CtaRun]) -> f64 {
        runs.iter().map(|run| self.of_cta(run.class) * run.ctas as f64).sum()
    }

    /// Instructions of some CTAs over those of the paths that stand for them.
    pub(crate) fn scale_of(&self, runs: &[CtaRun]) -> f64 {
        let whole = |run: &CtaRun| {
            let of_class = self.of_class.get(run.class as usize);
            of_class.map_or(0.0, |of_class| of_class.whole) * run.ctas as f64
        };
        let instructions = self.of_runs(runs);
        let whole: f64 = runs.iter().map(whole).sum();
        if instructions > 0.0 { whole / instructions } else { 1.0 }
    }

    /// Clocks that a CTA of each class takes by itself, about: those of the warp that takes longest
    /// if it waits for each of its loads. They say which CTAs are long and which are short.
    pub(crate) fn lengths(&self, launch: &Launch, parameters: &Parameters) -> Vec<f64> {
        let stalls: Vec<f64> = (0..launch.code.blocks.len())
            .map(|block| {
                let range = launch.code.range(block);
                let block = &launch.code.instructions[range.start as usize..range.end as usize];
                block.iter().map(|instruction| f64::from(instruction.control.stall.max(1))).sum()
            })
            .collect();
        let is_awaited = awaited_queues(&launch.code);
        let of_warp = |warp: &WarpTrace| -> f64 {
            let path = warp.path.iter().map(|&block| stalls.get(block as usize).unwrap_or(&0.0));
            let queues = warp.requests.iter().zip(&is_awaited).filter(|(_, awaited)| **awaited);
            let requests = queues.flat_map(|(requests, _)| requests);
            path.sum::<f64>() + requests.map(|request| latency(request, parameters)).sum::<f64>()
        };
        let of_sample =
            |sample: &CtaTrace| sample.warps.iter().map(of_warp).fold(0.0_f64, f64::max);
        let of_class = |(class, work): (&CtaClass, &OfClass)| {
            let sum: f64 = class.samples.iter().map(of_sample).sum();
            let beyond = if work.kept > 0.0 { work.whole / work.kept } else { 1.0 };
            sum / class.samples.len().max(1) as f64 * beyond + parameters.launch.cta_replacement
        };
        launch.classes.iter().zip(&self.of_class).map(of_class).collect()
    }
}

/// For each queue, true if its requests bring something that the warp waits for.
fn awaited_queues(code: &Code) -> Vec<bool> {
    let mut is_awaited = vec![false; code.queues as usize];
    for instruction in &code.instructions {
        if let Action::Access(access) = instruction.action
            && matches!(access.kind, AccessKind::Load | AccessKind::Atomic)
            && let Some(queue) = access.queue
            && let Some(is_awaited) = is_awaited.get_mut(queue as usize)
        {
            *is_awaited = true;
        }
    }
    is_awaited
}

/// Clocks of a request that meets no other.
fn latency(request: &Request, parameters: &Parameters) -> f64 {
    if request.lanes == 0 {
        0.0
    } else if request.dram_sectors > 0 {
        parameters.memory.memory_latency
    } else if request.l2_sectors > 0 {
        parameters.memory.l2_latency
    } else {
        parameters.load_store.l1_latency
    }
}

fn of_class(class: &CtaClass, in_block: &[u64]) -> OfClass {
    let (mut kept, mut left_out) = (0_u64, 0_u64);
    for warp in class.samples.iter().flat_map(|sample| &sample.warps) {
        let of_block = |&block: &u32| in_block.get(block as usize).copied().unwrap_or(0);
        kept += warp.path.iter().map(of_block).sum::<u64>();
        left_out += warp.left_out_instructions;
    }
    let samples = class.samples.len().max(1) as f64;
    let scale = if class.scale > 0.0 { class.scale } else { 1.0 };
    OfClass { kept: kept as f64 / samples, whole: (kept + left_out) as f64 / samples * scale }
}
