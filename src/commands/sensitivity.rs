//! `gpucast sensitivity`: the effect of each parameter of a GPU on a kernel's time.

use gpucast_forecast::Kernel;
use gpucast_forecast::choice::gpu_argument::{self, TARGET};
use gpucast_forecast::choice::model_choice;
use gpucast_forecast::run::sources::{self, Counts};
use gpucast_forecast::settings::LaunchOptions;
use gpucast_model::Gpu;
use gpucast_model::sensitivity::{Analysis, analyse};
use gpucast_render::sensitivity;

use crate::cli::Sensitivity;
use crate::failure::{Failure, Report, suggest};
use crate::output::{Output, Terminal};

pub(crate) fn run(arguments: &Sensitivity) -> Result<(), Failure> {
    // Everything that is cheap to refuse is refused before anything is executed.
    let mut models = model_choice::read(&arguments.prediction.models.model)?;
    model_choice::refine(&mut models, &arguments.prediction.refinements.refine)?;
    let fields = fields(&arguments.field)?;
    let library = gpu_argument::library()?;
    let gpus = gpu_argument::find_all(&library, &arguments.gpus.gpu)?;
    let count_on = match arguments.prediction.count_on.as_str() {
        TARGET => None,
        name => Some(gpu_argument::find(&library, name)?),
    };
    let mut output = Output::open(arguments.output.output.clone())?;
    let terminal = Terminal::new(&arguments.execution, arguments.output.format)?;
    let launch = LaunchOptions::from(&arguments.launch);
    let count = |gpu: &Gpu| match (&arguments.from_metrics, &arguments.input) {
        (Some(path), _) => match launch.first_of_execution() {
            None => Ok(sources::from_metrics(path, arguments.launch.kernel.as_deref())?),
            Some(option) => Err(Failure::Usage(Report::new(format!(
                "{option} describes an execution, and --from-metrics is none"
            )))),
        },
        (None, input) => {
            let counts = Counts {
                machine: (&arguments.machine).into(),
                execution: (&arguments.execution).into(),
                stages: model_choice::reads_stages(&models),
                order: model_choice::reads_order(&models),
                ..Counts::default()
            };
            let kernel = Kernel::open(input.as_deref().unwrap_or_default(), &launch)?;
            kernel.count_with(gpu, &counts, &terminal).map_err(Failure::from)
        }
    };
    // Counts are taken once for all GPUs, or once for each.
    let groups = match &count_on {
        Some(gpu) => vec![(count(gpu)?, gpus)],
        None => gpus
            .into_iter()
            .map(|gpu| Ok((count(&gpu)?, vec![gpu])))
            .collect::<Result<Vec<_>, Failure>>()?,
    };
    let mut analyses: Vec<Analysis> = Vec::new();
    let mut first_refusal = None;
    for (sources, gpus) in &groups {
        for (source, gpu) in sources.iter().flat_map(|one| gpus.iter().map(move |gpu| (one, gpu))) {
            for chosen in &models {
                let analysis = analyse(
                    chosen.model,
                    &source.profile,
                    gpu,
                    &source.conditions,
                    &fields,
                    arguments.step,
                );
                match analysis {
                    Ok(analysis) => analyses.push(analysis),
                    Err(error) if chosen.by_name || !error.is_lack() => {
                        return Err(Report::new(error.to_string()).into());
                    }
                    Err(error) => {
                        first_refusal.get_or_insert(error);
                    }
                }
            }
        }
    }
    if let (true, Some(error)) = (analyses.is_empty(), first_refusal) {
        return Err(Report::new(error.to_string()).into());
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
