//! The execution of a test: results and checks in one run, then limits by counts and predictions.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gpucast_buffers::init::Init;
use gpucast_forecast::choice::count_on::CountOn;
use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::choice::model_choice::Models;
use gpucast_forecast::difference::{Condition, exceeded};
use gpucast_forecast::input::expectation::compare;
use gpucast_forecast::input::plan::Plan;
use gpucast_forecast::prediction::{KernelView, predict};
use gpucast_forecast::run::assembler::Toolchain;
use gpucast_forecast::run::check::Check;
use gpucast_forecast::run::expected::{Compared, Expected};
use gpucast_forecast::run::sources::Counts;
use gpucast_forecast::run::{execute, module};
use gpucast_forecast::settings::{CacheChoice, ExecutionSettings, MachineSettings};
use gpucast_forecast::{Failure, Kernel, Report, Supervisor};
use gpucast_interpreter::{DeviceMemory, Options};
use gpucast_judge::tolerance::{self, Overrides};
use gpucast_model::{Gpu, GpuLibrary};
use gpucast_render::TextOrJson;
use gpucast_render::findings::{self, Extent};
use gpucast_render::{diagnostic, run};
use gpucast_sanitizer::{Checks, Sanitizer};
use gpucast_toolchain::{Stop, assembler, compiler};

use crate::buffers::Buffers;
use crate::failed::Failed;
use crate::kernel_test::{KernelTest, Reference};

impl KernelTest<'_> {
    /// Executes the kernel on the CPU and says what does not hold. Limits are looked at where
    /// results and checks are well.
    ///
    /// # Errors
    ///
    /// Everything that does not hold, and whatever keeps the kernel from being executed.
    pub fn outcome(self) -> Result<(), Failed> {
        let caller = Caller::new();
        let file = self.file.clone();
        let wrong = match wrong(self, &caller) {
            Ok(wrong) if wrong.is_empty() => return Ok(()),
            Ok(wrong) => wrong,
            Err(failure) => told(&failure),
        };
        let mut text = format!("{file} does not pass\n{wrong}");
        caller.notes().iter().for_each(|note| text += &format!("note: {note}\n"));
        Err(Failed(text))
    }

    /// Executes the kernel on the CPU.
    ///
    /// # Panics
    ///
    /// If something does not hold, with the text of [`KernelTest::outcome`].
    #[track_caller]
    #[expect(clippy::panic, reason = "a test fails by panicking")]
    pub fn run(self) {
        if let Err(failed) = self.outcome() {
            panic!("{failed}");
        }
    }
}

/// Everything that does not hold; nothing where all does.
fn wrong(test: KernelTest<'_>, caller: &Caller) -> Result<String, Failure> {
    let checks = test.checks.parse::<Checks>();
    let checks = checks.map_err(|error| Failure::Usage(Report::new(error.to_string())))?;
    let limits = test.limits.iter().map(|limit| Condition::holding(limit));
    let limits = limits.collect::<Result<Vec<Condition>, Report>>().map_err(Failure::Usage)?;
    let library = gpu_argument::library()?;
    let names: Vec<String> = test.gpu.split(',').map(|name| name.trim().to_owned()).collect();
    let gpus = gpu_argument::find_all(&library, &names)?;
    let mut launch = test.launch;
    launch.cuda.suggest_for(&gpus);
    let installed = || Arc::new(compiler::Installed::new(None, Stop::never())) as _;
    launch.cuda.compiler.get_or_insert_with(installed);
    let kernel = Kernel::open(&test.file, &launch)?;
    let mut wrong = run_checked(kernel.plan(), checks, test.reference, test.tolerances, caller)?;
    if wrong.is_empty() && !limits.is_empty() {
        let machine = MachineSettings { machine: test.machine, ..MachineSettings::default() };
        let predicted = predicted(&kernel, &library, gpus, &machine, caller)?;
        for exceeded in exceeded(&limits, &predicted)? {
            wrong += &format!("FAILED {exceeded}\n");
        }
    }
    Ok(wrong)
}

/// Executes all launches under the checks, and compares what they leave.
fn run_checked(
    plan: &Plan,
    checks: Checks,
    reference: Option<Reference<'_>>,
    tolerances: Overrides,
    caller: &Caller,
) -> Result<String, Failure> {
    plan.note.iter().for_each(|note| caller.note(note));
    let loaded = module::load(plan)?;
    let mut memory = execute::memory(plan, &loaded)?;
    let stated = Expected::of(plan, &memory);
    let before = Buffers::of(plan, &memory);
    let mut watch = Check::new(checks, plan, &memory);
    let options = Sanitizer::options(checks, Options::default());
    let ran = execute::execute(plan, &loaded, &mut memory, &options, caller, &mut watch);
    let mut wrong = String::new();
    if ran.is_ok() {
        let mut compared = stated.compared(&memory)?;
        if let Some(reference) = reference {
            compared.extend(by_reference(plan, &memory, before, reference, tolerances));
        }
        compared.retain(|one| !one.agrees());
        wrong += &run::document(&[], &compared, TextOrJson::Text)?;
    }
    let is_clean = watch.checked.iter().all(|launch| launch.findings.findings.is_empty());
    if !is_clean {
        let extent = if ran.is_ok() { Extent::Complete } else { Extent::EndedEarly };
        let found = &watch.checked;
        wrong += &findings::document(found, &loaded, checks, extent, TextOrJson::Text)?;
    }
    match ran {
        // The findings say what it was.
        Ok(()) | Err(Failure::Explained) => {}
        Err(failure) => wrong += &told(&failure),
    }
    if !wrong.is_empty() {
        wrong += &caller.printed();
    }
    Ok(wrong)
}

/// The buffers beside what a test's own function makes of them. What nobody fills and the function
/// leaves alone may be anything.
fn by_reference(
    plan: &Plan,
    memory: &DeviceMemory,
    before: Buffers,
    reference: Reference<'_>,
    tolerances: Overrides,
) -> Vec<Compared> {
    let mut after = before.clone();
    reference(&mut after);
    let mut compared = Vec::new();
    for (at, (before, want)) in before.bytes().zip(after.bytes()).enumerate() {
        let buffer = &plan.buffers[at];
        if buffer.init == Init::Unstated && before == want {
            continue;
        }
        let got = memory.bytes(&buffer.name).unwrap_or_default();
        let tolerance::Tolerance { rtol, atol } = tolerance::of(plan, at, want, tolerances);
        compared.push(Compared {
            buffer: buffer.name.clone(),
            against: "the test's function".to_owned(),
            rtol,
            atol,
            comparison: compare(buffer.ty, got, want, rtol, atol),
        });
    }
    compared
}

/// Counts and predicted times of all launches, as `gpucast predict` has them.
fn predicted(
    kernel: &Kernel,
    library: &GpuLibrary,
    gpus: Vec<Gpu>,
    machine: &MachineSettings,
    caller: &Caller,
) -> Result<Vec<KernelView>, Failure> {
    let models = Models::read(&[], &[])?;
    let mut views = Vec::new();
    for group in CountOn::read(library, None)?.groups(gpus, &models)? {
        let caches = CacheChoice::Auto;
        let counts = Counts {
            machine: machine.clone(),
            execution: ExecutionSettings { caches, ..ExecutionSettings::default() },
            needs: group.needs,
            ..Counts::default()
        };
        let sources = kernel.count_with(&group.counting_gpu, &counts, caller)?;
        let launches = sources.len();
        for (launch, source) in sources.iter().enumerate() {
            let view = predict(&models, source, &group.gpus, None, &[])?;
            views.push(KernelView { launch, launches, ..view });
        }
    }
    Ok(views)
}

/// A failure with the text that it is about.
fn told(failure: &Failure) -> String {
    match failure {
        Failure::Input(reports) => reports.iter().map(diagnostic::plain).collect(),
        Failure::Usage(report) => diagnostic::plain(report),
        Failure::Explained | Failure::Stopped => format!("error: {failure}\n"),
    }
}

/// Keeps what a terminal would show, lends `ptxas`, and never ends a run.
struct Caller {
    notes: Mutex<Vec<String>>,
    printed: Mutex<Vec<u8>>,
    assemblers: assembler::Installed,
}

impl Caller {
    fn new() -> Self {
        let assemblers = assembler::Installed::new(Stop::never());
        Self { notes: Mutex::default(), printed: Mutex::default(), assemblers }
    }

    fn notes(&self) -> MutexGuard<'_, Vec<String>> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What kernels have printed by now.
    fn printed(&self) -> String {
        let bytes = self.printed.lock().unwrap_or_else(PoisonError::into_inner);
        match String::from_utf8_lossy(&bytes) {
            text if text.is_empty() => String::new(),
            text => format!("the kernel printed:\n{}\n", text.trim_end()),
        }
    }
}

impl Supervisor for Caller {
    fn note(&self, text: &str) {
        let mut notes = self.notes();
        if !notes.iter().any(|note| note == text) {
            notes.push(text.to_owned());
        }
    }

    fn print(&self, text: &[u8]) {
        self.printed.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(text);
    }

    fn toolchain(&self) -> Option<&dyn Toolchain> {
        Some(&self.assemblers)
    }
}
