//! Bit counting and bit fields (PTX ISA 9.7.1): `popc` to `szext`.

use super::integer::Integer;

/// `popc.type`: the number of set bits.
#[inline(always)]
pub fn popc<T: Integer>(a: T) -> u32 {
    a.count_ones()
}

/// `clz.type`: the number of leading zeros; the width of the type for 0.
#[inline(always)]
pub fn clz<T: Integer>(a: T) -> u32 {
    a.leading_zeros()
}

/// `bfind.type`: the position of the most significant non-sign bit, or `0xffffffff`.
#[inline(always)]
pub fn bfind<T: Integer>(a: T) -> u32 {
    let magnitude = if a.is_negative() { !a } else { a };
    (T::BITS - 1).wrapping_sub(magnitude.leading_zeros())
}

/// `bfind.shiftamt.type`: the shift to the left that makes the bit that `bfind` finds the most
/// significant one, or `0xffffffff`.
#[inline(always)]
pub fn bfind_shiftamt<T: Integer>(a: T) -> u32 {
    let magnitude = if a.is_negative() { !a } else { a };
    let zeros = magnitude.leading_zeros();
    if zeros == T::BITS { u32::MAX } else { zeros }
}

/// `fns.b32`: the position of the n-th set bit of `mask` from `base`, or `0xffffffff`.
///
/// The manual leaves `base > 31` undefined; nothing is found there.
#[inline(always)]
pub fn fns(mask: u32, base: u32, offset: i32) -> u32 {
    if base > 31 {
        return u32::MAX;
    }
    let (mut candidates, nth) = match offset {
        0 => (mask & (1 << base), 1),
        1.. => (mask & (u32::MAX << base), offset.unsigned_abs()),
        _ => ((mask & (u32::MAX >> (31 - base))).reverse_bits(), offset.unsigned_abs()),
    };
    if candidates.count_ones() < nth {
        return u32::MAX;
    }
    for _ in 1..nth {
        candidates &= candidates - 1;
    }
    let position = candidates.trailing_zeros();
    if offset < 0 { 31 - position } else { position }
}

/// `brev.type`: the bits in opposite order.
#[inline(always)]
pub fn brev<T: Integer>(a: T) -> T {
    a.reverse_bits()
}

/// The lowest `len` bits set, for any `len`.
#[inline(always)]
fn low_ones<T: Integer>(len: u32) -> T {
    if len >= T::BITS { T::ONES } else { !T::ONES.shift_left(len) }
}

/// `a` shifted right without sign, 0 once every bit has left.
#[inline(always)]
fn shift_out_right<T: Integer>(a: T, n: u32) -> T {
    if n >= T::BITS { T::ZERO } else { a.shift_right_logical(n) }
}

/// A position or length of [`bfe`] and [`bfi`], which the manual restricts to 0..255.
///
/// Beyond them an H200 differs by type: 32-bit types take the low byte, 64-bit ones all bits.
#[inline(always)]
fn in_a_byte<T: Integer>(n: u32) -> u32 {
    if T::BITS == 64 { n.min(0xff) } else { n & 0xff }
}

/// `bfe.type`: the field of `len` bits of `a` from bit `pos`; a signed type replicates the field's
/// top bit.
#[inline(always)]
pub fn bfe<T: Integer>(a: T, pos: u32, len: u32) -> T {
    let (pos, len) = (in_a_byte::<T>(pos), in_a_byte::<T>(len));
    let msb = T::BITS - 1;
    let sign_position = (pos + len).wrapping_sub(1).min(msb);
    let negative = T::ONES.is_negative()
        & (len != 0)
        & (a.shift_right_logical(sign_position) & T::ONE == T::ONE);
    // Bits of the result that hold a bit of `a`: the field may run past the top of `a`.
    let kept = low_ones::<T>(len) & shift_out_right(T::ONES, pos);
    let fill = if negative { T::ONES } else { T::ZERO };
    (shift_out_right(a, pos) & kept) | (fill & !kept)
}

/// `bfi.type`: `b` with the low `len` bits of `a` inserted at bit `pos`.
#[inline(always)]
pub fn bfi<T: Integer>(a: T, b: T, pos: u32, len: u32) -> T {
    let (pos, len) = (in_a_byte::<T>(pos), in_a_byte::<T>(len));
    let (mask, field) = if pos >= T::BITS {
        (T::ZERO, T::ZERO)
    } else {
        (low_ones::<T>(len).shift_left(pos), a.shift_left(pos))
    };
    (b & !mask) | (field & mask)
}

/// `bmsk.clamp.b32`: `width` ones from bit `position`; positions and widths of 32 or more clamp.
#[inline(always)]
pub fn bmsk_clamp(position: u32, width: u32) -> u32 {
    (low_ones::<u64>(width.min(32)) << position.min(32)) as u32
}

/// `bmsk.wrap.b32`: `width & 31` ones from bit `position & 31`.
#[inline(always)]
pub fn bmsk_wrap(position: u32, width: u32) -> u32 {
    bmsk_clamp(position & 31, width & 31)
}

/// `szext.clamp.u32`: the low `n` bits of `a`; `a` itself for `n` of 32 or more.
#[inline(always)]
pub fn szext_clamp_u32(a: u32, n: u32) -> u32 {
    a & low_ones::<u32>(n)
}

/// `szext.wrap.u32`: the low `n & 31` bits of `a`.
#[inline(always)]
pub fn szext_wrap_u32(a: u32, n: u32) -> u32 {
    szext_clamp_u32(a, n & 31)
}

/// `szext.clamp.s32`: the low `n` bits of `a`, sign-extended; `a` itself for `n` of 32 or more.
#[inline(always)]
pub fn szext_clamp_s32(a: i32, n: u32) -> i32 {
    let unused = 32 - n.min(32);
    if n == 0 { 0 } else { a.wrapping_shl(unused).wrapping_shr(unused) }
}

/// `szext.wrap.s32`: the low `n & 31` bits of `a`, sign-extended; 0 for none.
#[inline(always)]
pub fn szext_wrap_s32(a: i32, n: u32) -> i32 {
    szext_clamp_s32(a, n & 31)
}
