//! Kernels that ran on a device: their results and times, as text, CSV and JSON.

use gpucast_counters::hierarchy::L2Contents;
use gpucast_forecast::Report;
use gpucast_forecast::input::options::Size;
use gpucast_forecast::input::plan::{Plan, PlannedLaunch};
use gpucast_forecast::run::expected::Compared;
use gpucast_measure::conditions::State;
use gpucast_measure::{Facts, Trials};
use gpucast_model::Timing;
use serde::Serialize;

use crate::measured::{DeviceFacts, RawState};
use crate::table::{Align, aligned};
use crate::{Format, csv, json};

/// The schema of the document.
const SCHEMA: &str = "gpucast.measured-kernels/1";

/// Kernels that ran on a device.
#[derive(Debug, Serialize)]
pub struct Document<'a> {
    schema: &'static str,
    /// The GPU's name here.
    gpu: &'a str,
    device: DeviceFacts<'a>,
    warm_up: u32,
    trials: u32,
    kernels: Vec<Kernel>,
}

/// A kernel with what it left and how long it took.
#[derive(Debug, Serialize)]
pub struct Kernel {
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

#[derive(Debug, Serialize)]
struct Launch {
    function: String,
    grid: [u32; 3],
    block: [u32; 3],
    shared_bytes: u32,
    repeat: u32,
}

#[derive(Debug, Serialize)]
struct Outcome {
    buffer: String,
    against: String,
    agrees: bool,
    mismatches: usize,
    elements: usize,
}

/// Times between two events: `cold` on a flushed L2, `warm` after the buffers were filled,
/// `in_a_row` for each of several executions between one pair.
#[derive(Debug, Serialize)]
struct Protocol {
    protocol: &'static str,
    median_s: f64,
    seconds: Vec<f64>,
}

/// What a device told of a kernel.
#[derive(Debug)]
pub struct Told<'a> {
    /// What the launch file expects, and how it turned out; empty where nothing was compared.
    pub results: &'a [Compared],
    /// Seconds of the trials by protocol, or why there are none.
    pub times: Result<[(&'static str, Vec<f64>); 3], String>,
    /// The device's clocks after the kernel, where it tells them.
    pub state: Option<&'a State>,
}

impl Kernel {
    /// A kernel of a name and a corpus size with what the device told of it.
    #[must_use]
    pub fn new(name: &str, size: Option<Size>, plan: &Plan, told: Told<'_>) -> Self {
        let (times, error) = match told.times {
            Ok(times) => (times.map(Protocol::from).into(), None),
            Err(error) => (Vec::new(), Some(error)),
        };
        Self {
            kernel: name.to_owned(),
            size: plan.corpus_name.and(size).map(Size::name),
            launches: plan.launches.iter().map(Launch::from).collect(),
            results: told.results.iter().map(Outcome::from).collect(),
            error,
            times,
            state: told.state.map(RawState::from),
            is_warm: plan.l2 == L2Contents::Warm,
        }
    }

    /// A sentence if it failed or left something else than expected.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        let wrong = self.results.iter().find(|outcome| !outcome.agrees).map(|outcome| {
            let Outcome { buffer, against, mismatches, elements, .. } = outcome;
            format!("{mismatches} of {elements} values of {buffer} differ from {against}")
        });
        let why = self.error.clone().or(wrong)?;
        Some(format!("{}: {why}", self.kernel))
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

impl From<&PlannedLaunch> for Launch {
    fn from(launch: &PlannedLaunch) -> Self {
        Self {
            function: launch.kernel.clone(),
            grid: launch.grid,
            block: launch.block,
            shared_bytes: launch.shared_bytes,
            repeat: launch.repeat,
        }
    }
}

impl From<(&'static str, Vec<f64>)> for Protocol {
    fn from((protocol, seconds): (&'static str, Vec<f64>)) -> Self {
        let mut sorted = seconds.clone();
        sorted.sort_by(f64::total_cmp);
        let median_s = sorted.get(sorted.len() / 2).copied().unwrap_or_default();
        Self { protocol, median_s, seconds }
    }
}

impl<'a> Document<'a> {
    /// What was measured of kernels on a device that is called `gpu` here.
    #[must_use]
    pub fn new(gpu: &'a str, facts: &'a Facts, trials: Trials, kernels: Vec<Kernel>) -> Self {
        Self {
            schema: SCHEMA,
            gpu,
            device: DeviceFacts::new(facts, facts.clock_mhz),
            warm_up: trials.warm_up,
            trials: trials.timed,
            kernels,
        }
    }

    /// The document in the format asked for.
    ///
    /// # Errors
    ///
    /// If the result has a value that the form cannot hold, which no input brings about.
    pub fn shown(&self, format: Format) -> Result<String, Report> {
        match format {
            Format::Json => json::document(self),
            Format::Csv => as_csv(self),
            Format::Text => Ok(as_text(self)),
        }
    }
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
