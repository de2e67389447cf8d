//! The fields of a GPU that models and counters read.
//!
//! Each model declares its fields ([`crate::Model::reads`]), those of its helpers included. A field
//! that a user changes and that nothing reads, neither itself nor what follows from it by a rule,
//! is reported ([`crate::Warning::UnreadField`]). `model/tests/all/reads.rs` changes every field
//! and checks that no time depends on one that is not declared.

use crate::gpu::Gpu;

/// Fields in groups.
pub type Fields = &'static [&'static [&'static str]];

/// Fields that say how many CTAs an SM holds.
pub const OCCUPANCY: &[&str] = &[
    "compute_capability",
    "max_warps_per_sm",
    "max_blocks_per_sm",
    "max_threads_per_block",
    "registers_per_sm",
    "max_registers_per_block",
    "max_registers_per_thread",
    "sub_partitions",
    "shared_memory_per_sm",
    "max_shared_memory_per_block",
    "shared_allocation_unit",
    "shared_reserved_per_block",
    "register_allocation_unit_per_warp",
    "register_allocation_unit_per_block",
    "warp_allocation_granularity",
];

/// Fields besides [`OCCUPANCY`] that decide what is counted.
pub const COUNTED: &[&str] = &[
    "sm_count",
    "warp_size",
    "memory_type",
    "l2_size",
    "cache_line",
    "l2_slices",
    "l2_ways",
    "l2_fill",
    "l2_fill_time",
    "l2_replacement",
    "l2_distinct_share",
    "cta_schedule",
    "l1_size",
    "l1_ways",
    "l1_fill",
    "l1_replacement",
    "coalescing",
    "load_transactions",
    "store_transactions",
    "sector",
    "shared_banks",
    "shared_bank_width",
    "shared_bank_interleave",
    "shared_request",
    "shared_serving",
    "constant_request",
];

/// Fields of the ways of measuring ([`crate::Timing`]).
pub const TIMED: &[&str] = &[
    "launch_overhead",
    "launch_gap",
    "graph_launch_overhead",
    "graph_launch_gap",
    "event_overhead",
    "framework_overhead",
    "profiler_cycles_overhead",
    "profiler_duration_overhead",
    "sp_clock",
];

/// Fields that say what a long load leaves of the clock ([`crate::Sustained`]).
pub const UNDER_LOAD: &[&str] = &["sp_clock", "sustained_clock", "sustained_tensor_clock"];

/// Fields of the energy of a kernel and of the clock that `--power-limit` leaves
/// ([`crate::energy`]).
pub const ENERGY: &[&str] = &[
    "sp_clock",
    "sm_count",
    "power_limit",
    "idle_power",
    "idle_power_floor",
    "sm_power",
    "energy_clock",
    "voltage_floor",
    "voltage_floor_clock",
    "instruction_energy",
    "fp32_energy",
    "fp64_energy",
    "integer_energy",
    "special_energy",
    "tensor_energy",
    "shared_energy",
    "l1_energy",
    "l2_read_energy",
    "l2_write_energy",
    "dram_read_energy",
    "dram_write_energy",
];

/// Fields of the first level that several models share.
pub(crate) const FIRST_LEVEL: &[&str] = &[
    "compute_capability",
    "l1_bytes_rate",
    "load_store_rate",
    "shared_bytes_rate",
    "sm_count",
    "sp_clock",
];

/// Fields of the simulated SM ([`Gpu::sm_parameters`]).
pub(crate) const SIMULATED: &[&str] = &[
    "compute_capability",
    "sp_clock",
    "sm_count",
    "sub_partitions",
    "issue_width",
    "warp_scheduler",
    "fp32_rate",
    "fp32_pipes",
    "fp16_rate",
    "fp64_rate",
    "int_add_rate",
    "compare_rate",
    "shift_rate",
    "int_mul_rate",
    "wide_mul_rate",
    "special_rate",
    "conversion_rate",
    "wide_conversion_rate",
    "shuffle_rate",
    "load_store_rate",
    "texture_interval",
    "branch_interval",
    "uniform_interval",
    "arithmetic_latency",
    "fp64_latency",
    "special_latency",
    "shuffle_latency",
    "mma_sync_share",
    "tensor_latency",
    "texture_latency",
    "uniform_latency",
    "special_register_latency",
    "tensor_rate",
    "tensor_half_rate",
    "tensor_tf32_rate",
    "tensor_fp64_rate",
    "tensor_fp8_rate",
    "tensor_fp4_rate",
    "tensor_scaled_fp4_rate",
    "tensor_int8_rate",
    "tensor_int4_rate",
    "tensor_int1_rate",
    "tensor_queue",
    "tensor_memory_columns",
    "tensor_memory_latency",
    "tensor_pair_latency",
    "tensor_memory_read_rate",
    "tensor_memory_write_rate",
    "shared_bytes_rate",
    "shared_serving",
    "l1_bytes_rate",
    "memory_queue",
    "address_interval",
    "uniform_address_interval",
    "l1_tag_rate",
    "l1_tag_spread",
    "store_bytes_rate",
    "l1_latency",
    "shared_latency",
    "constant_latency",
    "constant_interval",
    "operand_latency",
    "shared_atomic_interval",
    "pending_accesses",
    "pending_sectors",
    "stored_sectors",
    "l2_latency",
    "l2_far_latency",
    "memory_latency",
    "l2_bandwidth",
    "l2_write_bandwidth",
    "l2_write_bytes_rate",
    "l2_partial_write_bytes_rate",
    "l2_reply_bytes_rate",
    "l2_request_rate",
    "peak_memory_bandwidth",
    "dram_efficiency",
    "dram_mixed_efficiency",
    "read_queueing_linear",
    "read_queueing_hyperbolic",
    "quarter_written_queueing_linear",
    "quarter_written_queueing_hyperbolic",
    "half_written_queueing_linear",
    "half_written_queueing_hyperbolic",
    "write_queueing_linear",
    "write_queueing_hyperbolic",
    "sector",
    "atomic_latency",
    "atomic_interval",
    "atomic_rate",
    "barrier_latency",
    "barrier_arrival_interval",
    "mbarrier_latency",
    "fence_cta_latency",
    "fence_gpu_latency",
    "fence_system_latency",
    "cta_launch_interval",
    "cta_replacement",
    "warp_launch_interval",
    "launch_start",
    "launch_end",
    "code_latency",
    "code_line_interval",
    "code_line",
    "code_cache_size",
    "constant_near_latency",
    "constant_far_latency",
    "constant_line",
    "constant_far_line",
];

/// The fields of the models that stand in for one another ([`crate::offload::OffloadModel`]).
pub(crate) const BY_ANY_MODEL: Fields = &[
    SIMULATED,
    OCCUPANCY,
    FIRST_LEVEL,
    &[
        "sp_throughput",
        "dp_throughput",
        "hp_throughput",
        "int_throughput",
        "int_add_throughput",
        "load_store_throughput",
        "tensor_throughput",
        "memory_bandwidth",
        "l1_bandwidth",
        "shared_banks",
        "shared_bank_width",
    ],
];

/// The fields of a GPU that a user changed and that are in none of some groups, nor anything that
/// follows from them.
pub(crate) fn unread<'a>(
    groups: &'a [&'static [&'static str]],
    gpu: &'a Gpu,
) -> impl Iterator<Item = &'static str> + 'a {
    // Another capability brings fields of its own, which no list of rules names.
    let is_read = |field: &str| field == "compute_capability" || reaches(field, groups);
    gpu.changed_fields().filter(move |field| !is_read(field))
}

/// Returns true if a field, or one that follows from it, is in one of some groups.
pub(crate) fn reaches(field: &str, groups: &[&[&str]]) -> bool {
    let reached = Gpu::fields_behind(field);
    reached.iter().any(|field| groups.iter().any(|group| group.contains(field)))
}
