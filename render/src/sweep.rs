//! Tables in the forms that users ask for.

use gpucast_forecast::Report;
use gpucast_forecast::sweep::shared::Status;
use gpucast_forecast::sweep::{Cell, Table};
use gpucast_forecast::{Failure, number};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

#[cfg(feature = "parquet")]
use super::parquet;
use crate::table::{Align, aligned};
use crate::{csv, json};

/// The form of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableFormat {
    /// For people
    Text,
    /// For programs, versioned
    Json,
    /// For spreadsheets
    Csv,
    /// For data frames
    Parquet,
}

impl TableFormat {
    /// The form that a file's name asks for.
    pub fn of_file(path: &std::path::Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "txt" => Some(Self::Text),
            "json" => Some(Self::Json),
            "csv" => Some(Self::Csv),
            "parquet" => Some(Self::Parquet),
            _ => None,
        }
    }
}

/// Rows that are shown to people; more are for programs.
const SHOWN: usize = 200;

/// The table as bytes of a file.
///
/// # Errors
///
/// [`Failure::Usage`] for Parquet in a build without it.
pub fn document(table: &Table, format: TableFormat) -> Result<Vec<u8>, Failure> {
    Ok(match format {
        TableFormat::Text => text(table).into_bytes(),
        TableFormat::Json => {
            let mut bytes = json_part(table, true)?;
            bytes.extend(json_end(table.rows.is_empty()).as_bytes());
            bytes
        }
        TableFormat::Csv => csv_part(table, true)?,
        #[cfg(feature = "parquet")]
        TableFormat::Parquet => parquet::document(table)?,
        #[cfg(not(feature = "parquet"))]
        TableFormat::Parquet => return Err(without_parquet()),
    })
}

/// The refusal of a program that was built without Parquet.
pub fn without_parquet() -> Failure {
    let report = Report::new("this program was built without Parquet");
    Failure::Usage(report.hint("build it with `cargo install --path . --features parquet`"))
}

/// Rows as CSV; the first ones have the header above them.
///
/// # Errors
///
/// If the result has a value that the form cannot hold, which no input brings about.
pub fn csv_part(table: &Table, is_first: bool) -> Result<Vec<u8>, Report> {
    let header: Vec<&str> = table.columns.iter().map(String::as_str).collect();
    let rows = table.rows.iter().map(|row| row.iter().map(Cell::plain).collect());
    let text = csv::document(&header, &rows.collect::<Vec<Vec<String>>>())?;
    // No column's name has a line break.
    let start = if is_first { 0 } else { text.find('\n').map_or(0, |at| at + 1) };
    Ok(text.as_bytes()[start..].to_vec())
}

/// Rows as members of a JSON array, which the first ones begin.
///
/// # Errors
///
/// If the result has a value that the form cannot hold, which no input brings about.
pub fn json_part(table: &Table, is_first: bool) -> Result<Vec<u8>, Report> {
    let mut text = String::new();
    if is_first {
        text += "{\n  \"schema\": \"gpucast.sweep/1\",\n  \"rows\": [";
    }
    for (at, row) in table.rows.iter().enumerate() {
        text += if is_first && at == 0 { "\n" } else { ",\n" };
        let row = json::document(&Row { columns: &table.columns, row })?;
        let lines: Vec<String> = row.lines().map(|line| format!("    {line}")).collect();
        text += &lines.join("\n");
    }
    Ok(text.into_bytes())
}

/// The end of the array and of the document.
pub fn json_end(is_empty: bool) -> &'static str {
    if is_empty { "]\n}\n" } else { "\n  ]\n}\n" }
}

struct Row<'a> {
    columns: &'a [String],
    row: &'a [Cell],
}

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.columns.len()))?;
        for (column, cell) in self.columns.iter().zip(self.row) {
            map.serialize_entry(column, cell)?;
        }
        map.end()
    }
}

/// The first rows, without columns that are empty in all of them, and the number of all rows.
fn text(table: &Table) -> String {
    let shown = &table.rows[..table.rows.len().min(SHOWN)];
    let is_used = |&at: &usize| shown.iter().any(|row| row[at] != Cell::Empty);
    let columns: Vec<usize> = (0..table.columns.len()).filter(is_used).collect();
    let align = |&at: &usize| if table.is_numeric(at) { Align::Right } else { Align::Left };
    let alignment: Vec<Align> = columns.iter().map(align).collect();
    let mut rows = vec![columns.iter().map(|&at| table.columns[at].clone()).collect()];
    rows.extend(
        shown.iter().map(|row| columns.iter().map(|&at| rounded(&row[at])).collect::<Vec<_>>()),
    );
    let mut text = aligned(0, &alignment, &rows);
    let failures = table.texts("error");
    let failed: usize = failures.values().sum();
    let plural = |count: usize| if count == 1 { "" } else { "s" };
    // Sweeps give times or metrics.
    let lack = if table.column("time_ms").is_some() { "a time" } else { "counts" };
    text.push_str(&format!(
        "\n{} row{}, {} without {lack}\n",
        number::count(table.rows.len() as u64),
        plural(table.rows.len()),
        number::count(failed as u64),
    ));
    if shown.len() < table.rows.len() {
        text.push_str(&format!(
            "The first {SHOWN} are shown; --output FILE.csv, .json or .parquet has all of them.\n"
        ));
    }
    text
}

/// The state of a shared sweep, for people.
pub fn state(status: &Status) -> String {
    let count = |number: usize| number::count(number as u64);
    let Status { executions, stored, damaged, leased, rows } = status;
    let mut text = format!(
        "{} of {} executions are stored; the table will have {} rows or more\n",
        count(*stored),
        count(*executions),
        count(*rows)
    );
    if *damaged > 0 {
        text += &format!("{} are damaged, and `work` executes them again\n", count(*damaged));
    }
    for one in leased {
        text += &format!("  {} is at {:.12}\n", one.worker, one.item);
    }
    text
}

/// Numbers of tables are for reading here.
fn rounded(cell: &Cell) -> String {
    match cell {
        Cell::Real(real) if real.fract() == 0.0 && *real >= 0.0 && *real < 9e15 => {
            number::count(*real as u128)
        }
        Cell::Real(real) => number::real(*real),
        Cell::Empty | Cell::Text(_) => cell.plain(),
    }
}
