//! Extended-precision integer arithmetic (PTX ISA 9.7.2): the carry chains.
//!
//! Each function takes `CC.CF` as it was and returns the result with `CC.CF` as `.cc` would leave
//! it. `add` and `mad` pass `false`, `sub` passes `true`; a form without `.cc` drops the second
//! value. Widths are 32 and 64 bits; `add` and `sub` ignore the sign, the high halves of `mad` do
//! not.

use super::integer::Integer;

/// `add.cc`, `addc`, `addc.cc`: `a + b + CC.CF` and the carry out.
#[inline(always)]
pub fn addc<T: Integer>(a: T, b: T, carry: bool) -> (T, bool) {
    a.carrying_add(b, carry)
}

/// `sub.cc`, `subc`, `subc.cc`: `a + !b + CC.CF` and the carry out; `sub` passes a carry of one.
#[inline(always)]
pub fn subc<T: Integer>(a: T, b: T, carry: bool) -> (T, bool) {
    a.carrying_add(!b, carry)
}

/// `mad.lo.cc`, `madc.lo`, `madc.lo.cc`: the low half of `a * b`, plus `c`, plus `CC.CF`.
#[inline(always)]
pub fn madc_lo<T: Integer>(a: T, b: T, c: T, carry: bool) -> (T, bool) {
    a.wrapping_mul(b).carrying_add(c, carry)
}

/// `mad.hi.cc`, `madc.hi`, `madc.hi.cc`: the high half of `a * b`, plus `c`, plus `CC.CF`.
#[inline(always)]
pub fn madc_hi<T: Integer>(a: T, b: T, c: T, carry: bool) -> (T, bool) {
    a.high_mul(b).carrying_add(c, carry)
}
