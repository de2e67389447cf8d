//! Floating-point operations.

use super::Nvprof::Metric;
use super::row::{count, is, sass_threads};
use super::{Basis, Definition, Formula, Topic};
use crate::metric::Number;
use crate::operation::FlopKind::{Add, Fma, Mul, Special};
use crate::operation::Precision::{Double, Half, Single};
use crate::totals::Totals;

pub(super) const TOPIC: Topic = Topic {
    title: "Floating-point operations",
    introduction: "Operations of threads that are not predicated off. Counted on PTX they are what \
                   the program asks for; machine code adds the operations that divisions and roots \
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
];
