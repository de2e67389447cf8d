//! Reports of programs: text for the terminal, and files.

mod page;

use std::path::Path;

use gpucast_forecast::sweep::{Cell, Table};
use gpucast_forecast::{Failure, Report};
use gpucast_host::report::{LaunchRow, ProcessReport};
use serde_json::json;

use crate::json;
use crate::sweep::{self, TableFormat};

/// The form of a report's file, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The tables, as on a terminal.
    Text,
    /// Everything, every launch included.
    Json,
    /// A row for each launch.
    Csv,
    /// The tables as a page.
    Html,
    /// A row for each launch.
    Parquet,
}

impl Format {
    /// The form that a file's name asks for.
    ///
    /// # Errors
    ///
    /// If the name ends in nothing that is known, or this build lacks Parquet.
    pub fn of(path: &Path) -> Result<Self, Failure> {
        let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
        Ok(match ending.as_deref() {
            Some("txt") => Self::Text,
            Some("json") => Self::Json,
            Some("csv") => Self::Csv,
            Some("html" | "htm") => Self::Html,
            Some("parquet") if cfg!(feature = "parquet") => Self::Parquet,
            Some("parquet") => return Err(sweep::without_parquet()),
            _ => {
                let report = Report::new(format!("--report {}: no known form", path.display()));
                return Err(Failure::Usage(
                    report.hint("name a file that ends in .json, .csv, .html, .parquet or .txt"),
                ));
            }
        })
    }

    /// Returns true if the file has a row for each launch.
    pub fn lists_launches(self) -> bool {
        matches!(self, Self::Json | Self::Csv | Self::Parquet)
    }
}

/// The whole file.
///
/// # Errors
///
/// If this build lacks Parquet.
pub fn document(reports: &[ProcessReport], format: Format) -> Result<Vec<u8>, Failure> {
    Ok(match format {
        Format::Text => reports.iter().map(ProcessReport::text).collect::<String>().into_bytes(),
        Format::Json => {
            json::document(&json!({ "schema": "gpucast.program/1", "processes": reports }))?
                .into_bytes()
        }
        Format::Csv => sweep::document(&launches(reports), TableFormat::Csv)?,
        Format::Html => page::page(reports).into_bytes(),
        Format::Parquet => sweep::document(&launches(reports), TableFormat::Parquet)?,
    })
}

/// A row for each launch of each process.
fn launches(reports: &[ProcessReport]) -> Table {
    const COLUMNS: [&str; 16] = [
        "pid",
        "launch",
        "kernel",
        "grid_x",
        "grid_y",
        "grid_z",
        "block_x",
        "block_y",
        "block_z",
        "shared_bytes",
        "stream",
        "start_ms",
        "time_ms",
        "bound",
        "counted",
        "gpu",
    ];
    let rows = reports.iter().flat_map(|report| {
        let all = report.launches.iter().flatten().enumerate();
        all.map(move |(index, launch)| row(report, index, launch))
    });
    Table { columns: COLUMNS.map(str::to_owned).to_vec(), rows: rows.collect() }
}

fn row(report: &ProcessReport, index: usize, launch: &LaunchRow) -> Vec<Cell> {
    let text = |text: &str| Cell::Text(text.into());
    let mut row =
        vec![Cell::Real(f64::from(report.pid)), Cell::Real(index as f64), text(&launch.kernel)];
    row.extend(launch.grid.iter().chain(&launch.block).map(|&extent| Cell::Real(extent.into())));
    row.extend([
        Cell::Real(launch.shared_bytes.into()),
        Cell::Real(launch.stream as f64),
        Cell::Real(launch.start_ms),
        launch.time_ms.map_or(Cell::Empty, Cell::Real),
        launch.bound.as_deref().map_or(Cell::Empty, text),
        text(if launch.counted { "yes" } else { "no" }),
        text(&report.gpu),
    ]);
    row
}
