//! Reports of programs: text for the terminal, and files.

use std::path::Path;

use askama::Template;
use gpucast_forecast::sweep::{Cell, Table};
use gpucast_forecast::{Failure, Report, number};
use gpucast_host::report::{LaunchRow, ProcessReport};
use gpucast_model::duration;
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
        Format::Html => html(reports)?.into_bytes(),
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

/// The page.
#[derive(Template)]
#[template(path = "program.html")]
struct Page {
    title: String,
    version: &'static str,
    style: &'static str,
    script: &'static str,
    processes: Vec<Process>,
}

struct Process {
    id: String,
    program: String,
    gpu: String,
    how: String,
    kernels: Vec<KernelLine>,
    copies: Vec<String>,
    findings: Vec<String>,
}

struct KernelLine {
    kernel: String,
    launches: String,
    time: Time,
    mean: Time,
    shortest: Time,
    longest: Time,
    share: String,
    /// The share in percent, for the bar.
    percent: f64,
    bound: String,
    warnings: Vec<String>,
}

/// A time in words, and in milliseconds for sorting; empty and endless if nothing is predicted.
struct Time {
    text: String,
    ms: f64,
}

impl Time {
    fn of(ms: Option<f64>) -> Self {
        Self { text: ms.map_or_else(String::new, duration), ms: ms.unwrap_or(f64::INFINITY) }
    }
}

fn html(reports: &[ProcessReport]) -> Result<String, Failure> {
    // Most programs are one process.
    let mut names: Vec<&str> = reports.iter().map(|report| file_name(&report.program)).collect();
    names.dedup();
    let page = Page {
        title: match names.as_slice() {
            [] => "Launches of a program".to_owned(),
            names => format!("Launches of {}", names.join(", ")),
        },
        version: env!("CARGO_PKG_VERSION"),
        style: include_str!("../templates/report.css"),
        script: include_str!("../templates/report.js"),
        processes: reports.iter().enumerate().map(process).collect(),
    };
    page.render().map_err(|error| Report::new(format!("cannot write the page: {error}")).into())
}

/// A path without its folders.
fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn process((at, report): (usize, &ProcessReport)) -> Process {
    let kernels = report.kernels.iter().map(|row| KernelLine {
        kernel: row.kernel.clone(),
        launches: number::count(row.launches),
        time: Time::of(row.time_ms),
        mean: Time::of(row.time_ms.map(|all| all / row.launches.max(1) as f64)),
        shortest: Time::of(row.least_ms),
        longest: Time::of(row.most_ms),
        share: row.share.map_or(String::new(), |share| format!("{:.1} %", 100.0 * share)),
        percent: 100.0 * row.share.unwrap_or(0.0),
        bound: row.bound.clone().unwrap_or_default(),
        warnings: row.warning_codes.clone(),
    });
    let copies = report.copies.iter().map(|copies| {
        let direction = json!(copies.direction);
        let copied = if copies.count == 1 { "copy" } else { "copies" };
        // Without a link copies take no time.
        let time = match copies.time_ms {
            0.0 => "no time (--link gives them one)".to_owned(),
            ms => duration(ms),
        };
        format!(
            "{}: {} {copied}, {} bytes, {time}",
            direction.as_str().unwrap_or_default().replace('-', " "),
            number::count(copies.count),
            number::count(copies.bytes),
        )
    });
    let findings = report
        .findings
        .iter()
        .flatten()
        .map(|found| format!("{}: {} ({} times)", found.kernel, found.text, found.occurrences));
    Process {
        id: format!("process-{at}"),
        program: report.program.clone(),
        gpu: format!("{} ({})", report.gpu_name, report.gpu),
        how: format!(
            "Predicted by {}; caches are modelled as on the {}; the last operation ends at {}.",
            report.model,
            report.counted_on,
            duration(report.end_ms)
        ),
        kernels: kernels.collect(),
        copies: copies.collect(),
        findings: findings.collect(),
    }
}
