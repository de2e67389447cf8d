//! A document of an earlier run in place of a kernel.

use std::collections::BTreeMap;

use gpucast_model::duration;
use serde::Deserialize;

use super::{Figures, LaunchFigures, Time};
use crate::failure::{Report, SourceText};

/// The document that `predict` writes.
const SCHEMA: &str = "gpucast.predictions/1";

#[derive(Deserialize)]
#[serde(expecting = "a document of predictions")]
struct Document {
    schema: String,
    #[serde(default)]
    counts: Vec<Counts>,
    #[serde(default)]
    predictions: Vec<Predicted>,
    #[serde(default)]
    totals: Vec<Total>,
}

#[derive(Deserialize)]
#[serde(expecting = "the time of all launches")]
struct Total {
    argument: usize,
    gpu: String,
    model: String,
    time_ms: f64,
}

#[derive(Deserialize)]
#[serde(expecting = "the counts of a launch")]
struct Counts {
    argument: usize,
    launch: usize,
    kernel: String,
    metrics: BTreeMap<String, Metric>,
}

#[derive(Deserialize)]
#[serde(expecting = "a metric with value and unit")]
struct Metric {
    value: f64,
    unit: String,
}

#[derive(Deserialize)]
#[serde(expecting = "a prediction")]
struct Predicted {
    argument: usize,
    launch: usize,
    gpu: String,
    model: String,
    time_ms: f64,
}

/// The figures of each KERNEL of a document that `gpucast predict --format json` wrote.
///
/// Where GPUs are counted apart, a launch has the counts of the first, as a run has.
///
/// # Errors
///
/// If the text is no such document, or has no launch, with the place in it.
pub fn read(source: &SourceText) -> Result<Vec<Figures>, Report> {
    let document: Document = serde_json::from_str(&source.text).map_err(|error| {
        let at = offset(&source.text, error.line(), error.column());
        let message = format!("{} is no baseline: {error}", source.name);
        source.report(at..at, message).hint(HINT)
    })?;
    if document.schema != SCHEMA {
        let (name, schema) = (&source.name, &document.schema);
        return Err(
            Report::new(format!("{name} is a {schema}, and a baseline is a {SCHEMA}")).hint(HINT)
        );
    }
    let mut kernels: BTreeMap<usize, BTreeMap<usize, LaunchFigures>> = BTreeMap::new();
    for Counts { argument, launch, kernel, metrics } in document.counts {
        let metrics = metrics.into_iter().map(|(name, metric)| (name, (metric.value, metric.unit)));
        let launches = kernels.entry(argument).or_default();
        launches.entry(launch).or_insert_with(|| LaunchFigures {
            kernel,
            metrics: metrics.collect(),
            times: Vec::new(),
        });
    }
    for Predicted { argument, launch, gpu, model, time_ms } in document.predictions {
        let launches = kernels.get_mut(&argument);
        if let Some(figures) = launches.and_then(|launches| launches.get_mut(&launch)) {
            figures.times.push(Time { gpu, model, ms: time_ms, text: duration(time_ms) });
        }
    }
    if kernels.is_empty() {
        return Err(Report::new(format!("{} has no launch", source.name)).hint(HINT));
    }
    let figures = |(argument, launches): (usize, BTreeMap<usize, LaunchFigures>)| {
        let together = document.totals.iter().filter(|total| total.argument == argument);
        let together = together.map(|Total { gpu, model, time_ms, .. }| Time {
            gpu: gpu.clone(),
            model: model.clone(),
            ms: *time_ms,
            text: duration(*time_ms),
        });
        let together = together.collect();
        Figures { launches: launches.into_values().collect(), together }
    };
    Ok(kernels.into_iter().map(figures).collect())
}

/// The offset of a line and a column of bytes, both from 1 on, inside the text.
fn offset(text: &str, line: usize, column: usize) -> usize {
    let before: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let at = (before + column.saturating_sub(1)).min(text.len());
    (0..=at).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

const HINT: &str = "`gpucast predict KERNEL --gpu GPU -o base.json` writes a baseline";
