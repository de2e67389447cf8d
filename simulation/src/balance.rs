//! How unevenly CTAs of different lengths fall on SMs.
//!
//! One SM is simulated with a typical share of the grid. Where CTAs differ, another SM may get the
//! long ones last. The launch ends with the SM that ends last. So all CTAs are dealt to all slots
//! as they become free, with the mean lengths that the simulation found for their classes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::launch::Launch;

/// Beyond this many CTAs the end of a launch is a small part of it.
const MOST_CTAS: u64 = 1 << 18;

/// The time of the whole launch over that of the simulated SM, both dealt in the same way; 1 where
/// CTAs are alike. `own` holds the classes of the SM's CTAs in order; `further` ones of the same
/// mean follow them.
pub(crate) fn imbalance(
    launch: &Launch,
    lengths: &[f64],
    own: &[u32],
    further: f64,
    slots_of_sm: usize,
    sms: usize,
) -> f64 {
    let differ = lengths.iter().any(|length| (length - lengths[0]).abs() > f64::EPSILON);
    if !differ || own.is_empty() || launch.ctas() > MOST_CTAS {
        return 1.0;
    }
    let length = |class: u32| lengths.get(class as usize).copied().unwrap_or_default();
    let all = launch
        .order
        .iter()
        .flat_map(|run| std::iter::repeat_n(run.class, usize::try_from(run.ctas).unwrap_or(0)));
    let whole = dealt(all.map(length), slots_of_sm * sms);
    let sum: f64 = own.iter().map(|&class| length(class)).sum();
    let of_sm = dealt(own.iter().map(|&class| length(class)), slots_of_sm)
        + further * sum / own.len() as f64 / slots_of_sm as f64;
    if of_sm > 0.0 { (whole / of_sm).max(1.0) } else { 1.0 }
}

/// The time until all jobs have ended that are dealt to slots in order, each to the slot that is
/// free first.
fn dealt(jobs: impl Iterator<Item = f64>, slots: usize) -> f64 {
    let mut busy: BinaryHeap<Reverse<u64>> = BinaryHeap::new();
    let mut end = 0;
    for job in jobs {
        let start = if busy.len() < slots { 0 } else { busy.pop().map_or(0, |Reverse(at)| at) };
        let until = start + job.round() as u64;
        busy.push(Reverse(until));
        end = end.max(until);
    }
    end as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::{CtaClass, CtaRun};

    fn of_runs(runs: &[(u32, u64)]) -> Launch {
        Launch {
            classes: vec![CtaClass::default(); 2],
            order: runs.iter().map(|&(class, ctas)| CtaRun { class, ctas }).collect(),
            ..Launch::default()
        }
    }

    #[test]
    fn equal_ctas_are_balanced() {
        let launch = of_runs(&[(0, 100)]);
        let ratio = imbalance(&launch, &[50.0, 50.0], &[0; 10], 0.0, 1, 10);
        assert!((ratio - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_long_cta_at_the_end_is_waited_for() {
        // Nine short ones on each of ten SMs, then one that takes as long as all of them.
        let launch = of_runs(&[(0, 90), (1, 1)]);
        let ratio = imbalance(&launch, &[100.0, 900.0], &[0; 9], 0.0, 1, 10);
        assert!((ratio - 2.0).abs() < 1e-9, "{ratio}");
        // The same where five of the nine were simulated.
        let ratio = imbalance(&launch, &[100.0, 900.0], &[0; 5], 4.0, 1, 10);
        assert!((ratio - 2.0).abs() < 1e-9, "{ratio}");
    }
}
