//! `gpucast gpus`: the parameter library.

use gpucast_model::Gpu;
use serde::Serialize;
use serde_json::Value;

use crate::cli::{Format, Gpus, OutputOptions, TextOrJson};
use crate::failure::{Failure, Report};
use crate::gpu_argument;
use crate::render::output::Output;
use crate::render::table::{Align, aligned};
use crate::render::{csv, json, number};

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    gpus: Vec<&'a Gpu>,
}

/// A figure of a GPU as text.
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) value: String,
    pub(crate) unit: String,
    pub(crate) source_kind: String,
    pub(crate) source: String,
}

/// The columns of the list: field and title.
const COLUMNS: [(&str, &str); 7] = [
    ("architecture", "architecture"),
    ("compute_capability", "cc"),
    ("sm_count", "SMs"),
    ("sp_throughput", "SP GFLOPS"),
    ("dp_throughput", "DP GFLOPS"),
    ("load_store_throughput", "ld/st GOPS"),
    ("memory_bandwidth", "GB/s"),
];

pub(crate) fn run(command: Gpus) -> Result<(), Failure> {
    let library = gpu_argument::library()?;
    match command {
        Gpus::List { output: OutputOptions { format, output } } => {
            let gpus: Vec<Gpu> = library.iter().map(Gpu::completed).collect();
            let gpus: Vec<&Gpu> = gpus.iter().collect();
            Output::open(output)?.write(&match format {
                Format::Text => list(&gpus),
                Format::Json => json::document(&Document { schema: SCHEMA, gpus })?,
                Format::Csv => fields_as_csv(&gpus)?,
            })
        }
        Gpus::Show { gpu, format } => {
            let gpu = gpu_argument::find(&library, &gpu)?;
            Output::open(None)?.write(&match format {
                TextOrJson::Text => show(&gpu),
                TextOrJson::Json => json::document(&Document { schema: SCHEMA, gpus: vec![&gpu] })?,
            })
        }
    }
}

const SCHEMA: &str = "gpucast.gpus/1";

/// The figures of a GPU that are known, in the order of its description.
pub(crate) fn fields(gpu: &Gpu) -> Vec<Field> {
    // A GPU's serialised form is the one place where all of its fields look alike.
    let Ok(Value::Object(map)) = serde_json::to_value(gpu) else { return Vec::new() };
    let field = |(name, value): (&String, &Value)| {
        let (kind, source) = value.get("source")?.as_object()?.iter().next()?;
        let text = |value: &Value| match value {
            Value::String(text) => text.clone(),
            Value::Number(number) => match (number.as_u64(), number.as_f64()) {
                (Some(count), _) => number::count(count),
                (None, Some(real)) => format!("{real:.2}"),
                (None, None) => number.to_string(),
            },
            other => other.to_string(),
        };
        Some(Field {
            name: name.clone(),
            value: text(value.get("value")?),
            unit: value.get("unit").map(text).unwrap_or_default(),
            source_kind: kind.clone(),
            source: text(source),
        })
    };
    map.iter().filter_map(field).collect()
}

fn list(gpus: &[&Gpu]) -> String {
    let titles = COLUMNS.iter().map(|(_, title)| (*title).to_owned());
    let mut rows: Vec<Vec<String>> = vec![["name".to_owned()].into_iter().chain(titles).collect()];
    for gpu in gpus {
        let fields = fields(gpu);
        let cell = |(name, _): &(&str, &str)| {
            let field = fields.iter().find(|field| field.name == *name);
            field.map_or_else(|| "-".to_owned(), |field| field.value.clone())
        };
        rows.push([gpu.name.clone()].into_iter().chain(COLUMNS.iter().map(cell)).collect());
    }
    use Align::{Left, Right};
    aligned(0, &[Left, Left, Left, Right, Right, Right, Right, Right], &rows)
}

fn show(gpu: &Gpu) -> String {
    let rows: Vec<Vec<String>> = fields(gpu)
        .into_iter()
        .map(|field| {
            let source = format!("{}: {}", field.source_kind, field.source);
            vec![field.name, field.value, field.unit, source]
        })
        .collect();
    let table = aligned(2, &[Align::Left, Align::Right, Align::Left, Align::Left], &rows);
    format!("{} ({})\n\n{table}", gpu.display_name, gpu.name)
}

/// One row for each figure, so that a spreadsheet can pivot it.
fn fields_as_csv(gpus: &[&Gpu]) -> Result<String, Failure> {
    let mut rows = Vec::new();
    for gpu in gpus {
        let Ok(Value::Object(map)) = serde_json::to_value(gpu) else {
            return Err(Report::new(format!("cannot describe {}", gpu.name)).into());
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
