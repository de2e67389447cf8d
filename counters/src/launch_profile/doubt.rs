//! Bounds of metrics whose traffic comes from windows of the grid.
//!
//! Two doubts are told apart. Windows differ, and others could have been looked at: the jackknife
//! leaves each of them out in turn, and Student's distribution makes an interval of what then
//! changes. And some misses of the L2 are unsure; the interval holds both extremes of those.

use super::local::LocalShares;
use super::{Intervals, LaunchProfile};
use crate::definitions::{Basis, definition, metrics};
use crate::hierarchy::L2Traffic;
use crate::table::BaseTable;
use crate::totals::{Replay, Totals};

/// The 97.5 % quantile of Student's distribution for 1 to 10 degrees of freedom.
const STUDENT: [f64; 10] = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228];

/// A table and traffic that a launch may have.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Variant {
    pub(crate) table: BaseTable,
    pub(crate) l2: L2Traffic,
}

/// What a launch's traffic may be, for one answer to the unsure misses.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answer {
    /// From all windows.
    pub(crate) whole: Variant,
    /// From all windows but one, for each of them.
    pub(crate) without_one: Vec<Variant>,
}

/// What a launch's traffic may be.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Doubt {
    /// Every unsure miss is one; none is.
    pub(crate) answers: [Answer; 2],
}

impl Doubt {
    /// Bounds of the metrics of `profile` that depend on caches.
    pub(super) fn intervals(&self, profile: &LaunchProfile) -> Intervals {
        let mut intervals = Intervals::new();
        for answer in &self.answers {
            let whole = figures(profile, &answer.whole);
            let others: Vec<Intervals> =
                answer.without_one.iter().map(|one| figures(profile, one)).collect();
            for (name, [value, _]) in whole {
                let of_others: Vec<f64> =
                    others.iter().filter_map(|one| one.get(&name).map(|it| it[0])).collect();
                let about = half_width(&of_others);
                let interval = intervals.entry(name).or_insert([value, value]);
                interval[0] = interval[0].min(value - about).max(0.0);
                interval[1] = interval[1].max(value + about);
            }
        }
        for (name, interval) in &mut intervals {
            // No more hits than there are sectors.
            if definition(name).is_some_and(|definition| definition.unit == "percent") {
                interval[1] = interval[1].min(100.0);
            }
        }
        intervals
    }
}

/// The metrics of a variant that depend on caches.
fn figures(profile: &LaunchProfile, variant: &Variant) -> Intervals {
    let Variant { mut table, mut l2 } = variant.clone();
    if let Some(shares) = LocalShares::of(&totals(profile, &table, l2)) {
        shares.apply(&mut table, &mut l2);
    }
    let of_caches =
        |name: &str| definition(name).is_some_and(|one| one.basis == Basis::CacheReplay);
    let figures = metrics(&totals(profile, &table, l2)).into_iter();
    let figures = figures.filter(|(name, _)| of_caches(name));
    figures.map(|(name, figure)| (name, [figure.value.as_f64(); 2])).collect()
}

fn totals<'a>(profile: &'a LaunchProfile, table: &'a BaseTable, l2: L2Traffic) -> Totals<'a> {
    let machine = profile.machine.as_ref();
    Totals { table, machine, launch: profile.launch, l2, replay: Replay::Windows }
}

/// Half the width of the jackknife's interval of 95 %.
fn half_width(without_one: &[f64]) -> f64 {
    let count = without_one.len() as f64;
    let Some(quantile) = without_one.len().checked_sub(2).and_then(|at| STUDENT.get(at)) else {
        return 0.0;
    };
    let mean = without_one.iter().sum::<f64>() / count;
    let squares: f64 = without_one.iter().map(|value| (value - mean).powi(2)).sum();
    quantile * ((count - 1.0) / count * squares).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a mean, the jackknife's standard error is the usual one: s / √n.
    #[test]
    fn the_jackknife_of_a_mean_is_its_standard_error() {
        let values = [3.0_f64, 5.0, 4.0, 8.0, 10.0];
        let (count, sum) = (5.0, values.iter().sum::<f64>());
        let without_one: Vec<f64> = values.iter().map(|value| (sum - value) / 4.0).collect();
        let mean = sum / count;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 4.0;
        let expected = 2.776 * (variance / count).sqrt();
        assert!((half_width(&without_one) - expected).abs() < 1e-12);
        assert_eq!(half_width(&[1.0]), 0.0);
    }
}
