//! What a ranking can tell apart, and which few configurations are worth measuring.
//!
//! Predicted times of variants of a kernel are off by much the same on one GPU. What one of them is
//! off by more than another is what ranks hang on, and its measured factor makes ties
//! ([`VariantFactors`](gpucast_model::conformal::VariantFactors)): each time has an interval from
//! t / √factor to t · √factor, and configurations whose intervals overlap are a tie.

/// The rank of each time, from 1 on: one more than the configurations that are surely faster, by
/// more than `factor`. A factor of 1 leaves ties to equal times.
pub fn ranks(times: &[f64], factor: f64) -> Vec<usize> {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    let faster = |time: f64| sorted.partition_point(|&other| other * factor < time);
    times.iter().map(|&time| faster(time) + 1).collect()
}

/// A configuration that may be proposed: its values, and its time.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// The values of the parameters.
    pub values: &'a [f64],
    /// The time.
    pub time_ms: f64,
}

/// The places of up to `most` configurations to measure, of those that have the rank 1.
///
/// The fastest is the first, and then by time those that differ from all before in two parameters
/// or more: neighbours err alike, and one measurement speaks for them. What is left of `most` goes
/// to the fastest others.
pub fn to_measure(candidates: &[Candidate<'_>], factor: f64, most: usize) -> Vec<usize> {
    let best = candidates.iter().map(|one| one.time_ms).fold(f64::INFINITY, f64::min);
    let is_tied = |at: &usize| candidates[*at].time_ms <= best * factor;
    let mut tied: Vec<usize> = (0..candidates.len()).filter(is_tied).collect();
    tied.sort_by(|&a, &b| candidates[a].time_ms.total_cmp(&candidates[b].time_ms));
    let mut chosen: Vec<usize> = Vec::new();
    for &at in &tied {
        let is_neighbour = |&other: &usize| {
            let pairs = candidates[at].values.iter().zip(candidates[other].values);
            pairs.filter(|(a, b)| a != b).count() < 2
        };
        if chosen.len() < most && !chosen.iter().any(is_neighbour) {
            chosen.push(at);
        }
    }
    let others: Vec<usize> = tied.into_iter().filter(|at| !chosen.contains(at)).collect();
    let left = most.saturating_sub(chosen.len());
    chosen.extend(others.into_iter().take(left));
    chosen
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
    fn a_neighbour_is_measured_after_what_differs_more() {
        let values = [[1.0, 1.0], [1.0, 2.0], [2.0, 2.0], [4.0, 4.0], [3.0, 9.0]];
        let times = [1.0, 1.01, 1.02, 1.1, 1.5];
        let candidates: Vec<Candidate<'_>> = values
            .iter()
            .zip(times)
            .map(|(values, time_ms)| Candidate { values, time_ms })
            .collect();
        assert_eq!(to_measure(&candidates, 1.2, 3), [0, 2, 3]);
        assert_eq!(to_measure(&candidates, 1.2, 9), [0, 2, 3, 1], "the last one is no tie");
        assert_eq!(to_measure(&candidates, 1.0, 3), [0]);
        assert_eq!(to_measure(&[], 1.2, 3), [0; 0]);
    }
}
