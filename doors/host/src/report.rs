//! The table of launches, as data and as text.

use std::fmt::Write as _;

use gpucast_forecast::number;
use gpucast_model::duration;
use serde::{Deserialize, Serialize};

use crate::collection::LaunchMetrics;
use crate::settings::Mode;
use crate::timeline::Timeline;

pub use crate::timeline::Direction;

/// The report of one process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProcessReport {
    /// The executable.
    pub program: String,
    /// The process's number.
    pub pid: u32,
    /// The GPU's library name.
    pub gpu: String,
    /// Its name for people.
    pub gpu_name: String,
    /// The GPU whose counters are modelled.
    pub counted_on: String,
    /// The model that predicted.
    pub model: String,
    /// The way of measuring whose fixed part launches have.
    pub timing: Option<String>,
    /// What was done with launches.
    pub mode: Mode,
    /// End of the last operation on the virtual clock, in milliseconds.
    pub end_ms: f64,
    /// The kernels, the one with the longest time first.
    pub kernels: Vec<KernelRow>,
    /// Copies by direction.
    pub copies: Vec<Copies>,
    /// Findings of the checks, if there were checks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub findings: Option<Vec<Found>>,
    /// Faults of kernels: those that ended the program's work, and those that were left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Found>,
    /// Each launch, if they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub launches: Option<Vec<LaunchRow>>,
    /// Metrics of the launches that were profiled; equal launches share them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub profiles: Vec<LaunchMetrics>,
    /// Calls and work over time, if they were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeline: Option<Timeline>,
}

/// All launches of a kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KernelRow {
    /// Its name for people.
    pub kernel: String,
    /// Launches.
    pub launches: u64,
    /// Launches that were counted themselves. In [`Mode::Count`], others with a time equal one of
    /// these in all that counts depend on.
    pub counted: u64,
    /// Launches that were not executed: they found the memory that an equal one had found, and have
    /// its effect.
    #[serde(default)]
    pub repeated: u64,
    /// Predicted milliseconds of all launches together; none if nothing was predicted.
    pub time_ms: Option<f64>,
    /// The shortest launch in milliseconds.
    pub least_ms: Option<f64>,
    /// The longest launch in milliseconds.
    pub most_ms: Option<f64>,
    /// Its part of the time of all kernels, from 0 to 1.
    pub share: Option<f64>,
    /// The bound of most of its time.
    pub bound: Option<String>,
    /// Codes of the model's warnings.
    pub warning_codes: Vec<String>,
    /// Reason why the model declined, where it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub declined: Option<String>,
}

/// One launch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LaunchRow {
    /// The kernel's name for people.
    pub kernel: String,
    /// CTAs in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a CTA in x, y and z.
    pub block: [u32; 3],
    /// Dynamic shared memory of a CTA in bytes.
    pub shared_bytes: u32,
    /// The stream's number.
    pub stream: u64,
    /// Its beginning on the virtual clock, in milliseconds.
    pub start_ms: f64,
    /// Its predicted time in milliseconds, if there is one.
    pub time_ms: Option<f64>,
    /// The resource that the time is spent on.
    pub bound: Option<String>,
    /// True if it was counted itself.
    pub counted: bool,
    /// Its metrics, as a place in the process's [`ProcessReport::profiles`], if it was profiled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<usize>,
}

/// All copies in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Copies {
    /// The direction.
    pub direction: Direction,
    /// Copies.
    pub count: u64,
    /// Bytes of all together.
    pub bytes: u64,
    /// Milliseconds of all together on the virtual clock.
    pub time_ms: f64,
}

/// Something that a check found, or a fault.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Found {
    /// The kernel's name for people.
    pub kernel: String,
    /// The kind, for programs.
    pub kind: String,
    /// The first occurrence in a line.
    pub text: String,
    /// Launches in which it was found.
    pub launches: u64,
    /// Occurrences: one for each thread and execution. A fault that ends a launch is one.
    pub occurrences: u64,
}

/// Kernel names longer than this are cut in tables.
const NAME_WIDTH: usize = 44;

impl ProcessReport {
    /// Returns true if there is nothing to tell.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.kernels.is_empty() && self.copies.is_empty()
    }

    /// The report as text.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string never fails.
        let _ = self.write(&mut text);
        text
    }

    fn write(&self, out: &mut String) -> std::fmt::Result {
        let launches: u64 = self.kernels.iter().map(|row| row.launches).sum();
        let noun = if launches == 1 { "launch" } else { "launches" };
        let title =
            format!("{} {noun} on {} ({})", number::count(launches), self.gpu_name, self.gpu);
        writeln!(out, "{title}\n{}", "=".repeat(title.chars().count()))?;
        let how = match (self.mode, self.findings.is_some()) {
            (_, true) => "Launches were checked, not counted; they have no times.".to_owned(),
            (Mode::Run, _) => "Launches were executed, not counted; they have no times.".to_owned(),
            (Mode::Count | Mode::Sample, _) => {
                let timing = self
                    .timing
                    .as_deref()
                    .map_or(String::new(), |timing| format!(", measured as {timing}"));
                format!(
                    "Times are predicted by {}{timing}; caches are modelled as on the {}.",
                    self.model, self.counted_on
                )
            }
        };
        writeln!(out, "  {how}")?;
        let repeated: u64 = self.kernels.iter().map(|row| row.repeated).sum();
        if repeated > 0 {
            let (count, verb) =
                (number::count(repeated), if repeated == 1 { "was" } else { "were" });
            writeln!(
                out,
                "  {count} {verb} not executed: an equal one had found the same memory."
            )?;
        }
        writeln!(out)?;
        if !self.kernels.is_empty() {
            self.write_kernels(out)?;
        }
        for copies in &self.copies {
            let direction = match copies.direction {
                Direction::ToDevice => "to the device",
                Direction::ToHost => "to the host",
                Direction::OnDevice => "on the device",
            };
            let count = number::count(copies.count);
            let bytes = number::count(copies.bytes);
            write!(out, "  copies {direction}: {count}, {bytes} bytes")?;
            match copies.time_ms {
                time if time > 0.0 => writeln!(out, ", {}", duration(time))?,
                _ => writeln!(out, ", no time (--link GB/s gives them one)")?,
            }
        }
        if self.end_ms > 0.0 {
            writeln!(out, "  end of the last operation: {}", duration(self.end_ms))?;
        }
        for row in &self.kernels {
            if let Some(reason) = &row.declined {
                writeln!(out, "  {}: {reason}", row.kernel)?;
            }
        }
        for fault in &self.faults {
            let Found { kernel, kind, text, occurrences, .. } = fault;
            let times = number::count(*occurrences);
            writeln!(out, "  fault in {kernel}: {text} ({kind}, {times} in all)")?;
        }
        if let Some(findings) = &self.findings {
            self.write_findings(out, findings)?;
        }
        Ok(())
    }

    fn write_kernels(&self, out: &mut String) -> std::fmt::Result {
        let name = |row: &KernelRow| -> String {
            if row.kernel.chars().count() <= NAME_WIDTH {
                return row.kernel.clone();
            }
            let kept: String = row.kernel.chars().take(NAME_WIDTH - 1).collect();
            format!("{kept}…")
        };
        let width = self.kernels.iter().map(|row| name(row).chars().count()).max().unwrap_or(0);
        let width = width.max("kernel".len());
        writeln!(
            out,
            "  {:<width$}  {:>9}  {:>11}  {:>11}  {:>6}  bound",
            "kernel", "launches", "time", "mean", "share"
        )?;
        for row in &self.kernels {
            let time = |ms: Option<f64>| ms.map_or("-".to_owned(), duration);
            let timed = row.launches.max(1) as f64;
            writeln!(
                out,
                "  {:<width$}  {:>9}  {:>11}  {:>11}  {:>6}  {}",
                name(row),
                number::count(row.launches),
                time(row.time_ms),
                time(row.time_ms.map(|all| all / timed)),
                row.share.map_or("-".to_owned(), |share| format!("{:.1} %", 100.0 * share)),
                row.bound.as_deref().unwrap_or("-"),
            )?;
        }
        writeln!(out)
    }

    fn write_findings(&self, out: &mut String, findings: &[Found]) -> std::fmt::Result {
        if findings.is_empty() {
            return writeln!(out, "  The checks found nothing.");
        }
        writeln!(out, "\n  The checks found:")?;
        for found in findings {
            writeln!(
                out,
                "    {}: {} ({} times in {} launches)",
                found.kernel, found.text, found.occurrences, found.launches
            )?;
        }
        Ok(())
    }
}
