//! `gpucast trace`: a simulated kernel over time.

use gpucast_forecast::choice::gpu_argument::{self, Running};
use gpucast_forecast::input::{cuda_source, kernel_argument};
use gpucast_forecast::prediction::refusal;
use gpucast_forecast::run::module;
use gpucast_forecast::run::sources::{self, Counts, Launched};
use gpucast_forecast::settings::ExecutionSettings;
use gpucast_model::Needs;
use gpucast_model::sm_simulation::Recorded;
use gpucast_render::Format;
use gpucast_render::timeline::{self, View};

use super::usual_gpu;
use crate::cli::trace::{Simulated, Trace};
use crate::failure::{Failure, Report};
use crate::output::{Output, Terminal};

pub(crate) fn run(arguments: &Trace) -> Result<(), Failure> {
    // An unwritable file is better found before the execution than after it.
    let mut output = Output::open(Some(arguments.output.clone()))?;
    let selection = arguments.selection();
    simulated(&arguments.simulated, |view| {
        let file = timeline::document(view, &selection, arguments.format(), arguments.time_unit)?;
        output.write_bytes(&file)?;
        Output::open(None)?.write(&timeline::summary(view, &selection, file.len()))
    })
}

/// Simulates a launch and shows it to somebody.
pub(super) fn simulated(
    arguments: &Simulated,
    show: impl FnOnce(&View<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let library = gpu_argument::library()?;
    let names = usual_gpu::or_usual(arguments.gpu.as_slice());
    let running = Running { clock: arguments.clock, power_limit: None };
    let gpus = gpu_argument::find_all_running(&library, &names, running)?;
    let [gpu] = gpus.as_slice() else {
        let report = Report::new("a timeline is that of one GPU");
        return Err(Failure::Usage(report.hint("name one: --gpu h100-sxm")));
    };
    let plan = kernel_argument::read(&arguments.input, &arguments.launch.on(&gpus))?;
    let loaded = module::load(&plan)?;
    let terminal = Terminal::new(&arguments.execution, Format::Text)?;
    let counts = Counts {
        machine: (&arguments.machine).into(),
        execution: ExecutionSettings::from(&arguments.execution),
        needs: Needs::ORDER,
        ..Counts::default()
    };
    let launches = sources::launched(&plan, &loaded, gpu, &counts, &terminal)?;
    let Launched { counted, source } = chosen(arguments, &launches)?;
    let recorded = Recorded::of(&source.profile, gpu, &source.conditions)
        .map_err(|error| refusal(&error, source))?;
    let files = cuda_source::files(&plan, &loaded.module, None);
    show(&View { gpu: &gpu.name, recorded: &recorded, counted, loaded: &loaded, files: &files })
}

/// The launch that is meant.
fn chosen<'a>(arguments: &Simulated, launches: &'a [Launched]) -> Result<&'a Launched, Failure> {
    let names = launches.iter().enumerate().map(|(at, one)| {
        let kernel = &one.source.profile.kernel;
        format!("{} {kernel}", at + 1)
    });
    let hint = || format!("--launch N: {}", names.collect::<Vec<String>>().join(", "));
    match (arguments.number, launches) {
        (None, [only]) => Ok(only),
        (None, _) => {
            let message =
                format!("the file has {} launches, and a timeline is of one", launches.len());
            Err(Failure::Usage(Report::new(message).hint(hint())))
        }
        (Some(number), _) => launches.get(number as usize - 1).ok_or_else(|| {
            let message = format!("there is no launch {number}");
            Failure::Usage(Report::new(message).hint(hint()))
        }),
    }
}
