//! `gpucast diff`: two kernels side by side.

use gpucast_advice::Depth;
use gpucast_forecast::choice::count_on::CountOn;
use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::difference::Difference;
use gpucast_forecast::prediction::tell_stand_ins;
use gpucast_render::Format;
use gpucast_render::difference::{self, DifferenceFormat, Side};
use gpucast_render::profile::SourceChoice;

use super::counted::{Request, Shown};
use super::usual_gpu;
use crate::cli::diff::Diff;
use crate::failure::{Failure, Report};
use crate::output::{Output, Terminal};

pub(crate) fn run(arguments: &Diff) -> Result<(), Failure> {
    let models = arguments.models.read(&[])?;
    let library = gpu_argument::library()?;
    let measurement = &arguments.measurement;
    let gpus = gpu_argument::find_all_at(
        &library,
        &usual_gpu::or_usual(&arguments.gpus.gpu),
        measurement.clock,
    )?;
    let count_on = CountOn::read(&library, arguments.counting.count_on.as_deref())?;
    let request = Request {
        launch: &arguments.launch,
        groups: &count_on.groups(gpus, &models)?,
        models: &models,
        measurement,
        machine: &arguments.machine,
        execution: &arguments.execution,
        source_root: arguments.source_root.as_deref(),
        depth: Depth::OneModel,
    };
    let format = arguments.format();
    let notes = match format {
        DifferenceFormat::Text | DifferenceFormat::Html => Format::Text,
        DifferenceFormat::Json => Format::Json,
    };
    let terminal = Terminal::new(&arguments.execution, notes)?;
    let mut output = Output::open(arguments.output.clone())?;
    let before = Shown::of(&arguments.before, &request, &terminal)?;
    let after = Shown::of(&arguments.after, &request, &terminal)?;
    tell_stand_ins(&before.kernels, &terminal);
    tell_stand_ins(&after.kernels, &terminal);
    let difference = Difference::of(&before.kernels, &after.kernels)?;
    let source = arguments.source;
    let sides = [side(&arguments.before, &before, source), side(&arguments.after, &after, source)];
    output.write(&difference::document(&difference, &sides, format)?)?;
    let Some(condition) = arguments.fail_if else { return Ok(()) };
    let slower = difference.slower_by(condition.slower).map(|time| {
        let percent = 100.0 * time.change;
        Report::new(format!(
            "{} is {percent:.1} % slower than {} on {}, says {}: more than {} %",
            arguments.after,
            arguments.before,
            time.gpu,
            time.model,
            100.0 * condition.slower
        ))
    });
    let slower: Vec<Report> = slower.collect();
    if slower.is_empty() { Ok(()) } else { Err(slower.into()) }
}

fn side<'a>(name: &'a str, shown: &'a Shown, source: SourceChoice) -> Side<'a> {
    Side { name, view: shown.view(source), advice: &shown.advice }
}
