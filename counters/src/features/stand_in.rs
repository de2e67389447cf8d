//! Features of CTAs that one of them stands for: the same accesses at addresses that lie elsewhere.
//!
//! The record of a representative keeps what it touches, in order, and the samples of addresses.
//! Another CTA's record has the same places in that order; the distance of each is how far it
//! moves.

use gpucast_interpreter::{CountOverflow, GridBox, Shifts, StandIn, Tally};

use super::footprint::Family;
use super::marks::{Mark, Marks};
use super::recorder::{AccessSample, FeatureRecorder, WarpSample, lanes};
use super::{FeatureCounter, Sample};

/// The distance of one CTA's features to those of another.
#[derive(Clone, Debug)]
pub struct FeatureShift {
    ctaid: [u32; 3],
    /// Elements from each mark to the other CTA's.
    marks: Vec<i64>,
    /// Bytes from each lane's first address to the other CTA's, by sample and warp.
    warps: Vec<[i64; 32]>,
}

impl FeatureRecorder {
    fn warps(&self) -> impl Iterator<Item = &WarpSample> {
        self.samples.iter().flat_map(|(_, sample)| &sample.warps)
    }

    /// The samples of a CTA that is so many shifts away.
    fn moved_samples(&self, shifts: &[(&FeatureShift, u32)]) -> Vec<Sample> {
        let mut at = 0;
        let mut moved = |warp: &mut WarpSample| {
            for (shift, steps) in shifts {
                for lane in lanes(warp.lanes) {
                    let far = shift.warps[at][lane].wrapping_mul(i64::from(*steps));
                    warp.addresses[lane] = warp.addresses[lane].wrapping_add_signed(far);
                }
            }
            at += 1;
        };
        let sample = |(key, sample): (u32, &AccessSample)| {
            let mut sample = sample.clone();
            sample.warps.iter_mut().for_each(&mut moved);
            Sample { key, sample }
        };
        self.samples.iter().map(sample).collect()
    }
}

impl StandIn for FeatureRecorder {
    type Shift = FeatureShift;

    fn become_anonymous(&mut self) {
        self.marks = Some(Marks::default());
        self.sampled = true;
    }

    fn singles_out(&self, _cta: u64) -> bool {
        false
    }

    fn shift_to(&self, other: &Self) -> Option<FeatureShift> {
        let marks = self.marks.as_ref()?.distances(other.marks.as_ref()?)?;
        let is_alike = |(one, other): ((u32, &AccessSample), (u32, &AccessSample))| {
            one.0 == other.0 && one.1.moves_to(other.1)
        };
        let mut both = self.samples.iter().zip(other.samples.iter());
        if self.samples.iter().count() != other.samples.iter().count() || !both.all(is_alike) {
            return None;
        }
        let distances = |(one, other): (&WarpSample, &WarpSample)| {
            let mut distances = [0; 32];
            for lane in lanes(one.lanes) {
                distances[lane] = other.addresses[lane].wrapping_sub(one.addresses[lane]) as i64;
            }
            distances
        };
        let ctaid = std::array::from_fn(|axis| other.ctaid[axis].wrapping_sub(self.ctaid[axis]));
        Some(FeatureShift {
            ctaid,
            marks,
            warps: self.warps().zip(other.warps()).map(distances).collect(),
        })
    }

    fn stand_in(&mut self, representative: &Self, shifts: &[(&FeatureShift, u32)]) {
        self.marks = None;
        self.samples.clear();
        self.ctaid = representative.ctaid;
        for (shift, steps) in shifts {
            for (own, far) in self.ctaid.iter_mut().zip(shift.ctaid) {
                *own = own.wrapping_add(far.wrapping_mul(*steps));
            }
        }
        let marks = representative.marks.iter().flat_map(Marks::all);
        for (at, mark) in marks.enumerate() {
            let first = shifts.iter().fold(mark.first, |first, (shift, steps)| {
                first.wrapping_add_signed(shift.marks[at].wrapping_mul(i64::from(*steps)))
            });
            self.mark_at(Mark { first, ..*mark });
        }
        self.sampled = self.code.is_sampled(self.ctaid);
        if self.sampled {
            for Sample { key, sample } in representative.moved_samples(shifts) {
                *self.samples.row(key) = sample;
            }
        }
    }
}

impl Tally for FeatureCounter {
    fn tally(
        &mut self,
        record: &mut FeatureRecorder,
        _ctas: u128,
        places: &GridBox,
        shifts: &Shifts<'_, FeatureRecorder>,
    ) -> Result<(), CountOverflow> {
        let marks = record.marks.take().unwrap_or_default();
        for (place, family) in families(marks.all(), places, shifts) {
            record.mark_family(place, &family);
        }
        for ctaid in self.code.sampled_within(places) {
            let steps = |axis: usize| places.steps_to(axis, ctaid[axis]).unwrap_or(0);
            let own: Vec<(&FeatureShift, u32)> =
                (0..3).filter_map(|axis| Some((shifts[axis]?, steps(axis)))).collect();
            let [x, y, z] = ctaid;
            self.of_classes.insert([z, y, x], record.moved_samples(&own));
        }
        Ok(())
    }
}

/// What all CTAs of a box touch, by the place of the instruction. Marks that touch each other and
/// move alike are one: so are those of neighbouring warps.
fn families(
    marks: &[Mark],
    places: &GridBox,
    shifts: &Shifts<'_, FeatureRecorder>,
) -> Vec<(u32, Family)> {
    let by = |at: usize| [0, 1, 2].map(|axis: usize| shifts[axis].map_or(0, |it| it.marks[at]));
    let moving = |(at, &mark): (usize, &Mark)| Moving { place: mark.place, by: by(at), mark };
    let mut all: Vec<Moving> = marks.iter().enumerate().map(moving).collect();
    all.sort_unstable_by_key(|event| (event.place, event.by, event.mark.first));
    let mut merged: Vec<Moving> = Vec::new();
    for one in all {
        match merged.last_mut() {
            Some(last) if last.touches(&one) => {
                let end = one.mark.first + one.mark.count;
                last.mark.count = last.mark.count.max(end - last.mark.first);
            }
            _ => merged.push(one),
        }
    }
    let family = |Moving { place, by, mark: Mark { first, count, .. } }: Moving| {
        let along = [0, 1, 2].map(|axis: usize| (by[axis], places.count[axis]));
        (place, Family { first, count, along })
    };
    merged.into_iter().map(family).collect()
}

/// A mark, and the elements by which it moves from CTA to CTA along each dimension.
struct Moving {
    place: u32,
    by: [i64; 3],
    mark: Mark,
}

impl Moving {
    /// True if one that begins later moves alike and begins within this one, or at its end.
    fn touches(&self, later: &Self) -> bool {
        let end = self.mark.first + self.mark.count;
        (self.place, self.by) == (later.place, later.by) && later.mark.first <= end
    }
}
