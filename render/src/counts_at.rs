//! Counts that formulas give in sizes that are asked for: text, JSON and CSV.

use gpucast_counters::{Kind, Level};
use gpucast_forecast::Report;
use gpucast_forecast::number;
use gpucast_forecast::parametric::{CountsAt, LaunchAt, MetricAt, StoredCounts};
use serde::Serialize;

use super::counts::kind;
use super::table::{Align, aligned, wrapped};
use crate::Format;

/// Lists of names are this wide.
const WIDTH: usize = 100;

/// What is shown.
pub struct View<'a> {
    /// The formulas.
    pub stored: &'a StoredCounts,
    /// What they give.
    pub at: &'a [CountsAt],
}

/// The counts in the format asked for.
///
/// # Errors
///
/// If the result has a value that the form cannot hold, which no input brings about.
pub fn document(view: &View<'_>, format: Format) -> Result<String, Report> {
    match format {
        Format::Text => Ok(text(view)),
        Format::Json => super::json::document(&json(view)),
        Format::Csv => csv(view),
    }
}

fn text(view: &View<'_>) -> String {
    let counts = &view.stored.counts;
    let mut text = String::new();
    for (place, at) in view.at.iter().enumerate() {
        if place > 0 {
            text.push('\n');
        }
        let sizes = counts.names.iter().zip(&at.sizes);
        let sizes: Vec<String> =
            sizes.map(|(name, &size)| format!("{name} = {}", number::count(size))).collect();
        text.push_str(&format!("{}\n", sizes.join(", ")));
        if at.is_beyond_executed {
            let largest = counts.names.iter().zip(&counts.largest);
            let largest: Vec<String> =
                largest.map(|(name, &size)| format!("{name} = {}", number::count(size))).collect();
            let beyond = format!(
                "larger than all sizes that were executed for these formulas, up to {}",
                largest.join(", ")
            );
            text.push_str(&wrapped("", 0, WIDTH, &beyond));
        }
        for LaunchAt { kernel, metrics, without, .. } in &at.launches {
            text.push_str(&format!("\n{kernel}\n{}\n", "=".repeat(kernel.len())));
            let row = |MetricAt { name, kind: own, count, .. }: &MetricAt| {
                vec![(*name).to_owned(), kind(*own).to_owned(), number::count(*count)]
            };
            let rows: Vec<Vec<String>> = metrics.iter().map(row).collect();
            text.push_str(&aligned(2, &[Align::Left, Align::Left, Align::Right], &rows));
            if !without.is_empty() {
                text.push('\n');
                let names = format!("no formula in this size: {}", without.join(", "));
                text.push_str(&wrapped("", 2, WIDTH, &names));
            }
        }
    }
    text
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    input: &'a str,
    gpu: &'a str,
    parameters: Vec<ParameterDocument<'a>>,
    sizes: Vec<SizeDocument<'a>>,
}

#[derive(Serialize)]
struct ParameterDocument<'a> {
    name: &'a str,
    largest_executed: u64,
}

#[derive(Serialize)]
struct SizeDocument<'a> {
    /// The size of each parameter.
    at: &'a [u64],
    /// True if a size is larger than all that were executed for the formulas.
    beyond_executed: bool,
    launches: Vec<LaunchDocument<'a>>,
}

#[derive(Serialize)]
struct LaunchDocument<'a> {
    kernel: &'a str,
    metrics: Vec<MetricDocument<'a>>,
    without_formula: &'a [&'static str],
}

#[derive(Serialize)]
struct MetricDocument<'a> {
    name: &'a str,
    kind: Kind,
    level: Level,
    value: u128,
}

fn json<'a>(view: &View<'a>) -> Document<'a> {
    let StoredCounts { input, gpu, counts } = view.stored;
    let parameter = |(name, &largest_executed): (&'a String, &u64)| ParameterDocument {
        name,
        largest_executed,
    };
    let metric = |&MetricAt { name, kind, level, count }: &'a MetricAt| MetricDocument {
        name,
        kind,
        level,
        value: count,
    };
    let launch = |launch: &'a LaunchAt| LaunchDocument {
        kernel: &launch.kernel,
        metrics: launch.metrics.iter().map(metric).collect(),
        without_formula: &launch.without,
    };
    let size = |at: &'a CountsAt| SizeDocument {
        at: &at.sizes,
        beyond_executed: at.is_beyond_executed,
        launches: at.launches.iter().map(launch).collect(),
    };
    Document {
        schema: "gpucast.counts-at/1",
        input,
        gpu,
        parameters: counts.names.iter().zip(&counts.largest).map(parameter).collect(),
        sizes: view.at.iter().map(size).collect(),
    }
}

fn csv(view: &View<'_>) -> Result<String, Report> {
    let names = view.stored.counts.names.iter().map(String::as_str);
    let columns = ["launch", "kernel", "metric", "kind", "value", "beyond_executed"];
    let header: Vec<&str> = names.chain(columns).collect();
    let mut rows = Vec::new();
    for at in view.at {
        for (index, launch) in at.launches.iter().enumerate() {
            for metric in &launch.metrics {
                let mut row: Vec<String> = at.sizes.iter().map(u64::to_string).collect();
                row.extend([
                    (index + 1).to_string(),
                    launch.kernel.clone(),
                    metric.name.to_owned(),
                    kind(metric.kind).to_owned(),
                    metric.count.to_string(),
                    at.is_beyond_executed.to_string(),
                ]);
                rows.push(row);
            }
        }
    }
    super::csv::document(&header, &rows)
}
