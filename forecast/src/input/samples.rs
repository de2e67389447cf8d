//! Measured samples for calibrations: CSV with named columns.

use gpucast_model::offload::{MeasuredTime, Sample, Workload};

use crate::failure::{Report, SourceText, suggest};

/// Columns that describe a sample.
const WORKLOAD: [&str; 3] = ["dispatch_bytes", "operations", "collect_bytes"];
/// Columns with the time of each step.
const STEPS: [&str; 3] = ["dispatch_s", "execute_s", "collect_s"];
/// The column with the time of the whole.
const TOTAL: &str = "time_s";

/// Reads samples of offloaded kernels: `dispatch_bytes`, `operations` and `collect_bytes`, and
/// either `dispatch_s`, `execute_s` and `collect_s`, or `time_s`. Other columns are an error,
/// lest a misspelt one goes unnoticed; lines that begin with `#` are comments.
pub fn offload(source: &SourceText) -> Result<Vec<Sample>, Report> {
    let mut reader = csv::ReaderBuilder::new()
        .comment(Some(b'#'))
        .trim(csv::Trim::All)
        .from_reader(source.text.as_bytes());
    let header = reader.headers().map_err(|error| in_table(source, &error))?.clone();
    let known = || WORKLOAD.iter().chain(&STEPS).copied().chain([TOTAL]);
    if let Some(name) = header.iter().find(|name| !known().any(|column| column == *name)) {
        let start = source.text.find(name).unwrap_or_default();
        let message = format!("there is no column named `{name}`");
        return Err(source
            .report(start..start + name.len(), message)
            .maybe_hint(suggest(name, known())));
    }
    let column = |name: &str| header.iter().position(|column| column == name);
    let all = |names: [&'static str; 3]| -> Result<[usize; 3], &'static str> {
        let [first, second, third] = names.map(|name| column(name).ok_or(name));
        Ok([first?, second?, third?])
    };
    let missing = |name: &str| {
        let hint = format!(
            "samples have the columns {}, and either {} or {TOTAL}",
            WORKLOAD.join(", "),
            STEPS.join(", ")
        );
        let end = source.text.find('\n').unwrap_or(source.text.len());
        source.report(0..end, format!("there is no column `{name}`")).hint(hint)
    };
    let workload = all(WORKLOAD).map_err(missing)?;
    let total = column(TOTAL);
    let steps = match total {
        Some(_) => None,
        None => Some(all(STEPS).map_err(missing)?),
    };
    let mut samples = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|error| in_table(source, &error))?;
        let number = |at: usize| number(source, &record, at, &header);
        let [dispatch, operations, collect] = workload;
        let workload = Workload {
            dispatch_bytes: number(dispatch)?,
            operations: number(operations)?,
            collect_bytes: number(collect)?,
        };
        let time = match (steps, total) {
            (Some([dispatch, execute, collect]), _) => {
                MeasuredTime::Steps([number(dispatch)?, number(execute)?, number(collect)?])
            }
            (None, Some(total)) => MeasuredTime::Total(number(total)?),
            (None, None) => return Err(missing(TOTAL)),
        };
        samples.push(Sample { workload, time });
    }
    Ok(samples)
}

/// A cell that must be a number that is neither negative nor infinite.
fn number(
    source: &SourceText,
    record: &csv::StringRecord,
    at: usize,
    header: &csv::StringRecord,
) -> Result<f64, Report> {
    let cell = record.get(at).unwrap_or_default();
    match cell.parse::<f64>() {
        Ok(number) if number.is_finite() && number >= 0.0 => Ok(number),
        _ => {
            let line = record.position().map_or(0, csv::Position::byte) as usize;
            let rest = source.text.get(line..).unwrap_or_default();
            let end = rest.find('\n').unwrap_or(rest.len());
            let name = header.get(at).unwrap_or_default();
            let message = format!("{name} is `{cell}`, which is no number from 0 on");
            Err(source.report(line..line + end, message))
        }
    }
}

/// A complaint about the form of the table.
pub(super) fn in_table(source: &SourceText, error: &csv::Error) -> Report {
    let line = error.position().map_or(0, csv::Position::byte) as usize;
    let rest = source.text.get(line..).unwrap_or_default();
    let end = rest.find('\n').unwrap_or(rest.len());
    let message = match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("this line has {len} columns, and the first one has {expected_len}")
        }
        _ => format!("this is not CSV: {error}"),
    };
    source.report(line..line + end, message)
}
