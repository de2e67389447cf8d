//! GPUs whose counts one execution can give.
//!
//! All counts are those of separate executions, to the byte. Where one execution cannot promise
//! that, there is one for each GPU.
//!
//! Nothing is shared behind the recorders, because nothing is equal there: numbers of SMs and of
//! resident CTAs decide the order of requests.

use gpucast_interpreter::Options;

use super::{Counted, Counting, Extras, count, in_one_execution};
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
