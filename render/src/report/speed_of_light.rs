//! How near each unit of a GPU comes to its peak in the predicted time: Nsight Compute's *Speed of
//! Light*.

use gpucast_counters::KernelProfile;
use gpucast_counters::metric;
use gpucast_model::Gpu;
use gpucast_plot::number::significant;

/// Bytes of a sector, and of a pass over all banks of shared memory.
const SECTOR_BYTES: f64 = 32.0;
const PASS_BYTES: f64 = 128.0;

/// A unit and the part of its peak that a kernel uses.
pub(super) struct Meter {
    /// The unit.
    pub(super) unit: &'static str,
    /// The throughput that the kernel needs in the predicted time.
    pub(super) achieved: String,
    /// The peak of the GPU.
    pub(super) peak: String,
    /// The part of the peak, in percent, for people.
    pub(super) percent: String,
    /// The same between 0 and 100, for the length of a bar.
    pub(super) length: f64,
}

/// Every unit that the GPU has a peak of and the kernel uses, in the order of the way to memory.
///
/// `shared_passes` are those of the machine code's accesses to shared memory, if the kernel was
/// simulated on the GPU. The metrics count the accesses of PTX, of which compilers join several.
/// Time and work would otherwise follow different rules, and the work might exceed the peak.
pub(super) fn meters(
    profile: &KernelProfile,
    gpu: &Gpu,
    time_ms: f64,
    shared_passes: Option<f64>,
) -> Vec<Meter> {
    let invocations = profile.invocations as f64;
    let sum = |metrics: &[&str]| {
        let known = metrics.iter().filter_map(|name| profile.metrics.get(*name));
        invocations * known.map(|metric| metric.value.as_f64()).sum::<f64>()
    };
    // 10⁹ a second: what a millisecond has, over 10⁶.
    let rate = |amount: f64| amount / time_ms / 1e6;
    let number = |value: Option<f64>| value.filter(|value| *value > 0.0);
    macro_rules! peak {
        ($($field:ident),+) => { number(None$(.or(gpu.$field.as_ref().map(|field| field.value.0)))+) };
    }
    let issue = match (&gpu.issue_rate, &gpu.sm_count, &gpu.sp_clock) {
        (Some(rate), Some(sms), Some(clock)) => {
            number(Some(rate.value.0 * sms.value.0 as f64 * clock.value.0 / 1e3))
        }
        _ => None,
    };
    let rows = [
        ("issue slots", sum(&[metric!("inst_executed")]), issue, "10⁹ instructions/s"),
        (
            "single precision",
            sum(&[metric!("flop_count_sp")]),
            peak!(peak_sp_throughput, sp_throughput),
            "GFLOPS",
        ),
        (
            "double precision",
            sum(&[metric!("flop_count_dp")]),
            peak!(peak_dp_throughput, dp_throughput),
            "GFLOPS",
        ),
        // Products of integers go to units of their own, and shifts have another rate.
        (
            "integer additions, logic",
            sum(&metric!["inst_integer_add", "inst_integer_compare", "inst_integer_logic"]),
            peak!(int_add_throughput),
            "GIOPS",
        ),
        (
            "tensor cores (fp16)",
            sum(&metric!["tensor_op_count_fp16", "tensor_op_count_bf16"])
                + 2.0 * sum(&[metric!("tensor_op_count_tf32")]),
            peak!(peak_tensor_throughput, tensor_throughput),
            "GFLOPS",
        ),
        (
            "load-store units",
            sum(&[metric!("inst_compute_ld_st")]),
            peak!(load_store_throughput),
            "10⁹ operations/s",
        ),
        (
            "shared memory",
            PASS_BYTES
                * shared_passes.unwrap_or_else(|| {
                    sum(&metric!["shared_load_transactions", "shared_store_transactions"])
                }),
            peak!(shared_bandwidth),
            "GB/s",
        ),
        (
            "L1",
            SECTOR_BYTES * sum(&metric!["global_load_sectors", "local_load_transactions"]),
            peak!(l1_bandwidth),
            "GB/s",
        ),
        ("L2", SECTOR_BYTES * sum(&[metric!("l2_transactions")]), peak!(l2_bandwidth), "GB/s"),
        (
            "device memory",
            SECTOR_BYTES * sum(&metric!["dram_read_transactions", "dram_write_transactions"]),
            peak!(peak_memory_bandwidth, memory_bandwidth),
            "GB/s",
        ),
    ];
    let meter = |(unit, amount, peak, name): (&'static str, f64, Option<f64>, &str)| {
        let (peak, achieved) = (peak?, rate(amount));
        let percent = 100.0 * achieved / peak;
        (amount > 0.0 && percent.is_finite()).then(|| Meter {
            unit,
            achieved: format!("{} {name}", significant(achieved, 3)),
            peak: format!("{} {name}", significant(peak, 4)),
            percent: significant(percent, 3),
            length: percent.clamp(0.0, 100.0),
        })
    };
    rows.into_iter().filter_map(meter).collect()
}
