//! The counts of every CTA of a launch, of which samples are drawn again and again.
//!
//! How often intervals hold the truth takes thousands of samples to tell. Here all CTAs are
//! executed once. A sample then costs what its estimate costs. Places, rounds, strata and intervals
//! are those of a sample that is executed.

use gpucast_interpreter::{Observer, Program};

use super::{Run, Sample, SampleSize, Sums};
use crate::estimate::{Columns, add};
use crate::launch_profile::LaunchProfile;
use crate::observer::Counter;
use crate::observer::sample::plan::{Plan, Role};
use crate::recorder::CtaRecorder;

/// A sample of a [`Population`].
#[derive(Clone, Debug)]
pub struct Drawn {
    /// What the sample says of all CTAs.
    pub profile: LaunchProfile,
    /// Its CTAs, in the order in which they would be executed.
    pub ctas: Vec<u64>,
}

/// Observes a launch, and keeps what each of its CTAs counts, without caches.
#[derive(Clone, Debug)]
pub struct Population {
    /// Counts all CTAs.
    counter: Counter,
    columns: Columns,
    /// The counts of each CTA, in order of the grid.
    ctas: Vec<Vec<f64>>,
}

impl Population {
    /// The CTAs of a launch that `counter` has been made for.
    #[must_use]
    pub fn of(counter: Counter) -> Self {
        let counter = counter.without_caches();
        let columns = Columns::new(counter.code.blocks.len(), counter.code.guarded.len());
        Self { counter, columns, ctas: Vec::new() }
    }

    /// What all CTAs count.
    #[must_use]
    pub fn whole(&self) -> LaunchProfile {
        self.counter.clone().finish().0
    }

    /// Draws a sample. With `rounds` it was cut short after so many rounds.
    ///
    /// # Errors
    ///
    /// The reason why there is no such sample.
    pub fn sample(&self, size: SampleSize, rounds: Option<usize>) -> Result<Drawn, String> {
        let mut sample = Sample::new(size, self.counter.code.blocks.len(), 0);
        let sizes = self.counter.sizes(&sample, 0.0)?;
        sample.plan = Plan::new(&sizes, &mut sample.random);
        sample.columns = self.columns.clone();
        let executed = rounds.unwrap_or(usize::MAX).min(sample.plan.rounds.len());
        let executed: usize = sample.plan.rounds[..executed].iter().sum();
        let mut ctas = Vec::new();
        for part in &sample.plan.parts {
            if matches!(part.role, Role::Run(_)) && sample.runs.len() == executed {
                break;
            }
            ctas.extend(part.ctas.clone());
            let mut counts = Vec::new();
            for cta in part.ctas.clone() {
                let place = usize::try_from(cta).ok();
                let of_cta = place.and_then(|at| self.ctas.get(at));
                add(&mut counts, of_cta.ok_or("not all CTAs were executed")?, 1.0);
            }
            match part.role {
                Role::Run(stratum) => {
                    sample.runs.push(Run { stratum, start: part.ctas.start, counts });
                }
                Role::First | Role::Last | Role::Warm | Role::Following => sample.ends.push(counts),
            }
        }
        if rounds.is_some() && !sample.end_early(self.counter.least_runs()) {
            return Err("too few rounds".to_owned());
        }
        let (profile, _) = self.counter.clone().finish_sample(sample);
        Ok(Drawn { profile, ctas })
    }
}

impl Observer for Population {
    type Recorder = CtaRecorder;

    fn recorder(&self, program: &Program) -> CtaRecorder {
        self.counter.recorder(program)
    }

    fn wave(&self) -> usize {
        self.counter.wave()
    }

    fn collect(&mut self, first_cta: u64, recorders: &mut [&mut CtaRecorder]) {
        for recorder in recorders.iter() {
            let (blocks, guarded) =
                (self.counter.code.blocks.len(), self.counter.code.guarded.len());
            let mut sums = Sums::new(blocks, guarded);
            sums.add(recorder);
            self.ctas.push(self.columns.list(&sums, None));
        }
        self.counter.collect(first_cta, recorders);
    }

    fn fresh(&self) -> Self {
        self.clone()
    }
}
