//! Comparison and selection (PTX ISA 9.7.5 and 9.7.7): `set`, `setp`, `selp`, `slct`.
//!
//! The signedness of `lt` to `ge` and of `lo` to `hs` is that of the Rust type: `lo.u32` is
//! `lt::<u32>`. Halves are compared after widening to `.f32`, which is exact; `.ftz` flushes both
//! operands first.

use super::float::Float;

/// `eq`: equal; for floats also false if either is NaN.
#[inline(always)]
pub fn eq<T: PartialOrd>(a: T, b: T) -> bool {
    a == b
}

/// `ne` of integers. Floats have [`ne_ordered`] and [`neu`].
#[inline(always)]
pub fn ne<T: Eq>(a: T, b: T) -> bool {
    a != b
}

/// `lt` and `lo`; false if either is NaN.
#[inline(always)]
pub fn lt<T: PartialOrd>(a: T, b: T) -> bool {
    a < b
}

/// `le` and `ls`; false if either is NaN.
#[inline(always)]
pub fn le<T: PartialOrd>(a: T, b: T) -> bool {
    a <= b
}

/// `gt` and `hi`; false if either is NaN.
#[inline(always)]
pub fn gt<T: PartialOrd>(a: T, b: T) -> bool {
    a > b
}

/// `ge` and `hs`; false if either is NaN.
#[inline(always)]
pub fn ge<T: PartialOrd>(a: T, b: T) -> bool {
    a >= b
}

/// `ne` of floats; false if either is NaN.
#[inline(always)]
pub fn ne_ordered<F: Float>(a: F, b: F) -> bool {
    (a < b) | (a > b)
}

/// `num`: neither is NaN.
#[inline(always)]
pub fn num<F: Float>(a: F, b: F) -> bool {
    !nan(a, b)
}

/// `nan`: either is NaN.
#[inline(always)]
pub fn nan<F: Float>(a: F, b: F) -> bool {
    a.is_nan() | b.is_nan()
}

/// `equ`: equal or unordered.
#[inline(always)]
pub fn equ<F: Float>(a: F, b: F) -> bool {
    (a == b) | nan(a, b)
}

/// `neu`: not equal or unordered.
#[inline(always)]
pub fn neu<F: Float>(a: F, b: F) -> bool {
    a != b
}

/// `ltu`: less or unordered.
#[inline(always)]
pub fn ltu<F: Float>(a: F, b: F) -> bool {
    (a < b) | nan(a, b)
}

/// `leu`: less, equal or unordered.
#[inline(always)]
pub fn leu<F: Float>(a: F, b: F) -> bool {
    (a <= b) | nan(a, b)
}

/// `gtu`: greater or unordered.
#[inline(always)]
pub fn gtu<F: Float>(a: F, b: F) -> bool {
    (a > b) | nan(a, b)
}

/// `geu`: greater, equal or unordered.
#[inline(always)]
pub fn geu<F: Float>(a: F, b: F) -> bool {
    (a >= b) | nan(a, b)
}

/// `.and`: how a comparison combines with a predicate.
#[inline(always)]
pub fn and(t: bool, c: bool) -> bool {
    t & c
}

/// `.or`: how a comparison combines with a predicate.
#[inline(always)]
pub fn or(t: bool, c: bool) -> bool {
    t | c
}

/// `.xor`: how a comparison combines with a predicate.
#[inline(always)]
pub fn xor(t: bool, c: bool) -> bool {
    t ^ c
}

/// Result of `set` for an integer destination of 32 bits: all ones or 0.
#[inline(always)]
pub fn set_u32(t: bool) -> u32 {
    0u32.wrapping_sub(u32::from(t))
}

/// Result of `set` for an integer destination of 16 bits: all ones or 0.
#[inline(always)]
pub fn set_u16(t: bool) -> u16 {
    0u16.wrapping_sub(u16::from(t))
}

/// Result of `set` for an `.f32` destination: 1.0 or 0.
#[inline(always)]
pub fn set_f32(t: bool) -> f32 {
    if t { 1.0 } else { 0.0 }
}

/// Result of `set` for an `.f16` destination: 1.0 or 0.
#[inline(always)]
pub fn set_f16(t: bool) -> u16 {
    if t { 0x3c00 } else { 0 }
}

/// Result of `set` for a `.bf16` destination: 1.0 or 0.
#[inline(always)]
pub fn set_bf16(t: bool) -> u16 {
    if t { 0x3f80 } else { 0 }
}

/// `selp.type`: `a` where the predicate is true, else `b`.
#[inline(always)]
pub fn selp<T: Copy>(a: T, b: T, predicate: bool) -> T {
    if predicate { a } else { b }
}

/// `slct.dtype.s32`: `a` where `c` is not negative, else `b`.
#[inline(always)]
pub fn slct_s32<T: Copy>(a: T, b: T, c: i32) -> T {
    if c >= 0 { a } else { b }
}

/// `slct{.ftz}.dtype.f32`: `a` where `c` is 0 of either sign or greater, else `b`; `b` for NaN.
///
/// `.ftz` flushes `c`, so that a negative subnormal selects `a`.
#[inline(always)]
pub fn slct_f32<T: Copy, const FTZ: bool>(a: T, b: T, c: f32) -> T {
    if super::float::flush::<FTZ>(c) >= 0.0 { a } else { b }
}
