//! The rules, in an order in which every rule comes after those of its inputs.

use std::fmt;

use super::{capability, memory};
use crate::gpu::Gpu;
use crate::gpu::quantity::Value;
use crate::gpu::source::Source;

/// A rule by which a field follows from others.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// The field that it fills.
    pub field: &'static str,
    /// Its name, which the sources of filled fields begin with.
    pub name: &'static str,
    /// The spread of measured GPUs around it, if some were measured.
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
    /// The number of GPUs that were measured.
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
    /// The work of all SMs per second: operations of a result × rate × sm_count × sp_clock.
    OfAllSms { operations: u32, inputs: [&'static str; 3] },
    /// A formula of numbers, each in its field's first unit.
    Formula { text: &'static str, inputs: &'static [&'static str], evaluate: fn(&[f64]) -> f64 },
    /// The same on every GPU from a generation of compute capabilities on.
    Constant { text: &'static str, value: f64, since_major: u32 },
    /// A multiple of `tensor_rate` from a compute capability on.
    TensorFormat { text: &'static str, factor: f64, since: (u32, u32) },
    /// A share of the peak that depends on the memory.
    AchievedBandwidth,
    /// The share of the peak that accesses of one direction reach, or mixed ones.
    Efficiency { mixed: bool },
    /// The same on every GPU, by measurements on a few.
    Typical { text: &'static str, value: f64, evidence: &'static str },
}

impl Rule {
    const fn new(field: &'static str, name: &'static str, method: Method) -> Self {
        Self { field, name, spread: None, method }
    }

    const fn spread(self, low: f64, high: f64, gpus: usize) -> Self {
        Self { spread: Some(Spread { low, high, gpus }), ..self }
    }
}

const fn tabulated(field: &'static str) -> Rule {
    Rule::new(field, "capability-table", Method::Capability)
}

/// The throughput of all SMs by a rate of each, in 10⁹ operations or bytes a second.
const fn of_all_sms(
    field: &'static str,
    name: &'static str,
    operations: u32,
    rate: &'static str,
) -> Rule {
    Rule::new(field, name, Method::OfAllSms { operations, inputs: [rate, "sm_count", "sp_clock"] })
}

const fn formula(
    field: &'static str,
    name: &'static str,
    text: &'static str,
    inputs: &'static [&'static str],
    evaluate: fn(&[f64]) -> f64,
) -> Rule {
    Rule::new(field, name, Method::Formula { text, inputs, evaluate })
}

const fn constant(
    field: &'static str,
    name: &'static str,
    text: &'static str,
    (value, since_major): (f64, u32),
) -> Rule {
    Rule::new(field, name, Method::Constant { text, value, since_major })
}

const fn share(
    field: &'static str,
    name: &'static str,
    text: &'static str,
    factor: f64,
    since: (u32, u32),
) -> Rule {
    Rule::new(field, name, Method::TensorFormat { text, factor, since })
}

const fn typical(
    field: &'static str,
    name: &'static str,
    (text, value): (&'static str, f64),
    evidence: &'static str,
) -> Rule {
    Rule::new(field, name, Method::Typical { text, value, evidence })
}

/// Lanes of 4 bytes: the load/store units or shared memory, whichever is slower.
fn lanes(v: &[f64]) -> f64 {
    v[0].min(v[1] / 4.0) * v[2] * v[3] / 1e3
}

/// Lanes of one warp instruction of each scheduler per clock, or the lanes that the units take.
fn issued(v: &[f64]) -> f64 {
    v[0].min(v[1] * v[2]) * v[3] * v[4] / 1e3
}

/// Lanes in the clocks of a narrow product and one more.
fn wide_products(v: &[f64]) -> f64 {
    let lanes = v[1] * v[2];
    lanes / (lanes / v[0] + 1.0)
}

fn product(v: &[f64]) -> f64 {
    v[0] * v[1]
}

fn same(v: &[f64]) -> f64 {
    v[0]
}

/// A multiply-add is two operations.
const MULTIPLY_ADDS: u32 = 2;

/// All rules.
pub const RULES: &[Rule] = &[
    constant(
        "warp_size",
        "warp-size",
        "32 threads on every GPU with a compute capability",
        (32.0, 1),
    ),
    constant("cache_line", "cache-line", "128 bytes from compute capability 2.0 on", (128.0, 2)),
    formula(
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
    formula("fp32_mul_rate", "multiplications", "fp32_rate", &["fp32_rate"], same),
    formula(
        "sp_count",
        "scalar-processors",
        "fp32_rate × sm_count",
        &["fp32_rate", "sm_count"],
        product,
    ),
    of_all_sms("peak_sp_throughput", "peak-sp", MULTIPLY_ADDS, "fp32_rate"),
    of_all_sms("peak_dp_throughput", "peak-dp", MULTIPLY_ADDS, "fp64_rate"),
    of_all_sms("peak_hp_throughput", "peak-hp", MULTIPLY_ADDS, "fp16_rate"),
    of_all_sms("peak_tensor_throughput", "peak-tensor", MULTIPLY_ADDS, "tensor_rate"),
    of_all_sms("sp_throughput", "sp-throughput", MULTIPLY_ADDS, "fp32_rate").spread(0.88, 1.13, 9),
    of_all_sms("dp_throughput", "dp-throughput", MULTIPLY_ADDS, "fp64_rate").spread(0.66, 1.08, 10),
    of_all_sms("int_throughput", "int-throughput", MULTIPLY_ADDS, "int_mul_rate")
        .spread(0.79, 1.06, 9),
    // A scheduler issues one instruction in a clock; Kepler's 160 additions would take two of some.
    formula(
        "int_add_throughput",
        "int-add-throughput",
        "min(int_add_rate, sub_partitions × warp_size) × sm_count × sp_clock",
        &["int_add_rate", "sub_partitions", "warp_size", "sm_count", "sp_clock"],
        issued,
    )
    .spread(0.82, 1.06, 7),
    formula(
        "load_store_throughput",
        "load-store-throughput",
        "min(load_store_rate, shared_bytes_rate / 4) × sm_count × sp_clock",
        &["load_store_rate", "shared_bytes_rate", "sm_count", "sp_clock"],
        lanes,
    )
    .spread(0.64, 1.0, 7),
    of_all_sms("hp_throughput", "hp-throughput", MULTIPLY_ADDS, "fp16_rate").spread(1.12, 1.13, 1),
    formula(
        "tensor_throughput",
        "tensor-throughput",
        "peak_tensor_throughput",
        &["peak_tensor_throughput"],
        same,
    ),
    Rule::new("memory_bandwidth", "achieved-bandwidth", Method::AchievedBandwidth),
    of_all_sms("shared_bandwidth", "shared-bandwidth", 1, "shared_bytes_rate").spread(0.99, 1.0, 1),
    of_all_sms("l1_bandwidth", "l1-bandwidth", 1, "l1_bytes_rate").spread(0.98, 1.0, 3),
    of_all_sms("l2_bandwidth", "l2-bandwidth", 1, "l2_bytes_rate").spread(1.12, 1.14, 2),
    typical(
        "launch_overhead",
        "launch-overhead",
        ("2.1 µs, the median of 5 GPUs", 2.1),
        "1.6 (L40) to 3.5 µs (A100), github.com/RRZE-HPC/gpu-benches, gpu-small-kernels",
    )
    .spread(0.76, 1.67, 5),
    typical(
        "graph_launch_overhead",
        "graph-launch",
        ("0.92 µs, the median of 4 GPUs", 0.92),
        "0.53 (H200) and 0.79 (H100): corpus/measured; 1.05 (L40) and 1.2 µs (A40): github.com/RRZE-HPC/gpu-benches, gpu-small-kernels",
    )
    .spread(0.57, 1.31, 4),
    typical(
        "launch_gap",
        "launch-gap",
        ("1.2 µs, the median of four GPUs", 1.2),
        "0.87 (L40), 1.0 (A40), 1.49 (H200, corpus/measured) and 1.58 µs (A100): a stream of kernels \
         with one load and one store a thread, github.com/RRZE-HPC/gpu-benches, gpu-small-kernels, \
         less what such a kernel takes",
    )
    .spread(0.72, 1.32, 4),
    typical(
        "graph_launch_gap",
        "graph-gap",
        ("0.19 µs, the median of five GPUs", 0.19),
        "0.09 (A40), 0.19 (L40) and 0.19 µs (A100): graphs of the same kernels; 0.22 (H200) and \
         0.48 µs (H100): empty kernels, corpus/measured",
    )
    .spread(0.47, 2.53, 5),
    typical(
        "event_overhead",
        "event-pair",
        ("5 µs, the middle of 4 to 6", 5.0),
        "a pair of events around an empty kernel, from memory",
    )
    .spread(0.55, 0.56, 2),
    typical(
        "framework_overhead",
        "framework-call",
        ("18 µs, the median of three GPUs", 18.0),
        "17.2 and 18.1 (A100) and 20.1 µs (V100), 13.9 to 24.8 by operation: what times of element-wise \
         calls of PyTorch 2.1 have beyond their bytes, github.com/sitar-lab/NeuSight",
    )
    .spread(0.95, 1.12, 3),
    typical(
        "profiler_cycles_overhead",
        "profiler-cycles",
        ("1925 clocks, the middle of 2300 to 2550 less 300 to 700 of the kernel's own", 1925.0),
        "public Nsight Compute reports of small kernels on a GV100",
    ),
    typical(
        "profiler_duration_overhead",
        "profiler-duration",
        ("2275 clocks, the middle of 2000 to 2550", 2275.0),
        "public Nsight Compute reports of small kernels on a GV100",
    )
    .spread(1.40, 1.41, 2),
    tabulated("issue_width"),
    tabulated("fp32_pipes"),
    formula(
        "wide_mul_rate",
        "wide-multiplications",
        "a warp takes one clock more of its sub-core than int_mul_rate says",
        &["int_mul_rate", "sub_partitions", "warp_size"],
        wide_products,
    ),
    tabulated("branch_interval"),
    tabulated("uniform_interval"),
    tabulated("texture_interval"),
    tabulated("fp64_latency"),
    tabulated("special_latency"),
    tabulated("texture_latency"),
    tabulated("uniform_latency"),
    tabulated("special_register_latency"),
    tabulated("shuffle_latency"),
    tabulated("mma_sync_share"),
    tabulated("tensor_latency"),
    tabulated("tensor_queue"),
    tabulated("tensor_half_rate"),
    share("tensor_tf32_rate", "tf32", "half of tensor_rate from 8.0 on", 0.5, (8, 0)),
    tabulated("tensor_fp64_rate"),
    share("tensor_fp8_rate", "fp8", "twice tensor_rate from 8.9 on", 2.0, (8, 9)),
    share(
        "tensor_fp4_rate",
        "fp6-and-fp4",
        "twice tensor_rate from 10.0 on, as `kind::f8f6f4` multiplies",
        2.0,
        (10, 0),
    ),
    tabulated("tensor_scaled_fp4_rate"),
    tabulated("tensor_int8_rate"),
    tabulated("tensor_int4_rate"),
    tabulated("tensor_int1_rate"),
    tabulated("tensor_memory_columns"),
    tabulated("tensor_memory_latency"),
    tabulated("tensor_pair_latency"),
    tabulated("tensor_memory_read_rate"),
    tabulated("tensor_memory_write_rate"),
    tabulated("memory_queue"),
    tabulated("address_interval"),
    tabulated("uniform_address_interval"),
    tabulated("l1_tag_rate"),
    tabulated("l1_tag_spread"),
    tabulated("store_bytes_rate"),
    tabulated("constant_latency"),
    tabulated("constant_interval"),
    tabulated("operand_latency"),
    tabulated("shared_atomic_interval"),
    tabulated("pending_accesses"),
    tabulated("pending_sectors"),
    tabulated("stored_sectors"),
    tabulated("l2_far_latency"),
    tabulated("l2_write_bytes_rate"),
    of_all_sms("l2_write_bandwidth", "l2-write-bandwidth", 1, "l2_write_bytes_rate"),
    tabulated("l2_partial_write_bytes_rate"),
    tabulated("l2_reply_bytes_rate"),
    tabulated("l2_request_rate"),
    Rule::new("dram_efficiency", "dram-efficiency", Method::Efficiency { mixed: false })
        .spread(0.90, 1.06, 5),
    Rule::new("dram_mixed_efficiency", "dram-efficiency", Method::Efficiency { mixed: true })
        .spread(0.80, 1.10, 7),
    tabulated("read_queueing_linear"),
    tabulated("read_queueing_hyperbolic"),
    tabulated("quarter_written_queueing_linear"),
    tabulated("quarter_written_queueing_hyperbolic"),
    tabulated("half_written_queueing_linear"),
    tabulated("half_written_queueing_hyperbolic"),
    tabulated("write_queueing_linear"),
    tabulated("write_queueing_hyperbolic"),
    tabulated("atomic_latency"),
    tabulated("atomic_interval"),
    tabulated("atomic_rate"),
    tabulated("barrier_latency"),
    tabulated("barrier_arrival_interval"),
    tabulated("mbarrier_latency"),
    tabulated("fence_cta_latency"),
    tabulated("fence_gpu_latency"),
    tabulated("fence_system_latency"),
    tabulated("cta_launch_interval"),
    tabulated("cta_replacement"),
    tabulated("warp_launch_interval"),
    tabulated("launch_start"),
    formula(
        "launch_end",
        "stores-drain",
        "l2_latency, which the last stores take",
        &["l2_latency"],
        same,
    ),
    formula(
        "code_latency",
        "first-line",
        "l2_latency + 78: Huerta et al., MICRO 2025, for the way from the L1 to the L0",
        &["l2_latency"],
        |v| v[0] + 78.0,
    ),
    tabulated("code_line_interval"),
    tabulated("code_line"),
    tabulated("code_cache_size"),
    tabulated("constant_near_latency"),
    formula(
        "constant_far_latency",
        "first-constant",
        "l2_latency + constant_near_latency, the way from the L2 and that from the level 1.5",
        &["l2_latency", "constant_near_latency"],
        |v| v[0] + v[1],
    ),
    tabulated("constant_line"),
    tabulated("constant_far_line"),
    tabulated("sm_power"),
    tabulated("energy_clock"),
    tabulated("voltage_floor"),
    tabulated("voltage_floor_clock"),
    tabulated("instruction_energy"),
    tabulated("fp32_energy"),
    tabulated("fp64_energy"),
    tabulated("integer_energy"),
    tabulated("special_energy"),
    tabulated("tensor_energy"),
    tabulated("shared_energy"),
    tabulated("l1_energy"),
    tabulated("l2_read_energy"),
    tabulated("l2_write_energy"),
    tabulated("dram_read_energy"),
    tabulated("dram_write_energy"),
];

impl Rule {
    /// The rule of a field, if there is one.
    #[must_use]
    pub fn of(field: &str) -> Option<&'static Self> {
        RULES.iter().find(|rule| rule.field == field)
    }

    /// Returns true if the table of compute capabilities has the field.
    #[cfg(test)]
    pub(super) fn is_tabulated(&self) -> bool {
        matches!(self.method, Method::Capability)
    }

    /// The fields that it reads.
    #[must_use]
    pub fn inputs(&self) -> &[&'static str] {
        match &self.method {
            Method::Capability | Method::Constant { .. } => &["compute_capability"],
            Method::OfAllSms { inputs, .. } => inputs,
            Method::Formula { inputs, .. } => inputs,
            Method::TensorFormat { .. } => &["tensor_rate", "compute_capability"],
            Method::AchievedBandwidth => &["peak_memory_bandwidth", "memory_type"],
            Method::Efficiency { .. } => &["memory_type"],
            Method::Typical { .. } => &[],
        }
    }

    /// The rule in words.
    #[must_use]
    pub fn formula(&self) -> String {
        match self.method {
            Method::Capability => "as the table of compute capabilities says".to_owned(),
            Method::OfAllSms { operations, inputs } => {
                let factor =
                    if operations == 1 { String::new() } else { format!("{operations} × ") };
                factor + &inputs.join(" × ")
            }
            Method::Formula { text, .. }
            | Method::Constant { text, .. }
            | Method::TensorFormat { text, .. }
            | Method::Typical { text, .. } => text.to_owned(),
            Method::Efficiency { mixed: false } => {
                "the share of peak_memory_bandwidth that reads alone or writes alone reach, by \
                 memory_type"
                    .to_owned()
            }
            Method::Efficiency { mixed: true } => {
                "the share of peak_memory_bandwidth that reads and writes together reach, by \
                 memory_type"
                    .to_owned()
            }
            Method::AchievedBandwidth => {
                "a share of peak_memory_bandwidth that memory_type decides".to_owned()
            }
        }
    }

    /// The rule's value for a GPU; `None` if an input is missing.
    pub(in crate::gpu) fn value(&self, gpu: &Gpu) -> Option<f64> {
        let number = |field: &str| gpu.figure(field)?.value.number();
        let numbers =
            || self.inputs().iter().map(|field| number(field)).collect::<Option<Vec<f64>>>();
        let capability = || Some(gpu.compute_capability.as_ref()?.value);
        match self.method {
            Method::Capability => Some(capability::entry(capability()?, self.field)?.value),
            Method::Constant { value, since_major, .. } => {
                (capability()?.major >= since_major).then_some(value)
            }
            Method::OfAllSms { operations, .. } => {
                // Megahertz × results in a clock are 10⁶ results in a second.
                let results: f64 = numbers()?.iter().product();
                Some(f64::from(operations) * (results / 1e3))
            }
            Method::Formula { evaluate, .. } => Some(evaluate(&numbers()?)),
            Method::TensorFormat { factor, since, .. } => {
                let capability = capability()?;
                let is_there = (capability.major, capability.minor) >= since;
                Some(factor * number("tensor_rate").filter(|_| is_there)?)
            }
            Method::Efficiency { mixed } => Some(memory::efficiency(memory_type(gpu), mixed).0),
            Method::AchievedBandwidth => {
                Some(memory::achieved(memory_type(gpu)).fraction * number("peak_memory_bandwidth")?)
            }
            Method::Typical { value, .. } => Some(value),
        }
    }

    /// The same with its source.
    pub(in crate::gpu) fn evaluate(&self, gpu: &Gpu) -> Option<(f64, Source)> {
        Some((self.value(gpu)?, self.source(gpu)?))
    }

    /// The source of the rule's value; `None` if an input is missing.
    fn source(&self, gpu: &Gpu) -> Option<Source> {
        let name = self.name;
        Some(match self.method {
            Method::Capability => {
                let capability = gpu.compute_capability.as_ref()?.value;
                capability::entry(capability, self.field)?.source.clone()
            }
            Method::Constant { .. } => {
                Source::Derived(format!("{name}: {}", self.formula()).into())
            }
            Method::OfAllSms { .. } | Method::Formula { .. } | Method::TensorFormat { .. } => {
                self.by_inputs(gpu)
            }
            Method::Efficiency { mixed } => {
                let (_, evidence) = memory::efficiency(memory_type(gpu), mixed);
                Source::Derived(format!("{name}: {evidence}").into())
            }
            Method::AchievedBandwidth => {
                let peak = gpu.number("peak_memory_bandwidth")?;
                let share = memory::achieved(memory_type(gpu));
                let range = share.measured.map_or(String::new(), |(low, high)| {
                    format!(", measured {low:.2} to {high:.2}")
                });
                let text = format!(
                    "{name}: {:.2} × peak_memory_bandwidth of {peak} GB/s, for {} ({}{range})",
                    share.fraction, share.memory_type, share.evidence
                );
                match share.measured {
                    Some(_) => Source::Derived(text.into()),
                    None => Source::Assumed(text.into()),
                }
            }
            Method::Typical { evidence, .. } => {
                let text = format!("{name}: {} ({evidence})", self.formula());
                // Without measured GPUs it is a guess.
                match self.spread {
                    Some(_) => Source::Derived(text.into()),
                    None => Source::Assumed(text.into()),
                }
            }
        })
    }

    /// The rule's name, its text, its inputs, and its errors so far.
    fn by_inputs(&self, gpu: &Gpu) -> Source {
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
        Source::Derived(
            format!("{}: {} with {}{spread}", self.name, self.formula(), inputs.join(", ")).into(),
        )
    }
}

/// The kind of a GPU's memory, if it is known.
fn memory_type(gpu: &Gpu) -> Option<&str> {
    gpu.memory_type.as_ref().map(|kind| kind.value.0.as_str())
}
