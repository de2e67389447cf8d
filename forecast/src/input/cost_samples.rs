//! Measured kernels for the calibration of cost models: CSV with named columns.

use std::ops::Range;

use gpucast_model::cost_model::Feature;

use super::options::Size;
use super::samples::in_table;
use crate::failure::{Report, SourceText, suggest};

/// Columns besides those of features.
const COLUMNS: [&str; 5] = ["name", "kernel", "size", "time_s", "time_ms"];

/// A measured kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct CostSample {
    /// Its name in results.
    pub name: String,
    /// The launch to execute for features that have no column.
    pub measured: Option<Measured>,
    /// The features of the columns, as far as this line has them.
    pub features: Vec<(Feature, f64)>,
    /// The measured time.
    pub seconds: f64,
    /// Its line.
    pub range: Range<usize>,
}

/// A measured launch.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Measured {
    /// A corpus name or a launch file.
    pub kernel: String,
    /// The size, of a corpus kernel.
    pub size: Option<Size>,
}

/// Content of a column.
enum Column {
    Name,
    Kernel,
    Size,
    /// The time, in units of this number of seconds.
    Time(f64),
    Feature(Feature),
}

/// Reads samples: `time_s` or `time_ms`, columns that are named by features, `kernel`, `size` and
/// `name`. Other columns are an error, lest a misspelt one goes unnoticed; lines that begin with
/// `#` are comments.
pub fn read(source: &SourceText) -> Result<Vec<CostSample>, Report> {
    let mut reader = csv::ReaderBuilder::new()
        .comment(Some(b'#'))
        .trim(csv::Trim::All)
        .from_reader(source.text.as_bytes());
    let header = reader.headers().map_err(|error| in_table(source, &error))?.clone();
    let columns =
        header.iter().map(|name| column(source, name)).collect::<Result<Vec<Column>, Report>>()?;
    if let Some(twice) = (1..header.len())
        .filter_map(|at| Some((at, header.get(at)?)))
        .find_map(|(at, name)| header.iter().take(at).any(|other| other == name).then_some(name))
    {
        let start = source.text.find(twice).unwrap_or_default();
        let message = format!("there are several columns named `{twice}`");
        return Err(source.report(start..start + twice.len(), message));
    }
    let times = columns.iter().filter(|column| matches!(column, Column::Time(_))).count();
    if times != 1 {
        let end = source.text.find('\n').unwrap_or(source.text.len());
        let message = format!("there are {times} columns with times, and there must be one");
        return Err(source.report(0..end, message).hint("name it time_s or time_ms"));
    }
    let mut samples = Vec::new();
    for (at, record) in reader.records().enumerate() {
        let record = record.map_err(|error| in_table(source, &error))?;
        let range = line_of(source, &record);
        let mut sample = CostSample {
            name: format!("sample {}", at + 1),
            measured: None,
            features: Vec::new(),
            seconds: 0.0,
            range,
        };
        let mut has_name = false;
        let mut size = None;
        for ((column, cell), name) in columns.iter().zip(&record).zip(&header) {
            let number = || {
                cell.parse::<f64>().ok().filter(|number| number.is_finite()).ok_or_else(|| {
                    let message = format!("{name} is `{cell}`, which is no number");
                    source.report(sample.range.clone(), message)
                })
            };
            match column {
                _ if cell.is_empty() && !matches!(column, Column::Time(_)) => {}
                Column::Name => {
                    has_name = true;
                    cell.clone_into(&mut sample.name);
                }
                Column::Kernel => {
                    sample.measured = Some(Measured { kernel: cell.to_owned(), size: None });
                }
                Column::Size => size = Some(read_size(source, &sample.range, cell)?),
                Column::Time(unit) => sample.seconds = number()? * unit,
                Column::Feature(feature) => {
                    let value = number()?;
                    sample.features.push((feature.clone(), value));
                }
            }
        }
        if let Some(measured) = &mut sample.measured {
            measured.size = size;
            if !has_name {
                sample.name.clone_from(&measured.kernel);
            }
        }
        samples.push(sample);
    }
    Ok(samples)
}

fn column(source: &SourceText, name: &str) -> Result<Column, Report> {
    Ok(match name {
        "name" => Column::Name,
        "kernel" => Column::Kernel,
        "size" => Column::Size,
        "time_s" => Column::Time(1.0),
        "time_ms" => Column::Time(1e-3),
        _ => {
            let start = source.text.find(name).unwrap_or_default();
            if name.starts_with("f_") {
                let feature = Feature::parse(name).map_err(|error| {
                    let range = start + error.range.start..start + error.range.end;
                    source.report(range, error.message).maybe_hint(error.hint)
                })?;
                return Ok(Column::Feature(feature));
            }
            let message = format!("there is no column named `{name}`");
            return Err(source
                .report(start..start + name.len(), message)
                .maybe_hint(suggest(name, COLUMNS)));
        }
    })
}

fn read_size(source: &SourceText, range: &Range<usize>, cell: &str) -> Result<Size, Report> {
    match cell {
        "small" => Ok(Size::Small),
        "paper" => Ok(Size::Paper),
        _ => {
            let message = format!("size is `{cell}`, which is neither small nor paper");
            Err(source.report(range.clone(), message))
        }
    }
}

/// The line of a record.
fn line_of(source: &SourceText, record: &csv::StringRecord) -> Range<usize> {
    let line = record.position().map_or(0, csv::Position::byte) as usize;
    let rest = source.text.get(line..).unwrap_or_default();
    line..line + rest.find('\n').unwrap_or(rest.len())
}
