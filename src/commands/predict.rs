//! `gpucast predict`: the main job. Execute and count, or read counts; then predict for each GPU.

use std::path::Path;
use std::sync::Arc;

use gpucast_counters::KernelProfile;
use gpucast_counters::import;
use gpucast_counters::machine::BackEnd;
use gpucast_model::{
    Conditions, Gpu, GpuLibrary, LaunchShape, Model, ModelError, Prediction, Reference,
    predict_with_reference,
};

use crate::cli::{Format, Predict};
use crate::counting::{Counting, Extras};
use crate::execute::Timing;
use crate::failure::{Failure, Report, SourceText, suggest};
use crate::gpu_argument;
use crate::input::{kernel_argument, kernel_name, module_text};
use crate::inspection::MachineFacts;
use crate::machine::Machine;
use crate::render::diagnostic;
use crate::render::number;
use crate::render::output::Output;
use crate::render::prediction::{self, KernelView, PredictionView};
use crate::{counting, execute, published};

/// Counts with what is known of where they come from.
struct Source {
    profile: KernelProfile,
    conditions: Conditions,
    /// In words.
    origin: String,
    /// The name under which measurements of the same counts are published.
    published: Option<String>,
    /// What machine code in the same container says about the kernel.
    machine_code: Option<MachineFacts>,
    timing: Option<Timing>,
    /// Whether the file has counts of other kernels, too.
    one_of_several: bool,
}

/// A GPU on which the time is known: given, or to be looked up.
struct Measured {
    gpu: Gpu,
    milliseconds: Option<f64>,
}

pub(crate) fn run(arguments: Predict) -> Result<(), Failure> {
    // Everything that is cheap to refuse is refused before anything is executed.
    let model = model(&arguments.model)?;
    let library = gpu_argument::library()?;
    let gpus = arguments
        .gpu
        .iter()
        .map(|name| gpu_argument::find(&library, name))
        .collect::<Result<Vec<Gpu>, Report>>()?;
    let measured = arguments
        .reference
        .as_deref()
        .map(|text| reference(text, |name| gpu_argument::find(&library, name)))
        .transpose()?;
    let mut output = Output::open(arguments.output.output.clone())?;
    let sources = match (&arguments.from_metrics, &arguments.input) {
        (Some(path), _) => {
            if let Some(option) = arguments.launch.first_of_execution() {
                let message =
                    format!("{option} describes an execution, and --from-metrics is none");
                return Err(Failure::Usage(Report::new(message)));
            }
            from_metrics(path, arguments.launch.kernel.as_deref())?
        }
        (None, Some(input)) => executed(input, &arguments, &library)?,
        (None, None) => {
            return Err(Failure::Usage(Report::new("give a KERNEL or --from-metrics FILE")));
        }
    };
    let kernels = sources
        .into_iter()
        .map(|source| predict(model, source, &gpus, measured.as_ref()))
        .collect::<Result<Vec<KernelView>, Report>>()?;
    output.write(&prediction::document(&kernels, arguments.output.format)?)
}

fn model(name: &str) -> Result<&'static dyn Model, Failure> {
    <dyn Model>::by_name(name).map_err(|_| {
        let known = <dyn Model>::ALL.iter().map(|model| model.name());
        let report = Report::new(format!("there is no model named `{name}`"));
        Failure::Usage(report.maybe_hint(suggest(name, known)))
    })
}

/// Reads `GPU` or `GPU=MS`.
fn reference(text: &str, find: impl Fn(&str) -> Result<Gpu, Report>) -> Result<Measured, Failure> {
    let Some((name, time)) = text.split_once('=') else {
        return Ok(Measured { gpu: find(text)?, milliseconds: None });
    };
    match time.parse::<f64>() {
        Ok(time) if time.is_finite() && time > 0.0 => {
            Ok(Measured { gpu: find(name)?, milliseconds: Some(time) })
        }
        _ => Err(Failure::Usage(
            Report::new(format!("`{time}` is not a time in milliseconds"))
                .hint("write --reference gtx-480=3.25"),
        )),
    }
}

/// The counts of a file: those of all its kernels, or of the ones that `kernel` means.
fn from_metrics(path: &Path, kernel: Option<&str>) -> Result<Vec<Source>, Report> {
    let text = module_text::read_text(path)?;
    let mut imported = import::read(&text.text).map_err(|error| in_metrics(&text, &error))?;
    if let Some(wanted) = kernel {
        let names: Vec<String> =
            imported.profiles.iter().map(|profile| profile.kernel.clone()).collect();
        let known: Vec<&str> = names.iter().map(String::as_str).collect();
        let meant = kernel_name::meant(wanted, &known);
        if meant.is_empty() {
            let message = format!("{} has no counts of a kernel `{wanted}`", path.display());
            return Err(Report::new(message).maybe_hint(suggest(wanted, known)));
        }
        imported.profiles.retain(|profile| meant.contains(&profile.kernel.as_str()));
    }
    let several = imported.profiles.len() > 1;
    let source = |profile: KernelProfile| Source {
        origin: origin_of_measurement(path, &profile),
        published: published::name_of_profile(&profile),
        profile,
        conditions: Conditions::default(),
        machine_code: None,
        timing: None,
        one_of_several: several,
    };
    Ok(imported.profiles.into_iter().map(source).collect())
}

fn origin_of_measurement(path: &Path, profile: &KernelProfile) -> String {
    let origin = format!("Counts read from {}", path.display());
    match &profile.measured_on {
        Some(gpu) => format!("{origin}, measured on a {gpu}."),
        None => format!("{origin}."),
    }
}

fn in_metrics(source: &SourceText, error: &import::ImportError) -> Report {
    let range = gpu_argument::range_of(source, error.position);
    source.report(range, error.reason.to_string()).maybe_hint(error.hint())
}

fn executed(
    input: &str,
    arguments: &Predict,
    library: &GpuLibrary,
) -> Result<Vec<Source>, Failure> {
    let counting_gpu = gpu_argument::find(library, &arguments.count_on)?;
    let device = gpu_argument::device_model(&counting_gpu)?;
    let plan = kernel_argument::read(input, &arguments.launch)?;
    if arguments.output.format == Format::Text {
        diagnostic::note(plan.note.as_deref());
    }
    let loaded = execute::load(&plan.module)?;
    let settings = execute::settings(&arguments.execution)?;
    let kernels = plan.launches.iter().map(|launch| launch.kernel.as_str());
    let machine = Machine::new(&arguments.machine, &loaded, device.capability, kernels)?;
    if arguments.output.format == Format::Text {
        diagnostic::note(machine.note.as_deref());
    }
    let extras = Extras { stages: model(&arguments.model)?.reads_stages(), hashes: false };
    let counting = Counting { device, machine: &machine, extras };
    let counted = counting::count(&plan, &loaded, &settings, &counting)?;
    let published = plan.corpus_name.and_then(published::name_of_entry);
    let source = |counted: counting::Counted| {
        let profile = counted.profile;
        let blocks = profile.grid.iter().map(|&count| u64::from(count)).product();
        let threads_per_block = profile.block.iter().map(|&count| u64::from(count)).product();
        let machine_code = counted.machine_code.as_ref();
        let machine_code = machine_code.map_or(String::new(), |facts| format!(" The {facts}."));
        let instructions = match profile.machine.as_ref().map(|one| (&one.back_end, &one.target)) {
            Some((BackEnd::Ptxas { version }, target)) => {
                format!("machine instructions are those of ptxas {version} for {target}")
            }
            Some((BackEnd::Rules, target)) => {
                format!("machine instructions are estimated by rules for {target}")
            }
            None => "PTX instructions stand for machine instructions".to_owned(),
        };
        Source {
            origin: format!(
                "Counts from executing {} blocks of {} threads on the CPU: {instructions}, and \
                 caches are modelled as on a {}.{machine_code}",
                number::count(blocks),
                number::count(threads_per_block),
                counting_gpu.name
            ),
            conditions: Conditions {
                launch: Some(LaunchShape {
                    blocks,
                    threads_per_block,
                    shared_bytes: profile.cta_shape().shared_bytes,
                    registers: profile.cta_shape().registers_per_thread,
                }),
                stages: counted.stages.map(Arc::new),
            },
            published: published.clone(),
            timing: arguments.execution.timing.then_some(counted.timing),
            machine_code: counted.machine_code,
            one_of_several: false,
            profile: profile.to_kernel_profile(),
        }
    };
    Ok(counted.into_iter().map(source).collect())
}

fn predict(
    model: &dyn Model,
    source: Source,
    gpus: &[Gpu],
    measured: Option<&Measured>,
) -> Result<KernelView, Report> {
    let predictions = gpus
        .iter()
        .map(|gpu| {
            let prediction = predict_one(model, &source, gpu, measured)?;
            let published = source
                .published
                .as_ref()
                .and_then(|name| published::measurement(name, &gpu.name, prediction.time_ms));
            Ok(PredictionView {
                prediction,
                published,
                machine_code: source.machine_code.clone(),
                timing: source.timing,
                gpu: gpu.clone(),
            })
        })
        .collect::<Result<Vec<PredictionView>, Report>>()?;
    Ok(KernelView { profile: source.profile, origin: source.origin, predictions })
}

fn predict_one(
    model: &dyn Model,
    source: &Source,
    gpu: &Gpu,
    measured: Option<&Measured>,
) -> Result<Prediction, Report> {
    let Source { profile, conditions, .. } = source;
    let prediction = match measured {
        None => model.predict(profile, gpu, conditions),
        Some(Measured { gpu: on, milliseconds }) => {
            let published = source.published.as_deref();
            let looked_up = || published::measured(published?, &on.name).map(|(time, _)| time);
            let measured_ms = milliseconds.or_else(looked_up).ok_or_else(|| {
                Report::new(format!(
                    "no time of kernel {} on {} is published",
                    profile.kernel, on.name
                ))
                .hint(format!("give the time that you measured: --reference {}=MS", on.name))
            })?;
            let reference = Reference { gpu: on, measured_ms };
            predict_with_reference(model, profile, gpu, conditions, &reference)
        }
    };
    prediction.map_err(|error| {
        let hint = match &error {
            ModelError::MissingMetrics { .. } if source.one_of_several => {
                Some("profile with these metrics, or choose other kernels with --kernel")
            }
            ModelError::MissingMetrics { metrics, .. } if metrics.len() > 1 => {
                Some("profile with these metrics, or execute the kernel here")
            }
            ModelError::MissingMetrics { .. } => {
                Some("profile with this metric, or execute the kernel here")
            }
            ModelError::MissingParameter { .. } => Some("add the figure to the GPU's file"),
            _ => None,
        };
        Report::new(error.to_string()).maybe_hint(hint.map(str::to_owned))
    })
}
