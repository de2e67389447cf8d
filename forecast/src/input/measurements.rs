//! Measured times for `compare`: CSV with named columns.

use std::path::{Path, PathBuf};

use gpucast_model::Timing;
use gpucast_model::gpu::Clock;

use super::options::Size;
use crate::failure::{Anchor, Report, SourceText, suggest};

/// Milliseconds that no run takes: about thirty years.
const MOST_MS: f64 = 1e12;

/// Returns true if a number can be the time of a kernel in milliseconds.
pub(crate) fn is_time(milliseconds: f64) -> bool {
    milliseconds > 0.0 && milliseconds <= MOST_MS
}

/// One measured time.
#[derive(Clone, Debug)]
pub struct Measured {
    /// A KERNEL, as on the command line; a path is relative to the file.
    pub kernel: String,
    /// The function, where a launch file or a file of counts has several.
    pub function: Option<String>,
    /// The size of a corpus kernel.
    pub size: Option<Size>,
    /// A GPU's name or TOML file.
    pub gpu: String,
    /// Milliseconds, of all invocations.
    pub measured_ms: f64,
    /// The clock of the SMs, if it is known.
    pub clock: Option<Clock>,
    /// The way of measuring, if its fixed part is to be added.
    pub timing: Option<Timing>,
    /// A file of counts that takes the place of an execution.
    pub metrics: Option<PathBuf>,
    /// The line.
    pub anchor: Anchor,
}

/// The columns; the first three must be there.
const COLUMNS: [&str; 8] =
    ["kernel", "gpu", "measured_ms", "function", "size", "metrics", "clock", "timing"];

/// Reads measurements. Other columns are an error, lest a misspelt one goes unnoticed; lines that
/// begin with `#` are comments.
pub fn read(source: &SourceText, path: &Path) -> Result<Vec<Measured>, Report> {
    let folder = path.parent().map(Path::to_owned).unwrap_or_default();
    let mut reader = csv::ReaderBuilder::new()
        .comment(Some(b'#'))
        .trim(csv::Trim::All)
        .from_reader(source.text.as_bytes());
    let header = reader.headers().map_err(|error| in_table(source, &error))?.clone();
    if let Some(name) = header.iter().find(|name| !COLUMNS.contains(name)) {
        let start = source.text.find(name).unwrap_or_default();
        let message = format!("there is no column named `{name}`");
        let report = source.report(start..start + name.len(), message);
        return Err(report.maybe_hint(suggest(name, COLUMNS)));
    }
    let column = |name: &str| header.iter().position(|column| column == name);
    let required = |name: &str| {
        let end = source.text.find('\n').unwrap_or(source.text.len());
        column(name).ok_or_else(|| {
            let report = source.report(0..end, format!("there is no column `{name}`"));
            report.hint("measurements have the columns kernel, gpu and measured_ms")
        })
    };
    let (kernel, gpu, time) = (required("kernel")?, required("gpu")?, required("measured_ms")?);
    let [function, size, metrics] = ["function", "size", "metrics"].map(column);
    let [clock, timing] = ["clock", "timing"].map(column);
    let mut measured = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|error| in_table(source, &error))?;
        let range = line(source, record.position());
        let cell = |at: usize| record.get(at).unwrap_or_default();
        let optional = |at: Option<usize>| at.map(cell).filter(|text| !text.is_empty());
        let wrong = |message: String| source.report(range.clone(), message);
        let measured_ms = match cell(time).parse::<f64>() {
            Ok(number) if is_time(number) => number,
            _ => return Err(wrong(format!("`{}` is no time in milliseconds", cell(time)))),
        };
        for (name, at) in [("kernel", kernel), ("gpu", gpu)] {
            if cell(at).is_empty() {
                return Err(wrong(format!("this line has no {name}")));
            }
        }
        let size = optional(size).map(|text| {
            Size::by_name(text)
                .ok_or_else(|| wrong(format!("`{text}` is no size")).hint("it is small or paper"))
        });
        let clock = optional(clock)
            .map(|text| text.parse::<Clock>().map_err(|error| wrong(error.to_string())));
        let timing = optional(timing)
            .map(|text| text.parse::<Timing>().map_err(|error| wrong(error.to_string())));
        measured.push(Measured {
            kernel: relative(&folder, cell(kernel)),
            function: optional(function).map(str::to_owned),
            size: size.transpose()?,
            gpu: relative(&folder, cell(gpu)),
            measured_ms,
            clock: clock.transpose()?,
            timing: timing.transpose()?,
            metrics: optional(metrics).map(|path| folder.join(path)),
            anchor: Anchor { source: source.clone(), range: range.clone() },
        });
    }
    if measured.is_empty() {
        return Err(source.report(0..0, "this file has no measurement"));
    }
    Ok(measured)
}

/// Names are names; files are relative to the table.
fn relative(folder: &Path, text: &str) -> String {
    let is_file = text.contains(['/', '\\']) || Path::new(text).extension().is_some();
    if is_file { folder.join(text).display().to_string() } else { text.to_owned() }
}

fn line(source: &SourceText, position: Option<&csv::Position>) -> std::ops::Range<usize> {
    let start = position.map_or(0, csv::Position::byte) as usize;
    let rest = source.text.get(start..).unwrap_or_default();
    let blank = rest.len() - rest.trim_start_matches(['\r', '\n']).len();
    let end = rest[blank..].find('\n').map_or(rest.len(), |end| blank + end);
    start + blank..start + end
}

fn in_table(source: &SourceText, error: &csv::Error) -> Report {
    let message = match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("this line has {len} columns, and the first one has {expected_len}")
        }
        _ => format!("this is not CSV: {error}"),
    };
    source.report(line(source, error.position()), message)
}
