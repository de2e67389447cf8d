//! Counts that are kept from run to run; `kept_simulations` keeps what models make of them.
//!
//! The name of an entry is a hash of everything that decides the counts: the packed plan, the
//! modelled GPU, the machine code, the extras, limits, and the build of the program. So an entry
//! never needs to be dropped for being out of date; the least recently used go where there are too
//! many. The name is part of the seal, so that an entry under another name counts as none. Several
//! programs may use a folder at the same time: an entry appears as a whole, and a damaged one
//! counts as none.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use gpucast_counters::LaunchProfile;
use gpucast_counters::stages::Stages;
use gpucast_counters::stored::{StoredNumber, StoredProfile};
use gpucast_interpreter::{Options, Program};
use gpucast_model::sm_simulation::{Invocations, Simulator};
use gpucast_model::{Evidence, InstructionFacts};
use gpucast_simulation::Packed;
use serde::{Deserialize, Serialize};

use crate::failure::{Failure, Report};
use crate::input::packed;
use crate::input::plan::Plan;
use crate::inspection::MachineFacts;
use crate::run::assembler::Toolchain;
use crate::run::counting::{Counted, Counting, Extras, count_anew};
use crate::run::execute::{self, Loaded, Timing};
use crate::run::kept_simulations::KeptSimulations;
use crate::run::rung::CountedBy;
use crate::run::supervisor::Supervisor;
use crate::store::{Folder, Store as _, sealed};

/// The folder of entries.
const ENTRIES: &str = "counts";

/// The folder of formulas.
const FORMULAS: &str = "formulas";

/// Counting that is faster than this is not kept: reading an entry takes some of it, too.
const WORTH_KEEPING: Duration = Duration::from_millis(20);

/// Age from which a half-written entry belongs to a process that has been killed. Writing one takes
/// less than a second.
const ABANDONED: Duration = Duration::from_secs(60 * 60);

/// The most bytes that entries take together, where the caller does not say otherwise.
pub const USUAL_BYTES: u64 = 512 << 20;

/// Counts in a folder.
#[derive(Debug)]
pub struct KeptCounts {
    folder: Arc<Folder>,
    /// Changes whenever the program does: another build may count otherwise.
    build: String,
    most_bytes: u64,
    worth: Duration,
}

impl KeptCounts {
    /// The counts in a folder, which is made with the first of them. `build` names the program as
    /// it was built.
    pub fn new(folder: impl Into<PathBuf>, build: String) -> Self {
        let folder = Arc::new(Folder::new(folder));
        Self { folder, build, most_bytes: USUAL_BYTES, worth: WORTH_KEEPING }
    }

    /// The same with another limit of bytes and of the time that counting has to take.
    #[must_use]
    pub fn with_limits(self, most_bytes: u64, worth: Duration) -> Self {
        Self { most_bytes, worth, ..self }
    }

    /// The counts of a plan's launches: those that were kept, else new ones, which are kept.
    ///
    /// # Errors
    ///
    /// As [`counting::count`](super::counting::count). A folder that cannot be used is no error.
    pub(super) fn count(
        &self,
        plan: &Plan,
        loaded: &Loaded,
        options: &Options,
        counting: &Counting<'_>,
    ) -> Result<Vec<Counted>, Failure> {
        let Some(name) = self.name(plan, options, counting) else {
            return count_anew(plan, loaded, options, counting);
        };
        if let Some(counted) = self.read(&name, plan, loaded, counting.extras)? {
            return Ok(counted);
        }
        let hearing = Hearing { other: counting.supervisor, heard: AtomicBool::new(false) };
        let started = Instant::now();
        let counting = Counting { supervisor: &hearing, ..*counting };
        let mut counted = count_anew(plan, loaded, options, &counting)?;
        // What was said while it was counted would have to be said again.
        if started.elapsed() >= self.worth && !hearing.heard.into_inner() {
            self.keep(&name, &counted);
        }
        self.remember_simulations(&name, &mut counted);
        Ok(counted)
    }

    /// The counts of a plan's launches, if they were kept.
    ///
    /// # Errors
    ///
    /// Those of programs that cannot be made.
    pub(super) fn find(
        &self,
        plan: &Plan,
        loaded: &Loaded,
        options: &Options,
        counting: &Counting<'_>,
    ) -> Result<Option<Vec<Counted>>, Failure> {
        match self.name(plan, options, counting) {
            Some(name) => self.read(&name, plan, loaded, counting.extras),
            None => Ok(None),
        }
    }

    /// Keeps the counts of a plan's launches.
    pub(super) fn keep_counts(
        &self,
        plan: &Plan,
        options: &Options,
        counting: &Counting<'_>,
        counted: &mut [Counted],
    ) {
        if let Some(name) = self.name(plan, options, counting) {
            self.keep(&name, counted);
            self.remember_simulations(&name, counted);
        }
    }

    /// Lets simulations of what was counted be kept, too.
    fn remember_simulations(&self, name: &str, counted: &mut [Counted]) {
        let folder = Arc::clone(&self.folder);
        let kept = KeptSimulations::new(folder, name, self.most_bytes, self.worth);
        let simulator: Arc<dyn Simulator> = Arc::new(kept);
        let all = counted.iter_mut().map(|counted| &mut counted.evidence);
        for evidence in all.filter(|evidence| evidence.simulation.is_some()) {
            evidence.simulator = Some(Arc::clone(&simulator));
        }
    }

    /// Formulas that were kept of a problem. `identity` names everything that decides them.
    pub(crate) fn formulas(&self, identity: &str) -> Option<Vec<u8>> {
        let name = self.name_of_formulas(identity);
        let bytes = sealed::open(&name, &self.folder.get(&name).ok().flatten()?)?;
        self.folder.touch(&name);
        Some(bytes)
    }

    /// Keeps formulas of a problem in place of those before.
    pub(crate) fn keep_formulas(&self, identity: &str, formulas: &[u8]) {
        let name = self.name_of_formulas(identity);
        let sealed = sealed::seal(&name, formulas);
        // There is nothing to do about a full or read-only disk.
        if self.folder.put(&name, &sealed).is_ok() {
            self.folder.make_room(&name, sealed.len(), self.most_bytes);
        }
    }

    fn name_of_formulas(&self, identity: &str) -> String {
        let text = format!("{}\n{identity}", self.build);
        format!("{FORMULAS}/{}", sealed::hash(text.as_bytes()))
    }

    /// The name of a plan's entry; `None` if its counts are not kept.
    fn name(&self, plan: &Plan, options: &Options, counting: &Counting<'_>) -> Option<String> {
        let Counting { device, machine, extras, rung, sample, caches, supervisor: _ } = counting;
        let Extras { hashes, stages, transfers, features, trace, only_executed, windows } = extras;
        // A sample is soon counted again.
        if *transfers || *features || sample.is_some() {
            return None;
        }
        let Options {
            instruction_budget,
            heap_bytes,
            stack_bytes,
            schedule,
            skip_bad_accesses,
            async_timing,
            // That of each launch stands in the plan.
            grid_limits: _,
            // Neither changes a count.
            deadline: _,
            memory_limit: _,
        } = options;
        // A buffer's file that cannot be read is told of by the execution.
        let plan = sealed::hash(&packed::pack(plan).ok()?);
        let text = format!(
            "{}\n{plan}\n{device:?}\n{}\n{hashes} {stages} {trace:?} {only_executed} {rung:?} \
             {caches:?} {windows:?}\n{instruction_budget} {heap_bytes} {stack_bytes} {schedule:?} \
             {skip_bad_accesses} {async_timing:?}\n",
            self.build,
            machine.identity(),
        );
        Some(format!("{ENTRIES}/{}", sealed::hash(text.as_bytes())))
    }

    fn read(
        &self,
        name: &str,
        plan: &Plan,
        loaded: &Loaded,
        extras: Extras,
    ) -> Result<Option<Vec<Counted>>, Failure> {
        let entry = self.folder.get(name).ok().flatten();
        let Some(bytes) = entry.and_then(|entry| sealed::open(name, &entry)) else {
            return Ok(None);
        };
        let Ok(kept) = postcard::from_bytes::<Vec<Kept>>(&bytes) else { return Ok(None) };
        let programs = execute::programs(plan, loaded)?;
        if kept.len() != programs.len() {
            return Ok(None);
        }
        self.folder.touch(name);
        let counted = |(kept, program): (Kept, &Program)| kept.into_counted(plan, program, extras);
        let counted: Option<Vec<Counted>> = kept.into_iter().zip(&programs).map(counted).collect();
        Ok(counted.map(|mut counted| {
            self.remember_simulations(name, &mut counted);
            counted
        }))
    }

    fn keep(&self, name: &str, counted: &[Counted]) {
        let kept: Vec<Kept> = counted.iter().map(Kept::of).collect();
        let Ok(bytes) = postcard::to_stdvec(&kept) else { return };
        let sealed = sealed::seal(name, &bytes);
        // There is nothing to do about a full or read-only disk.
        if self.folder.put(name, &sealed).is_ok() {
            self.folder.make_room(name, sealed.len(), self.most_bytes);
            // The next run may succeed where this one fails.
            self.folder.tidy(ABANDONED).ok();
        }
    }
}

/// The counts of one launch as an entry has them.
#[derive(Serialize, Deserialize)]
struct Kept {
    profile: StoredProfile,
    ranges: Vec<(String, StoredNumber, StoredNumber)>,
    stages: Option<Stages>,
    simulation: Option<Vec<(Packed, u64)>>,
    instructions: Option<InstructionFacts>,
    ordered_because: Option<String>,
    watched: bool,
    buffers_sha256: Vec<(String, String)>,
    counted_by: CountedBy,
}

impl Kept {
    fn of(counted: &Counted) -> Self {
        let invocations = |one: &Invocations| (Packed(one.launch.as_ref().clone()), one.count);
        let simulation = counted.evidence.simulation.as_ref();
        let ranges = counted.ranges.iter();
        let hashes = counted.buffers_sha256.iter();
        Self {
            profile: counted.profile.to_stored(),
            ranges: ranges
                .map(|(name, &(least, most))| (name.clone(), least.into(), most.into()))
                .collect(),
            stages: counted.evidence.stages.as_deref().cloned(),
            simulation: simulation.map(|all| all.iter().map(invocations).collect()),
            instructions: counted.evidence.instructions.as_deref().cloned(),
            ordered_because: counted.ordered_because.clone(),
            watched: counted.watched,
            buffers_sha256: hashes.map(|(name, hash)| (name.clone(), hash.clone())).collect(),
            counted_by: counted.counted_by.clone(),
        }
    }

    fn into_counted(self, plan: &Plan, program: &Program, extras: Extras) -> Option<Counted> {
        debug_assert!(!extras.transfers && !extras.features, "they are not kept");
        let profile = LaunchProfile::from_stored(self.profile, program)?;
        let invocations = |(Packed(launch), count)| Invocations { launch: Arc::new(launch), count };
        let range = |(name, least, most): (String, StoredNumber, StoredNumber)| {
            (name, (least.into(), most.into()))
        };
        Some(Counted {
            machine_code: MachineFacts::of(plan, &profile.kernel),
            profile,
            ranges: self.ranges.into_iter().map(range).collect(),
            evidence: Evidence {
                stages: self.stages.map(Arc::new),
                features: None,
                simulation: self
                    .simulation
                    .map(|all| Arc::new(all.into_iter().map(invocations).collect())),
                simulator: None,
                orders: None,
                instructions: self.instructions.map(Arc::new),
            },
            timing: Timing::default(),
            ordered_because: self.ordered_because,
            watched: self.watched,
            transfers: None,
            buffers_sha256: self.buffers_sha256.into_iter().collect(),
            counted_by: self.counted_by,
        })
    }
}

/// Passes everything on, and knows whether the run had something to say.
struct Hearing<'a> {
    other: &'a dyn Supervisor,
    heard: AtomicBool,
}

impl Supervisor for Hearing<'_> {
    fn note(&self, text: &str) {
        self.heard.store(true, Ordering::Relaxed);
        self.other.note(text);
    }

    fn hears_notes(&self) -> bool {
        self.other.hears_notes()
    }

    fn part(&self, index: usize, all: usize) {
        self.other.part(index, all);
    }

    fn launching(&self, kernel: &str) {
        self.other.launching(kernel);
    }

    fn progress(&self, done: u128, ctas: u128) {
        self.other.progress(done, ctas);
    }

    fn launched(&self) {
        self.other.launched();
    }

    fn print(&self, text: &[u8]) {
        self.heard.store(true, Ordering::Relaxed);
        self.other.print(text);
    }

    fn flush(&self) -> Result<(), Report> {
        self.other.flush()
    }

    fn should_stop(&self) -> bool {
        self.other.should_stop()
    }

    fn toolchain(&self) -> Option<&dyn Toolchain> {
        self.other.toolchain()
    }
}
