//! `gpucast profile`: execute and count.

use std::io::IsTerminal as _;
use std::slice::from_ref;

use gpucast_counters::trace::TraceLimits;
use gpucast_forecast::Supervisor as _;
use gpucast_forecast::choice::count_on::OF_THESIS;
use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::input::cuda_source;
use gpucast_forecast::input::plan::Plan;
use gpucast_forecast::run::counting::Extras;
use gpucast_forecast::run::profiling::{Profiled, Profiling};
use gpucast_forecast::run::sources::Counts;
use gpucast_model::Gpu;
use gpucast_render::profile::{self, By, View};
use gpucast_render::several::{self, Part};

use crate::cli::Profile;
use crate::failure::{Failure, Report};
use crate::output::{Output, Terminal};

pub(crate) fn run(mut arguments: Profile) -> Result<(), Failure> {
    arguments.execution.execution_time |= arguments.timing;
    if (arguments.stalls || arguments.inlined) && arguments.by != By::Line {
        let report = Report::new("--stalls and --inlined are about lines");
        return Err(Failure::Usage(report.hint("add --by line")));
    }
    let name = arguments.gpu.as_deref().unwrap_or(OF_THESIS);
    let gpu = gpu_argument::find(&gpu_argument::library()?, name)?;
    gpu_argument::device_model(&gpu)?;
    // A kernel that cannot be read is refused before another one is executed.
    let asked = arguments.gpu.as_ref().map_or(&[][..], |_| from_ref(&gpu));
    let launch = arguments.kernel.launch.on(asked);
    let plans = arguments.kernel.plans(&launch)?;
    // Only a terminal has a width; files and pipes get whole lines.
    let is_terminal = arguments.output.output.is_none() && std::io::stdout().is_terminal();
    let width = is_terminal.then(terminal_size::terminal_size).flatten();
    // An unwritable file is better found before the execution than after it.
    let mut output = Output::open(arguments.output.output.clone())?;
    let terminal = Terminal::new(&arguments.execution, arguments.output.format)?;
    let profiling = Profiling {
        gpu: &gpu,
        launch: &launch,
        counts: &|| Counts {
            machine: (&arguments.machine).into(),
            execution: (&arguments.execution).into(),
            ..Counts::default()
        },
        extras: Extras {
            hashes: true,
            stages: arguments.by == By::Stage,
            features: arguments.by == By::Access,
            trace: arguments.stalls.then(TraceLimits::default),
            ..Extras::default()
        },
        beside_formulas: beside_formulas(&arguments),
        supervisor: &terminal,
    };
    let width = width.map(|(width, _)| width.0.into());
    let form = Form { arguments: &arguments, gpu: &gpu, width };
    let number = plans.len();
    let mut parts = Vec::new();
    for (index, (kernel, plan)) in plans.into_iter().enumerate() {
        if number > 1 {
            terminal.part(index, number);
        }
        let profiled = profiling.profile(&kernel, &plan)?;
        parts.push(Part { document: form.document(&plan, &profiled)?, kernel });
    }
    output.write(&several::document(parts, arguments.output.format)?)
}

/// The forms in which a kernel is shown.
struct Form<'a> {
    arguments: &'a Profile,
    gpu: &'a Gpu,
    width: Option<usize>,
}

impl Form<'_> {
    /// The document of one kernel.
    fn document(&self, plan: &Plan, profiled: &Profiled) -> Result<String, Report> {
        let Self { arguments, gpu, width } = *self;
        let view = View {
            counted: &profiled.counted,
            gpu,
            loaded: &profiled.loaded,
            files: &cuda_source::files(
                plan,
                &profiled.loaded.module,
                arguments.source_root.as_deref(),
            ),
            metrics: &arguments.metrics,
            by: arguments.by,
            source: arguments.source,
            timing: arguments.execution.execution_time,
            width,
            simulations: &profiled.simulations,
            inlined: arguments.inlined,
        };
        profile::document(&view, arguments.output.format)
    }
}

/// What a profile shows that no formulas give.
fn beside_formulas(arguments: &Profile) -> Option<&'static str> {
    match arguments.by {
        By::Launch | By::Line | By::Branch => arguments.stalls.then_some("the order of events"),
        By::Stage => Some("stages between barriers"),
        By::Access => Some("features of accesses"),
    }
}
