//! Operations on packed small integers: `.u16x2`, `.s16x2`, `.u8x4`, `.s8x4` (PTX ISA 9.7.1),
//! `dp4a` and `dp2a`.

use super::integer;

/// Applies `f` to both unsigned half-words.
#[inline(always)]
fn map_u16x2(a: u32, b: u32, f: impl Fn(u16, u16) -> u16) -> u32 {
    let low = f(a as u16, b as u16);
    let high = f((a >> 16) as u16, (b >> 16) as u16);
    u32::from(high) << 16 | u32::from(low)
}

/// Applies `f` to both signed half-words.
#[inline(always)]
fn map_s16x2(a: u32, b: u32, f: impl Fn(i16, i16) -> i16) -> u32 {
    map_u16x2(a, b, |a, b| f(a as i16, b as i16) as u16)
}

/// `add.u16x2` and `add.s16x2`: both half-words wrap on their own.
#[inline(always)]
pub fn add_16x2(a: u32, b: u32) -> u32 {
    map_u16x2(a, b, integer::add)
}

/// `min.u16x2`.
#[inline(always)]
pub fn min_u16x2(a: u32, b: u32) -> u32 {
    map_u16x2(a, b, integer::min)
}

/// `max.u16x2`.
#[inline(always)]
pub fn max_u16x2(a: u32, b: u32) -> u32 {
    map_u16x2(a, b, integer::max)
}

/// `min.s16x2`.
#[inline(always)]
pub fn min_s16x2(a: u32, b: u32) -> u32 {
    map_s16x2(a, b, integer::min)
}

/// `max.s16x2`.
#[inline(always)]
pub fn max_s16x2(a: u32, b: u32) -> u32 {
    map_s16x2(a, b, integer::max)
}

/// `min.relu.s16x2`: a negative half-word becomes 0.
#[inline(always)]
pub fn min_relu_s16x2(a: u32, b: u32) -> u32 {
    map_s16x2(a, b, |a, b| integer::min(a, b).max(0))
}

/// `max.relu.s16x2`: a negative half-word becomes 0.
#[inline(always)]
pub fn max_relu_s16x2(a: u32, b: u32) -> u32 {
    map_s16x2(a, b, |a, b| integer::max(a, b).max(0))
}

/// Applies `f` to all four unsigned bytes.
#[inline(always)]
fn map_u8x4(a: u32, b: u32, f: impl Fn(u8, u8) -> u8) -> u32 {
    let (a, b) = (a.to_le_bytes(), b.to_le_bytes());
    u32::from_le_bytes([0, 1, 2, 3].map(|i| f(a[i], b[i])))
}

/// Applies `f` to all four signed bytes.
#[inline(always)]
fn map_s8x4(a: u32, b: u32, f: impl Fn(i8, i8) -> i8) -> u32 {
    map_u8x4(a, b, |a, b| f(a as i8, b as i8) as u8)
}

/// `add.sat.u16x2`.
#[inline(always)]
pub fn add_sat_u16x2(a: u32, b: u32) -> u32 {
    map_u16x2(a, b, u16::saturating_add)
}

/// `add.sat.s16x2`.
#[inline(always)]
pub fn add_sat_s16x2(a: u32, b: u32) -> u32 {
    map_s16x2(a, b, i16::saturating_add)
}

/// `add.u8x4` and `add.s8x4`: every byte wraps on its own.
#[inline(always)]
pub fn add_8x4(a: u32, b: u32) -> u32 {
    map_u8x4(a, b, integer::add)
}

/// `add.sat.u8x4`.
#[inline(always)]
pub fn add_sat_u8x4(a: u32, b: u32) -> u32 {
    map_u8x4(a, b, u8::saturating_add)
}

/// `add.sat.s8x4`.
#[inline(always)]
pub fn add_sat_s8x4(a: u32, b: u32) -> u32 {
    map_s8x4(a, b, i8::saturating_add)
}

/// `sub.u8x4` and `sub.s8x4`: every byte wraps on its own.
#[inline(always)]
pub fn sub_8x4(a: u32, b: u32) -> u32 {
    map_u8x4(a, b, integer::sub)
}

/// `sub.sat.u8x4`.
#[inline(always)]
pub fn sub_sat_u8x4(a: u32, b: u32) -> u32 {
    map_u8x4(a, b, u8::saturating_sub)
}

/// `sub.sat.s8x4`.
#[inline(always)]
pub fn sub_sat_s8x4(a: u32, b: u32) -> u32 {
    map_s8x4(a, b, i8::saturating_sub)
}

/// `neg.s8x4`: -128 is its own negation.
#[inline(always)]
pub fn neg_s8x4(a: u32) -> u32 {
    sub_8x4(0, a)
}

/// `min.u8x4`.
#[inline(always)]
pub fn min_u8x4(a: u32, b: u32) -> u32 {
    map_u8x4(a, b, integer::min)
}

/// `max.u8x4`.
#[inline(always)]
pub fn max_u8x4(a: u32, b: u32) -> u32 {
    map_u8x4(a, b, integer::max)
}

/// `min{.relu}.s8x4`: with `RELU` a negative byte becomes 0.
#[inline(always)]
pub fn min_s8x4<const RELU: bool>(a: u32, b: u32) -> u32 {
    map_s8x4(a, b, |a, b| integer::min(a, b).max(if RELU { 0 } else { i8::MIN }))
}

/// `max{.relu}.s8x4`: with `RELU` a negative byte becomes 0.
#[inline(always)]
pub fn max_s8x4<const RELU: bool>(a: u32, b: u32) -> u32 {
    map_s8x4(a, b, |a, b| integer::max(a, b).max(if RELU { 0 } else { i8::MIN }))
}

/// Byte `i` of a register, sign- or zero-extended.
#[inline(always)]
fn byte<const SIGNED: bool>(x: u32, i: u32) -> i32 {
    let raw = (x >> (8 * i)) as u8;
    if SIGNED { i32::from(raw as i8) } else { i32::from(raw) }
}

/// Half-word `i` of a register, sign- or zero-extended.
#[inline(always)]
fn half_word<const SIGNED: bool>(x: u32, i: u32) -> i32 {
    let raw = (x >> (16 * i)) as u16;
    if SIGNED { i32::from(raw as i16) } else { i32::from(raw) }
}

/// `dp4a.atype.btype`: `c` plus the dot product of four bytes; the flags say which side is `.s32`.
#[inline(always)]
pub fn dp4a<const A_SIGNED: bool, const B_SIGNED: bool>(a: u32, b: u32, c: u32) -> u32 {
    let term = |i| byte::<A_SIGNED>(a, i) * byte::<B_SIGNED>(b, i);
    c.wrapping_add((term(0) + term(1) + term(2) + term(3)) as u32)
}

/// `dp2a.mode.atype.btype`: `c` plus the dot product of the half-words of `a` with two bytes of
/// `b`, the upper two for `.hi`.
#[inline(always)]
pub fn dp2a<const A_SIGNED: bool, const B_SIGNED: bool, const HIGH: bool>(
    a: u32,
    b: u32,
    c: u32,
) -> u32 {
    let first = if HIGH { 2 } else { 0 };
    let term = |i| half_word::<A_SIGNED>(a, i) * byte::<B_SIGNED>(b, first + i);
    c.wrapping_add((term(0) + term(1)) as u32)
}
