//! The figures of GPUs as text and documents.

mod difference;
mod list;
mod readers;

use gpucast_forecast::number;
use gpucast_model::Gpu;
use serde_json::Value;

pub use difference::differences;
pub use list::{document, list};
pub use readers::readers;

use crate::table::{Align, aligned};

/// A figure of a GPU as text.
#[derive(Clone, Debug)]
pub struct Field {
    /// The field's name in the GPU's file.
    pub name: String,
    /// The value, in the field's unit.
    pub value: String,
    /// The unit; empty for texts and plain numbers.
    pub unit: String,
    /// The kind of source: `datasheet`, `measured`, `derived`, …
    pub source_kind: String,
    /// The source in words.
    pub source: String,
}

/// The figures of a GPU that are known, in the order of its description.
pub fn fields(gpu: &Gpu) -> Vec<Field> {
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

/// All figures of a GPU as a table, each with its source.
pub fn description(gpu: &Gpu) -> String {
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
