//! Bounds of the metrics of a sample.
//!
//! Each metric has an interval of 95 %, made of two parts:
//!
//! - *Runs differ.* The variance is that of a stratified sample with two runs in each stratum.
//!   Student's distribution has a degree of freedom for each stratum. (Cochran, "Sampling
//!   Techniques", 3rd ed. 1977, sections 5.4 and 5A.11; Särndal, Swensson and Wretman, "Model
//!   Assisted Survey Sampling", 1992, section 3.7.) Ratios answer to a run by their derivative. It
//!   is found by trying: the infinitesimal jackknife (Jaeckel 1972).
//! - *Some kinds are rare.* Few CTAs may do most of the work, and a sample of `n` may lack them. At
//!   most 4/`n` of the grid are of a kind that it lacks. The interval also holds what comes out if
//!   as many are like the run that moves the metric most, or if the sample has as many too many: a
//!   kind may fill whole strata, so that nothing differs within them. The run's distance from the
//!   mean counts beyond √(2 ln n) standard deviations. As far away the greatest of `n` normal
//!   numbers is (Cramér, "Mathematical Methods of Statistics", 1946, section 28.6).
//!
//! The second part matters where the distribution has a tail: there, intervals of Student's
//! distribution alone hold the truth too rarely. Where all runs are alike both are zero.

use rayon::prelude::*;

use super::LaunchProfile;
use super::doubt::{Values, figures};
use crate::definitions::Basis;
use crate::estimate::{Estimate, Weight};
use crate::table::{BaseTable, Row};

/// Tells `widen` of bounds of the metrics, by name.
pub(super) fn intervals(
    estimate: &Estimate,
    profile: &LaunchProfile,
    widen: &mut impl FnMut(&str, [f64; 2]),
) {
    // Unsure misses may be misses or hits.
    let answers: &[f64] = if estimate.has_caches() { &[0.0, 1.0] } else { &[0.0] };
    let weights: Vec<Weight> = estimate.weights().collect();
    for &hits in answers {
        let whole = estimate.whole(hits);
        let table = whole.table.clone();
        let machine = profile.machine.as_ref();
        let values = figures(profile, whole, machine, Basis::is_counted);
        let moved = estimate.moved(hits);
        let tried: Vec<Values> = (0..estimate.executed())
            .into_par_iter()
            .map(|run| {
                let variant = moved(run);
                let machine = machine.map(|one| one.scaled(&table, &variant.table));
                figures(profile, variant, machine.as_ref(), Basis::is_counted)
            })
            .collect();
        for (name, value) in values {
            let change = |one: &Values| one.get(&name).map_or(0.0, |moved| moved - value);
            let changes: Vec<f64> = tried.iter().map(change).collect();
            let about = reach(&changes, &weights, estimate.unseen_runs());
            widen(&name, [value - about, value + about]);
        }
    }
}

/// Half the width of an interval. `changes` says, run by run, how the value changes if `moved`
/// other runs are like this one.
fn reach(changes: &[f64], weights: &[Weight], moved: f64) -> f64 {
    if moved <= 0.0 {
        return 0.0;
    }
    let mut runs = changes;
    let mut variance = 0.0;
    for &Weight { runs: all, executed } in weights {
        let (own, others) = runs.split_at(executed.min(runs.len()));
        runs = others;
        let count = executed as f64;
        let mean = own.iter().sum::<f64>() / count.max(1.0);
        let squares: f64 = own.iter().map(|change| (change - mean).powi(2)).sum();
        let of_mean = squares / (count - 1.0).max(1.0) / count.max(1.0);
        let unseen = (1.0 - count / all.max(1.0)).max(0.0);
        variance += unseen * of_mean * (all / moved).powi(2);
    }
    let freedom: usize = weights.iter().map(|one| one.executed.saturating_sub(1)).sum();
    let about = student(freedom) * variance.sqrt();
    // What a normal distribution would bring is in Student's interval already.
    let count = changes.len() as f64;
    let mean = changes.iter().sum::<f64>() / count;
    let squares: f64 = changes.iter().map(|change| (change - mean).powi(2)).sum();
    let usual = (squares / (count - 1.0).max(1.0) * 2.0 * count.ln()).sqrt();
    let farthest = changes.iter().map(|change| change.abs()).fold(0.0, f64::max);
    about + (farthest - usual).max(0.0)
}

/// The 97.5 % quantile of the standard normal distribution.
const NORMAL: f64 = 1.959_964;

/// The 97.5 % quantile of Student's distribution, to a thousandth from 5 degrees of freedom on
/// (Abramowitz and Stegun, "Handbook of Mathematical Functions", 26.7.5).
fn student(freedom: usize) -> f64 {
    let (n, x) = (freedom.max(1) as f64, NORMAL);
    let first = (x.powi(3) + x) / 4.0;
    let second = (5.0 * x.powi(5) + 16.0 * x.powi(3) + 3.0 * x) / 96.0;
    let third = (3.0 * x.powi(7) + 19.0 * x.powi(5) + 17.0 * x.powi(3) - 15.0 * x) / 384.0;
    let fourth = (79.0 * x.powi(9) + 776.0 * x.powi(7) + 1482.0 * x.powi(5)
        - 1920.0 * x.powi(3)
        - 945.0 * x)
        / 92160.0;
    x + first / n + second / n.powi(2) + third / n.powi(3) + fourth / n.powi(4)
}

impl crate::machine::MachineProfile {
    /// The same code where PTX instructions were executed as often as in `to` instead of `from`:
    /// the instructions that stand for one of PTX change as it does.
    fn scaled(&self, from: &BaseTable, to: &BaseTable) -> Self {
        let all = |table: &BaseTable, of: fn(&Row) -> u128| table.rows.iter().map(of).sum();
        let scaled = |count: &mut u128, instruction: Option<u32>, of: fn(&Row) -> u128| {
            let row = |table: &BaseTable| match instruction {
                Some(instruction) => table.rows.get(instruction as usize).map_or(0, of),
                None => all(table, of),
            };
            let (from, to): (u128, u128) = (row(from), row(to));
            if from > 0 {
                *count = (*count as f64 * (to as f64 / from as f64)).round() as u128;
            }
        };
        let mut machine = self.clone();
        for row in &mut machine.rows {
            scaled(&mut row.warp_executions, row.instruction, |row| row.warp_executions);
            scaled(&mut row.issued_lanes, row.instruction, |row| row.issued_lanes);
            scaled(&mut row.thread_executions, row.instruction, |row| row.thread_executions);
        }
        machine
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of tables: NIST, "Engineering Statistics Handbook", 1.3.6.7.2.
    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (freedom, expected) in
            [(5, 2.571), (7, 2.365), (8, 2.306), (10, 2.228), (30, 2.042), (100, 1.984)]
        {
            assert!((student(freedom) - expected).abs() < 2e-3, "{freedom}: {}", student(freedom));
        }
    }

    /// A stratified sample on paper: two strata of 10 and 30 runs, with values 1, 3 and 5, 9. The
    /// variance of the total is 0.8 · 100 · 2/2 + (14/15) · 900 · 8/2 = 80 + 3360.
    #[test]
    fn the_variance_is_that_of_a_stratified_sample() {
        let values = [1.0, 3.0, 5.0, 9.0];
        let mean = (10.0 * 2.0 + 30.0 * 7.0) / 40.0;
        let moved = 3.0;
        let changes = values.map(|value| moved * (value - mean));
        let weights = [Weight { runs: 10.0, executed: 2 }, Weight { runs: 30.0, executed: 2 }];
        let about = reach(&changes, &weights, moved);
        assert!((about - student(2) * 3440.0_f64.sqrt()).abs() < 1e-9);
        assert_eq!(reach(&[0.0; 4], &weights, moved), 0.0);
    }

    /// One of a hundred runs is unlike the others. Its distance from the mean is 9.9 standard
    /// deviations, and the greatest of a hundred normal numbers lies 3.03 away.
    #[test]
    fn a_run_unlike_all_others_widens_the_interval() {
        let mut changes = [-0.01; 100];
        changes[17] = 0.99;
        let weights = [Weight { runs: 1000.0, executed: 2 }; 50];
        // Its stratum alone has a variance: 1000² · 0.998 · 0.5 / 2.
        let of_student = student(50) * (1e6_f64 * 0.998 * 0.25).sqrt();
        let about = reach(&changes, &weights, 1.0) - of_student;
        assert!((about - (0.99 - 0.1 * 3.0349)).abs() < 1e-3, "{about}");
    }
}
