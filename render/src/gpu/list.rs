//! GPUs side by side.

use gpucast_forecast::failure::Report;
use gpucast_model::Gpu;
use serde::Serialize;
use serde_json::Value;

use super::fields;
use crate::table::{Align, aligned};
use crate::{Format, csv, json};

const SCHEMA: &str = "gpucast.gpus/1";

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    gpus: &'a [&'a Gpu],
}

/// The columns of the list: field and title.
const COLUMNS: [(&str, &str); 9] = [
    ("architecture", "architecture"),
    ("compute_capability", "cc"),
    ("sm_count", "SMs"),
    ("sp_clock", "MHz"),
    ("sp_throughput", "SP GFLOPS"),
    ("dp_throughput", "DP GFLOPS"),
    ("load_store_throughput", "ld/st GOPS"),
    ("memory_bandwidth", "GB/s"),
    ("l2_size", "L2 KiB"),
];

/// A list of GPUs in a form: some figures as text, all of them otherwise.
///
/// # Errors
///
/// Says that the document cannot be written.
pub fn list(gpus: &[&Gpu], format: Format) -> Result<String, Report> {
    match format {
        Format::Text => Ok(table(gpus)),
        Format::Json => document(gpus),
        Format::Csv => fields_as_csv(gpus),
    }
}

/// All figures of GPUs as a JSON document.
///
/// # Errors
///
/// Says that it cannot be written.
pub fn document(gpus: &[&Gpu]) -> Result<String, Report> {
    json::document(&Document { schema: SCHEMA, gpus })
}

fn table(gpus: &[&Gpu]) -> String {
    let titles = COLUMNS.iter().map(|(_, title)| (*title).to_owned());
    let mut rows: Vec<Vec<String>> = vec![["name".to_owned()].into_iter().chain(titles).collect()];
    for gpu in gpus {
        let fields = fields(gpu);
        let cell = |(name, _): &(&str, &str)| match *name {
            "l2_size" => gpu.number(name).map(|bytes| format!("{}", bytes / 1024.0)),
            "sp_clock" => gpu.number(name).map(|clock| format!("{clock:.0}")),
            name => fields.iter().find(|field| field.name == name).map(|field| {
                let derived = if gpu.is_filled(name) { "~" } else { "" };
                format!("{derived}{}", field.value)
            }),
        };
        let cells = COLUMNS.iter().map(|column| cell(column).unwrap_or_else(|| "-".to_owned()));
        rows.push([gpu.name.clone()].into_iter().chain(cells).collect());
    }
    use Align::{Left, Right};
    let columns = [Left, Left, Left, Right, Right, Right, Right, Right, Right, Right];
    let table = aligned(0, &columns, &rows);
    match table.contains('~') {
        true => format!("{table}\n~ follows from other figures; `gpucast gpus show` says how\n"),
        false => table,
    }
}

/// One row for each figure, so that a spreadsheet can pivot it.
fn fields_as_csv(gpus: &[&Gpu]) -> Result<String, Report> {
    let mut rows = Vec::new();
    for gpu in gpus {
        let Ok(Value::Object(map)) = serde_json::to_value(gpu) else {
            return Err(Report::new(format!("cannot describe {}", gpu.name)));
        };
        for field in fields(gpu) {
            let value = match &map[&field.name]["value"] {
                Value::String(text) => text.clone(),
                number => number.to_string(),
            };
            let name = gpu.name.clone();
            rows.push(vec![name, field.name, value, field.unit, field.source_kind, field.source]);
        }
    }
    csv::document(&["gpu", "field", "value", "unit", "source_kind", "source"], &rows)
}
