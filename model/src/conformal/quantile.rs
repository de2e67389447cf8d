//! Quantiles of errors that hold for the next measurement.
//!
//! Errors of one kernel on one GPU resemble each other: 210 tunings of a kernel say less than 210
//! kernels. So errors come in groups, and each group has the same weight. One more group, which
//! nobody measured, has that weight too, and its errors may be anything. These are the pooled
//! distributions of Dunn, Wasserman and Ramdas, Distribution-Free Prediction Sets for Two-Layer
//! Hierarchical Models (2023), section 3.
//!
//! With one error in each group this is split-conformal prediction. The upper end is then the
//! ⌈(n + 1)(1 − a/2)⌉-th least of n errors (Lei et al., Distribution-Free Predictive Inference for
//! Regression, 2018).

/// Weights are sums of few fractions; this is more than their rounding.
const ROUNDING: f64 = 1e-9;

/// The interval in which an error of a new group lies with the probability `coverage`, and beyond
/// each end of which half of the others lie.
///
/// `None` where there are too few groups: fewer than `2 / (1 - coverage) - 1`.
#[must_use]
pub fn central(groups: &[Vec<f64>], coverage: f64) -> Option<(f64, f64)> {
    let groups = || groups.iter().filter(|group| !group.is_empty());
    let share = 1.0 / (groups().count() + 1) as f64;
    let weigh = |group: &Vec<f64>| share / group.len() as f64;
    let mut errors: Vec<(f64, f64)> =
        groups().flat_map(|group| group.iter().map(move |&error| (error, weigh(group)))).collect();
    errors.sort_by(|a, b| a.0.total_cmp(&b.0));
    let wanted = f64::midpoint(1.0, coverage) - ROUNDING;
    let high = reached(errors.iter().copied(), wanted)?;
    let low = reached(errors.into_iter().rev(), wanted)?;
    Some((low, high))
}

/// The first error at which the sum of the weights so far is as wanted.
fn reached(errors: impl Iterator<Item = (f64, f64)>, wanted: f64) -> Option<f64> {
    let mut sum = 0.0;
    for (error, weight) in errors {
        sum += weight;
        if sum >= wanted {
            return Some(error);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::central;

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
        let singles = |n: u32| -> Vec<Vec<f64>> {
            (1..=n).rev().map(|value| vec![f64::from(value)]).collect()
        };
        // ⌈(n + 1) · 0.9⌉: of 9 the 9th, of 19 the 18th, of 20 the 19th.
        assert_eq!(central(&singles(8), 0.8), None);
        assert_eq!(central(&singles(9), 0.8), Some((1.0, 9.0)));
        assert_eq!(central(&singles(19), 0.8), Some((2.0, 18.0)));
        assert_eq!(central(&singles(20), 0.8), Some((2.0, 19.0)));
        assert_eq!(central(&[], 0.8), None);
    }

    #[test]
    fn a_large_group_weighs_no_more_than_a_small_one() {
        let mut groups: Vec<Vec<f64>> = (1..=19).map(|value| vec![f64::from(value)]).collect();
        groups[0] = vec![1.0; 1000];
        groups.push(Vec::new());
        assert_eq!(central(&groups, 0.8), Some((2.0, 18.0)));
    }

    #[test]
    fn a_new_error_lies_inside_as_often_as_promised() {
        // Of n groups the interval holds at least 80 %, and at most 2 / (n + 1) more.
        for (groups, in_group) in [(9, 1), (19, 1), (24, 1), (49, 1), (39, 7)] {
            let (mut inside, mut all, mut state) = (0, 0, groups as u64);
            for _ in 0..4000 {
                // What a group has in common is as large as the differences in it.
                let mut group = |size| -> Vec<f64> {
                    let common = skewed(&mut state);
                    (0..size).map(|_| common + skewed(&mut state)).collect()
                };
                let known: Vec<Vec<f64>> = (0..groups).map(|_| group(in_group)).collect();
                let (low, high) = central(&known, 0.8).unwrap();
                inside += u32::from((low..=high).contains(&group(1)[0]));
                all += 1;
            }
            let share = f64::from(inside) / f64::from(all);
            let most = 0.8 + 2.0 / f64::from(groups + 1);
            assert!((0.78..most + 0.02).contains(&share), "{groups} x {in_group}: {share}");
        }
    }
}
