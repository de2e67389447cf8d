//! Predictions over grids: kernels × sizes × GPUs × fields of GPUs × models. Instead of times, a
//! grid may ask for metrics.
//!
//! ```text
//! cases (kernel, size, parameters) ──► counts, once for points that count alike ─┐
//! GPUs × axes of fields ──► points, once each ───────────────────────────────────┴► rows ─► table
//! ```
//!
//! Every combination is a row, in the order of the command line with the last axis changing
//! fastest, whatever the number of threads. A combination that has no time says why. [`shared`] has
//! the counts made by many processes.
//!
//! Rows of a case are predicted in parallel and handed on before the next case begins. Parameters
//! of launch files are put into the text before it is read as TOML, so everything behind sees
//! numbers only.

pub mod axis;
mod cases;
mod families;
mod orders;
mod points;
mod resumed;
pub mod shared;
mod sizes;
mod table;

use std::sync::Arc;

use gpucast_model::Prediction;
use gpucast_model::sm_simulation::Orders;
use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};

use crate::choice::count_on::CountOn;
use crate::choice::model_choice::{Chosen, Models};
use crate::failure::{Failure, Report};
use crate::prediction;
use crate::run::counting::MOST_TOGETHER;
use crate::run::sources::Source;
use cases::Counted;
pub use cases::{Case, CaseSource, Counting, Group, InFamily, Origin};
pub use families::{CountingByFormulas, Family, PlanOfSizes, no_sizes};
use orders::OrdersOfBases;
pub use points::{Point, combinations, number_of_points, points};
pub use resumed::Earlier;
pub use sizes::{fixed, numbers, parameters, place_among, varied};
pub use table::{Cell, Table};

/// More rows than any table has use for.
const MOST_ROWS: usize = 2_000_000;

/// The columns that begin each row.
const KERNEL_COLUMNS: [&str; 3] = ["kernel", "function", "launch"];
/// The columns that end it, behind metrics.
const METRIC_COLUMNS: [&str; 2] = ["counted_by", "error"];
/// The columns that end it.
const RESULT_COLUMNS: [&str; 9] = [
    "model",
    "time_ms",
    "bound",
    "clock_mhz",
    "energy_j",
    "power_w",
    "warnings",
    "warning_codes",
    "error",
];

/// The names of the parameters that a sweep varies, apart from GPUs and models.
pub struct Axes {
    /// Of cases: `size`, and parameters.
    pub of_cases: Vec<String>,
    /// Fields of GPUs.
    pub of_gpus: Vec<String>,
}

impl Axes {
    fn columns(&self, answers: &Answers<'_>) -> Vec<String> {
        let fixed = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        let mut columns = fixed(&KERNEL_COLUMNS);
        columns.extend(self.of_cases.iter().cloned());
        columns.push("gpu".to_owned());
        columns.extend(self.of_gpus.iter().cloned());
        match answers {
            Answers::Times(_) => columns.extend(fixed(&RESULT_COLUMNS)),
            Answers::Metrics(names) => {
                columns.extend(fixed(names));
                columns.extend(fixed(&METRIC_COLUMNS));
            }
        }
        columns
    }
}

/// The answers that a sweep gives for each combination.
#[derive(Clone, Copy)]
pub enum Answers<'a> {
    /// The times that models predict.
    Times(&'a Models),
    /// The metrics of these names.
    Metrics(&'a [&'static str]),
}

impl Answers<'_> {
    /// Rows for each kernel, size and GPU.
    pub fn number(&self) -> usize {
        match self {
            Self::Times(models) => models.number(),
            Self::Metrics(_) => 1,
        }
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

/// Everything that a sweep combines.
pub struct Grid<'a, S = CaseSource> {
    /// The parameters to vary.
    pub axes: &'a Axes,
    /// Kernels in sizes.
    pub cases: &'a [Case<S>],
    /// GPUs with changed fields.
    pub points: &'a [Point],
    /// The models, or the metrics.
    pub answers: Answers<'a>,
    /// The GPUs whose counters are modelled.
    pub count_on: &'a CountOn,
}

/// Takes the rows of a sweep as they come.
pub trait Rows {
    /// All rows of the next case.
    ///
    /// # Errors
    ///
    /// Returns the reason if they cannot be taken; the sweep ends with it.
    fn take(&mut self, rows: Vec<Vec<Cell>>) -> Result<(), Failure>;
}

impl<S: Sync> Grid<'_, S> {
    /// The names of the columns of each row.
    pub fn columns(&self) -> Vec<String> {
        self.axes.columns(&self.answers)
    }

    /// Counts and predicts one case after the other, from case `first` on.
    ///
    /// # Errors
    ///
    /// [`Failure::Stopped`] if the supervisor says so, when `rows` has those of all cases before;
    /// and those of `rows`.
    pub fn run(
        &self,
        first: usize,
        origin: &dyn Origin<S>,
        rows: &mut dyn Rows,
    ) -> Result<(), Failure> {
        let groups = cases::groups(self.points, self.count_on, &self.answers);
        for (index, case) in self.cases.iter().enumerate().skip(first) {
            origin.supervisor().part(index, self.cases.len());
            let mut of_case = Vec::new();
            // Counts are large, so that those of a few groups are held.
            for groups in groups.chunks(MOST_TOGETHER) {
                if origin.supervisor().should_stop() {
                    return Err(Failure::Stopped);
                }
                let counted = cases::count(case, groups, origin)?;
                for (counted, group) in counted.iter().zip(groups) {
                    of_case.extend(self.predict(counted, &group.points));
                }
            }
            // Sorting is stable: a point's models stay in their order.
            of_case.sort_by_key(|(place, _)| *place);
            rows.take(of_case.into_iter().map(|(_, row)| row).collect())?;
        }
        Ok(())
    }

    /// A row for each launch, point and model, with its place among those of the case.
    fn predict(
        &self,
        counted: &Counted<'_, S>,
        points: &[usize],
    ) -> Vec<((usize, usize), Vec<Cell>)> {
        let place = |launch: Option<(usize, &Source)>, at| (launch.map_or(1, |(it, _)| it), at);
        let combinations = counted
            .launches()
            .flat_map(|launch| points.iter().map(move |&at| (launch, at, &self.points[at])));
        match &self.answers {
            Answers::Metrics(names) => combinations
                .map(|(launch, at, point)| {
                    (place(launch, at), metrics_row(counted, launch, point, names))
                })
                .collect(),
            Answers::Times(models) => {
                let orders = OrdersOfBases::new(points.iter().map(|&at| &self.points[at]));
                let combinations: Vec<_> = combinations
                    .flat_map(|(launch, at, point)| {
                        let chosen = chosen(models, point);
                        chosen.into_iter().map(move |chosen| (launch, at, point, chosen))
                    })
                    .collect();
                combinations
                    .into_par_iter()
                    .map(|(launch, at, point, chosen)| {
                        let asked =
                            Asked { launch, point, chosen: &chosen, orders: orders.of(point) };
                        (place(launch, at), row(counted, &asked))
                    })
                    .collect()
            }
        }
    }
}

/// The models of a point. A GPU that cannot be has those of the GPU that was to be changed.
fn chosen(models: &Models, point: &Point) -> Vec<Chosen> {
    models.of(point.gpu.as_ref().unwrap_or(&point.base))
}

/// The cells that say what a combination is.
fn beginning<S>(
    counted: &Counted<'_, S>,
    launch: Option<(usize, &Source)>,
    point: &Point,
) -> Vec<Cell> {
    let mut cells = vec![Cell::Text(Arc::clone(&counted.case.name))];
    cells.push(launch.map_or(Cell::Empty, |(_, source)| Cell::text(&source.profile.kernel)));
    cells.push(launch.map_or(Cell::Empty, |(at, _)| Cell::Real(at as f64)));
    cells.extend(counted.case.labels.iter().cloned());
    cells.push(Cell::Text(Arc::clone(&point.name)));
    cells.extend(point.labels.iter().cloned());
    cells
}

/// The cells of one combination with these metrics. Those that a launch does not have are empty.
fn metrics_row<S>(
    counted: &Counted<'_, S>,
    launch: Option<(usize, &Source)>,
    point: &Point,
    names: &[&str],
) -> Vec<Cell> {
    let mut cells = beginning(counted, launch, point);
    let gpu = point.gpu.as_ref().map_err(String::clone);
    let source = gpu.and_then(|_| launch.ok_or_else(|| counted.failure().to_owned()));
    match source {
        Ok((_, source)) => {
            let metric = |name: &&str| source.profile.metrics.get(*name);
            cells.extend(names.iter().map(|name| metric(name).into()));
            let rung = source.rung.map(|rung| Cell::text(rung.name()));
            cells.extend([rung.unwrap_or(Cell::Empty), Cell::Empty]);
        }
        Err(reason) => {
            cells.extend(names.iter().map(|_| Cell::Empty));
            cells.extend([Cell::Empty, Cell::text(&reason)]);
        }
    }
    cells
}

/// A time that is asked for.
struct Asked<'a> {
    launch: Option<(usize, &'a Source)>,
    point: &'a Point,
    chosen: &'a Chosen,
    /// The orders of issue on the GPU that was changed.
    orders: Option<Arc<Orders>>,
}

/// The cells of one combination.
fn row<S>(counted: &Counted<'_, S>, asked: &Asked<'_>) -> Vec<Cell> {
    let mut cells = beginning(counted, asked.launch, asked.point);
    let outcome = outcome(counted, asked);
    let answered =
        outcome.as_ref().map_or(asked.chosen.model.name(), |prediction| prediction.model);
    cells.push(Cell::text(answered));
    match outcome {
        Ok(prediction) => cells.extend([
            // What cannot run has no time that a search for the fastest could find.
            if prediction.is_refused() { Cell::Empty } else { Cell::Real(prediction.time_ms) },
            Cell::text(&prediction.bound.to_string()),
            real(prediction.clock_mhz),
            real(prediction.energy.as_ref().map(|energy| energy.joules)),
            real(prediction.energy.as_ref().map(|energy| energy.watts)),
            Cell::Real(prediction.warnings.len() as f64),
            match prediction.warning_codes() {
                none if none.is_empty() => Cell::Empty,
                codes => Cell::text(&codes),
            },
            prediction.refusal().map_or(Cell::Empty, |reason| Cell::text(&reason)),
        ]),
        Err(reason) => {
            cells.extend([const { Cell::Empty }; 7]);
            cells.push(Cell::text(&reason));
        }
    }
    cells
}

/// A number, if there is one.
fn real(number: Option<f64>) -> Cell {
    number.map_or(Cell::Empty, Cell::Real)
}

/// The prediction, or why there is none.
fn outcome<S>(
    counted: &Counted<'_, S>,
    Asked { launch, point, chosen, orders }: &Asked<'_>,
) -> Result<Prediction, String> {
    let gpu = point.gpu.as_ref().map_err(String::clone)?;
    let (_, source) = launch.ok_or_else(|| counted.failure().to_owned())?;
    let conditions = source.conditions.following(orders.clone());
    let predicted = chosen.predict(&source.profile, gpu, &conditions);
    let prediction = predicted.map_err(|error| prediction::reason(&error, source))?;
    // Models refuse such times themselves; a sweep must not be where one slips through.
    match prediction.time_ms {
        time if time.is_finite() && time > 0.0 => Ok(prediction),
        time => Err(format!("the model gives {time} ms, which no time can be")),
    }
}
