//! Several observers of one kind that watch the same launch.
//!
//! One execution serves all of them. Each hears everything, and finds out what it would find out
//! alone.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

use super::{CountOverflow, Observer, Shifts, StandIn, Tally, Windows};
use crate::observer::GridBox;
use crate::program::Program;

/// Observers of the same launch.
#[derive(Clone, Debug)]
pub struct Several<O> {
    each: Vec<O>,
    have_parted: Arc<AtomicBool>,
}

/// The recorders of the same CTA, one for each observer.
#[derive(Clone, Debug)]
pub struct SeveralRecorders<R> {
    pub(super) each: Vec<R>,
    pub(super) have_parted: Arc<AtomicBool>,
}

impl<O> Several<O> {
    /// All of these.
    #[must_use]
    pub fn new(each: Vec<O>) -> Self {
        Self { each, have_parted: Arc::default() }
    }

    /// The observers, to look at.
    #[must_use]
    pub fn each(&self) -> &[O] {
        &self.each
    }

    /// The observers, to have one hear what the others do not.
    #[must_use]
    pub fn each_mut(&mut self) -> &mut [O] {
        &mut self.each
    }

    /// The observers, in their order.
    #[must_use]
    pub fn into_each(self) -> Vec<O> {
        self.each
    }

    /// True if some CTA may stand for another one to some observers and not to others, or if not
    /// all want to hear of the same CTAs. Alone, each may be told of what all together are not.
    #[must_use]
    pub fn have_parted(&self) -> bool {
        self.have_parted.load(Ordering::Relaxed)
    }
}

/// The recorders of each observer.
fn parts<'a, R>(
    recorders: &'a mut [&mut SeveralRecorders<R>],
    count: usize,
) -> Vec<Vec<&'a mut R>> {
    let mut parts: Vec<Vec<&mut R>> =
        (0..count).map(|_| Vec::with_capacity(recorders.len())).collect();
    for recorder in recorders {
        for (part, one) in parts.iter_mut().zip(&mut recorder.each) {
            part.push(one);
        }
    }
    parts
}

impl<O: Observer> Observer for Several<O> {
    type Recorder = SeveralRecorders<O::Recorder>;

    const WANTS_ACCESSES: bool = O::WANTS_ACCESSES;
    const WANTS_VALUES: bool = O::WANTS_VALUES;
    const WANTS_STEPS: bool = O::WANTS_STEPS;

    fn recorder(&self, program: &Program) -> Self::Recorder {
        SeveralRecorders {
            each: self.each.iter().map(|observer| observer.recorder(program)).collect(),
            have_parted: Arc::clone(&self.have_parted),
        }
    }

    fn wave(&self) -> usize {
        self.each.iter().map(Observer::wave).max().unwrap_or(1)
    }

    fn adds_up(&self) -> bool {
        self.each.iter().all(Observer::adds_up)
    }

    fn collect(&mut self, first_cta: u64, recorders: &mut [&mut Self::Recorder]) {
        let parts = parts(recorders, self.each.len());
        self.each
            .par_iter_mut()
            .zip(parts)
            .for_each(|(one, mut recorders)| one.collect(first_cta, &mut recorders));
    }

    fn collect_failed(&mut self, first_cta: u64, recorders: &mut [&mut Self::Recorder]) {
        let parts = parts(recorders, self.each.len());
        for (one, mut recorders) in self.each.iter_mut().zip(parts) {
            one.collect_failed(first_cta, &mut recorders);
        }
    }

    fn fresh(&self) -> Self {
        Self::new(self.each.iter().map(Observer::fresh).collect())
    }
}

impl<R: StandIn> StandIn for SeveralRecorders<R> {
    type Shift = Vec<R::Shift>;

    fn become_anonymous(&mut self) {
        self.each.iter_mut().for_each(StandIn::become_anonymous);
    }

    fn singles_out(&self, cta: u64) -> bool {
        self.each.iter().any(|recorder| recorder.singles_out(cta))
    }

    fn shift_to(&self, other: &Self) -> Option<Self::Shift> {
        let both = self.each.iter().zip(&other.each);
        let shifts: Vec<Option<R::Shift>> = both.map(|(one, other)| one.shift_to(other)).collect();
        let is_none = |shift: &Option<R::Shift>| shift.is_none();
        if shifts.iter().any(is_none) && !shifts.iter().all(is_none) {
            self.have_parted.store(true, Ordering::Relaxed);
        }
        shifts.into_iter().collect()
    }

    fn stand_in(&mut self, representative: &Self, shifts: &[(&Self::Shift, u32)]) {
        for (index, (one, of)) in self.each.iter_mut().zip(&representative.each).enumerate() {
            let own = shifts.iter().filter_map(|&(shift, steps)| Some((shift.get(index)?, steps)));
            one.stand_in(of, &own.collect::<Vec<_>>());
        }
    }
}

impl<O: Tally> Tally for Several<O> {
    fn tally(
        &mut self,
        record: &mut Self::Recorder,
        ctas: u128,
        places: &GridBox,
        shifts: &Shifts<'_, Self::Recorder>,
    ) -> Result<(), CountOverflow> {
        for (index, (one, record)) in self.each.iter_mut().zip(&mut record.each).enumerate() {
            let own = shifts.map(|shift| shift.and_then(|shift| shift.get(index)));
            one.tally(record, ctas, places, &own)?;
        }
        Ok(())
    }
}

impl<O: Windows> Windows for Several<O> {
    fn windows(&mut self) -> Result<Vec<Range<u64>>, CountOverflow> {
        let asked: Vec<_> = self.each.iter_mut().map(O::windows).collect::<Result<_, _>>()?;
        let first = asked.first().cloned().unwrap_or_default();
        if asked.iter().all(|windows| *windows == first) {
            return Ok(first);
        }
        self.have_parted.store(true, Ordering::Relaxed);
        Ok(Vec::new())
    }
}
