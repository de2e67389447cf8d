//! Arithmetic on four numbers of 8, 6 or 4 bits at once (PTX ISA 9.7.6, since version 9.4).
//!
//! Sums and products are exact and rounded once to the result, `.e4m3` or `.e5m2`. Without
//! `.satfinite` a result beyond the greatest number is infinity or, where there is none, NaN.

use super::minifloat::{self, E2m1, E2m3, E3m2, E4m3, E5m2, Minifloat, Narrowing};
use super::rounding;

/// The layout of four elements in an operand, the first in the lowest bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elements {
    /// `.e4m3x4`
    E4m3,
    /// `.e5m2x4`
    E5m2,
    /// `.e2m3x4`: in the low six bits of each byte.
    E2m3,
    /// `.e3m2x4`: likewise.
    E3m2,
    /// `.e2m1x4`: without gaps, in 16 bits.
    E2m1,
    /// `.e2m1p4x4`: in the low four bits of each byte.
    PaddedE2m1,
    /// `.ue8m0x4`
    Ue8m0,
}

impl Elements {
    /// The values of the elements of `bits`; padding has no effect.
    #[must_use]
    pub fn values(self, bits: u32) -> [f64; 4] {
        let spacing = if self == Self::E2m1 { 4 } else { 8 };
        [0, 1, 2, 3].map(|i| {
            let code = (bits >> (spacing * i)) as u8;
            match self {
                Self::E4m3 => minifloat::to_f32::<E4m3>(code).into(),
                Self::E5m2 => minifloat::to_f32::<E5m2>(code).into(),
                Self::E2m3 => minifloat::to_f32::<E2m3>(code).into(),
                Self::E3m2 => minifloat::to_f32::<E3m2>(code).into(),
                Self::E2m1 | Self::PaddedE2m1 => minifloat::to_f32::<E2m1>(code).into(),
                Self::Ue8m0 => minifloat::ue8m0_value(code),
            }
        })
    }
}

/// The computation on each element of three operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// a + c
    Add,
    /// a - c
    Subtract,
    /// a · b
    Multiply,
    /// a · b + c
    MultiplyAdd,
}

/// `add`, `sub`, `mul` or `fma` with a result of four `M`.
#[must_use]
pub fn compute<M: Minifloat>(
    operation: Operation,
    [a, b, c]: [[f64; 4]; 3],
    satfinite: bool,
) -> u32 {
    let how = Narrowing { satfinite, ..Narrowing::NEAREST };
    let element = |i: usize| {
        // A product of two has 8 bits at most, hence is exact; a sum is rounded to odd.
        let exact = match operation {
            Operation::Add => rounding::odd_sum_f64(a[i], c[i]),
            Operation::Subtract => rounding::odd_sum_f64(a[i], -c[i]),
            Operation::Multiply => a[i] * b[i],
            Operation::MultiplyAdd => rounding::odd_sum_f64(a[i] * b[i], c[i]),
        };
        minifloat::from_f64::<M>(exact, how)
    };
    u32::from_le_bytes([0, 1, 2, 3].map(element))
}
