//! Predictions as text, JSON and CSV.

mod comparison;
mod parts;
mod sections;
mod text;
mod what_if;

use gpucast_advice::Advice;
use gpucast_counters::Metrics;
use gpucast_forecast::Report;
use gpucast_forecast::prediction::together::{Total, totals};
use gpucast_forecast::prediction::{Declined, KernelView, PredictionView};
use gpucast_forecast::what_if::WhatIfView;
use gpucast_model::SymbolValue;
use serde::Serialize;

use crate::Format;

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    counts: Vec<Counts<'a>>,
    predictions: Vec<Numbered<'a>>,
    /// Total times of files with several launches.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    totals: Vec<Total<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    declined: Vec<&'a Declined>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    what_if: Vec<&'a WhatIfView>,
}

/// The counts that a launch's predictions read, so that nobody needs to execute it again.
#[derive(Serialize)]
struct Counts<'a> {
    /// The place of the KERNEL among those of the command.
    argument: usize,
    launch: usize,
    kernel: &'a str,
    invocations: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    measured_on: Option<&'a str>,
    origin: &'a str,
    /// The GPUs whose predictions read them.
    gpus: Vec<&'a str>,
    metrics: &'a Metrics,
}

impl<'a> Counts<'a> {
    fn of(view: &'a KernelView) -> Self {
        let profile = &view.profile;
        Self {
            argument: view.argument,
            launch: view.launch,
            kernel: &profile.kernel,
            invocations: profile.invocations,
            measured_on: profile.measured_on.as_deref(),
            origin: &view.origin,
            gpus: view.gpus(),
            metrics: &profile.metrics,
        }
    }
}

/// A prediction with the places of its KERNEL in the command and of its launch in the file.
#[derive(Serialize)]
struct Numbered<'a> {
    #[serde(flatten)]
    view: &'a PredictionView,
    argument: usize,
    launch: usize,
}

/// All predictions in the format asked for. Text begins with the advice on each launch, if there is
/// any.
///
/// # Errors
///
/// If the result has a value that the form cannot hold, which no input brings about.
pub fn document(
    kernels: &[KernelView],
    advice: &[Advice],
    format: Format,
) -> Result<String, Report> {
    match format {
        Format::Text => Ok(text::text(kernels, advice)),
        Format::Json => super::json::document(&Document {
            schema: "gpucast.predictions/1",
            counts: kernels.iter().map(Counts::of).collect(),
            predictions: kernels
                .iter()
                .flat_map(|kernel| {
                    let KernelView { argument, launch, .. } = *kernel;
                    kernel.predictions.iter().map(move |view| Numbered { view, argument, launch })
                })
                .collect(),
            totals: totals(kernels),
            declined: kernels.iter().flat_map(|kernel| &kernel.declined).collect(),
            what_if: kernels.iter().flat_map(|kernel| &kernel.what_ifs).collect(),
        }),
        Format::Csv => csv(kernels),
    }
}

fn csv(kernels: &[KernelView]) -> Result<String, Report> {
    let all = || kernels.iter().flat_map(|kernel| &kernel.predictions);
    // Models differ in their symbols; every symbol that occurs becomes a column.
    let mut symbols: Vec<&'static str> = Vec::new();
    for view in all() {
        for symbol in view.prediction.parameters.iter().chain(view.prediction.intermediate.iter()) {
            if !symbols.contains(&symbol.name) {
                symbols.push(symbol.name);
            }
        }
    }
    let mut header =
        vec!["kernel", "gpu", "model", "time_ms", "bound", "interval_low_ms", "interval_high_ms"];
    header.extend(["measured_ms", "error", "warning_codes", "clock_mhz", "energy_j", "power_w"]);
    let declined = || kernels.iter().flat_map(|kernel| &kernel.declined);
    let any_declined = declined().next().is_some();
    if any_declined {
        header.push("declined_because");
    }
    let what_ifs = || kernels.iter().flat_map(|kernel| &kernel.what_ifs);
    let any_what_ifs = what_ifs().next().is_some();
    if any_what_ifs {
        header.extend(["what_if", "speed_up"]);
    }
    let first_symbol = header.len();
    header.extend(&symbols);
    let predicted = all().map(|view| {
        let prediction = &view.prediction;
        let published = view.published.as_ref();
        let interval = prediction.interval.as_ref();
        let energy = prediction.energy.as_ref();
        let mut row = vec![
            prediction.kernel.clone(),
            prediction.gpu.clone(),
            prediction.model.to_owned(),
            prediction.time_ms.to_string(),
            prediction.bound.to_string(),
            interval.map_or_else(String::new, |it| it.low_ms.to_string()),
            interval.map_or_else(String::new, |it| it.high_ms.to_string()),
            published.map_or_else(String::new, |it| it.measured_ms.to_string()),
            published.map_or_else(String::new, |it| it.error.to_string()),
            prediction.warning_codes(),
            prediction.clock_mhz.map_or_else(String::new, |clock| clock.to_string()),
            energy.map_or_else(String::new, |it| it.joules.to_string()),
            energy.map_or_else(String::new, |it| it.watts.to_string()),
        ];
        row.resize(first_symbol, String::new());
        row.extend(symbols.iter().map(|name| {
            let value = prediction.parameters.get(name).or(prediction.intermediate.get(name));
            value.map_or_else(String::new, raw)
        }));
        row
    });
    let without_time = declined().map(|declined| {
        let mut row =
            vec![declined.kernel.clone(), declined.gpu.clone(), declined.model.to_owned()];
        row.extend([""; 10].map(str::to_owned));
        row.push(declined.reason.clone());
        row.resize(header.len(), String::new());
        row
    });
    let changed = what_ifs().flat_map(|view| {
        view.outcomes.iter().map(|outcome| {
            let time = outcome.time_ms.map_or(String::new(), |time| time.to_string());
            let bound = outcome.bound.map_or(String::new(), |bound| bound.to_string());
            let model = outcome.model.to_owned();
            let mut row = vec![view.kernel.clone(), outcome.gpu.clone(), model, time, bound];
            row.extend([""; 8].map(str::to_owned));
            if any_declined {
                row.push(outcome.declined_because.clone().unwrap_or_default());
            }
            row.push(view.what_if.clone());
            row.push(outcome.speed_up.map_or(String::new(), |speed_up| speed_up.to_string()));
            row.resize(header.len(), String::new());
            row
        })
    });
    let rows: Vec<Vec<String>> = predicted.chain(without_time).chain(changed).collect();
    super::csv::document(&header, &rows)
}

fn raw(value: &SymbolValue) -> String {
    match value {
        SymbolValue::Count(count) => count.to_string(),
        SymbolValue::Real(real) => real.to_string(),
        SymbolValue::Name(name) => (*name).to_owned(),
        SymbolValue::Undefined => String::new(),
    }
}
