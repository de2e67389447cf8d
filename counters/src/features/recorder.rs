//! Samples the addresses of one CTA and marks the elements that it touches.

use std::sync::Arc;

use gpucast_interpreter::{Access, AccessKind, CtaStart, Pattern, Recorder};
use gpucast_ptx_frontend::types::StateSpace;

use super::code::FeatureCode;
use super::footprint::{Family, Footprints, Marker};
use super::kind::MemorySpace;
use super::marks::{Mark, Marks};
use crate::patterns::lane_addresses;
use crate::row_key::RowKey;
use crate::sparse::SparseRows;

/// Executions of a warp that are compared with its first: the second, third, fifth, ninth …, each
/// twice as far, up to this many.
const STEPS: usize = 16;

/// The addresses of a warp at its first executions of an instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct WarpSample {
    pub(super) warp: u32,
    /// Lanes that have executed it.
    pub(super) lanes: u32,
    /// The first address of each of them.
    pub(super) addresses: [u64; 32],
    /// Executions after the first.
    later: u64,
    /// The distance that all lanes had moved at later execution 2^i.
    pub(super) moved: [Option<i64>; STEPS],
    /// True if the lanes moved by different distances.
    pub(super) apart: bool,
}

impl WarpSample {
    fn new(warp: u32) -> Self {
        Self { warp, lanes: 0, addresses: [0; 32], later: 0, moved: [None; STEPS], apart: false }
    }

    /// True if another CTA's warp does the same at addresses that may lie elsewhere.
    fn moves_to(&self, other: &Self) -> bool {
        let of = |one: &Self| (one.warp, one.lanes, one.later, one.moved, one.apart);
        of(self) == of(other)
    }

    fn add(&mut self, mask: u32, addresses: &[u64; 32]) {
        let again = mask & self.lanes;
        for lane in lanes(mask & !self.lanes) {
            self.addresses[lane] = addresses[lane];
        }
        self.lanes |= mask;
        if again == 0 {
            return;
        }
        self.later += 1;
        let place = self.later.trailing_zeros() as usize;
        if !self.later.is_power_of_two() || place >= STEPS {
            return;
        }
        let mut moved =
            lanes(again).map(|lane| addresses[lane].wrapping_sub(self.addresses[lane]) as i64);
        let first = moved.next();
        self.apart |= moved.any(|other| Some(other) != first);
        self.moved[place] = first;
    }
}

/// The lanes of a mask.
pub(super) fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    (0..32).filter(move |lane| mask >> lane & 1 != 0)
}

/// The accesses of a memory instruction to one space, in one CTA.
#[derive(Clone, Debug, Default)]
pub(super) struct AccessSample {
    pub(super) space: Option<MemorySpace>,
    pub(super) kind: Option<AccessKind>,
    /// Bytes of one lane.
    pub(super) lane_bytes: u32,
    pub(super) warps: Vec<WarpSample>,
    /// Bytes of shared memory that it touched, one bit each.
    pub(super) touched_bytes: Vec<u64>,
}

impl AccessSample {
    /// True if another CTA does the same at addresses that may lie elsewhere.
    pub(super) fn moves_to(&self, other: &Self) -> bool {
        let Self { space, kind, lane_bytes, warps, touched_bytes } = self;
        let is_alike = (space, kind, lane_bytes, touched_bytes)
            == (&other.space, &other.kind, &other.lane_bytes, &other.touched_bytes);
        let mut both = warps.iter().zip(&other.warps);
        is_alike && warps.len() == other.warps.len() && both.all(|(one, other)| one.moves_to(other))
    }
}

/// Watches one CTA for [`FeatureCounter`](super::FeatureCounter).
#[derive(Debug)]
pub struct FeatureRecorder {
    pub(super) code: Arc<FeatureCode>,
    footprints: Arc<Footprints>,
    markers: Vec<Marker>,
    /// What a CTA touches that stands for others.
    pub(super) marks: Option<Marks>,
    /// True if addresses are sampled in this CTA.
    pub(super) sampled: bool,
    pub(super) ctaid: [u32; 3],
    pub(super) samples: SparseRows<AccessSample>,
}

impl FeatureRecorder {
    pub(super) fn new(code: Arc<FeatureCode>, footprints: Arc<Footprints>) -> Self {
        Self {
            markers: vec![Marker::default(); code.accesses],
            marks: None,
            samples: SparseRows::new(0),
            sampled: false,
            ctaid: [0; 3],
            code,
            footprints,
        }
    }

    /// Marks the elements of device memory that an access touches.
    #[inline]
    fn mark(&mut self, access: &Access<'_>) {
        let instruction = &self.code.instructions[access.instruction as usize];
        let Some(place) = instruction.access else { return };
        let element = u64::from(instruction.element(access.bytes_per_lane).bytes());
        let per_lane = u64::from(access.bytes_per_lane) / element;
        let mut mark = |first, count| self.touch(Mark { place, first, count });
        match access.pattern {
            Pattern::Uniform => mark(access.addresses[0] / element, per_lane),
            Pattern::Consecutive => mark(access.addresses[0] / element, 32 * per_lane),
            Pattern::General => {
                let shift = element.trailing_zeros();
                // Neighbouring lanes as a rule touch neighbouring elements.
                let (mut first, mut end) = (0, 0);
                for lane in lanes(access.mask) {
                    let at = access.addresses[lane] >> shift;
                    if at != end {
                        if at >= first && at + per_lane <= end {
                            continue;
                        }
                        mark(first, end - first);
                        first = at;
                    }
                    end = at + per_lane;
                }
                mark(first, end - first);
            }
        }
    }

    /// Marks elements, or remembers to.
    #[inline]
    fn touch(&mut self, mark: Mark) {
        match &mut self.marks {
            None => self.mark_at(mark),
            Some(marks) => marks.add(mark),
        }
    }

    /// Marks elements of one CTA.
    #[inline]
    pub(super) fn mark_at(&mut self, Mark { place, first, count }: Mark) {
        let place = place as usize;
        self.markers[place].mark(&self.footprints, place, first, count);
    }

    /// Marks elements of many CTAs.
    pub(super) fn mark_family(&mut self, place: u32, family: &Family) {
        let place = place as usize;
        self.markers[place].mark_family(&self.footprints, place, family);
    }

    /// Keeps the addresses of the lanes of a sampled CTA.
    #[cold]
    fn sample(&mut self, access: &Access<'_>, space: MemorySpace) {
        let mut room = [0; 32];
        let addresses = lane_addresses(access, &mut room);
        let key = RowKey::new(access.instruction, access.space, access.kind).index();
        let sample = self.samples.row(key);
        sample.space = Some(space);
        sample.kind = Some(access.kind);
        sample.lane_bytes = access.bytes_per_lane;
        let warp = match sample.warps.iter().position(|warp| warp.warp == access.warp) {
            Some(at) => at,
            None => {
                sample.warps.push(WarpSample::new(access.warp));
                sample.warps.len() - 1
            }
        };
        sample.warps[warp].add(access.mask, addresses);
        if space == MemorySpace::Local {
            for lane in lanes(access.mask) {
                let (mut at, end) =
                    (addresses[lane], addresses[lane] + u64::from(access.bytes_per_lane));
                while at < end {
                    let (word, bit) = ((at / 64) as usize, at % 64);
                    let bytes = (end - at).min(64 - bit);
                    if word >= sample.touched_bytes.len() {
                        sample.touched_bytes.resize(word + 1, 0);
                    }
                    sample.touched_bytes[word] |= (u64::MAX >> (64 - bytes)) << bit;
                    at += bytes;
                }
            }
        }
    }
}

impl Recorder for FeatureRecorder {
    fn block(&mut self, _warp: u32, _block: u32, _mask: u32) {}

    fn guarded_lanes(&mut self, _lanes: &[u64]) {}

    fn branch(&mut self, _instruction: u32, _active: u32, _taken: u32) {}

    fn access(&mut self, access: &Access<'_>) {
        if matches!(access.space, StateSpace::Global | StateSpace::Tex | StateSpace::Const) {
            self.mark(access);
        }
        if self.sampled
            && let Some(space) = MemorySpace::of(access.space)
        {
            self.sample(access, space);
        }
    }

    fn start(&mut self, start: &CtaStart) {
        self.marks = None;
        self.ctaid = start.ctaid;
        self.sampled = self.code.is_sampled(start.ctaid);
    }
}
