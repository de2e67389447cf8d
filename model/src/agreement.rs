//! The errors of predictions against measurements, by the formulas of the papers.
//!
//! | figure | formula | source |
//! |---|---|---|
//! | error | (predicted − measured) / measured | Konstantinidis 2017, eq. 5.12 |
//! | APE | its amount | the same, section 5.2.5 |
//! | within 25 % | the share of predictions whose APE is at most 25 % | the same, section 5.2.6 |
//! | within 10 % | the same with 10 % | |
//! | rank correlation | that of the ranks of predictions and of measurements | Spearman 1904 |
//! | geometric mean | exp(mean ln APE) | Stevens & Klöckner 2020, section 8 |
//! | discrepancy | exp(\|ln predicted − ln measured\|) − 1 | Velho et al. 2013, eq. 5 and 6 |

use serde::Serialize;

use crate::offload::{discrepancy, symmetric_error};
use crate::reference::error_fraction;

/// A prediction beside a measurement, in the same unit; both are positive and finite.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Pair {
    /// The prediction.
    pub predicted: f64,
    /// The measurement.
    pub measured: f64,
}

impl Pair {
    /// The relative error, a fraction: negative if the kernel ran longer than predicted.
    #[must_use]
    pub fn error(&self) -> f64 {
        error_fraction(self.predicted, self.measured)
    }

    /// The relative error that is the same both ways, a fraction that is not negative.
    #[must_use]
    pub fn discrepancy(&self) -> f64 {
        discrepancy(symmetric_error(self.predicted, self.measured))
    }
}

/// The errors of several predictions; all figures are fractions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// The number of predictions.
    pub count: usize,
    /// The mean error: its sign shows a bias.
    pub mean_error: f64,
    /// The mean APE.
    pub mean_ape: f64,
    /// The median APE.
    pub median_ape: f64,
    /// The error of the largest amount.
    pub worst_error: f64,
    /// The share of predictions whose APE is at most 10 %.
    pub within_10_percent: f64,
    /// The share of predictions whose APE is at most 25 %.
    pub within_25_percent: f64,
    /// The geometric mean of the APEs; 0 if one of them is.
    pub geometric_mean_ape: f64,
    /// The mean discrepancy.
    pub mean_discrepancy: f64,
}

impl Summary {
    /// The summary of predictions; `None` of none.
    #[must_use]
    pub fn of(pairs: &[Pair]) -> Option<Self> {
        let count = pairs.len() as f64;
        let errors: Vec<f64> = pairs.iter().map(Pair::error).collect();
        let mut amounts: Vec<f64> = errors.iter().map(|error| error.abs()).collect();
        amounts.sort_by(f64::total_cmp);
        let (low, high) = (amounts.get((pairs.len().checked_sub(1)?) / 2)?, pairs.len() / 2);
        let mean = |values: &mut dyn Iterator<Item = f64>| values.sum::<f64>() / count;
        Some(Self {
            count: pairs.len(),
            mean_error: mean(&mut errors.iter().copied()),
            mean_ape: mean(&mut amounts.iter().copied()),
            median_ape: f64::midpoint(*low, *amounts.get(high)?),
            worst_error: errors.iter().copied().max_by(|a, b| a.abs().total_cmp(&b.abs()))?,
            within_10_percent: mean(&mut amounts.iter().map(|&ape| f64::from(ape <= 0.10))),
            within_25_percent: mean(&mut amounts.iter().map(|&ape| f64::from(ape <= 0.25))),
            geometric_mean_ape: mean(&mut amounts.iter().map(|ape| ape.ln())).exp(),
            mean_discrepancy: mean(&mut pairs.iter().map(Pair::discrepancy)),
        })
    }
}

/// The fewest pairs whose order says anything.
const FEWEST_RANKED: usize = 3;

/// Spearman's rank correlation: 1 if predictions order the measurements as they are, −1 if the
/// other way round. Equal values share the mean of their ranks. `None` of fewer than three pairs,
/// or if all predictions or all measurements are equal.
#[must_use]
pub fn rank_correlation(pairs: &[Pair]) -> Option<f64> {
    if pairs.len() < FEWEST_RANKED {
        return None;
    }
    let predicted = ranks(pairs.iter().map(|pair| pair.predicted).collect());
    let measured = ranks(pairs.iter().map(|pair| pair.measured).collect());
    let mean = (pairs.len() + 1) as f64 / 2.0;
    let product = |a: &[f64], b: &[f64]| -> f64 {
        a.iter().zip(b).map(|(a, b)| (a - mean) * (b - mean)).sum()
    };
    let spread = (product(&predicted, &predicted) * product(&measured, &measured)).sqrt();
    (spread > 0.0).then(|| product(&predicted, &measured) / spread)
}

/// The rank of each value, from 1; the mean rank for equal ones.
fn ranks(values: Vec<f64>) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    for equal in order.chunk_by(|&a, &b| values[a] == values[b]) {
        let first = order.partition_point(|&at| values[at] < values[equal[0]]);
        let rank = first as f64 + (equal.len() + 1) as f64 / 2.0;
        equal.iter().for_each(|&at| ranks[at] = rank);
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(predicted: f64, measured: f64) -> Pair {
        Pair { predicted, measured }
    }

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-12, "{a} {b}");
    }

    /// Errors of −50 %, +10 % and +100 %: their mean is 20 %, that of their amounts 160/3 %, the
    /// median 50 %; their geometric mean is ∛(0.5·0.1·1). Half and twice as long are the same
    /// discrepancy: 100 %.
    #[test]
    fn the_figures_are_those_of_the_formulas() {
        let pairs = [pair(1.0, 2.0), pair(11.0, 10.0), pair(4.0, 2.0)];
        let summary = Summary::of(&pairs).unwrap();
        close(summary.mean_error, 0.2);
        close(summary.mean_ape, 1.6 / 3.0);
        close(summary.median_ape, 0.5);
        close(summary.worst_error, 1.0);
        close(summary.within_10_percent, 1.0 / 3.0);
        close(summary.within_25_percent, 1.0 / 3.0);
        close(summary.geometric_mean_ape, 0.05_f64.cbrt());
        close(summary.mean_discrepancy, (1.0 + 0.1 + 1.0) / 3.0);
        // The median of two lies between them; a perfect prediction has no logarithm.
        let summary = Summary::of(&pairs[..2]).unwrap();
        close(summary.median_ape, 0.3);
        let summary = Summary::of(&[pair(3.0, 3.0), pair(4.0, 2.0)]).unwrap();
        assert_eq!(summary.geometric_mean_ape, 0.0);
        assert_eq!(Summary::of(&[]), None);
    }

    /// Ranks 1, 2, 3, 4 and 1, 3, 2, 4: 1 − 6 · 2 / (4 · 15) = 0.8. With ties, ranks 1, 2.5, 2.5, 4
    /// and 1, 2, 3, 4: a product of 4.5 over √(4.5 · 5).
    #[test]
    fn ranks_correlate_as_spearman_says() {
        let of = |pairs: &[(f64, f64)]| {
            rank_correlation(&pairs.iter().map(|&(a, b)| pair(a, b)).collect::<Vec<_>>())
        };
        close(of(&[(1.0, 10.0), (2.0, 30.0), (3.0, 20.0), (9.0, 40.0)]).unwrap(), 0.8);
        close(of(&[(3.0, 1.0), (2.0, 2.0), (1.0, 3.0)]).unwrap(), -1.0);
        let tied = of(&[(1.0, 1.0), (2.0, 2.0), (2.0, 3.0), (4.0, 4.0)]).unwrap();
        close(tied, 4.5 / 22.5_f64.sqrt());
        assert_eq!(of(&[(1.0, 1.0), (2.0, 2.0)]), None);
        assert_eq!(of(&[(1.0, 1.0), (1.0, 2.0), (1.0, 3.0)]), None);
    }

    /// Konstantinidis 2017, table 6.5 in times as printed: (7.75 − 8.72) / 8.72.
    #[test]
    fn an_error_of_the_thesis() {
        assert_eq!(format!("{:.2}", 100.0 * pair(7.75, 8.72).error()), "-11.12");
    }
}
