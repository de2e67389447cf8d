//! Grids of predictions, as `gpucast sweep` makes them.

use std::sync::Arc;

use gpucast_forecast::input::kernel_argument;
use gpucast_forecast::run::sources::Counts;
use gpucast_forecast::settings::Size;
use gpucast_forecast::sweep::axis::{Axis, Value};
use gpucast_forecast::sweep::{
    self as grids, Answers, Axes, Case, CaseSource, Cell, Counting, Grid, Rows, Table as Rectangle,
};
use gpucast_forecast::{Failure, LaunchOptions, Report};
use gpucast_model::Gpu;
use pyo3::prelude::*;

use crate::forecast::Request;
use crate::kernel::SIZES;
use crate::settings::{Settings, chosen};
use crate::supervision::supervised;
use crate::table::Table;

/// What a sweep combines: attributes of `gpucast._settings.SweepRequest`.
#[derive(FromPyObject)]
pub(crate) struct SweepRequest {
    kernels: Vec<String>,
    sizes: Vec<String>,
    /// Values of GPU fields, as `sm_count=40..160:20`.
    set: Vec<String>,
    /// Values of a launch file's parameters, in the same notation.
    vary: Vec<String>,
}

/// Keeps all rows.
struct Kept(Vec<Vec<Cell>>);

impl Rows for Kept {
    fn take(&mut self, rows: Vec<Vec<Cell>>) -> Result<(), Failure> {
        self.0.extend(rows);
        Ok(())
    }
}

/// Predicts every kernel in every size on every GPU by every model.
#[pyfunction]
pub(crate) fn sweep(
    py: Python<'_>,
    grid: SweepRequest,
    request: Request,
    settings: Settings,
) -> PyResult<Table> {
    let done = supervised(py, &settings, |supervision| {
        let choices = request.choices()?;
        let fields = Axis::read_all("--set", &grid.set).map_err(Failure::Usage)?;
        let unknown = fields.iter().find(|axis| !Gpu::FIELDS.contains(&axis.name.as_str()));
        if let Some(axis) = unknown {
            let report = Report::new(format!("a GPU has no field `{}`", axis.name));
            let known = Gpu::FIELDS.iter().copied();
            let hint = gpucast_forecast::failure::suggest(&axis.name, known);
            return Err(Failure::Usage(report.maybe_hint(hint)));
        }
        let parameters = Axis::read_all("--vary", &grid.vary).map_err(Failure::Usage)?;
        let cases = grid.cases(&parameters)?;
        let points = grids::number_of_points(choices.gpus.len(), &fields).unwrap_or(usize::MAX);
        grids::check_size(cases.len(), points, choices.models.number())?;
        let has_sizes = !grid.sizes.is_empty();
        let of_cases = has_sizes.then(|| "size".to_owned()).into_iter();
        let of_cases = of_cases.chain(parameters.iter().map(|axis| axis.name.clone())).collect();
        let of_gpus = fields.iter().map(|axis| axis.name.clone()).collect();
        let axes = Axes { of_cases, of_gpus };
        let points = grids::points(&choices.gpus, &fields);
        let answers = Answers::Times(&choices.models);
        let count_on = &choices.count_on;
        let combined = Grid { axes: &axes, cases: &cases, points: &points, answers, count_on };
        let counts = Counts {
            machine: settings.machine()?,
            execution: settings.execution()?,
            ..Counts::default()
        };
        let counting =
            Counting { counts: &counts, timing: choices.timing, supervisor: supervision };
        let mut rows = Kept(Vec::new());
        combined.run(0, &counting, &mut rows)?;
        Ok(Rectangle { columns: combined.columns(), rows: rows.0 })
    })?;
    Ok(Table::from(done.value))
}

impl SweepRequest {
    /// Every kernel in every size with every combination of parameters.
    fn cases(&self, axes: &[Axis]) -> Result<Vec<Case>, Failure> {
        let sizes = self.sizes.iter().map(|size| chosen("size", size, &SIZES));
        let mut sizes: Vec<Option<Size>> =
            sizes.map(|size| size.map(Some)).collect::<Result<_, _>>()?;
        if sizes.is_empty() {
            sizes.push(None);
        }
        let mut cases = Vec::new();
        for kernel in kernel_argument::expanded(&self.kernels, None)? {
            if let (Some(axis), true) = (axes.first(), gpucast_corpus::find(&kernel).is_some()) {
                let name = &axis.name;
                let message = format!("the corpus kernel {kernel} has no parameter `{name}`");
                let report = Report::new(message).hint("its sizes are size=[\"small\", \"paper\"]");
                return Err(Failure::Usage(report));
            }
            for &size in &sizes {
                for values in grids::combinations(axes) {
                    cases.push(case(&kernel, size, axes, &values)?);
                }
            }
        }
        Ok(cases)
    }
}

fn case(
    kernel: &str,
    size: Option<Size>,
    axes: &[Axis],
    values: &[&Value],
) -> Result<Case, Failure> {
    let mut param = Vec::new();
    for (axis, value) in axes.iter().zip(values) {
        let number = axis.parameter(value).map_err(Failure::Usage)?;
        param.push((axis.name.clone(), number));
    }
    let mut labels: Vec<Cell> = size.map(|size| Cell::text(size.name())).into_iter().collect();
    labels.extend(param.iter().map(|&(_, number)| Cell::Real(number)));
    let launch = LaunchOptions { size, param, ..LaunchOptions::default() };
    let (input, launch) = (kernel.to_owned(), Box::new(launch));
    let source = CaseSource::Execution { input, launch, place: None };
    Ok(Case { name: Arc::from(kernel), labels, source: Ok(source) })
}
