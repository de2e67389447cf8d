//! Sweeps: the CSV of `gpucast sweep` as lines, or as a heat map.

use gpucast_forecast::{Report, SourceText};
use gpucast_model::Gpu;
use gpucast_plot::axis::Kind;
use gpucast_plot::pictures::curves::{Curve, Curves, Stroke};
use gpucast_plot::pictures::heatmap::Heatmap;
use gpucast_plot::{DrawError, Scene};

use super::table::Table;
use super::titled;

/// The columns that every sweep has; all others are swept parameters.
const FIXED: [&str; 10] = [
    "kernel",
    "function",
    "launch",
    "gpu",
    "model",
    "time_ms",
    "bound",
    "warnings",
    "warning_codes",
    "error",
];
/// The fixed columns that tell lines apart.
const NAMES: [&str; 4] = ["kernel", "function", "gpu", "model"];
/// The column of predicted times.
const TIME: &str = "time_ms";
/// From this ratio on an axis is logarithmic.
const WIDE: f64 = 20.0;

/// The part of a sweep that is drawn.
#[derive(Clone, Copy, Debug, Default)]
pub struct Choice<'a> {
    /// The column along the x axis; by default the first swept one whose numbers vary.
    pub x: Option<&'a str>,
    /// The column along the y axis of a heat map.
    pub y: Option<&'a str>,
    /// The column that is shown; by default the time.
    pub value: Option<&'a str>,
}

impl Table<'_> {
    fn varies(&self, column: usize) -> bool {
        (1..self.rows.len()).any(|row| self.cell(row, column) != self.cell(0, column))
    }

    /// Swept columns of which every cell is a number.
    fn is_swept_number(&self, column: usize) -> bool {
        !FIXED.contains(&self.columns[column].as_str())
            && (0..self.rows.len()).all(|row| self.number(row, column).is_some())
    }
}

/// The picture of a sweep.
///
/// # Errors
///
/// The outer error is one of the table: it is no CSV, or a column is missing. The inner one is one
/// of the picture: there is nothing to draw.
pub fn scene(
    source: &SourceText,
    choice: Choice<'_>,
    title: Option<&str>,
) -> Result<Result<Scene, DrawError>, Report> {
    let table = Table::read(source)?;
    let value = table.column(choice.value.unwrap_or(TIME))?;
    let x = match choice.x {
        Some(name) => table.column(name)?,
        None => (0..table.columns.len())
            .find(|&column| table.is_swept_number(column) && table.varies(column))
            .ok_or_else(|| {
                Report::new(format!("{} has no swept column whose numbers vary", source.name))
                    .hint("name the columns: --x memory_bandwidth")
            })?,
    };
    match choice.y {
        Some(name) => heatmap(&table, [x, table.column(name)?, value], title),
        None => Ok(curves(&table, [x, value], title).scene()),
    }
}

/// Returns the title of a column's axis; a GPU's field has the unit that sweeps write it in.
fn axis_title(column: &str) -> String {
    let unit = Gpu::units(column).and_then(|units| units.first());
    match (column, unit) {
        (TIME, _) => "predicted time (ms)".to_owned(),
        (field, Some((unit, _))) => format!("{field} ({unit})"),
        (other, None) => other.to_owned(),
    }
}

/// Chooses the kind of scale for an axis of these values.
fn scale(values: &[f64]) -> Kind {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let greatest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if least > 0.0 && greatest / least >= WIDE { Kind::Logarithmic } else { Kind::Linear }
}

/// A note about the rows that have no number to show.
fn left_out(table: &Table<'_>, rows: &[usize]) -> Vec<String> {
    let Some(first) = rows.first() else { return Vec::new() };
    let why = table.column("error").map(|column| table.cell(*first, column)).unwrap_or_default();
    let why = if why.is_empty() { String::new() } else { format!(", the first because {why}") };
    vec![format!("{} rows have no value{why}.", rows.len())]
}

fn curves(table: &Table<'_>, [x, value]: [usize; 2], title: Option<&str>) -> Curves {
    let tells_apart = |column: &usize| {
        let name = table.columns[*column].as_str();
        *column != x
            && *column != value
            && (NAMES.contains(&name) || !FIXED.contains(&name))
            && table.varies(*column)
    };
    let keys: Vec<usize> = (0..table.columns.len()).filter(tells_apart).collect();
    let mut curves: Vec<Curve> = Vec::new();
    let mut missing = Vec::new();
    for row in 0..table.rows.len() {
        let (Some(at), Some(height)) = (table.number(row, x), table.number(row, value)) else {
            missing.push(row);
            continue;
        };
        let words = keys.iter().map(|&column| match table.columns[column].as_str() {
            name if NAMES.contains(&name) => table.cell(row, column).to_owned(),
            name => format!("{name} {}", table.cell(row, column)),
        });
        let name = words.collect::<Vec<String>>().join(", ");
        let place = curves.iter().position(|curve| curve.name == name).unwrap_or_else(|| {
            let series = curves.len();
            curves.push(Curve { name, points: Vec::new(), stroke: Stroke::Marked, series });
            series
        });
        curves[place].points.push((at, height));
    }
    for curve in &mut curves {
        curve.points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    let values = |pick: fn(&(f64, f64)) -> f64| -> Vec<f64> {
        curves.iter().flat_map(|curve| curve.points.iter().map(pick)).collect()
    };
    let scales = (scale(&values(|point| point.0)), scale(&values(|point| point.1)));
    let (x_title, y_title) = (axis_title(&table.columns[x]), axis_title(&table.columns[value]));
    Curves {
        title: titled(format!("{y_title} over {x_title}"), title, false),
        subtitle: same_everywhere(table),
        x: x_title,
        y: y_title,
        scales,
        curves,
        notes: left_out(table, &missing),
    }
}

/// The kernel, GPU and model, where all rows have the same.
fn same_everywhere(table: &Table<'_>) -> String {
    let same = ["kernel", "gpu", "model"].into_iter().filter_map(|name| {
        let column = table.column(name).ok()?;
        (!table.rows.is_empty() && !table.varies(column)).then(|| table.cell(0, column).to_owned())
    });
    same.collect::<Vec<String>>().join(", ")
}

fn heatmap(
    table: &Table<'_>,
    [x, y, value]: [usize; 3],
    title: Option<&str>,
) -> Result<Result<Scene, DrawError>, Report> {
    let values = |column: usize| -> Vec<f64> {
        let mut values: Vec<f64> =
            (0..table.rows.len()).filter_map(|row| table.number(row, column)).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        values
    };
    let (columns, rows) = (values(x), values(y));
    let mut cells: Vec<Option<f64>> = vec![None; columns.len() * rows.len()];
    let mut missing = Vec::new();
    for row in 0..table.rows.len() {
        let place = |column: usize, values: &[f64]| {
            let number = table.number(row, column)?;
            values.iter().position(|value| *value == number)
        };
        let (Some(at), Some(height), Some(number)) =
            (place(x, &columns), place(y, &rows), table.number(row, value))
        else {
            missing.push(row);
            continue;
        };
        let cell = &mut cells[height * columns.len() + at];
        if cell.is_some_and(|other| other != number) {
            let message = format!(
                "{} has several values of {} for the same {} and {}",
                table.source.name, table.columns[value], table.columns[x], table.columns[y]
            );
            let hint = "sweep one kernel, GPU and model for a heat map, or leave --y out";
            return Err(Report::new(message).hint(hint));
        }
        *cell = Some(number);
    }
    let name = |column: usize| axis_title(&table.columns[column]);
    let picture = Heatmap {
        title: titled(format!("{} over {} and {}", name(value), name(x), name(y)), title, false),
        subtitle: same_everywhere(table),
        x: name(x),
        y: name(y),
        value: name(value),
        columns,
        rows,
        cells,
        notes: left_out(table, &missing),
    };
    Ok(picture.scene())
}
