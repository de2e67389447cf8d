//! What a ranking can tell apart, and which few configurations are worth measuring.
//!
//! Predicted times of variants of a kernel are off by much the same on one GPU. Ranks hang on the
//! differences of their errors, and a measured factor of these makes ties
//! ([`VariantFactors`](gpucast_model::conformal::VariantFactors)). Each time has an interval from
//! t / √factor to t · √factor. Configurations whose intervals overlap are a tie.

/// The rank of each time, from 1 on: one more than the configurations that are surely faster, by
/// more than `factor`. A factor of 1 leaves ties to equal times.
pub fn ranks(times: &[f64], factor: f64) -> Vec<usize> {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    let faster = |time: f64| sorted.partition_point(|&other| other * factor < time);
    times.iter().map(|&time| faster(time) + 1).collect()
}

/// The places of up to `most` times whose configurations are worth measuring, the fastest first.
///
/// Of configurations with the same time one comes first: they are mostly the same machine code, and
/// one measurement speaks for them. The others follow where too few are different.
pub fn to_measure(times: &[f64], most: usize) -> Vec<usize> {
    let mut by_time: Vec<usize> = (0..times.len()).collect();
    by_time.sort_by(|&a, &b| times[a].total_cmp(&times[b]));
    let (mut chosen, mut repeated): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
    for at in by_time {
        let is_repeated = chosen.last().is_some_and(|&last: &usize| times[last] == times[at]);
        if is_repeated { repeated.push(at) } else { chosen.push(at) }
    }
    chosen.into_iter().chain(repeated).take(most).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configurations_within_the_factor_are_ties() {
        assert_eq!(ranks(&[1.0, 1.19, 1.21, 2.0, 1.0], 1.2), [1, 1, 3, 5, 1]);
        // A tie with one that ties with another is none with that.
        assert_eq!(ranks(&[1.0, 1.15, 1.3], 1.2), [1, 1, 2]);
        assert_eq!(ranks(&[2.0, 1.0, 2.0], 1.0), [2, 1, 2]);
        assert_eq!(ranks(&[], 1.2), [0; 0]);
    }

    #[test]
    fn the_fastest_are_measured_and_of_equal_ones_one_first() {
        let times = [1.2, 1.0, 1.1, 1.0, 1.3];
        assert_eq!(to_measure(&times, 3), [1, 2, 0]);
        assert_eq!(to_measure(&times, 9), [1, 2, 0, 4, 3]);
        assert_eq!(to_measure(&[], 3), [0; 0]);
    }
}
