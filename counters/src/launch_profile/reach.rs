//! How far the truth may lie from a figure of a stratified sample, with a confidence of 95 %.
//!
//! - *Runs differ.* The variance is that of a stratified sample (Cochran, "Sampling Techniques",
//!   3rd ed. 1977, section 5.4). Few runs may bring most of it; Student's distribution then has
//!   few degrees of freedom (Satterthwaite, "An approximate distribution of estimates of
//!   variance components", Biometrics Bulletin 2, 1946). Runs of a stratum may be alike by
//!   chance where a kind of CTA begins or ends. The fewer degrees of freedom there are, the more
//!   the variance is therefore that of neighbouring runs, whose strata may differ (Wolter,
//!   "Introduction to Variance Estimation", 2nd ed. 2007, section 8.2, estimators of overlapping
//!   differences).
//! - *Tails are long.* Few CTAs may do most of the work, and the greatest of them are rarely
//!   drawn. The tail is taken for a power law of exponent α. The runs beyond the greatest drawn
//!   one then add its excess, divided by α − 1, to the expected sum. Hill's estimator gives α
//!   from the greatest runs ("A simple general approach to inference about the tail of a
//!   distribution", Annals of Statistics 3, 1975). Where all of the greatest are alike, nothing
//!   is added.
//!
//! Tails to either side count by themselves. Where all runs are alike, all of this is zero.

use crate::estimate::Weight;
use crate::student::student;

/// How far an interval reaches from the figure.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Reach {
    pub(super) below: f64,
    pub(super) above: f64,
}

/// Degrees of freedom at which half of the variance is that within strata, and half that of
/// neighbours. It was chosen by simulation of steps, blocks, waves and random runs.
const HALF_TRUSTED: f64 = 10.0;

/// The fewest degrees of freedom. A single unlike run that was drawn has an upper bound of 5.3 runs
/// then. That of Poisson's distribution is 5.6 (Garwood, "Fiducial limits for the Poisson
/// distribution", Biometrika 28, 1936).
const FEWEST: f64 = 2.0;

/// Runs from which the exponent of a tail is estimated, at most.
const GREATEST: usize = 8;

/// The executed runs for each of them.
const RUNS_PER_GREATEST: usize = 8;

/// The most runs like the greatest one that a tail adds: the exponent of a power law without a
/// variance is less than 2, and that of few runs is unsure.
const MOST_ADDED: f64 = 2.0;

/// Neighbouring runs whose mean the tail is measured from: so a trend along the grid is no tail.
const NEIGHBOURS: usize = 16;

impl Reach {
    /// `changes` says, run by run in order of the grid, how the figure changes if the run stands
    /// for twice as many.
    pub(super) fn of(changes: &[f64], weights: &[Weight]) -> Self {
        let all: f64 = weights.iter().map(|weight| weight.runs).sum();
        let count = changes.len() as f64;
        let unseen = (1.0 - count / all.max(1.0)).max(0.0);
        let Variance { value, freedom } = Variance::of(changes, weights);
        let about = student(freedom.max(FEWEST)) * value.sqrt();
        let [below, above] = tails(changes);
        Self { below: about + unseen * below, above: about + unseen * above }
    }
}

/// A variance and the degrees of freedom that it has.
#[derive(Clone, Copy, Debug)]
struct Variance {
    value: f64,
    freedom: f64,
}

/// A sum of estimated variances.
#[derive(Clone, Copy, Debug, Default)]
struct Terms {
    sum: f64,
    /// The squares, each over its degrees of freedom and two: that is what χ² makes of them.
    squares: f64,
}

impl Terms {
    fn add(&mut self, variance: f64, freedom: f64) {
        self.sum += variance;
        self.squares += variance.powi(2) / (freedom + 2.0);
    }

    /// Welch, "The generalization of Student's problem when several different population variances
    /// are involved", Biometrika 34, 1947: without the bias of Satterthwaite's number.
    fn freedom(&self) -> f64 {
        if self.squares > 0.0 { self.sum.powi(2) / self.squares - 2.0 } else { 0.0 }
    }
}

impl Variance {
    fn of(changes: &[f64], weights: &[Weight]) -> Self {
        let all: f64 = weights.iter().map(|weight| weight.runs).sum();
        // A change is that of the mean number of runs that one stands for.
        let each = all / changes.len().max(1) as f64;
        let (mut own, mut beside) = (Terms::default(), Terms::default());
        let (mut at, mut most) = (0, 0.0);
        for (stratum, &Weight { runs, executed }) in weights.iter().enumerate() {
            let first = at;
            at = (at + executed).min(changes.len());
            let count = executed as f64;
            let unseen = (1.0 - count / runs.max(1.0)).max(0.0);
            // What the variance of a run makes in the sum.
            let times = unseen * (runs / each.max(f64::MIN_POSITIVE)).powi(2) / count.max(1.0);
            let variance = variance(&changes[first..at]);
            let freedom = (count - 1.0).max(0.0);
            most += freedom;
            own.add(times * variance, freedom);
            // A quarter is that of the first run and the one before, and of the last and the next.
            let step = |place: usize| (changes[place] - changes[place - 1]).powi(2) / 2.0;
            let mut inside = 1.0;
            if stratum > 0 && first > 0 && first < changes.len() {
                inside -= 0.25;
                beside.add(0.25 * times * step(first), 1.0);
            }
            if at > 0 && at < changes.len() {
                inside -= 0.25;
                beside.add(0.25 * times * step(at), 1.0);
            }
            beside.add(inside * times * variance, freedom);
        }
        let of_own = own.freedom().max(0.0);
        let part = HALF_TRUSTED / (HALF_TRUSTED + of_own);
        if beside.sum <= own.sum {
            return Self { value: own.sum, freedom: of_own.clamp(FEWEST, most.max(FEWEST)) };
        }
        // Differences that overlap have half as many degrees of freedom.
        let freedom = part * (beside.freedom() / 2.0) + (1.0 - part) * of_own;
        Self {
            value: own.sum + part * (beside.sum - own.sum),
            freedom: freedom.clamp(FEWEST, most.max(FEWEST)),
        }
    }
}

/// The variance of some runs, 0 of a single one.
fn variance(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count.max(1.0);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    squares / (count - 1.0).max(1.0)
}

/// What runs beyond the least and the greatest that were drawn may add.
fn tails(changes: &[f64]) -> [f64; 2] {
    let greatest = GREATEST.min(changes.len() / RUNS_PER_GREATEST);
    // A power law takes two runs, at least.
    if greatest < 2 {
        return [0.0; 2];
    }
    let mut from_mean = Vec::with_capacity(changes.len());
    let parts = (changes.len() / NEIGHBOURS).max(1);
    for part in 0..parts {
        let edge = |part: usize| part * changes.len() / parts;
        let values = &changes[edge(part)..edge(part + 1)];
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        // Each run is a part of the mean that it is measured from.
        let whole = (count / (count - 1.0)).sqrt();
        from_mean.extend(values.iter().map(|value| (value - mean) * whole));
    }
    from_mean.sort_by(f64::total_cmp);
    let below: Vec<f64> = from_mean[..=greatest].iter().map(|value| -value).collect();
    from_mean.reverse();
    [tail(&below), tail(&from_mean[..=greatest])]
}

/// What a tail adds, of which these are the greatest runs, in descending order. The last one tells
/// where it begins.
fn tail(greatest: &[f64]) -> f64 {
    let [first, .., last] = greatest else { return 0.0 };
    if *first <= 0.0 {
        return 0.0;
    }
    // Runs that lie on the other side of the mean are no part of the tail.
    let begin = last.max(1e-9 * first);
    let logarithms = greatest.iter().map(|value| (value.max(begin) / begin).ln());
    let inverse = logarithms.sum::<f64>() / (greatest.len() - 1) as f64;
    // 1 / (α − 1), where α = 1 / `inverse`.
    let added = if inverse < 1.0 { inverse / (1.0 - inverse) } else { MOST_ADDED };
    first * added.min(MOST_ADDED)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(runs: f64, strata: usize) -> Vec<Weight> {
        vec![Weight { runs, executed: 2 }; strata]
    }

    /// A stratified sample on paper: two strata of 10 and 30 runs, with values 1, 3 and 5, 9. The
    /// variance of the total is 0.8 · 100 · 2/2 + (14/15) · 900 · 8/2 = 80 + 3360. Neighbours
    /// differ by 2 as well: 0.75 (80 + 3360) + 0.25 (80 + 3360 / 4), which is less.
    #[test]
    fn the_variance_is_that_of_a_stratified_sample() {
        let values = [1.0, 3.0, 5.0, 9.0];
        let mean = (10.0 * 2.0 + 30.0 * 7.0) / 40.0;
        // Each of the four runs stands for ten.
        let changes = values.map(|value| 10.0 * (value - mean));
        let weights = [Weight { runs: 10.0, executed: 2 }, Weight { runs: 30.0, executed: 2 }];
        let Variance { value, freedom } = Variance::of(&changes, &weights);
        assert!((value - 3440.0).abs() < 1e-9, "{value}");
        // 3440² / ((80² + 3360²) / 3) − 2 = 1.14, and two are the fewest.
        assert!((freedom - FEWEST).abs() < 1e-9, "{freedom}");
        let Reach { below, above } = Reach::of(&changes, &weights);
        let expected = 4.302_653 * 3440.0_f64.sqrt();
        assert!((below - expected).abs() < 1e-3 && (above - expected).abs() < 1e-3);
    }

    #[test]
    fn runs_that_are_alike_have_no_interval() {
        assert_eq!(Reach::of(&[0.0; 64], &pairs(10.0, 32)), Reach::default());
        assert_eq!(Reach::of(&[0.25; 64], &pairs(10.0, 32)), Reach::default());
        assert_eq!(Reach::of(&[], &[]), Reach::default());
    }

    /// A kind of CTA that fills whole strata differs from its neighbours alone. The step may lie
    /// anywhere between both runs.
    #[test]
    fn a_step_between_strata_has_an_interval() {
        let changes: Vec<f64> = (0..32).map(|run| if run < 16 { -1.0 } else { 1.0 }).collect();
        let Reach { below, above } = Reach::of(&changes, &pairs(20.0, 16));
        // At most a stratum on one side is of the other kind: 20 runs of 10 that each stands for.
        assert!(below >= 4.0 * 0.9 && above >= 4.0 * 0.9, "{below} {above}");
    }

    /// Equal variances have a degree of freedom for each stratum; a single one has the fewest.
    #[test]
    fn few_unlike_runs_have_few_degrees_of_freedom() {
        let freedom = |unlike: usize| {
            let value = |run: usize| f64::from(run.is_multiple_of(2) && run < 2 * unlike);
            let changes: Vec<f64> = (0..128).map(value).collect();
            Variance::of(&changes, &pairs(100.0, 64)).freedom
        };
        assert!((freedom(64) - 64.0).abs() < 1e-9, "{}", freedom(64));
        let few = [1, 2, 4, 8].map(freedom);
        assert!(few[0] < 5.0 && few.is_sorted(), "{few:?}");
    }

    /// An excess of 8 at the top, and each next one of a power law of exponent 2: 8 / √rank. Hill's
    /// sum over eight ranks, Σ ln √(9 / rank) / 8 = 0.435, is an exponent of 2.3.
    #[test]
    fn a_long_tail_is_longer_on_its_side() {
        let excess: Vec<f64> = (1..=9).map(|rank| 8.0 / f64::from(rank).sqrt()).collect();
        let inverse = (1..=8).map(|rank| (9.0 / f64::from(rank)).sqrt().ln()).sum::<f64>() / 8.0;
        assert!((tail(&excess) - 8.0 * inverse / (1.0 - inverse)).abs() < 1e-9);
        assert_eq!(tail(&[3.0; 9]), 0.0, "all of the greatest are alike");
        assert!((tail(&[5.0, -1.0, -1.0]) - 5.0 * MOST_ADDED).abs() < 1e-9);
        let mut changes = [-0.01; 128];
        changes[17] = 1.27;
        let [below, above] = tails(&changes);
        assert!(above > 2.0 && below < 0.1, "{below} {above}");
    }
}
