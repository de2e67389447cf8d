//! The notation for the tables of definitions.

use crate::metric::Number;
use crate::totals::Totals;

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
            compute: Some(|totals| Some(crate::definitions::row::counted($value, totals))),
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
            compute: Some(|totals| crate::definitions::row::ratio($value, totals, $scale)),
        }
    };
}

/// A row whose value no count gives.
macro_rules! later {
    ($name:expr, $nvprof:expr, $nsight:expr, $unit:literal, $basis:ident, $meaning:expr) => {
        Definition {
            name: $name,
            nvprof: $nvprof,
            nsight: $nsight,
            nsight_stands_in: &[],
            unit: $unit,
            basis: Basis::$basis,
            meaning: $meaning,
            compute: None,
        }
    };
}

/// A row that hardware alone counts.
macro_rules! measured {
    ($name:literal, $nvprof:expr, $nsight:expr, $unit:literal, $meaning:expr) => {
        $crate::definitions::row::later!($name, $nvprof, $nsight, $unit, Hardware, $meaning)
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

pub(super) use {count, is, later, measured, quotient, sass_threads};

/// A count.
pub(super) fn counted<N: Into<u128>>(of: fn(&Totals<'_>) -> N, totals: &Totals<'_>) -> Number {
    Number::Count(of(totals).into())
}

/// A quotient; `None` if there is nothing to divide by.
pub(super) fn ratio<N: Into<u128>, M: Into<u128>>(
    of: fn(&Totals<'_>) -> (N, M),
    totals: &Totals<'_>,
    scale: f64,
) -> Option<Number> {
    let (numerator, denominator) = of(totals);
    let (numerator, denominator): (u128, u128) = (numerator.into(), denominator.into());
    (denominator != 0).then(|| Number::Real(numerator as f64 / denominator as f64 * scale))
}
