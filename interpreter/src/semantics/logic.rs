//! Logic, shifts and byte permutation (PTX ISA 9.7.8 and `prmt` in 9.7.9).

use super::integer::Integer;

/// `and.type`.
#[inline(always)]
pub fn and<T: Integer>(a: T, b: T) -> T {
    a & b
}

/// `or.type`.
#[inline(always)]
pub fn or<T: Integer>(a: T, b: T) -> T {
    a | b
}

/// `xor.type`.
#[inline(always)]
pub fn xor<T: Integer>(a: T, b: T) -> T {
    a ^ b
}

/// `not.type`.
#[inline(always)]
pub fn not<T: Integer>(a: T) -> T {
    !a
}

/// `cnot.type`: 1 where `a` is 0, else 0.
#[inline(always)]
pub fn cnot<T: Integer>(a: T) -> T {
    if a == T::ZERO { T::ONE } else { T::ZERO }
}

/// `lop3.b32`: any function of three bits, `table` being its truth table.
///
/// Bit `4a + 2b + c` of `table` is the result for the bits `a`, `b`, `c`.
#[inline(always)]
pub fn lop3(a: u32, b: u32, c: u32, table: u8) -> u32 {
    // All bits set where the entry of the table is 1. Constant across the lanes of a warp.
    let entry = |i: u32| 0u32.wrapping_sub(u32::from(table >> i) & 1);
    let when_b = |i: u32| {
        let b1 = (c & entry(i + 3)) | (!c & entry(i + 2));
        let b0 = (c & entry(i + 1)) | (!c & entry(i));
        (b & b1) | (!b & b0)
    };
    (a & when_b(4)) | (!a & when_b(0))
}

/// `shf.l.clamp.b32`: the upper word of `[b, a] << min(n, 32)`.
#[inline(always)]
pub fn shf_l_clamp(a: u32, b: u32, n: u32) -> u32 {
    ((concatenate(b, a) << n.min(32)) >> 32) as u32
}

/// `shf.l.wrap.b32`: the upper word of `[b, a] << (n & 31)`.
#[inline(always)]
pub fn shf_l_wrap(a: u32, b: u32, n: u32) -> u32 {
    ((concatenate(b, a) << (n & 31)) >> 32) as u32
}

/// `shf.r.clamp.b32`: the lower word of `[b, a] >> min(n, 32)`.
#[inline(always)]
pub fn shf_r_clamp(a: u32, b: u32, n: u32) -> u32 {
    (concatenate(b, a) >> n.min(32)) as u32
}

/// `shf.r.wrap.b32`: the lower word of `[b, a] >> (n & 31)`.
#[inline(always)]
pub fn shf_r_wrap(a: u32, b: u32, n: u32) -> u32 {
    (concatenate(b, a) >> (n & 31)) as u32
}

#[inline(always)]
fn concatenate(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

/// `shl.type`: amounts of the width or more give 0.
#[inline(always)]
pub fn shl<T: Integer>(a: T, n: u32) -> T {
    if n < T::BITS { a.shift_left(n) } else { T::ZERO }
}

/// `shr.type`: unsigned types fill with zeros, signed ones with the sign; amounts clamp to the
/// width.
#[inline(always)]
pub fn shr<T: Integer>(a: T, n: u32) -> T {
    let fill = if a.is_negative() { T::ONES } else { T::ZERO };
    if n < T::BITS { a.shift_right(n) } else { fill }
}

/// `prmt.b32`: each nibble of `selector` picks a byte of `[b, a]`, or its replicated sign.
#[inline(always)]
pub fn prmt(a: u32, b: u32, selector: u32) -> u32 {
    let source = concatenate(b, a);
    let pick = |i: u32| {
        let control = selector >> (4 * i);
        let byte = (source >> (8 * (control & 7))) as u32 & 0xff;
        let sign = if byte >> 7 == 1 { 0xff } else { 0 };
        let picked = if control & 8 == 0 { byte } else { sign };
        picked << (8 * i)
    };
    pick(0) | pick(1) | pick(2) | pick(3)
}

/// The four source bytes, from the highest down, that a mode of `prmt` picks for each value of
/// the control's low two bits.
#[inline(always)]
fn prmt_mode(a: u32, b: u32, control: u32, selectors: [u32; 4]) -> u32 {
    prmt(a, b, selectors[(control & 3) as usize])
}

/// `prmt.b32.f4e`: four bytes forward from byte `control & 3`.
#[inline(always)]
pub fn prmt_f4e(a: u32, b: u32, control: u32) -> u32 {
    prmt_mode(a, b, control, [0x3210, 0x4321, 0x5432, 0x6543])
}

/// `prmt.b32.b4e`: four bytes backward from byte `control & 3`.
#[inline(always)]
pub fn prmt_b4e(a: u32, b: u32, control: u32) -> u32 {
    prmt_mode(a, b, control, [0x5670, 0x6701, 0x7012, 0x0123])
}

/// `prmt.b32.rc8`: byte `control & 3` of `a`, four times.
#[inline(always)]
pub fn prmt_rc8(a: u32, b: u32, control: u32) -> u32 {
    prmt_mode(a, b, control, [0x0000, 0x1111, 0x2222, 0x3333])
}

/// `prmt.b32.ecl`: edge clamp left.
#[inline(always)]
pub fn prmt_ecl(a: u32, b: u32, control: u32) -> u32 {
    prmt_mode(a, b, control, [0x3210, 0x3211, 0x3222, 0x3333])
}

/// `prmt.b32.ecr`: edge clamp right.
#[inline(always)]
pub fn prmt_ecr(a: u32, b: u32, control: u32) -> u32 {
    prmt_mode(a, b, control, [0x0000, 0x1110, 0x2210, 0x3210])
}

/// `prmt.b32.rc16`: the half-word `control & 1` of `a`, twice.
#[inline(always)]
pub fn prmt_rc16(a: u32, b: u32, control: u32) -> u32 {
    prmt_mode(a, b, control, [0x1010, 0x3232, 0x1010, 0x3232])
}
