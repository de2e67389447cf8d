//! Counts for models, with what is known of where they come from: executed here, or read from a file.

use std::path::Path;
use std::sync::Arc;

use gpucast_counters::KernelProfile;
use gpucast_counters::import;
use gpucast_counters::machine::BackEnd;
use gpucast_model::offload::CalibratedOffload;
use gpucast_model::{Conditions, Gpu, LaunchShape};

use crate::cli::{ExecutionOptions, Format, LaunchOptions, MachineOptions};
use crate::counting::{self, Counted, Counting, Extras};
use crate::execute::{self, Timing};
use crate::failure::{Failure, Report, SourceText, suggest};
use crate::input::plan::Plan;
use crate::input::{kernel_argument, kernel_name, module_text};
use crate::inspection::MachineFacts;
use crate::machine::Machine;
use crate::render::{diagnostic, number};
use crate::{gpu_argument, published};

/// The counts of one launch, or of one kernel of a file.
pub(crate) struct Source {
    pub(crate) profile: KernelProfile,
    pub(crate) conditions: Conditions,
    /// Where the counts come from, in words.
    pub(crate) origin: String,
    /// The name under which measurements of the same counts are published.
    pub(crate) published: Option<String>,
    /// What machine code in the same container says about the kernel.
    pub(crate) machine_code: Option<MachineFacts>,
    pub(crate) timing: Option<Timing>,
    /// Whether the file has counts of other kernels, too.
    pub(crate) one_of_several: bool,
}

/// What is executed, and how it is counted.
#[derive(Clone, Copy)]
pub(crate) struct Execution<'a> {
    /// The KERNEL of the command line.
    pub(crate) input: &'a str,
    pub(crate) launch: &'a LaunchOptions,
    pub(crate) machine: &'a MachineOptions,
    pub(crate) execution: &'a ExecutionOptions,
    /// Whether the counts between barriers are needed.
    pub(crate) stages: bool,
    /// How transfers are timed; they are counted if this is known.
    pub(crate) offload: Option<&'a Arc<CalibratedOffload>>,
    /// Whether the features of accesses and operations are needed.
    pub(crate) features: bool,
    /// Notes for people go to the standard error where the result is text.
    pub(crate) format: Format,
}

/// The counts of a file: those of all its kernels, or of the ones that `kernel` means.
pub(crate) fn from_metrics(path: &Path, kernel: Option<&str>) -> Result<Vec<Source>, Report> {
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

/// The counts that a paper printed of a corpus kernel.
pub(crate) fn from_publication(entry: &str) -> Result<Vec<Source>, Report> {
    let text = gpucast_corpus::published::metrics(entry)
        .ok_or_else(|| Report::new(format!("no counts of {entry} are published")))?;
    let profile = import::metrics_toml(text).map_err(|error| {
        Report::new(format!("the published counts of {entry}: {}", error.reason))
    })?;
    Ok(vec![Source {
        origin: format!("Counts published of {entry}."),
        published: Some(profile.kernel.clone()),
        profile,
        conditions: Conditions::default(),
        machine_code: None,
        timing: None,
        one_of_several: false,
    }])
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

/// Executes the kernel and counts as `counting_gpu` would.
pub(crate) fn executed(what: &Execution<'_>, counting_gpu: &Gpu) -> Result<Vec<Source>, Failure> {
    let device = gpu_argument::device_model(counting_gpu)?;
    let plan = kernel_argument::read(what.input, what.launch)?;
    if what.format == Format::Text {
        diagnostic::note(plan.note.as_deref());
    }
    let loaded = execute::load(&plan.module)?;
    let settings = execute::settings(what.execution)?;
    let kernels = plan.launches.iter().map(|launch| launch.kernel.as_str());
    let machine = Machine::new(what.machine, &loaded, device.capability, kernels)?;
    if what.format == Format::Text {
        diagnostic::note(machine.note.as_deref());
    }
    let transfers = what.offload.is_some();
    let extras = Extras { stages: what.stages, features: what.features, transfers, hashes: false };
    let counting = Counting { device, machine: &machine, extras };
    let counted = counting::count(&plan, &loaded, &settings, &counting)?;
    let source = |one: &Counted| {
        let timing = what.execution.timing.then_some(one.timing);
        let mut source = Source { timing, ..of_counted(one, &plan, counting_gpu) };
        source.conditions.offload = what.offload.cloned();
        source
    };
    Ok(counted.iter().map(source).collect())
}

/// The counts of a launch of `plan`, taken as `counting_gpu` would.
pub(crate) fn of_counted(counted: &Counted, plan: &Plan, counting_gpu: &Gpu) -> Source {
    let profile = &counted.profile;
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
            stages: counted.stages.clone().map(Arc::new),
            features: counted.features.clone().map(Arc::new),
            cost_models: None,
            counted_on: Some(counting_gpu.name.clone()),
            occupancy: None,
            transfers: counted.transfers,
            offload: None,
        },
        published: plan.corpus_name.and_then(published::name_of_entry),
        timing: None,
        machine_code: counted.machine_code.clone(),
        one_of_several: false,
        profile: profile.to_kernel_profile(),
    }
}
