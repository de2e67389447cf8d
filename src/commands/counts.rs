//! `gpucast counts`: counts as formulas in the sizes of a problem.

use std::collections::BTreeSet;
use std::path::Path;
use std::slice::from_ref;

use gpucast_collection::{Allowed, Choice, MatchCondition, Request, Target, Value};
use gpucast_forecast::choice::count_on::OF_THESIS;
use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::input::expression::Parameters;
use gpucast_forecast::input::kernel_argument;
use gpucast_forecast::input::launch_template::LaunchTemplate;
use gpucast_forecast::input::plan::Plan;
use gpucast_forecast::parametric::{self, Question, StoredCounts, Wanted};
use gpucast_forecast::run::sources;
use gpucast_render::counts::{self, View};
use gpucast_render::counts_at;

use super::kernels;
use crate::cli::{CountingChoice, Counts, ExecutionOptions};
use crate::failure::{Failure, Report, SourceText, suggest};
use crate::output::{Output, Terminal};

pub(crate) fn run(arguments: &Counts) -> Result<(), Failure> {
    if !arguments.at.is_empty() {
        return evaluate(arguments);
    }
    let ExecutionOptions { counting, ctas, .. } = arguments.execution;
    if counting == CountingChoice::Sample || ctas.is_some() {
        let report = Report::new("formulas are made of exact counts, and a sample gives estimates");
        return Err(Failure::Usage(report.hint("leave --counting sample and --ctas out")));
    }
    let gpu = gpu_argument::find(
        &gpu_argument::library()?,
        arguments.gpu.as_deref().unwrap_or(OF_THESIS),
    )?;
    let capability = gpu_argument::device_model(&gpu)?.capability;
    let wanted = |text: &String| Wanted::read("--parametric", text).map_err(Failure::Usage);
    let mut parameters = arguments.parametric.iter().map(wanted).collect::<Result<Vec<_>, _>>()?;
    let names: BTreeSet<String> =
        parameters.iter().map(|parameter| parameter.name.clone()).collect();
    if names.len() < parameters.len() {
        let report = Report::new("--parametric names a parameter twice");
        return Err(Failure::Usage(report));
    }
    let asked = arguments.gpu.as_ref().map_or(&[][..], |_| from_ref(&gpu));
    let template = arguments.launch.on(asked);
    let kernel = Kernel::of(arguments, template, &names, Target::from(capability))?;
    for wanted in &mut parameters {
        if let Some((least, grain)) = kernel.grain(&wanted.name) {
            wanted.first.get_or_insert(least);
            wanted.grain = grain;
        }
    }
    let mut output = Output::open(arguments.output.output.clone())?;
    let terminal = Terminal::new(&arguments.execution, arguments.output.format)?;
    let settings = sources::Counts {
        machine: (&arguments.machine).into(),
        execution: (&arguments.execution).into(),
        ..sources::Counts::default()
    };
    let question = Question {
        parameters: &parameters,
        plan_at: &|sizes| kernel.at(sizes),
        gpu: &gpu,
        counts: &settings,
        metrics: &arguments.metrics,
        supervisor: &terminal,
    };
    let found = parametric::formulas(&question)?;
    let view = View { counts: &found, input: kernel.name(), gpu: &gpu.name };
    output.write(&counts::document(&view, arguments.output.format)?)
}

/// Counts by the formulas of a document.
fn evaluate(arguments: &Counts) -> Result<(), Failure> {
    if let Some(option) = arguments.launch.template().first_given() {
        let message = format!("{option} describes a launch, and formulas need none");
        return Err(Failure::Usage(Report::new(message)));
    }
    let path = arguments.input.as_deref().unwrap_or_default();
    let text = std::fs::read_to_string(path)
        .map_err(|error| Report::file("read", Path::new(path), &error))?;
    let mut stored = StoredCounts::read(&SourceText::new(path, text))?;
    stored.counts.choose(&arguments.metrics);
    if stored.counts.launches.iter().all(|launch| launch.metrics.is_empty()) {
        return Err(Report::new(format!("{path} has no formula of these metrics")).into());
    }
    let mut at = Vec::new();
    for sizes in &arguments.at {
        for sizes in stored.counts.read_sizes("--at", sizes).map_err(Failure::Usage)? {
            at.push(stored.counts.at(&sizes)?);
        }
    }
    let mut output = Output::open(arguments.output.output.clone())?;
    let view = counts_at::View { stored: &stored, at: &at };
    output.write(&counts_at::document(&view, arguments.output.format)?)
}

/// A kernel in any size.
enum Kernel<'a> {
    /// A launch file, or a module with the options of its launch.
    Argument { input: &'a str, template: Box<LaunchTemplate> },
    /// A kernel of the collection.
    Measurement { tags: &'a str, choice: Box<Choice>, target: Target },
}

impl<'a> Kernel<'a> {
    /// The kernel that is meant, whose sizes have these names.
    fn of(
        arguments: &'a Counts,
        template: LaunchTemplate,
        names: &BTreeSet<String>,
        target: Target,
    ) -> Result<Self, Failure> {
        if let Some(input) = &arguments.input {
            for name in names {
                template.check_parameter(input, name)?;
            }
            return Ok(Self::Argument { input, template: Box::new(template) });
        }
        if let Some(option) = template.first_given() {
            let message = format!("{option} describes a launch, and --measure makes its own");
            return Err(Failure::Usage(Report::new(message)));
        }
        let tags = arguments.measure.as_deref().unwrap_or_default();
        let words: Vec<&str> = tags.split_whitespace().collect();
        let request = Request::parse(&words, MatchCondition::default());
        let mut choices = request.and_then(|request| request.choices()).map_err(kernels::report)?;
        // Sizes vary anyway: which of their usual values a choice has does not matter.
        let fixed = |choice: &Choice| -> Vec<(&'static str, Value)> {
            let values = choice.variant.values.iter().copied();
            values.filter(|(axis, _)| !names.contains(*axis)).collect()
        };
        let mut seen = Vec::new();
        choices.retain(|choice| {
            let key = (choice.generator.name, fixed(choice));
            let is_new = !seen.contains(&key);
            seen.push(key);
            is_new
        });
        let [choice] = &choices[..] else {
            let first: Vec<String> = choices.iter().take(3).map(Choice::tags).collect();
            let message =
                format!("--measure chooses {} kernels, and formulas are of one", choices.len());
            let report = Report::new(message).fact(format!("{}, …", first.join("; ")));
            return Err(Failure::Usage(
                report.hint("give the value of each argument: dtype:float32"),
            ));
        };
        for name in names {
            let sizes = || {
                let axes = choice.generator.axes.iter();
                axes.filter(|axis| matches!(axis.allowed, Allowed::Size { .. })).map(|it| it.name)
            };
            if !sizes().any(|size| size == name) {
                let message = format!("{} has no size `{name}`", choice.generator.name);
                let known = format!("its sizes are {}", sizes().collect::<Vec<_>>().join(", "));
                let report = Report::new(message);
                return Err(Failure::Usage(
                    report.maybe_hint(suggest(name, sizes()).or(Some(known))),
                ));
            }
        }
        Ok(Self::Measurement { tags, choice: Box::new(choice.clone()), target })
    }

    /// The smallest size that a kernel of the collection has, and what its sizes are multiples of.
    fn grain(&self, name: &str) -> Option<(u64, u64)> {
        let Self::Measurement { choice, .. } = self else { return None };
        match choice.generator.axis(name)?.allowed {
            Allowed::Size { least, multiple_of, .. } => {
                Some((least.next_multiple_of(multiple_of), multiple_of))
            }
            Allowed::Words(_) | Allowed::Numbers { .. } => None,
        }
    }

    /// As it was asked for.
    fn name(&self) -> &'a str {
        match self {
            Self::Argument { input, .. } => input,
            Self::Measurement { tags, .. } => tags,
        }
    }

    /// The plan of some sizes.
    fn at(&self, sizes: &Parameters) -> Result<Plan, gpucast_forecast::Failure> {
        match self {
            Self::Argument { input, template } => {
                let launch = (**template).clone().at(input, None, sizes.clone())?;
                Ok(kernel_argument::read(input, &launch)?)
            }
            Self::Measurement { choice, target, .. } => {
                let mut choice = (**choice).clone();
                for (axis, value) in &mut choice.variant.values {
                    let Some(&size) = sizes.get(*axis) else { continue };
                    let text = size.to_string();
                    let given = choice.generator.axis(axis).and_then(|axis| axis.value(&text));
                    *value = given.ok_or_else(|| {
                        let allowed =
                            choice.generator.axis(axis).map(|axis| axis.allowed.to_string());
                        let message = format!("{} has no {axis}:{text}", choice.generator.name);
                        Report::new(message)
                            .maybe_hint(allowed.map(|all| format!("it takes {all}")))
                    })?;
                }
                // One name for all sizes: the module is then lowered once.
                let texts = choice
                    .texts(*target, "kernel.ptx")
                    .map_err(|unfit| Report::new(unfit.reason))?;
                let module = SourceText::new("kernel.ptx", texts.ptx);
                let launch = SourceText::new("kernel.toml", texts.launch);
                Ok(kernel_argument::of_texts(launch, module, Path::new(""), &[])?)
            }
        }
    }
}
