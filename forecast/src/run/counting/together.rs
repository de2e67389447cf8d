//! GPUs whose counts one execution can give.
//!
//! All counts are those of separate executions, to the byte. Where one execution cannot promise
//! that, there is one for each GPU.
//!
//! Nothing is shared behind the recorders, because nothing is equal there: numbers of SMs and of
//! resident CTAs decide the order of requests.

use gpucast_interpreter::Options;

use super::observer::{Counts, Launching};
use super::rehearsal::rehearsed;
use super::{Count, Counted, Counting, Extras, count, effort, slice, times, with_load_caching};
use crate::failure::Failure;
use crate::input::plan::Plan;
use crate::run::execute::Loaded;
use crate::settings::{CacheChoice, RungChoice};

/// GPUs that one execution counts for, at most: the requests and the caches of all are held.
pub const MOST_TOGETHER: usize = 4;

/// Counts every launch of a plan as several GPUs do, in their order.
pub fn count_each(
    plan: &Plan,
    loaded: &Loaded,
    options: &Options,
    countings: &[Counting<'_>],
) -> Vec<Result<Vec<Counted>, Failure>> {
    let kept = |counting: &Counting<'_>| {
        let kept = counting.supervisor.kept_counts()?;
        kept.find(plan, loaded, options, counting).ok().flatten()
    };
    let mut all: Vec<Option<Result<Vec<Counted>, Failure>>> = match countings {
        [_] => vec![None],
        several => several.iter().map(|counting| kept(counting).map(Ok)).collect(),
    };
    for first in 0..countings.len() {
        if all[first].is_some() {
            continue;
        }
        let is_like = |&place: &usize| {
            all[place].is_none() && are_alike(&countings[first], &countings[place], options)
        };
        let others = (first + 1..countings.len()).filter(is_like).take(MOST_TOGETHER - 1);
        let together: Vec<usize> = std::iter::once(first).chain(others).collect();
        let of_together: Vec<Counting<'_>> =
            together.iter().map(|&place| countings[place]).collect();
        let counted = match together.as_slice() {
            [_] => None,
            _ => in_one_execution(plan, loaded, options, &of_together).ok(),
        };
        match counted {
            Some(counted) => {
                for (&place, mut counted) in together.iter().zip(counted) {
                    let counting = &countings[place];
                    if let Some(kept) = counting.supervisor.kept_counts() {
                        kept.keep_counts(plan, options, counting, &mut counted);
                    }
                    all[place] = Some(Ok(counted));
                }
            }
            // An error is told of by each that meets it alone.
            None => {
                for &place in &together {
                    all[place] = Some(count(plan, loaded, options, &countings[place]));
                }
            }
        }
    }
    all.into_iter().map(|counted| counted.unwrap_or(Err(Failure::Stopped))).collect()
}

/// True if one execution may serve both.
fn are_alike(one: &Counting<'_>, other: &Counting<'_>, options: &Options) -> bool {
    let extras = |counting: &Counting<'_>| {
        let Extras { hashes, stages, transfers: _, features, trace, only_executed, windows: _ } =
            counting.extras;
        (hashes, stages, features, trace.is_some(), only_executed)
    };
    let may_share = |counting: &Counting<'_>| {
        // Windows and samples choose CTAs for each GPU, and are soon executed. Transfers compare
        // the memory before and after.
        counting.sample.is_none()
            && counting.caches != CacheChoice::Windows
            && counting.rung != RungChoice::Formulas
            && !counting.extras.transfers
    };
    may_share(one)
        && may_share(other)
        && options.deadline.is_none()
        && (one.rung, one.caches) == (other.rung, other.caches)
        && extras(one) == extras(other)
}

/// The counts of all, or `None` where each has to be counted alone: because of an error, which is
/// told of then, or because classes of CTAs are not the same to all.
fn in_one_execution(
    plan: &Plan,
    loaded: &Loaded,
    options: &Options,
    countings: &[Counting<'_>],
) -> Option<Vec<Vec<Counted>>> {
    let Extras { stages, features, .. } = countings.first()?.extras;
    let together = match (stages, features) {
        (false, false) => together::<Counter>,
        (true, false) => together::<StageCounter>,
        (false, true) => together::<(Counter, FeatureCounter)>,
        (true, true) => together::<(StageCounter, FeatureCounter)>,
    };
    let mut counted = together(plan, loaded, options, countings)?;
    for (counting, counted) in countings.iter().zip(&mut counted) {
        if let Some(kept) = counting.supervisor.kept_counts() {
            kept.keep_counts(plan, options, counting, counted);
        }
    }
    Some(counted)
}

fn together<C: Counts>(
    plan: &Plan,
    loaded: &Loaded,
    options: &Options,
    countings: &[Counting<'_>],
) -> Option<Vec<Vec<Counted>>> {
    let plan = &*rehearsed(plan);
    let countings: Vec<Counting<'_>> = countings
        .iter()
        .map(|one| Counting { device: with_load_caching(one.device, plan), ..*one })
        .collect();
    let first = countings.first()?;
    let supervisor = first.supervisor;
    let watched = |counted_by: &CountedBy, is_sliced: bool, followed| Together::<C> {
        each: countings
            .iter()
            .map(|counting| {
                let mut count = Count::new(plan, counting, counted_by.clone());
                count.is_sliced = is_sliced;
                count
            })
            .collect(),
        followed,
        plan,
        counting: first,
        launch: 0,
    };
    let (watch, outcome) = match slice(plan, loaded, options, first).ok()? {
        Ok(Sliced { mut memory, programs, followed }) => {
            let mut watch = watched(&CountedBy::slice(None), true, followed);
            let memory = &mut memory;
            let outcome =
                execute::launch(plan, loaded, programs, memory, options, supervisor, &mut watch);
            (watch, outcome)
        }
        Err(_) if matches!(first.rung, RungChoice::Slice | RungChoice::Classes) => return None,
        Err(because) => {
            let mut watch = watched(&CountedBy::full(because), false, Vec::new());
            let mut memory = execute::memory(plan, loaded).ok()?;
            let memory = &mut memory;
            let outcome = execute::execute(plan, loaded, memory, options, supervisor, &mut watch);
            (watch, outcome)
        }
    };
    outcome.ok()?;
    Some(watch.each.into_iter().map(|count| count.counted).collect())
}

/// Counts of several GPUs.
struct Together<'a, C> {
    each: Vec<Count<'a, C>>,
    /// As in [`Count`].
    followed: Vec<Result<Program, String>>,
    plan: &'a Plan,
    /// The settings that all have in common.
    counting: &'a Counting<'a>,
    /// The launch that is running.
    launch: usize,
}

impl<C: Counts> Together<'_, C> {
    fn all_are(&mut self, counted_by: &CountedBy) {
        self.each.iter_mut().for_each(|count| count.counted_by = counted_by.clone());
    }
}

impl<C: Counts> Watch for Together<'_, C> {
    type Observer = Several<C>;

    fn launching(&mut self, index: usize, memory: &DeviceMemory) {
        self.launch = index;
        self.each.iter_mut().for_each(|count| count.launching(index, memory));
    }

    fn is_sliced(&self) -> bool {
        self.each.iter().any(|count| count.is_sliced)
    }

    fn begin(&mut self, program: &Program, launch: &Launch) -> Several<C> {
        Several::new(self.each.iter_mut().map(|count| count.begin(program, launch)).collect())
    }

    fn without_executing(
        &mut self,
        counters: &mut Several<C>,
        _program: &Program,
        launch: &Launch,
        memory: &mut DeviceMemory,
        options: &Options,
        host: &dyn Host,
    ) -> Result<Option<Result<Summary, RunError>>, Failure> {
        if !self.is_sliced() {
            return Ok(None);
        }
        let mut because = None;
        if let (Some(followed), Some(effort)) =
            (self.followed.get(self.launch), effort(self.counting.rung))
        {
            let no_classes = match followed {
                Err(because) => because.clone(),
                Ok(program) => {
                    let (caches, times) = (self.counting.caches, times(self.counting, self.plan));
                    let launching =
                        Launching { program, launch, memory, options, host, effort, caches, times };
                    let counted = C::several_by_classes(counters, launching);
                    // Each alone may be counted by classes or windows that are not those of all.
                    if counters.have_parted() {
                        return Err(Failure::Explained);
                    }
                    match counted {
                        Ok(Ok(ByClasses { summary, classes, .. })) => {
                            self.all_are(&CountedBy::classes(classes));
                            return Ok(Some(Ok(summary)));
                        }
                        Ok(Err(because)) => because,
                        Err(error) => return Ok(Some(Err(error))),
                    }
                }
            };
            if effort == ClassEffort::ToTheEnd {
                return Err(Failure::Explained);
            }
            because = Some(no_classes);
        }
        self.all_are(&CountedBy::slice(because));
        Ok(None)
    }

    fn end(
        &mut self,
        counters: Several<C>,
        program: &Program,
        memory: &DeviceMemory,
    ) -> Result<(), Failure> {
        let counters = counters.into_each();
        let mut each = self.each.iter_mut().zip(counters);
        each.try_for_each(|(count, counter)| count.end(counter, program, memory))
    }

    /// Whatever it is, each finds it out alone.
    fn failed(&mut self, _counters: Several<C>, _error: &RunError) -> bool {
        true
    }

    fn launched(&mut self, executed: Executed<'_>) {
        let Executed { index, timing, ordered_because, watched, memory } = executed;
        for count in &mut self.each {
            let ordered_because = ordered_because.clone();
            count.launched(Executed { index, timing, ordered_because, watched, memory });
        }
    }
}
