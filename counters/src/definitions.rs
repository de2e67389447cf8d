//! The metrics that are computed from an execution: one table.
//!
//! Names are nvprof's; beside them stands the Nsight Compute metric that means the same (NVIDIA,
//! Nsight Compute CLI, "nvprof metric comparison"). Where no profiler has a name, ours begins
//! with `ptx_`, except `global_load_sectors` and its like, which only Nsight Compute has.
//! Percentages are in percent, as nvprof prints them.
//!
//! At [`Level::Ptx`] the `inst_*` metrics count PTX instructions in the place of the machine
//! instructions that the profiler counts, and are therefore estimates of it.

use gpucast_ptx_frontend::isa::InstructionClass as Class;
use gpucast_ptx_frontend::types::StateSpace::{Global, Local, Shared};

use crate::coalescing::SECTOR_BYTES;
use crate::metric::{Kind, Level, MetricValue, Metrics, Number};
use crate::operation::FlopKind::{Add, Fma, Mul, Special};
use crate::operation::Precision::{Double, Half, Single};
use crate::totals::Direction::{Load, Store, Update};
use crate::totals::Totals;

/// What a figure rests on, which decides how far it can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Basis {
    /// Execution alone.
    Execution,
    /// PTX instructions that stand for machine instructions.
    StandIn,
    /// The coalescing and bank models.
    AccessModel,
    /// The replay of every request through the L2.
    L2Replay,
}

impl Basis {
    /// The kind of the figures of a launch.
    fn kind(self, totals: &Totals<'_>) -> Kind {
        match self {
            Self::Execution => Kind::Exact,
            Self::StandIn => Kind::Estimated,
            Self::AccessModel => Kind::Modelled,
            Self::L2Replay if totals.extrapolated => Kind::Estimated,
            Self::L2Replay => Kind::Modelled,
        }
    }
}

/// One metric.
#[derive(Clone, Copy, Debug)]
pub struct Definition {
    /// nvprof's name.
    pub name: &'static str,
    /// Nsight Compute's name, if it has one metric that means the same.
    pub nsight: Option<&'static str>,
    /// The unit, singular.
    pub unit: &'static str,
    /// Which instructions it counts.
    pub level: Level,
    /// What it rests on.
    pub basis: Basis,
    /// What the vendor means by it, and how it is computed here where that is not the same.
    pub meaning: &'static str,
    /// The value; `None` where it is not defined, such as a ratio of nothing.
    pub compute: fn(&Totals<'_>) -> Option<Number>,
}

/// Every metric of `totals`.
#[must_use]
pub fn metrics(totals: &Totals<'_>) -> Metrics {
    let figure = |definition: &Definition| {
        let value = (definition.compute)(totals)?;
        let kind = definition.basis.kind(totals);
        Some((definition.name.to_owned(), MetricValue { value, unit: definition.unit, kind }))
    };
    DEFINITIONS.iter().filter_map(figure).collect()
}

/// The definition of the metric that nvprof or Nsight Compute calls `name`.
#[must_use]
pub fn definition(name: &str) -> Option<&'static Definition> {
    DEFINITIONS.iter().find(|definition| definition.name == name || definition.nsight == Some(name))
}

fn ratio(numerator: u64, denominator: u64, scale: f64) -> Option<Number> {
    (denominator != 0).then(|| Number::Real(numerator as f64 / denominator as f64 * scale))
}

/// A row whose value is a count.
macro_rules! count {
    ($name:literal, $nsight:expr, $unit:literal, $basis:ident, $value:expr, $meaning:literal) => {
        Definition {
            name: $name,
            nsight: $nsight,
            unit: $unit,
            level: Level::Ptx,
            basis: Basis::$basis,
            meaning: $meaning,
            compute: {
                const VALUE: fn(&Totals<'_>) -> u64 = $value;
                |totals| Some(Number::Count(VALUE(totals)))
            },
        }
    };
}

/// A row whose value is a quotient of two counts, times a scale.
macro_rules! quotient {
    (
        $name:literal, $nsight:expr, $unit:literal, $basis:ident, $scale:literal, $value:expr,
        $meaning:literal
    ) => {
        Definition {
            name: $name,
            nsight: $nsight,
            unit: $unit,
            level: Level::Ptx,
            basis: Basis::$basis,
            meaning: $meaning,
            compute: {
                const VALUE: fn(&Totals<'_>) -> (u64, u64) = $value;
                |totals| {
                    let (numerator, denominator) = VALUE(totals);
                    ratio(numerator, denominator, $scale)
                }
            },
        }
    };
}

/// Every metric that is computed from an execution.
#[rustfmt::skip]
pub const DEFINITIONS: &[Definition] = &[
    // Totals of PTX instructions.
    count!("ptx_inst_executed", None, "instruction", Execution, |t| t.warp_executions(),
        "PTX instructions issued by warps, whatever their guards"),
    count!("ptx_thread_inst_executed", None, "instruction", Execution, |t| t.thread_executions(),
        "PTX instructions executed by threads whose guard was true"),
    count!("ptx_inst_issued_lanes", None, "instruction", Execution, |t| t.issued_lanes(),
        "PTX instructions issued by warps, times the lanes that were active, guard true or not"),

    // Instructions by class.
    count!("inst_executed", Some("smsp__inst_executed.sum"), "instruction", StandIn, |t| t.warp_executions(),
        "instructions executed by warps, replays not counted"),
    count!("thread_inst_executed", Some("smsp__thread_inst_executed.sum"), "instruction", StandIn, |t| t.issued_lanes(),
        "instructions executed, times the active threads of each"),
    count!("inst_fp_16", Some("smsp__sass_thread_inst_executed_op_fp16_pred_on.sum"), "instruction", StandIn, |t| t.threads(Class::Fp16),
        "half-precision arithmetic and comparisons by threads that are not predicated off"),
    count!("inst_fp_32", Some("smsp__sass_thread_inst_executed_op_fp32_pred_on.sum"), "instruction", StandIn, |t| t.threads(Class::Fp32),
        "single-precision arithmetic and comparisons by threads that are not predicated off"),
    count!("inst_fp_64", Some("smsp__sass_thread_inst_executed_op_fp64_pred_on.sum"), "instruction", StandIn, |t| t.threads(Class::Fp64),
        "double-precision arithmetic and comparisons by threads that are not predicated off"),
    count!("inst_integer", Some("smsp__sass_thread_inst_executed_op_integer_pred_on.sum"), "instruction", StandIn, |t| t.threads(Class::Integer),
        "integer arithmetic, comparisons, logic and shifts by threads that are not predicated off"),
    count!("inst_bit_convert", Some("smsp__sass_thread_inst_executed_op_conversion_pred_on.sum"), "instruction", StandIn, |t| t.threads(Class::BitConvert),
        "conversions between types by threads that are not predicated off"),
    count!("inst_control", Some("smsp__sass_thread_inst_executed_op_control_pred_on.sum"), "instruction", StandIn, |t| t.threads(Class::Control),
        "branches, calls, returns and exits by threads that are not predicated off"),
    count!("inst_compute_ld_st", Some("smsp__sass_thread_inst_executed_op_memory_pred_on.sum"), "instruction", StandIn, |t| t.threads(Class::LoadStore),
        "loads, stores and atomics of any space by threads that are not predicated off; parameters are not counted, since machine code reads them as operands"),
    count!("inst_inter_thread_communication", Some("smsp__sass_thread_inst_executed_op_inter_thread_communication_pred_on.sum"), "instruction", StandIn, |t| t.threads(Class::InterThread),
        "shuffles, votes and the like by threads that are not predicated off"),
    count!("inst_misc", Some("smsp__sass_thread_inst_executed_op_misc_pred_on.sum"), "instruction", StandIn, |t| t.threads(Class::Misc),
        "everything in no other class (moves, barriers, fences) by threads that are not predicated off"),
    count!("inst_executed_tex_ops", Some("smsp__inst_executed_op_texture.sum"), "instruction", StandIn, |t| t.warps(Class::Texture),
        "texture instructions executed by warps"),
    count!("inst_executed_pipe_tensor", Some("smsp__inst_executed_pipe_tensor.sum"), "instruction", StandIn, |t| t.warps(Class::Tensor),
        "matrix multiply-adds (mma, wmma.mma) executed by warps; loads and stores of fragments are memory instructions"),
    count!("ldst_executed", None, "instruction", StandIn, |t| t.warps(Class::LoadStore) + t.warps(Class::Texture),
        "memory instructions executed by warps"),
    count!("cf_executed", None, "instruction", StandIn, |t| t.warps(Class::Control),
        "control-flow instructions executed by warps"),

    // Floating-point operations.
    count!("flop_count_hp", None, "operation", Execution, |t| t.all_flops(Half),
        "half-precision additions, multiplications and multiply-adds (two each) by threads that are not predicated off; packed instructions count both halves, and bfloat16 is included"),
    count!("flop_count_hp_add", Some("smsp__sass_thread_inst_executed_op_hadd_pred_on.sum"), "operation", Execution, |t| t.flops(Half, Add),
        "half-precision additions and subtractions"),
    count!("flop_count_hp_mul", Some("smsp__sass_thread_inst_executed_op_hmul_pred_on.sum"), "operation", Execution, |t| t.flops(Half, Mul),
        "half-precision multiplications"),
    count!("flop_count_hp_fma", Some("smsp__sass_thread_inst_executed_op_hfma_pred_on.sum"), "operation", Execution, |t| t.flops(Half, Fma),
        "half-precision multiply-adds, one each"),
    count!("flop_count_sp", None, "operation", Execution, |t| t.all_flops(Single),
        "single-precision additions, multiplications and multiply-adds (two each) by threads that are not predicated off; special functions are not included"),
    count!("flop_count_sp_add", Some("smsp__sass_thread_inst_executed_op_fadd_pred_on.sum"), "operation", Execution, |t| t.flops(Single, Add),
        "single-precision additions and subtractions"),
    count!("flop_count_sp_mul", Some("smsp__sass_thread_inst_executed_op_fmul_pred_on.sum"), "operation", Execution, |t| t.flops(Single, Mul),
        "single-precision multiplications"),
    count!("flop_count_sp_fma", Some("smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"), "operation", Execution, |t| t.flops(Single, Fma),
        "single-precision multiply-adds, one each"),
    count!("flop_count_sp_special", None, "operation", StandIn, |t| t.flops(Single, Special),
        "single-precision reciprocals, roots and transcendentals; each may take several machine operations"),
    count!("flop_count_dp", None, "operation", Execution, |t| t.all_flops(Double),
        "double-precision additions, multiplications and multiply-adds (two each) by threads that are not predicated off"),
    count!("flop_count_dp_add", Some("smsp__sass_thread_inst_executed_op_dadd_pred_on.sum"), "operation", Execution, |t| t.flops(Double, Add),
        "double-precision additions and subtractions"),
    count!("flop_count_dp_mul", Some("smsp__sass_thread_inst_executed_op_dmul_pred_on.sum"), "operation", Execution, |t| t.flops(Double, Mul),
        "double-precision multiplications"),
    count!("flop_count_dp_fma", Some("smsp__sass_thread_inst_executed_op_dfma_pred_on.sum"), "operation", Execution, |t| t.flops(Double, Fma),
        "double-precision multiply-adds, one each"),

    // Control flow.
    count!("branch", None, "instruction", StandIn, |t| t.branches(),
        "branch instructions executed by warps (an nvprof event)"),
    count!("divergent_branch", None, "instruction", StandIn, |t| t.divergent_branches(),
        "branch instructions whose threads went different ways (an nvprof event)"),
    quotient!("branch_efficiency", None, "percent", StandIn, 100.0, |t| (t.branches() - t.divergent_branches().min(t.branches()), t.branches()),
        "branches whose threads all went the same way, of all branches"),
    quotient!("warp_execution_efficiency", Some("smsp__thread_inst_executed_per_inst_executed.ratio"), "percent", StandIn, 100.0, |t| (t.issued_lanes(), 32 * t.warp_executions()),
        "mean active threads of an executed instruction, of the 32 of a warp"),
    quotient!("warp_nonpred_execution_efficiency", Some("smsp__thread_inst_executed_per_inst_executed.pct"), "percent", StandIn, 100.0, |t| (t.thread_executions(), 32 * t.warp_executions()),
        "mean threads of an executed instruction that are active and not predicated off, of the 32 of a warp"),

    // Global memory.
    count!("global_load_requests", Some("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"), "request", Execution, |t| t.memory(Global, Load).requests,
        "global loads executed by warps with at least one thread that takes part"),
    count!("global_store_requests", Some("l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"), "request", Execution, |t| t.memory(Global, Store).requests,
        "global stores executed by warps with at least one thread that takes part, atomics not counted"),
    count!("gld_transactions", None, "transaction", AccessModel, |t| t.memory(Global, Load).transactions,
        "global-load transactions: here the distinct 128-byte lines of each request, as on capability 2.x and 3.x"),
    count!("gst_transactions", None, "transaction", AccessModel, |t| t.memory(Global, Store).transactions,
        "global-store transactions: here the distinct 128-byte lines of each request, as on capability 2.x and 3.x"),
    quotient!("gld_transactions_per_request", None, "transaction", AccessModel, 1.0, |t| (t.memory(Global, Load).transactions, t.memory(Global, Load).requests),
        "mean transactions of a global load"),
    quotient!("gst_transactions_per_request", None, "transaction", AccessModel, 1.0, |t| (t.memory(Global, Store).transactions, t.memory(Global, Store).requests),
        "mean transactions of a global store"),
    count!("global_load_sectors", Some("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"), "sector", AccessModel, |t| t.memory(Global, Load).sectors,
        "distinct 32-byte sectors of each global load"),
    count!("global_store_sectors", Some("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"), "sector", AccessModel, |t| t.memory(Global, Store).sectors,
        "distinct 32-byte sectors of each global store"),
    count!("ptx_global_load_bytes", Some("smsp__sass_data_bytes_mem_global_op_ld.sum"), "byte", Execution, |t| t.memory(Global, Load).requested_bytes,
        "bytes that threads asked for in global loads"),
    count!("ptx_global_store_bytes", Some("smsp__sass_data_bytes_mem_global_op_st.sum"), "byte", Execution, |t| t.memory(Global, Store).requested_bytes,
        "bytes that threads wrote in global stores"),
    quotient!("gld_efficiency", None, "percent", AccessModel, 100.0, |t| (t.memory(Global, Load).requested_bytes, SECTOR_BYTES * t.memory(Global, Load).sectors),
        "bytes asked for in global loads, of those in their sectors; above 100 where threads share bytes"),
    quotient!("gst_efficiency", None, "percent", AccessModel, 100.0, |t| (t.memory(Global, Store).requested_bytes, SECTOR_BYTES * t.memory(Global, Store).sectors),
        "bytes written in global stores, of those in their sectors"),
    count!("inst_executed_global_atomics", None, "instruction", Execution, |t| t.memory(Global, Update).requests,
        "global atomics and reductions executed by warps with at least one thread that takes part"),
    count!("atomic_transactions", None, "transaction", AccessModel, |t| t.memory(Global, Update).sectors,
        "global atomic and reduction transactions: here distinct 32-byte sectors of each request"),

    // Local and shared memory.
    count!("local_load_transactions", Some("l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum"), "transaction", AccessModel, |t| t.memory(Local, Load).sectors,
        "local-load transactions: here distinct 32-byte sectors of each request"),
    count!("local_store_transactions", Some("l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum"), "transaction", AccessModel, |t| t.memory(Local, Store).sectors,
        "local-store transactions: here distinct 32-byte sectors of each request"),
    count!("shared_load", Some("smsp__inst_executed_op_shared_ld.sum"), "request", Execution, |t| t.memory(Shared, Load).requests,
        "shared loads executed by warps (an nvprof event)"),
    count!("shared_store", Some("smsp__inst_executed_op_shared_st.sum"), "request", Execution, |t| t.memory(Shared, Store).requests,
        "shared stores executed by warps (an nvprof event)"),
    count!("shared_load_transactions", Some("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"), "transaction", AccessModel, |t| t.memory(Shared, Load).passes,
        "passes over the banks of shared memory for loads, conflicts included"),
    count!("shared_store_transactions", Some("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"), "transaction", AccessModel, |t| t.memory(Shared, Store).passes,
        "passes over the banks of shared memory for stores, conflicts included"),
    quotient!("shared_load_transactions_per_request", None, "transaction", AccessModel, 1.0, |t| (t.memory(Shared, Load).passes, t.memory(Shared, Load).requests),
        "mean passes of a shared load"),
    quotient!("shared_store_transactions_per_request", None, "transaction", AccessModel, 1.0, |t| (t.memory(Shared, Store).passes, t.memory(Shared, Store).requests),
        "mean passes of a shared store"),

    // L2 and DRAM. There is no L1 in this model: every global and local request goes to the L2.
    count!("l2_read_transactions", Some("lts__t_sectors_op_read.sum"), "transaction", AccessModel, |t| t.l2_sectors(Load),
        "32-byte sectors that loads read from the L2; an L1 that would hold some back is not modelled"),
    count!("l2_write_transactions", Some("lts__t_sectors_op_write.sum"), "transaction", AccessModel, |t| t.l2_sectors(Store),
        "32-byte sectors that stores write to the L2"),
    count!("dram_read_transactions", Some("dram__sectors_read.sum"), "transaction", L2Replay, |t| t.l2.dram_read_sectors,
        "32-byte transactions that read device memory: sectors that the L2 did not hold"),
    count!("dram_write_transactions", Some("dram__sectors_write.sum"), "transaction", L2Replay, |t| t.l2.dram_write_sectors,
        "32-byte transactions that write device memory: dirty sectors that leave the L2, those left at the end included"),
    count!("dram_read_bytes", Some("dram__bytes_read.sum"), "byte", L2Replay, |t| SECTOR_BYTES * t.l2.dram_read_sectors,
        "bytes read from device memory"),
    count!("dram_write_bytes", Some("dram__bytes_write.sum"), "byte", L2Replay, |t| SECTOR_BYTES * t.l2.dram_write_sectors,
        "bytes written to device memory"),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::l2::L2Traffic;
    use crate::table::BaseTable;

    #[test]
    fn no_name_is_defined_twice() {
        let names: Vec<_> =
            DEFINITIONS.iter().flat_map(|d| [Some(d.name), d.nsight]).flatten().collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
        assert!(DEFINITIONS.iter().all(|definition| !definition.meaning.is_empty()));
        assert_eq!(definition("dram__sectors_read.sum").unwrap().name, "dram_read_transactions");
        assert!(definition("no_such_metric").is_none());
    }

    #[test]
    fn the_nine_metrics_of_the_thesis_are_there_even_if_nothing_ran() {
        let table = BaseTable::default();
        let totals = Totals { table: &table, l2: L2Traffic::default(), extrapolated: false };
        let metrics = metrics(&totals);
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
            assert_eq!(metrics[name].value, Number::Count(0), "{name} (thesis, table 4.1)");
            assert_eq!(definition(name).unwrap().level, Level::Ptx);
        }
        // A ratio of nothing is no number.
        assert!(!metrics.contains_key("branch_efficiency"));
    }

    #[test]
    fn extrapolated_traffic_is_an_estimate() {
        let table = BaseTable::default();
        for (extrapolated, kind) in [(false, Kind::Modelled), (true, Kind::Estimated)] {
            let totals = Totals { table: &table, l2: L2Traffic::default(), extrapolated };
            let metrics = metrics(&totals);
            assert_eq!(metrics["dram_read_transactions"].kind, kind);
            assert_eq!(metrics["gld_transactions"].kind, Kind::Modelled);
            assert_eq!(metrics["flop_count_sp_fma"].kind, Kind::Exact);
        }
    }
}
