//! The fields in which two GPUs differ.

use gpucast_forecast::failure::Report;
use gpucast_forecast::number;
use gpucast_model::gpu::Figure;
use gpucast_model::gpu::quantity::Value;
use gpucast_model::{Gpu, Model};
use serde::Serialize;

use crate::table::{Align, aligned};
use crate::{Format, csv, json};

const SCHEMA: &str = "gpucast.gpus-diff/1";

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    one: &'a str,
    other: &'a str,
    fields: &'a [Difference],
}

/// A field in which two GPUs differ.
#[derive(Serialize)]
struct Difference {
    field: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    unit: Option<&'static str>,
    one: Option<Side>,
    other: Option<Side>,
    /// The other over the one.
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio: Option<f64>,
}

/// A field of one GPU.
#[derive(Serialize)]
struct Side {
    value: serde_json::Value,
    source_kind: &'static str,
    #[serde(skip)]
    text: String,
}

impl Side {
    fn of(figure: &Figure<'_>) -> Self {
        let (value, text) = match &figure.value {
            Value::Text(text) => (text.as_str().into(), text.clone()),
            Value::Number(value) if value.fract() == 0.0 && *value >= 0.0 && *value < 1e15 => {
                ((*value as u64).into(), number::count(*value as u64))
            }
            Value::Number(value) => ((*value).into(), format!("{value:.2}")),
        };
        Self { value, source_kind: figure.source.kind(), text }
    }
}

/// The fields in which two GPUs differ, in a form.
///
/// # Errors
///
/// Says that the document cannot be written.
pub fn differences(one: &Gpu, other: &Gpu, format: Format) -> Result<String, Report> {
    let differences: Vec<Difference> =
        Gpu::FIELDS.iter().filter_map(|field| difference(field, one, other)).collect();
    match format {
        Format::Text => Ok(table(one, other, &differences)),
        Format::Json => json::document(&Document {
            schema: SCHEMA,
            one: &one.name,
            other: &other.name,
            fields: &differences,
        }),
        Format::Csv => as_csv(&differences),
    }
}

fn difference(field: &'static str, one: &Gpu, other: &Gpu) -> Option<Difference> {
    let (left, right) = (one.figure(field), other.figure(field));
    if left.as_ref().map(|f| &f.value) == right.as_ref().map(|f| &f.value) {
        return None;
    }
    let numbers = one.number(field).zip(other.number(field));
    Some(Difference {
        field,
        unit: left.as_ref().or(right.as_ref()).and_then(|figure| figure.unit),
        one: left.as_ref().map(Side::of),
        other: right.as_ref().map(Side::of),
        ratio: numbers.map(|(one, other)| other / one),
    })
}

fn table(one: &Gpu, other: &Gpu, differences: &[Difference]) -> String {
    if differences.is_empty() {
        return format!("{} and {} do not differ\n", one.name, other.name);
    }
    let side = |side: &Option<Side>| match side {
        None => ["-".to_owned(), String::new()],
        Some(side) => [side.text.clone(), side.source_kind.to_owned()],
    };
    let titles = ["field", &one.name, "", &other.name, "", "unit", "ratio"];
    let mut rows = vec![titles.map(str::to_owned).to_vec()];
    for difference in differences {
        let [one, one_kind] = side(&difference.one);
        let [other, other_kind] = side(&difference.other);
        let unit = difference.unit.unwrap_or_default().to_owned();
        let ratio = difference.ratio.map_or(String::new(), |ratio| format!("{ratio:.3}"));
        rows.push(vec![difference.field.to_owned(), one, one_kind, other, other_kind, unit, ratio]);
    }
    use Align::{Left, Right};
    let mut text = aligned(0, &[Left, Right, Left, Right, Left, Left, Right], &rows);
    let fields = differences.iter().map(|difference| difference.field);
    let unread: Vec<&str> = fields.filter(|field| <dyn Model>::readers(field).is_empty()).collect();
    if !unread.is_empty() {
        text += &format!("\nNo model and no count reads these: {}.\n", unread.join(", "));
    }
    text
}

fn as_csv(differences: &[Difference]) -> Result<String, Report> {
    let side = |side: &Option<Side>| match side {
        None => [String::new(), String::new()],
        Some(side) => {
            let value = side.value.as_str().map_or_else(|| side.value.to_string(), str::to_owned);
            [value, side.source_kind.to_owned()]
        }
    };
    let rows: Vec<Vec<String>> = differences
        .iter()
        .map(|difference| {
            let [one, one_kind] = side(&difference.one);
            let [other, other_kind] = side(&difference.other);
            let ratio = difference.ratio.map_or(String::new(), |ratio| ratio.to_string());
            let unit = difference.unit.unwrap_or_default().to_owned();
            vec![difference.field.to_owned(), unit, one, one_kind, other, other_kind, ratio]
        })
        .collect();
    csv::document(
        &["field", "unit", "one", "one_source_kind", "other", "other_source_kind", "ratio"],
        &rows,
    )
}
