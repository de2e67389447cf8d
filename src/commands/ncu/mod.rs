//! `gpucast ncu`: profiles a program as Nsight Compute would, on a GPU that is not there.

mod log;
mod report_file;

use std::path::Path;

use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::nsight;
use gpucast_host::collection::ProfilerSettings;
use gpucast_host::report::ProcessReport;
use gpucast_host::settings::{GPU_VARIABLE, Settings};
use gpucast_model::Timing;
use gpucast_model::gpu::Clock;
use gpucast_model::timing::KERNEL_ALONE;
use gpucast_render::ncu::{self, Collection, NumberForm, PageForm, ProfileReport};

use self::log::Log;
use super::exec;
use crate::cli::exec::{Exec, Mode, OnFault};
use crate::cli::ncu::{
    CacheControl, ClockControl, Details, Ncu, Page, Summary, Switch, TargetProcesses, Units,
};
use crate::failure::{Failure, Report};
use crate::output::{Output, diagnostic};

/// The GPU that is predicted unless another one is named.
const DEFAULT_GPU: &str = "h100-sxm";

/// The section with which instructions are kept for the source page.
const LINES: &str = "SourceCounters";

/// Names that are listed of metrics without a value.
const MOST_NAMED: usize = 20;

pub(crate) fn run(arguments: &Ncu, threads: Option<u16>) -> Result<(), Failure> {
    if let Some(list) = list(arguments) {
        return Output::open(None)?.write(&list);
    }
    if let Some(text) = arguments.others.refused() {
        return Err(Failure::Usage(Report::new(text)));
    }
    arguments.others.notes().for_each(|note| diagnostic::note(&note));
    let mut log = Log::open(arguments.log_file.as_deref())?;
    let (report, outcome) = match &arguments.import {
        Some(path) => (selected(report_file::read(path)?, arguments)?, Ok(())),
        None => profiled(arguments, threads, &mut log)?,
    };
    let exported = report_file::write(&report, arguments)?;
    if let Some(path) = &exported {
        log.say(&format!("Report: {}", path.display()));
    }
    if exported.is_none() || arguments.page.is_some() || arguments.print_summary != Summary::None {
        log.write(&pages(&report, arguments)?);
    }
    log.finish()?;
    tell_unknown(&report);
    outcome
}

/// A list that is asked for instead of results.
fn list(arguments: &Ncu) -> Option<String> {
    if arguments.version {
        let version = env!("GPUCAST_VERSION");
        return Some(format!("gpucast {version}, in the place of NVIDIA Nsight Compute\n"));
    }
    if arguments.list_sections {
        return Some(ncu::list_sections());
    }
    if arguments.list_sets {
        return Some(ncu::list_sets());
    }
    arguments.query_metrics.then(ncu::query_metrics)
}

/// Runs the program, and returns the results beside its own outcome.
fn profiled(
    arguments: &Ncu,
    threads: Option<u16>,
    log: &mut Log,
) -> Result<(ProfileReport, Result<(), Failure>), Failure> {
    if arguments.program.is_empty() {
        let report = Report::new("no program is named");
        return Err(Failure::Usage(report.hint("gpucast ncu [options] PROGRAM [arguments]")));
    }
    let collection = collection(arguments)?;
    let settings = settings(arguments, &collection)?;
    let library = gpu_argument::library()?;
    let gpu = gpu_argument::find(&library, &settings.gpu)?;
    let mut report = ProfileReport::new(
        arguments.program.clone(),
        &gpu,
        collection.sections,
        collection.metrics,
    );
    let ran = exec::launch(&arguments.program, settings, threads)?;
    let is_meant = |process: &&ProcessReport| match arguments.target_processes {
        TargetProcesses::All => true,
        TargetProcesses::ApplicationOnly => process.pid == ran.pid,
    };
    for process in ran.reports.iter().filter(is_meant) {
        log.say(&format!("Connected to process {} ({})", process.pid, process.program));
        let first = report.actions.len();
        report.add(process);
        for line in report.progress(first) {
            log.say(&line);
        }
        log.say(&format!("Disconnected from process {}", process.pid));
        tell_declined(process);
    }
    if report.actions.is_empty() {
        log.warn(&nothing_profiled(&ran.reports));
    }
    Ok((report, ran.outcome()))
}

/// Says why kernels have no times.
fn tell_declined(process: &ProcessReport) {
    for row in &process.kernels {
        if let Some(reason) = &row.declined {
            diagnostic::note(&format!("{}: {reason}", row.kernel));
        }
    }
}

/// Says that no launch was chosen, and which there were.
fn nothing_profiled(reports: &[ProcessReport]) -> String {
    let mut text = "No kernels were profiled.".to_owned();
    let kernels = reports.iter().flat_map(|report| &report.kernels);
    for (at, row) in (1..).zip(kernels) {
        if at == 1 {
            text.push_str("\nAvailable Kernels:");
        }
        text.push_str(&format!("\n{at}. {}", row.kernel));
    }
    text
}

/// The sections and metrics of a report that the options ask for; all if they ask for none.
fn selected(mut report: ProfileReport, arguments: &Ncu) -> Result<ProfileReport, Failure> {
    if arguments.metrics.is_empty() && arguments.section.is_empty() && arguments.set.is_empty() {
        return Ok(report);
    }
    let Collection { sections, metrics, .. } = collection(arguments)?;
    report.sections.retain(|known| sections.contains(known));
    report.metrics = metrics;
    Ok(report)
}

/// What `--set`, `--section` and `--metrics` choose.
fn collection(arguments: &Ncu) -> Result<Collection, Failure> {
    let Ncu { set, section, metrics, .. } = arguments;
    let collection = Collection::read(set, section, metrics)?;
    collection.notes.iter().for_each(|note| diagnostic::note(note));
    Ok(collection)
}

fn settings(arguments: &Ncu, collection: &Collection) -> Result<Settings, Failure> {
    let gpu = arguments.gpu.clone().or_else(|| std::env::var(GPU_VARIABLE).ok());
    let gpu = gpu.unwrap_or_else(|| DEFAULT_GPU.to_owned());
    let clock = clock(&gpu, arguments.clock_control)?;
    let settings = exec::settings(
        &Exec {
            timing: timing(&gpu, &arguments.timing)?,
            gpu,
            program: Vec::new(),
            model: arguments.model.clone(),
            link: None,
            mode: Mode::Count,
            samples: 1,
            kernel: None,
            count_on: None,
            machine: arguments.machine.clone(),
            check: None,
            on_fault: OnFault::Stop,
            async_timing: None,
            budget: None,
            report: None,
            trace: None,
            trace_limit: 0,
        },
        true,
    )?;
    let has_device = arguments.devices.is_empty() || arguments.devices.contains(&0);
    let profiler = ProfilerSettings {
        metrics: collection.names.clone(),
        kernel: arguments.kernel_name.clone(),
        base: arguments.kernel_name_base.into(),
        kernel_ids: arguments.kernel_id.clone(),
        skip_before_match: arguments.launch_skip_before_match,
        skip: arguments.launch_skip,
        most: if has_device { arguments.launch_count } else { Some(0) },
        keeps_caches: arguments.cache_control == CacheControl::None,
        lists_lines: arguments.page == Some(Page::Source)
            || collection.sections.iter().any(|section| section == LINES),
        waits_for_start: arguments.profile_from_start == Switch::Off,
    };
    profiler.check()?;
    Ok(Settings { clock, profiler: Some(profiler), ..settings })
}

/// The clock that the SMs are held at, if it is another one than the file's.
fn clock(gpu: &str, chosen: ClockControl) -> Result<Option<String>, Failure> {
    let library = gpu_argument::library()?;
    let gpu = gpu_argument::find(&library, gpu)?;
    let (word, clock) = match chosen {
        ClockControl::Base => ("base", Clock::Base),
        ClockControl::Boost => ("boost", Clock::Boost),
        ClockControl::None => return Ok(None),
    };
    match gpu.at_clock(clock) {
        Ok(_) => Ok(Some(word.to_owned())),
        Err(error) => {
            diagnostic::note(&format!("{error}: times are for the clock of its file"));
            Ok(None)
        }
    }
}

/// The way of measuring, if the GPU's file has its figure: kernels alone else.
fn timing(gpu: &str, chosen: &str) -> Result<String, Failure> {
    let library = gpu_argument::library()?;
    let gpu = gpu_argument::find(&library, gpu)?;
    Ok(match chosen.parse::<Timing>() {
        Ok(timing) => {
            let lacks = |field: &&&str| gpu.number(field).is_none();
            match timing.fields().iter().find(lacks) {
                Some(field) => {
                    diagnostic::note(&format!(
                        "{} has no `{field}`: durations are those of kernels alone",
                        gpu.name,
                    ));
                    KERNEL_ALONE.to_owned()
                }
                None => chosen.to_owned(),
            }
        }
        Err(_) => chosen.to_owned(),
    })
}

/// The page, or the summary.
fn pages(report: &ProfileReport, arguments: &Ncu) -> Result<String, Failure> {
    let form = PageForm {
        page: arguments.page.map(Into::into).unwrap_or_default(),
        csv: arguments.csv,
        all_details: arguments.print_details != Details::Header,
        numbers: NumberForm {
            base_units: arguments.print_units == Units::Base,
            floating: arguments.print_fp,
        },
        kernel_names: arguments.print_kernel_base.into(),
        metric_names: arguments.print_metric_name.into(),
    };
    let by = match arguments.print_summary {
        Summary::None => return Ok(ncu::page(report, &form)),
        Summary::PerGpu => ncu::Summary::Gpu,
        Summary::PerKernel => ncu::Summary::Kernel,
        Summary::PerNvtx => {
            let report = Report::new("--print-summary per-nvtx: ranges of NVTX are not followed");
            return Err(Failure::Usage(report.hint("per-kernel and per-gpu are there")));
        }
    };
    Ok(ncu::summary(report, by, &form))
}

/// Names the metrics that have no value anywhere, once.
fn tell_unknown(report: &ProfileReport) {
    let unknown = report.unknown();
    if unknown.is_empty() {
        return;
    }
    let named = unknown.iter().take(MOST_NAMED).copied().collect::<Vec<_>>().join(", ");
    let more = match unknown.len().saturating_sub(MOST_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let hint = match nsight::meaning(unknown[0]) {
        Some(_) => String::new(),
        None => nearest(unknown[0]),
    };
    diagnostic::note(&format!("n/a, as they do not follow from counts: {named}{more}{hint}"));
}

/// The known name that is like one that nobody knows.
fn nearest(name: &str) -> String {
    let names = nsight::names();
    let hint = crate::failure::suggest(name, names.iter().map(String::as_str));
    hint.map_or(String::new(), |hint| format!(" ({name}: {hint})"))
}

/// The path of a report: with an ending, as scripts expect it.
fn with_ending(path: &Path) -> std::path::PathBuf {
    match path.extension() {
        Some(_) => path.to_owned(),
        None => path.with_extension("ncu-rep"),
    }
}
