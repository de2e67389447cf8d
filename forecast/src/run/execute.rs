//! Executes a plan: module, programs, memory, launches.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use gpucast_interpreter::host_memory::{self, Shortage};
use gpucast_interpreter::{
    Argument, DeviceMemory, Host, Launch, NoObserver, Observer, Options, Program, RunError,
    StopReason, Summary,
};
use serde::Serialize;

use super::{textures, trouble};
use crate::failure::{Anchor, Failure, Report};
use crate::input::plan::{Buffer, Plan, PlannedArgument, PlannedLaunch, Pointer};
use crate::number;
use crate::run::hazards::{Hazards, Upcoming};
use crate::run::supervisor::Supervisor;

pub use crate::input::loaded::{Loaded, load};

/// Duration of a launch on the CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Timing {
    /// Seconds of all repetitions, counting included.
    pub execute_s: f64,
    /// Instructions times the lanes that were active, guard true or not, in each second.
    pub thread_instructions_per_s: f64,
    /// Instructions times the lanes that were active, of all repetitions.
    #[serde(skip)]
    pub thread_instructions: u128,
}

impl Timing {
    /// The timing of an execution that has just ended, with its instructions times active lanes.
    pub(super) fn since(started: Instant, lanes: u128) -> Self {
        let execute_s = started.elapsed().as_secs_f64();
        let thread_instructions_per_s = lanes as f64 / execute_s.max(f64::MIN_POSITIVE);
        Self { execute_s, thread_instructions_per_s, thread_instructions: lanes }
    }
}

impl fmt::Display for Timing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = self.thread_instructions_per_s / 1e6;
        write!(f, "{:.3} s, {rate:.0} million thread instructions per second", self.execute_s)
    }
}

/// A launch that ran to its end.
pub struct Executed<'a> {
    /// Its index in [`Plan::launches`].
    pub index: usize,
    /// Duration of the execution.
    pub timing: Timing,
    /// Reason why CTAs ran one after the other, if they did.
    pub ordered_because: Option<String>,
    /// True if CTAs were watched for one that depends on their order.
    pub watched: bool,
    /// The memory after its last repetition.
    pub memory: &'a DeviceMemory,
}

/// Watches the launches of a plan, repetition by repetition.
pub trait Watch {
    /// Hears the events of a repetition.
    type Observer: Observer;

    /// The first repetition of a launch is about to begin; `index` is its place in
    /// [`Plan::launches`].
    fn launching(&mut self, _index: usize, _memory: &DeviceMemory) {}

    /// Returns true if the programs are slices of the kernels.
    fn is_sliced(&self) -> bool {
        false
    }

    /// Returns true if hazards in shared memory are noted, which this watcher does not report.
    fn notes_hazards(&self) -> bool {
        true
    }

    /// Returns true if nobody is told of the launch that is running.
    fn is_silent(&self) -> bool {
        false
    }

    /// Returns true if the repetition that comes is like the one before, of which the watcher then
    /// takes note once more. It is not executed. Asked once before each repetition.
    fn recurs(&mut self) -> bool {
        false
    }

    /// A repetition of a launch begins.
    fn begin(&mut self, program: &Program, launch: &Launch) -> Self::Observer;

    /// Finds out what the observer would hear of a repetition without executing all of its CTAs, if
    /// the watcher knows how. `None` has the launch executed.
    ///
    /// # Errors
    ///
    /// Returns a failure where it must not be executed either.
    fn without_executing(
        &mut self,
        _observer: &mut Self::Observer,
        _program: &Program,
        _launch: &Launch,
        _memory: &mut DeviceMemory,
        _options: &Options,
        _host: &dyn Host,
    ) -> Result<Option<Result<Summary, RunError>>, Failure> {
        Ok(None)
    }

    /// It has ended, and left `memory` behind.
    ///
    /// # Errors
    ///
    /// Returns a failure to keep the result from being used; nothing else runs.
    fn end(
        &mut self,
        observer: Self::Observer,
        program: &Program,
        memory: &DeviceMemory,
    ) -> Result<(), Failure>;

    /// It could not be done, or came to a fault. Returns true if the watcher explains that, so that
    /// nothing else needs to be said.
    fn failed(&mut self, _observer: Self::Observer, _error: &RunError) -> bool {
        false
    }

    /// What may help against an error of the launch, if the watcher knows better than the error.
    fn hint(&self, _error: &RunError) -> Option<String> {
        None
    }

    /// A shorter way to results like these, for launches that take long.
    fn shortcut(&self) -> Option<&'static str> {
        None
    }

    /// All repetitions of the launch have ended.
    fn launched(&mut self, executed: Executed<'_>);
}

/// Watches nothing but the clock.
#[derive(Debug, Default)]
pub struct Unwatched {
    /// Of each launch that has ended: its duration, and why CTAs ran in order, if they did.
    pub finished: Vec<(Timing, Option<String>)>,
}

impl Watch for Unwatched {
    type Observer = NoObserver;

    fn begin(&mut self, _program: &Program, _launch: &Launch) -> NoObserver {
        NoObserver
    }

    fn end(
        &mut self,
        _observer: NoObserver,
        _program: &Program,
        _memory: &DeviceMemory,
    ) -> Result<(), Failure> {
        Ok(())
    }

    fn launched(&mut self, executed: Executed<'_>) {
        self.finished.push((executed.timing, executed.ordered_because));
    }
}

/// Allocates and fills a plan's buffers.
pub fn memory(plan: &Plan, loaded: &Loaded) -> Result<DeviceMemory, Report> {
    let mut memory = DeviceMemory::with_address_bits(loaded.module.address_bits);
    ask_for(plan.buffers.iter())?;
    for buffer in &plan.buffers {
        memory
            .allocate(&buffer.name, buffer.bytes())
            .map_err(|error| Report::new(error.to_string()).at(&buffer.anchor))?;
        let bytes = memory.bytes_mut(&buffer.name).unwrap_or_default();
        buffer
            .init
            .fill(buffer.ty, bytes, &plan.folder)
            .map_err(|error| Report::new(error.to_string()).at(&buffer.anchor))?;
    }
    point(&plan.buffers, plan, &mut memory)?;
    textures::create(plan, &loaded.module, &mut memory)?;
    Ok(memory)
}

/// Writes the pointers that stand in `filled` buffers of a plan, all of which have addresses.
pub(super) fn point<'a>(
    filled: impl IntoIterator<Item = &'a Buffer>,
    plan: &Plan,
    memory: &mut DeviceMemory,
) -> Result<(), Report> {
    for buffer in filled {
        for &(at, pointer) in &buffer.pointers {
            let address = address_of(pointer, plan, memory).to_le_bytes();
            let bytes = memory.bytes_mut(&buffer.name).unwrap_or_default();
            let place = at.checked_add(address.len()).and_then(|end| bytes.get_mut(at..end));
            let place = place.ok_or_else(|| {
                Report::new(format!("a pointer stands behind buffer {}", buffer.name))
            })?;
            place.copy_from_slice(&address);
        }
    }
    Ok(())
}

/// The device address of a pointer; 0 if its buffer has none.
fn address_of(Pointer { buffer, offset }: Pointer, plan: &Plan, memory: &DeviceMemory) -> u64 {
    let buffer = plan.buffers.get(buffer);
    let address = buffer.and_then(|buffer| memory.address(&buffer.name));
    address.unwrap_or_default().wrapping_add(offset)
}

/// Asks the machine for the memory of some buffers, before any of it is taken.
pub(super) fn ask_for<'a>(buffers: impl Iterator<Item = &'a Buffer> + Clone) -> Result<(), Report> {
    let total = buffers.clone().fold(0_u64, |sum, buffer| sum.saturating_add(buffer.bytes()));
    host_memory::ask(total).map_err(|Shortage { available }| {
        let mib = |bytes: u64| number::count(bytes >> 20);
        let message = format!(
            "the buffers need {} MiB of memory, and {} MiB are available",
            mib(total),
            mib(available)
        );
        let largest = buffers.max_by_key(|buffer| buffer.bytes());
        let fact = largest.map(|buffer| format!("{}: {} MiB", buffer.name, mib(buffer.bytes())));
        let report = fact.into_iter().fold(Report::new(message), Report::fact);
        report.hint("choose a smaller problem, or a machine or limit with more memory")
    })
}

/// Time after which it is said that a launch takes long, if it takes several times as long.
const PATIENCE: Duration = Duration::from_secs(5);
const LONG: Duration = Duration::from_secs(30);

/// Passes on the progress of a repetition of a launch.
struct Teller<'a> {
    supervisor: &'a dyn Supervisor,
    /// The repetition, the number of all, and when the first one began.
    of_launch: (u64, u64, Instant),
    /// True if what the kernel prints goes nowhere.
    is_silent: bool,
    shortcut: Option<&'static str>,
    /// True when the shortcut has been named.
    is_told: &'a AtomicBool,
}

impl Teller<'_> {
    /// Names the shortcut once, if the launch takes long.
    fn tell(&self, done: u128, all: u128) {
        let Some(shortcut) = self.shortcut else { return };
        let (.., started) = self.of_launch;
        let elapsed = started.elapsed();
        if elapsed < PATIENCE || done == 0 || self.is_told.load(Ordering::Relaxed) {
            return;
        }
        let left = elapsed.as_secs_f64() * (all.saturating_sub(done) as f64 / done as f64);
        if left >= LONG.as_secs_f64() && !self.is_told.swap(true, Ordering::Relaxed) {
            self.supervisor.note(&format!("this launch takes {left:.0} seconds more; {shortcut}"));
        }
    }
}

impl Host for Teller<'_> {
    fn progress(&self, done: u128, ctas: u128) {
        let (repetition, repeat, _) = self.of_launch;
        let (before, all) = (u128::from(repetition) * ctas, u128::from(repeat) * ctas);
        self.supervisor.progress(before + done, all);
        self.tell(before + done, all);
    }

    fn print(&self, text: &[u8]) {
        if !self.is_silent {
            self.supervisor.print(text);
        }
    }

    fn stop(&self) -> bool {
        self.supervisor.should_stop()
    }
}

/// Tells the supervisor that a launch has ended, however it ends.
struct Ending<'a>(&'a dyn Supervisor);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.launched();
    }
}

/// Runs every launch of a plan.
pub fn execute<W: Watch>(
    plan: &Plan,
    loaded: &Loaded,
    memory: &mut DeviceMemory,
    options: &Options,
    supervisor: &dyn Supervisor,
    watch: &mut W,
) -> Result<(), Failure> {
    launch(plan, loaded, programs(plan, loaded)?, memory, options, supervisor, watch)
}

/// The program of each launch of a plan.
///
/// All of them are made before the first launch, so that a misspelt name in the last one does not
/// show after minutes.
pub(crate) fn programs(plan: &Plan, loaded: &Loaded) -> Result<Vec<Program>, Vec<Report>> {
    let program =
        |planned: &PlannedLaunch| program(loaded, &planned.kernel, &planned.kernel_anchor);
    plan.launches.iter().map(program).collect()
}

/// [`execute`] with the programs of the launches.
pub(super) fn launch<W: Watch>(
    plan: &Plan,
    loaded: &Loaded,
    programs: Vec<Program>,
    memory: &mut DeviceMemory,
    options: &Options,
    supervisor: &dyn Supervisor,
    watch: &mut W,
) -> Result<(), Failure> {
    let notes: BTreeSet<String> = programs.iter().filter_map(trouble::of_unsupported).collect();
    notes.iter().for_each(|note| supervisor.note(note));
    // Asked once for all launches.
    let limit = options.memory_limit.or_else(|| memory.room());
    let options = &Options { memory_limit: limit, ..*options };
    let mut hazards = Hazards::default();
    for (index, (planned, program)) in plan.launches.iter().zip(programs).enumerate() {
        let launch = device_launch(plan, planned, &program, memory);
        let options = &Options { grid_limits: planned.grid_limits(), ..*options };
        watch.launching(index, memory);
        let is_silent = watch.is_silent();
        if let Some(note) = planned.beyond_cuda_note().filter(|_| !is_silent) {
            supervisor.note(&note);
        }
        if supervisor.hears_notes() && watch.notes_hazards() && !is_silent {
            let is_sliced = watch.is_sliced();
            let (program, launch) = (&program, &launch);
            let upcoming = Upcoming { loaded, program, is_sliced, launch, options };
            hazards.note(upcoming, memory).iter().for_each(|note| supervisor.note(note));
        }
        supervisor.launching(&planned.kernel);
        let ending = Ending(supervisor);
        let repeat = u64::from(planned.repeat);
        let (mut ordered_because, mut watched) = (None, false);
        let (mut lanes, mut lanes_of_last) = (0, 0);
        let started = Instant::now();
        let is_told = AtomicBool::new(false);
        for repetition in 0..repeat {
            if watch.recurs() {
                lanes += lanes_of_last;
                continue;
            }
            let mut observer = watch.begin(&program, &launch);
            let shortcut = watch.shortcut();
            let is_told = &is_told;
            let of_launch = (repetition, repeat, started);
            let teller = Teller { supervisor, of_launch, is_silent, shortcut, is_told };
            let counted = watch.without_executing(
                &mut observer,
                &program,
                &launch,
                memory,
                options,
                &teller,
            )?;
            let run = counted.unwrap_or_else(|| {
                gpucast_interpreter::run(&program, &launch, memory, &mut observer, options, &teller)
            });
            supervisor.flush()?;
            let summary = match run {
                Ok(summary) => summary,
                Err(RunError::Stopped { reason: StopReason::Asked, .. }) => {
                    return Err(Failure::Stopped);
                }
                Err(error) if watch.failed(observer, &error) => return Err(Failure::Explained),
                Err(error) => {
                    let hint = watch.hint(&error);
                    let report = trouble::of_run(error, plan, planned, loaded, &program);
                    return Err(report.maybe_hint(hint).into());
                }
            };
            lanes_of_last = summary.issued_lanes;
            lanes += lanes_of_last;
            ordered_because = summary.ordered_because;
            watched |= summary.watched;
            watch.end(observer, &program, memory)?;
        }
        drop(ending);
        let timing = Timing::since(started, lanes);
        watch.launched(Executed { index, timing, ordered_because, watched, memory });
    }
    Ok(())
}

fn program(loaded: &Loaded, kernel: &str, anchor: &Anchor) -> Result<Program, Vec<Report>> {
    Program::new(&loaded.module, &loaded.source.text, kernel)
        .map_err(|error| trouble::of_lowering(error, &loaded.source, anchor))
}

/// A plan's launch of a program, with the addresses of its buffers. A structure that holds one
/// pointer, as C++ wrappers and CuTe pass it, takes a buffer as a pointer does.
pub(super) fn device_launch(
    plan: &Plan,
    planned: &PlannedLaunch,
    program: &Program,
    memory: &DeviceMemory,
) -> Launch {
    let address = |pointer| address_of(pointer, plan, memory);
    let is_wrapped = |index: usize| {
        program
            .parameters()
            .get(index)
            .is_some_and(|parameter| parameter.is_array && parameter.bytes == 8)
    };
    let argument = |(index, argument): (usize, &PlannedArgument)| match argument {
        PlannedArgument::Pointer(pointer) if is_wrapped(index) => {
            Argument::Bytes(address(*pointer).to_le_bytes().to_vec())
        }
        PlannedArgument::Pointer(pointer) => Argument::Address(address(*pointer)),
        PlannedArgument::Structure(structure) => Argument::Bytes(structure.with_addresses(address)),
        PlannedArgument::Scalar { ty, bits } => {
            Argument::Scalar { ty: ty.scalar_type(), bits: *bits }
        }
    };
    Launch {
        grid: planned.grid,
        block: planned.block,
        cluster: planned.cluster,
        dynamic_shared_bytes: planned.shared_bytes,
        arguments: planned.arguments.iter().enumerate().map(argument).collect(),
    }
}
