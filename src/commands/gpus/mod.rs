//! `gpucast gpus`: the parameter library.

mod derive;
mod diff;
mod import;
mod list;

use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::number;
use gpucast_model::Gpu;
use serde::Serialize;
use serde_json::Value;

use crate::cli::{Gpus, TextOrJson};
use crate::failure::Failure;
use crate::render::json;
use crate::render::output::Output;
use crate::render::table::{Align, aligned};

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

pub(crate) fn run(command: Gpus) -> Result<(), Failure> {
    let library = gpu_argument::library()?;
    match command {
        Gpus::List { words, output } => list::run(&library, &words, output),
        Gpus::Show { gpu, set, format } => {
            let gpu = gpu_argument::changed(&gpu_argument::find(&library, &gpu)?, &set)?;
            Output::open(None)?.write(&match format {
                TextOrJson::Text => show(&gpu),
                TextOrJson::Json => json::document(&Document { schema: SCHEMA, gpus: vec![&gpu] })?,
            })
        }
        Gpus::Derive(arguments) => derive::run(&library, *arguments),
        Gpus::Import(arguments) => import::run(arguments),
        Gpus::Diff { one, other, output } => {
            let one = gpu_argument::find(&library, &one)?;
            let other = gpu_argument::find(&library, &other)?;
            diff::run(&one, &other, output)
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

fn show(gpu: &Gpu) -> String {
    let rows: Vec<Vec<String>> = fields(gpu)
        .into_iter()
        .map(|field| {
            let source = format!("{}: {}", field.source_kind, field.source);
            vec![field.name, field.value, field.unit, source]
        })
        .collect();
    let table = aligned(2, &[Align::Left, Align::Right, Align::Left, Align::Left], &rows);
    let aliases = match gpu.aliases.as_slice() {
        [] => String::new(),
        names => format!(", also {}", names.join(", ")),
    };
    format!("{} ({}{aliases})\n\n{table}", gpu.display_name, gpu.name)
}
