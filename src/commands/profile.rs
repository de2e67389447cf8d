//! `gpucast profile`: execute and count.

use std::io::IsTerminal as _;

use gpucast_counters::DeviceModel;
use gpucast_counters::trace::TraceLimits;
use gpucast_forecast::Supervisor as _;
use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::input::cuda_source;
use gpucast_forecast::input::plan::Plan;
use gpucast_forecast::parametric;
use gpucast_forecast::run::counting::{self, Counted, Counting, Extras};
use gpucast_forecast::run::machine::Machine;
use gpucast_forecast::run::{module, sources};
use gpucast_forecast::settings::{ExecutionSettings, LaunchOptions, RungChoice};
use gpucast_model::Gpu;
use gpucast_model::sm_simulation::Analysis;
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
    let gpu = gpu_argument::find(&gpu_argument::library()?, &arguments.gpu)?;
    let device = gpu_argument::device_model(&gpu)?;
    // A kernel that cannot be read is refused before another one is executed.
    let plans = arguments.kernel.plans()?;
    // Only a terminal has a width; files and pipes get whole lines.
    let is_terminal = arguments.output.output.is_none() && std::io::stdout().is_terminal();
    let width = is_terminal.then(terminal_size::terminal_size).flatten();
    // An unwritable file is better found before the execution than after it.
    let mut output = Output::open(arguments.output.output.clone())?;
    let terminal = Terminal::new(&arguments.execution, arguments.output.format)?;
    let profiling = Profiling {
        arguments: &arguments,
        gpu: &gpu,
        device,
        width: width.map(|(width, _)| width.0.into()),
        terminal: &terminal,
    };
    let number = plans.len();
    let mut parts = Vec::new();
    for (index, (kernel, plan)) in plans.into_iter().enumerate() {
        if number > 1 {
            terminal.part(index, number);
        }
        parts.push(Part { document: profiling.document(&kernel, &plan)?, kernel });
    }
    output.write(&several::document(parts, arguments.output.format)?)
}

/// The way in which kernels are profiled.
struct Profiling<'a> {
    arguments: &'a Profile,
    gpu: &'a Gpu,
    device: DeviceModel,
    width: Option<usize>,
    terminal: &'a Terminal,
}

impl Profiling<'_> {
    /// The document of one kernel.
    fn document(&self, kernel: &str, plan: &Plan) -> Result<String, Failure> {
        let Self { arguments, gpu, device, terminal, .. } = *self;
        let loaded = module::load(plan)?;
        plan.note.iter().for_each(|note| terminal.note(note));
        let settings = ExecutionSettings::from(&arguments.execution);
        let kernels = plan.launches.iter().map(|launch| launch.kernel.as_str());
        let machine = Machine::new(
            &(&arguments.machine).into(),
            &loaded,
            device.capability,
            kernels,
            terminal.toolchain(),
        )?;
        machine.note.iter().for_each(|note| terminal.note(note));
        let extras = Extras {
            hashes: true,
            stages: arguments.by == By::Stage,
            features: arguments.by == By::Access,
            trace: arguments.stalls.then(TraceLimits::default),
            ..Extras::default()
        };
        let rung = settings.counting;
        let caches = settings.caches;
        let (sample, supervisor) = (settings.sample(), terminal);
        let counting =
            Counting { device, machine: &machine, extras, rung, sample, caches, supervisor };
        let by_formulas = match rung {
            RungChoice::Formulas => Some(self.by_formulas(kernel, settings)?),
            _ => None,
        };
        let counted = match by_formulas {
            Some(Ok(counted)) => counted,
            executed => {
                let mut counted = counting::count(plan, &loaded, &settings.options, &counting)?;
                let because = executed.and_then(Result::err);
                for one in &mut counted {
                    one.counted_by.because = one.counted_by.because.take().or(because.clone());
                }
                counted
            }
        };
        let simulation = |one: &Counted| {
            let source = sources::of_counted(one, plan, gpu);
            Analysis::of(&source.profile, gpu, &source.conditions)
                .map(Some)
                .map_err(|refusal| Report::new(refusal.to_string()))
        };
        let simulations = match arguments.stalls {
            true => counted.iter().map(simulation).collect::<Result<Vec<_>, Report>>()?,
            false => Vec::new(),
        };
        let view = View {
            counted: &counted,
            gpu,
            loaded: &loaded,
            files: &cuda_source::files(plan, &loaded.module, arguments.source_root.as_deref()),
            metrics: &arguments.metrics,
            by: arguments.by,
            source: arguments.source,
            timing: arguments.execution.execution_time,
            width: self.width,
            simulations: &simulations,
            inlined: arguments.inlined,
        };
        Ok(profile::document(&view, arguments.output.format)?)
    }

    /// The counts by formulas that a sweep has kept, or the reason why there are none.
    fn by_formulas(
        &self,
        kernel: &str,
        execution: ExecutionSettings,
    ) -> Result<Result<Vec<Counted>, String>, Failure> {
        let Self { arguments, gpu, terminal, .. } = *self;
        let others = match arguments.by {
            By::Launch | By::Line | By::Branch => arguments.stalls.then_some("the order of events"),
            By::Stage => Some("stages between barriers"),
            By::Access => Some("features of accesses"),
        };
        if let Some(others) = others {
            return Ok(Err(format!("{others} have no formulas")));
        }
        let launch = LaunchOptions::from(&arguments.kernel.launch);
        let machine = (&arguments.machine).into();
        let counts = sources::Counts { machine, execution, ..sources::Counts::default() };
        Ok(parametric::counted_by_kept(kernel, &launch, gpu, &counts, terminal)?)
    }
}
