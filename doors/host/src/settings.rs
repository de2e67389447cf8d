//! The choices of the user, on their way from `gpucast exec` into the process of the program.

use std::path::PathBuf;

use gpucast_forecast::failure::Report;
use gpucast_forecast::settings::{MachineChoice, MachineSettings};
use serde::{Deserialize, Serialize};

use crate::collection::ProfilerSettings;

/// The environment variable that holds [`Settings`] as JSON.
pub const VARIABLE: &str = "GPUCAST_EXEC";

/// The environment variable that names the GPU where [`VARIABLE`] is not set.
pub const GPU_VARIABLE: &str = "GPUCAST_GPU";

/// What is done with launches besides executing them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Nothing: kernels take no time.
    Run,
    /// Each launch is counted and predicted.
    #[default]
    Count,
    /// The first launches of each kernel and shape are counted and predicted. Later ones take the
    /// mean of these times.
    Sample,
}

/// What an access out of bounds, a misaligned one or a store to read-only memory does to a launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnFault {
    /// It ends the launch, and every later call fails, as on a GPU that finds it.
    #[default]
    Stop,
    /// It is reported and left out: loads give zero, stores and atomics do nothing.
    Report,
}

/// The choices of the user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// The GPU whose times are predicted: a name of the library, or a TOML file.
    pub gpu: String,
    /// The clock of its SMs, as [`Clock`](gpucast_model::gpu::Clock) is written; without it, that
    /// of its file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock: Option<String>,
    /// The GPU whose counters are modelled, or `target` for the one that is predicted. Without it,
    /// the one that the model fits.
    pub count_on: Option<String>,
    /// The model that predicts; without it, the GPU's default.
    pub model: Option<String>,
    /// The way of measuring whose fixed part each launch has; none for kernels alone.
    pub timing: Option<String>,
    /// What is done with launches.
    pub mode: Mode,
    /// In [`Mode::Sample`], the launches of each kernel and shape that are counted.
    pub samples: u32,
    /// Only kernels of this name or pattern are counted.
    pub kernel: Option<String>,
    /// Checks of the sanitizer, by their names; launches are not counted then.
    pub check: Option<String>,
    /// What faulting accesses do.
    pub on_fault: OnFault,
    /// What says which machine instructions the PTX becomes.
    pub machine: MachineChoice,
    /// The architecture of the machine code, such as `sm_90a`; without it, as for `predict`.
    pub machine_target: Option<String>,
    /// The assembler; without it, one that is found.
    pub ptxas: Option<PathBuf>,
    /// Warp instructions after which a launch is given up.
    pub budget: Option<u64>,
    /// When asynchronous operations end, as [`AsyncTiming`](gpucast_interpreter::AsyncTiming) is
    /// written.
    pub async_timing: Option<String>,
    /// Gigabytes per second between host and device. Copies take no time without it.
    pub link_gbps: Option<f64>,
    /// Folder for the report of each process. Without it, processes print it when they end.
    pub report_folder: Option<PathBuf>,
    /// True if the report lists each launch.
    pub list_launches: bool,
    /// True if the report has calls and work over time.
    pub keep_timeline: bool,
    /// Metrics of launches under a profiler's names, and whose; none if nobody profiles.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profiler: Option<ProfilerSettings>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            gpu: "h100-sxm".to_owned(),
            clock: None,
            count_on: None,
            model: None,
            timing: Some("back-to-back".to_owned()),
            mode: Mode::default(),
            samples: 3,
            kernel: None,
            check: None,
            on_fault: OnFault::default(),
            machine: MachineChoice::Rules,
            machine_target: None,
            ptxas: None,
            budget: None,
            async_timing: None,
            link_gbps: None,
            report_folder: None,
            list_launches: false,
            keep_timeline: false,
            profiler: None,
        }
    }
}

impl Settings {
    /// The settings of this process, by its environment.
    ///
    /// # Errors
    ///
    /// If the variable holds no settings.
    pub fn of_environment() -> Result<Self, Report> {
        let Ok(text) = std::env::var(VARIABLE) else {
            let default = Self::default();
            let gpu = std::env::var(GPU_VARIABLE).unwrap_or_else(|_| default.gpu.clone());
            return Ok(Self { gpu, ..default });
        };
        serde_json::from_str(&text)
            .map_err(|error| Report::new(format!("{VARIABLE} holds no settings: {error}")))
    }

    /// How kernels become machine code.
    ///
    /// # Errors
    ///
    /// If the architecture is none.
    pub fn machine(&self) -> Result<MachineSettings, Report> {
        let read = |name: &String| gpucast_forecast::run::machine::read_target(name);
        let target = self.machine_target.as_ref().map(read).transpose();
        Ok(MachineSettings {
            machine: self.machine,
            machine_target: target.map_err(|error| Report::new(error.to_string()))?,
            ptxas: self.ptxas.clone(),
            registers: None,
        })
    }

    /// The value of [`VARIABLE`] for these settings.
    #[must_use]
    pub fn to_variable(&self) -> String {
        // Strings, numbers and paths of UTF-8 always have a JSON form.
        serde_json::to_string(self).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_survive_the_environment() {
        let settings = Settings {
            gpu: "gtx-480".to_owned(),
            mode: Mode::Sample,
            kernel: Some("a*".to_owned()),
            link_gbps: Some(12.5),
            ..Settings::default()
        };
        let read: Settings = serde_json::from_str(&settings.to_variable()).unwrap();
        assert_eq!(read, settings);
    }
}
