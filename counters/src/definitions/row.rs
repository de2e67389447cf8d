//! The notation for the tables of definitions.

use crate::metric::Number;

/// A row whose value is a count.
macro_rules! count {
    (
        $name:literal, $nvprof:expr, $nsight:expr, $unit:literal, $basis:ident, $value:expr,
        $meaning:expr
    ) => {
        Definition {
            name: $name,
            nvprof: $nvprof,
            nsight: $nsight,
            nsight_stands_in: &[],
            unit: $unit,
            basis: Basis::$basis,
            meaning: $meaning,
            compute: Some({
                const VALUE: fn(&Totals<'_>) -> u64 = $value;
                |totals| Some(Number::Count(VALUE(totals)))
            }),
        }
    };
}

/// A row whose value is a quotient of two counts, times a scale.
macro_rules! quotient {
    (
        $name:literal, $nvprof:expr, $nsight:expr, $unit:literal, $basis:ident, $scale:literal,
        $value:expr, $meaning:expr
    ) => {
        Definition {
            name: $name,
            nvprof: $nvprof,
            nsight: $nsight,
            nsight_stands_in: &[],
            unit: $unit,
            basis: Basis::$basis,
            meaning: $meaning,
            compute: Some({
                const VALUE: fn(&Totals<'_>) -> (u64, u64) = $value;
                |totals| {
                    let (numerator, denominator) = VALUE(totals);
                    crate::definitions::row::ratio(numerator, denominator, $scale)
                }
            }),
        }
    };
}

/// A row that is never computed.
macro_rules! measured {
    ($name:literal, $nvprof:expr, $nsight:expr, $unit:literal, $meaning:expr) => {
        Definition {
            name: $name,
            nvprof: $nvprof,
            nsight: $nsight,
            nsight_stands_in: &[],
            unit: $unit,
            basis: Basis::Hardware,
            meaning: $meaning,
            compute: None,
        }
    };
}

/// Nsight Compute's names for one metric, each of which alone means the same.
macro_rules! is {
    ($($name:expr),* $(,)?) => { &[$(&[($name, 1.0)]),*] };
}

/// Nsight Compute's names for thread instructions counted by the effect of machine code: by
/// sub-partition and by SM, which have the same sum.
macro_rules! sass_threads {
    ($operation:literal) => {
        is![
            concat!("smsp__sass_thread_inst_executed_op_", $operation, "_pred_on.sum"),
            concat!("sm__sass_thread_inst_executed_op_", $operation, "_pred_on.sum"),
        ]
    };
}

pub(super) use {count, is, measured, quotient, sass_threads};

/// A quotient; `None` if there is nothing to divide by.
pub(super) fn ratio(numerator: u64, denominator: u64, scale: f64) -> Option<Number> {
    (denominator != 0).then(|| Number::Real(numerator as f64 / denominator as f64 * scale))
}
