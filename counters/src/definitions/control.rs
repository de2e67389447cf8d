//! Branches, divergence, predication and barriers.

use gpucast_ptx_frontend::isa::Opcode;

use super::Nvprof::{Event, Metric, Unknown};
use super::row::{count, is, quotient};
use super::{Basis, Definition, Formula, Topic};

pub(super) const TOPIC: Topic = Topic {
    title: "Control flow",
    introduction: "Branches and their divergence are those of the PTX: the assembler turns short \
                   ones into predicated instructions, which no longer branch.",
    definitions: DEFINITIONS,
};

#[rustfmt::skip]
const DEFINITIONS: &[Definition] = &[
    count!("branch", Event, &[], "instruction", Branches, |t| t.branches(),
        "branch instructions executed by warps, conditional or not").read_as(is!["smsp__inst_executed_op_branch.sum"]),
    count!("divergent_branch", Event, is!["smsp__sass_branch_targets_threads_divergent.sum", "sm__sass_branch_targets_threads_divergent.sum"], "instruction", Branches, |t| t.divergent_branches(),
        "branch instructions whose threads went different ways"),
    quotient!("branch_efficiency", Metric("Branch Efficiency"), is!["smsp__sass_average_branch_targets_threads_uniform.pct", "sm__sass_average_branch_targets_threads_uniform.pct"], "percent", Branches, 100.0, |t| (t.branches() - t.divergent_branches().min(t.branches()), t.branches()),
        "branches whose threads all went the same way, of all branches"),
    quotient!("warp_execution_efficiency", Metric("Warp Execution Efficiency"), ACTIVE, "percent", Instructions, 100.0, |t| (t.issued_lanes(), 32 * t.warp_executions()),
        "mean active threads of an executed instruction, predicated off or not, of the 32 of a warp"),
    quotient!("warp_nonpred_execution_efficiency", Metric("Warp Non-Predicated Execution Efficiency"), NOT_PREDICATED_OFF, "percent", Instructions, 100.0, |t| (t.thread_executions(), 32 * t.warp_executions()),
        "mean threads of an executed instruction that are active and not predicated off, of the 32 of a warp"),
    count!("ptx_barriers", Unknown, &[], "instruction", Execution, |t| t.opcodes(&[Opcode::Bar, Opcode::Barrier]),
        "barriers of a CTA (bar, barrier) executed by warps, whether they wait or only arrive"),
    count!("ptx_warp_barriers", Unknown, &[], "instruction", Execution, |t| t.opcodes(&[Opcode::BarWarp]),
        "barriers of the threads of a warp (bar.warp.sync) executed by warps"),
    count!("ptx_cluster_barriers", Unknown, &[], "instruction", Execution, |t| t.opcodes(&[Opcode::BarrierCluster]),
        "barriers of a cluster (barrier.cluster) executed by warps"),
];

/// A ratio of 32 lanes is 100 percent.
const ACTIVE: &[Formula] = &[
    &[("smsp__thread_inst_executed_per_inst_executed.pct", 1.0)],
    &[("smsp__thread_inst_executed_per_inst_executed.ratio", 3.125)],
];

/// The vendor's table names the metric without `pred_on`, which ignores predicates.
const NOT_PREDICATED_OFF: &[Formula] = &[
    &[("smsp__thread_inst_executed_pred_on_per_inst_executed.pct", 1.0)],
    &[("smsp__thread_inst_executed_pred_on_per_inst_executed.ratio", 3.125)],
];
