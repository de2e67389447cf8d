//! Metrics as aligned text.

use gpucast_counters::{Kind, Level, MetricValue, Number};
use gpucast_forecast::number;

use super::table::{Align, aligned};

/// Returns the origin of a figure, in one word.
pub fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Exact => "exact",
        Kind::Measured => "measured",
        Kind::Modelled => "modelled",
        Kind::Estimated => "estimated",
    }
}

/// Returns the kind of instructions that a figure counts, in one word.
pub fn level(level: Level) -> &'static str {
    match level {
        Level::Ptx => "ptx",
        Level::Machine => "machine",
    }
}

/// A number for people.
pub fn value(number: Number) -> String {
    match number {
        Number::Count(count) => number::count(count),
        Number::Real(real) => number::real(real),
    }
}

/// Name, value, unit and kind of each metric.
pub fn table<'a>(metrics: impl IntoIterator<Item = (&'a str, MetricValue)>) -> String {
    let row = |(name, metric): (&str, MetricValue)| {
        let kind = kind(metric.kind).to_owned();
        vec![name.to_owned(), value(metric.value), metric.unit.to_owned(), kind]
    };
    let rows: Vec<Vec<String>> = metrics.into_iter().map(row).collect();
    aligned(2, &[Align::Left, Align::Right, Align::Left, Align::Left], &rows)
}
