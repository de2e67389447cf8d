//! One launch: executed, counted, predicted, and put on the clock.

use std::sync::Mutex;

use gpucast_counters::hierarchy::L2Contents;
use gpucast_forecast::input::kernel_name;
use gpucast_forecast::nsight::Profiled;
use gpucast_forecast::run::counting::{Counting, Extras, HostLaunch, HostLaunchError, stand_in};
use gpucast_forecast::run::hazards::Upcoming;
use gpucast_forecast::run::sources;
use gpucast_forecast::settings::{CacheChoice, RungChoice};
use gpucast_forecast::{Alone, fault_report};
use gpucast_interpreter::{
    Argument, DeviceMemory, Fault, FaultKind, Host, Launch, LaunchError, NoObserver, Options,
    RunError, Schedule,
};

use crate::block::{BlockKind, BlockRange};
use crate::clock::Engine;
use crate::contents::Snapshot;
use crate::faults::{BadAccesses, Passed};
use crate::graph::Work;
use crate::module::{Kernel, loaded_of};
use crate::predicted::Predicted;
use crate::profiler::{Look, Profiler};
use crate::record::{Launched, Shape};
use crate::repeats::{Key, Recalled, Unknown};
use crate::request::LaunchRequest;
use crate::settings::{Mode, OnFault};
use crate::{Device, Error, FunctionId, Program, workers};

/// The time of a launch that has ended.
#[derive(Clone, Copy, Debug, Default)]
struct Timed {
    predicted: Option<Predicted>,
    /// True if the launch was counted itself.
    counted: bool,
    /// True if the launch was not executed: memory holds what it would have left.
    repeated: bool,
}

/// What is done with a launch.
enum Plan {
    /// It runs under a checker, and has no time.
    Check,
    /// It runs without counters: its time is known, or nobody asks for it.
    Run(Option<Predicted>),
    /// It is counted. Equal launches may learn from it.
    Count(Option<Lesson>),
}

/// What a launch that is counted will teach.
struct Lesson {
    key: Key,
    unknown: Unknown,
}

/// Keeps what a kernel prints until the launch has ended: one that is executed again in order would
/// otherwise print twice.
struct Listener<'a> {
    program: &'a dyn Program,
    printed: Mutex<()>,
}

impl Host for Listener<'_> {
    fn print(&self, text: &[u8]) {
        let _in_order = self.printed.lock();
        self.program.print(text);
    }
}

impl Device {
    /// Executes a launch to its end.
    ///
    /// A fault of the kernel is told to the user, and every later call fails with its error, as on
    /// a GPU.
    ///
    /// # Errors
    ///
    /// If the launch is impossible on the modelled GPU, or here.
    pub fn launch(&mut self, request: LaunchRequest) -> Result<(), Error> {
        self.launch_by(request, Schedule::Automatic)
    }

    /// Executes a launch whose CTAs run as `schedule` says.
    pub(crate) fn launch_by(
        &mut self,
        request: LaunchRequest,
        schedule: Schedule,
    ) -> Result<(), Error> {
        self.usable()?;
        workers::take_part();
        let kernel = self.kernel(request.function)?;
        self.bind_variables()?;
        let captured = self.graphs.is_capturing().then(|| request.clone());
        let same = Key::new(&request, self.stack_bytes, self.bindings.changes);
        let LaunchRequest { function, grid, block, cluster, shared_bytes, stream, arguments } =
            request;
        self.clock.stream(stream)?;
        self.check_limits(function, &kernel, block, shared_bytes)?;
        if let Some(request) = captured
            && self.capture(stream, || Work::Kernel(request))?
        {
            return Ok(());
        }
        let launch = Launch {
            grid,
            block,
            cluster,
            dynamic_shared_bytes: shared_bytes,
            arguments: arguments.into_iter().map(Argument::Bytes).collect(),
        };
        let shape = Shape { function: function.0, grid, block, shared_bytes };
        let options = Options { schedule, ..self.options() };
        let program = std::sync::Arc::clone(&self.program);
        let host = Listener { program: &*program, printed: Mutex::new(()) };
        let host_launch = HostLaunch {
            program: &kernel.program,
            stand_in: None,
            launch: &launch,
            options: &options,
            host: &host,
            found: self.profiler.as_ref().map_or_else(L2Contents::default, Profiler::l2_contents),
        };
        if !self.checking.is_on()
            && let Some(loaded) = loaded_of(&self.modules, &self.functions, function)
        {
            let (program, launch, options) = (&kernel.program, &launch, &options);
            let upcoming = Upcoming { loaded, program, is_sliced: false, launch, options };
            let note = self.hazards.note(upcoming, &mut self.memory);
            note.iter().for_each(|note| self.program.note(note));
        }
        let threads = grid.iter().chain(&block).fold(1, |n: u64, &of| n.saturating_mul(of.into()));
        let before = match schedule {
            Schedule::Automatic => self.look(&kernel, &same, threads),
            _ => None,
        };
        let known = before.as_ref().filter(|before| self.effects.knows(&same, before)).cloned();
        let key = self.counted_key(&kernel, &same, before.as_ref());
        let plan = self.plan(function, &kernel, &shape, key);
        let mut bad = options.skip_bad_accesses.then(BadAccesses::default);
        let outcome = match plan {
            Plan::Check => {
                let loaded = loaded_of(&self.modules, &self.functions, function);
                let checked = self.checking.run(&host_launch, loaded, &mut self.memory);
                checked.map(|()| Timed::default())
            }
            Plan::Run(predicted) if known.is_some_and(|known| self.repeat(&same, &known)) => {
                Ok(Timed { predicted, counted: false, repeated: true })
            }
            Plan::Run(predicted) => {
                without_counters(&host_launch, &mut self.memory, &mut bad, predicted)
            }
            Plan::Count(lesson) => {
                self.counted(&host_launch, (function, &kernel), lesson, &mut bad)
            }
        };
        if !matches!(&outcome, Ok(Timed { repeated: true, .. })) {
            let is_whole = outcome.is_ok() && bad.as_ref().is_none_or(BadAccesses::is_empty);
            self.learn(&same, before.filter(|_| is_whole));
        }
        if let Some(bad) = bad {
            self.passed_over(function, &kernel, block, bad);
        }
        let failed = |error| self.failed(function, error).map(|()| Timed::default());
        let Timed { predicted, counted, repeated } = outcome.or_else(failed)?;
        let time_ms = predicted.map_or(0.0, |predicted| predicted.time_ms);
        let start_ms = self.clock.submit(stream, Engine::Compute, time_ms)?;
        let stream = self.clock.origin(stream);
        let profile = self.profiler.as_mut().and_then(Profiler::take);
        let launched = Launched { shape, stream, start_ms, predicted, counted, repeated, profile };
        self.record.launched(&kernel.name, launched);
        Ok(())
    }

    /// What is to be done with a launch. `key` names those that are equal to it, if one of them
    /// may have the time of another.
    fn plan(
        &mut self,
        function: FunctionId,
        kernel: &Kernel,
        shape: &Shape,
        key: Option<Key>,
    ) -> Plan {
        if self.checking.is_on() {
            return Plan::Check;
        }
        match self.settings.mode {
            Mode::Run => return Plan::Run(None),
            Mode::Count => {}
            Mode::Sample => {
                if let Some(known) = self.record.sampled(shape, self.settings.samples) {
                    return Plan::Run(Some(known));
                }
            }
        }
        if !self.is_chosen(function, kernel) {
            return Plan::Run(None);
        }
        if let Some(profiler) = &mut self.profiler {
            let name = self
                .functions
                .get(function.0)
                .map_or(kernel.name.as_str(), |function| &function.name);
            return match profiler.look_at(name, key) {
                Look::Passed => Plan::Run(None),
                Look::Known(predicted) => Plan::Run(predicted),
                Look::Counted => Plan::Count(None),
            };
        }
        let Some(key) = key else { return Plan::Count(None) };
        match self.repeats.recall(&key, &mut self.l2) {
            Recalled::Known(known) => Plan::Run(known),
            Recalled::Unknown(unknown) => Plan::Count(Some(Lesson { key, unknown })),
        }
    }

    /// Executes and counts, and lets equal launches learn from it.
    fn counted(
        &mut self,
        launch: &HostLaunch<'_>,
        kernel: (FunctionId, &Kernel),
        lesson: Option<Lesson>,
        bad: &mut Option<BadAccesses>,
    ) -> Result<Timed, RunError> {
        match self.count(launch, kernel, bad) {
            Ok(predicted) => {
                if let Some(Lesson { key, unknown }) = lesson {
                    self.repeats.learn(key, unknown, &mut self.l2, predicted);
                }
                Ok(Timed { predicted, counted: predicted.is_some(), repeated: false })
            }
            Err(HostLaunchError::Run(error)) => Err(*error),
            Err(HostLaunchError::Machine(report)) => {
                self.program.note(&report.to_string());
                Ok(Timed::default())
            }
        }
    }

    /// Tells of the accesses that a launch left out.
    fn passed_over(
        &mut self,
        function: FunctionId,
        kernel: &Kernel,
        block: [u32; 3],
        bad: BadAccesses,
    ) {
        let passed = bad.passed(&kernel.program, block, self.loaded(function));
        for Passed { fault, text, count } in passed {
            let times = if count == 1 { "once".to_owned() } else { format!("{count} times") };
            self.program.note(&format!("{text}\n  left out {times}; the launch goes on"));
            self.record.faulted(&kernel.name, of_fault(&fault.kind), &fault, count);
        }
    }

    /// The GPU's limits, as far as they are known: the interpreter runs what any GPU could.
    fn check_limits(
        &self,
        function: FunctionId,
        kernel: &Kernel,
        block: [u32; 3],
        shared_bytes: u32,
    ) -> Result<(), Error> {
        let threads = block.iter().fold(1, |all: u64, &n| all.saturating_mul(u64::from(n)));
        if threads > u64::from(self.properties.max_threads_per_block()) {
            return Err(Error::InvalidConfiguration);
        }
        if u64::from(shared_bytes) > self.most_dynamic_shared_bytes(function, kernel)? {
            return Err(Error::InvalidValue);
        }
        if !self.fits(kernel, threads, u64::from(shared_bytes)) {
            let device = self.properties.model();
            let registers = kernel.machine.thread_registers(&kernel.program, device);
            let registers = registers.map_or(String::new(), |registers| {
                format!(" with {} registers each", registers.count)
            });
            self.program.note(&format!(
                "a launch of {} is refused: no SM of the {} holds {threads} threads{registers} and \
                 {} bytes of shared memory",
                kernel.name,
                self.properties.display_name(),
                kernel.program.static_shared_bytes() + u64::from(shared_bytes),
            ));
            return Err(Error::OutOfResources);
        }
        Ok(())
    }

    /// The name of the launches whose time this one may have, if it is to have one: those that
    /// equal it, before the same memory if counts depend on that.
    fn counted_key(&self, kernel: &Kernel, same: &Key, before: Option<&Snapshot>) -> Option<Key> {
        // Features name the buffers of the program, which come and go.
        let needs_buffers = self.counting.chosen.model.needs().features;
        if self.settings.mode != Mode::Count || needs_buffers {
            return None;
        }
        if kernel.ignores_contents {
            return Some(same.clone());
        }
        before.map(|before| same.clone().before(before.all))
    }

    /// What memory holds before a launch, if that is worth knowing: an equal launch may have found
    /// the same.
    fn look(&mut self, kernel: &Kernel, same: &Key, threads: u64) -> Option<Snapshot> {
        // The program may have freed memory that it registered. Only kernels may find that out.
        let of_program = |block: &BlockRange| block.kind == BlockKind::Registered;
        if self.checking.is_on()
            || !kernel.program.only_changes_memory()
            || self.blocks.values().any(of_program)
        {
            return None;
        }
        let worth = self.effects.is_worth_a_look(same, threads, self.memory.total_bytes());
        worth.then(|| self.contents.snapshot(&self.memory, &self.blocks))
    }

    /// Leaves in memory what an equal launch left that found the same. Returns false if there was
    /// none.
    fn repeat(&mut self, same: &Key, before: &Snapshot) -> bool {
        let Self { effects, memory, contents, blocks, .. } = self;
        effects.repeat(same, before, memory, contents, blocks)
    }

    /// Remembers what an executed launch made of the memory that it found.
    fn learn(&mut self, same: &Key, before: Option<Snapshot>) {
        self.contents.all_changed();
        if let Some(before) = before {
            let after = self.contents.snapshot(&self.memory, &self.blocks);
            self.effects.learn(same, &before, &after, &self.memory);
        }
    }

    /// Limits of a launch. The memory of this machine is asked for when buffers have changed.
    fn options(&mut self) -> Options {
        if self.memory_limit.is_none() {
            self.memory_limit = self.memory.room();
        }
        let default = Options::default();
        let timing = self.settings.async_timing.as_deref().and_then(|text| text.parse().ok());
        self.checking.options(Options {
            skip_bad_accesses: self.settings.on_fault == OnFault::Report,
            async_timing: timing.unwrap_or_default(),
            instruction_budget: self.settings.budget.unwrap_or(default.instruction_budget),
            memory_limit: self.memory_limit,
            heap_bytes: self.heap_bytes,
            stack_bytes: self.stack_bytes,
            ..default
        })
    }

    /// Returns true if the user wants to have the kernel counted.
    fn is_chosen(&self, function: FunctionId, kernel: &Kernel) -> bool {
        let Some(wanted) = &self.settings.kernel else { return true };
        let name =
            self.functions.get(function.0).map_or(kernel.name.as_str(), |function| &function.name);
        !kernel_name::meant(wanted, &[name]).is_empty()
    }

    /// Executes and counts; the time is absent where the model declines.
    fn count(
        &mut self,
        launch: &HostLaunch<'_>,
        (function, kernel): (FunctionId, &Kernel),
        bad: &mut Option<BadAccesses>,
    ) -> Result<Option<Predicted>, HostLaunchError> {
        let chosen = self.counting.chosen;
        let stand_in =
            kernel.stand_in.get_or_init(|| stand_in(self.loaded(function)?, &kernel.program));
        let launch = &HostLaunch { stand_in: stand_in.as_ref(), ..*launch };
        let counting = Counting {
            device: self.counting.device,
            machine: &kernel.machine,
            extras: Extras::of(chosen.model.needs()),
            rung: RungChoice::Auto,
            sample: None,
            // A profiler's counts are asked for themselves, and not for a time alone.
            caches: match self.profiler {
                Some(_) => CacheChoice::Full,
                None => CacheChoice::Auto,
            },
            supervisor: &Alone,
        };
        let counted = launch.count(&mut self.memory, &counting, &mut self.l2, bad)?;
        let mut source = sources::of_launch(&counted, &self.counting.gpu);
        source.conditions.timing = self.counting.timing;
        let gpu = self.properties.gpu();
        let prediction = chosen.predict(&source.profile, gpu, &source.conditions);
        if let Some(profiler) = &mut self.profiler {
            let launch = Profiled {
                counts: &counted.profile,
                gpu,
                prediction: prediction.as_ref().ok(),
                dynamic_shared_bytes: launch.launch.dynamic_shared_bytes,
                stack_bytes: self.stack_bytes,
            };
            let predicted = launch.prediction.map(Predicted::of);
            let loaded = loaded_of(&self.modules, &self.functions, function);
            profiler.keep(launch, loaded, predicted);
        }
        match prediction {
            Ok(prediction) => {
                let codes = prediction.warnings.iter().map(|warning| warning.code());
                self.record.warned(&kernel.name, codes);
                Ok(Some(Predicted::of(&prediction)))
            }
            Err(error) => {
                self.record.declined(&kernel.name, &error.to_string());
                Ok(None)
            }
        }
    }

    /// A launch that did not run to its end: an error now if it never began, a fault from now on
    /// if it did.
    fn failed(&mut self, function: FunctionId, error: RunError) -> Result<(), Error> {
        match error {
            RunError::Launch(error) => {
                self.program.note(&format!("a launch is refused: {error}"));
                Err(of_launch(&error))
            }
            RunError::Fault(fault) => {
                if !matches!(fault.kind, FaultKind::Assertion { .. }) {
                    let text = match self.loaded(function) {
                        Some(loaded) => fault_report(&fault, loaded).to_string(),
                        None => fault.to_string(),
                    };
                    self.program.note(&text);
                } else {
                    self.program.note(&assertion(&fault));
                }
                let error = of_fault(&fault.kind);
                let name = kernel_name::readable(&fault.kernel);
                self.record.faulted(&name, error, &fault, 1);
                self.fault = Some(error);
                Ok(())
            }
            stopped @ RunError::Stopped { .. } => {
                self.program.note(&stopped.to_string());
                let name = self.functions.get(function.0).map_or("", |function| &function.name);
                let name = kernel_name::readable(name);
                self.record.faulted(&name, Error::LaunchTimeout, &stopped, 1);
                self.fault = Some(Error::LaunchTimeout);
                Ok(())
            }
        }
    }
}

/// Executes a launch without counters.
fn without_counters(
    launch: &HostLaunch<'_>,
    memory: &mut DeviceMemory,
    bad: &mut Option<BadAccesses>,
    predicted: Option<Predicted>,
) -> Result<Timed, RunError> {
    match bad {
        Some(bad) => launch.run(memory, bad)?,
        None => launch.run(memory, &mut NoObserver)?,
    };
    Ok(Timed { predicted, counted: false, repeated: false })
}

/// A failed assertion in the form in which CUDA prints it.
fn assertion(fault: &Fault) -> String {
    let FaultKind::Assertion { message, file, line, function } = &fault.kind else {
        return fault.to_string();
    };
    let [cx, cy, cz] = fault.cta;
    let [tx, ty, tz] = fault.thread.unwrap_or_default();
    format!(
        "{file}:{line}: {function}: block: [{cx},{cy},{cz}], thread: [{tx},{ty},{tz}] Assertion \
         `{message}` failed."
    )
}

fn of_launch(error: &LaunchError) -> Error {
    match error {
        LaunchError::Extent { .. }
        | LaunchError::GridSize { .. }
        | LaunchError::Threads { .. }
        | LaunchError::RequiredBlock { .. }
        | LaunchError::RequiredCluster { .. }
        | LaunchError::NoCluster
        | LaunchError::ClusterSize { .. }
        | LaunchError::PartialCluster { .. } => Error::InvalidConfiguration,
        LaunchError::ArgumentCount { .. }
        | LaunchError::ArgumentType { .. }
        | LaunchError::SharedMemory { .. } => Error::InvalidValue,
        LaunchError::Allocation(_) | LaunchError::Memory { .. } => Error::OutOfMemory,
        LaunchError::Counts(_) | LaunchError::Initializer { .. } => Error::NotSupported,
    }
}

fn of_fault(kind: &FaultKind) -> Error {
    match kind {
        FaultKind::OutOfBounds { .. } | FaultKind::ReadOnly { .. } | FaultKind::BadFree { .. } => {
            Error::IllegalAddress
        }
        FaultKind::Misaligned { .. } => Error::MisalignedAddress,
        FaultKind::Assertion { .. } => Error::Assert,
        FaultKind::BudgetExhausted { .. } => Error::LaunchTimeout,
        FaultKind::Trap | FaultKind::Unsupported { .. } => Error::IllegalInstruction,
        _ => Error::LaunchFailure,
    }
}
