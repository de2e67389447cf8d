//! Bounds of metrics that come from a part of the grid.
//!
//! Of a sample, see [`super::sampled`]. Of a part of the requests, three doubts are told apart.
//! Windows differ, and others could have been looked at: the jackknife leaves each of them out in
//! turn, and Student's distribution makes an interval of what then changes. Parts of the sampled
//! lines differ, too, and are left out alike. And some misses of the L2 are unsure; the interval
//! holds both extremes of those.

use super::figures::{Values, figures};
use super::{Intervals, LaunchProfile, sampled};
use crate::definitions::{Basis, Definition, definition};
use crate::estimate::{Estimate, Variant};
use crate::student::student;

/// What a launch's traffic may be, for one answer to the unsure misses.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answer {
    /// From all requests that were replayed.
    pub(crate) whole: Variant,
    /// From all windows but one, for each of them.
    pub(crate) without_window: Vec<Variant>,
    /// From all parts of the sampled lines but one, for each of them.
    pub(crate) without_lines: Vec<Variant>,
}

impl Answer {
    /// From a replay of all CTAs and all lines.
    pub(crate) fn alone(whole: Variant) -> Self {
        Self { whole, without_window: Vec::new(), without_lines: Vec::new() }
    }
}

/// What a launch's counts may be.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Doubt {
    /// Traffic alone is in doubt: an answer for each extreme.
    Replay(Vec<Answer>),
    /// All counts come from a sample.
    Sample(Box<Estimate>),
}

impl Doubt {
    /// Bounds of the metrics of `profile` that are in doubt.
    pub(super) fn intervals(&self, profile: &LaunchProfile) -> Intervals {
        let mut intervals = Intervals::new();
        let mut widen = |name: &str, [least, most]: [f64; 2]| {
            let interval = intervals.entry(name.to_owned()).or_insert([least, most]);
            *interval = [interval[0].min(least).max(0.0), interval[1].max(most)];
        };
        match self {
            Self::Replay(answers) => {
                answers.iter().for_each(|answer| of_replay(answer, profile, &mut widen));
            }
            Self::Sample(estimate) => sampled::intervals(estimate, profile, &mut widen),
        }
        for (name, interval) in &mut intervals {
            // No more hits than there are sectors. Lanes that share bytes ask for more than sectors
            // hold, so that efficiencies of accesses have no such bound.
            let is_part = |one: &&Definition| {
                one.unit == "percent" && !matches!(one.basis, Basis::AccessModel | Basis::Banks)
            };
            if definition(name).filter(is_part).is_some() {
                interval[1] = interval[1].min(100.0);
            }
        }
        intervals
    }

    /// CTAs that were drawn at random, of a sample.
    pub(super) fn drawn_ctas(&self) -> Option<u64> {
        match self {
            Self::Replay(_) => None,
            Self::Sample(estimate) => Some(estimate.drawn()),
        }
    }
}

/// Bounds of the metrics that depend on caches, for one answer to the unsure misses.
fn of_replay(answer: &Answer, profile: &LaunchProfile, widen: &mut impl FnMut(&str, [f64; 2])) {
    let machine = profile.machine.as_ref();
    let of_caches = |basis: Basis| basis == Basis::CacheReplay;
    let figures = |variant: &Variant| figures(profile, variant.clone(), machine, of_caches);
    let without = [&answer.without_window, &answer.without_lines]
        .map(|variants| variants.iter().map(figures).collect::<Vec<Values>>());
    for (name, value) in figures(&answer.whole) {
        let of_others = |others: &[Values]| -> Vec<f64> {
            others.iter().filter_map(|values| values.get(&name).copied()).collect()
        };
        let [windows, lines] = without.each_ref().map(|others| half_width(&of_others(others)));
        let about = windows.hypot(lines);
        widen(&name, [value - about, value + about]);
    }
}

/// Half the width of the jackknife's interval of 95 %.
fn half_width(without_one: &[f64]) -> f64 {
    let count = without_one.len() as f64;
    if without_one.len() < 2 {
        return 0.0;
    }
    let mean = without_one.iter().sum::<f64>() / count;
    let squares: f64 = without_one.iter().map(|value| (value - mean).powi(2)).sum();
    student(count - 1.0) * ((count - 1.0) / count * squares).sqrt()
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
        let expected = 2.776_445 * (variance / count).sqrt();
        assert!((half_width(&without_one) - expected).abs() < 1e-9);
        assert_eq!(half_width(&[1.0]), 0.0);
    }
}
