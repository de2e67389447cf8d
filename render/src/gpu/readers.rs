//! The fields that a GPU's file may have, with what reads each.

use gpucast_forecast::failure::Report;
use gpucast_model::{Gpu, Model};
use serde::Serialize;

use crate::table::wrapped;
use crate::{Format, csv, json};

const SCHEMA: &str = "gpucast.gpu-fields/1";

/// Columns of the text.
const WIDTH: usize = 100;

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    fields: &'a [Described],
}

/// A field of GPUs.
#[derive(Serialize)]
struct Described {
    field: &'static str,
    /// The units that it may be given in, its own first.
    units: Vec<&'static str>,
    meaning: &'static str,
    /// Who reads it, itself or by a field that follows from it.
    read_by: Vec<&'static str>,
}

/// The fields whose names or meanings have each of some words, in a form. `None` if there are none.
///
/// # Errors
///
/// Says that the document cannot be written.
pub fn readers(words: &[String], format: Format) -> Result<Option<String>, Report> {
    let all = Gpu::FIELDS.iter().map(|field| Described {
        field,
        units: Gpu::units(field).into_iter().flatten().map(|(unit, _)| *unit).collect(),
        meaning: Gpu::meaning(field).unwrap_or_default(),
        read_by: <dyn Model>::readers(field),
    });
    let is_meant = |described: &Described| {
        let text = format!("{} {}", described.field, described.meaning).to_lowercase();
        words.iter().all(|word| text.contains(&word.to_lowercase()))
    };
    let fields: Vec<Described> = all.filter(is_meant).collect();
    if fields.is_empty() {
        return Ok(None);
    }
    Ok(Some(match format {
        Format::Text => fields.iter().map(text).collect::<Vec<String>>().join("\n"),
        Format::Json => json::document(&Document { schema: SCHEMA, fields: &fields })?,
        Format::Csv => as_csv(&fields)?,
    }))
}

fn text(described: &Described) -> String {
    let Described { field, units, meaning, read_by } = described;
    let units = if units.is_empty() { String::new() } else { format!(" ({})", units.join(", ")) };
    let readers = if read_by.is_empty() { "nothing".to_owned() } else { read_by.join(", ") };
    let meaning = wrapped("", 2, WIDTH, meaning);
    let readers = wrapped("", 2, WIDTH, &format!("read by {readers}"));
    format!("{field}{units}\n{meaning}{readers}")
}

fn as_csv(fields: &[Described]) -> Result<String, Report> {
    let row = |described: &Described| {
        let Described { field, units, meaning, read_by } = described;
        vec![(*field).to_owned(), units.join(" "), (*meaning).to_owned(), read_by.join("; ")]
    };
    let rows: Vec<Vec<String>> = fields.iter().map(row).collect();
    csv::document(&["field", "units", "meaning", "read_by"], &rows)
}
