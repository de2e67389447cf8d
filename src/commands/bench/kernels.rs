//! `gpucast bench --device KERNEL`: kernels on a GPU, their results and their times.

use gpucast_forecast::Supervisor as _;
use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::input::options::Size;
use gpucast_forecast::input::plan::Plan;
use gpucast_forecast::run::expected::{Compared, Expected};
use gpucast_forecast::run::{execute, module};
use gpucast_measure::{Device as _, Trials, gpu_file};
use gpucast_render::measured_kernels::{Document, Kernel, Told};
use gpucast_toolchain::driver::{Gpu, PlanTimes};

use crate::cli::bench;
use crate::failure::{Failure, Report};
use crate::output::{Output, Terminal, diagnostic};

pub(super) fn run(arguments: &bench::Bench) -> Result<(), Failure> {
    let options = &arguments.device;
    let compared = options.compare.as_deref();
    let library = gpu_argument::library()?;
    let compared = compared.map(|name| gpu_argument::find(&library, name)).transpose()?;
    // A kernel that cannot be read is refused before another one is executed.
    let plans = arguments.kernel.plans(&(&arguments.kernel.launch).into())?;
    let size = arguments.kernel.launch.size.map(Size::from);
    let mut output = Output::open(arguments.output.output.clone())?;
    let terminal = Terminal::without_notes(&arguments.execution)?;
    let mut device =
        Gpu::open(options.device.unwrap_or(0)).map_err(|error| Report::new(error.to_string()))?;
    let facts = device.facts().clone();
    let trials = Trials { warm_up: options.warm_up, timed: options.trials.get() };
    let mut kernels = Vec::new();
    for (index, (name, plan)) in plans.iter().enumerate() {
        terminal.part(index, plans.len());
        plan.note.iter().for_each(|note| terminal.note(note));
        // What the device refuses is an outcome; a plan that cannot be read is an error.
        let measured = device.measure_plan(plan, trials).map_err(|error| error.to_string());
        let (left, times) = match measured {
            Ok((left, times)) => (left, Ok(times)),
            Err(error) => (Vec::new(), Err(error)),
        };
        let is_checked = times.is_ok() && !options.unchecked;
        let results = if is_checked { compare(plan, &left)? } else { Vec::new() };
        let times = times.map(|PlanTimes { cold, warm, in_a_row }| {
            [("cold", cold), ("warm", warm), ("in_a_row", in_a_row)]
        });
        let state = device.state();
        let told = Told { results: &results, times, state: state.as_ref() };
        kernels.push(Kernel::new(name, size, plan, told));
    }
    let named = options.name.clone().or_else(|| compared.map(|gpu| gpu.name));
    let gpu = named.unwrap_or_else(|| gpu_file::name_of(&facts.name));
    let faults: Vec<String> = kernels.iter().filter_map(Kernel::fault).collect();
    let document = Document::new(&gpu, &facts, trials, kernels);
    output.write(&document.shown(arguments.output.format)?)?;
    match faults.as_slice() {
        [] => Ok(()),
        [first, others @ ..] => {
            others.iter().for_each(|fault| diagnostic::warning(fault));
            Err(Report::new(first.clone()).into())
        }
    }
}

/// What a plan's buffers hold, in their order, beside what its launch file expects.
fn compare(plan: &Plan, left: &[Vec<u8>]) -> Result<Vec<Compared>, Failure> {
    let loaded = module::load(plan)?;
    let mut memory = execute::memory(plan, &loaded)?;
    let expected = Expected::of(plan, &memory);
    for (buffer, bytes) in plan.buffers.iter().zip(left) {
        if let Some(place) = memory.bytes_mut(&buffer.name)
            && place.len() == bytes.len()
        {
            place.copy_from_slice(bytes);
        }
    }
    Ok(expected.compared(&memory)?)
}
