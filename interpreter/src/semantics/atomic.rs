//! The value that an atomic writes back (PTX ISA 9.7.13: `atom`, `red`): a function of the old
//! value and the operands.
//!
//! `.and`, `.or` and `.xor` are in [`logic`](super::logic); `.add`, `.min` and `.max` of integers
//! in [`integer`](super::integer): the operation is the same, with the old value as `a`.

use super::float;
use super::half::{self, Half};
use super::rounding::Rn;

/// `.exch`.
#[inline(always)]
pub fn exch<T>(_old: T, value: T) -> T {
    value
}

/// `.cas`: `value` where the old value equals `compare`.
#[inline(always)]
pub fn cas<T: Eq>(old: T, compare: T, value: T) -> T {
    if old == compare { value } else { old }
}

/// `.inc.u32`: counts up to `limit`, then wraps to 0.
#[inline(always)]
pub fn inc(old: u32, limit: u32) -> u32 {
    if old >= limit { 0 } else { old + 1 }
}

/// `.dec.u32`: counts down to 0, then wraps to `limit`; also from above `limit`.
#[inline(always)]
pub fn dec(old: u32, limit: u32) -> u32 {
    if (old == 0) | (old > limit) { limit } else { old - 1 }
}

/// `.add.f32`, rounded to nearest.
///
/// The manual says that on global memory subnormal operands and results are flushed (`FTZ`), on
/// shared memory they are not.
#[inline(always)]
pub fn add_f32<const FTZ: bool>(old: f32, value: f32) -> f32 {
    float::add_f32::<Rn, FTZ, false>(old, value)
}

/// `.add.f64`, rounded to nearest.
#[inline(always)]
pub fn add_f64(old: f64, value: f64) -> f64 {
    float::add_f64::<Rn>(old, value)
}

/// `.add.noftz` of `.f16` or `.bf16`.
#[inline(always)]
pub fn add_half<H: Half>(old: u16, value: u16) -> u16 {
    half::add::<H, false, false>(old, value)
}

/// `.add.noftz` of `.f16x2` or `.bf16x2`: each half is atomic on its own.
#[inline(always)]
pub fn add_x2<H: Half>(old: u32, value: u32) -> u32 {
    half::map2_x2(add_half::<H>, old, value)
}

/// `.min.noftz` of `.f16` or `.bf16`: the other operand where one is NaN.
#[inline(always)]
pub fn min_half<H: Half>(old: u16, value: u16) -> u16 {
    half::min::<H, false, false>(old, value)
}

/// `.max.noftz` of `.f16` or `.bf16`: the other operand where one is NaN.
#[inline(always)]
pub fn max_half<H: Half>(old: u16, value: u16) -> u16 {
    half::max::<H, false, false>(old, value)
}

/// `.min.noftz` of `.f16x2` or `.bf16x2`.
#[inline(always)]
pub fn min_x2<H: Half>(old: u32, value: u32) -> u32 {
    half::map2_x2(min_half::<H>, old, value)
}

/// `.max.noftz` of `.f16x2` or `.bf16x2`.
#[inline(always)]
pub fn max_x2<H: Half>(old: u32, value: u32) -> u32 {
    half::map2_x2(max_half::<H>, old, value)
}
