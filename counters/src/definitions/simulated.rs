//! Metrics that a simulation of an SM, the machine code or the launch gives, not the counts alone.
//!
//! `gpucast ncu` computes them; files of profilers have them, too.

use super::Nvprof::{Event, Metric, Unknown};
use super::row::{is, later};
use super::{Basis, Definition, Topic};

pub(super) const TOPIC: Topic = Topic {
    title: "Profiled programs",
    introduction: "These are computed by `gpucast ncu`: times, uses of units and stalls come from \
                   the simulation of an SM, the others from machine code and the launch. \
                   `gpucast profile` has no value for them.",
    definitions: DEFINITIONS,
};

/// The share of a stall reason in the cycles of warps.
macro_rules! stall {
    ($reason:literal, $meaning:literal) => {
        later!(
            concat!("stall_", $reason),
            Unknown,
            is![concat!("smsp__warp_issue_stalled_", $reason, "_per_warp_active.pct")],
            "percent",
            Simulation,
            concat!("cycles of warps in which one waits ", $meaning)
        )
    };
}

/// The same over the instructions that are issued.
macro_rules! stalled {
    ($reason:literal, $meaning:literal) => {
        later!(
            concat!("stalled_warps_", $reason),
            Unknown,
            is![
                concat!("smsp__average_warps_issue_stalled_", $reason, "_per_issue_active.ratio"),
                concat!("smsp__average_warp_latency_issue_stalled_", $reason, ".ratio"),
            ],
            "instruction",
            Simulation,
            concat!("warps that wait, for each that issues: ", $meaning)
        )
    };
}

#[rustfmt::skip]
const DEFINITIONS: &[Definition] = &[
    later!("gpu_time", Unknown, is!["gpu__time_duration.sum"], "nanosecond", Simulation, "time of the launch as the profiler shows it: the predicted one, with what the profiler adds"),
    later!("elapsed_cycles_sm", Event, is!["gpc__cycles_elapsed.max", "sm__cycles_elapsed.max", "smsp__cycles_elapsed.max", "l1tex__cycles_elapsed.max"], "cycle", Simulation, "cycles of an SM from the launch's begin to its end"),
    later!("active_cycles", Event, is!["sm__cycles_active.avg", "smsp__cycles_active.avg", "l1tex__cycles_active.avg"], "cycle", Simulation, "cycles in which an SM has a warp, as a mean over SMs: one with fewer CTAs is active as much less"),
    later!("dram_elapsed_cycles", Unknown, is!["dram__cycles_elapsed.avg"], "cycle", Simulation, "cycles of the device memory; two transfers each, so that they follow from its bandwidth and the width of its bus"),
    later!("dram_active_cycles", Unknown, is!["dram__cycles_active.avg"], "cycle", Simulation, "cycles in which the device memory transfers data"),
    later!("active_warps", Event, is!["sm__warps_active.sum", "smsp__warps_active.sum"], "warp", Simulation, "warps that SMs hold, added up over their active cycles"),
    later!("eligible_warps", Unknown, is!["smsp__warps_eligible.sum"], "warp", Simulation, "warps that could issue, added up over active cycles"),
    later!("issue_active_cycles", Unknown, is!["smsp__issue_active.sum", "smsp__issue_inst1.sum"], "cycle", Simulation, "cycles in which schedulers issue an instruction"),
    later!("issue_idle_cycles", Unknown, is!["smsp__issue_inst0.sum"], "cycle", Simulation, "active cycles in which schedulers issue none"),
    later!("ipc", Metric("Executed IPC"), is!["smsp__inst_executed.avg.per_cycle_active"], "instruction/cycle", Simulation, "instructions that a scheduler executes in an active cycle"),
    later!("issued_ipc", Metric("Issued IPC"), is!["smsp__inst_issued.avg.per_cycle_active"], "instruction/cycle", Simulation, "instructions that a scheduler issues in an active cycle"),
    later!("sm_efficiency", Metric("Multiprocessor Activity"), is!["smsp__cycles_active.avg.pct_of_peak_sustained_elapsed"], "percent", Simulation, "time in which an SM has at least one warp"),
    later!("eligible_warps_per_cycle", Metric("Eligible Warps Per Active Cycle"), is!["smsp__warps_eligible.sum.per_cycle_active"], "warp/cycle", Simulation, "warps that could issue in a cycle"),
    later!("issue_slot_utilization", Metric("Issue Slot Utilization"), is!["smsp__issue_active.avg.pct_of_peak_sustained_active"], "percent", Simulation, "issue slots that were used"),
    later!("flop_sp_efficiency", Metric("FLOP Efficiency(Peak Single)"), is!["smsp__sass_thread_inst_executed_ops_fadd_fmul_ffma_pred_on.avg.pct_of_peak_sustained_elapsed"], "percent", Simulation, "single-precision operations, of those that the GPU could have done in the time"),
    later!("warp_latency_per_issue", Unknown, is!["smsp__average_warp_latency_per_inst_issued.ratio"], "cycle", Simulation, "cycles of a warp between two instructions that it issues"),
    later!("warp_latency_per_instruction", Unknown, is!["smsp__average_warps_active_per_inst_executed.ratio"], "cycle", Simulation, "cycles of a warp between two instructions that it executes"),
    later!("inst_executed_pipe_alu", Unknown, is!["sm__inst_executed_pipe_alu.sum", "smsp__inst_executed_pipe_alu.sum"], "instruction", Instructions, "machine instructions of warps for integer additions, logic, shifts and comparisons; not known with PTX alone"),
    later!("inst_executed_pipe_fma", Unknown, is!["sm__inst_executed_pipe_fma.sum", "smsp__inst_executed_pipe_fma.sum"], "instruction", Instructions, "machine instructions of warps for single-precision arithmetic and integer products; not known with PTX alone"),
    later!("inst_executed_pipe_fp32", Unknown, is!["sm__inst_executed_pipe_fp32.sum", "smsp__inst_executed_pipe_fp32.sum"], "instruction", Instructions, "machine instructions of warps for the same under the name of some architectures; not known with PTX alone"),
    later!("inst_executed_pipe_fp16", Unknown, is!["sm__inst_executed_pipe_fp16.sum", "smsp__inst_executed_pipe_fp16.sum"], "instruction", Instructions, "machine instructions of warps for half-precision arithmetic; not known with PTX alone"),
    later!("inst_executed_pipe_fp64", Unknown, is!["sm__inst_executed_pipe_fp64.sum", "smsp__inst_executed_pipe_fp64.sum"], "instruction", Instructions, "machine instructions of warps for double-precision arithmetic; not known with PTX alone"),
    later!("inst_executed_pipe_xu", Unknown, is!["sm__inst_executed_pipe_xu.sum", "smsp__inst_executed_pipe_xu.sum"], "instruction", Instructions, "machine instructions of warps for special functions and conversions; not known with PTX alone"),
    later!("inst_executed_pipe_lsu", Unknown, is!["sm__inst_executed_pipe_lsu.sum", "smsp__inst_executed_pipe_lsu.sum"], "instruction", Instructions, "machine instructions of warps for loads, stores, atomics and shuffles; not known with PTX alone"),
    later!("inst_executed_pipe_tex", Unknown, is!["sm__inst_executed_pipe_tex.sum", "smsp__inst_executed_pipe_tex.sum"], "instruction", Instructions, "machine instructions of warps for texture fetches; not known with PTX alone"),
    later!("inst_executed_pipe_cbu", Unknown, is!["sm__inst_executed_pipe_cbu.sum", "smsp__inst_executed_pipe_cbu.sum"], "instruction", Instructions, "machine instructions of warps for branches and barriers of convergence; not known with PTX alone"),
    later!("inst_executed_pipe_uniform", Unknown, is!["sm__inst_executed_pipe_uniform.sum", "smsp__inst_executed_pipe_uniform.sum"], "instruction", Instructions, "machine instructions of warps for the uniform datapath; not known with PTX alone"),
    later!("pipe_tensor_cycles", Unknown, is!["sm__pipe_tensor_cycles_active.avg"], "cycle", Simulation, "cycles in which the tensor cores of an SM multiply at their peak rate"),
    later!("sm_throughput", Unknown, is!["sm__throughput.avg.pct_of_peak_sustained_elapsed"], "percent", Simulation, "use of the busiest unit of an SM: issue slots and pipes"),
    later!("sm_instruction_throughput", Unknown, is!["sm__instruction_throughput.avg.pct_of_peak_sustained_elapsed"], "percent", Simulation, "use of the busiest of issue slots and arithmetic pipes"),
    later!("sm_memory_throughput", Unknown, is!["sm__memory_throughput.avg.pct_of_peak_sustained_elapsed"], "percent", Simulation, "use of the pipe of loads and stores"),
    later!("l1tex_throughput", Unknown, is!["l1tex__throughput.avg.pct_of_peak_sustained_elapsed"], "percent", Simulation, "use of the data path of the first-level cache and shared memory"),
    later!("lts_throughput", Unknown, is!["lts__throughput.avg.pct_of_peak_sustained_elapsed"], "percent", Simulation, "use of the L2's bandwidth, or of its busiest line of atomics"),
    later!("dram_throughput_share", Unknown, is!["dram__throughput.avg.pct_of_peak_sustained_elapsed", "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"], "percent", Simulation, "use of the device memory's peak bandwidth"),
    later!("memory_access_throughput", Unknown, is!["gpu__compute_memory_access_throughput.avg.pct_of_peak_sustained_elapsed"], "percent", Simulation, "the greater of the uses of first-level caches and the L2"),
    later!("memory_request_throughput", Unknown, is!["gpu__compute_memory_request_throughput.avg.pct_of_peak_sustained_elapsed"], "percent", Simulation, "the greater of the uses of load-store pipes and device memory"),
    later!("memory_throughput", Unknown, is!["gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"], "percent", Simulation, "the greatest use of any level of memory"),
    stall!("barrier", "at a barrier of the CTA"),
    stalled!("barrier", "at a barrier of the CTA"),
    stall!("branch_resolving", "for the target of a branch; not told apart from `wait` by the simulation"),
    stalled!("branch_resolving", "for the target of a branch; not told apart from `wait` by the simulation"),
    stall!("dispatch_stall", "because the dispatcher holds the instruction back; not simulated"),
    stalled!("dispatch_stall", "because the dispatcher holds the instruction back; not simulated"),
    stall!("drain", "for stores to leave before an exit; not simulated"),
    stalled!("drain", "for stores to leave before an exit; not simulated"),
    stall!("gmma", "for asynchronous matrix products"),
    stalled!("gmma", "for asynchronous matrix products"),
    stall!("imc_miss", "for constants to be fetched"),
    stalled!("imc_miss", "for constants to be fetched"),
    stall!("lg_throttle", "for the queue of global and local accesses"),
    stalled!("lg_throttle", "for the queue of global and local accesses"),
    stall!("long_scoreboard", "for data of global, local or texture memory, asynchronous copies among them"),
    stalled!("long_scoreboard", "for data of global, local or texture memory, asynchronous copies among them"),
    stall!("math_pipe_throttle", "for a busy pipe"),
    stalled!("math_pipe_throttle", "for a busy pipe"),
    stall!("membar", "at a fence"),
    stalled!("membar", "at a fence"),
    stall!("mio_throttle", "for the queue of shared accesses and the like"),
    stalled!("mio_throttle", "for the queue of shared accesses and the like"),
    stall!("misc", "for other reasons; not simulated"),
    stalled!("misc", "for other reasons; not simulated"),
    stall!("no_instruction", "for the next instruction to be fetched"),
    stalled!("no_instruction", "for the next instruction to be fetched"),
    stall!("not_selected", "because another warp issues"),
    stalled!("not_selected", "because another warp issues"),
    stall!("selected", "not at all: it issues"),
    stalled!("selected", "not at all: it issues"),
    stall!("short_scoreboard", "for data of shared memory, shuffles and special functions"),
    stalled!("short_scoreboard", "for data of shared memory, shuffles and special functions"),
    stall!("sleeping", "because all its threads sleep; not simulated"),
    stalled!("sleeping", "because all its threads sleep; not simulated"),
    stall!("tex_throttle", "for the queue of textures; not simulated"),
    stalled!("tex_throttle", "for the queue of textures; not simulated"),
    stall!("wait", "for the fixed latency of its last instruction"),
    stalled!("wait", "for the fixed latency of its last instruction"),
    later!("occupancy_limit_blocks", Unknown, is!["launch__occupancy_limit_blocks"], "block", Residency, "CTAs that an SM can hold whatever they take"),
    later!("occupancy_limit_registers", Unknown, is!["launch__occupancy_limit_registers"], "block", Residency, "CTAs that the registers of an SM suffice for"),
    later!("occupancy_limit_shared_mem", Unknown, is!["launch__occupancy_limit_shared_mem"], "block", Residency, "CTAs that the shared memory of an SM suffices for"),
    later!("occupancy_limit_warps", Unknown, is!["launch__occupancy_limit_warps"], "block", Residency, "CTAs that the warps of an SM suffice for"),
    later!("shared_mem_per_block", Unknown, is!["launch__shared_mem_per_block"], "byte", Launch, "shared memory of a CTA: static, dynamic and the driver's"),
    later!("shared_mem_per_block_static", Unknown, is!["launch__shared_mem_per_block_static"], "byte", Launch, "shared memory of a CTA that the code declares"),
    later!("shared_mem_per_block_dynamic", Unknown, is!["launch__shared_mem_per_block_dynamic"], "byte", Launch, "shared memory of a CTA that the launch asks for"),
    later!("shared_mem_per_block_driver", Unknown, is!["launch__shared_mem_per_block_driver"], "byte", Launch, "shared memory of a CTA that the driver keeps"),
    later!("shared_mem_per_block_allocated", Unknown, is!["launch__shared_mem_per_block_allocated"], "byte", Launch, "shared memory that a CTA takes, in units of allocation"),
    later!("shared_mem_config_size", Unknown, is!["launch__shared_mem_config_size"], "byte", Launch, "shared memory of an SM"),
    later!("stack_bytes", Unknown, is!["launch__stack_size"], "byte", Launch, "bytes of a thread's stack"),
    later!("launched_sms", Unknown, is!["launch__sm_count"], "SM", Launch, "SMs that the launch may use"),
    later!("cluster_size", Unknown, is!["launch__cluster_size"], "block", Launch, "CTAs of a cluster; 0 without clusters"),
    later!("func_cache_config", Unknown, is!["launch__func_cache_config"], "word", Launch, "preference between first-level cache and shared memory, in a word"),
    later!("uses_green_context", Unknown, is!["launch__uses_green_context"], "", Launch, "1 in a context with a part of the SMs; always 0 here"),
    later!("block_dim_x", Unknown, is!["launch__block_dim_x"], "", Launch, "extent of the CTA in x"),
    later!("block_dim_y", Unknown, is!["launch__block_dim_y"], "", Launch, "extent of the CTA in y"),
    later!("block_dim_z", Unknown, is!["launch__block_dim_z"], "", Launch, "extent of the CTA in z"),
    later!("grid_dim_x", Unknown, is!["launch__grid_dim_x"], "", Launch, "extent of the grid in x"),
    later!("grid_dim_y", Unknown, is!["launch__grid_dim_y"], "", Launch, "extent of the grid in y"),
    later!("grid_dim_z", Unknown, is!["launch__grid_dim_z"], "", Launch, "extent of the grid in z"),
    later!("branch_share", Unknown, is!["derived__smsp__inst_executed_op_branch_pct"], "percent", Branches, "branch instructions, of all that warps execute"),
    later!("stall_memory_dependency", Unknown, is!["smsp__warp_issue_stalled_memory_dependency_per_warp_active.pct"], "percent", Simulation, "as `stall_long_scoreboard`, under nvprof's name of the reason"),
];
