//! The metrics that can be imported: nvprof's name, its unit, and what Nsight Compute calls it.
//!
//! The Nsight Compute formulas are the vendor's own, for compute capability 7.0 and later
//! (Nsight Compute CLI documentation, "nvprof Transition Guide, Metric Comparison"), except
//! where a comment says otherwise.

/// A sum of Nsight Compute metrics, each with the factor that it counts with.
pub type Formula = &'static [(&'static str, f64)];

/// One metric and its names.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MetricName {
    /// nvprof's name.
    pub nvprof: &'static str,
    /// The unit, singular.
    pub unit: &'static str,
    /// How to compute it from Nsight Compute's metrics: the first formula whose metrics are all
    /// there counts. Empty where Nsight Compute has no such metric.
    pub ncu: &'static [Formula],
}

/// The row of an nvprof metric.
#[must_use]
pub fn by_nvprof_name(name: &str) -> Option<&'static MetricName> {
    METRICS.iter().find(|metric| metric.nvprof == name)
}

/// Whether this nvprof metric counts something, so that no percentage can be its value.
#[must_use]
pub fn is_count(name: &str) -> bool {
    by_nvprof_name(name).is_some_and(|metric| metric.unit != "percent")
}

/// Whether any formula reads this Nsight Compute metric.
#[must_use]
pub fn is_ncu_name(name: &str) -> bool {
    METRICS
        .iter()
        .flat_map(|metric| metric.ncu)
        .flat_map(|formula| formula.iter())
        .any(|&(ncu, _)| ncu == name)
}

/// All metrics that can be imported.
pub const METRICS: &[MetricName] = &[
    MetricName {
        nvprof: "flop_count_sp",
        unit: "operation",
        ncu: &[&[
            ("smsp__sass_thread_inst_executed_op_fadd_pred_on.sum", 1.0),
            ("smsp__sass_thread_inst_executed_op_fmul_pred_on.sum", 1.0),
            ("smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", 2.0),
        ]],
    },
    MetricName {
        nvprof: "flop_count_sp_add",
        unit: "operation",
        ncu: &[&[("smsp__sass_thread_inst_executed_op_fadd_pred_on.sum", 1.0)]],
    },
    MetricName {
        nvprof: "flop_count_sp_mul",
        unit: "operation",
        ncu: &[&[("smsp__sass_thread_inst_executed_op_fmul_pred_on.sum", 1.0)]],
    },
    MetricName {
        nvprof: "flop_count_sp_fma",
        unit: "operation",
        ncu: &[&[("smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", 1.0)]],
    },
    MetricName { nvprof: "flop_count_sp_special", unit: "operation", ncu: &[] },
    MetricName {
        nvprof: "flop_count_dp",
        unit: "operation",
        ncu: &[&[
            ("smsp__sass_thread_inst_executed_op_dadd_pred_on.sum", 1.0),
            ("smsp__sass_thread_inst_executed_op_dmul_pred_on.sum", 1.0),
            ("smsp__sass_thread_inst_executed_op_dfma_pred_on.sum", 2.0),
        ]],
    },
    MetricName {
        nvprof: "flop_count_dp_add",
        unit: "operation",
        ncu: &[&[("smsp__sass_thread_inst_executed_op_dadd_pred_on.sum", 1.0)]],
    },
    MetricName {
        nvprof: "flop_count_dp_mul",
        unit: "operation",
        ncu: &[&[("smsp__sass_thread_inst_executed_op_dmul_pred_on.sum", 1.0)]],
    },
    MetricName {
        nvprof: "flop_count_dp_fma",
        unit: "operation",
        ncu: &[&[("smsp__sass_thread_inst_executed_op_dfma_pred_on.sum", 1.0)]],
    },
    MetricName {
        nvprof: "flop_count_hp",
        unit: "operation",
        ncu: &[&[
            ("smsp__sass_thread_inst_executed_op_hadd_pred_on.sum", 1.0),
            ("smsp__sass_thread_inst_executed_op_hmul_pred_on.sum", 1.0),
            ("smsp__sass_thread_inst_executed_op_hfma_pred_on.sum", 2.0),
        ]],
    },
    MetricName {
        nvprof: "flop_count_hp_add",
        unit: "operation",
        ncu: &[&[("smsp__sass_thread_inst_executed_op_hadd_pred_on.sum", 1.0)]],
    },
    MetricName {
        nvprof: "flop_count_hp_mul",
        unit: "operation",
        ncu: &[&[("smsp__sass_thread_inst_executed_op_hmul_pred_on.sum", 1.0)]],
    },
    MetricName {
        nvprof: "flop_count_hp_fma",
        unit: "operation",
        ncu: &[&[("smsp__sass_thread_inst_executed_op_hfma_pred_on.sum", 1.0)]],
    },
    MetricName {
        nvprof: "inst_executed",
        unit: "instruction",
        ncu: &[&[("smsp__inst_executed.sum", 1.0)], &[("sm__inst_executed.sum", 1.0)]],
    },
    MetricName {
        nvprof: "thread_inst_executed",
        unit: "instruction",
        ncu: &[
            &[("smsp__thread_inst_executed.sum", 1.0)],
            &[("sm__thread_inst_executed.sum", 1.0)],
        ],
    },
    MetricName {
        nvprof: "inst_issued",
        unit: "instruction",
        ncu: &[&[("smsp__inst_issued.sum", 1.0)], &[("sm__inst_issued.sum", 1.0)]],
    },
    MetricName {
        nvprof: "inst_per_warp",
        unit: "instruction/warp",
        ncu: &[&[("smsp__average_inst_executed_per_warp.ratio", 1.0)]],
    },
    MetricName {
        nvprof: "inst_fp_16",
        unit: "instruction",
        ncu: &[&[("smsp__sass_thread_inst_executed_op_fp16_pred_on.sum", 1.0)]],
    },
    MetricName {
        nvprof: "inst_fp_32",
        unit: "instruction",
        ncu: &[&[("smsp__sass_thread_inst_executed_op_fp32_pred_on.sum", 1.0)]],
    },
    MetricName {
        nvprof: "inst_fp_64",
        unit: "instruction",
        ncu: &[&[("smsp__sass_thread_inst_executed_op_fp64_pred_on.sum", 1.0)]],
    },
    MetricName {
        nvprof: "inst_integer",
        unit: "instruction",
        ncu: &[&[("smsp__sass_thread_inst_executed_op_integer_pred_on.sum", 1.0)]],
    },
    MetricName {
        nvprof: "inst_bit_convert",
        unit: "instruction",
        ncu: &[&[("smsp__sass_thread_inst_executed_op_conversion_pred_on.sum", 1.0)]],
    },
    MetricName {
        nvprof: "inst_control",
        unit: "instruction",
        ncu: &[&[("smsp__sass_thread_inst_executed_op_control_pred_on.sum", 1.0)]],
    },
    MetricName {
        nvprof: "inst_compute_ld_st",
        unit: "instruction",
        ncu: &[&[("smsp__sass_thread_inst_executed_op_memory_pred_on.sum", 1.0)]],
    },
    MetricName {
        nvprof: "inst_misc",
        unit: "instruction",
        ncu: &[&[("smsp__sass_thread_inst_executed_op_misc_pred_on.sum", 1.0)]],
    },
    MetricName {
        nvprof: "inst_inter_thread_communication",
        unit: "instruction",
        ncu: &[&[(
            "smsp__sass_thread_inst_executed_op_inter_thread_communication_pred_on.sum",
            1.0,
        )]],
    },
    MetricName { nvprof: "ldst_executed", unit: "instruction", ncu: &[] },
    MetricName { nvprof: "ldst_issued", unit: "instruction", ncu: &[] },
    MetricName {
        nvprof: "cf_executed",
        unit: "instruction",
        ncu: &[&[
            ("smsp__inst_executed_pipe_cbu.sum", 1.0),
            ("smsp__inst_executed_pipe_adu.sum", 1.0),
        ]],
    },
    MetricName { nvprof: "cf_issued", unit: "instruction", ncu: &[] },
    MetricName { nvprof: "issue_slots", unit: "slot", ncu: &[&[("smsp__inst_issued.sum", 1.0)]] },
    MetricName {
        nvprof: "inst_executed_global_loads",
        unit: "instruction",
        ncu: &[&[("smsp__inst_executed_op_global_ld.sum", 1.0)]],
    },
    MetricName {
        nvprof: "inst_executed_global_stores",
        unit: "instruction",
        ncu: &[&[("smsp__inst_executed_op_global_st.sum", 1.0)]],
    },
    MetricName {
        nvprof: "inst_executed_local_loads",
        unit: "instruction",
        ncu: &[&[("smsp__inst_executed_op_local_ld.sum", 1.0)]],
    },
    MetricName {
        nvprof: "inst_executed_local_stores",
        unit: "instruction",
        ncu: &[&[("smsp__inst_executed_op_local_st.sum", 1.0)]],
    },
    MetricName {
        nvprof: "inst_executed_shared_loads",
        unit: "instruction",
        ncu: &[&[("smsp__inst_executed_op_shared_ld.sum", 1.0)]],
    },
    MetricName {
        nvprof: "inst_executed_shared_stores",
        unit: "instruction",
        ncu: &[&[("smsp__inst_executed_op_shared_st.sum", 1.0)]],
    },
    MetricName {
        nvprof: "inst_executed_global_atomics",
        unit: "instruction",
        ncu: &[&[("smsp__sass_inst_executed_op_global_atom.sum", 1.0)]],
    },
    MetricName {
        nvprof: "inst_executed_global_reductions",
        unit: "instruction",
        ncu: &[&[("smsp__inst_executed_op_global_red.sum", 1.0)]],
    },
    MetricName {
        nvprof: "inst_executed_shared_atomics",
        unit: "instruction",
        ncu: &[&[
            ("smsp__inst_executed_op_shared_atom.sum", 1.0),
            ("smsp__inst_executed_op_shared_atom_dot_alu.sum", 1.0),
            ("smsp__inst_executed_op_shared_atom_dot_cas.sum", 1.0),
        ]],
    },
    MetricName {
        nvprof: "inst_executed_tex_ops",
        unit: "instruction",
        ncu: &[&[("smsp__inst_executed_op_texture.sum", 1.0)]],
    },
    MetricName {
        nvprof: "inst_executed_pipe_tensor",
        unit: "instruction",
        ncu: &[&[("smsp__inst_executed_pipe_tensor.sum", 1.0)]],
    },
    MetricName {
        nvprof: "global_load_requests",
        unit: "request",
        ncu: &[&[("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", 1.0)]],
    },
    MetricName {
        nvprof: "global_store_requests",
        unit: "request",
        ncu: &[&[("l1tex__t_requests_pipe_lsu_mem_global_op_st.sum", 1.0)]],
    },
    MetricName {
        nvprof: "gld_transactions",
        unit: "transaction",
        ncu: &[&[("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", 1.0)]],
    },
    // The vendor's table names the bytes metric here, which counts no transactions.
    MetricName {
        nvprof: "gst_transactions",
        unit: "transaction",
        ncu: &[&[("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", 1.0)]],
    },
    MetricName {
        nvprof: "gld_transactions_per_request",
        unit: "transaction/request",
        ncu: &[&[("l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio", 1.0)]],
    },
    MetricName {
        nvprof: "gst_transactions_per_request",
        unit: "transaction/request",
        ncu: &[&[("l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio", 1.0)]],
    },
    MetricName {
        nvprof: "gld_efficiency",
        unit: "percent",
        ncu: &[&[("smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct", 1.0)]],
    },
    MetricName {
        nvprof: "gst_efficiency",
        unit: "percent",
        ncu: &[&[("smsp__sass_average_data_bytes_per_sector_mem_global_op_st.pct", 1.0)]],
    },
    MetricName {
        nvprof: "shared_load_transactions",
        unit: "transaction",
        ncu: &[&[("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", 1.0)]],
    },
    MetricName {
        nvprof: "shared_store_transactions",
        unit: "transaction",
        ncu: &[&[("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum", 1.0)]],
    },
    MetricName {
        nvprof: "shared_load_transactions_per_request",
        unit: "transaction/request",
        ncu: &[],
    },
    MetricName {
        nvprof: "shared_store_transactions_per_request",
        unit: "transaction/request",
        ncu: &[],
    },
    MetricName {
        nvprof: "shared_efficiency",
        unit: "percent",
        ncu: &[&[("smsp__sass_average_data_bytes_per_wavefront_mem_shared.pct", 1.0)]],
    },
    MetricName {
        nvprof: "local_load_transactions",
        unit: "transaction",
        ncu: &[&[("l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum", 1.0)]],
    },
    MetricName {
        nvprof: "local_store_transactions",
        unit: "transaction",
        ncu: &[&[("l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum", 1.0)]],
    },
    // The vendor's formula is a percentage of peak, not a count.
    MetricName { nvprof: "tex_cache_transactions", unit: "transaction", ncu: &[] },
    MetricName {
        nvprof: "tex_cache_hit_rate",
        unit: "percent",
        ncu: &[&[("l1tex__t_sector_hit_rate.pct", 1.0)]],
    },
    // The vendor's formula is a template over the operation.
    MetricName { nvprof: "global_hit_rate", unit: "percent", ncu: &[] },
    MetricName {
        nvprof: "l2_read_transactions",
        unit: "transaction",
        ncu: &[&[("lts__t_sectors_op_read.sum", 1.0)]],
    },
    MetricName {
        nvprof: "l2_write_transactions",
        unit: "transaction",
        ncu: &[&[("lts__t_sectors_op_write.sum", 1.0)]],
    },
    MetricName {
        nvprof: "l2_tex_read_transactions",
        unit: "transaction",
        ncu: &[&[("lts__t_sectors_srcunit_tex_op_read.sum", 1.0)]],
    },
    // The vendor's table repeats the read metric here.
    MetricName {
        nvprof: "l2_tex_write_transactions",
        unit: "transaction",
        ncu: &[&[("lts__t_sectors_srcunit_tex_op_write.sum", 1.0)]],
    },
    MetricName {
        nvprof: "l2_tex_hit_rate",
        unit: "percent",
        ncu: &[&[("lts__t_sector_hit_rate.pct", 1.0)]],
    },
    MetricName { nvprof: "l2_l1_read_transactions", unit: "transaction", ncu: &[] },
    MetricName {
        nvprof: "dram_read_transactions",
        unit: "transaction",
        ncu: &[&[("dram__sectors_read.sum", 1.0)]],
    },
    MetricName {
        nvprof: "dram_write_transactions",
        unit: "transaction",
        ncu: &[&[("dram__sectors_write.sum", 1.0)]],
    },
    MetricName {
        nvprof: "dram_read_bytes",
        unit: "byte",
        ncu: &[&[("dram__bytes_read.sum", 1.0)]],
    },
    MetricName {
        nvprof: "dram_write_bytes",
        unit: "byte",
        ncu: &[&[("dram__bytes_write.sum", 1.0)]],
    },
    MetricName {
        nvprof: "atomic_transactions",
        unit: "transaction",
        ncu: &[&[
            ("l1tex__t_set_accesses_pipe_lsu_mem_global_op_atom.sum", 1.0),
            ("l1tex__t_set_accesses_pipe_lsu_mem_global_op_red.sum", 1.0),
        ]],
    },
    MetricName {
        nvprof: "l2_atomic_transactions",
        unit: "transaction",
        ncu: &[&[("lts__t_sectors_srcunit_l1_op_atom.sum", 1.0)]],
    },
    // A ratio of 32 lanes is 100 percent.
    MetricName {
        nvprof: "warp_execution_efficiency",
        unit: "percent",
        ncu: &[
            &[("smsp__thread_inst_executed_per_inst_executed.pct", 1.0)],
            &[("smsp__thread_inst_executed_per_inst_executed.ratio", 3.125)],
        ],
    },
    // The vendor's table names the metric without `pred_on`, which ignores predicates.
    MetricName {
        nvprof: "warp_nonpred_execution_efficiency",
        unit: "percent",
        ncu: &[
            &[("smsp__thread_inst_executed_pred_on_per_inst_executed.pct", 1.0)],
            &[("smsp__thread_inst_executed_pred_on_per_inst_executed.ratio", 3.125)],
        ],
    },
    MetricName { nvprof: "branch_efficiency", unit: "percent", ncu: &[] },
    // Nvprof prints a fraction, Nsight Compute a percentage.
    MetricName {
        nvprof: "achieved_occupancy",
        unit: "ratio",
        ncu: &[&[("sm__warps_active.avg.pct_of_peak_sustained_active", 0.01)]],
    },
    MetricName {
        nvprof: "ipc",
        unit: "instruction/cycle",
        ncu: &[&[("smsp__inst_executed.avg.per_cycle_active", 1.0)]],
    },
    MetricName {
        nvprof: "issued_ipc",
        unit: "instruction/cycle",
        ncu: &[&[("smsp__inst_issued.avg.per_cycle_active", 1.0)]],
    },
    MetricName {
        nvprof: "sm_efficiency",
        unit: "percent",
        ncu: &[&[("smsp__cycles_active.avg.pct_of_peak_sustained_elapsed", 1.0)]],
    },
    MetricName {
        nvprof: "eligible_warps_per_cycle",
        unit: "warp/cycle",
        ncu: &[&[("smsp__warps_eligible.sum.per_cycle_active", 1.0)]],
    },
    MetricName {
        nvprof: "issue_slot_utilization",
        unit: "percent",
        ncu: &[&[("smsp__issue_active.avg.pct_of_peak_sustained_active", 1.0)]],
    },
    MetricName {
        nvprof: "flop_sp_efficiency",
        unit: "percent",
        ncu: &[&[(
            "smsp__sass_thread_inst_executed_ops_fadd_fmul_ffma_pred_on.avg.pct_of_peak_sustained_elapsed",
            1.0,
        )]],
    },
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_metric_stands_twice_in_the_table() {
        let names: BTreeSet<_> = METRICS.iter().map(|metric| metric.nvprof).collect();
        assert_eq!(names.len(), METRICS.len());
    }

    #[test]
    fn what_the_thesis_needs_can_be_read_from_nsight_compute() {
        // Konstantinidis 2017, table 4.1.
        for name in [
            "flop_count_sp_fma",
            "flop_count_dp_fma",
            "inst_compute_ld_st",
            "inst_executed",
            "inst_fp_32",
            "inst_fp_64",
            "inst_integer",
            "dram_read_transactions",
            "dram_write_transactions",
        ] {
            let metric = by_nvprof_name(name).unwrap_or_else(|| panic!("{name} is missing"));
            assert!(!metric.ncu.is_empty(), "{name}");
        }
    }
}
