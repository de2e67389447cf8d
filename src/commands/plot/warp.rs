//! `gpucast plot access`, `banks` and `divergence`: one warp of a launch.

use gpucast_forecast::Supervisor as _;
use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::input::plan::Plan;
use gpucast_forecast::input::{cuda_source, kernel_argument};
use gpucast_forecast::run::execute::Loaded;
use gpucast_forecast::run::module;
use gpucast_forecast::run::warp_way::{self, WarpChoice, Way};
use gpucast_forecast::settings::ExecutionSettings;
use gpucast_model::Gpu;
use gpucast_ptx_frontend::types::StateSpace;
use gpucast_render::Format;
use gpucast_render::pictures::warp::{self, WarpView};

use super::super::usual_gpu;
use super::File;
use crate::cli::plot::{BlockIndex, PlotAccesses, PlotDivergence, Steps, WarpOptions};
use crate::failure::{Failure, Report};
use crate::output::Terminal;

/// Pictures of one file: more are asked for line by line.
const MOST_ACCESSES: usize = 12;

/// The memory whose accesses are shown.
#[derive(Clone, Copy)]
pub(super) enum Memory {
    Global,
    Shared,
}

/// A warp that was followed.
struct Followed {
    plan: Plan,
    loaded: Loaded,
    choice: WarpChoice,
    way: Way,
}

fn follow(
    options: &WarpOptions,
    gpus: &[Gpu],
    execution: u64,
    steps: &Steps,
) -> Result<Followed, Failure> {
    let plan = kernel_argument::read(&options.input, &options.launch.on(gpus))?;
    let loaded = module::load(&plan)?;
    let BlockIndex(cta) = options.cta;
    let choice = WarpChoice {
        launch: options.number as usize - 1,
        cta,
        warp: options.warp,
        execution,
        steps: steps.0.clone(),
    };
    let terminal = Terminal::new(&options.execution, Format::Text)?;
    let settings = ExecutionSettings::from(&options.execution);
    let way = warp_way::follow(&plan, &loaded, &choice, &settings.options, &terminal)?;
    Ok(Followed { plan, loaded, choice, way })
}

pub(super) fn accesses(arguments: &PlotAccesses, memory: Memory) -> Result<(), Failure> {
    let file = File::open(&arguments.picture)?;
    let library = gpu_argument::library()?;
    let names = usual_gpu::or_usual(arguments.gpu.as_slice());
    let gpus = gpu_argument::find_all(&library, &names)?;
    let [gpu] = gpus.as_slice() else {
        return Err(Failure::Usage(Report::new("the picture is that of one GPU")));
    };
    let device = gpu.device_model().map_err(|error| Report::new(error.to_string()))?;
    let Followed { plan, loaded, choice, way } =
        follow(&arguments.warp, &gpus, arguments.execution - 1, &Steps(0..0))?;
    let space = match memory {
        Memory::Global => StateSpace::Global,
        Memory::Shared => StateSpace::Shared,
    };
    let mut chosen = way.accesses_to(space, arguments.line)?;
    let left_out = chosen.len().saturating_sub(MOST_ACCESSES);
    if left_out > 0 {
        let terminal = Terminal::new(&arguments.warp.execution, Format::Text)?;
        terminal.note(&format!("{left_out} more accesses are left out; --line N chooses some"));
        chosen.truncate(MOST_ACCESSES);
    }
    let files = cuda_source::files(&plan, &loaded.module, None);
    let kernel = &plan.launches[choice.launch].kernel;
    let view = WarpView { kernel, choice: &choice, way: &way, files: &files };
    let scene = match memory {
        Memory::Global => warp::access(view, &chosen, &device, file.title()),
        Memory::Shared => warp::banks(view, &chosen, &device, file.title()),
    };
    file.write(scene)
}

pub(super) fn divergence(arguments: &PlotDivergence) -> Result<(), Failure> {
    let file = File::open(&arguments.picture)?;
    let Followed { plan, loaded, choice, way } = follow(&arguments.warp, &[], 0, &arguments.steps)?;
    let files = cuda_source::files(&plan, &loaded.module, None);
    let kernel = &plan.launches[choice.launch].kernel;
    let view = WarpView { kernel, choice: &choice, way: &way, files: &files };
    let scene = warp::divergence(view, file.title());
    file.write(scene)
}
