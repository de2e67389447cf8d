//! The judgement itself, in the process that the program has started for it.

use std::path::Path;
use std::slice::from_ref;
use std::time::{Duration, Instant};

use gpucast_forecast::choice::count_on::CountOn;
use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::choice::model_choice::Models;
use gpucast_forecast::input::expression::Parameters;
use gpucast_forecast::input::launch_template::LaunchTemplate;
use gpucast_forecast::run::assembler::Toolchain;
use gpucast_forecast::run::sources::Counts;
use gpucast_forecast::settings::{CacheChoice, ExecutionSettings};
use gpucast_forecast::{LaunchOptions, Supervisor};
use gpucast_interpreter::Options;
use gpucast_judge::judgement::Confinement;
use gpucast_judge::tolerance::Overrides;
use gpucast_judge::{Forecast, Phase, Request, Side, Verdict, judge};
use gpucast_model::Gpu;
use gpucast_render::judgement;

use crate::cli::judge::Judge;
use crate::failure::Failure;
use crate::output::{Output, Terminal};

/// Judges, writes the document to the standard output, and gives the verdict.
pub(super) fn judge_here(
    arguments: &Judge,
    confinement: Confinement,
    phase: &(dyn Fn(Phase) + Sync),
) -> Result<Verdict, Failure> {
    let parameters: Parameters = arguments.param.iter().cloned().collect();
    let supervisor = Unheard(Terminal::of_worker(None)?);
    let deadline = Instant::now().checked_add(Duration::from_secs(arguments.time_limit));
    let options =
        Options { deadline, memory_limit: Some(arguments.memory_limit), ..Options::default() };
    let gpu = arguments.gpu.as_deref().map(|gpu| gpu_of(gpu, arguments)).transpose()?;
    let for_gpu = |side| compiled_for(gpu.as_ref(), side);
    let candidate = for_gpu(candidate(arguments));
    let reference = reference(arguments).map(for_gpu);
    let (models, count_on) = (Models::read(&[], &[])?, CountOn::Target);
    let counts = Counts {
        machine: (&arguments.machine).into(),
        execution: ExecutionSettings { options, caches: CacheChoice::Auto, ..Default::default() },
        ..Counts::default()
    };
    let forecast = gpu.as_ref().map(|gpu| Forecast {
        gpu,
        models: &models,
        count_on: &count_on,
        counts: &counts,
        timing: arguments.measurement.timing(),
    });
    let request = Request {
        candidate: &candidate,
        reference: reference.as_ref(),
        expected: &arguments.expect,
        parameters: &parameters,
        seeds: arguments.seeds,
        tries_odd_sizes: !arguments.given_size_only,
        outputs: &arguments.result,
        tolerances: Overrides { rtol: arguments.rtol, atol: arguments.atol },
        options,
        forecast,
        phase,
        source_root: arguments.source_root.as_deref(),
        supervisor: &supervisor,
    };
    let mut judged = judge(&request)?;
    judged.confinement = Some(confinement);
    Output::open(None)?.write(&judgement::document(&judged, arguments.format)?)?;
    Ok(judged.verdict)
}

/// The same side, whose CUDA is compiled for the GPU that is asked about.
fn compiled_for(gpu: Option<&Gpu>, mut side: Side) -> Side {
    side.template.options.cuda.suggest_for(gpu.map_or(&[], from_ref));
    side
}

fn gpu_of(name: &str, arguments: &Judge) -> Result<Gpu, Failure> {
    let gpu = gpu_argument::find(&gpu_argument::library()?, name)?;
    let gpu = arguments.measurement.running().of(gpu)?;
    gpu_argument::device_model(&gpu)?;
    Ok(gpu)
}

/// A supervisor who passes on neither notes nor what kernels print: a judgement is about other
/// things, and candidates print without end.
struct Unheard(Terminal);

impl Supervisor for Unheard {
    fn should_stop(&self) -> bool {
        self.0.should_stop()
    }

    fn toolchain(&self) -> Option<&dyn Toolchain> {
        self.0.toolchain()
    }
}

/// The candidate. Options of a launch are the reference's alone where only the reference is a
/// module; a launch file refuses them otherwise.
pub(super) fn candidate(arguments: &Judge) -> Side {
    let template = arguments.launch.template();
    let is_for_reference = states_launch(&arguments.candidate)
        && arguments.reference.as_ref().is_some_and(|reference| !states_launch(reference));
    let template = if is_for_reference { without_launch(template) } else { template };
    side(&arguments.candidate, template, arguments)
}

/// The reference. A launch file takes none of the candidate's options.
pub(super) fn reference(arguments: &Judge) -> Option<Side> {
    let input = arguments.reference.as_ref()?;
    let template = match states_launch(input) {
        false => arguments.reference_launch(),
        true => arguments.reference_options(),
    };
    Some(side(input, template, arguments))
}

/// Returns true if a kernel comes with its launch.
fn states_launch(input: &str) -> bool {
    is_corpus_name(input) || Path::new(input).extension().is_some_and(|ending| ending == "toml")
}

fn is_corpus_name(input: &str) -> bool {
    gpucast_corpus::find(input).is_some()
}

/// How a kernel is compiled, and nothing of a launch.
fn without_launch(template: LaunchTemplate) -> LaunchTemplate {
    let LaunchOptions { cuda, arch, project, .. } = template.options;
    let options = LaunchOptions { cuda, arch, project, ..LaunchOptions::default() };
    LaunchTemplate { options, ..LaunchTemplate::default() }
}

fn side(input: &str, mut template: LaunchTemplate, arguments: &Judge) -> Side {
    // It is opened at each size, and compiled once.
    template.options.cuda = template.options.cuda.remembering();
    let size = arguments.size.filter(|_| is_corpus_name(input)).map(Into::into);
    Side { input: input.to_owned(), template, size }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_are_compiled_for_the_gpu_that_is_asked_about() {
        let library = gpu_argument::library().unwrap();
        let gpu = gpu_argument::find(&library, "gtx-1650").unwrap();
        let side = |gpu| {
            let template = LaunchTemplate::default();
            let side = Side { input: "k.cu".to_owned(), template, size: None };
            compiled_for(gpu, side).template.options.cuda.suggested
        };
        assert_eq!(side(Some(&gpu)).map(|target| target.sm), Some(75));
        assert_eq!(side(None), None);
    }
}
