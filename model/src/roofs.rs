//! Roofs: the least time that each unit of a GPU takes for the work that was counted.
//!
//! No kernel is faster than its counted work over a unit's peak, whatever a model says. So every
//! prediction is compared with these times ([`crate::Model::predict`]). They follow from totals of
//! the whole launch, divided evenly among SMs, and from no latency.

use gpucast_counters::KernelProfile;
use gpucast_counters::metric;
use gpucast_simulation::parameters::Parameters;

use crate::gpu::Gpu;

/// A unit with the least time of its work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Roof {
    /// The unit.
    pub unit: &'static str,
    /// The time of all invocations, in milliseconds.
    pub least_ms: f64,
}

/// Bytes of a transaction of the L2.
const TRANSACTION_BYTES: f64 = 32.0;

/// Bytes per millisecond of a gigabyte per second.
const MEGA: f64 = 1e6;

/// A rate of a GPU's units, per clock and SM.
type Rate = fn(&Gpu) -> Option<f64>;

/// Metrics of products, each with its rate in multiply-adds. The fastest of several fields counts.
const PRODUCTS: [(&str, Rate); 9] = [
    (metric!("tensor_op_count_fp64"), |gpu| gpu.number("tensor_fp64_rate")),
    (metric!("tensor_op_count_tf32"), |gpu| gpu.number("tensor_tf32_rate")),
    (metric!("tensor_op_count_bf16"), |gpu| gpu.number("tensor_rate")),
    (metric!("tensor_op_count_fp16"), |gpu| {
        faster(gpu.number("tensor_rate"), gpu.number("tensor_half_rate"))
    }),
    (metric!("tensor_op_count_fp8"), |gpu| gpu.number("tensor_fp8_rate")),
    (metric!("tensor_op_count_fp6_fp4"), |gpu| {
        faster(gpu.number("tensor_fp4_rate"), gpu.number("tensor_scaled_fp4_rate"))
    }),
    (metric!("tensor_op_count_int8"), |gpu| gpu.number("tensor_int8_rate")),
    (metric!("tensor_op_count_int4"), |gpu| gpu.number("tensor_int4_rate")),
    (metric!("tensor_op_count_int1"), |gpu| gpu.number("tensor_int1_rate")),
];

/// The arithmetic of threads: the unit, the metrics of its additions, products and multiply-adds,
/// and the results of a clock and SM.
const ARITHMETIC: [(&str, [&str; 3], Rate); 3] = [
    (
        "the half-precision units",
        metric!["flop_count_hp_add", "flop_count_hp_mul", "flop_count_hp_fma"],
        |gpu| gpu.number("fp16_rate"),
    ),
    (
        "the single-precision units",
        metric!["flop_count_sp_add", "flop_count_sp_mul", "flop_count_sp_fma"],
        |gpu| faster(gpu.number("fp32_rate"), gpu.number("fp32_mul_rate")),
    ),
    (
        "the double-precision units",
        metric!["flop_count_dp_add", "flop_count_dp_mul", "flop_count_dp_fma"],
        |gpu| gpu.number("fp64_rate"),
    ),
];

fn faster(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    one.into_iter().chain(other).max_by(f64::total_cmp)
}

/// The roofs of a launch on a GPU, as far as the counts and the GPU's fields tell. `data_clocks`
/// are those of the data paths of all SMs, if instructions are those of machine code.
#[must_use]
pub fn roofs(profile: &KernelProfile, gpu: &Gpu, data_clocks: Option<f64>) -> Vec<Roof> {
    let mut roofs = Vec::new();
    let total = |metric: &str| {
        let figure = profile.metrics.get(metric);
        figure.map_or(0.0, |figure| figure.value.as_f64() * profile.invocations as f64)
    };
    let mut add = |unit, work: f64, per_ms: Option<f64>| {
        if let Some(per_ms) = per_ms.filter(|_| work > 0.0) {
            roofs.push(Roof { unit, least_ms: work / per_ms });
        }
    };
    let per_ms = |bandwidth: Option<f64>| bandwidth.map(|gigabytes| MEGA * gigabytes);
    let dram = total(metric!("dram_read_bytes")) + total(metric!("dram_write_bytes"));
    add("device memory", dram, per_ms(gpu.number("peak_memory_bandwidth")));
    let l2 = |metric| TRANSACTION_BYTES * total(metric);
    add("reads of the L2", l2(metric!("l2_read_transactions")), per_ms(gpu.number("l2_bandwidth")));
    let written = per_ms(gpu.number("l2_write_bandwidth"));
    add("writes of the L2", l2(metric!("l2_write_transactions")), written);
    let Some(clocks_per_ms) = sm_clocks_per_ms(gpu) else { return roofs };
    for (unit, metrics, rate) in ARITHMETIC {
        let work = metrics.into_iter().map(total).sum();
        add(unit, work, rate(gpu).map(|rate| rate * clocks_per_ms));
    }
    add("the tensor cores", tensor_clocks(profile, gpu), Some(clocks_per_ms));
    // Without machine code, instructions are those of PTX, and a compiler may need fewer.
    let (Some(data_clocks), Ok(parameters)) = (data_clocks, gpu.sm_parameters()) else {
        return roofs;
    };
    let slots =
        f64::from(parameters.issue.sub_partitions) * f64::from(parameters.issue.issue_width);
    add("the issue slots", total(metric!("inst_executed")), Some(slots * clocks_per_ms));
    let textures = textures_per_clock(&parameters).map(|rate| rate * clocks_per_ms);
    add("the texture units", total(metric!("inst_executed_tex_ops")), textures);
    add("shared memory and the first-level cache", data_clocks, Some(clocks_per_ms));
    roofs
}

/// Clocks that the tensor cores of all SMs together need for the profile's products. The formats
/// share the cores; one whose rate the GPU's file does not give is left out.
#[must_use]
pub fn tensor_clocks(profile: &KernelProfile, gpu: &Gpu) -> f64 {
    let products = PRODUCTS.iter().filter_map(|(metric, rate)| {
        let multiply_adds = profile.metrics.get(*metric)?.value.as_f64() / 2.0;
        Some(profile.invocations as f64 * multiply_adds / rate(gpu)?)
    });
    products.sum()
}

/// Clocks of all SMs in a millisecond.
fn sm_clocks_per_ms(gpu: &Gpu) -> Option<f64> {
    Some(gpu.number("sp_clock")? * 1e3 * gpu.number("sm_count")?)
}

/// Fetches of textures by warps that an SM begins in a clock.
fn textures_per_clock(parameters: &Parameters) -> Option<f64> {
    use gpucast_simulation::code::Class;
    let unit = parameters.units[Class::Texture as usize];
    let units = if unit.is_shared { 1 } else { parameters.issue.sub_partitions };
    (unit.interval > 0.0).then(|| f64::from(units) / unit.interval)
}

/// Times differ from roofs by rounding, and recorded CTAs from the mean of all.
const TOLERANCE: f64 = 0.01;

/// The highest of the [`roofs`], if there is one.
#[must_use]
pub fn highest(profile: &KernelProfile, gpu: &Gpu, data_clocks: Option<f64>) -> Option<Roof> {
    let roofs = roofs(profile, gpu, data_clocks).into_iter();
    roofs.max_by(|one, other| one.least_ms.total_cmp(&other.least_ms))
}

impl Roof {
    /// Returns true if the roof leaves a unit less time than it needs.
    #[must_use]
    pub fn is_above(&self, time_ms: f64) -> bool {
        self.least_ms * (1.0 - TOLERANCE) > time_ms
    }
}
