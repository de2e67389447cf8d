//! `gpucast bench --device KERNEL`: kernels on a GPU, their results and their times.

use gpucast_counters::hierarchy::L2Contents;
use gpucast_forecast::Supervisor as _;
use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::input::options::Size;
use gpucast_forecast::input::plan::Plan;
use gpucast_forecast::run::expected::{Compared, Expected};
use gpucast_forecast::run::{execute, module};
use gpucast_measure::conditions::State;
use gpucast_measure::{Device as _, Trials, gpu_file};
use gpucast_model::Timing;
use gpucast_render::table::{Align, aligned};
use gpucast_render::{Format, csv, json};
use gpucast_toolchain::driver::{Gpu, PlanTimes};
use serde::Serialize;

use super::measured::{DeviceFacts, RawState};
use crate::cli::bench;
use crate::failure::{Failure, Report};
use crate::output::{Output, Terminal, diagnostic};

/// The schema of the document.
const SCHEMA: &str = "gpucast.measured-kernels/1";

/// Kernels that ran on a device.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    /// The GPU's name here.
    gpu: &'a str,
    device: DeviceFacts<'a>,
    warm_up: u32,
    trials: u32,
    kernels: Vec<Kernel>,
}

/// A kernel with what it left and how long it took.
#[derive(Serialize)]
struct Kernel {
    kernel: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<&'static str>,
    launches: Vec<Launch>,
    /// What the launch file expects, and how it turned out.
    results: Vec<Outcome>,
    /// Why it was not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// Seconds by what went before.
    times: Vec<Protocol>,
    /// The device's clocks after the kernel, where it tells them.
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<RawState>,
    /// True if the launch file wants an L2 that holds the buffers.
    is_warm: bool,
}

#[derive(Serialize)]
struct Launch {
    function: String,
    grid: [u32; 3],
    block: [u32; 3],
    shared_bytes: u32,
    repeat: u32,
}

#[derive(Serialize)]
struct Outcome {
    buffer: String,
    against: String,
    agrees: bool,
    mismatches: usize,
    elements: usize,
}

/// Times between two events: `cold` on a flushed L2, `warm` after the buffers were filled,
/// `in_a_row` for each of several executions between one pair.
#[derive(Serialize)]
struct Protocol {
    protocol: &'static str,
    median_s: f64,
    seconds: Vec<f64>,
}

pub(super) fn run(arguments: &bench::Bench) -> Result<(), Failure> {
    let options = &arguments.device;
    let compared = options.compare.as_deref();
    let library = gpu_argument::library()?;
    let compared = compared.map(|name| gpu_argument::find(&library, name)).transpose()?;
    // A kernel that cannot be read is refused before another one is executed.
    let plans = arguments.kernel.plans()?;
    let size = arguments.kernel.launch.size.map(|size| Size::from(size).name());
    let mut output = Output::open(arguments.output.output.clone())?;
    let terminal = Terminal::without_notes(&arguments.execution)?;
    let mut device =
        Gpu::open(options.device.unwrap_or(0)).map_err(|error| Report::new(error.to_string()))?;
    let facts = device.facts().clone();
    let trials = Trials { warm_up: options.warm_up, timed: options.trials.get() };
    let mut kernels = Vec::new();
    for (index, (name, plan)) in plans.iter().enumerate() {
        terminal.part(index, plans.len());
        plan.note.iter().for_each(|note| terminal.note(note));
        let size = plan.corpus_name.and(size);
        kernels
            .push(measured(&mut device, name, plan, trials, !options.unchecked)?.with_size(size));
    }
    let named = options.name.clone().or_else(|| compared.map(|gpu| gpu.name));
    let gpu = named.unwrap_or_else(|| gpu_file::name_of(&facts.name));
    let faults = faults(&kernels);
    let document = Document {
        schema: SCHEMA,
        gpu: &gpu,
        device: DeviceFacts::new(&facts, facts.clock_mhz),
        warm_up: trials.warm_up,
        trials: trials.timed,
        kernels,
    };
    output.write(&match arguments.output.format {
        Format::Json => json::document(&document)?,
        Format::Csv => as_csv(&document)?,
        Format::Text => as_text(&document),
    })?;
    match faults.as_slice() {
        [] => Ok(()),
        [first, ..] => {
            faults.iter().skip(1).for_each(|fault| diagnostic::warning(fault));
            Err(Report::new(first.clone()).into())
        }
    }
}

/// A kernel's results and times. What the device refuses is an outcome; a plan that cannot be read
/// is an error.
fn measured(
    device: &mut Gpu,
    name: &str,
    plan: &Plan,
    trials: Trials,
    is_checked: bool,
) -> Result<Kernel, Failure> {
    let launch = |launch: &gpucast_forecast::input::plan::PlannedLaunch| Launch {
        function: launch.kernel.clone(),
        grid: launch.grid,
        block: launch.block,
        shared_bytes: launch.shared_bytes,
        repeat: launch.repeat,
    };
    let loaded = module::load(plan)?;
    let (left, times) = match device.measure_plan(plan, trials) {
        Ok((left, times)) => (left, Ok(times)),
        Err(error) => (Vec::new(), Err(error.to_string())),
    };
    let mut results = Vec::new();
    if times.is_ok() && is_checked {
        let mut memory = execute::memory(plan, &loaded)?;
        let expected = Expected::of(plan, &memory);
        for (buffer, bytes) in plan.buffers.iter().zip(&left) {
            if let Some(place) = memory.bytes_mut(&buffer.name)
                && place.len() == bytes.len()
            {
                place.copy_from_slice(bytes);
            }
        }
        results = expected.compared(&memory)?.iter().map(Outcome::from).collect();
    }
    let (times, error) = match times {
        Ok(times) => (protocols(times), None),
        Err(error) => (Vec::new(), Some(error)),
    };
    Ok(Kernel {
        kernel: name.to_owned(),
        size: None,
        launches: plan.launches.iter().map(launch).collect(),
        results,
        error,
        times,
        state: device.state().as_ref().map(|state: &State| RawState::from(state)),
        is_warm: plan.l2 == L2Contents::Warm,
    })
}

impl Kernel {
    fn with_size(self, size: Option<&'static str>) -> Self {
        Self { size, ..self }
    }

    /// The time on the L2 that the launch file wants, in seconds.
    fn time(&self) -> Option<f64> {
        let wanted = if self.is_warm { "warm" } else { "cold" };
        self.median(wanted)
    }

    fn median(&self, protocol: &str) -> Option<f64> {
        self.times.iter().find(|times| times.protocol == protocol).map(|times| times.median_s)
    }
}

impl From<&Compared> for Outcome {
    fn from(compared: &Compared) -> Self {
        Self {
            buffer: compared.buffer.clone(),
            against: compared.against.clone(),
            agrees: compared.agrees(),
            mismatches: compared.comparison.mismatches,
            elements: compared.comparison.elements,
        }
    }
}

fn protocols(times: PlanTimes) -> Vec<Protocol> {
    let PlanTimes { cold, warm, in_a_row } = times;
    [("cold", cold), ("warm", warm), ("in_a_row", in_a_row)]
        .map(|(protocol, seconds)| {
            let mut sorted = seconds.clone();
            sorted.sort_by(f64::total_cmp);
            let median_s = sorted.get(sorted.len() / 2).copied().unwrap_or_default();
            Protocol { protocol, median_s, seconds }
        })
        .into()
}

/// A sentence for each kernel that failed or left something else than expected.
fn faults(kernels: &[Kernel]) -> Vec<String> {
    let fault = |kernel: &Kernel| {
        let wrong = kernel.results.iter().find(|outcome| !outcome.agrees).map(|outcome| {
            let Outcome { buffer, against, mismatches, elements, .. } = outcome;
            format!("{mismatches} of {elements} values of {buffer} differ from {against}")
        });
        let why = kernel.error.clone().or(wrong)?;
        Some(format!("{}: {why}", kernel.kernel))
    };
    kernels.iter().filter_map(fault).collect()
}

/// The file that `compare` reads.
fn as_csv(document: &Document<'_>) -> Result<String, Report> {
    let row = |kernel: &Kernel| {
        Some(vec![
            kernel.kernel.clone(),
            document.gpu.to_owned(),
            (kernel.time()? * 1e3).to_string(),
            kernel.size.unwrap_or_default().to_owned(),
            Timing::Events.name().to_owned(),
        ])
    };
    let rows: Vec<Vec<String>> = document.kernels.iter().filter_map(row).collect();
    csv::document(&["kernel", "gpu", "measured_ms", "size", "timing"], &rows)
}

fn as_text(document: &Document<'_>) -> String {
    let DeviceFacts { name, .. } = &document.device;
    let titles = ["kernel", "results", "cold us", "warm us", "in a row us"];
    let mut lines = vec![titles.map(str::to_owned).to_vec()];
    for kernel in &document.kernels {
        let results = match kernel.results.as_slice() {
            _ if kernel.error.is_some() => "not measured",
            [] => "not checked",
            results if results.iter().all(|outcome| outcome.agrees) => "right",
            _ => "wrong",
        };
        let time = |protocol| {
            kernel
                .median(protocol)
                .map_or("-".to_owned(), |seconds| format!("{:.2}", seconds * 1e6))
        };
        lines.push(vec![
            kernel.kernel.clone(),
            results.to_owned(),
            time("cold"),
            time("warm"),
            time("in_a_row"),
        ]);
    }
    use Align::{Left, Right};
    let table = aligned(0, &[Left, Left, Right, Right, Right], &lines);
    format!(
        "{name}: medians of {} trials between two events. cold: the L2 was flushed. warm: the \
         buffers were filled just before. in a row: the same launches over and over.\n\n{table}",
        document.trials
    )
}
