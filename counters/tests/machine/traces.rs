//! Records the first CTAs of a launch whole, with requests that say no more than that they were
//! made: what the order of machine code is tested with.

use gpucast_counters::trace::{BlockVisit, ClassTrace, CtaRecord, LaunchTrace, WarpRecord};
use gpucast_interpreter::{Access, Observer, Program, Recorder};
use gpucast_ptx_frontend::types::StateSpace;
use gpucast_simulation::code::Space;
use gpucast_simulation::launch::{CtaRun, Request};

/// CTAs that are recorded.
const RECORDED: usize = 4;

/// Collects the records of CTAs.
pub(super) struct Tracer {
    /// First instruction and instructions of each block.
    blocks: Vec<u32>,
    warps: usize,
    ctas: Vec<CtaRecord>,
    not_recorded: u64,
}

/// Records one CTA.
#[derive(Default)]
pub(super) struct CtaTracer {
    warps: Vec<WarpRecord>,
    is_recorded: bool,
}

impl Tracer {
    pub(super) fn new(program: &Program, block: [u32; 3]) -> Self {
        let threads: u32 = block.iter().product();
        Self {
            blocks: program.blocks().iter().map(|block| block.instruction_count).collect(),
            warps: threads.div_ceil(32) as usize,
            ctas: Vec::new(),
            not_recorded: 0,
        }
    }

    /// The recorded CTAs, each a class of its own; those that were not recorded are of the last
    /// one.
    pub(super) fn finish(self) -> LaunchTrace {
        let length = |visit: &BlockVisit| u64::from(self.blocks[visit.block as usize]);
        let of_warp = |warp: &WarpRecord| warp.blocks.iter().map(length).sum::<u64>();
        let last = self.ctas.len() - 1;
        let rest = |class: usize| if class == last { self.not_recorded } else { 0 };
        let order = (0..self.ctas.len())
            .map(|class| CtaRun { class: class as u32, ctas: 1 + rest(class) })
            .collect();
        let classes = self.ctas.into_iter().enumerate().map(|(class, cta)| ClassTrace {
            ctas: 1 + if class == last { self.not_recorded } else { 0 },
            warp_instructions: cta.warps.iter().map(of_warp).sum(),
            samples: vec![cta],
        });
        LaunchTrace { classes: classes.collect(), order, ..LaunchTrace::default() }
    }
}

impl Observer for Tracer {
    type Recorder = CtaTracer;

    fn recorder(&self, _program: &Program) -> CtaTracer {
        CtaTracer { warps: vec![WarpRecord::default(); self.warps], is_recorded: true }
    }

    fn wave(&self) -> usize {
        1
    }

    fn collect(&mut self, first_cta: u64, recorders: &mut [&mut CtaTracer]) {
        for (cta, recorder) in (first_cta..).zip(recorders.iter_mut()) {
            let empty = vec![WarpRecord::default(); self.warps];
            let warps = std::mem::replace(&mut recorder.warps, empty);
            match self.ctas.len() {
                RECORDED => self.not_recorded += 1,
                _ => self.ctas.push(CtaRecord { cta, warps }),
            }
        }
    }

    fn fresh(&self) -> Self {
        Self {
            blocks: self.blocks.clone(),
            warps: self.warps,
            ctas: self.ctas.clone(),
            not_recorded: self.not_recorded,
        }
    }
}

impl Recorder for CtaTracer {
    fn start(&mut self, start: &gpucast_interpreter::CtaStart) {
        self.is_recorded = start.cta < RECORDED as u64;
    }

    fn block(&mut self, warp: u32, block: u32, mask: u32) {
        if self.is_recorded {
            self.warps[warp as usize].blocks.push(BlockVisit { block, lanes: mask });
        }
    }

    fn guarded_lanes(&mut self, _lanes: &[u64]) {}

    fn branch(&mut self, _instruction: u32, _active: u32, _taken: u32) {}

    fn access(&mut self, access: &Access<'_>) {
        let space = match access.space {
            StateSpace::Global => Space::Global,
            StateSpace::Shared => Space::Shared,
            StateSpace::Local => Space::Local,
            _ => return,
        };
        if !self.is_recorded || access.continues {
            return;
        }
        let request = Request {
            space,
            lanes: access.mask.count_ones() as u8,
            lines: 1,
            passes: 1,
            serial: 1,
            l1_sectors: 0,
            l2_sectors: 0,
            dram_sectors: 1,
        };
        let requests = &mut self.warps[access.warp as usize].requests;
        requests.entry(access.instruction).or_default().push(request);
    }
}
