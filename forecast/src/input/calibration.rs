//! Calibrations that `gpucast calibrate --format json` wrote.

use std::path::Path;

use gpucast_counters::import::Position;
use gpucast_model::offload::{CalibratedOffload, Offload};
use serde::Deserialize;

use super::module_text::{self, range_of};
use crate::failure::Report;

/// The schema of calibrations, by which predictions tell them from other files.
pub const SCHEMA: &str = "gpucast.calibration/1";

/// The part of a calibration that predictions need.
#[derive(Deserialize)]
struct Document {
    schema: String,
    model: String,
    gpu: Option<String>,
    offload: Option<Fitted>,
}

#[derive(Deserialize)]
struct Fitted {
    model: Offload,
}

/// Reads a calibration of the model `offload`.
pub fn offload(path: &Path) -> Result<CalibratedOffload, Report> {
    let source = module_text::read_text(path)?;
    let document: Document = serde_json::from_str(&source.text).map_err(|error| {
        let position = Position { line: error.line(), column: error.column() };
        let message = format!("this is not a calibration: {error}");
        source
            .report(range_of(&source, position), message)
            .hint("`gpucast calibrate offload SAMPLES.csv --format json -o FILE` writes one")
    })?;
    let whole = |message: String| source.report(0..source.text.len().min(1), message);
    if document.schema != SCHEMA {
        return Err(whole(format!(
            "the schema is `{}`, and that of calibrations is `{SCHEMA}`",
            document.schema
        )));
    }
    let model = match (document.model.as_str(), document.offload) {
        ("offload", Some(fitted)) => fitted.model,
        (other, _) => {
            return Err(whole(format!("this calibrates the model `{other}`, not `offload`")));
        }
    };
    let rates = [model.dispatch_bandwidth, model.gpu_speed, model.collect_bandwidth];
    if rates.iter().any(|rate| !(rate.is_finite() && *rate > 0.0)) || !model.constant.is_finite() {
        return Err(whole("its rates must be positive, and its constant a number".to_owned()));
    }
    Ok(CalibratedOffload { model, gpu: document.gpu })
}
