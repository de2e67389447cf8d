//! Records of CTAs that count as another one does, at other addresses.

use gpucast_interpreter::StandIn;

use super::CtaRecorder;
use crate::hierarchy::StreamShift;

impl StandIn for CtaRecorder {
    type Shift = StreamShift;

    fn become_anonymous(&mut self) {
        self.sample = None;
        self.stream.set_limit(self.wide_limit());
    }

    fn singles_out(&self, cta: u64) -> bool {
        self.tracer.as_ref().is_some_and(|tracer| tracer.samples(cta))
    }

    fn shift_to(&self, other: &Self) -> Option<StreamShift> {
        let traced = match (&self.tracer, &other.tracer) {
            (Some(one), Some(other)) => one.counts_as(other),
            (one, other) => one.is_none() && other.is_none(),
        };
        let is_alike = traced
            && self.blocks == other.blocks
            && self.guarded_lanes == other.guarded_lanes
            && self.branches.has_same_rows(&other.branches)
            && self.memory.has_same_rows(&other.memory)
            && self.products.has_same_rows(&other.products);
        self.stream.shift_to(&other.stream).filter(|_| is_alike)
    }

    fn stand_in(&mut self, representative: &Self, shifts: &[(&StreamShift, u32)]) {
        self.blocks.clone_from(&representative.blocks);
        if let (Some(tracer), Some(other)) = (&mut self.tracer, &representative.tracer) {
            tracer.copy_from(other);
        }
        self.sample = None;
        self.guarded_lanes.clone_from(&representative.guarded_lanes);
        self.branches.copy_from(&representative.branches);
        self.memory.copy_from(&representative.memory);
        self.products.copy_from(&representative.products);
        self.stream.move_from(&representative.stream, shifts);
    }
}
