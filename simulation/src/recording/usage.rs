//! How much a part of the machine is used, over time.

/// The clocks of a bin at first.
const CLOCKS: f64 = 16.0;

/// Bins at most. Of a longer run each holds twice as many clocks.
const MOST_BINS: usize = 1 << 15;

/// The use of a resource, in bins of equal length.
#[derive(Clone, Debug, PartialEq)]
pub struct Usage {
    /// Parts that work side by side; 0 if the resource was never used.
    copies: u32,
    /// Clocks of a bin.
    clocks: f64,
    /// Clocks of work in each bin, of all parts.
    bins: Vec<f64>,
}

/// The mean use of a resource over some clocks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// The first clock.
    pub from: f64,
    /// The share of the parts that work, or the number of accesses that are there.
    pub value: f64,
}

impl Default for Usage {
    fn default() -> Self {
        Self { copies: 0, clocks: CLOCKS, bins: Vec::new() }
    }
}

impl Usage {
    /// Adds work of one of some parts.
    pub(super) fn add(&mut self, copies: u32, from: f64, until: f64) {
        if !(from >= 0.0 && until > from && until.is_finite()) {
            return;
        }
        self.copies = copies.max(1);
        while until >= self.clocks * MOST_BINS as f64 {
            self.bins = self.bins.chunks(2).map(|pair| pair.iter().sum()).collect();
            self.clocks *= 2.0;
        }
        let (first, last) = ((from / self.clocks) as usize, (until / self.clocks) as usize);
        if self.bins.len() <= last {
            self.bins.resize(last + 1, 0.0);
        }
        for bin in first..=last {
            let begin = bin as f64 * self.clocks;
            self.bins[bin] += until.min(begin + self.clocks) - from.max(begin);
        }
    }

    /// True if the resource was used.
    #[must_use]
    pub fn is_used(&self) -> bool {
        self.copies > 0
    }

    /// The clocks of work of all parts.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.bins.iter().sum()
    }

    /// The mean use over consecutive clocks from `from` to `until`, in about `most` samples at
    /// most. A sample whose value is that of the one before is left out.
    #[must_use]
    pub fn samples(&self, from: f64, until: f64, most: usize) -> Vec<Sample> {
        let clocks = |bins: usize| bins as f64 * self.clocks;
        let (first, end) = ((from / self.clocks) as usize, (until / self.clocks).ceil() as usize);
        let step = end.saturating_sub(first).div_ceil(most.max(1)).max(1);
        let mut samples: Vec<Sample> = Vec::new();
        for begin in (first..end).step_by(step) {
            let bins = self.bins.iter().skip(begin).take(step.min(end - begin));
            let work: f64 = bins.sum();
            let value = work / (clocks(step) * f64::from(self.copies.max(1)));
            if samples.last().is_none_or(|last| last.value.to_bits() != value.to_bits()) {
                samples.push(Sample { from: clocks(begin).max(from), value });
            }
        }
        samples
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_spread_over_the_bins_that_it_touches() {
        let mut usage = Usage::default();
        // Half of the first bin, all of the second, a quarter of the third, by one of two parts.
        usage.add(2, 8.0, 36.0);
        let values = |usage: &Usage, most| -> Vec<(f64, f64)> {
            usage
                .samples(0.0, 64.0, most)
                .iter()
                .map(|sample| (sample.from, sample.value))
                .collect()
        };
        assert_eq!(values(&usage, 100), [(0.0, 0.25), (16.0, 0.5), (32.0, 0.125), (48.0, 0.0)]);
        assert_eq!(values(&usage, 2), [(0.0, 0.375), (32.0, 0.0625)]);
    }

    #[test]
    fn a_long_run_has_longer_bins_and_no_less_work() {
        let mut usage = Usage::default();
        let mut expected = 0.0;
        for at in 0..2000 {
            let from = f64::from(at) * 1000.0 + 3.0;
            usage.add(1, from, from + 7.5);
            expected += 7.5;
        }
        usage.add(1, 1e9, 1e9 + 1.0);
        usage.add(1, 0.0, f64::INFINITY);
        assert!(usage.bins.len() <= MOST_BINS);
        assert!((usage.total() - expected - 1.0).abs() < 1e-6, "{}", usage.total());
    }
}
