//! How often intervals hold the truth, as rows of the tables of docs/evidence/counting.md.

use std::collections::BTreeMap;

use gpucast_counters::definitions::definition;
use gpucast_counters::{Kind, LaunchProfile};

/// Metrics of one sample, or of all samples of an input.
#[derive(Clone, Debug, Default)]
pub(crate) struct Coverage {
    /// Metrics that differ from CTA to CTA, as far as the samples tell, or are not what they say.
    pub(crate) metrics: u32,
    pub(crate) held: u32,
    /// Metrics that are missed where nothing in the sample can tell: all of its CTAs are alike in
    /// them, or it has none of the kind that few CTAs are of.
    pub(crate) blind: u32,
    /// Those that miss the truth by less than a thousandth of it are added to the held ones.
    pub(crate) nearly: u32,
    /// The sum of half widths over the truth.
    pub(crate) widths: f64,
    /// Metrics that all CTAs have alike, as far as the sample tells, and that are right.
    pub(crate) alike: u32,
    /// Times that metrics lay outside.
    missed: BTreeMap<String, u32>,
    /// Samples, and the sums of their metrics and missed ones in squares and products: metrics of
    /// a sample go together, so that samples tell how sure the coverage is.
    samples: Squares,
}

/// Sums over samples.
#[derive(Clone, Copy, Debug, Default)]
struct Squares {
    samples: f64,
    missed: f64,
    metrics: f64,
    both: f64,
}

impl Coverage {
    /// Percent of metrics that hold.
    pub(crate) fn percent(&self) -> f64 {
        100.0 * f64::from(self.held) / f64::from(self.metrics.max(1))
    }

    /// The most percent that hold with any interval: samples that cannot tell miss.
    pub(crate) fn bound(&self) -> f64 {
        100.0 - 100.0 * f64::from(self.blind) / f64::from(self.metrics.max(1))
    }

    /// Percent of metrics that hold, of those that the samples can tell of.
    pub(crate) fn percent_of_told(&self) -> f64 {
        100.0 * f64::from(self.held) / f64::from((self.metrics - self.blind).max(1))
    }

    /// The standard error of [`Coverage::percent`], which is a ratio of sums over samples (Cochran,
    /// "Sampling Techniques", 3rd ed. 1977, section 2.11).
    pub(crate) fn error(&self) -> f64 {
        let Squares { samples, missed, metrics, both } = self.samples;
        let ratio = f64::from(self.metrics - self.held) / f64::from(self.metrics.max(1));
        let squares = missed - 2.0 * ratio * both + ratio.powi(2) * metrics;
        let mean = f64::from(self.metrics.max(1)) / samples.max(1.0);
        let variance = squares.max(0.0) / (samples - 1.0).max(1.0) / samples.max(1.0);
        100.0 * variance.sqrt() / mean
    }

    /// The half widths over the truth in percent, in the mean.
    pub(crate) fn width(&self) -> f64 {
        100.0 * self.widths / f64::from(self.metrics.max(1))
    }

    /// A row of a table, and the metrics that were missed most often.
    pub(crate) fn row(&self, input: &str) -> String {
        let mut missed: Vec<_> =
            self.missed.iter().map(|(name, times)| (times, name.as_str())).collect();
        missed.sort_unstable();
        let often = missed.iter().rev().take(4).map(|(times, name)| format!("{name} {times}"));
        let often: Vec<_> = often.collect();
        format!(
            "| {input} | {} | {:.1} ± {:.1} % | {:.1} % | {:.1} % | {:.1} % | {:.1} % | alike: {}; missed: {}",
            self.metrics,
            self.percent(),
            self.error(),
            self.bound(),
            self.percent_of_told(),
            100.0 * f64::from(self.nearly) / f64::from(self.metrics.max(1)),
            self.width(),
            self.alike,
            often.join(", ")
        )
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.metrics += other.metrics;
        self.held += other.held;
        self.blind += other.blind;
        self.nearly += other.nearly;
        self.widths += other.widths;
        self.alike += other.alike;
        for (name, times) in &other.missed {
            *self.missed.entry(name.clone()).or_default() += times;
        }
        self.samples.samples += other.samples.samples;
        self.samples.missed += other.samples.missed;
        self.samples.metrics += other.samples.metrics;
        self.samples.both += other.samples.both;
    }

    /// The coverage of one sample. Metrics that are zero in all CTAs say nothing.
    /// `lacks` says that the sample has none of the kind that few CTAs are of.
    pub(crate) fn of(truth: &LaunchProfile, sampled: &LaunchProfile, lacks: bool) -> Self {
        let mut coverage = Self::default();
        for (name, figure) in &truth.metrics {
            let truth = figure.value.as_f64();
            if !definition(name).unwrap().basis.is_counted() {
                assert_eq!(figure, &sampled.metrics[name], "{name}");
                assert!(!sampled.intervals.contains_key(name), "{name}");
                continue;
            }
            let Some(estimate) = sampled.metrics.get(name) else { continue };
            assert_eq!(estimate.kind, Kind::Estimated, "{name}");
            let [least, most] = sampled.intervals[name];
            let estimate = estimate.value.as_f64();
            let about = 1e-9 * truth.abs() + 1e-9;
            assert!(least <= estimate + about && estimate <= most + about, "{name}");
            let holds = least <= truth + about && truth <= most + about;
            let is_alike = most - least <= 2.0 * about;
            if is_alike && holds {
                coverage.alike += u32::from(truth != 0.0);
                continue;
            }
            coverage.metrics += 1;
            coverage.held += u32::from(holds);
            coverage.blind += u32::from(!holds && (is_alike || lacks));
            let about = 1e-3 * truth.abs();
            coverage.nearly += u32::from(holds || least <= truth + about && truth <= most + about);
            if !holds {
                *coverage.missed.entry(name.clone()).or_default() += 1;
            }
            coverage.widths += (most - least) / 2.0 / truth.abs().max(1e-9);
        }
        let (metrics, missed) =
            (f64::from(coverage.metrics), f64::from(coverage.metrics - coverage.held));
        coverage.samples = Squares {
            samples: 1.0,
            missed: missed.powi(2),
            metrics: metrics.powi(2),
            both: metrics * missed,
        };
        coverage
    }
}

/// The columns of [`Coverage::row`].
pub(crate) const HEADER: &str = "| input | metrics | hold | at most | of those that can be told | \
                                 within 0.1 % | half width |";
