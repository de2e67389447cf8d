//! Instructions, in total and by class.

use gpucast_ptx_frontend::isa::InstructionClass as Class;

use super::Nvprof::{Event, Metric, Unknown};
use super::row::{count, is, quotient, sass_threads};
use super::{Basis, Definition, Topic};
use crate::integer_kind::IntegerKind as Kind;

pub(super) const TOPIC: Topic = Topic {
    title: "Instructions",
    introduction: "The `ptx_` metrics count PTX whatever the machine code is. The others count \
                   machine instructions where a back end knows them, and PTX instructions \
                   elsewhere. A metric of warps counts an instruction once for each warp that \
                   issues it, a metric of threads once for each thread.",
    definitions: DEFINITIONS,
};

#[rustfmt::skip]
const DEFINITIONS: &[Definition] = &[
    count!("ptx_inst_executed", Unknown, &[], "instruction", Execution, |t| t.ptx_warp_executions(),
        "PTX instructions issued by warps, whatever their guards"),
    count!("ptx_thread_inst_executed", Unknown, &[], "instruction", Execution, |t| t.ptx_thread_executions(),
        "PTX instructions executed by threads whose guard was true"),
    count!("ptx_inst_issued_lanes", Unknown, &[], "instruction", Execution, |t| t.ptx_issued_lanes(),
        "PTX instructions issued by warps, times the lanes that were active, guard true or not"),

    count!("inst_executed", Metric("Instructions Executed"), is!["smsp__inst_executed.sum", "sm__inst_executed.sum"], "instruction", Instructions, |t| t.warp_executions(),
        "instructions executed by warps, replays not counted"),
    count!("inst_issued", Metric("Instructions Issued"), is!["smsp__inst_issued.sum", "sm__inst_issued.sum"], "instruction", Instructions, |t| t.warp_executions(),
        "instructions issued, replays counted; here those executed, since replays, which memory instructions cause on capability 2.x, are not modelled"),
    count!("issue_slots", Metric("Issue Slots"), &[], "slot", Instructions, |t| t.warp_executions(),
        "issue slots used; here the instructions executed: neither replays nor dual issue are modelled").read_as(is!["smsp__inst_issued.sum"]),
    count!("thread_inst_executed", Event, is!["smsp__thread_inst_executed.sum", "sm__thread_inst_executed.sum"], "instruction", Instructions, |t| t.issued_lanes(),
        "instructions executed, times the active threads of each, predicated off or not"),
    count!("not_predicated_off_thread_inst_executed", Event, is!["smsp__thread_inst_executed_pred_on.sum", "sm__thread_inst_executed_pred_on.sum"], "instruction", Instructions, |t| t.thread_executions(),
        "instructions executed, times the threads of each that are active and not predicated off"),
    quotient!("inst_per_warp", Metric("Instructions per warp"), is!["smsp__average_inst_executed_per_warp.ratio"], "instruction/warp", Instructions, 1.0, |t| (t.warp_executions(), t.launch.warps()),
        "mean instructions of a warp"),

    count!("inst_fp_16", Metric("HP Instructions(Half)"), sass_threads!("fp16"), "instruction", Instructions, |t| t.threads(Class::Fp16),
        "half-precision arithmetic and comparisons by threads that are not predicated off"),
    count!("inst_fp_32", Metric("FP Instructions(Single)"), sass_threads!("fp32"), "instruction", Instructions, |t| t.threads(Class::Fp32),
        "single-precision arithmetic and comparisons by threads that are not predicated off"),
    count!("inst_fp_64", Metric("FP Instructions(Double)"), sass_threads!("fp64"), "instruction", Instructions, |t| t.threads(Class::Fp64),
        "double-precision arithmetic and comparisons by threads that are not predicated off"),
    count!("inst_integer", Metric("Integer Instructions"), sass_threads!("integer"), "instruction", Instructions, |t| t.threads(Class::Integer),
        "integer arithmetic, comparisons, logic and shifts by threads that are not predicated off"),
    count!("inst_integer_add", Unknown, &[], "instruction", Instructions, |t| t.integers(Kind::Add),
        "of `inst_integer`, additions and subtractions, also of shifted operands"),
    count!("inst_integer_mul", Unknown, &[], "instruction", Instructions, |t| t.integers(Kind::Multiply),
        "of `inst_integer`, multiplications and multiply-adds"),
    count!("inst_integer_shift", Unknown, &[], "instruction", Instructions, |t| t.integers(Kind::Shift),
        "of `inst_integer`, shifts"),
    count!("inst_integer_logic", Unknown, &[], "instruction", Instructions, |t| t.integers(Kind::Logic),
        "of `inst_integer`, bitwise logic"),
    count!("inst_integer_compare", Unknown, &[], "instruction", Instructions, |t| t.integers(Kind::Compare),
        "of `inst_integer`, comparisons, minima and maxima"),
    count!("inst_integer_other", Unknown, &[], "instruction", Instructions, |t| t.integers(Kind::Other),
        "of `inst_integer`, everything else: quotients, bit fields, counts of bits, absolute differences, SIMD video instructions"),
    count!("inst_bit_convert", Metric("Bit-Convert Instructions"), sass_threads!("conversion"), "instruction", Instructions, |t| t.threads(Class::BitConvert),
        "conversions between types by threads that are not predicated off"),
    count!("inst_control", Metric("Control-Flow Instructions"), sass_threads!("control"), "instruction", Instructions, |t| t.threads(Class::Control),
        "branches, calls, returns and exits by threads that are not predicated off"),
    count!("inst_compute_ld_st", Metric("Load/Store Instructions"), sass_threads!("memory"), "instruction", Instructions, |t| t.threads(Class::LoadStore),
        "loads, stores and atomics of any space, constant memory among them, by threads that are not predicated off; parameters count where machine code loads them (`LDC`, mostly since Hopper), not where it reads them as operands"),
    count!("inst_inter_thread_communication", Metric("Inter-Thread Instructions"), sass_threads!("inter_thread_communication"), "instruction", Instructions, |t| t.threads(Class::InterThread),
        "shuffles, votes and the like by threads that are not predicated off"),
    count!("inst_misc", Metric("Misc Instructions"), sass_threads!("misc"), "instruction", Instructions, |t| t.threads(Class::Misc),
        "everything in no other class (moves, barriers, fences) by threads that are not predicated off"),

    count!("ldst_executed", Metric("Executed Load/Store Instructions"), &[], "instruction", Instructions, |t| t.loads_and_stores(),
        "loads and stores of local, global, shared and texture memory executed by warps; on capability 5.x and 6.x also reads of special registers and barriers, which their load/store units execute"),
    count!("ldst_issued", Metric("Issued Load/Store Instructions"), &[], "instruction", Instructions, |t| t.loads_and_stores(),
        "loads and stores issued, replays counted; here those executed (see `inst_issued`)"),
    count!("cf_executed", Metric("Executed Control-Flow Instructions"), &[], "instruction", Instructions, |t| t.warps(Class::Control),
        "control-flow instructions executed by warps").read_as(CONTROL_PIPES),
    count!("cf_issued", Metric("Issued Control-Flow Instructions"), &[], "instruction", Instructions, |t| t.warps(Class::Control),
        "control-flow instructions issued; here those executed (see `inst_issued`)"),
    count!("inst_executed_tex_ops", Metric("Warp level instructions for texture"), is!["smsp__inst_executed_op_texture.sum"], "instruction", Instructions, |t| t.warps(Class::Texture),
        "texture instructions executed by warps"),
    count!("inst_executed_pipe_tensor", Unknown, is!["smsp__inst_executed_pipe_tensor.sum", "sm__inst_executed_pipe_tensor.sum"], "instruction", Instructions, |t| t.warps(Class::Tensor),
        "matrix multiply-adds (mma, wmma.mma) executed by warps; loads and stores of fragments are memory instructions"),
];

/// The vendor's formula: the pipes of branches and of address divergence, which also execute
/// barriers.
const CONTROL_PIPES: &[super::Formula] =
    &[&[("smsp__inst_executed_pipe_cbu.sum", 1.0), ("smsp__inst_executed_pipe_adu.sum", 1.0)]];
