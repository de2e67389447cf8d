//! The container of `gpucast ncu --export`: results of launches, as JSON.

use gpucast_forecast::Report;
use gpucast_forecast::nsight::{Figure, InstructionLine};
use gpucast_host::collection::{LaunchMetrics, NameBase};
use gpucast_host::report::ProcessReport;
use gpucast_model::Gpu;
use serde::{Deserialize, Serialize};

use crate::json;

/// The name and version of the form.
pub const SCHEMA: &str = "gpucast.ncu/1";

/// What was collected of a program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProfileReport {
    /// [`SCHEMA`].
    pub schema: String,
    /// The version of gpucast that wrote it.
    pub version: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The GPU that is predicted.
    pub device: Device,
    /// The model that predicts times.
    pub model: String,
    /// Identifiers of the sections that were collected.
    pub sections: Vec<String>,
    /// The metrics that were asked for by name.
    pub metrics: Vec<String>,
    /// The launches that were profiled, in order.
    pub actions: Vec<Action>,
    /// Metrics of the launches; equal launches share them.
    pub profiles: Vec<LaunchMetrics>,
}

/// A GPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Device {
    /// Its library name.
    pub name: String,
    /// The vendor's name.
    pub display_name: String,
    /// Its compute capability, such as `9.0`.
    pub compute_capability: String,
}

impl Device {
    /// The facts of a GPU.
    #[must_use]
    pub fn of(gpu: &Gpu) -> Self {
        let capability = gpu
            .compute_capability
            .as_ref()
            .map(|compute_capability| compute_capability.value.to_string());
        Self {
            name: gpu.name.clone(),
            display_name: gpu.display_name.clone(),
            compute_capability: capability.unwrap_or_default(),
        }
    }
}

/// A profiled launch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Action {
    /// The number of the process.
    pub process: u32,
    /// Its executable.
    pub program: String,
    /// The number of the stream.
    pub stream: u64,
    /// CTAs in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a CTA in x, y and z.
    pub block: [u32; 3],
    /// The place of its metrics in [`ProfileReport::profiles`].
    pub profile: usize,
}

/// The stream that the profiler gives to the default stream, and the first one of those that a
/// program creates.
const STREAMS: [u64; 2] = [7, 13];

impl ProfileReport {
    /// A report without launches.
    #[must_use]
    pub fn new(
        command: Vec<String>,
        gpu: &Gpu,
        sections: Vec<String>,
        metrics: Vec<String>,
    ) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            command,
            device: Device::of(gpu),
            model: String::new(),
            sections,
            metrics,
            actions: Vec::new(),
            profiles: Vec::new(),
        }
    }

    /// Adds the profiled launches of a process.
    pub fn add(&mut self, process: &ProcessReport) {
        let first = self.profiles.len();
        self.model.clone_from(&process.model);
        self.profiles.extend(process.profiles.iter().cloned());
        for launch in process.launches.iter().flatten() {
            let Some(profile) = launch.profile else { continue };
            self.actions.push(Action {
                process: process.pid,
                program: process.program.clone(),
                stream: match launch.stream {
                    0 => STREAMS[0],
                    stream => STREAMS[1] - 1 + stream,
                },
                grid: launch.grid,
                block: launch.block,
                profile: first + profile,
            });
        }
    }

    /// Reads a report from a file of the name `file`.
    ///
    /// # Errors
    ///
    /// If it is none, with the way to read files of Nsight Compute.
    pub fn read(bytes: &[u8], file: &str) -> Result<Self, Report> {
        let damaged = |reason: String| Report::new(format!("{file} is a damaged report: {reason}"));
        if bytes.first() != Some(&b'{') {
            let report = Report::new(format!("{file} is no report of gpucast"));
            return Err(report.hint(
                "reports of Nsight Compute have a closed form. `ncu --import FILE --csv --page \
                 raw`, where that is installed, writes what `gpucast predict --from-metrics` reads",
            ));
        }
        let read: Self =
            serde_json::from_slice(bytes).map_err(|error| damaged(error.to_string()))?;
        if read.schema != SCHEMA {
            let schema = &read.schema;
            return Err(damaged(format!("its form is `{schema}`, and not `{SCHEMA}`")));
        }
        match read.actions.iter().all(|action| action.profile < read.profiles.len()) {
            true => Ok(read),
            false => Err(damaged("a launch has no metrics".to_owned())),
        }
    }

    /// The report's file.
    ///
    /// # Errors
    ///
    /// If a value has no form in JSON.
    pub fn document(&self) -> Result<String, Report> {
        json::document(self)
    }

    /// The metrics of a launch.
    pub(super) fn profile<'a>(&'a self, action: &Action) -> Launched<'a> {
        Launched { profile: self.profiles.get(action.profile) }
    }

    /// The names of metrics that no launch has a value for, in alphabetical order.
    #[must_use]
    pub fn unknown(&self) -> Vec<&str> {
        let asked = self.profiles.iter().flat_map(|profile| profile.metrics.keys());
        let is_unknown = |name: &&String| {
            self.profiles.iter().all(|profile| !matches!(profile.metrics.get(*name), Some(Some(_))))
        };
        let mut names: Vec<&str> = asked.filter(is_unknown).map(String::as_str).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

/// A launch's metrics.
#[derive(Clone, Copy)]
pub(super) struct Launched<'a> {
    profile: Option<&'a LaunchMetrics>,
}

impl<'a> Launched<'a> {
    /// A metric; none if it is not known.
    pub(super) fn figure(self, name: &str) -> Option<&'a Figure> {
        self.profile?.metrics.get(name)?.as_ref()
    }

    /// Every name that was collected, in alphabetical order.
    pub(super) fn names(self) -> impl Iterator<Item = &'a str> {
        self.profile.into_iter().flat_map(|launch| launch.metrics.keys().map(String::as_str))
    }

    /// The instructions, if they were collected.
    pub(super) fn lines(self) -> &'a [InstructionLine] {
        self.profile.map_or(&[], |profile| &profile.lines)
    }

    /// The kernel's name in a form.
    pub(super) fn kernel(self, base: NameBase) -> String {
        self.profile.map_or_else(String::new, |profile| profile.names.based(base).to_owned())
    }
}
