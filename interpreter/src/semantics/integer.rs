//! Integer arithmetic (PTX ISA 9.7.1): `add` to `max`, for every width and sign.
//!
//! Most functions are generic over [`Integer`]; the PTX type is the type parameter, so
//! `mul.hi.s32` is `mul_hi::<i32>`.

use core::ops::{BitAnd, BitOr, BitXor, Not};

/// A PTX integer type: `.u8` to `.u64` and `.s8` to `.s64` as `u8` to `u64` and `i8` to `i64`.
pub trait Integer:
    Copy
    + Ord
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
    + Not<Output = Self>
{
    /// The type twice as wide with the same sign, which `mul.wide` produces.
    type Wide: Copy;
    /// Width of the type in bits.
    const BITS: u32;
    /// The value 0.
    const ZERO: Self;
    /// The value 1.
    const ONE: Self;
    /// The value with every bit set.
    const ONES: Self;
    /// The least value of the type.
    const MIN: Self;
    /// The greatest value of the type.
    const MAX: Self;

    /// `a + b` modulo 2ⁿ.
    fn wrapping_add(self, b: Self) -> Self;
    /// `a - b` modulo 2ⁿ.
    fn wrapping_sub(self, b: Self) -> Self;
    /// The low n bits of `a * b`.
    fn wrapping_mul(self, b: Self) -> Self;
    /// The high n bits of `a * b`.
    fn high_mul(self, b: Self) -> Self;
    /// `a * b` in full.
    fn wide_mul(self, b: Self) -> Self::Wide;
    /// `a * b + c` at twice the width, modulo 2²ⁿ.
    fn wide_mul_add(self, b: Self, c: Self::Wide) -> Self::Wide;
    /// `a / b` truncated towards zero; `b` is not zero; `MIN / -1` is `MIN`.
    fn wrapping_div(self, b: Self) -> Self;
    /// `a % b` with the sign of `a`; `b` is not zero; `MIN % -1` is 0.
    fn wrapping_rem(self, b: Self) -> Self;
    /// `a + b + carry` on the unsigned bits, with the carry out of the top bit.
    fn carrying_add(self, b: Self, carry: bool) -> (Self, bool);
    /// The sign bit for signed types; false for unsigned ones.
    fn is_negative(self) -> bool;
    /// Number of set bits.
    fn count_ones(self) -> u32;
    /// Number of zeros above the highest set bit.
    fn leading_zeros(self) -> u32;
    /// The bits in opposite order.
    fn reverse_bits(self) -> Self;
    /// `self << n` for `n < BITS`; the amount wraps otherwise.
    fn shift_left(self, n: u32) -> Self;
    /// `self >> n` for `n < BITS`, arithmetic for signed types; the amount wraps otherwise.
    fn shift_right(self, n: u32) -> Self;
    /// `self >> n` for `n < BITS`, filling with zeros; the amount wraps otherwise.
    fn shift_right_logical(self, n: u32) -> Self;
    /// The value, exactly.
    fn to_i128(self) -> i128;
    /// The low n bits of a value.
    fn truncate(value: i128) -> Self;
    /// The nearest value to an integral `x`; 0 for NaN.
    fn saturate_f64(x: f64) -> Self;
    /// The nearest `.f32`, ties to even.
    fn nearest_f32(self) -> f32;
    /// The nearest `.f64`, ties to even.
    fn nearest_f64(self) -> f64;
}

macro_rules! integers {
    ($($t:ident, $unsigned:ident, $wide:ident;)*) => {$(
        impl Integer for $t {
            type Wide = $wide;
            const BITS: u32 = $t::BITS;
            const ZERO: Self = 0;
            const ONE: Self = 1;
            const ONES: Self = !0;
            const MIN: Self = $t::MIN;
            const MAX: Self = $t::MAX;

            #[inline(always)]
            fn wrapping_add(self, b: Self) -> Self { $t::wrapping_add(self, b) }
            #[inline(always)]
            fn wrapping_sub(self, b: Self) -> Self { $t::wrapping_sub(self, b) }
            #[inline(always)]
            fn wrapping_mul(self, b: Self) -> Self { $t::wrapping_mul(self, b) }
            #[inline(always)]
            fn high_mul(self, b: Self) -> Self { (self.wide_mul(b) >> $t::BITS) as $t }
            #[inline(always)]
            fn wide_mul(self, b: Self) -> $wide { $wide::from(self).wrapping_mul($wide::from(b)) }
            #[inline(always)]
            fn wide_mul_add(self, b: Self, c: $wide) -> $wide { self.wide_mul(b).wrapping_add(c) }
            #[inline(always)]
            fn wrapping_div(self, b: Self) -> Self { $t::wrapping_div(self, b) }
            #[inline(always)]
            fn wrapping_rem(self, b: Self) -> Self { $t::wrapping_rem(self, b) }
            #[inline(always)]
            fn carrying_add(self, b: Self, carry: bool) -> (Self, bool) {
                let (sum, over) = (self as $unsigned).overflowing_add(b as $unsigned);
                let (sum, over_again) = sum.overflowing_add($unsigned::from(carry));
                (sum as $t, over | over_again)
            }
            #[inline(always)]
            #[allow(unused_comparisons, reason = "the macro covers unsigned types too")]
            fn is_negative(self) -> bool { self < 0 }
            #[inline(always)]
            fn count_ones(self) -> u32 { $t::count_ones(self) }
            #[inline(always)]
            fn leading_zeros(self) -> u32 { $t::leading_zeros(self) }
            #[inline(always)]
            fn reverse_bits(self) -> Self { $t::reverse_bits(self) }
            #[inline(always)]
            fn shift_left(self, n: u32) -> Self { self.wrapping_shl(n) }
            #[inline(always)]
            fn shift_right(self, n: u32) -> Self { self.wrapping_shr(n) }
            #[inline(always)]
            fn shift_right_logical(self, n: u32) -> Self {
                (self as $unsigned).wrapping_shr(n) as $t
            }
            #[inline(always)]
            fn to_i128(self) -> i128 { self as i128 }
            #[inline(always)]
            fn truncate(value: i128) -> Self { value as $t }
            #[inline(always)]
            fn saturate_f64(x: f64) -> Self { x as $t }
            #[inline(always)]
            fn nearest_f32(self) -> f32 { self as f32 }
            #[inline(always)]
            fn nearest_f64(self) -> f64 { self as f64 }
        }
    )*};
}

integers! {
    u8, u8, u16;
    i8, u8, i16;
    u16, u16, u32;
    i16, u16, i32;
    u32, u32, u64;
    i32, u32, i64;
    u64, u64, u128;
    i64, u64, i128;
}

/// `add.type`.
#[inline(always)]
pub fn add<T: Integer>(a: T, b: T) -> T {
    a.wrapping_add(b)
}

/// `add.sat.s32`: clamps to MININT..MAXINT.
#[inline(always)]
pub fn add_sat_s32(a: i32, b: i32) -> i32 {
    a.saturating_add(b)
}

/// `sub.type`.
#[inline(always)]
pub fn sub<T: Integer>(a: T, b: T) -> T {
    a.wrapping_sub(b)
}

/// `sub.sat.s32`: clamps to MININT..MAXINT.
#[inline(always)]
pub fn sub_sat_s32(a: i32, b: i32) -> i32 {
    a.saturating_sub(b)
}

/// `mul.lo.type`.
#[inline(always)]
pub fn mul_lo<T: Integer>(a: T, b: T) -> T {
    a.wrapping_mul(b)
}

/// `mul.hi.type`.
#[inline(always)]
pub fn mul_hi<T: Integer>(a: T, b: T) -> T {
    a.high_mul(b)
}

/// `mul.wide.type`: the result is twice as wide.
#[inline(always)]
pub fn mul_wide<T: Integer>(a: T, b: T) -> T::Wide {
    a.wide_mul(b)
}

/// `mad.lo.type`.
#[inline(always)]
pub fn mad_lo<T: Integer>(a: T, b: T, c: T) -> T {
    a.wrapping_mul(b).wrapping_add(c)
}

/// `mad.hi.type`.
#[inline(always)]
pub fn mad_hi<T: Integer>(a: T, b: T, c: T) -> T {
    a.high_mul(b).wrapping_add(c)
}

/// `mad.wide.type`: `c` and the result are twice as wide.
#[inline(always)]
pub fn mad_wide<T: Integer>(a: T, b: T, c: T::Wide) -> T::Wide {
    a.wide_mul_add(b, c)
}

/// `mad.hi.sat.s32`: the addition clamps to MININT..MAXINT.
#[inline(always)]
pub fn mad_hi_sat_s32(a: i32, b: i32, c: i32) -> i32 {
    a.high_mul(b).saturating_add(c)
}

/// The 48-bit product of the low 24 bits of two registers, zero-extended.
#[inline(always)]
fn product24_u32(a: u32, b: u32) -> u64 {
    u64::from(a & 0x00ff_ffff) * u64::from(b & 0x00ff_ffff)
}

/// The 48-bit product of the low 24 bits of two registers, sign-extended.
#[inline(always)]
fn product24_s32(a: i32, b: i32) -> i64 {
    i64::from((a << 8) >> 8) * i64::from((b << 8) >> 8)
}

/// `mul24.lo.u32`: bits 31..0 of the 48-bit product.
#[inline(always)]
pub fn mul24_lo_u32(a: u32, b: u32) -> u32 {
    product24_u32(a, b) as u32
}

/// `mul24.lo.s32`: bits 31..0 of the 48-bit product.
#[inline(always)]
pub fn mul24_lo_s32(a: i32, b: i32) -> i32 {
    product24_s32(a, b) as i32
}

/// `mul24.hi.u32`: bits 47..16 of the 48-bit product.
#[inline(always)]
pub fn mul24_hi_u32(a: u32, b: u32) -> u32 {
    (product24_u32(a, b) >> 16) as u32
}

/// `mul24.hi.s32`: bits 47..16 of the 48-bit product.
#[inline(always)]
pub fn mul24_hi_s32(a: i32, b: i32) -> i32 {
    (product24_s32(a, b) >> 16) as i32
}

/// `mad24.lo.u32`.
#[inline(always)]
pub fn mad24_lo_u32(a: u32, b: u32, c: u32) -> u32 {
    mul24_lo_u32(a, b).wrapping_add(c)
}

/// `mad24.lo.s32`.
#[inline(always)]
pub fn mad24_lo_s32(a: i32, b: i32, c: i32) -> i32 {
    mul24_lo_s32(a, b).wrapping_add(c)
}

/// `mad24.hi.u32`.
#[inline(always)]
pub fn mad24_hi_u32(a: u32, b: u32, c: u32) -> u32 {
    mul24_hi_u32(a, b).wrapping_add(c)
}

/// `mad24.hi.s32`.
#[inline(always)]
pub fn mad24_hi_s32(a: i32, b: i32, c: i32) -> i32 {
    mul24_hi_s32(a, b).wrapping_add(c)
}

/// `mad24.hi.sat.s32`: the addition clamps to MININT..MAXINT.
#[inline(always)]
pub fn mad24_hi_sat_s32(a: i32, b: i32, c: i32) -> i32 {
    mul24_hi_s32(a, b).saturating_add(c)
}

/// `sad.type`: `c + |a - b|`, modulo 2ⁿ.
#[inline(always)]
pub fn sad<T: Integer>(a: T, b: T, c: T) -> T {
    let difference = if a < b { b.wrapping_sub(a) } else { a.wrapping_sub(b) };
    c.wrapping_add(difference)
}

/// `div.type`: truncates towards zero.
///
/// The manual leaves division by zero unspecified; here it yields all ones, as GPUs do. The
/// signed `MIN / -1` wraps to `MIN`.
#[inline(always)]
pub fn div<T: Integer>(a: T, b: T) -> T {
    if b == T::ZERO { T::ONES } else { a.wrapping_div(b) }
}

/// `rem.type`: has the sign of `a`.
///
/// The manual leaves the remainder by zero unspecified; here it is all ones, as in the code that
/// `ptxas` emits for every width and sign. The signed `MIN % -1` is 0.
#[inline(always)]
pub fn rem<T: Integer>(a: T, b: T) -> T {
    if b == T::ZERO { T::ONES } else { a.wrapping_rem(b) }
}

/// `abs.type`: the most negative value is its own absolute value.
#[inline(always)]
pub fn abs<T: Integer>(a: T) -> T {
    if a.is_negative() { T::ZERO.wrapping_sub(a) } else { a }
}

/// `neg.type`: the most negative value is its own negation.
#[inline(always)]
pub fn neg<T: Integer>(a: T) -> T {
    T::ZERO.wrapping_sub(a)
}

/// `min.type`.
#[inline(always)]
pub fn min<T: Integer>(a: T, b: T) -> T {
    if a < b { a } else { b }
}

/// `max.type`.
#[inline(always)]
pub fn max<T: Integer>(a: T, b: T) -> T {
    if a > b { a } else { b }
}

/// `min.relu.s32`: a negative result becomes 0.
#[inline(always)]
pub fn min_relu_s32(a: i32, b: i32) -> i32 {
    min(a, b).max(0)
}

/// `max.relu.s32`: a negative result becomes 0.
#[inline(always)]
pub fn max_relu_s32(a: i32, b: i32) -> i32 {
    max(a, b).max(0)
}

/// Three-input `min`.
#[inline(always)]
pub fn min3<T: Integer>(a: T, b: T, c: T) -> T {
    min(min(a, b), c)
}

/// Three-input `max`.
#[inline(always)]
pub fn max3<T: Integer>(a: T, b: T, c: T) -> T {
    max(max(a, b), c)
}

/// The product of polynomials over the integers modulo 2, bit `i` being the coefficient of `xⁱ`:
/// multiplication whose partial products are combined without carries. `clmad` adds one half of
/// it, which here is exclusive or as well.
#[must_use]
pub const fn carryless_product(a: u64, b: u64) -> u128 {
    let (mut product, mut left, mut shifted) = (0, a, b as u128);
    while left != 0 {
        if left & 1 != 0 {
            product ^= shifted;
        }
        left >>= 1;
        shifted <<= 1;
    }
    product
}
