//! Counts for models, with their origin: executed here, or read from a file.

use std::path::Path;
use std::sync::Arc;

use gpucast_counters::hierarchy::L2Contents;
use gpucast_counters::import;
use gpucast_counters::machine::BackEnd;
use gpucast_counters::metric;
use gpucast_counters::{DeviceModel, KernelProfile, LaunchProfile};
use gpucast_model::offload::CalibratedOffload;
use gpucast_model::{AskedTiming, Conditions, CountedOn, Extent, Gpu, LaunchShape, Needs};

use crate::choice::gpu_argument;
use crate::failure::{Failure, Report, SourceText, suggest};
use crate::input::plan::Plan;
use crate::input::{kernel_name, module_text};
use crate::inspection::MachineFacts;
use crate::run::counting::{self, Counted, Counting, Extras};
use crate::run::execute::{Loaded, Timing};
use crate::run::machine::Machine;
use crate::run::module;
use crate::run::rung::Rung;
use crate::run::supervisor::Supervisor;
use crate::settings::{ExecutionSettings, MachineSettings};
use crate::{number, published};

/// The counts of one launch, or of one kernel of a file.
pub struct Source {
    /// The counts.
    pub profile: KernelProfile,
    /// Other inputs that models need.
    pub conditions: Conditions,
    /// Origin of the counts, in words.
    pub origin: String,
    /// The name under which measurements of the same counts are published.
    pub published: Option<String>,
    /// Figures that machine code in the same container gives for the kernel.
    pub machine_code: Option<MachineFacts>,
    /// Duration of the execution, if it was asked for.
    pub timing: Option<Timing>,
    /// The L2's contents when the launch began, where it was executed.
    pub l2: Option<L2Contents>,
    /// True if the file has counts of other kernels, too.
    pub one_of_several: bool,
    /// The part of the launch that was executed, if any was.
    pub rung: Option<Rung>,
    /// The reason why no blocks are recorded, if counts of a part of the grid stand for the rest.
    pub without_blocks: Option<&'static str>,
}

impl Source {
    /// Takes the way of measuring that a user asks for, if there is one, in place of the launch
    /// file's.
    pub fn ask(&mut self, timing: AskedTiming) {
        self.conditions.timing = timing.over(self.conditions.timing);
    }

    /// True if the counts come from an execution that left caches out.
    #[must_use]
    pub fn lacks_caches(&self) -> bool {
        self.conditions.counted_on.is_some()
            && !self.profile.metrics.contains_key(metric!("l2_transactions"))
    }
}

/// Settings by which launches are executed and counted.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// Settings by which PTX becomes machine instructions.
    pub machine: MachineSettings,
    /// Limits and the order of CTAs.
    pub execution: ExecutionSettings,
    /// What models need beyond metrics.
    pub needs: Needs,
    /// Model that times transfers; they are counted if it is present.
    pub offload: Option<Arc<CalibratedOffload>>,
}

/// The counts of a file: those of all its kernels, or of the ones that `kernel` means.
pub fn from_metrics(path: &Path, kernel: Option<&str>) -> Result<Vec<Source>, Report> {
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
        l2: None,
        one_of_several: several,
        rung: None,
        without_blocks: None,
    };
    Ok(imported.profiles.into_iter().map(source).collect())
}

/// The counts that a paper printed of a corpus kernel.
pub fn from_publication(entry: &str) -> Result<Vec<Source>, Report> {
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
        l2: None,
        one_of_several: false,
        rung: None,
        without_blocks: None,
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

/// The counts of one launch, instruction by instruction, and as models read them.
pub struct Launched {
    /// The tables, the recorded CTAs, and the facts of the instructions.
    pub counted: Counted,
    /// The same for models.
    pub source: Source,
}

/// Executes a plan's launches and counts as `counting_gpu` would.
///
/// # Errors
///
/// Errors of the module, of a launch or of the kernel; a GPU that cannot be counted on;
/// [`Failure::Stopped`] if the supervisor says so.
pub fn counted(
    plan: &Plan,
    counting_gpu: &Gpu,
    counts: &Counts,
    supervisor: &dyn Supervisor,
) -> Result<Vec<Source>, Failure> {
    let launches = launched(plan, &module::load(plan)?, counting_gpu, counts, supervisor)?;
    Ok(launches.into_iter().map(|launch| launch.source).collect())
}

/// As [`counted`], with the tables of the counts. `loaded` is the plan's module.
///
/// # Errors
///
/// As [`counted`].
pub fn launched(
    plan: &Plan,
    loaded: &Loaded,
    counting_gpu: &Gpu,
    counts: &Counts,
    supervisor: &dyn Supervisor,
) -> Result<Vec<Launched>, Failure> {
    let on = CountingGpu { gpu: counting_gpu, needs: counts.needs };
    let mut each = launched_each(plan, loaded, &[on], counts, supervisor);
    each.pop().unwrap_or(Err(Failure::Stopped))
}

/// A GPU whose counters are modelled.
#[derive(Clone, Copy, Debug)]
pub struct CountingGpu<'a> {
    /// The GPU.
    pub gpu: &'a Gpu,
    /// What models need beyond metrics.
    pub needs: Needs,
}

/// As [`launched`], for several GPUs in their order, with as few executions as give the same. Each
/// GPU has the needs beside it instead of those of `counts`.
pub fn launched_each(
    plan: &Plan,
    loaded: &Loaded,
    gpus: &[CountingGpu<'_>],
    counts: &Counts,
    supervisor: &dyn Supervisor,
) -> Vec<Result<Vec<Launched>, Failure>> {
    let machine = |one: &CountingGpu<'_>| -> Result<(DeviceModel, Machine), Failure> {
        let device = gpu_argument::device_model(one.gpu)?;
        plan.note.iter().for_each(|note| supervisor.note(note));
        let kernels = plan.launches.iter().map(|launch| launch.kernel.as_str());
        let toolchain = supervisor.toolchain();
        let machine = Machine::new(&counts.machine, loaded, device.capability, kernels, toolchain)?;
        machine.note.iter().for_each(|note| supervisor.note(note));
        Ok((device, machine))
    };
    let machines: Vec<Result<(DeviceModel, Machine), Failure>> = gpus.iter().map(machine).collect();
    let execution = &counts.execution;
    let made =
        gpus.iter().zip(&machines).filter_map(|(one, made)| Some((one, made.as_ref().ok()?)));
    let countings: Vec<Counting<'_>> = made
        .map(|(one, (device, machine))| Counting {
            device: *device,
            machine,
            extras: Extras { transfers: counts.offload.is_some(), ..Extras::of(one.needs) },
            rung: execution.counting,
            sample: execution.sample(),
            caches: execution.caches,
            supervisor,
        })
        .collect();
    let options = &counts.execution.options;
    // How long each takes can only be said of separate executions.
    let counted: Vec<Result<Vec<Counted>, Failure>> = match counts.execution.timing {
        true => countings
            .iter()
            .map(|counting| counting::count(plan, loaded, options, counting))
            .collect(),
        false => counting::count_each(plan, loaded, options, &countings),
    };
    drop(countings);
    let launched = |one: Counted, gpu: &Gpu| {
        let timing = counts.execution.timing.then_some(one.timing);
        let mut source = Source { timing, ..of_counted(&one, plan, gpu) };
        source.conditions.offload.clone_from(&counts.offload);
        Launched { counted: one, source }
    };
    let mut counted = counted.into_iter();
    let each = machines.into_iter().zip(gpus).map(|(made, on)| {
        made?;
        let counted = counted.next().unwrap_or(Err(Failure::Stopped))?;
        Ok(counted.into_iter().map(|launch| launched(launch, on.gpu)).collect())
    });
    each.collect()
}

/// The counts of a launch of `plan`, taken as `counting_gpu` would.
pub fn of_counted(counted: &Counted, plan: &Plan, counting_gpu: &Gpu) -> Source {
    let published = plan.corpus_name.and_then(published::name_of_entry);
    let mut source = Source { published, l2: Some(plan.l2), ..of_launch(counted, counting_gpu) };
    source.conditions.timing = plan.timing;
    source
}

/// The requests that went through the caches, if some stand for all.
pub fn replayed_part(profile: &LaunchProfile) -> Option<String> {
    let lines = profile.lines_per_replayed();
    let lines = lines.map(|lines| format!("one line of memory in {lines}"));
    match (profile.is_of_windows(), lines) {
        (true, None) => Some("windows of the grid".to_owned()),
        (true, Some(lines)) => Some(format!("{lines}, in windows of the grid")),
        (false, lines) => lines,
    }
}

/// The counts of a launch that nobody has published, taken as `counting_gpu` would.
pub fn of_launch(counted: &Counted, counting_gpu: &Gpu) -> Source {
    let profile = &counted.profile;
    let blocks: u128 = profile.grid.iter().map(|&count| u128::from(count)).product();
    let threads_per_block: u64 = profile.block.iter().map(|&count| u64::from(count)).product();
    let machine_code = counted.machine_code.as_ref();
    let machine_code = machine_code.map_or(String::new(), |facts| format!(" The {facts}."));
    let instructions =
        match profile.machine.as_ref().map(|machine| (&machine.back_end, &machine.target)) {
            Some((BackEnd::Ptxas { version }, target)) => {
                format!("machine instructions are those of ptxas {version} for {target}")
            }
            Some((BackEnd::Rules, target)) => {
                format!("machine instructions are estimated by rules for {target}")
            }
            None => "PTX instructions stand for machine instructions".to_owned(),
        };
    let caches = match (profile.has_caches(), replayed_part(profile)) {
        (true, None) => format!("caches are modelled as on the {}", counting_gpu.name),
        (true, Some(part)) => format!(
            "caches are modelled as on the {}. They see {part}: what depends on them is estimated, \
             and `--caches full` counts it",
            counting_gpu.name
        ),
        (false, _) => "caches are left out".to_owned(),
    };
    let executing = match (counted.counted_by.sampled, counted.counted_by.sizes) {
        (Some(sampled), _) => format!("executing {} of", number::count(sampled)),
        (None, Some(sizes)) => {
            format!("formulas, which {} other sizes gave, of", number::count(sizes))
        }
        (None, None) => "executing".to_owned(),
    };
    let in_time =
        if counted.counted_by.is_cut_short { ", as many as its time allowed" } else { "" };
    Source {
        origin: format!(
            "Counts from {executing} {} blocks of {} threads on the CPU{in_time}: {instructions}, \
             and {caches}.{machine_code}",
            number::count(blocks),
            number::count(threads_per_block),
        ),
        conditions: Conditions {
            launch: Some(LaunchShape {
                spilled_registers: profile.spilled_registers(),
                ..LaunchShape::of(&profile.requested(), blocks)
            }),
            evidence: counted.evidence.clone(),
            machine: profile.machine.as_ref().map(|machine| machine.back_end.clone()),
            cost_models: None,
            counted_on: gpu_argument::device_model(counting_gpu)
                .ok()
                .map(|device| CountedOn { gpu: counting_gpu.name.clone(), device }),
            occupancy: None,
            transfers: counted.transfers,
            offload: None,
            timing: None,
            extent: Extent::Whole,
        },
        published: None,
        timing: None,
        machine_code: counted.machine_code.clone(),
        l2: None,
        one_of_several: false,
        rung: Some(counted.counted_by.rung),
        without_blocks: match (profile.is_of_sample(), profile.machine.is_some()) {
            (true, _) => Some("a sample of the grid records no blocks"),
            (false, true) if replayed_part(profile).is_some() => Some(
                "the kinds of CTAs change too often along the grid to be recorded in a part of it",
            ),
            (false, _) => None,
        },
        profile: profile.to_kernel_profile(),
    }
}
