//! `gpucast bench`: how fast this computer executes kernels, and what counting costs; or a GPU.

mod device;
mod kernels;

use std::num::NonZeroUsize;

use gpucast_forecast::Supervisor as _;
use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::run::bench::{self, Extent};
use gpucast_forecast::run::module;
use gpucast_forecast::settings::ExecutionSettings;
use gpucast_render::bench::document;

use crate::cli::bench::Bench;
use crate::cli::{CacheChoice, CountingChoice, ExecutionOptions};
use crate::failure::{Failure, Report};
use crate::output::{Output, Terminal};

pub(crate) fn run(arguments: &Bench, threads: Option<u16>) -> Result<(), Failure> {
    if arguments.device.is_wanted() {
        return match arguments.kernel.inputs.is_empty() {
            true => device::run(arguments),
            false => kernels::run(arguments),
        };
    }
    let ExecutionOptions { counting, ctas, caches, .. } = arguments.execution;
    if counting != CountingChoice::Auto || ctas.is_some() || caches != CacheChoice::Auto {
        let report = Report::new("`bench` measures every way of counting");
        return Err(Failure::Usage(report.hint("leave --counting, --ctas and --caches out")));
    }
    let gpu = gpu_argument::find(&gpu_argument::library()?, &arguments.gpu)?;
    // A kernel that cannot be read is refused before another one is executed.
    let plans = arguments.kernel.plans(&(&arguments.kernel.launch).into())?;
    let mut output = Output::open(arguments.output.output.clone())?;
    let terminal = Terminal::new(&arguments.execution, arguments.output.format)?.counting_anew();
    let all = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let extent = Extent {
        rounds: arguments.rounds,
        threads: threads.map_or(all, |threads| NonZeroUsize::new(threads.into()).unwrap_or(all)),
        device: gpu_argument::device_model(&gpu)?,
        records: arguments.record,
        options: ExecutionSettings::from(&arguments.execution).options,
    };
    let number = plans.len();
    let mut benches = Vec::new();
    for (index, (kernel, plan)) in plans.iter().enumerate() {
        terminal.part(index, number);
        plan.note.iter().for_each(|note| terminal.note(note));
        let loaded = module::load(plan)?;
        benches.push(bench::bench(kernel, plan, &loaded, &extent, &terminal)?);
    }
    output.write(&document(&benches, arguments.output.format)?)
}
