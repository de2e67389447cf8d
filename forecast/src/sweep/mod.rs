//! Predictions over grids: kernels × sizes × GPUs × fields of GPUs × models.
//!
//! ```text
//! cases (kernel, size, parameters) ──► counts, once each ──┐
//! GPUs × axes of fields ──► points, once each ─────────────┴──► rows, in parallel ──► table
//! ```
//!
//! Every combination is a row, in the order of the command line with the last axis changing
//! fastest, whatever the number of threads. A combination that has no time says why.

pub mod axis;
mod cases;
mod points;
mod table;

use std::sync::Arc;

use gpucast_model::Prediction;
use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};

use crate::choice::model_choice::Chosen;
use crate::failure::{Failure, Report};
use crate::run::sources::Source;
pub use cases::{Case, CaseSource, Counted, Counting, count};
pub use points::{Point, combinations, number_of_points, points};
pub use table::{Cell, Table};

/// More rows than any table has use for.
const MOST_ROWS: usize = 2_000_000;

/// The columns that begin each row.
const KERNEL_COLUMNS: [&str; 3] = ["kernel", "function", "launch"];
/// The columns that end it.
const RESULT_COLUMNS: [&str; 5] = ["model", "time_ms", "bound", "warnings", "error"];

/// The names of what a sweep varies, apart from GPUs and models.
pub struct Axes {
    /// Of cases: `size`, and parameters.
    pub of_cases: Vec<String>,
    /// Fields of GPUs.
    pub of_gpus: Vec<String>,
}

impl Axes {
    fn columns(&self) -> Vec<String> {
        let fixed = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        let mut columns = fixed(&KERNEL_COLUMNS);
        columns.extend(self.of_cases.iter().cloned());
        columns.push("gpu".to_owned());
        columns.extend(self.of_gpus.iter().cloned());
        columns.extend(fixed(&RESULT_COLUMNS));
        columns
    }
}

/// Refuses a grid that nobody can look at, before anything is executed.
pub fn check_size(cases: usize, points: usize, models: usize) -> Result<(), Failure> {
    let rows = cases.checked_mul(points).and_then(|rows| rows.checked_mul(models));
    match rows {
        Some(rows) if rows <= MOST_ROWS => Ok(()),
        _ => Err(Failure::Usage(
            Report::new(format!(
                "{cases} kernels and sizes × {points} GPUs × {models} models are more than \
                 {MOST_ROWS} rows"
            ))
            .hint("take larger steps, or several sweeps"),
        )),
    }
}

/// Predicts every combination.
pub fn table(axes: &Axes, counted: &[Counted], points: &[Point], models: &[Chosen]) -> Table {
    let rows = counted.iter().flat_map(|counted| {
        // What is counted anew for each GPU belongs to one point only.
        let points: &[Point] = match counted.point {
            None => points,
            Some(at) => &points[at..=at],
        };
        let launches = counted.launches();
        let combinations: Vec<_> = launches
            .flat_map(|launch| points.iter().map(move |point| (launch, point)))
            .flat_map(|(launch, point)| models.iter().map(move |model| (launch, point, model)))
            .collect();
        let rows: Vec<Vec<Cell>> = combinations
            .into_par_iter()
            .map(|(launch, point, chosen)| row(counted, launch, point, chosen))
            .collect();
        rows
    });
    Table { columns: axes.columns(), rows: rows.collect() }
}

/// The cells of one combination.
fn row(
    counted: &Counted,
    launch: Option<(usize, &Source)>,
    point: &Point,
    chosen: &Chosen,
) -> Vec<Cell> {
    let mut cells = vec![Cell::Text(Arc::clone(&counted.case.name))];
    cells.push(launch.map_or(Cell::Empty, |(_, source)| Cell::text(&source.profile.kernel)));
    cells.push(launch.map_or(Cell::Empty, |(at, _)| Cell::Real(at as f64)));
    cells.extend(counted.case.labels.iter().cloned());
    cells.push(Cell::Text(Arc::clone(&point.name)));
    cells.extend(point.labels.iter().cloned());
    cells.push(Cell::text(chosen.model.name()));
    match outcome(counted, launch, point, chosen) {
        Ok(prediction) => cells.extend([
            Cell::Real(prediction.time_ms),
            Cell::text(&prediction.bound.to_string()),
            Cell::Real(prediction.warnings.len() as f64),
            Cell::Empty,
        ]),
        Err(reason) => cells.extend([Cell::Empty, Cell::Empty, Cell::Empty, Cell::text(&reason)]),
    }
    cells
}

/// The prediction, or why there is none.
fn outcome(
    counted: &Counted,
    launch: Option<(usize, &Source)>,
    point: &Point,
    chosen: &Chosen,
) -> Result<Prediction, String> {
    let gpu = point.gpu.as_ref().map_err(String::clone)?;
    let (_, source) = launch.ok_or_else(|| counted.failure().to_owned())?;
    let predicted = chosen.model.predict(&source.profile, gpu, &source.conditions);
    let prediction = predicted.map_err(|error| error.to_string())?;
    // Models refuse such times themselves; a sweep must not be where one slips through.
    match prediction.time_ms {
        time if time.is_finite() && time > 0.0 => Ok(prediction),
        time => Err(format!("the model gives {time} ms, which no time can be")),
    }
}
