//! An observer with its recorders, whatever its type.
//!
//! The engine is compiled once and speaks to this trait; only what stands here is compiled for each
//! type of observer.

use std::mem;

use crate::observer::{Observer, Recorder, Wants};
use crate::program::Program;

/// The observer of one launch and the recorders of two batches of CTAs. While one batch is
/// collected, the other one fills.
pub(super) trait Observation: Send {
    /// The events that the observer asks for.
    fn wants(&self) -> Wants;

    /// [`Observer::wave`].
    fn wave(&self) -> usize;

    /// [`Observer::adds_up`].
    fn adds_up(&self) -> bool;

    /// Makes the recorders of a batch of `ctas` CTAs, or of two if more batches than one come.
    fn begin(&mut self, program: &Program, ctas: usize, more: bool);

    /// Returns the recorders of the batch that fills, and the collection of the other batch. Its
    /// CTAs begin with `full`; none if it has none yet.
    fn batches(&mut self, full: Option<u64>) -> Batches<'_>;

    /// Takes the batch that fills for full, and the other one to be filled.
    fn turn(&mut self);

    /// Collects the last batch: `ctas` CTAs from `first` on.
    fn end(&mut self, first: u64, ctas: usize);

    /// As many recorders, each for as many CTAs as there are, of an observer that adds up.
    fn sums(&mut self, program: &Program, recorders: usize) -> Vec<&mut dyn Recorder>;

    /// Collects these recorders.
    fn end_sums(&mut self);

    /// Hands over `ctas` recorders of the batch that fills, from CTA `first` on, of a launch that
    /// has failed.
    fn fail(&mut self, first: u64, ctas: usize);

    /// Puts a fresh observer in the place of this one until [`Self::end_attempt`].
    fn begin_attempt(&mut self);

    /// Keeps the fresh observer for good, or drops it.
    fn end_attempt(&mut self, keep: bool);
}

/// Two batches of CTAs, which different threads can hold.
pub(super) struct Batches<'a> {
    /// The recorders of the batch that fills.
    pub(super) filling: Vec<&'a mut (dyn Recorder + 'a)>,
    /// Collects the other batch.
    pub(super) collect: Box<dyn FnOnce() + Send + 'a>,
}

/// [`Observation`] by an observer of type `O`.
pub(super) struct Observed<'o, O: Observer> {
    observer: &'o mut O,
    attempt: Option<O>,
    filling: Vec<O::Recorder>,
    full: Vec<O::Recorder>,
}

impl<'o, O: Observer> Observed<'o, O> {
    pub(super) fn new(observer: &'o mut O) -> Self {
        Self { observer, attempt: None, filling: Vec::new(), full: Vec::new() }
    }

    /// The observer that hears now.
    fn current(&mut self) -> &mut O {
        self.attempt.as_mut().unwrap_or(self.observer)
    }
}

impl<O: Observer> Observation for Observed<'_, O> {
    fn wants(&self) -> Wants {
        Wants::of::<O>()
    }

    fn wave(&self) -> usize {
        self.observer.wave().max(1)
    }

    fn adds_up(&self) -> bool {
        self.observer.adds_up()
    }

    fn begin(&mut self, program: &Program, ctas: usize, more: bool) {
        let observer = &*self.current();
        let filling = (0..ctas).map(|_| observer.recorder(program)).collect();
        let others = if more { ctas } else { 0 };
        let full = (0..others).map(|_| observer.recorder(program)).collect();
        (self.filling, self.full) = (filling, full);
    }

    fn batches(&mut self, full: Option<u64>) -> Batches<'_> {
        let observer = self.attempt.as_mut().unwrap_or(self.observer);
        let recorders = self.full.as_mut_slice();
        Batches {
            filling: self.filling.iter_mut().map(Recorder::listening).collect(),
            collect: Box::new(move || {
                if let Some(first) = full {
                    hand_over(observer, first, recorders);
                }
            }),
        }
    }

    fn turn(&mut self) {
        mem::swap(&mut self.filling, &mut self.full);
    }

    fn end(&mut self, first: u64, ctas: usize) {
        let observer = self.attempt.as_mut().unwrap_or(self.observer);
        hand_over(observer, first, &mut self.full[..ctas]);
    }

    fn sums(&mut self, program: &Program, recorders: usize) -> Vec<&mut dyn Recorder> {
        let observer = &*self.current();
        self.full = (0..recorders).map(|_| observer.recorder(program)).collect();
        self.full.iter_mut().map(Recorder::listening).collect()
    }

    fn end_sums(&mut self) {
        let recorders = self.full.len();
        self.end(0, recorders);
    }

    fn fail(&mut self, first: u64, ctas: usize) {
        let observer = self.attempt.as_mut().unwrap_or(self.observer);
        let mut recorders: Vec<_> = self.filling[..ctas].iter_mut().collect();
        observer.collect_failed(first, &mut recorders);
    }

    fn begin_attempt(&mut self) {
        self.attempt = Some(self.observer.fresh());
    }

    fn end_attempt(&mut self, keep: bool) {
        if let Some(attempt) = self.attempt.take().filter(|_| keep) {
            *self.observer = attempt;
        }
    }
}

/// Hands the records of the CTAs from `first` on to the observer, wave by wave.
pub(super) fn hand_over<O: Observer>(observer: &mut O, first: u64, recorders: &mut [O::Recorder]) {
    let wave = observer.wave().max(1);
    for (index, recorders) in recorders.chunks_mut(wave).enumerate() {
        let mut recorders: Vec<_> = recorders.iter_mut().collect();
        observer.collect(first + (index * wave) as u64, &mut recorders);
    }
}
