//! Operations whose operands are predicates or other lanes' registers.
//!
//! Functions that are unsafe need the invariants of [`Frame`], and an operation of its program.

#![allow(unsafe_code, reason = "operands of checked programs are not checked again")]
#![allow(non_snake_case, reason = "the functions are named after the codes that they implement")]

use super::*;

/// `selp`: `dst = c ? a : b`, `c` a predicate, inverted if `n` is 1.
#[inline(always)]
unsafe fn select<T: Lane>(frame: &Frame, op: &Op, mask: u32) {
    // SAFETY: `a`, `b` and `dst` are rows of type `T`, `c` is a predicate.
    unsafe {
        let a = frame.row::<T>(op.a);
        let b = frame.row::<T>(op.b);
        let p = frame.predicate(op.c) ^ u32::from(op.n).wrapping_neg();
        let mut result = *b;
        for lane in 0..32 {
            result[lane] = if p >> lane & 1 != 0 { a[lane] } else { b[lane] };
        }
        frame.set_row::<T>(op.dst, mask, result);
    }
}

#[inline(always)]
pub(super) unsafe fn Select32(frame: &Frame, op: &Op, mask: u32) {
    // SAFETY: by the contract.
    unsafe { select::<u32>(frame, op, mask) }
}

#[inline(always)]
pub(super) unsafe fn Select64(frame: &Frame, op: &Op, mask: u32) {
    // SAFETY: by the contract.
    unsafe { select::<u64>(frame, op, mask) }
}

/// Predicate logic: `dst = a OP b` with `n`: 0 and, 1 or, 2 xor, 3 a, 4 !a.
#[inline(always)]
pub(super) unsafe fn PredicateLogic(frame: &Frame, op: &Op, mask: u32) {
    // SAFETY: all operands are predicates.
    unsafe {
        let a = frame.predicate(op.a);
        let b = frame.predicate(op.b);
        let result = match op.n {
            0 => a & b,
            1 => a | b,
            2 => a ^ b,
            3 => a,
            _ => !a,
        };
        frame.set_predicate(op.dst, mask, result);
    }
}

/// `dst = n != 0` for all lanes.
#[inline(always)]
pub(super) unsafe fn PredicateConstant(frame: &Frame, op: &Op, mask: u32) {
    // SAFETY: the destination is a predicate.
    unsafe { frame.set_predicate(op.dst, mask, u32::from(op.n).wrapping_neg()) }
}

/// `dst = a + b + carry(c)`, 32 bits; `n = 1` inverts the carry (borrow form).
#[inline(always)]
pub(super) unsafe fn AddCarry32(frame: &Frame, op: &Op, mask: u32) {
    // SAFETY: rows of `u32`, `c` is a predicate.
    unsafe {
        let (a, b) = (frame.row::<u32>(op.a), frame.row::<u32>(op.b));
        let carry = frame.predicate(op.c);
        let mut result = [0; 32];
        for lane in 0..32 {
            result[lane] = a[lane].wrapping_add(b[lane]).wrapping_add(carry >> lane & 1);
        }
        frame.set_row::<u32>(op.dst, mask, result);
    }
}

/// `dst = a + b + carry(c)`, 64 bits.
#[inline(always)]
pub(super) unsafe fn AddCarry64(frame: &Frame, op: &Op, mask: u32) {
    // SAFETY: rows of `u64`, `c` is a predicate.
    unsafe {
        let (a, b) = (frame.row::<u64>(op.a), frame.row::<u64>(op.b));
        let carry = frame.predicate(op.c);
        let mut result = [0; 32];
        for lane in 0..32 {
            let carry = u64::from(carry >> lane & 1);
            result[lane] = a[lane].wrapping_add(b[lane]).wrapping_add(carry);
        }
        frame.set_row::<u64>(op.dst, mask, result);
    }
}

/// The predicate `dst` becomes the carry out of `a + b + carry(c)`, 32 bits.
#[inline(always)]
pub(super) unsafe fn CarryOut32(frame: &Frame, op: &Op, mask: u32) {
    // SAFETY: rows of `u32`; `c` and `dst` are predicates.
    unsafe {
        let (a, b) = (frame.row::<u32>(op.a), frame.row::<u32>(op.b));
        let carry = frame.predicate(op.c);
        let mut result = 0;
        for lane in 0..32 {
            let sum = u64::from(a[lane]) + u64::from(b[lane]) + u64::from(carry >> lane & 1);
            result |= ((sum >> 32) as u32) << lane;
        }
        frame.set_predicate(op.dst, mask, result);
    }
}

/// The predicate `dst` becomes the carry out of `a + b + carry(c)`, 64 bits.
#[inline(always)]
pub(super) unsafe fn CarryOut64(frame: &Frame, op: &Op, mask: u32) {
    // SAFETY: rows of `u64`; `c` and `dst` are predicates.
    unsafe {
        let (a, b) = (frame.row::<u64>(op.a), frame.row::<u64>(op.b));
        let carry = frame.predicate(op.c);
        let mut result = 0;
        for lane in 0..32 {
            let (sum, first) = a[lane].overflowing_add(b[lane]);
            let (_, second) = sum.overflowing_add(u64::from(carry >> lane & 1));
            result |= u32::from(first | second) << lane;
        }
        frame.set_predicate(op.dst, mask, result);
    }
}

/// `shfl`: `dst = a` of the source lane; `b` offset, `c` clamp and segment mask, `n` mode.
#[inline(always)]
pub(super) unsafe fn Shuffle(frame: &Frame, op: &Op, mask: u32) {
    // SAFETY: rows of `u32`.
    unsafe {
        let (a, b, c) = (frame.row::<u32>(op.a), frame.row::<u32>(op.b), frame.row::<u32>(op.c));
        let mut result = [0; 32];
        for lane in 0..32u32 {
            let at = lane as usize;
            result[at] = a[shuffle::source_lane(op.n, lane, b[at], c[at]).0 as usize];
        }
        frame.set_row::<u32>(op.dst, mask, result);
    }
}

/// The predicate of `shfl`: true if the source lane is in range.
#[inline(always)]
pub(super) unsafe fn ShuffleInRange(frame: &Frame, op: &Op, mask: u32) {
    // SAFETY: rows of `u32`; the destination is a predicate.
    unsafe {
        let (b, c) = (frame.row::<u32>(op.b), frame.row::<u32>(op.c));
        let mut result = 0;
        for lane in 0..32u32 {
            let at = lane as usize;
            result |= u32::from(shuffle::source_lane(op.n, lane, b[at], c[at]).1) << lane;
        }
        frame.set_predicate(op.dst, mask, result);
    }
}

/// Calls `f` once for each group of lanes that communicate: those of `mask` whose member masks
/// are the same and name them, or all of `mask` where the instruction has no member mask.
#[inline(always)]
fn for_groups(frame: &Frame, op: &Op, mask: u32, mut f: impl FnMut(u32)) {
    if op.n & MEMBERS == 0 {
        return f(mask);
    }
    // A copy, because a result may be written over it.
    let members = frame.lanes::<u32>(op.b);
    let mut rest = mask;
    while rest != 0 {
        let first = rest.trailing_zeros() & 31;
        let named = members[first as usize];
        let mut same = 0;
        for (lane, &members) in members.iter().enumerate() {
            same |= u32::from(members == named) << lane;
        }
        // A lane outside its own mask, which the manual leaves undefined, is on its own.
        let group = (rest & same & named) | 1 << first;
        f(group);
        rest &= !group;
    }
}

/// `vote`: from predicate `a` (inverted if `n & 4`) over the executing lanes to predicate
/// `dst`; `n & 3`: 0 all, 1 any, 2 uni.
#[inline(always)]
pub(super) fn Vote(frame: &Frame, op: &Op, mask: u32) {
    let invert = if op.n & 4 != 0 { FULL_MASK } else { 0 };
    let votes = frame.lanes_where(op.a) ^ invert;
    for_groups(frame, op, mask, |group| {
        let votes = votes & group;
        let result = match op.n & 3 {
            0 => votes == group,
            1 => votes != 0,
            _ => votes == 0 || votes == group,
        };
        frame.set_lanes_where(op.dst, group, u32::from(result).wrapping_neg());
    });
}

/// `vote.ballot`: predicate `a` (inverted if `n` is 4) to a row.
#[inline(always)]
pub(super) fn Ballot(frame: &Frame, op: &Op, mask: u32) {
    let votes = frame.lanes_where(op.a) ^ if op.n & 4 != 0 { FULL_MASK } else { 0 };
    for_groups(frame, op, mask, |group| frame.fill_lanes(op.dst, group, votes & group));
}

/// `activemask`.
#[inline(always)]
pub(super) fn ActiveMask(frame: &Frame, op: &Op, mask: u32) {
    frame.fill_lanes(op.dst, mask, mask);
}

/// `elect`: the lowest executing lane; its index to row `dst`, the choice to predicate `c`.
#[inline(always)]
pub(super) fn Elect(frame: &Frame, op: &Op, mask: u32) {
    for_groups(frame, op, mask, |group| {
        frame.set_lanes_where(op.c, group, group & group.wrapping_neg());
        frame.fill_lanes(op.dst, group, group.trailing_zeros());
    });
}

#[inline(always)]
fn match_any<T: Lane<Store: PartialEq>>(frame: &Frame, op: &Op, mask: u32) {
    let a = frame.lanes::<T>(op.a);
    for_groups(frame, op, mask, |group| {
        let mut result = [0; 32];
        for lane in 0..32 {
            for other in 0..32 {
                result[lane] |= u32::from(a[lane] == a[other]) << other;
            }
            result[lane] &= group;
        }
        frame.set_lanes::<u32>(op.dst, group, result);
    });
}

#[inline(always)]
pub(super) fn MatchAny32(frame: &Frame, op: &Op, mask: u32) {
    match_any::<u32>(frame, op, mask);
}

#[inline(always)]
pub(super) fn MatchAny64(frame: &Frame, op: &Op, mask: u32) {
    match_any::<u64>(frame, op, mask);
}

/// `match.all`: row `dst` gets the executing lanes if all agree, else 0; predicate `c` is true if
/// they do.
#[inline(always)]
fn match_all<T: Lane<Store: PartialEq>>(frame: &Frame, op: &Op, mask: u32) {
    let a = frame.lanes::<T>(op.a);
    for_groups(frame, op, mask, |group| {
        let first = a[(group.trailing_zeros() & 31) as usize];
        let equal = (0..32).all(|lane| group >> lane & 1 == 0 || a[lane] == first);
        frame.set_lanes_where(op.c, group, u32::from(equal).wrapping_neg());
        frame.fill_lanes(op.dst, group, if equal { group } else { 0 });
    });
}

#[inline(always)]
pub(super) fn MatchAll32(frame: &Frame, op: &Op, mask: u32) {
    match_all::<u32>(frame, op, mask);
}

#[inline(always)]
pub(super) fn MatchAll64(frame: &Frame, op: &Op, mask: u32) {
    match_all::<u64>(frame, op, mask);
}

/// `redux.sync` on integers; `n`: 0 add, 1 min.u, 2 max.u, 3 min.s, 4 max.s, 5 and, 6 or,
/// 7 xor.
#[inline(always)]
pub(super) fn Redux(frame: &Frame, op: &Op, mask: u32) {
    let a = frame.lanes::<u32>(op.a);
    for_groups(frame, op, mask, |group| {
        let values = (0..32).filter(|lane| group >> lane & 1 != 0).map(|lane| a[lane]);
        let result = match op.n & 7 {
            0 => values.fold(0, u32::wrapping_add),
            1 => values.fold(u32::MAX, u32::min),
            2 => values.fold(0, u32::max),
            3 => values.fold(i32::MAX as u32, |x, y| (x as i32).min(y as i32) as u32),
            4 => values.fold(i32::MIN as u32, |x, y| (x as i32).max(y as i32) as u32),
            5 => values.fold(u32::MAX, |x, y| x & y),
            6 => values.fold(0, |x, y| x | y),
            _ => values.fold(0, |x, y| x ^ y),
        };
        frame.fill_lanes(op.dst, group, result);
    });
}

/// `redux.sync` on `.f32`; see [`extremum`] for `n`. Compiled once for all CPU levels.
#[inline(never)]
pub(super) fn ReduxF32(frame: &Frame, op: &Op, mask: u32) {
    let a = frame.lanes::<f32>(op.a);
    let magnitude = if op.n & extremum::ABS != 0 { 0x7fff_ffff } else { u32::MAX };
    let combine = |a: f32, b: f32| match op.n & extremum::MAX {
        0 => extremum!(op.n, float::min_f32, [], a, b),
        _ => extremum!(op.n, float::max_f32, [], a, b),
    };
    for_groups(frame, op, mask, |group| {
        let value = |lane: usize| f32::from_bits(a[lane] & magnitude);
        let first = value((group.trailing_zeros() & 31) as usize);
        let lanes = (0..32).filter(|lane| group >> lane & 1 != 0);
        // The first lane combines with itself, too: a NaN alone becomes canonical.
        let result = lanes.fold(first, |result, lane| combine(result, value(lane)));
        frame.fill_lanes(op.dst, group, result.to_bits());
    });
}

/// The predicate `dst` becomes `a != 0`, combined with `c` like a comparison.
#[inline(never)]
pub(super) unsafe fn NotZero32(frame: &Frame, op: &Op, mask: u32) {
    // SAFETY: `a` is a row, `c` and `dst` are predicates.
    unsafe {
        let a = frame.row::<u32>(op.a);
        let result = (0..32).fold(0, |result, lane| result | u32::from(a[lane] != 0) << lane);
        finish_comparison(frame, op, mask, result);
    }
}
