//! The events of a profile that take energy.

use gpucast_counters::KernelProfile;

/// Events of a kind, whose energy is a field of the GPU.
pub(super) struct Kind {
    /// What the energy goes to.
    pub(super) of: &'static str,
    /// The field with the energy of one event, in picojoules.
    pub(super) field: &'static str,
    /// The metrics that count the events, each with the events of one.
    metrics: &'static [(&'static str, f64)],
    /// True if the metrics must be there: without them nothing can be said.
    is_needed: bool,
    /// True if the energy follows the voltage of the SMs.
    pub(super) follows_voltage: bool,
}

const fn kind(
    of: &'static str,
    field: &'static str,
    metrics: &'static [(&'static str, f64)],
) -> Kind {
    Kind { of, field, metrics, is_needed: false, follows_voltage: true }
}

/// All kinds. A profile of a program counts results of threads, passes and sectors alike.
pub(super) const KINDS: &[Kind] = &[
    Kind {
        is_needed: true,
        ..kind("instructions", "instruction_energy", &[("inst_executed", 1.0)])
    },
    kind("fp32", "fp32_energy", &[("inst_fp_32", 1.0), ("inst_fp_16", 1.0)]),
    kind("fp64", "fp64_energy", &[("inst_fp_64", 1.0)]),
    kind("integers", "integer_energy", &[("inst_integer", 1.0)]),
    kind("special functions", "special_energy", &[("flop_count_sp_special", 1.0)]),
    // A tensor core takes as much in each clock, so an operation takes the more the fewer it does.
    kind(
        "tensor cores",
        "tensor_energy",
        &[
            ("tensor_op_count_fp16", 1.0),
            ("tensor_op_count_bf16", 1.0),
            ("tensor_op_count_tf32", 2.0),
            ("tensor_op_count_fp64", 16.0),
            ("tensor_op_count_fp8", 0.5),
            ("tensor_op_count_fp6_fp4", 0.25),
            ("tensor_op_count_int8", 0.5),
            ("tensor_op_count_int4", 0.25),
            ("tensor_op_count_int1", 0.0625),
        ],
    ),
    kind(
        "shared memory",
        "shared_energy",
        &[
            ("shared_load_transactions", 1.0),
            ("shared_store_transactions", 1.0),
            ("shared_update_transactions", 1.0),
        ],
    ),
    kind(
        "first-level cache",
        "l1_energy",
        &[
            ("global_load_sectors", 1.0),
            ("global_store_sectors", 1.0),
            ("global_update_sectors", 1.0),
            ("local_load_transactions", 1.0),
            ("local_store_transactions", 1.0),
            ("texture_sectors", 1.0),
        ],
    ),
    kind("L2, read", "l2_read_energy", &[("l2_read_transactions", 1.0)]),
    kind(
        "L2, written",
        "l2_write_energy",
        &[("l2_write_transactions", 1.0), ("l2_atomic_transactions", 1.0)],
    ),
    Kind {
        is_needed: true,
        follows_voltage: false,
        ..kind("DRAM, read", "dram_read_energy", &[("dram_read_bytes", 1.0)])
    },
    Kind {
        is_needed: true,
        follows_voltage: false,
        ..kind("DRAM, written", "dram_write_energy", &[("dram_write_bytes", 1.0)])
    },
];

/// The floating-point and tensor operations of a profile.
pub(super) fn operations(profile: &KernelProfile) -> f64 {
    const OPERATIONS: [&str; 4] =
        ["flop_count_sp", "flop_count_dp", "flop_count_hp", "tensor_op_count"];
    OPERATIONS.iter().filter_map(|metric| total(profile, metric)).sum()
}

impl Kind {
    /// The events of all invocations; `None` if a metric that must be there is not.
    pub(super) fn count(&self, profile: &KernelProfile) -> Option<f64> {
        let counts = self.metrics.iter().map(|(metric, each)| {
            let count = total(profile, metric).map(|count| count * each);
            if self.is_needed { count } else { Some(count.unwrap_or_default()) }
        });
        counts.sum()
    }
}

/// A metric of all invocations, if the profile has a number that can be one.
fn total(profile: &KernelProfile, metric: &str) -> Option<f64> {
    let value = profile.metrics.get(metric)?.value.as_f64();
    let is_count = value.is_finite() && value >= 0.0;
    is_count.then_some(value * profile.invocations as f64)
}
