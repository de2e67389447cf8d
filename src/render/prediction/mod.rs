//! Predictions as text, JSON and CSV.

mod comparison;
mod parts;
mod text;
mod what_if;

use gpucast_forecast::prediction::{Declined, KernelView, PredictionView};
use gpucast_forecast::what_if::WhatIfView;
use gpucast_model::SymbolValue;
use serde::Serialize;

use crate::cli::Format;
use crate::failure::Failure;

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    predictions: Vec<&'a PredictionView>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    declined: Vec<&'a Declined>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    what_if: Vec<&'a WhatIfView>,
}

/// All predictions in the format asked for.
pub(crate) fn document(kernels: &[KernelView], format: Format) -> Result<String, Failure> {
    match format {
        Format::Text => Ok(text::text(kernels)),
        Format::Json => super::json::document(&Document {
            schema: "gpucast.predictions/1",
            predictions: kernels.iter().flat_map(|kernel| &kernel.predictions).collect(),
            declined: kernels.iter().flat_map(|kernel| &kernel.declined).collect(),
            what_if: kernels.iter().flat_map(|kernel| &kernel.what_ifs).collect(),
        }),
        Format::Csv => csv(kernels),
    }
}

fn csv(kernels: &[KernelView]) -> Result<String, Failure> {
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
    let mut header = vec!["kernel", "gpu", "model", "time_ms", "bound", "measured_ms", "error"];
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
        let mut row = vec![
            prediction.kernel.clone(),
            prediction.gpu.clone(),
            prediction.model.to_owned(),
            prediction.time_ms.to_string(),
            prediction.bound.to_string(),
            published.map_or_else(String::new, |it| it.measured_ms.to_string()),
            published.map_or_else(String::new, |it| it.error.to_string()),
        ];
        row.resize(first_symbol, String::new());
        row.extend(symbols.iter().map(|name| {
            let value = prediction.parameters.get(name).or(prediction.intermediate.get(name));
            value.map_or_else(String::new, raw)
        }));
        row
    });
    let without_time = declined().map(|one| {
        let mut row = vec![one.kernel.clone(), one.gpu.clone(), one.model.to_owned()];
        row.extend(["", "", "", ""].map(str::to_owned));
        row.push(one.reason.clone());
        row.resize(header.len(), String::new());
        row
    });
    let changed = what_ifs().flat_map(|view| {
        view.outcomes.iter().map(|outcome| {
            let time = outcome.time_ms.map_or(String::new(), |time| time.to_string());
            let bound = outcome.bound.map_or(String::new(), |bound| bound.to_string());
            let model = outcome.model.to_owned();
            let mut row = vec![view.kernel.clone(), outcome.gpu.clone(), model, time, bound];
            row.extend([String::new(), String::new()]);
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
