//! Quantiles of errors that hold for the next measurement.
//!
//! Errors of one kernel on one GPU resemble each other: 210 tunings of a kernel say less than 210
//! kernels. Errors of one GPU do so, too, for a GPU that nobody measured. So errors come in units,
//! and each unit has the same weight. One more unit, which nobody measured, has that weight too,
//! and its errors may be anything. These are the pooled distributions of Dunn, Wasserman and
//! Ramdas, Distribution-Free Prediction Sets for Two-Layer Hierarchical Models (2023), section 3.
//!
//! With one error in each unit the upper end is the (n + 1)(1 − a/2)-th least of n errors (Lei et
//! al., Distribution-Free Predictive Inference for Regression, 2018). Where that is no whole number
//! it lies between two errors: rounding up would hold more than promised, and few errors much more
//! (Beran and Hall, Interpolated Nonparametric Prediction Intervals and Confidence Intervals,
//! 1993).

/// Weights are sums of few fractions; this is more than their rounding.
const ROUNDING: f64 = 1e-9;

/// Errors that are alike: those of a kernel, or of all kernels of a GPU. Groups in a unit have the
/// same weight, and so have errors in a group.
pub(crate) type Unit = Vec<Vec<f64>>;

/// The interval in which an error of a new unit lies with the probability `coverage`, and beyond
/// each end of which half of the others lie.
///
/// `None` where there are too few units: fewer than `2 / (1 - coverage) - 1`.
pub(crate) fn central(units: &[Unit], coverage: f64) -> Option<(f64, f64)> {
    let units: Vec<Vec<&Vec<f64>>> = units
        .iter()
        .map(|unit| unit.iter().filter(|group| !group.is_empty()).collect())
        .filter(|unit: &Vec<&Vec<f64>>| !unit.is_empty())
        .collect();
    let share = 1.0 / (units.len() + 1) as f64;
    let mut errors = Vec::new();
    for unit in &units {
        for group in unit {
            let weight = share / (unit.len() * group.len()) as f64;
            errors.extend(group.iter().map(|&error| (error, weight)));
        }
    }
    errors.sort_by(|a, b| a.0.total_cmp(&b.0));
    let wanted = f64::midpoint(1.0, coverage) - ROUNDING;
    let high = reached(errors.iter().copied(), wanted)?;
    let low = reached(errors.into_iter().rev(), wanted)?;
    Some((low, high))
}

/// The error at which the sum of the weights so far is as wanted, on the line between the two
/// around it.
fn reached(errors: impl Iterator<Item = (f64, f64)>, wanted: f64) -> Option<f64> {
    let (mut sum, mut before) = (0.0, None);
    for (error, weight) in errors {
        if sum + weight >= wanted {
            let from = before.unwrap_or(error);
            return Some(from + (error - from) * (wanted - sum) / weight);
        }
        sum += weight;
        before = Some(error);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{Unit, central};

    #[track_caller]
    fn near(found: Option<(f64, f64)>, expected: (f64, f64)) {
        let (low, high) = found.unwrap();
        let is_near = (low - expected.0).abs() < 1e-6 && (high - expected.1).abs() < 1e-6;
        assert!(is_near, "{low} to {high}, not {expected:?}");
    }

    /// Uniform numbers in [0, 1): SplitMix64 (Steele, Lea and Flood, 2014).
    fn uniform(state: &mut u64) -> f64 {
        *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = *state;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((bits ^ (bits >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// An error that is skewed as those of times are: the logarithm of an exponential.
    fn skewed(state: &mut u64) -> f64 {
        (1e-12 - (1.0 - uniform(state)).ln()).ln()
    }

    #[test]
    fn ends_are_the_order_statistics_of_split_conformal_prediction() {
        let singles = |n: u32| -> Vec<Unit> {
            (1..=n).rev().map(|value| vec![vec![f64::from(value)]]).collect()
        };
        // (n + 1) · 0.9: of 9 the 9th, of 19 the 18th, of 20 the 18.9th.
        assert_eq!(central(&singles(8), 0.8), None);
        near(central(&singles(9), 0.8), (1.0, 9.0));
        near(central(&singles(19), 0.8), (2.0, 18.0));
        near(central(&singles(20), 0.8), (2.1, 18.9));
        assert_eq!(central(&[], 0.8), None);
    }

    #[test]
    fn a_large_unit_weighs_no_more_than_a_small_one() {
        let mut units: Vec<Unit> = (1..=19).map(|value| vec![vec![f64::from(value)]]).collect();
        units[0] = vec![vec![1.0; 1000], vec![1.0], Vec::new()];
        units.push(vec![Vec::new()]);
        units.push(Vec::new());
        near(central(&units, 0.8), (2.0, 18.0));
    }

    #[test]
    fn groups_of_a_unit_weigh_the_same_however_many_errors_they_have() {
        // The greatest unit holds 20 to 23, 1/40 each of the twentieth of one: the ends lie there.
        let mut units: Vec<Unit> = (1..=8).map(|value| vec![vec![f64::from(value)]]).collect();
        units.push(vec![vec![20.0], vec![22.0; 7]]);
        near(central(&units, 0.8), (1.0, 22.0));
        // One more unit below moves the upper end into the greatest one: 0.9 · 11 = 9.9 of 10, and
        // the first half of that unit ends at 9.5.
        units.push(vec![vec![0.0]]);
        let (_, high) = central(&units, 0.8).unwrap();
        assert!((20.0..=22.0).contains(&high), "{high}");
    }

    #[test]
    fn a_new_error_lies_inside_as_often_as_promised() {
        // Of few errors as of many: what lies between two of them is a line of their density.
        for (groups, in_group) in [(9, 1), (13, 1), (19, 1), (24, 1), (49, 1), (39, 7)] {
            let (mut inside, mut all, mut state) = (0, 0, groups as u64);
            for _ in 0..4000 {
                // What a group has in common is as large as the differences in it.
                let mut group = |size| -> Vec<f64> {
                    let common = skewed(&mut state);
                    (0..size).map(|_| common + skewed(&mut state)).collect()
                };
                let known: Vec<Unit> = (0..groups).map(|_| vec![group(in_group)]).collect();
                let (low, high) = central(&known, 0.8).unwrap();
                inside += u32::from((low..=high).contains(&group(1)[0]));
                all += 1;
            }
            let share = f64::from(inside) / f64::from(all);
            assert!((0.78..0.83).contains(&share), "{groups} x {in_group}: {share}");
        }
    }
}
