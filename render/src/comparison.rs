//! Comparisons of predictions with measurements as text, JSON and CSV.

use gpucast_forecast::Report;
use gpucast_forecast::comparison::{Comparison, Row, distinct};
use gpucast_forecast::number;
use gpucast_model::agreement::Summary;
use gpucast_model::duration;

use super::table::{Align, aligned, wrapped};
use crate::Format;

/// Text is this wide.
const WIDTH: usize = 96;

/// The comparison in the format asked for.
///
/// # Errors
///
/// If the result has a value that the form cannot hold, which no input brings about.
pub fn document(comparison: &Comparison, format: Format) -> Result<String, Report> {
    match format {
        Format::Text => Ok(text(comparison)),
        Format::Json => super::json::document(comparison),
        Format::Csv => csv(&comparison.rows),
    }
}

fn csv(rows: &[Row]) -> Result<String, Report> {
    let header = [
        "kernel",
        "gpu",
        "model",
        "measured_ms",
        "predicted_ms",
        "error",
        "source",
        "declined_because",
        "warning_codes",
    ];
    let plain = |number: Option<f64>| number.map_or(String::new(), |number| number.to_string());
    let rows: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            vec![
                row.kernel.clone(),
                row.gpu.clone(),
                row.model.to_owned(),
                row.measured_ms.to_string(),
                plain(row.predicted_ms),
                plain(row.error),
                row.source.clone().unwrap_or_default(),
                row.declined_because.clone().unwrap_or_default(),
                row.warning_codes.join(" "),
            ]
        })
        .collect();
    super::csv::document(&header, &rows)
}

fn text(comparison: &Comparison) -> String {
    let mut text = String::new();
    for model in comparison.models() {
        let rows: Vec<&Row> = comparison.rows.iter().filter(|row| row.model == model).collect();
        let title = format!("Model {model}");
        text.push_str(&format!("{title}\n{}\n\n", "=".repeat(title.chars().count())));
        text.push_str(&times(&rows));
        if let Some(matrix) = errors(&rows) {
            text.push_str("\nErrors by kernel and GPU\n");
            text.push_str(&matrix);
        }
        text.push_str("\nSummary\n");
        text.push_str(&summary(comparison, model));
        text.push('\n');
    }
    text.push_str(&wrapped(
        "",
        0,
        WIDTH,
        "An error is (predicted - measured) / measured (Konstantinidis 2017, eq. 5.12), APE its amount; \
         the geometric mean is that of Stevens & Klöckner 2020, the discrepancy that of Velho et al. \
         2013, eq. 5 and 6. Ranks: Spearman's correlation over the kernels of a GPU.",
    ));
    text
}

/// A time: digits below a microsecond are nobody's measurement.
fn milliseconds(time: f64) -> String {
    match time {
        time if time < 0.1 => duration(time),
        time => format!("{} ms", number::real(time)),
    }
}

fn times(rows: &[&Row]) -> String {
    let mut cells =
        vec![["kernel", "GPU", "measured", "predicted", "error", ""].map(str::to_owned)];
    for row in rows {
        let note = row.declined_because.as_ref().or(row.source.as_ref());
        cells.push([
            row.kernel.clone(),
            row.gpu.clone(),
            milliseconds(row.measured_ms),
            row.predicted_ms.map_or_else(|| "-".to_owned(), milliseconds),
            row.error.map_or_else(|| "-".to_owned(), number::percent),
            note.cloned().unwrap_or_default(),
        ]);
    }
    use Align::{Left, Right};
    let cells: Vec<Vec<String>> = cells.into_iter().map(Vec::from).collect();
    aligned(2, &[Left, Left, Right, Right, Right, Left], &cells)
}

/// Renders a line for each GPU and a column for each kernel. It does so if there are several of
/// both and a good part of the cells has an error.
fn errors(rows: &[&Row]) -> Option<String> {
    let kernels = distinct(rows.iter().map(|row| row.kernel.as_str()));
    let gpus = distinct(rows.iter().map(|row| row.gpu.as_str()));
    let errors = rows.iter().filter(|row| row.error.is_some()).count();
    if kernels.len() < 2 || gpus.len() < 2 || 4 * errors < kernels.len() * gpus.len() {
        return None;
    }
    let mut cells = vec![vec![String::new()]];
    cells[0].extend(kernels.iter().map(|&kernel| kernel.to_owned()));
    for gpu in gpus {
        let mut line = vec![gpu.to_owned()];
        line.extend(kernels.iter().map(|&kernel| {
            let row = rows.iter().find(|row| row.kernel == kernel && row.gpu == gpu);
            row.and_then(|row| row.error).map_or_else(|| "-".to_owned(), number::percent)
        }));
        cells.push(line);
    }
    let mut columns = vec![Align::Right; kernels.len() + 1];
    columns[0] = Align::Left;
    Some(aligned(2, &columns, &cells))
}

fn summary(comparison: &Comparison, model: &str) -> String {
    let header = [
        "",
        "times",
        "mean error",
        "mean APE",
        "median APE",
        "worst error",
        "within 10 %",
        "within 25 %",
        "geometric mean",
        "discrepancy",
        "ranks",
    ];
    let mut cells = vec![header.map(str::to_owned).to_vec()];
    for group in comparison.groups.iter().filter(|group| group.model == model) {
        let Summary {
            count,
            mean_error,
            mean_ape,
            median_ape,
            worst_error,
            within_10_percent,
            within_25_percent,
            geometric_mean_ape,
            mean_discrepancy,
        } = group.summary;
        let mut line = vec![
            group.name.clone().unwrap_or_else(|| "all".to_owned()),
            number::count(count as u64),
        ];
        let figures = [
            mean_error,
            mean_ape,
            median_ape,
            worst_error,
            within_10_percent,
            within_25_percent,
            geometric_mean_ape,
            mean_discrepancy,
        ];
        line.extend(figures.map(number::percent));
        line.push(group.rank_correlation.map_or_else(String::new, |ranks| format!("{ranks:.2}")));
        cells.push(line);
    }
    let mut columns = vec![Align::Right; header.len()];
    columns[0] = Align::Left;
    aligned(2, &columns, &cells)
}
