//! `gpucast sensitivity`: the effect of each parameter of a GPU on a kernel's time.

use gpucast_forecast::choice::count_on::Group;
use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::input::kernel_argument;
use gpucast_forecast::prediction::sensitivity::{self, Question};
use gpucast_forecast::run::sources::{self, Counts};
use gpucast_forecast::{Kernel, Supervisor as _};
use gpucast_render::sensitivity as shown;

use super::usual_gpu;
use crate::cli::Sensitivity;
use crate::failure::{Failure, Report};
use crate::output::{Output, Terminal};
use crate::project;

pub(crate) fn run(arguments: &Sensitivity) -> Result<(), Failure> {
    // Everything that is cheap to refuse is refused before anything is executed.
    let models = arguments.prediction.models()?;
    // Counts of a file have no order of events, which the simulation needs.
    let models = if arguments.from_metrics.is_some() { models.or_thesis() } else { models };
    let fields = sensitivity::fields(&arguments.field)?;
    let library = gpu_argument::library()?;
    let gpus = gpu_argument::find_all(&library, &usual_gpu::or_usual(&arguments.gpus.gpu))?;
    let count_on = arguments.prediction.count_on(&library)?;
    // A GPU that cannot count is refused before anything is executed.
    let launch = arguments.launch.on(&gpus);
    let groups = count_on.groups(gpus, &models)?;
    let mut output = Output::open(arguments.output.output.clone())?;
    let terminal = Terminal::new(&arguments.execution, arguments.output.format)?;
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
    let (fields, step) = (&fields[..], arguments.step);
    let question = Question { models: &models, groups: &groups, fields, step };
    let analyses = sensitivity::analyses(&question, count, &terminal)?;
    output.write(&shown::document(&analyses, arguments.output.format)?)
}
