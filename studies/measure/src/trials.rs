//! Trials of a kernel, and what counts of them: the least for slopes, else the mean.
//!
//! Stevens and Klöckner 2020 take the average of 60 trials (section 6.1.4). They exclude times on
//! the order of ten times the usual one (section 8). An order of magnitude begins at its geometric
//! middle, so a time beyond √10 times the median is excluded.

/// The number of trials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trials {
    /// Those that are not timed.
    pub warm_up: u32,
    /// Those that are.
    pub timed: u32,
}

impl Default for Trials {
    fn default() -> Self {
        Self { warm_up: 2, timed: 60 }
    }
}

/// The mean of times that are not anomalous, and the number of those that are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mean {
    /// The mean in the unit of the times.
    pub value: f64,
    /// Times that were excluded.
    pub excluded: usize,
}

/// The mean of the trials' times. `None` without a time.
#[must_use]
pub fn mean(times: &[f64]) -> Option<Mean> {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    let median = *sorted.get(sorted.len() / 2)?;
    let usual: Vec<f64> =
        sorted.iter().copied().filter(|&time| time <= median * 10_f64.sqrt()).collect();
    let value = usual.iter().sum::<f64>() / usual.len() as f64;
    Some(Mean { value, excluded: sorted.len() - usual.len() })
}

/// The least of the trials' times. `None` without a time.
///
/// What disturbs a launch makes it longer, and never shorter. Means of short launches move by as
/// much as the slope between two of them.
#[must_use]
pub fn least(times: &[f64]) -> Option<f64> {
    times.iter().copied().min_by(f64::total_cmp)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_another_order_of_magnitude_are_left_out() {
        let check = |times: &[f64], value: f64, excluded: usize| {
            assert_eq!(mean(times), Some(Mean { value, excluded }), "{times:?}");
        };
        check(&[2.0], 2.0, 0);
        check(&[1.0, 3.0, 2.0], 2.0, 0);
        check(&[1.0, 10.0, 1.0, 1.0], 1.0, 1);
        check(&[1.0, 3.0, 1.0, 1.0], 1.5, 0);
        assert_eq!(mean(&[]), None);
    }

    #[test]
    fn the_least_time_counts_whatever_the_others_are() {
        assert_eq!(least(&[9.0, 8.0, 21.0, 8.5]), Some(8.0));
        assert_eq!(least(&[]), None);
    }
}
