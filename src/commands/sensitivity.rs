//! `gpucast sensitivity`: the effect of each parameter of a GPU on a kernel's time.

use gpucast_forecast::choice::count_on::Group;
use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::input::kernel_argument;
use gpucast_forecast::prediction;
use gpucast_forecast::run::sources::{self, Counts, Source};
use gpucast_forecast::settings::LaunchOptions;
use gpucast_forecast::{Kernel, Supervisor as _};
use gpucast_model::Gpu;
use gpucast_model::sensitivity::{Analysis, analyse};
use gpucast_render::sensitivity;

use super::usual_gpu;
use crate::cli::Sensitivity;
use crate::failure::{Failure, Report, suggest};
use crate::output::{Output, Terminal};
use crate::project;

pub(crate) fn run(arguments: &Sensitivity) -> Result<(), Failure> {
    // Everything that is cheap to refuse is refused before anything is executed.
    let models = arguments.prediction.models()?;
    // Counts of a file have no order of events, which the simulation needs.
    let models = if arguments.from_metrics.is_some() { models.or_thesis() } else { models };
    let fields = fields(&arguments.field)?;
    let library = gpu_argument::library()?;
    let gpus = gpu_argument::find_all(&library, &usual_gpu::or_usual(&arguments.gpus.gpu))?;
    let count_on = arguments.prediction.count_on(&library)?;
    // A GPU that cannot count is refused before anything is executed.
    let groups = count_on.groups(gpus, &models)?;
    let mut output = Output::open(arguments.output.output.clone())?;
    let terminal = Terminal::new(&arguments.execution, arguments.output.format)?;
    let launch = LaunchOptions::from(&arguments.launch);
    let inputs = kernel_argument::expanded(&arguments.inputs, project::current().as_deref())?;
    // A kernel that cannot be read is refused before another one is executed.
    let kernels = inputs
        .iter()
        .map(|input| Kernel::open(input, &launch))
        .collect::<Result<Vec<Kernel>, _>>()?;
    let count = |group: &Group| {
        if let Some(path) = &arguments.from_metrics {
            return match launch.first_of_execution() {
                None => Ok(sources::from_metrics(path, arguments.launch.kernel.as_deref())?),
                Some(option) => Err(Failure::Usage(Report::new(format!(
                    "{option} describes an execution, and --from-metrics is none"
                )))),
            };
        }
        let counts = Counts {
            machine: (&arguments.machine).into(),
            execution: (&arguments.execution).into(),
            needs: group.needs,
            ..Counts::default()
        };
        let mut all = Vec::new();
        for (index, kernel) in kernels.iter().enumerate() {
            if kernels.len() > 1 {
                terminal.part(index, kernels.len());
            }
            all.extend(kernel.count_with(&group.counting_gpu, &counts, &terminal)?);
        }
        Ok(all)
    };
    let mut analyses: Vec<Analysis> = Vec::new();
    let mut first_refusal = None;
    for group in &groups {
        let sources = count(group)?;
        for (source, gpu) in
            sources.iter().flat_map(|one| group.gpus.iter().map(move |gpu| (one, gpu)))
        {
            for chosen in models.of(gpu) {
                let answer = chosen.answer(|model| {
                    let Source { profile, conditions, .. } = source;
                    analyse(model, profile, gpu, conditions, &fields, arguments.step)
                });
                match answer {
                    Ok(answer) => {
                        answer.declined.iter().for_each(|why| terminal.note(&why.to_string()));
                        analyses.push(answer.value);
                    }
                    Err(error) if chosen.by_name || !error.is_lack() => {
                        return Err(prediction::refusal(&error, source).into());
                    }
                    Err(error) => {
                        first_refusal.get_or_insert_with(|| prediction::refusal(&error, source));
                    }
                }
            }
        }
    }
    if let (true, Some(refusal)) = (analyses.is_empty(), first_refusal) {
        return Err(refusal.into());
    }
    output.write(&sensitivity::document(&analyses, arguments.output.format)?)
}

/// The fields of `--field` as the description spells them.
fn fields(names: &[String]) -> Result<Vec<&'static str>, Failure> {
    let known = || Gpu::FIELDS.iter().copied();
    let field = |name: &String| {
        known().find(|field| field == name).ok_or_else(|| {
            let report = Report::new(format!("a GPU has no field `{name}`"));
            Failure::Usage(report.maybe_hint(suggest(name, known())))
        })
    };
    names.iter().map(field).collect()
}
