//! The grid of a sweep, as its options describe it.

use std::path::Path;
use std::sync::Arc;

use gpucast_forecast::choice::count_on::CountOn;
use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::choice::model_choice::{ModelWords, Models};
use gpucast_forecast::input::expression::{self, Parameters};
use gpucast_forecast::input::kernel_argument;
use gpucast_forecast::run::sources::Counts;
use gpucast_forecast::settings::{LaunchOptions, Size as CorpusSize};
use gpucast_forecast::sweep::axis::{Axis, Value};
use gpucast_forecast::sweep::{self, Axes, Case, CaseSource, Cell};
use gpucast_model::{Gpu, Timing};

use crate::cli::{LaunchTemplate, SweepGrid};
use crate::failure::{Failure, Report, SourceText, suggest};
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
    inputs.iter().try_for_each(|input| check_parameters(input, axes, &arguments.launch))?;
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

/// Refuses parameters that nothing would use, so that no grid is of equal points.
fn check_parameters(input: &str, axes: &[Axis], launch: &LaunchTemplate) -> Result<(), Failure> {
    let usage = |message: String, hint: &str| Err(Failure::Usage(Report::new(message).hint(hint)));
    for Axis { name, .. } in axes {
        if gpucast_corpus::find(input).is_some() {
            let message = format!("the corpus kernel {input} has no parameter `{name}`");
            return usage(message, "its sizes are --size small,paper");
        }
        if !is_launch_file(input) && !launch.mentions(name) {
            let message = format!("no option of the launch uses `{name}`");
            return usage(message, "write --grid '${ceil(n/256)}' or --arg 'u32:${n}'");
        }
    }
    Ok(())
}

fn is_launch_file(input: &str) -> bool {
    Path::new(input).extension().is_some_and(|extension| extension == "toml")
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

impl LaunchTemplate {
    /// The first option that describes an execution.
    fn first_given(&self) -> Option<&'static str> {
        let options = [
            ("--grid", self.grid.is_some()),
            ("--block", self.block.is_some()),
            ("--cluster", self.cluster.is_some()),
            ("--shared-bytes", self.shared_bytes.is_some()),
            ("--arg", !self.arg.is_empty()),
            ("--arch", self.arch.is_some()),
        ];
        options.into_iter().find_map(|(option, given)| given.then_some(option))
    }

    /// Returns true if an expression in one of the options has this name in it.
    fn mentions(&self, name: &str) -> bool {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let single = [&self.grid, &self.block, &self.cluster, &self.shared_bytes];
        let mut texts = single.into_iter().flatten().chain(&self.arg);
        texts.any(|text| {
            let expressions = text.split("${").skip(1).filter_map(|rest| rest.split('}').next());
            let mut words = expressions.flat_map(|it| it.split(|c: char| !is_word(c)));
            words.any(|word| word == name)
        })
    }

    /// The options of one point. A launch file takes the parameters itself.
    fn at(
        &self,
        input: &str,
        size: Option<CorpusSize>,
        parameters: Parameters,
    ) -> Result<LaunchOptions, Report> {
        let text = |option: &str, text: &Option<String>| {
            let filled = text.as_ref().map(|text| {
                let source = SourceText::new(option, text.as_str());
                expression::substitute(&source, &parameters, false)
            });
            filled.transpose()
        };
        let extent = |option: &str, template: &Option<String>| {
            let filled = text(option, template)?;
            let extent = filled.map(|text| {
                crate::cli::extent(&text)
                    .map_err(|error| Report::new(format!("{option} {text}: {error}")))
            });
            extent.transpose()
        };
        let bytes = text("--shared-bytes", &self.shared_bytes)?;
        let shared_bytes = bytes.map(|text| {
            text.trim()
                .parse()
                .map_err(|_| Report::new(format!("--shared-bytes {text} is no number of bytes")))
        });
        let arguments = self.arg.iter().map(|argument| {
            let source = SourceText::new("--arg", argument.as_str());
            expression::substitute(&source, &parameters, false)
        });
        Ok(LaunchOptions {
            kernel: self.kernel.clone(),
            grid: extent("--grid", &self.grid)?,
            block: extent("--block", &self.block)?,
            cluster: extent("--cluster", &self.cluster)?,
            shared_bytes: shared_bytes.transpose()?,
            arg: arguments.collect::<Result<_, _>>()?,
            arch: self.arch.clone(),
            size,
            dlcm: None,
            l2: None,
            cuda: (&self.cuda).into(),
            project: project::current(),
            param: match is_launch_file(input) {
                true => parameters.into_iter().collect(),
                false => Vec::new(),
            },
        })
    }
}
