//! Metrics that need time or counters of hardware: read from profilers' files, never computed.

use super::Nvprof::Metric;
use super::row::{is, measured};
use super::{Basis, Definition, Formula, Topic};

pub(super) const TOPIC: Topic = Topic {
    title: "Only measured",
    introduction: "These are understood in profilers' files and in metrics files; an execution on \
                   the CPU has no value for them.",
    definitions: DEFINITIONS,
};

#[rustfmt::skip]
const DEFINITIONS: &[Definition] = &[
    measured!("ipc", Metric("Executed IPC"), is!["smsp__inst_executed.avg.per_cycle_active"], "instruction/cycle",
        "instructions executed in a cycle"),
    measured!("issued_ipc", Metric("Issued IPC"), is!["smsp__inst_issued.avg.per_cycle_active"], "instruction/cycle",
        "instructions issued in a cycle"),
    measured!("sm_efficiency", Metric("Multiprocessor Activity"), is!["smsp__cycles_active.avg.pct_of_peak_sustained_elapsed"], "percent",
        "time in which an SM has at least one warp"),
    measured!("eligible_warps_per_cycle", Metric("Eligible Warps Per Active Cycle"), is!["smsp__warps_eligible.sum.per_cycle_active"], "warp/cycle",
        "warps that could issue in a cycle"),
    measured!("issue_slot_utilization", Metric("Issue Slot Utilization"), is!["smsp__issue_active.avg.pct_of_peak_sustained_active"], "percent",
        "issue slots that were used"),
    measured!("flop_sp_efficiency", Metric("FLOP Efficiency(Peak Single)"), SINGLE_EFFICIENCY, "percent",
        "single-precision operations, of those that the GPU could have done in the time"),
    measured!("inst_replay_overhead", Metric("Instruction Replay Overhead"), &[], "ratio",
        "replays of an executed instruction"),
    measured!("tex_cache_transactions", Metric("Unified Cache Transactions"), &[], "transaction",
        "read transactions of the unified or texture cache; the vendor's formula for Nsight Compute is a percentage of peak, not a count"),
    measured!("sysmem_read_transactions", Metric("System Memory Read Transactions"), is!["lts__t_sectors_aperture_sysmem_op_read.sum"], "transaction",
        "sectors read from the host's memory"),
    measured!("sysmem_write_transactions", Metric("System Memory Write Transactions"), is!["lts__t_sectors_aperture_sysmem_op_write.sum"], "transaction",
        "sectors written to the host's memory"),
];

const SINGLE_EFFICIENCY: &[Formula] = is![
    "smsp__sass_thread_inst_executed_ops_fadd_fmul_ffma_pred_on.avg.pct_of_peak_sustained_elapsed"
];
