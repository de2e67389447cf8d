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

pub use self::host_launch::{HostLaunch, HostLaunchError};
use self::observer::Counts;
pub use self::together::{MOST_TOGETHER, count_each};
use self::watch::Count;
use crate::failure::{Failure, Report};
use crate::input::plan::{LoadCaching, Plan};
use crate::inspection::MachineFacts;
use crate::run::execute::{self, Loaded, Timing};
use crate::run::machine::Machine;
use crate::run::rung::CountedBy;
use crate::run::sliced::{self, NotSliced, Sliced};
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

/// Executes every launch of a plan once, and counts it as each of several GPUs does. The GPUs differ
/// in nothing but themselves and their machine instructions.
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
    counting: &Counting<'_>,
) -> Result<Vec<Counted>, Failure> {
    let plan = &*rehearsal::rehearsed(plan);
    let counting = &Counting { device: with_load_caching(counting.device, plan), ..*counting };
    let because = match slice(plan, loaded, options, counting)? {
        Ok(Sliced { mut memory, programs, followed }) => {
            let mut watch = Count::<C>::of_slices(plan, &countings, counting, followed);
            let memory = &mut memory;
            let outcome =
                execute::launch(plan, loaded, programs, memory, options, supervisor, &mut watch);
            match watch.not_computed() {
                None => return outcome.map(|()| watch.into_counted()),
                Some(because) => because.to_owned(),
            }
        }
        Err(because) => because,
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
) -> Result<Result<Sliced, String>, Failure> {
    if counting.rung == RungChoice::Full {
        return Ok(Err("it was asked for".to_owned()));
    }
    if counting.extras.transfers {
        let because = "the bytes that come back are those of buffers that have changed";
        return Ok(Err(because.to_owned()));
    }
    let programs = execute::programs(plan, loaded)?;
    match sliced::slice(plan, loaded, &programs, options, effort(counting.rung)) {
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

struct Count<'a, C> {
    plan: &'a Plan,
    counting: &'a Counting<'a>,
    /// Repetitions of the launch that is running.
    repetitions: Mean,
    /// The buffers that the launch takes, if transfers are counted.
    before: Option<Transferred>,
    counted: Vec<Counted>,
    /// The plan's first launches, whose counts are dropped: those of a rehearsal.
    rehearsed: usize,
    /// The L2 as the launch or copy before left it.
    l2: Option<L2>,
    counted_by: CountedBy,
    /// The programs of the plan's launches for CTAs that stand for others, or the reasons why none
    /// does; empty where everything is executed.
    followed: Vec<Result<Program, String>>,
    /// True if the programs of the plan's launches are slices.
    is_sliced: bool,
    /// The launch that is running.
    launch: usize,
    /// The launch of which it was said that it is not sampled.
    told: Option<usize>,
    /// True while a sample of the launch is executed.
    is_sampling: bool,
    /// Set if a slice has turned out to leave out too much, and says where.
    not_computed: Option<String>,
    counter: PhantomData<C>,
}

impl<'a, C> Count<'a, C> {
    fn new(plan: &'a Plan, counting: &'a Counting<'a>, counted_by: CountedBy) -> Self {
        Self {
            plan,
            counting,
            repetitions: Mean::default(),
            before: None,
            counted: Vec::new(),
            rehearsed: rehearsal::dropped(plan),
            l2: None,
            counted_by,
            followed: Vec::new(),
            is_sliced: false,
            launch: 0,
            told: None,
            is_sampling: false,
            not_computed: None,
            counter: PhantomData,
        }
    }
}

impl<C> Count<'_, C> {
    /// Says once of a launch why no sample of it is taken.
    fn tell(&mut self, because: &str) {
        if self.told.replace(self.launch) != Some(self.launch) {
            let kernel = &self.plan.launches[self.launch].kernel;
            self.counting.supervisor.note(&format!("{kernel} is not sampled: {because}"));
        }
    }

    /// The options of a launch that is sampled. A sample takes what time there is. So each of the
    /// launches that are left, their repetitions counted, has an equal share of it.
    fn with_share(&self, options: &Options) -> Options {
        let share = |deadline: Instant| {
            let launches = self.plan.launches.iter().skip(self.launch);
            let left: u64 = launches.map(|one| u64::from(one.repeat)).sum();
            let left = left.saturating_sub(self.repetitions.invocations()).max(1);
            let (now, left) = (Instant::now(), u32::try_from(left).unwrap_or(u32::MAX));
            now + deadline.saturating_duration_since(now) / left
        };
        Options { deadline: options.deadline.map(share), ..*options }
    }

    /// Remembers how a repetition was sampled, and says if that was cut short.
    fn sampled(&mut self, sampled: &BySample, because: Option<String>) {
        let BySample { executed, is_cut_short, .. } = *sampled;
        let before = Some(&self.counted_by).filter(|_| self.repetitions.invocations() > 0);
        let was_cut_short = before.is_some_and(|one| one.is_cut_short);
        // Of several repetitions the smallest sample.
        let fewest = before.and_then(|one| one.sampled).map_or(executed, |one| one.min(executed));
        if is_cut_short && !was_cut_short {
            let kernel = &self.plan.launches[self.launch].kernel;
            self.counting.supervisor.note(&format!(
                "the sample of {kernel} was cut short: its time was over after {} CTAs",
                number::count(executed)
            ));
        }
        let because = because.unwrap_or_else(|| "it was asked for".to_owned());
        let drawn = before.and_then(|one| one.drawn);
        let by = CountedBy::sample(fewest, is_cut_short || was_cut_short, because);
        self.counted_by = CountedBy { drawn, ..by };
    }
}

impl<C: Counts> Watch for Count<'_, C> {
    type Observer = C;

    fn launching(&mut self, index: usize, memory: &DeviceMemory) {
        self.launch = index;
        self.is_sampling = false;
        let has_caches = self.counting.caches != CacheChoice::None;
        if has_caches && self.l2.is_none() {
            self.l2 = match self.plan.l2 {
                L2Contents::Warm => Some(warmed(self.plan, &self.counting.device, memory)),
                L2Contents::Overwritten => {
                    let mut l2 = L2::new(self.counting.device.l2_geometry());
                    l2.overwrite();
                    Some(l2)
                }
                L2Contents::Cold | L2Contents::Keep | L2Contents::Repeated => None,
            };
        }
        if self.counting.extras.transfers {
            self.before = Some(Transferred::of(self.plan, index, memory));
        }
    }

    fn is_sliced(&self) -> bool {
        self.is_sliced
    }

    fn begin(&mut self, program: &Program, launch: &Launch) -> C {
        let l2 = (self.plan.l2, self.l2.take());
        let times = times(self.counting, self.plan);
        let is_counted = self.launch >= self.rehearsed;
        let traced = is_counted && self.repetitions.is_traced();
        counter(self.counting, program, launch, l2, traced, times)
    }

    fn without_executing(
        &mut self,
        counter: &mut C,
        program: &Program,
        launch: &Launch,
        memory: &mut DeviceMemory,
        options: &Options,
        host: &dyn Host,
    ) -> Result<Option<Result<Summary, RunError>>, Failure> {
        if !self.is_sliced {
            return Ok(None);
        }
        let times = times(self.counting, self.plan);
        let mut because = None;
        if let (Some(followed), Some(effort)) =
            (self.followed.get(self.launch), effort(self.counting.rung))
        {
            let no_classes = match followed {
                Err(because) => because.clone(),
                Ok(program) => {
                    let caches = self.counting.caches;
                    let launching =
                        Launching { program, launch, memory, options, host, effort, caches, times };
                    match counter.by_classes(launching) {
                        Ok(Ok(ByClasses { summary, classes, .. })) => {
                            self.counted_by = CountedBy::classes(classes);
                            return Ok(Some(Ok(summary)));
                        }
                        Ok(Err(because)) => because,
                        Err(error) => return Ok(Some(Err(error))),
                    }
                }
            };
            if effort == ClassEffort::ToTheEnd {
                let kernel = &self.plan.launches[self.launch].kernel;
                let message = format!("{kernel} is not counted by classes of CTAs: {no_classes}");
                return Err(Report::new(message).hint("--counting auto executes more then").into());
            }
            because = Some(no_classes);
        }
        if self.counting.sample.is_some() {
            let options = &self.with_share(options);
            let sampling = Sampling { program, launch, memory, options, host, times };
            self.is_sampling = true;
            match counter.by_sample(sampling) {
                Ok(Ok(sampled)) => {
                    self.sampled(&sampled, because);
                    return Ok(Some(Ok(sampled.summary)));
                }
                Ok(Err(no_sample)) => {
                    self.is_sampling = false;
                    self.tell(&no_sample);
                    because.get_or_insert(no_sample);
                }
                Err(error) => return Ok(Some(Err(error))),
            }
        }
        self.counted_by = CountedBy::slice(because);
        Ok(None)
    }

    fn end(&mut self, counter: C, program: &Program, memory: &DeviceMemory) -> Result<(), Failure> {
        let (repetition, l2) = repetition(self.counting, counter, program, memory)?;
        self.l2 = l2;
        if let Some(drawn) = repetition.profile.drawn_ctas() {
            let before = self.counted_by.drawn;
            self.counted_by.drawn = Some(before.map_or(drawn, |before| before.min(drawn)));
        }
        self.repetitions.add(repetition);
        Ok(())
    }

    fn failed(&mut self, _counter: C, error: &RunError) -> bool {
        if let RunError::Fault(fault) = error
            && matches!(fault.kind, FaultKind::NotComputed { .. })
        {
            self.not_computed = Some(fault.to_string());
        }
        self.not_computed.is_some()
    }

    fn hint(&self, error: &RunError) -> Option<String> {
        let RunError::Stopped { reason: StopReason::Deadline, .. } = error else { return None };
        let is_choice = self.is_sliced || self.counting.rung == RungChoice::Full;
        let hint = match self.counting.sample {
            Some(_) if self.is_sampling => {
                "the sample says nothing of the launch yet: give it more time"
            }
            None if is_choice => "--counting sample estimates counts from what is executed in time",
            Some(_) | None => return None,
        };
        Some(hint.to_owned())
    }

    fn shortcut(&self) -> Option<&'static str> {
        let is_whole = self.counting.caches == CacheChoice::Full && self.is_sliced;
        is_whole
            .then_some("--caches auto estimates what depends on caches from a part of the requests")
    }

    fn launched(&mut self, executed: Executed<'_>) {
        let Some(Repeated { profile, ranges, evidence }) =
            mem::take(&mut self.repetitions).finish()
        else {
            return;
        };
        if executed.index < self.rehearsed {
            return;
        }
        let mut buffers_sha256 = BTreeMap::new();
        let has_contents = self.counted_by.rung == Rung::Full;
        let arguments = match self.counting.extras.hashes && has_contents {
            true => self.plan.launches[executed.index].arguments.as_slice(),
            false => &[],
        };
        for index in buffer_arguments(arguments) {
            let name = &self.plan.buffers[index].name;
            let bytes = executed.memory.bytes(name).unwrap_or_default();
            buffers_sha256.insert(name.clone(), hexadecimal(&Sha256::digest(bytes)));
        }
        let machine_code = MachineFacts::of(self.plan, &profile.kernel);
        self.counted.push(Counted {
            profile,
            ranges,
            evidence,
            timing: executed.timing,
            ordered_because: executed.ordered_because,
            watched: executed.watched,
            machine_code,
            transfers: self.before.take().map(|taken| taken.until(self.plan, executed.memory)),
            buffers_sha256,
            counted_by: self.counted_by.clone(),
        });
    }
}

/// The factor by which sums of one launch may still grow: [`Launching::times`].
fn times(counting: &Counting<'_>, plan: &Plan) -> u64 {
    let repetitions = plan.launches.iter().map(|one| u64::from(one.repeat));
    per_ptx(counting).saturating_mul(repetitions.sum())
}

/// Machine instructions for one of PTX, at most.
fn per_ptx(counting: &Counting<'_>) -> u64 {
    if counting.machine.is_none() { 1 } else { MACHINE_PER_PTX }
}

/// A counter for a launch, after which the L2 is as given; `traced` if order is recorded, too. Sums
/// may still become `times` as large.
fn counter<C: Counts>(
    counting: &Counting<'_>,
    program: &Program,
    launch: &Launch,
    (contents, l2): (L2Contents, Option<L2>),
    traced: bool,
    times: u64,
) -> C {
    let shared_bytes = program.static_shared_bytes();
    let mut counter = Counter::new(program, launch, shared_bytes, counting.device);
    if let Some(registers) = counting.machine.thread_registers(program, &counting.device) {
        counter = counter.with_registers(registers);
    }
    // A trace has the levels that served requests.
    let traced = traced && counting.caches != CacheChoice::None && counting.sample.is_none();
    if let Some(limits) = counting.extras.trace.filter(|_| traced) {
        counter = counter.with_trace(&limits);
    }
    counter = counter.with_machine_accesses(&counting.machine.known_accesses(program));
    let counter = match counting.caches {
        CacheChoice::Full => counter.with_l2(contents, l2),
        CacheChoice::Windows => {
            counter.with_windows(times, counting.extras.windows).with_l2(contents, l2)
        }
        CacheChoice::Auto => {
            let size = WindowSizes { only_if_large: true, ..counting.extras.windows };
            counter.with_windows(times, size).with_l2(contents, l2)
        }
        CacheChoice::None => counter.without_caches(),
    };
    let counter = match counting.sample {
        Some(size) => counter.with_sample(size),
        None => counter,
    };
    C::around(counter, program, launch)
}

/// The counts of a launch that has ended, with its machine instructions.
fn repetition<C: Counts>(
    counting: &Counting<'_>,
    counter: C,
    program: &Program,
    memory: &DeviceMemory,
) -> Result<(Repetition, Option<L2>), Failure> {
    let (Repetition { profile, stages, features, .. }, l2) = counter.end(memory);
    let code = counting.machine.code(program, &profile.table, counting.supervisor);
    let simulation = profile.trace.as_ref().and_then(|trace| code.schedule(trace));
    let machine = match counting.extras.only_executed {
        true => None,
        false => code.profile()?,
    };
    drop(code);
    let (profile, features) = match machine {
        Some(machine) => {
            let features = features.map(|features| features.with_machine(&machine));
            (profile.with_machine(machine), features)
        }
        None => (profile, features),
    };
    let instructions = profile.trace.as_ref().filter(|_| simulation.is_some());
    let instructions =
        instructions.map(|trace| Arc::new(instruction_facts(program, &profile.table, trace)));
    let simulation = simulation.map(Arc::new);
    Ok((Repetition { profile, stages, features, simulation, instructions }, l2))
}

/// An L2 through which all buffers went, in their order: those without `init`, which a launch
/// before this one wrote or read, and then those that the host copied.
fn warmed(plan: &Plan, device: &DeviceModel, memory: &DeviceMemory) -> L2 {
    let mut l2 = L2::new(device.l2_geometry());
    let copied = |buffer: &&Buffer| buffer.init != Init::Unstated;
    let (copied, others): (Vec<_>, Vec<_>) = plan.buffers.iter().partition(copied);
    for buffer in others.into_iter().chain(copied) {
        if let Some(address) = memory.address(&buffer.name) {
            l2.copy_in(address, buffer.bytes());
        }
    }
    l2
}

/// The buffers that arguments refer to, by their index in the plan.
fn buffer_arguments(arguments: &[PlannedArgument]) -> BTreeSet<usize> {
    arguments.iter().flat_map(PlannedArgument::buffers).collect()
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
