//! The grid of a sweep, as its options describe it.

use std::sync::Arc;

use gpucast_forecast::choice::count_on::CountOn;
use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::choice::model_choice::{ModelWords, Models};
use gpucast_forecast::input::expression::Parameters;
use gpucast_forecast::input::kernel_argument;
use gpucast_forecast::run::sources::Counts;
use gpucast_forecast::settings::Size as CorpusSize;
use gpucast_forecast::sweep::axis::{Axis, Value};
use gpucast_forecast::sweep::{self, Axes, Case, CaseSource, Cell};
use gpucast_model::{Gpu, Timing};

use crate::cli::SweepGrid;
use crate::commands::launch_template::check_parameter;
use crate::failure::{Failure, Report, suggest};
use crate::project;

/// Everything that a sweep combines, checked as far as nothing has to be executed for it.
pub(super) struct Parts {
    /// The parameters that vary.
    pub(super) axes: Axes,
    pub(super) cases: Vec<Case>,
    pub(super) gpus: Vec<Gpu>,
    /// The fields of GPUs that vary.
    pub(super) fields: Vec<Axis>,
    pub(super) models: Models,
    /// The same models in words.
    pub(super) words: ModelWords,
    pub(super) count_on: CountOn,
    pub(super) counts: Counts,
    pub(super) timing: Option<Timing>,
}

impl Parts {
    /// Reads the options.
    pub(super) fn of(arguments: &SweepGrid) -> Result<Self, Failure> {
        // Counts of a file have no order of events, which the simulation needs. And with its
        // default model every GPU of the library would have each kernel executed for itself.
        let is_library = arguments.gpus.gpu.iter().any(|gpu| gpu == crate::cli::names::ALL);
        let is_file = !arguments.from_metrics.is_empty();
        let words = ModelWords { or_thesis: is_file || is_library, ..arguments.prediction.words() };
        let models = Models::of_words(&words)?;
        let library = gpu_argument::library()?;
        let measurement = &arguments.measurement;
        let gpus = gpu_argument::find_all_at(&library, &arguments.gpus.gpu, measurement.clock)?;
        let count_on = arguments.prediction.count_on(&library)?;
        let fields = Axis::read_all("--set", &arguments.set).map_err(Failure::Usage)?;
        fields.iter().try_for_each(check_field)?;
        let parameters = Axis::read_all("--vary", &arguments.vary).map_err(Failure::Usage)?;
        let (labels, cases) = cases(arguments, &parameters)?;
        let number_of_points = sweep::number_of_points(gpus.len(), &fields).unwrap_or(usize::MAX);
        sweep::check_size(cases.len(), number_of_points, models.number())?;
        let of_gpus = fields.iter().map(|axis| axis.name.clone()).collect();
        Ok(Self {
            axes: Axes { of_cases: labels, of_gpus },
            cases,
            gpus,
            fields,
            models,
            words,
            count_on,
            counts: Counts {
                machine: (&arguments.machine).into(),
                execution: (&arguments.execution).into(),
                ..Counts::default()
            },
            timing: measurement.timing(),
        })
    }
}

fn check_field(axis: &Axis) -> Result<(), Failure> {
    if Gpu::FIELDS.contains(&axis.name.as_str()) {
        return Ok(());
    }
    let hint = suggest(&axis.name, Gpu::FIELDS.iter().copied());
    let report = Report::new(format!("a GPU has no field `{}`", axis.name));
    Err(Failure::Usage(
        report.maybe_hint(hint.or_else(|| Some("`gpucast gpus show` shows all".to_owned()))),
    ))
}

/// Every kernel in every size with every combination of parameters, and the parameters' names.
fn cases(arguments: &SweepGrid, axes: &[Axis]) -> Result<(Vec<String>, Vec<Case>), Failure> {
    if !arguments.from_metrics.is_empty() {
        let given = !axes.is_empty() || !arguments.size.is_empty();
        if given || arguments.launch.first_given().is_some() {
            let message = "--from-metrics has counts of one size, and executes nothing";
            return Err(Failure::Usage(Report::new(message)));
        }
        let case = |path: &std::path::PathBuf| Case {
            name: path.display().to_string().into(),
            labels: Vec::new(),
            source: Ok(CaseSource::Metrics {
                path: path.clone(),
                kernel: arguments.launch.kernel.clone(),
            }),
        };
        return Ok((Vec::new(), arguments.from_metrics.iter().map(case).collect()));
    }
    let inputs = kernel_argument::expanded(&arguments.input, project::current().as_deref())?;
    for (input, axis) in inputs.iter().flat_map(|input| axes.iter().map(move |axis| (input, axis)))
    {
        check_parameter(input, &axis.name, &arguments.launch)?;
    }
    let sizes: Vec<Option<CorpusSize>> = match arguments.size.as_slice() {
        [] => vec![None],
        sizes => sizes.iter().map(|&size| Some(size.into())).collect(),
    };
    let mut labels: Vec<String> = Vec::new();
    if !arguments.size.is_empty() {
        labels.push("size".to_owned());
    }
    labels.extend(axes.iter().map(|axis| axis.name.clone()));
    let combinations = sweep::combinations(axes);
    let mut cases = Vec::new();
    for input in &inputs {
        for &size in &sizes {
            for values in &combinations {
                cases.push(case(arguments, input, size, axes, values)?);
            }
        }
    }
    Ok((labels, cases))
}

fn case(
    arguments: &SweepGrid,
    input: &str,
    size: Option<CorpusSize>,
    axes: &[Axis],
    values: &[&Value],
) -> Result<Case, Failure> {
    let mut parameters = Parameters::new();
    for (axis, value) in axes.iter().zip(values) {
        let number = axis.parameter(value).map_err(Failure::Usage)?;
        parameters.insert(axis.name.clone(), number);
    }
    let mut labels: Vec<Cell> = Vec::new();
    labels.extend(size.map(|size| Cell::text(size.name())));
    labels.extend(values.iter().map(|value| Cell::from(value.text.parse::<f64>().ok())));
    let launch = arguments.launch.at(input, size, parameters);
    let launch = launch
        .map(|launch| CaseSource::Execution { input: input.to_owned(), launch: Box::new(launch) });
    Ok(Case { name: Arc::from(input), labels, source: launch.map_err(|report| report.message) })
}
