//! The grid of a sweep, as its options describe it.

use std::sync::Arc;

use gpucast_forecast::choice::count_on::CountOn;
use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::choice::metric_choice::MetricChoice;
use gpucast_forecast::choice::model_choice::{ModelWords, Models};
use gpucast_forecast::input::expression::Parameters;
use gpucast_forecast::input::kernel_argument;
use gpucast_forecast::input::launch_template::LaunchTemplate;
use gpucast_forecast::input::unfilled::UnfilledLaunch;
use gpucast_forecast::parametric::{self, Swept};
use gpucast_forecast::run::sources::Counts;
use gpucast_forecast::settings::Size as CorpusSize;
use gpucast_forecast::sweep::axis::{Axis, Value};
use gpucast_forecast::sweep::{self, Answers, Axes, Case, CaseSource, Cell, Family, InFamily};
use gpucast_model::{AskedTiming, Gpu};

use crate::cli::SweepGrid;
use crate::commands::usual_gpu;
use crate::failure::{Failure, Report, suggest};
use crate::project;

/// Everything that a sweep combines, checked as far as nothing has to be executed for it.
pub(super) struct Parts<'a> {
    /// The parameters that vary.
    pub(super) axes: Axes,
    pub(super) cases: Vec<Case>,
    /// Cases that differ in sizes alone.
    pub(super) families: Vec<Family<'a>>,
    pub(super) gpus: Vec<Gpu>,
    /// The fields of GPUs that vary.
    pub(super) fields: Vec<Axis>,
    pub(super) models: Models,
    /// The same models in words.
    pub(super) words: ModelWords,
    pub(super) count_on: CountOn,
    pub(super) counts: Counts,
    pub(super) timing: AskedTiming,
    /// The metrics to give in place of times.
    pub(super) metrics: Option<Vec<&'static str>>,
}

impl<'a> Parts<'a> {
    /// Reads the options.
    pub(super) fn of(arguments: &'a SweepGrid) -> Result<Self, Failure> {
        // Counts of a file have no order of events, which the simulation needs. And with its
        // default model every GPU of the library would have each kernel executed for itself.
        let names = usual_gpu::or_usual(&arguments.gpus.gpu);
        let is_library = names.iter().any(|gpu| gpu == crate::cli::names::ALL);
        let is_file = !arguments.from_metrics.is_empty();
        let words = ModelWords { or_thesis: is_file || is_library, ..arguments.prediction.words() };
        let models = Models::of_words(&words)?;
        let library = gpu_argument::library()?;
        let measurement = &arguments.measurement;
        let gpus = gpu_argument::find_all_running(&library, &names, measurement.running())?;
        let count_on = arguments.prediction.count_on(&library)?;
        let fields = Axis::read_all("--set", &arguments.set).map_err(Failure::Usage)?;
        fields.iter().try_for_each(check_field)?;
        let parameters = Axis::read_all("--vary", &arguments.vary).map_err(Failure::Usage)?;
        let template = arguments.launch.on(&gpus);
        let Cases { labels, cases, families } = Cases::of(arguments, &template, &parameters)?;
        let number_of_points = sweep::number_of_points(gpus.len(), &fields).unwrap_or(usize::MAX);
        let metrics = arguments.metrics.as_ref().map(MetricChoice::computed);
        let answers = match &metrics {
            Some(names) => Answers::Metrics(names),
            None => Answers::Times(&models),
        };
        sweep::check_size(cases.len(), number_of_points, answers.number())?;
        let of_gpus = fields.iter().map(|axis| axis.name.clone()).collect();
        Ok(Self {
            axes: Axes { of_cases: labels, of_gpus },
            cases,
            families,
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
            metrics,
        })
    }

    /// What each combination is asked for.
    pub(super) fn answers(&self) -> Answers<'_> {
        match &self.metrics {
            Some(names) => Answers::Metrics(names),
            None => Answers::Times(&self.models),
        }
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

/// Every kernel in every size with every combination of parameters.
struct Cases<'a> {
    /// The parameters' names.
    labels: Vec<String>,
    cases: Vec<Case>,
    families: Vec<Family<'a>>,
}

impl<'a> Cases<'a> {
    fn of(
        arguments: &'a SweepGrid,
        template: &LaunchTemplate,
        axes: &[Axis],
    ) -> Result<Self, Failure> {
        if !arguments.from_metrics.is_empty() {
            let given = !axes.is_empty() || !arguments.size.is_empty();
            if given || template.first_given().is_some() {
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
            let cases = arguments.from_metrics.iter().map(case).collect();
            return Ok(Self { labels: Vec::new(), cases, families: Vec::new() });
        }
        let inputs = kernel_argument::expanded(&arguments.input, project::current().as_deref())?;
        let combined = inputs.iter().flat_map(|input| axes.iter().map(move |axis| (input, axis)));
        for (input, axis) in combined {
            template.check_parameter(input, &axis.name)?;
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
        let (mut cases, mut families) = (Vec::new(), Vec::new());
        for input in &inputs {
            for &size in &sizes {
                let first = families.len();
                let few: Vec<Axis> = sweep::fixed(axes);
                for values in sweep::combinations(&few) {
                    let fixed = sweep::parameters(&few, &values).map_err(Failure::Usage)?;
                    families.push(family_of(arguments, template, input, size, axes, fixed)?);
                }
                for values in &combinations {
                    let family = first + sweep::place_among(&few, axes, values);
                    cases.push(case(template, input, size, axes, values, family)?);
                }
            }
        }
        Ok(Self { labels, cases, families })
    }
}

/// A KERNEL with some fixed parameters in all combinations of the others.
fn family_of<'a>(
    arguments: &'a SweepGrid,
    template: &LaunchTemplate,
    input: &str,
    size: Option<CorpusSize>,
    axes: &[Axis],
    fixed: Parameters,
) -> Result<Family<'a>, Failure> {
    let names = sweep::varied(axes);
    let of_names = sweep::numbers(&names, axes).map_err(Failure::Usage)?;
    let swept = match names.is_empty() {
        true => Err("no parameter has sixteen values or more".to_owned()),
        false => Swept::of(&of_names).ok_or_else(|| sweep::no_sizes(&names)),
    };
    let of_first = names.iter().zip(&of_names);
    let of_first = of_first.filter_map(|(name, values)| Some((name.clone(), *values.first()?)));
    let all = fixed.iter().map(|(name, &value)| (name.clone(), value)).chain(of_first).collect();
    // A combination that cannot be is told of in its row.
    let options = template.clone().at(input, size, all).ok();
    let unfilled = options.as_ref().and_then(|it| UnfilledLaunch::read(input, it).ok().flatten());
    let identity = match (unfilled, options) {
        (Some(unfilled), Some(options)) => unfilled.identity(&names, &options),
        _ => format!("{input} {size:?} {:?} {fixed:?}", arguments.launch),
    };
    let mut name = input.to_owned();
    for (parameter, value) in fixed.iter().filter(|_| !names.is_empty()) {
        name += &format!(", {parameter} = {value}");
    }
    let (of, template) = (input.to_owned(), template.clone());
    let plan_at = move |sizes: &Parameters| {
        let mut all = fixed.clone();
        all.extend(sizes.iter().map(|(name, &size)| (name.clone(), size)));
        let launch = template.clone().at(&of, size, all)?;
        Ok(kernel_argument::read(&of, &launch)?)
    };
    Ok(Family { name, names, swept, plan_at: Box::new(plan_at), identity })
}

fn case(
    template: &LaunchTemplate,
    input: &str,
    size: Option<CorpusSize>,
    axes: &[Axis],
    values: &[&Value],
    family: usize,
) -> Result<Case, Failure> {
    let parameters = sweep::parameters(axes, values).map_err(Failure::Usage)?;
    let sizes = parametric::sizes_of(&sweep::varied(axes), &parameters);
    let place = sizes.map(|sizes| InFamily { family, sizes });
    let mut labels: Vec<Cell> = Vec::new();
    labels.extend(size.map(|size| Cell::text(size.name())));
    labels.extend(values.iter().map(|value| Cell::from(value.text.parse::<f64>().ok())));
    let launch = template.clone().at(input, size, parameters);
    let launch = launch.map(|launch| {
        let (input, launch) = (input.to_owned(), Box::new(launch));
        CaseSource::Execution { input, launch, place }
    });
    Ok(Case { name: Arc::from(input), labels, source: launch.map_err(|report| report.message) })
}
