//! Executes a plan under the counters.
//!
//! The counts are those of one GPU, as a rule of a GTX 480, on which the published ones were taken.
//! The models use counts from one GPU to predict others. The plan gives the L2's content before a
//! launch ([`Plan::l2`]). A launch's metrics are the means over its repetitions, as nvprof's are.
//!
//! The addresses of a launch do not depend on the GPU whose counters are modelled. So one execution
//! serves several GPUs: each of several counters sends the requests through the caches of its GPU,
//! and coalesces accesses by that GPU's rules. One GPU is several of which there is one.

mod gpu;
mod host_launch;
mod invocation;
mod observer;
pub(crate) mod rebuilt;
mod recurrence;
mod rehearsal;
mod together;
mod transferred;
mod watch;

use std::collections::BTreeMap;

use gpucast_counters::device;
use gpucast_counters::export::Ranges;
use gpucast_counters::features::FeatureCounter;
use gpucast_counters::stages::StageCounter;
use gpucast_counters::trace::TraceLimits;
use gpucast_counters::{
    ComputeCapability, Counter, DeviceModel, LaunchProfile, SampleSize, WindowSizes,
};
use gpucast_interpreter::{ClassEffort, Options};
use gpucast_model::offload::Transfers;
use gpucast_model::{Evidence, Needs};

pub use self::host_launch::{HostLaunch, HostLaunchError, stand_in};
use self::observer::Counts;
pub use self::together::{MOST_TOGETHER, count_each};
use self::watch::Count;
use crate::failure::{Failure, Report};
use crate::input::plan::{LoadCaching, Plan};
use crate::inspection::MachineFacts;
use crate::run::execute::{self, Loaded, Timing};
use crate::run::machine::Machine;
use crate::run::rung::CountedBy;
use crate::run::sliced::{self, NotSliced, SharedMemory, Sliced};
use crate::run::supervisor::Supervisor;
use crate::settings::{CacheChoice, RungChoice};

/// The counts of a launch.
pub struct Counted {
    /// Metrics are means over the invocations; the tables are their sums.
    pub profile: LaunchProfile,
    /// The least and the greatest value of each metric over the invocations.
    pub ranges: Ranges,
    /// What else models and advice read, as far as it was asked for.
    pub evidence: Evidence,
    /// Duration of the execution.
    pub timing: Timing,
    /// Reason why CTAs ran one after the other, if they did.
    pub ordered_because: Option<String>,
    /// True if CTAs were watched for one that depends on their order.
    pub watched: bool,
    /// Figures that machine code in the same container gives for the kernel.
    pub machine_code: Option<MachineFacts>,
    /// Copies between host and device that the launch would need, if they were asked for.
    pub transfers: Option<Transfers>,
    /// SHA-256 of each buffer argument after the launch, in hexadecimal; empty unless asked for,
    /// and unless everything was executed.
    pub buffers_sha256: BTreeMap<String, String>,
    /// The part of the launch that was executed to count it.
    pub counted_by: CountedBy,
}

/// Counts to make besides the metrics.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extras {
    /// The hashes of the buffers.
    pub hashes: bool,
    /// The stages between barriers.
    pub stages: bool,
    /// Bytes that go to the GPU and come back.
    pub transfers: bool,
    /// The features of accesses and operations.
    pub features: bool,
    /// The order of events in some CTAs ([`LaunchProfile::trace`]); without caches there is none.
    /// Of several repetitions the first two are traced: the second one finds caches as all later
    /// ones do.
    pub trace: Option<TraceLimits>,
    /// Only what was executed, without machine instructions, which follow from it.
    pub only_executed: bool,
    /// The sizes of windows ([`CacheChoice::Auto`] and [`CacheChoice::Windows`]).
    pub windows: WindowSizes,
}

impl Extras {
    /// What models need beyond metrics.
    pub fn of(needs: Needs) -> Self {
        let Needs { stages, features, order } = needs;
        let trace = order.then(TraceLimits::default);
        Self { stages, features, trace, ..Self::default() }
    }
}

/// Settings by which launches are counted.
#[derive(Clone, Copy)]
pub struct Counting<'a> {
    /// The GPU whose counters are modelled.
    pub device: DeviceModel,
    /// Back end that supplies the machine instructions.
    pub machine: &'a Machine,
    /// Counts to make besides the metrics.
    pub extras: Extras,
    /// How much of each launch is executed.
    pub rung: RungChoice,
    /// The sample of CTAs to execute where they do not fall into classes, or are not asked to.
    pub sample: Option<SampleSize>,
    /// Requests that go through the caches.
    pub caches: CacheChoice,
    /// Caller that is told of the run's progress.
    pub supervisor: &'a dyn Supervisor,
}

/// Counts every launch of a plan, or takes the counts that the supervisor has kept of an equal one.
pub fn count(
    plan: &Plan,
    loaded: &Loaded,
    options: &Options,
    counting: &Counting<'_>,
) -> Result<Vec<Counted>, Failure> {
    match counting.supervisor.kept_counts() {
        Some(kept) => kept.count(plan, loaded, options, counting),
        None => count_anew(plan, loaded, options, counting),
    }
}

/// Executes and counts every launch of a plan.
pub(super) fn count_anew(
    plan: &Plan,
    loaded: &Loaded,
    options: &Options,
    counting: &Counting<'_>,
) -> Result<Vec<Counted>, Failure> {
    let mut counted = in_one_execution(plan, loaded, options, &[*counting])?;
    Ok(counted.pop().unwrap_or_default())
}

/// Executes every launch of a plan once, and counts it as each of several GPUs does. The GPUs
/// differ in nothing but themselves and their machine instructions.
fn in_one_execution(
    plan: &Plan,
    loaded: &Loaded,
    options: &Options,
    countings: &[Counting<'_>],
) -> Result<Vec<Vec<Counted>>, Failure> {
    let asked = countings.first().map(|counting| counting.extras).unwrap_or_default();
    let count = match (asked.stages, asked.features) {
        (false, false) => count_with::<Counter>,
        (true, false) => count_with::<StageCounter>,
        (false, true) => count_with::<(Counter, FeatureCounter)>,
        (true, true) => count_with::<(StageCounter, FeatureCounter)>,
    };
    count(plan, loaded, options, countings)
}

/// The GPU as code compiled with the plan's `-dlcm` finds it.
///
/// `cg` sends plain loads past the first level. `ca` makes the L1 of capabilities 3.5, 3.7 and 5.x
/// keep global loads (CUDA C Programming Guide 11.7, K.3.3 and K.4.3). By default it does not keep
/// them.
fn with_load_caching(mut device: DeviceModel, plan: &Plan) -> DeviceModel {
    let ComputeCapability { major, minor } = device.capability;
    let may_be_asked = major == 5 || (major == 3 && minor >= 5);
    match plan.load_caching {
        Some(LoadCaching::Cg) => device.load_caching = device::LoadCaching::L2Only,
        Some(LoadCaching::Ca) if may_be_asked => {
            if let Some(l1) = &mut device.first_level.l1 {
                l1.keeps.global = true;
            }
        }
        Some(LoadCaching::Ca) | None => {}
    }
    device
}

fn count_with<C: Counts>(
    plan: &Plan,
    loaded: &Loaded,
    options: &Options,
    countings: &[Counting<'_>],
) -> Result<Vec<Vec<Counted>>, Failure> {
    let plan = &*rehearsal::rehearsed(plan);
    let of_plan = |counting: &Counting<'_>| with_load_caching(counting.device, plan);
    let countings: Vec<Counting<'_>> = countings
        .iter()
        .map(|counting| Counting { device: of_plan(counting), ..*counting })
        .collect();
    let Some(counting) = countings.first() else { return Ok(Vec::new()) };
    let supervisor = counting.supervisor;
    let mut shared = SharedMemory::Apart;
    let because = loop {
        match slice(plan, loaded, options, counting, shared)? {
            Ok(Sliced { mut memory, programs, followed, is_guess, unstated }) => {
                unstated.iter().for_each(|note| supervisor.note(note));
                let mut watch = Count::<C>::of_slices(plan, &countings, counting, followed);
                let memory = &mut memory;
                let outcome = execute::launch(
                    plan, loaded, programs, memory, options, supervisor, &mut watch,
                );
                match watch.not_computed() {
                    None => return outcome.map(|()| watch.into_counted()),
                    Some(_) if is_guess => shared = SharedMemory::Together,
                    Some(because) => break because.to_owned(),
                }
            }
            Err(because) => break because,
        }
    };
    if matches!(counting.rung, RungChoice::Slice | RungChoice::Classes) {
        let message = format!("counts need more than a slice of the launches: {because}");
        return Err(Report::new(message).hint("--counting auto executes everything then").into());
    }
    if counting.sample.is_some() {
        supervisor.note(&format!("nothing is sampled: {because}"));
    }
    let mut memory = execute::memory(plan, loaded)?;
    let mut watch = Count::<C>::of_everything(plan, &countings, counting, because);
    execute::execute(plan, loaded, &mut memory, options, supervisor, &mut watch)?;
    Ok(watch.into_counted())
}

/// The launches of a plan as slices, or the reason why everything has to be executed.
fn slice(
    plan: &Plan,
    loaded: &Loaded,
    options: &Options,
    counting: &Counting<'_>,
    shared: SharedMemory,
) -> Result<Result<Sliced, String>, Failure> {
    if counting.rung == RungChoice::Full {
        return Ok(Err("it was asked for".to_owned()));
    }
    if counting.extras.transfers {
        let because = "the bytes that come back are those of buffers that have changed";
        return Ok(Err(because.to_owned()));
    }
    let programs = execute::programs(plan, loaded)?;
    match sliced::slice(plan, loaded, &programs, options, effort(counting.rung), shared) {
        Ok(sliced) => Ok(Ok(sliced)),
        Err(NotSliced::Because(reason)) => Ok(Err(reason)),
        Err(NotSliced::Failed(report)) => Err(report.into()),
    }
}

/// The effort to find classes of CTAs on a rung.
fn effort(rung: RungChoice) -> Option<ClassEffort> {
    match rung {
        // Sizes that have no formulas are counted like this.
        RungChoice::Auto | RungChoice::Formulas => Some(ClassEffort::WhilePaying),
        RungChoice::Classes => Some(ClassEffort::ToTheEnd),
        RungChoice::Slice | RungChoice::Sample | RungChoice::Full => None,
    }
}
