//! Metrics as aligned text.

use gpucast_counters::{MetricValue, Number};

use super::number;
use super::table::{Align, aligned};

/// How a figure came about, in one word.
pub(crate) fn kind(metric: &MetricValue) -> String {
    format!("{:?}", metric.kind).to_lowercase()
}

/// Name, value, unit and kind of each metric.
pub(crate) fn table<'a>(metrics: impl IntoIterator<Item = (&'a str, MetricValue)>) -> String {
    let row = |(name, metric): (&str, MetricValue)| {
        let value = match metric.value {
            Number::Count(count) => number::count(count),
            Number::Real(real) => number::real(real),
        };
        vec![name.to_owned(), value, metric.unit.to_owned(), kind(&metric)]
    };
    let rows: Vec<Vec<String>> = metrics.into_iter().map(row).collect();
    aligned(2, &[Align::Left, Align::Right, Align::Left, Align::Left], &rows)
}
