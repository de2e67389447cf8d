//! Cuts the counts of one CTA at its barriers.

use std::sync::Arc;

use gpucast_interpreter::{
    Access, AccessKind, Arrival, CtaStart, MbarrierUse, Recorder, Release, StandIn,
    TensorMemoryUse, TensorUse,
};
use gpucast_ptx_frontend::isa::InstructionClass;
use gpucast_ptx_frontend::types::StateSpace;

use super::code::StageCode;
use super::{CLASSES, MOST_STAGES, Stage};
use crate::counts::{BlockCount, MemoryCounts};
use crate::hierarchy::StreamShift;
use crate::recorder::CtaRecorder;
use crate::row_key::RowKey;

/// Lanes of a warp that wait at a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Waiting {
    warp: u32,
    barrier: u32,
    instruction: u32,
    mask: u32,
}

/// Counts one CTA as [`CtaRecorder`] does, and takes the difference at each barrier.
#[derive(Clone, Debug)]
pub struct StageRecorder {
    code: Arc<StageCode>,
    cta: CtaRecorder,
    /// The counts when the present stage began.
    blocks: Vec<BlockCount<u64>>,
    guarded_lanes: Vec<u64>,
    memory: Vec<MemoryCounts<u64>>,
    /// Executions of each instruction in the present stage, beyond those that `blocks` give. They
    /// are the rest of the blocks in whose middle warps waited.
    carried: Vec<(u64, u64)>,
    waiting: Vec<Waiting>,
    /// One bit for each warp: a CTA has at most 1024 threads.
    warps: u32,
    active_warps: u32,
    stages: Vec<Stage<u64>>,
    merged: u64,
}

impl StageRecorder {
    pub(super) fn new(code: Arc<StageCode>, cta: CtaRecorder) -> Self {
        Self {
            blocks: cta.block_counts().to_vec(),
            guarded_lanes: cta.guarded_lanes.clone(),
            memory: Vec::new(),
            carried: vec![(0, 0); code.instructions.len()],
            waiting: Vec::new(),
            warps: 0,
            active_warps: 0,
            stages: Vec::new(),
            merged: 0,
            code,
            cta,
        }
    }

    /// Ends the last stage. Returns the stages of the CTA, and the number that were added to the
    /// last.
    pub(super) fn finish(&mut self) -> (&[Stage<u64>], u64) {
        let lanes = std::mem::take(&mut self.cta.guarded_lanes);
        self.cut(&lanes, &[]);
        self.cta.guarded_lanes = lanes;
        (&self.stages, self.merged)
    }

    /// Forgets the CTA's stages and gives the rest away to be collected and cleared.
    pub(super) fn clear_stages(&mut self) -> &mut CtaRecorder {
        self.blocks.fill(BlockCount::default());
        self.guarded_lanes.fill(0);
        self.memory.clear();
        self.carried.fill((0, 0));
        self.waiting.clear();
        (self.warps, self.active_warps) = (0, 0);
        self.stages.clear();
        self.merged = 0;
        &mut self.cta
    }

    /// Ends a stage at which `lanes` have executed each guarded instruction and `waited` go on in
    /// the middle of a block.
    fn cut(&mut self, lanes: &[u64], waited: &[Waiting]) {
        let code = Arc::clone(&self.code);
        let mut executions = std::mem::take(&mut self.carried);
        let blocks = code.blocks.iter().zip(self.cta.block_counts()).zip(&mut self.blocks);
        for ((&(first, count), now), before) in blocks {
            let (warps, issued) = (now.warps - before.warps, now.lanes - before.lanes);
            if warps > 0 {
                for (all_warps, all_lanes) in &mut executions[first as usize..][..count as usize] {
                    *all_warps += warps;
                    *all_lanes += issued;
                }
            }
            *before = *now;
        }

        let mut carried = vec![(0, 0); executions.len()];
        let (mut warps, mut active_warps) = (0, 0);
        for (at, one) in waited.iter().enumerate() {
            let next = one.instruction as usize + 1;
            let end = code.instructions[one.instruction as usize].block_end as usize;
            // Lanes of a warp that wait at the same barrier one after the other are one execution.
            let earlier = &waited[..at];
            let is_first = !earlier
                .iter()
                .any(|other| (other.warp, other.instruction) == (one.warp, one.instruction));
            let (one_warp, lanes) = (u64::from(is_first), u64::from(one.mask.count_ones()));
            for instruction in next..end {
                // Without a call in between, the rest was counted in this stage or carried into it.
                let (all_warps, all_lanes) = &mut executions[instruction];
                *all_warps = all_warps.saturating_sub(one_warp);
                *all_lanes = all_lanes.saturating_sub(lanes);
                carried[instruction].0 += one_warp;
                carried[instruction].1 += lanes;
            }
            if next < end {
                warps |= bit(one.warp);
                active_warps |= if code.instructions[next].works { bit(one.warp) } else { 0 };
            }
        }

        let stage = self.stage(&code, &executions, lanes);
        if self.stages.len() < MOST_STAGES {
            self.stages.push(stage);
        } else if let Some(last) = self.stages.last_mut() {
            last.add_later(&stage);
            self.merged += 1;
        }
        self.carried = carried;
        (self.warps, self.active_warps) = (warps, active_warps);
        self.guarded_lanes.clear();
        self.guarded_lanes.extend_from_slice(lanes);
    }

    /// The counts of the present stage.
    fn stage(&mut self, code: &StageCode, executions: &[(u64, u64)], lanes: &[u64]) -> Stage<u64> {
        let mut stage = Stage {
            ctas: 1,
            warps: self.warps.count_ones().into(),
            active_warps: self.active_warps.count_ones().into(),
            ..Stage::default()
        };
        let lane_count =
            |lanes: &[u64], guard: u32| lanes.get(guard as usize).copied().unwrap_or_default();
        for (instruction, &(warps, issued)) in code.instructions.iter().zip(executions) {
            let count = &mut stage.classes[instruction.class];
            count.warps += warps;
            count.threads += match instruction.guard {
                None => issued,
                Some(guard) => lane_count(lanes, guard) - lane_count(&self.guarded_lanes, guard),
            };
            stage.operations[instruction.operation] += warps;
            stage.multiply_adds += if instruction.multiply_add { warps } else { 0 };
        }
        for (at, (row, now)) in self.cta.memory.iter().enumerate() {
            let before = self.memory.get(at).copied().unwrap_or_default();
            let instruction = &code.instructions[RowKey::of_index(row).instruction() as usize];
            if matches!(now.kind, AccessKind::Load | AccessKind::LoadReadOnly) {
                let loads = now.requests - before.requests;
                match now.space {
                    StateSpace::Shared => stage.shared_loads += loads,
                    StateSpace::Global | StateSpace::Tex => {
                        stage.global_loads += loads;
                        if instruction.begins_batch {
                            stage.global_load_batches += loads;
                        }
                    }
                    _ => {}
                }
            }
            if let Some(memory) = stage.memory(now.space) {
                memory.add_difference(now, &before);
            }
            let multiplies = CLASSES[instruction.class] == InstructionClass::Tensor;
            if multiplies && now.space == StateSpace::Shared {
                stage.operands.add_difference(now, &before);
            }
        }
        // Rows keep their places: new ones come behind.
        self.memory.clear();
        self.memory.extend(self.cta.memory.iter().map(|(_, counts)| *counts));
        stage
    }
}

/// The bit of a warp.
fn bit(warp: u32) -> u32 {
    1_u32.checked_shl(warp).unwrap_or_default()
}

impl Recorder for StageRecorder {
    fn block(&mut self, warp: u32, block: u32, mask: u32) {
        self.cta.block(warp, block, mask);
        self.warps |= bit(warp);
        let (first, _) = self.code.blocks[block as usize];
        if self.code.instructions.get(first as usize).is_some_and(|first| first.works) {
            self.active_warps |= bit(warp);
        }
    }

    fn start(&mut self, start: &CtaStart) {
        self.cta.start(start);
    }

    fn guarded_lanes(&mut self, lanes: &[u64]) {
        self.cta.guarded_lanes(lanes);
    }

    fn branch(&mut self, instruction: u32, active: u32, taken: u32) {
        self.cta.branch(instruction, active, taken);
    }

    fn tensor(&mut self, product: &TensorUse) {
        self.cta.tensor(product);
    }

    fn mbarrier(&mut self, mbarrier: &MbarrierUse<'_>) {
        self.cta.mbarrier(mbarrier);
    }

    fn tensor_memory(&mut self, used: &TensorMemoryUse<'_>) {
        self.cta.tensor_memory(used);
    }

    fn access(&mut self, access: &Access<'_>) {
        self.cta.access(access);
        use gpucast_ptx_frontend::types::StateSpace::{Const, Param, Reg, Sreg};
        if !matches!(access.space, Const | Param | Reg | Sreg) {
            self.active_warps |= bit(access.warp);
        }
    }

    fn arrive(&mut self, arrival: &Arrival) {
        self.cta.arrive(arrival);
        if arrival.waits {
            let Arrival { warp, barrier, instruction, mask, .. } = *arrival;
            self.waiting.push(Waiting { warp, barrier, instruction, mask });
        }
    }

    fn release(&mut self, release: &Release<'_>) {
        self.cta.release(release);
        let (waited, others): (Vec<Waiting>, Vec<Waiting>) =
            self.waiting.iter().partition(|waiting| waiting.barrier == release.barrier);
        self.waiting = others;
        if release.whole {
            self.cut(release.guarded_lanes, &waited);
        }
    }
}

impl StandIn for StageRecorder {
    type Shift = StreamShift;

    fn become_anonymous(&mut self) {
        self.cta.become_anonymous();
    }

    fn singles_out(&self, cta: u64) -> bool {
        self.cta.singles_out(cta)
    }

    fn shift_to(&self, other: &Self) -> Option<StreamShift> {
        let is_alike = self.blocks == other.blocks
            && self.guarded_lanes == other.guarded_lanes
            && self.memory == other.memory
            && self.carried == other.carried
            && self.waiting == other.waiting
            && (self.warps, self.active_warps) == (other.warps, other.active_warps)
            && self.stages == other.stages
            && self.merged == other.merged;
        self.cta.shift_to(&other.cta).filter(|_| is_alike)
    }

    fn stand_in(&mut self, representative: &Self, shifts: &[(&StreamShift, u32)]) {
        let Self {
            code: _,
            cta,
            blocks,
            guarded_lanes,
            memory,
            carried,
            waiting,
            warps,
            active_warps,
            stages,
            merged,
        } = self;
        cta.stand_in(&representative.cta, shifts);
        blocks.clone_from(&representative.blocks);
        guarded_lanes.clone_from(&representative.guarded_lanes);
        memory.clone_from(&representative.memory);
        carried.clone_from(&representative.carried);
        waiting.clone_from(&representative.waiting);
        (*warps, *active_warps) = (representative.warps, representative.active_warps);
        stages.clone_from(&representative.stages);
        *merged = representative.merged;
    }
}
