//! Floating-point operations.

use super::Nvprof::{Metric, Unknown};
use super::row::{count, is, sass_threads};
use super::{Basis, Definition, Formula, Topic};
use crate::operation::FlopKind::{Add, Fma, Mul, Special};
use crate::operation::Precision::{Double, Half, Single};
use crate::tensor::TensorFormat::{Bf16, Fp6OrFp4, Fp8, Fp16, Fp64, Int1, Int4, Int8, Int16, Tf32};

pub(super) const TOPIC: Topic = Topic {
    title: "Floating-point operations",
    introduction: "Operations of threads that are not predicated off. Counted on PTX they are what \
                   the program asks for. Machine code adds the operations that divisions and roots \
                   are made of, and may contract a multiplication and an addition into one.",
    definitions: DEFINITIONS,
};

/// The sum that the vendor gives: additions, multiplications, and multiply-adds twice.
macro_rules! weighted {
    ($letter:literal) => {
        &[
            &[
                (concat!("smsp__sass_thread_inst_executed_op_", $letter, "add_pred_on.sum"), 1.0),
                (concat!("smsp__sass_thread_inst_executed_op_", $letter, "mul_pred_on.sum"), 1.0),
                (concat!("smsp__sass_thread_inst_executed_op_", $letter, "fma_pred_on.sum"), 2.0),
            ],
            &[
                (concat!("sm__sass_thread_inst_executed_op_", $letter, "add_pred_on.sum"), 1.0),
                (concat!("sm__sass_thread_inst_executed_op_", $letter, "mul_pred_on.sum"), 1.0),
                (concat!("sm__sass_thread_inst_executed_op_", $letter, "fma_pred_on.sum"), 2.0),
            ],
        ]
    };
}

const HALF: &[Formula] = weighted!("h");
const SINGLE: &[Formula] = weighted!("f");
const DOUBLE: &[Formula] = weighted!("d");

#[rustfmt::skip]
const DEFINITIONS: &[Definition] = &[
    count!("flop_count_hp", Metric("Floating Point Operations(Half Precision)"), HALF, "operation", Arithmetic, |t| t.all_flops(Half),
        "half-precision additions, multiplications and multiply-adds (two each); packed instructions count both halves, and bfloat16 is included"),
    count!("flop_count_hp_add", Metric("Floating Point Operations(Half Precision Add)"), sass_threads!("hadd"), "operation", Arithmetic, |t| t.flops(Half, Add),
        "half-precision additions and subtractions"),
    count!("flop_count_hp_mul", Metric("Floating Point Operations(Half Precision Mul)"), sass_threads!("hmul"), "operation", Arithmetic, |t| t.flops(Half, Mul),
        "half-precision multiplications"),
    count!("flop_count_hp_fma", Metric("Floating Point Operations(Half Precision FMA)"), sass_threads!("hfma"), "operation", Arithmetic, |t| t.flops(Half, Fma),
        "half-precision multiply-adds, one each"),
    count!("flop_count_sp", Metric("Floating Point Operations(Single Precision)"), SINGLE, "operation", Arithmetic, |t| t.all_flops(Single),
        "single-precision additions, multiplications and multiply-adds (two each); special functions are not included"),
    count!("flop_count_sp_add", Metric("Floating Point Operations(Single Precision Add)"), sass_threads!("fadd"), "operation", Arithmetic, |t| t.flops(Single, Add),
        "single-precision additions and subtractions"),
    count!("flop_count_sp_mul", Metric("Floating Point Operations(Single Precision Mul)"), sass_threads!("fmul"), "operation", Arithmetic, |t| t.flops(Single, Mul),
        "single-precision multiplications"),
    count!("flop_count_sp_fma", Metric("Floating Point Operations(Single Precision FMA)"), sass_threads!("ffma"), "operation", Arithmetic, |t| t.flops(Single, Fma),
        "single-precision multiply-adds, one each"),
    count!("flop_count_sp_special", Metric("Floating Point Operations(Single Precision Special)"), sass_threads!("mufu"), "operation", Instructions, |t| t.flops(Single, Special),
        "single-precision reciprocals, roots and transcendentals; each may take several machine operations"),
    count!("flop_count_dp", Metric("Floating Point Operations(Double Precision)"), DOUBLE, "operation", Arithmetic, |t| t.all_flops(Double),
        "double-precision additions, multiplications and multiply-adds (two each)"),
    count!("flop_count_dp_add", Metric("Floating Point Operations(Double Precision Add)"), sass_threads!("dadd"), "operation", Arithmetic, |t| t.flops(Double, Add),
        "double-precision additions and subtractions"),
    count!("flop_count_dp_mul", Metric("Floating Point Operations(Double Precision Mul)"), sass_threads!("dmul"), "operation", Arithmetic, |t| t.flops(Double, Mul),
        "double-precision multiplications"),
    count!("flop_count_dp_fma", Metric("Floating Point Operations(Double Precision FMA)"), sass_threads!("dfma"), "operation", Arithmetic, |t| t.flops(Double, Fma),
        "double-precision multiply-adds, one each"),

    count!("tensor_op_count", Unknown, &[], "operation", Execution, |t| t.tensor_operations(None),
        "operations of matrix instructions (mma, wmma.mma, wgmma, tcgen05.mma), multiply-adds twice; of a sparse matrix the elements that are stored count"),
    count!("tensor_op_count_fp64", Unknown, is!["sm__ops_path_tensor_src_fp64.sum"], "operation", Execution, |t| t.tensor_operations(Some(Fp64)),
        "of `tensor_op_count`, on `f64`"),
    count!("tensor_op_count_tf32", Unknown, is!["sm__ops_path_tensor_src_tf32_dst_fp32.sum"], "operation", Execution, |t| t.tensor_operations(Some(Tf32)),
        "of `tensor_op_count`, on `tf32`"),
    count!("tensor_op_count_bf16", Unknown, is!["sm__ops_path_tensor_src_bf16_dst_fp32.sum"], "operation", Execution, |t| t.tensor_operations(Some(Bf16)),
        "of `tensor_op_count`, on `bf16`"),
    count!("tensor_op_count_fp16", Unknown, TENSOR_HALF, "operation", Execution, |t| t.tensor_operations(Some(Fp16)),
        "of `tensor_op_count`, on `f16`"),
    count!("tensor_op_count_fp8", Unknown, &[], "operation", Execution, |t| t.tensor_operations(Some(Fp8)),
        "of `tensor_op_count`, on `e4m3` and `e5m2`"),
    count!("tensor_op_count_fp6_fp4", Unknown, &[], "operation", Execution, |t| t.tensor_operations(Some(Fp6OrFp4)),
        "of `tensor_op_count`, on `e3m2`, `e2m3` and `e2m1`"),
    count!("tensor_op_count_int16", Unknown, &[], "operation", Execution, |t| t.tensor_operations(Some(Int16)),
        "of `tensor_op_count`, on integers of a sign and eleven bits (`.kind::ti16`)"),
    count!("tensor_op_count_int8", Unknown, is!["sm__ops_path_tensor_src_int8.sum"], "operation", Execution, |t| t.tensor_operations(Some(Int8)),
        "of `tensor_op_count`, on `s8` and `u8`"),
    count!("tensor_op_count_int4", Unknown, is!["sm__ops_path_tensor_src_int4.sum"], "operation", Execution, |t| t.tensor_operations(Some(Int4)),
        "of `tensor_op_count`, on `s4` and `u4`"),
    count!("tensor_op_count_int1", Unknown, is!["sm__ops_path_tensor_src_int1.sum"], "operation", Execution, |t| t.tensor_operations(Some(Int1)),
        "of `tensor_op_count`, on `b1`"),
];

/// Products of halves are told apart by the format of their sum.
const TENSOR_HALF: &[Formula] = &[&[
    ("sm__ops_path_tensor_src_fp16_dst_fp16.sum", 1.0),
    ("sm__ops_path_tensor_src_fp16_dst_fp32.sum", 1.0),
]];
