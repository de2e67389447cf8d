//! The file of a measured GPU.

use std::fmt::Write as _;

use gpucast_model::Gpu;
use gpucast_model::gpu::GpuError;

use crate::device::Facts;
use crate::parameters::{Measured, Parameter};
use crate::told::{self, CLOCK, round};

/// The name of a device on the command line: `NVIDIA GeForce GTX 1060 6GB` is `gtx-1060-6gb`.
#[must_use]
pub fn name_of(device: &str) -> String {
    let lower = device.to_lowercase();
    let words = lower
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty() && !["nvidia", "geforce", "tm", "r"].contains(word));
    words.collect::<Vec<_>>().join("-")
}

/// The file of a GPU: what the driver tells, and what was measured.
///
/// Its clock is the measured one, if that is among the figures.
#[must_use]
pub fn text(name: &str, facts: &Facts, measured: &[Measured]) -> String {
    let clock = measured.iter().find(|figure| figure.parameter.field == CLOCK);
    let clock_mhz = clock.map_or(facts.clock_mhz, |clock| clock.value);
    let mut text = format!(
        "# Measured by `gpucast bench`; the driver is {}, the clock {} MHz.\n{}",
        facts.driver_version,
        round(clock_mhz),
        told::heading(name, facts)
    );
    told::fields(&mut text, facts, if clock.is_some() { TOLD_CLOCK } else { CLOCK });
    text += "\n# Measured.\n";
    for Measured { parameter, value, .. } in
        measured.iter().filter(|figure| figure.parameter.is_field())
    {
        let Parameter { field, unit, kernel, .. } = parameter;
        let value = round(*value);
        let value = if is_whole(field) { value.round() } else { value };
        let _ = writeln!(
            text,
            "{field} = {{ value = {value}, unit = {unit:?}, source = {{ benchmark = \"gpucast bench: {kernel}\" }} }}"
        );
    }
    for Derived { field, unit, value } in derived(facts, clock_mhz, measured) {
        let value = round(value);
        let _ = writeln!(
            text,
            "{field} = {{ value = {value}, unit = {unit:?}, source = {{ benchmark = \"gpucast bench: follows from the figures above\" }} }}"
        );
    }
    text
}

/// The field of the clock that the driver tells, where the measured one is known.
const TOLD_CLOCK: &str = "boost_clock";

/// The GPU of a file's text.
///
/// # Errors
///
/// A figure that no GPU can have.
pub fn gpu(text: &str) -> Result<Gpu, GpuError> {
    Gpu::from_toml(text)
}

/// A figure that no GPU can have, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Impossible {
    /// The figure.
    pub measured: Measured,
    /// The reason, as a sentence without a full stop.
    pub reason: String,
}

/// Takes the figures out of `measured` that no GPU can have beside the ones in front of them.
///
/// # Errors
///
/// What the driver tells is no GPU, even without figures.
pub fn take_impossible(
    facts: &Facts,
    measured: &mut Vec<Measured>,
) -> Result<Vec<Impossible>, GpuError> {
    gpu(&text("device", facts, &[]))?;
    let mut impossible = Vec::new();
    let mut kept: Vec<Measured> = Vec::new();
    for figure in measured.drain(..) {
        kept.push(figure.clone());
        let value = round(figure.value);
        let reason = match gpu(&text("device", facts, &kept)) {
            _ if !value.is_finite() => format!("no GPU has {value}"),
            // A field may hold 0, and its file says which one. No access costs less than nothing.
            Ok(_) if value < 0.0 => format!("no GPU has {value}"),
            Ok(_) => continue,
            Err(error) => format!("no GPU has {value}: {error}"),
        };
        kept.pop();
        impossible.push(Impossible { measured: figure, reason });
    }
    *measured = kept;
    Ok(impossible)
}

/// Fields that hold whole numbers.
fn is_whole(field: &str) -> bool {
    matches!(
        field,
        "arithmetic_latency"
            | "shared_latency"
            | "l1_latency"
            | "l2_latency"
            | "memory_latency"
            | "pending_accesses"
            | "pending_sectors"
    )
}

/// A figure of the thesis that another one gives.
struct Derived {
    field: &'static str,
    unit: &'static str,
    value: f64,
}

/// A throughput of all SMs that follows from a rate of one.
struct Throughput {
    rate: &'static str,
    field: &'static str,
    unit: &'static str,
    /// Operations of a result.
    operations: f64,
}

/// The thesis's parameters T (Konstantinidis 2017, table 4.3).
const THROUGHPUTS: [Throughput; 4] = [
    Throughput { rate: "fp32_rate", field: "sp_throughput", unit: "GFLOPS", operations: 2.0 },
    Throughput { rate: "fp64_rate", field: "dp_throughput", unit: "GFLOPS", operations: 2.0 },
    Throughput { rate: "int_mul_rate", field: "int_throughput", unit: "GIOPS", operations: 2.0 },
    Throughput {
        rate: "int_add_rate",
        field: "int_add_throughput",
        unit: "GIOPS",
        operations: 1.0,
    },
];

/// The thesis's parameters T, and its B_mem.
fn derived(facts: &Facts, clock_mhz: f64, measured: &[Measured]) -> Vec<Derived> {
    let clocks = facts.sm_count as f64 * clock_mhz * 1e6;
    let value = |field| {
        measured.iter().find(|figure| figure.parameter.field == field).map(|figure| figure.value)
    };
    let throughput = |one: &Throughput| {
        let value = value(one.rate)? * one.operations * clocks / 1e9;
        Some(Derived { field: one.field, unit: one.unit, value })
    };
    let mut derived: Vec<Derived> = THROUGHPUTS.iter().filter_map(throughput).collect();
    if let Some((peak, efficiency)) = facts.peak_bandwidth().zip(value("dram_efficiency")) {
        let value = peak * efficiency / 100.0;
        derived.push(Derived { field: "memory_bandwidth", unit: "GB/s", value });
    }
    derived
}
