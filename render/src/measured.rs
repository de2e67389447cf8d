//! Measured parameters of a GPU, as text, CSV and JSON.

use gpucast_forecast::failure::Report;
use gpucast_measure::conditions::{self, Group, State};
use gpucast_measure::{
    ComputeCapability, Facts, Measured, OtherStallCount, Run, Trials, other_stall_count,
};
use gpucast_model::Gpu;
use serde::Serialize;

use crate::table::{Align, aligned, wrapped};
use crate::{csv, json};

/// The schema of the document.
const SCHEMA: &str = "gpucast.measured-gpu/1";

/// A measurement of a GPU.
#[derive(Debug, Serialize)]
pub struct Document<'a> {
    schema: &'static str,
    device: DeviceFacts<'a>,
    /// Trials of each kernel that do not count, and those that do.
    warm_up: u32,
    trials: u32,
    /// The GPU that the measured one is compared with.
    #[serde(skip_serializing_if = "Option::is_none")]
    compared: Option<&'a str>,
    parameters: Vec<Row>,
    left_out: &'a [LeftOut],
    /// What the GPU's file says against machine code.
    #[serde(skip_serializing_if = "Option::is_none")]
    contradiction: Option<Contradiction>,
    /// Every kernel with its times, in raw data.
    #[serde(skip_serializing_if = "Option::is_none")]
    runs: Option<Vec<RawRun<'a>>>,
    /// Clocks, temperature and power around each figure, in raw data.
    #[serde(skip_serializing_if = "Option::is_none")]
    conditions: Option<Vec<RawGroup<'a>>>,
}

/// A latency of the GPU's file, and the one that machine code waits for.
#[derive(Clone, Copy, Debug, Serialize)]
struct Contradiction {
    field: &'static str,
    given: f64,
    coded: f64,
}

impl From<OtherStallCount> for Contradiction {
    fn from(OtherStallCount { field, given, coded }: OtherStallCount) -> Self {
        Self { field, given, coded }
    }
}

/// The state of the device around a figure.
#[derive(Debug, Serialize)]
struct RawGroup<'a> {
    field: &'a str,
    before: RawState,
    after: RawState,
}

/// A state of the device; null is what it does not tell.
#[derive(Debug, Serialize)]
pub(crate) struct RawState {
    sm_clock_mhz: Option<f64>,
    memory_clock_mhz: Option<f64>,
    throttle_reasons: Option<Vec<String>>,
    temperature_celsius: Option<f64>,
    power_watts: Option<f64>,
}

impl From<&State> for RawState {
    fn from(state: &State) -> Self {
        Self {
            sm_clock_mhz: state.sm_clock_mhz,
            memory_clock_mhz: state.memory_clock_mhz,
            throttle_reasons: state.throttle_reasons.map(conditions::reasons),
            temperature_celsius: state.temperature_celsius,
            power_watts: state.power_watts,
        }
    }
}

/// What the driver tells, and the clock that figures were computed with.
#[derive(Debug, Serialize)]
pub(crate) struct DeviceFacts<'a> {
    pub(crate) name: &'a str,
    driver_version: i32,
    compute_capability: ComputeCapability,
    sm_count: u64,
    clock_mhz: f64,
    told_clock_mhz: f64,
    told_memory_clock_mhz: f64,
    l2_bytes: u64,
    memory_bytes: u64,
}

impl<'a> DeviceFacts<'a> {
    pub(crate) fn new(facts: &'a Facts, clock_mhz: f64) -> Self {
        Self {
            name: &facts.name,
            driver_version: facts.driver_version,
            compute_capability: facts.compute_capability,
            sm_count: facts.sm_count,
            clock_mhz,
            told_clock_mhz: facts.clock_mhz,
            told_memory_clock_mhz: facts.memory_clock_mhz,
            l2_bytes: facts.l2_bytes,
            memory_bytes: facts.memory_bytes,
        }
    }
}

/// A parameter as the library has it and as it was measured.
#[derive(Debug, Serialize)]
struct Row {
    field: &'static str,
    unit: &'static str,
    /// True if a field of a GPU's file holds it; false for a cost.
    is_field: bool,
    library: Option<f64>,
    measured: f64,
    /// The measured over the library's; none where that is 0.
    ratio: Option<f64>,
    kernel: &'static str,
    /// Trials that were left out as anomalous.
    excluded: usize,
}

/// A parameter that was not measured.
#[derive(Debug, Serialize)]
pub struct LeftOut {
    /// The field of a GPU's file.
    pub field: &'static str,
    /// The reason, as part of a sentence.
    pub reason: String,
}

/// A kernel with its times.
#[derive(Debug, Serialize)]
struct RawRun<'a> {
    field: &'a str,
    kernel: &'a str,
    work: u64,
    grid: [u32; 3],
    block: [u32; 3],
    launches: u32,
    is_cold: bool,
    seconds: &'a [f64],
    excluded: usize,
}

/// The parts of a measurement.
#[derive(Clone, Copy, Debug)]
pub struct Measurement<'a> {
    /// What the driver tells.
    pub facts: &'a Facts,
    /// The clock that figures in clocks were computed with, in MHz.
    pub clock_mhz: f64,
    /// Trials of each kernel.
    pub trials: Trials,
    /// The GPU that the measured one is compared with.
    pub compared: Option<&'a Gpu>,
    /// What was measured.
    pub measured: &'a [Measured],
    /// What was not.
    pub left_out: &'a [LeftOut],
}

impl<'a> Document<'a> {
    /// The document of a measurement.
    pub fn new(measurement: &Measurement<'a>) -> Self {
        let &Measurement { facts, clock_mhz, trials, compared, measured, left_out } = measurement;
        Self {
            schema: SCHEMA,
            device: DeviceFacts::new(facts, clock_mhz),
            warm_up: trials.warm_up,
            trials: trials.timed,
            compared: compared.map(|gpu| gpu.name.as_str()),
            parameters: measured.iter().map(|kernel| row(kernel, compared)).collect(),
            left_out,
            contradiction: compared.and_then(other_stall_count).map(Contradiction::from),
            runs: None,
            conditions: None,
        }
    }

    /// The same with every kernel's times, and with the device's states where it tells them.
    pub fn with_raw_data(self, runs: &'a [Run], groups: &'a [Group]) -> Self {
        let raw_group = |group: &'a Group| RawGroup {
            field: group.field,
            before: RawState::from(&group.before),
            after: RawState::from(&group.after),
        };
        let conditions = (!groups.is_empty()).then(|| groups.iter().map(raw_group).collect());
        let raw = |run: &'a Run| RawRun {
            field: run.field,
            kernel: &run.kernel,
            work: run.work,
            grid: run.grid,
            block: run.block,
            launches: run.launches,
            is_cold: run.is_cold,
            seconds: &run.seconds,
            excluded: run.excluded,
        };
        Self { runs: Some(runs.iter().map(raw).collect()), conditions, ..self }
    }

    /// The JSON document.
    ///
    /// # Errors
    ///
    /// Says that it cannot be written.
    pub fn as_json(&self) -> Result<String, Report> {
        json::document(self)
    }

    /// The parameters as a table, and what was not measured.
    pub fn as_text(&self) -> String {
        let library = self.compared.unwrap_or("library");
        let titles = ["field", "unit", library, "measured", "ratio", "kernel"];
        let mut lines = vec![titles.map(str::to_owned).to_vec()];
        for Row { field, unit, library, measured, ratio, kernel, .. } in &self.parameters {
            let number = |value: &Option<f64>, digits| match value {
                Some(value) => format!("{value:.digits$}"),
                None => "-".to_owned(),
            };
            lines.push(vec![
                (*field).to_owned(),
                (*unit).to_owned(),
                number(library, 2),
                number(&Some(*measured), 2),
                number(ratio, 3),
                (*kernel).to_owned(),
            ]);
        }
        use Align::{Left, Right};
        let mut text = aligned(0, &[Left, Left, Right, Right, Right, Left], &lines);
        if !self.left_out.is_empty() {
            text.push('\n');
        }
        for LeftOut { field, reason } in self.left_out {
            text += &wrapped("", 2, 96, &format!("{field} is not measured: {reason}"));
        }
        if let Some(Contradiction { field, given, coded }) = self.contradiction {
            let sentence = format!(
                "{field} of {library} is {given}, but machine code of its compute capability leaves \
                 {coded} clocks between dependent instructions. No measurement shows another number."
            );
            text.push('\n');
            text += &wrapped("", 2, 96, &sentence);
        }
        text
    }

    /// What was not measured, as comments of a GPU's file.
    pub fn left_out_as_comments(&self) -> String {
        let comment = |LeftOut { field, reason }: &LeftOut| format!("# {field}: {reason}.\n");
        let comments: String = self.left_out.iter().map(comment).collect();
        if comments.is_empty() { comments } else { format!("\n# Not measured.\n{comments}") }
    }

    /// A line for each parameter.
    ///
    /// # Errors
    ///
    /// Says that it cannot be written.
    pub fn as_csv(&self) -> Result<String, Report> {
        let number = |value: &Option<f64>| value.map_or(String::new(), |value| value.to_string());
        let lines: Vec<Vec<String>> = self
            .parameters
            .iter()
            .map(|row| {
                vec![
                    row.field.to_owned(),
                    row.unit.to_owned(),
                    number(&row.library),
                    row.measured.to_string(),
                    number(&row.ratio),
                    row.kernel.to_owned(),
                    row.excluded.to_string(),
                ]
            })
            .collect();
        let titles = ["field", "unit", "library", "measured", "ratio", "kernel", "excluded"];
        csv::document(&titles, &lines)
    }
}

fn row(one: &Measured, gpu: Option<&Gpu>) -> Row {
    let Measured { parameter, value, excluded } = *one;
    let library = gpu.and_then(|gpu| parameter.of(gpu));
    Row {
        field: parameter.field,
        unit: parameter.unit,
        is_field: parameter.is_field(),
        library,
        measured: value,
        ratio: library.filter(|&library| library != 0.0).map(|library| value / library),
        kernel: parameter.kernel,
        excluded,
    }
}
