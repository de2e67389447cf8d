//! Nsight Compute's sections and sets, as far as their metrics follow from a prediction.
//!
//! Identifiers, names, labels and the order are those of the section files that come with Nsight
//! Compute 2025.

/// A labelled metric of a section.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    /// The label on the details page.
    pub(super) label: &'static str,
    /// The metric.
    pub(super) metric: &'static str,
}

/// Rows that `--print-details all` shows below a section's own.
#[derive(Clone, Copy, Debug)]
pub(super) struct Body {
    /// The name of the table.
    pub(super) name: &'static str,
    pub(super) rows: &'static [Row],
}

/// A section.
#[derive(Clone, Copy, Debug)]
pub struct Section {
    /// The name on the command line.
    pub identifier: &'static str,
    /// The name on the details page.
    pub name: &'static str,
    pub(super) header: &'static [Row],
    pub(super) body: &'static [Body],
}

impl Section {
    /// The metrics that it shows.
    pub fn metrics(&self) -> impl Iterator<Item = &'static str> {
        let body = self.body.iter().flat_map(|table| table.rows);
        self.header.iter().chain(body).map(|row| row.metric)
    }
}

/// A set of sections.
#[derive(Clone, Copy, Debug)]
pub struct SectionSet {
    /// The name on the command line.
    pub name: &'static str,
    /// Identifiers of its sections.
    pub sections: &'static [&'static str],
}

/// The set that is collected unless another one, a section or a metric is asked for.
pub const DEFAULT_SET: &str = "basic";

/// The sets.
pub const SETS: &[SectionSet] = &[
    SectionSet {
        name: "basic",
        sections: &["LaunchStats", "Occupancy", "SpeedOfLight", "WorkloadDistribution"],
    },
    SectionSet {
        name: "detailed",
        sections: &[
            "ComputeWorkloadAnalysis",
            "LaunchStats",
            "MemoryWorkloadAnalysis",
            "Occupancy",
            "SourceCounters",
            "SpeedOfLight",
            "SpeedOfLight_RooflineChart",
            "WorkloadDistribution",
        ],
    },
    SectionSet {
        name: "full",
        sections: &[
            "ComputeWorkloadAnalysis",
            "InstructionStats",
            "LaunchStats",
            "MemoryWorkloadAnalysis",
            "MemoryWorkloadAnalysis_Tables",
            "Occupancy",
            "SchedulerStats",
            "SourceCounters",
            "SpeedOfLight",
            "SpeedOfLight_RooflineChart",
            "WarpStateStats",
            "WorkloadDistribution",
        ],
    },
    SectionSet {
        name: "roofline",
        sections: &["SpeedOfLight", "SpeedOfLight_RooflineChart", "WorkloadDistribution"],
    },
];

/// Sections of Nsight Compute that nothing is known of here: of hardware beside the kernel, or of
/// samples over time. The charts show what other sections list.
pub const OTHERS: &[&str] = &[
    "C2CLink",
    "MemoryWorkloadAnalysis_Chart",
    "NumaAffinity",
    "Nvlink",
    "Nvlink_Tables",
    "Nvlink_Topology",
    "PmSampling",
    "PmSampling_WarpStates",
    "SpeedOfLight_HierarchicalDoubleRooflineChart",
    "SpeedOfLight_HierarchicalHalfRooflineChart",
    "SpeedOfLight_HierarchicalSingleRooflineChart",
    "SpeedOfLight_HierarchicalTensorRooflineChart",
    "Tile",
];

/// The section of an identifier, or of a name on the details page.
#[must_use]
pub fn section(identifier: &str) -> Option<&'static Section> {
    SECTIONS.iter().find(|section| section.identifier == identifier || section.name == identifier)
}

/// The set of a name.
#[must_use]
pub fn set(name: &str) -> Option<&'static SectionSet> {
    SETS.iter().find(|set| set.name == name)
}

/// Rows of a table.
macro_rules! rows {
    ($($label:literal = $metric:expr),* $(,)?) => {
        &[$(Row { label: $label, metric: $metric }),*]
    };
}

/// Rows of a stall reason each.
macro_rules! stalls {
    ($($label:literal = $reason:literal),* $(,)?) => {
        rows![$($label = concat!(
            "smsp__average_warps_issue_stalled_",
            $reason,
            "_per_issue_active.ratio"
        )),*]
    };
}

/// Rows of the use of a pipe each.
macro_rules! pipes {
    ($($label:literal = $pipe:literal),* $(,)?) => {
        rows![$($label = concat!(
            "sm__inst_executed_pipe_",
            $pipe,
            ".avg.pct_of_peak_sustained_active"
        )),*]
    };
}

/// The sections, in the order of the details page.
#[rustfmt::skip]
pub const SECTIONS: &[Section] = &[
    Section {
        identifier: "SpeedOfLight",
        name: "GPU Speed Of Light Throughput",
        header: rows![
            "DRAM Frequency" = "dram__cycles_elapsed.avg.per_second",
            "SM Frequency" = "smsp__cycles_elapsed.avg.per_second",
            "Elapsed Cycles" = "gpc__cycles_elapsed.max",
            "Memory Throughput" = "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
            "DRAM Throughput" = "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
            "Duration" = "gpu__time_duration.sum",
            "L1/TEX Cache Throughput" = "l1tex__throughput.avg.pct_of_peak_sustained_active",
            "L2 Cache Throughput" = "lts__throughput.avg.pct_of_peak_sustained_elapsed",
            "SM Active Cycles" = "sm__cycles_active.avg",
            "Compute (SM) Throughput" = "sm__throughput.avg.pct_of_peak_sustained_elapsed",
        ],
        body: &[],
    },
    Section {
        identifier: "SpeedOfLight_RooflineChart",
        name: "GPU Speed Of Light Roofline Chart",
        header: &[],
        body: &[Body {
            name: "Floating Point Operations",
            rows: rows![
                "FADD Per Cycle" = "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum.per_cycle_elapsed",
                "FMUL Per Cycle" = "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum.per_cycle_elapsed",
                "FFMA Per Cycle" = "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum.per_cycle_elapsed",
                "DADD Per Cycle" = "smsp__sass_thread_inst_executed_op_dadd_pred_on.sum.per_cycle_elapsed",
                "DMUL Per Cycle" = "smsp__sass_thread_inst_executed_op_dmul_pred_on.sum.per_cycle_elapsed",
                "DFMA Per Cycle" = "smsp__sass_thread_inst_executed_op_dfma_pred_on.sum.per_cycle_elapsed",
                "DRAM Bandwidth" = "dram__bytes.sum.per_second",
            ],
        }],
    },
    Section {
        identifier: "ComputeWorkloadAnalysis",
        name: "Compute Workload Analysis",
        header: rows![
            "Executed Ipc Active" = "sm__inst_executed.avg.per_cycle_active",
            "Executed Ipc Elapsed" = "sm__inst_executed.avg.per_cycle_elapsed",
            "Issue Slots Busy" = "sm__inst_issued.avg.pct_of_peak_sustained_active",
            "Issued Ipc Active" = "sm__inst_issued.avg.per_cycle_active",
            "SM Busy" = "sm__instruction_throughput.avg.pct_of_peak_sustained_active",
        ],
        body: &[Body {
            name: "Pipe Utilization (% of active cycles)",
            rows: pipes![
                "ALU" = "alu", "FMA" = "fma", "FP16" = "fp16", "FP64" = "fp64", "LSU" = "lsu",
                "TEX" = "tex", "XU" = "xu", "CBU" = "cbu", "Uniform" = "uniform",
                "Tensor" = "tensor",
            ],
        }],
    },
    Section {
        identifier: "MemoryWorkloadAnalysis",
        name: "Memory Workload Analysis",
        header: rows![
            "Memory Throughput" = "dram__bytes.sum.per_second",
            "Mem Busy" = "gpu__compute_memory_access_throughput.avg.pct_of_peak_sustained_elapsed",
            "Max Bandwidth" = "gpu__compute_memory_request_throughput.avg.pct_of_peak_sustained_elapsed",
            "L1/TEX Hit Rate" = "l1tex__t_sector_hit_rate.pct",
            "L2 Hit Rate" = "lts__t_sector_hit_rate.pct",
            "Mem Pipes Busy" = "sm__memory_throughput.avg.pct_of_peak_sustained_elapsed",
        ],
        body: &[],
    },
    Section {
        identifier: "MemoryWorkloadAnalysis_Tables",
        name: "Memory Workload Analysis Tables",
        header: &[],
        body: &[
            Body {
                name: "Shared Memory",
                rows: rows![
                    "Shared Load Instructions" = "smsp__inst_executed_op_shared_ld.sum",
                    "Shared Load Wavefronts" = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
                    "Shared Load Bank Conflicts" = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
                    "Shared Store Instructions" = "smsp__inst_executed_op_shared_st.sum",
                    "Shared Store Wavefronts" = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
                    "Shared Store Bank Conflicts" = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
                    "Shared Atomic Wavefronts" = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum",
                ],
            },
            Body {
                name: "L1/TEX Cache",
                rows: rows![
                    "Global Load Instructions" = "smsp__inst_executed_op_global_ld.sum",
                    "Global Load Requests" = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
                    "Global Load Sectors" = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
                    "Global Load Sectors/Req" = "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio",
                    "Global Load Data Per Sector" = "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct",
                    "Global Store Instructions" = "smsp__inst_executed_op_global_st.sum",
                    "Global Store Requests" = "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
                    "Global Store Sectors" = "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
                    "Global Store Sectors/Req" = "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio",
                    "Global Store Data Per Sector" = "smsp__sass_average_data_bytes_per_sector_mem_global_op_st.pct",
                    "Local Load Requests" = "l1tex__t_requests_pipe_lsu_mem_local_op_ld.sum",
                    "Local Load Sectors" = "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum",
                    "Local Store Requests" = "l1tex__t_requests_pipe_lsu_mem_local_op_st.sum",
                    "Local Store Sectors" = "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum",
                    "Texture Requests" = "l1tex__t_requests_pipe_tex_mem_texture.sum",
                    "Texture Sectors" = "l1tex__t_sectors_pipe_tex_mem_texture.sum",
                ],
            },
            Body {
                name: "L2 Cache",
                rows: rows![
                    "L2 Read Sectors" = "lts__t_sectors_op_read.sum",
                    "L2 Read Hit Rate" = "lts__t_sector_op_read_hit_rate.pct",
                    "L2 Write Sectors" = "lts__t_sectors_op_write.sum",
                    "L2 Write Hit Rate" = "lts__t_sector_op_write_hit_rate.pct",
                    "L2 Sectors" = "lts__t_sectors_srcunit_tex.sum",
                ],
            },
            Body {
                name: "Device Memory",
                rows: rows![
                    "Load Sectors" = "dram__sectors_read.sum",
                    "Load Bytes" = "dram__bytes_read.sum",
                    "Load % Peak" = "dram__bytes_read.sum.pct_of_peak_sustained_elapsed",
                    "Store Sectors" = "dram__sectors_write.sum",
                    "Store Bytes" = "dram__bytes_write.sum",
                    "Store % Peak" = "dram__bytes_write.sum.pct_of_peak_sustained_elapsed",
                ],
            },
        ],
    },
    Section {
        identifier: "SchedulerStats",
        name: "Scheduler Statistics",
        header: rows![
            "One or More Eligible" = "smsp__issue_active.avg.pct_of_peak_sustained_active",
            "Issued Warp Per Scheduler" = "smsp__issue_active.avg.per_cycle_active",
            "No Eligible" = "smsp__issue_inst0.avg.pct_of_peak_sustained_active",
            "Active Warps Per Scheduler" = "smsp__warps_active.avg.per_cycle_active",
            "Eligible Warps Per Scheduler" = "smsp__warps_eligible.avg.per_cycle_active",
        ],
        body: &[],
    },
    Section {
        identifier: "WarpStateStats",
        name: "Warp State Statistics",
        header: rows![
            "Warp Cycles Per Issued Instruction" = "smsp__average_warp_latency_per_inst_issued.ratio",
            "Warp Cycles Per Executed Instruction" = "smsp__average_warps_active_per_inst_executed.ratio",
            "Avg. Active Threads Per Warp" = "smsp__thread_inst_executed_per_inst_executed.ratio",
            "Avg. Not Predicated Off Threads Per Warp" = "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio",
        ],
        body: &[Body {
            name: "Warp State (All Cycles)",
            rows: stalls![
                "Stall Barrier" = "barrier", "Stall Branch Resolving" = "branch_resolving",
                "Stall Dispatch Stall" = "dispatch_stall", "Stall Drain" = "drain",
                "Stall GMMA" = "gmma", "Stall IMC Miss" = "imc_miss",
                "Stall LG Throttle" = "lg_throttle", "Stall Long Scoreboard" = "long_scoreboard",
                "Stall Math Pipe Throttle" = "math_pipe_throttle", "Stall Membar" = "membar",
                "Stall MIO Throttle" = "mio_throttle", "Stall Misc" = "misc",
                "Stall No Instruction" = "no_instruction", "Stall Not Selected" = "not_selected",
                "Selected" = "selected", "Stall Short Scoreboard" = "short_scoreboard",
                "Stall Sleeping" = "sleeping", "Stall Tex Throttle" = "tex_throttle",
                "Stall Wait" = "wait",
            ],
        }],
    },
    Section {
        identifier: "InstructionStats",
        name: "Instruction Statistics",
        header: rows![
            "Avg. Executed Instructions Per Scheduler" = "smsp__inst_executed.avg",
            "Executed Instructions" = "smsp__inst_executed.sum",
            "Avg. Issued Instructions Per Scheduler" = "smsp__inst_issued.avg",
            "Issued Instructions" = "smsp__inst_issued.sum",
        ],
        body: &[],
    },
    Section {
        identifier: "LaunchStats",
        name: "Launch Statistics",
        header: rows![
            "Block Size" = "launch__block_size",
            "Cluster Size" = "launch__cluster_size",
            "Function Cache Configuration" = "launch__func_cache_config",
            "Grid Size" = "launch__grid_size",
            "Registers Per Thread" = "launch__registers_per_thread",
            "Shared Memory Configuration Size" = "launch__shared_mem_config_size",
            "Driver Shared Memory Per Block" = "launch__shared_mem_per_block_driver",
            "Dynamic Shared Memory Per Block" = "launch__shared_mem_per_block_dynamic",
            "Static Shared Memory Per Block" = "launch__shared_mem_per_block_static",
            "# SMs" = "launch__sm_count",
            "Stack Size" = "launch__stack_size",
            "Threads" = "launch__thread_count",
            "Uses Green Context" = "launch__uses_green_context",
            "Waves Per SM" = "launch__waves_per_multiprocessor",
        ],
        body: &[],
    },
    Section {
        identifier: "Occupancy",
        name: "Occupancy",
        header: rows![
            "Block Limit SM" = "launch__occupancy_limit_blocks",
            "Block Limit Registers" = "launch__occupancy_limit_registers",
            "Block Limit Shared Mem" = "launch__occupancy_limit_shared_mem",
            "Block Limit Warps" = "launch__occupancy_limit_warps",
            "Theoretical Active Warps per SM" = "sm__maximum_warps_avg_per_active_cycle",
            "Theoretical Occupancy" = "sm__maximum_warps_per_active_cycle_pct",
            "Achieved Occupancy" = "sm__warps_active.avg.pct_of_peak_sustained_active",
            "Achieved Active Warps Per SM" = "sm__warps_active.avg.per_cycle_active",
        ],
        body: &[],
    },
    Section {
        identifier: "WorkloadDistribution",
        name: "GPU and Memory Workload Distribution",
        header: rows![
            "Average DRAM Active Cycles" = "dram__cycles_active.avg",
            "Total DRAM Elapsed Cycles" = "dram__cycles_elapsed.sum",
            "Average L1 Active Cycles" = "l1tex__cycles_active.avg",
            "Total L1 Elapsed Cycles" = "l1tex__cycles_elapsed.sum",
            "Average L2 Active Cycles" = "lts__cycles_active.avg",
            "Total L2 Elapsed Cycles" = "lts__cycles_elapsed.sum",
            "Average SM Active Cycles" = "sm__cycles_active.avg",
            "Total SM Elapsed Cycles" = "sm__cycles_elapsed.sum",
            "Average SMSP Active Cycles" = "smsp__cycles_active.avg",
            "Total SMSP Elapsed Cycles" = "smsp__cycles_elapsed.sum",
        ],
        body: &[],
    },
    Section {
        identifier: "SourceCounters",
        name: "Source Counters",
        header: rows![
            "Branch Instructions Ratio" = "derived__smsp__inst_executed_op_branch_pct",
            "Branch Instructions" = "smsp__inst_executed_op_branch.sum",
            "Branch Efficiency" = "smsp__sass_average_branch_targets_threads_uniform.pct",
            "Avg. Divergent Branches" = "smsp__sass_branch_targets_threads_divergent.avg",
        ],
        body: &[],
    },
];
