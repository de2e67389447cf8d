//! `gpucast exec`: runs a program that uses CUDA, with libraries in which no GPU is.
//!
//! The program finds the libraries by `LD_LIBRARY_PATH`, and the settings in its environment. Each
//! of its processes leaves a report in a folder; they are read when the program has ended.

mod assembler;
mod inspection;
mod libraries;
mod profiler;
mod trace;
mod waiting;

use std::path::Path;
use std::process::{Command, ExitStatus};

use gpucast_forecast::choice::count_on::CountOn;
use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::choice::model_choice::Models;
use gpucast_forecast::input::bounded;
use gpucast_forecast::settings::MachineSettings;
use gpucast_host::report::ProcessReport;
use gpucast_host::settings::{Settings, VARIABLE};
use gpucast_model::timing::KERNEL_ALONE;
use gpucast_render::program::{self, Format};
use gpucast_sanitizer::Checks;

use self::inspection::Facts;
use crate::cli::exec::{Exec, Libraries};
use crate::failure::{Failure, Report};
use crate::output::{Output, diagnostic};

pub(crate) use libraries::find as find_library;

/// Where the system's loader looks for libraries first.
const LIBRARY_PATH: &str = "LD_LIBRARY_PATH";

/// No report of a process is longer.
const MOST_BYTES: u64 = 1 << 30;

/// Libraries that the system's loader takes before all others.
const PRELOAD: &str = "LD_PRELOAD";

pub(crate) fn run(arguments: &Exec, threads: Option<u16>) -> Result<(), Failure> {
    let format = arguments.report.as_deref().map(Format::of).transpose()?;
    let mut output = arguments.report.clone().map(|path| Output::open(Some(path))).transpose()?;
    let mut trace = trace::File::open(arguments)?;
    let settings = settings(arguments, format.is_some_and(Format::lists_launches))?;
    let settings = Settings { keep_timeline: trace.is_some(), ..settings };
    let mut ran = launch(&arguments.program, settings, threads)?;
    for report in &ran.reports {
        diagnostic::text(&report.text());
    }
    if let Some(trace) = &mut trace {
        trace.write(&ran.reports)?;
        // The other report is of launches.
        ran.reports.iter_mut().for_each(|report| report.timeline = None);
    }
    if let (Some(output), Some(format)) = (&mut output, format) {
        output.write_bytes(&program::document(&ran.reports, format)?)?;
    }
    if !ran.reports.is_empty()
        && let Some(note) = ran.facts.host_clock_note()
    {
        diagnostic::note(&note);
    }
    ran.outcome()
}

/// A program that has ended.
pub(super) struct Ran {
    status: ExitStatus,
    /// The number of its first process.
    pub(super) pid: u32,
    /// What its processes did, by their numbers.
    pub(super) reports: Vec<ProcessReport>,
    facts: Facts,
}

impl Ran {
    /// The program's own status; a fault or a finding is one where it has none.
    pub(super) fn outcome(&self) -> Result<(), Failure> {
        let is_wrong = |report: &ProcessReport| {
            !report.faults.is_empty() || report.findings.as_ref().is_some_and(|all| !all.is_empty())
        };
        match (ended(self.status), self.reports.iter().any(is_wrong)) {
            (0, false) => Ok(()),
            (0, true) => Err(Failure::Said),
            (code, _) => Err(Failure::Exit(code)),
        }
    }
}

/// Runs a program to its end.
pub(super) fn launch(
    program: &[String],
    settings: Settings,
    threads: Option<u16>,
) -> Result<Ran, Failure> {
    let (name, rest) = program.split_first().ok_or_else(|| Report::new("no program is named"))?;
    let path = inspection::find(name)?;
    let facts = inspection::inspect(&path)?;
    let library = libraries::find()?;
    let folder = tempfile::Builder::new().prefix("gpucast-exec-").tempdir();
    let folder = folder.map_err(|error| {
        Report::new(format!("cannot make a folder for the program's libraries: {error}"))
    })?;
    gpucast_cuda::facade::write(folder.path(), &library)
        .map_err(|error| Report::new(error.to_string()))?;
    let settings = Settings { report_folder: Some(folder.path().to_owned()), ..settings };
    let mut command = Command::new(&path);
    command.args(rest).env(VARIABLE, settings.to_variable());
    command.env(LIBRARY_PATH, before(folder.path(), LIBRARY_PATH));
    assembler::provide(folder.path(), &mut command)?;
    // A path inside the program comes before the library path.
    if let Some(runtime) = &facts.preload {
        command.env(PRELOAD, before(&folder.path().join(runtime), PRELOAD));
    }
    if let Some(threads) = threads {
        command.env("RAYON_NUM_THREADS", threads.to_string());
    }
    let (status, pid) =
        waiting::run(&mut command).map_err(|error| Report::file("run", &path, &error))?;
    let reports = reports(folder.path())?;
    let note = match (signal(status), reports.is_empty()) {
        (None, false) => None,
        (None, true) => Some(facts.without_calls()),
        (Some(signal), is_empty) => Some(match is_empty {
            true => format!("signal {signal} ended the program before it left a report"),
            false => format!(
                "signal {signal} ended the program: what it did in its last seconds may be missing"
            ),
        }),
    };
    note.iter().for_each(|note| diagnostic::note(note));
    Ok(Ran { status, pid, reports, facts })
}

/// `gpucast libraries`: writes what a linker is given.
pub(crate) fn write_libraries(arguments: &Libraries) -> Result<(), Failure> {
    let Libraries { folder, cuda } = arguments;
    let library = libraries::find()?;
    std::fs::create_dir_all(folder)
        .map_err(|error| Report::file("write libraries into", folder, &error))?;
    gpucast_cuda::facade::write_for_linker(folder, &library, *cuda)
        .map_err(|error| Report::new(error.to_string()))?;
    profiler::write(folder)?;
    Ok(())
}

/// The settings of the program's processes. Everything is tried here, where reports are drawn.
pub(super) fn settings(arguments: &Exec, list_launches: bool) -> Result<Settings, Failure> {
    let library = gpu_argument::library()?;
    let gpu = gpu_argument::find(&library, &arguments.gpu)?;
    gpu_argument::device_model(&gpu)?;
    let models = Models::read(arguments.model.as_slice(), &[])?.of(&gpu);
    if models.len() != 1 {
        let report = Report::new("a program's times are those of one model");
        return Err(Failure::Usage(report.hint("name one with --model")));
    }
    let count_on = CountOn::read(&library, arguments.count_on.as_deref())?;
    gpu_argument::device_model(count_on.of(&gpu, &models))?;
    let timing = (arguments.timing != KERNEL_ALONE).then(|| arguments.timing.clone());
    if let Some(timing) = &timing {
        timing.parse::<gpucast_model::Timing>().map_err(|error| {
            let report = Report::new(format!("--timing: {error}"));
            Failure::Usage(report.hint("kernel stands for none"))
        })?;
    }
    if let Some(checks) = &arguments.check {
        checks
            .parse::<Checks>()
            .map_err(|error| Failure::Usage(Report::new(format!("--check: {error}"))))?;
    }
    if arguments.link.is_some_and(|gbps| !gbps.is_finite() || gbps <= 0.0) {
        return Err(Failure::Usage(Report::new("--link takes gigabytes per second, above 0")));
    }
    let machine = MachineSettings::from(&arguments.machine);
    Ok(Settings {
        gpu: absolute(&arguments.gpu),
        clock: None,
        count_on: arguments.count_on.as_deref().map(absolute),
        model: arguments.model.clone(),
        timing,
        mode: arguments.mode.into(),
        samples: arguments.samples,
        kernel: arguments.kernel.clone(),
        check: arguments.check.clone(),
        on_fault: arguments.on_fault.into(),
        machine: machine.machine,
        machine_target: machine.machine_target.map(|target| target.to_string()),
        ptxas: machine.ptxas.map(|path| path.canonicalize().unwrap_or(path)),
        budget: arguments.budget,
        async_timing: arguments.async_timing.map(|timing| timing.to_string()),
        link_gbps: arguments.link,
        report_folder: None,
        list_launches,
        keep_timeline: false,
        profiler: None,
    })
}

/// A GPU's name, or the whole path of its file: the program may change its folder.
fn absolute(gpu: &str) -> String {
    let path = Path::new(gpu);
    if !path.is_file() {
        return gpu.to_owned();
    }
    path.canonicalize().map_or_else(|_| gpu.to_owned(), |path| path.display().to_string())
}

/// A path before those that a variable of the environment has.
fn before(path: &Path, variable: &str) -> std::ffi::OsString {
    let mut value = path.as_os_str().to_owned();
    if let Some(others) = std::env::var_os(variable).filter(|others| !others.is_empty()) {
        value.push(":");
        value.push(others);
    }
    value
}

/// The reports that the program's processes left, by their numbers.
fn reports(folder: &Path) -> Result<Vec<ProcessReport>, Report> {
    let entries =
        std::fs::read_dir(folder).map_err(|error| Report::file("read", folder, &error))?;
    let mut reports = Vec::new();
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        // The program may have left anything there, a pipe without a writer too.
        let bytes = bounded::read(&path, MOST_BYTES);
        let bytes = bytes.map_err(|error| Report::file("read", &path, &error))?;
        let report: ProcessReport = serde_json::from_slice(&bytes)
            .map_err(|error| Report::new(format!("a process left a damaged report: {error}")))?;
        reports.push(report);
    }
    reports.sort_by_key(|report| report.pid);
    Ok(reports)
}

/// The exit status as shells have it: 128 and the signal's number where one ended the program.
fn ended(status: ExitStatus) -> u8 {
    let of_signal = signal(status).map(|signal| 128 + signal);
    u8::try_from(status.code().or(of_signal).unwrap_or(1)).unwrap_or(1)
}

/// The signal that ended a program; other systems have none.
fn signal(status: ExitStatus) -> Option<i32> {
    #[cfg(unix)]
    return std::os::unix::process::ExitStatusExt::signal(&status);
    #[cfg(not(unix))]
    {
        let _ = status;
        None
    }
}
