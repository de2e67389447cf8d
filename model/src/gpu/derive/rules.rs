//! The rules, in an order in which every rule comes after those of its inputs.

use std::fmt;

use super::{capability, memory};
use crate::gpu::Gpu;
use crate::gpu::quantity::Value;
use crate::gpu::source::Source;

/// How a field follows from others.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// The field that it fills.
    pub field: &'static str,
    /// Its name, which the sources of filled fields begin with.
    pub name: &'static str,
    /// What it says.
    pub formula: &'static str,
    /// How far measured GPUs lie from it, where some were measured.
    pub spread: Option<Spread>,
    method: Method,
}

/// Measured over derived values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The lowest of them.
    pub low: f64,
    /// The highest.
    pub high: f64,
    /// How many GPUs were measured.
    pub gpus: usize,
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { low, high, gpus } = self;
        let noun = if *gpus == 1 { "GPU reaches" } else { "GPUs reach" };
        write!(f, "{gpus} measured {noun} {low:.2} to {high:.2} of it")
    }
}

#[derive(Clone, Copy, Debug)]
enum Method {
    /// The capability's table has it.
    Capability,
    /// A formula of numbers, each in its field's first unit.
    Formula { inputs: &'static [&'static str], evaluate: fn(&[f64]) -> f64 },
    /// The same on every GPU from a generation of compute capabilities on.
    Constant { value: f64, since_major: u32 },
    /// A share of the peak that depends on the memory.
    AchievedBandwidth,
    /// The same on every GPU, by what was measured on a few.
    Typical(f64, &'static str),
}

const fn tabulated(field: &'static str) -> Rule {
    Rule {
        field,
        name: "capability-table",
        formula: "as the table of compute capabilities says",
        spread: None,
        method: Method::Capability,
    }
}

const fn rule(
    field: &'static str,
    name: &'static str,
    formula: &'static str,
    inputs: &'static [&'static str],
    evaluate: fn(&[f64]) -> f64,
) -> Rule {
    Rule { field, name, formula, spread: None, method: Method::Formula { inputs, evaluate } }
}

impl Rule {
    const fn spread(self, low: f64, high: f64, gpus: usize) -> Self {
        Self { spread: Some(Spread { low, high, gpus }), ..self }
    }
}

/// A rate of each SM and clock as 10⁹ in a second, of all SMs.
fn of_all_sms(v: &[f64]) -> f64 {
    v[0] * v[1] * v[2] / 1e3
}

/// The same of multiply-adds, which are two operations.
fn multiply_adds(v: &[f64]) -> f64 {
    2.0 * of_all_sms(v)
}

/// Lanes of 4 bytes: the load/store units or shared memory, whichever is slower.
fn lanes(v: &[f64]) -> f64 {
    v[0].min(v[1] / 4.0) * v[2] * v[3] / 1e3
}

fn product(v: &[f64]) -> f64 {
    v[0] * v[1]
}

fn same(v: &[f64]) -> f64 {
    v[0]
}

/// All rules.
pub const RULES: &[Rule] = &[
    Rule {
        field: "warp_size",
        name: "warp-size",
        formula: "32 threads on every GPU with a compute capability",
        spread: None,
        method: Method::Constant { value: 32.0, since_major: 1 },
    },
    Rule {
        field: "cache_line",
        name: "cache-line",
        formula: "128 bytes from compute capability 2.0 on",
        spread: None,
        method: Method::Constant { value: 128.0, since_major: 2 },
    },
    rule(
        "max_threads_per_sm",
        "threads-per-sm",
        "max_warps_per_sm × warp_size",
        &["max_warps_per_sm", "warp_size"],
        product,
    ),
    tabulated("issue_rate"),
    tabulated("fp16_rate"),
    tabulated("fp32_rate"),
    tabulated("fp64_rate"),
    tabulated("special_rate"),
    tabulated("int_add_rate"),
    tabulated("int_mul_rate"),
    tabulated("compare_rate"),
    tabulated("shift_rate"),
    tabulated("logic_rate"),
    tabulated("conversion_rate"),
    tabulated("wide_conversion_rate"),
    tabulated("shuffle_rate"),
    tabulated("load_store_rate"),
    tabulated("tensor_rate"),
    tabulated("shared_bytes_rate"),
    tabulated("l1_bytes_rate"),
    tabulated("l2_bytes_rate"),
    tabulated("arithmetic_latency"),
    tabulated("shared_latency"),
    tabulated("l1_latency"),
    tabulated("l2_latency"),
    tabulated("memory_latency"),
    rule(
        "sp_count",
        "scalar-processors",
        "fp32_rate × sm_count",
        &["fp32_rate", "sm_count"],
        product,
    ),
    rule(
        "peak_sp_throughput",
        "peak-sp",
        "2 × fp32_rate × sm_count × sp_clock",
        &["fp32_rate", "sm_count", "sp_clock"],
        multiply_adds,
    ),
    rule(
        "peak_dp_throughput",
        "peak-dp",
        "2 × fp64_rate × sm_count × sp_clock",
        &["fp64_rate", "sm_count", "sp_clock"],
        multiply_adds,
    ),
    rule(
        "peak_hp_throughput",
        "peak-hp",
        "2 × fp16_rate × sm_count × sp_clock",
        &["fp16_rate", "sm_count", "sp_clock"],
        multiply_adds,
    ),
    rule(
        "peak_tensor_throughput",
        "peak-tensor",
        "2 × tensor_rate × sm_count × sp_clock",
        &["tensor_rate", "sm_count", "sp_clock"],
        multiply_adds,
    ),
    rule(
        "sp_throughput",
        "sp-throughput",
        "2 × fp32_rate × sm_count × sp_clock",
        &["fp32_rate", "sm_count", "sp_clock"],
        multiply_adds,
    )
    .spread(0.88, 1.13, 9),
    rule(
        "dp_throughput",
        "dp-throughput",
        "2 × fp64_rate × sm_count × sp_clock",
        &["fp64_rate", "sm_count", "sp_clock"],
        multiply_adds,
    )
    .spread(0.66, 1.08, 10),
    rule(
        "int_throughput",
        "int-throughput",
        "2 × int_mul_rate × sm_count × sp_clock",
        &["int_mul_rate", "sm_count", "sp_clock"],
        multiply_adds,
    )
    .spread(0.79, 1.06, 9),
    rule(
        "int_add_throughput",
        "int-add-throughput",
        "int_add_rate × sm_count × sp_clock",
        &["int_add_rate", "sm_count", "sp_clock"],
        of_all_sms,
    )
    .spread(0.66, 1.06, 7),
    rule(
        "load_store_throughput",
        "load-store-throughput",
        "min(load_store_rate, shared_bytes_rate / 4) × sm_count × sp_clock",
        &["load_store_rate", "shared_bytes_rate", "sm_count", "sp_clock"],
        lanes,
    )
    .spread(0.64, 1.0, 7),
    rule(
        "hp_throughput",
        "hp-throughput",
        "2 × fp16_rate × sm_count × sp_clock",
        &["fp16_rate", "sm_count", "sp_clock"],
        multiply_adds,
    )
    .spread(1.12, 1.13, 1),
    rule(
        "tensor_throughput",
        "tensor-throughput",
        "peak_tensor_throughput",
        &["peak_tensor_throughput"],
        same,
    ),
    Rule {
        field: "memory_bandwidth",
        name: "achieved-bandwidth",
        formula: "a share of peak_memory_bandwidth that memory_type decides",
        spread: None,
        method: Method::AchievedBandwidth,
    },
    rule(
        "shared_bandwidth",
        "shared-bandwidth",
        "shared_bytes_rate × sm_count × sp_clock",
        &["shared_bytes_rate", "sm_count", "sp_clock"],
        of_all_sms,
    )
    .spread(0.99, 1.0, 1),
    rule(
        "l1_bandwidth",
        "l1-bandwidth",
        "l1_bytes_rate × sm_count × sp_clock",
        &["l1_bytes_rate", "sm_count", "sp_clock"],
        of_all_sms,
    )
    .spread(0.98, 1.0, 5),
    rule(
        "l2_bandwidth",
        "l2-bandwidth",
        "l2_bytes_rate × sm_count × sp_clock",
        &["l2_bytes_rate", "sm_count", "sp_clock"],
        of_all_sms,
    )
    .spread(1.12, 1.14, 2),
    Rule {
        field: "launch_overhead",
        name: "launch-overhead",
        formula: "2.1 µs, the median of 5 GPUs",
        spread: Some(Spread { low: 0.76, high: 1.67, gpus: 5 }),
        method: Method::Typical(
            2.1,
            "1.6 (L40) to 3.5 µs (A100), github.com/RRZE-HPC/gpu-benches, gpu-small-kernels",
        ),
    },
];

impl Rule {
    /// The rule of a field, if there is one.
    #[must_use]
    pub fn of(field: &str) -> Option<&'static Self> {
        RULES.iter().find(|rule| rule.field == field)
    }

    /// Whether the table of compute capabilities has the field.
    #[cfg(test)]
    pub(super) fn is_tabulated(&self) -> bool {
        matches!(self.method, Method::Capability)
    }

    /// The fields that it reads.
    #[must_use]
    pub fn inputs(&self) -> &'static [&'static str] {
        match self.method {
            Method::Capability | Method::Constant { .. } => &["compute_capability"],
            Method::Formula { inputs, .. } => inputs,
            Method::AchievedBandwidth => &["peak_memory_bandwidth", "memory_type"],
            Method::Typical(..) => &[],
        }
    }

    /// What it says of a GPU; `None` if an input is missing.
    pub(in crate::gpu) fn evaluate(&self, gpu: &Gpu) -> Option<(f64, Source)> {
        let number = |field: &str| gpu.figure(field)?.value.number();
        match self.method {
            Method::Capability => {
                let capability = gpu.compute_capability.as_ref()?.value;
                let entry = capability::entry(capability, self.field)?;
                Some((entry.value, entry.source.clone()))
            }
            Method::Constant { value, since_major } => {
                let capability = gpu.compute_capability.as_ref()?.value;
                let source = || Source::Derived(format!("{}: {}", self.name, self.formula));
                (capability.major >= since_major).then(|| (value, source()))
            }
            Method::Formula { inputs, evaluate } => {
                let values: Option<Vec<f64>> = inputs.iter().map(|field| number(field)).collect();
                Some((evaluate(&values?), self.source(gpu)))
            }
            Method::AchievedBandwidth => {
                let peak = number("peak_memory_bandwidth")?;
                let kind = gpu.memory_type.as_ref().map(|kind| kind.value.0.as_str());
                let share = memory::achieved(kind);
                let range = share.measured.map_or(String::new(), |(low, high)| {
                    format!(", measured {low:.2} to {high:.2}")
                });
                let text = format!(
                    "{}: {:.2} × peak_memory_bandwidth of {peak} GB/s, for {} ({}{range})",
                    self.name, share.fraction, share.memory_type, share.evidence
                );
                let source = match share.measured {
                    Some(_) => Source::Derived(text),
                    None => Source::Assumed(text),
                };
                Some((share.fraction * peak, source))
            }
            Method::Typical(value, evidence) => {
                let text = format!("{}: {} ({evidence})", self.name, self.formula);
                Some((value, Source::Derived(text)))
            }
        }
    }

    /// The rule's name, what it says, its inputs, and how far it has been off.
    fn source(&self, gpu: &Gpu) -> Source {
        let inputs = self.inputs().iter().filter_map(|field| {
            let figure = gpu.figure(field)?;
            let value = match figure.value {
                Value::Number(number) => format!("{}", (number * 1e3).round() / 1e3),
                Value::Text(text) => text,
            };
            let unit = figure.unit.map(|unit| format!(" {unit}")).unwrap_or_default();
            let guess = if matches!(figure.source, Source::Assumed(_)) { ", assumed" } else { "" };
            Some(format!("{field} = {value}{unit}{guess}"))
        });
        let inputs: Vec<String> = inputs.collect();
        let spread = self.spread.map_or(String::new(), |spread| format!("; {spread}"));
        Source::Derived(format!(
            "{}: {} with {}{spread}",
            self.name,
            self.formula,
            inputs.join(", ")
        ))
    }
}
