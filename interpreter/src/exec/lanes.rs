//! The inner loop: operations on registers, one warp at a time.
//!
//! [`run_lane_operations`] executes micro-operations from a program counter on until it meets one that
//! needs more than registers. It is compiled once per CPU level (see [`super::level`]); inlined
//! into a function with the level's target features, each lane loop becomes vector code of that
//! level.

#![allow(unsafe_code, reason = "operands of checked programs are not checked again")]

use super::lane::{Lane, Row};
use super::rare;
use crate::program::op::{
    Code, GUARD_REPEATED, GuardPredicate, MEMBERS, Op, compare as flag, extremum,
};
use crate::semantics::{
    Bf16, F16, Rm, Rn, Rp, Rz, approx, bits, compare, convert, float, half, integer, logic,
    minifloat, packed, video,
};

/// All lanes of a warp.
pub(crate) const FULL_MASK: u32 = !0;

/// What the inner loop works on.
///
/// # Invariants
///
/// `Program` construction guarantees that every row and predicate index of every operation is
/// within the warp's register file, wide enough for the operation, and that the operation list
/// ends in one that leaves the loop. `guards` and `guarded_lanes` have as many elements as the
/// program has guarded instructions.
pub(crate) struct Frame {
    pub(crate) ops: *const Op,
    pub(crate) guards: *const GuardPredicate,
    pub(crate) rows: *mut Row,
    pub(crate) predicates: *mut u32,
    pub(crate) guarded_lanes: *mut u64,
}

impl Frame {
    /// The lanes of `mask` that execute `op`, counted if this is the instruction's first.
    ///
    /// # Safety
    ///
    /// The invariants of [`Frame`], and `op` belongs to its program.
    #[inline(always)]
    pub(crate) unsafe fn guard(&self, op: &Op, mask: u32) -> u32 {
        if op.guard == 0 {
            return mask;
        }
        let index = ((op.guard & !GUARD_REPEATED) - 1) as usize;
        // SAFETY: guard indices are in range by the invariants of `Frame`.
        unsafe {
            let guard = *self.guards.add(index);
            let mask = mask & (*self.predicates.add(guard.predicate as usize) ^ guard.invert);
            if op.guard & GUARD_REPEATED == 0 {
                *self.guarded_lanes.add(index) += u64::from(mask.count_ones());
            }
            mask
        }
    }

    /// # Safety
    ///
    /// The invariants of [`Frame`]; `row` is a row operand of type `T`.
    #[inline(always)]
    pub(crate) unsafe fn row<T: Lane>(&self, row: u32) -> &[T::Store; 32] {
        // SAFETY: rows are in range and wide enough, and rows are aligned to 64 bytes.
        unsafe { &*self.rows.add(row as usize).cast() }
    }

    /// # Safety
    ///
    /// As [`Self::row`]; no other reference to the row is alive.
    #[inline(always)]
    #[expect(clippy::mut_from_ref, reason = "the frame hands out rows of a raw register file")]
    pub(crate) unsafe fn row_mut<T: Lane>(&self, row: u32) -> &mut [T::Store; 32] {
        // SAFETY: as in `row`.
        unsafe { &mut *self.rows.add(row as usize).cast() }
    }

    /// # Safety
    ///
    /// The invariants of [`Frame`]; `predicate` is a predicate operand.
    #[inline(always)]
    pub(crate) unsafe fn predicate(&self, predicate: u32) -> u32 {
        // SAFETY: predicate indices are in range.
        unsafe { *self.predicates.add(predicate as usize) }
    }

    /// Write the lanes of `mask` of a predicate.
    ///
    /// # Safety
    ///
    /// As [`Self::predicate`].
    #[inline(always)]
    pub(crate) unsafe fn set_predicate(&self, predicate: u32, mask: u32, value: u32) {
        // SAFETY: predicate indices are in range.
        unsafe {
            let predicate = self.predicates.add(predicate as usize);
            *predicate = (*predicate & !mask) | (value & mask);
        }
    }

    /// Write the lanes of `mask` of a row.
    ///
    /// # Safety
    ///
    /// As [`Self::row_mut`].
    #[inline(always)]
    pub(crate) unsafe fn set_row<T: Lane>(&self, row: u32, mask: u32, value: [T::Store; 32]) {
        // SAFETY: as in `row_mut`; `value` is never a row of the register file.
        let row = unsafe { self.row_mut::<T>(row) };
        if mask == FULL_MASK {
            *row = value;
        } else {
            blend(row, value, mask);
        }
    }

    /// Write the same value to the lanes of `mask`.
    ///
    /// # Safety
    ///
    /// As [`Self::row_mut`].
    #[inline(always)]
    unsafe fn fill_row(&self, row: u32, mask: u32, value: u32) {
        // SAFETY: passed on.
        unsafe { self.set_row::<u32>(row, mask, [value; 32]) }
    }
}

/// Write the lanes of `mask`.
///
/// Not inlined: every operation has this path, and few executions take it. `value` comes by value
/// because a result whose address escapes might overlap the operands' rows, for all the compiler
/// knows, and the lane loop would not vectorise.
#[inline(never)]
fn blend<T: Copy>(row: &mut [T; 32], value: [T; 32], mask: u32) {
    for lane in 0..32 {
        row[lane] = if mask >> lane & 1 != 0 { value[lane] } else { row[lane] };
    }
}

/// Combine a comparison's raw result with its predicate operand as `op.n` says.
///
/// # Safety
///
/// The invariants of [`Frame`].
#[inline(always)]
unsafe fn finish_comparison(frame: &Frame, op: &Op, mask: u32, mut result: u32) {
    if op.n & flag::INVERT != 0 {
        result = !result;
    }
    if op.n >> flag::COMBINE_SHIFT != 0 {
        // SAFETY: an operation that combines has a predicate operand `c`.
        let mut c = unsafe { frame.predicate(op.c) };
        if op.n & flag::INVERT_C != 0 {
            c = !c;
        }
        result = match op.n & flag::XOR {
            flag::AND => result & c,
            flag::OR => result | c,
            _ => result ^ c,
        };
    }
    // SAFETY: the destination of a comparison is a predicate.
    unsafe { frame.set_predicate(op.dst, mask, result) }
}

/// `shfl`: the source lane of each lane, and whether it is in range (manual, 9.7.9.6).
#[inline(always)]
fn shuffle_source(mode: u16, lane: u32, b: u32, c: u32) -> (u32, bool) {
    let clamp = c & 0x1f;
    let segment = (c >> 8) & 0x1f;
    let offset = b & 0x1f;
    let max_lane = (lane & segment) | (clamp & !segment);
    let min_lane = lane & segment;
    let (source, valid) = match mode {
        0 => (lane.wrapping_sub(offset), (lane as i32) - (offset as i32) >= max_lane as i32),
        1 => (lane + offset, lane + offset <= max_lane),
        2 => (lane ^ offset, (lane ^ offset) <= max_lane),
        _ => {
            let source = min_lane | (offset & !segment);
            (source, source <= max_lane)
        }
    };
    if valid { (source & 31, true) } else { (lane, false) }
}

macro_rules! define_lane_loop {
    (
        value { $($(#[$vm:meta])* $value:ident ($($va:tt)*) -> $vr:ty $vb:block)+ }
        cold { $($(#[$dm:meta])* $cold:ident ($($da:tt)*) -> $dr:ty $db:block)+ }
        predicate { $($(#[$pm:meta])* $pred:ident ($($pa:tt)*) $pb:block)+ }
        other { $($(#[$om:meta])* $other:ident,)+ }
        control { $($(#[$cm:meta])* $control:ident,)+ }
    ) => {
        /// Execute operations from `pc` on for the lanes of `mask`, up to the first that is not a
        /// lane operation, and return its index.
        ///
        /// # Safety
        ///
        /// The invariants of [`Frame`]; `pc` is within its operation list.
        #[inline(always)]
        pub(crate) unsafe fn run_lane_operations(frame: &Frame, mut pc: u32, mask: u32) -> u32 {
            // SAFETY: the invariants of `Frame` hold for every operation, row and predicate below.
            unsafe {
                loop {
                    let op = &*frame.ops.add(pc as usize);
                    if !op.code.is_lane_operation() {
                        return pc;
                    }
                    let m = frame.guard(op, mask);
                    if m == 0 {
                        pc += 1;
                        continue;
                    }
                    match op.code {
                        $(Code::$value => value_operation!(frame, op, m, ($($va)*) -> $vr $vb),)+
                        $(Code::$cold)|+ => cold_operation(frame, op, m),
                        $(Code::$pred => predicate_operation!(frame, op, m, ($($pa)*) $pb),)+
                        $(Code::$other => other::$other(frame, op, m),)+
                        // Needs more than registers; `is_lane_operation` has turned it away.
                        $(Code::$control)|+ => return pc,
                    }
                    pc += 1;
                }
            }
        }

        /// One operation of the table's cold part.
        ///
        /// # Safety
        ///
        /// The invariants of [`Frame`]; `op` belongs to its program.
        #[inline(never)]
        unsafe fn cold_operation(frame: &Frame, op: &Op, m: u32) {
            // SAFETY: passed on.
            unsafe {
                match op.code {
                    $(Code::$cold => value_operation!(frame, op, m, ($($da)*) -> $dr $db),)+
                    // The caller has sorted them out.
                    $(Code::$value)|+ | $(Code::$pred)|+ | $(Code::$other)|+ | $(Code::$control)|+ => {}
                }
            }
        }
    };
}

/// One result row from up to three operand rows. `n` names the operation's small immediate.
macro_rules! value_operation {
    ($frame:ident, $op:ident, $m:ident, ($a:ident: $at:ty $(; $n:ident)?) -> $r:ty $body:block) => {{
        let a = $frame.row::<$at>($op.a);
        $(let $n = $op.n;)?
        let mut result = [<$r as Lane>::to_store(Default::default()); 32];
        for lane in 0..32 {
            let $a = <$at as Lane>::from_store(a[lane]);
            let value: $r = $body;
            result[lane] = value.to_store();
        }
        $frame.set_row::<$r>($op.dst, $m, result);
    }};
    ($frame:ident, $op:ident, $m:ident,
     ($a:ident: $at:ty, $b:ident: $bt:ty $(; $n:ident)?) -> $r:ty $body:block) => {{
        let a = $frame.row::<$at>($op.a);
        let b = $frame.row::<$bt>($op.b);
        $(let $n = $op.n;)?
        let mut result = [<$r as Lane>::to_store(Default::default()); 32];
        for lane in 0..32 {
            let $a = <$at as Lane>::from_store(a[lane]);
            let $b = <$bt as Lane>::from_store(b[lane]);
            let value: $r = $body;
            result[lane] = value.to_store();
        }
        $frame.set_row::<$r>($op.dst, $m, result);
    }};
    ($frame:ident, $op:ident, $m:ident,
     ($a:ident: $at:ty, $b:ident: $bt:ty, $c:ident: $ct:ty $(; $n:ident)?) -> $r:ty $body:block) => {{
        let a = $frame.row::<$at>($op.a);
        let b = $frame.row::<$bt>($op.b);
        let c = $frame.row::<$ct>($op.c);
        $(let $n = $op.n;)?
        let mut result = [<$r as Lane>::to_store(Default::default()); 32];
        for lane in 0..32 {
            let $a = <$at as Lane>::from_store(a[lane]);
            let $b = <$bt as Lane>::from_store(b[lane]);
            let $c = <$ct as Lane>::from_store(c[lane]);
            let value: $r = $body;
            result[lane] = value.to_store();
        }
        $frame.set_row::<$r>($op.dst, $m, result);
    }};
}

/// One predicate from one or two operand rows.
macro_rules! predicate_operation {
    ($frame:ident, $op:ident, $m:ident, ($a:ident: $at:ty $(; $n:ident)?) $body:block) => {{
        let a = $frame.row::<$at>($op.a);
        $(let $n = $op.n;)?
        let mut result = 0u32;
        for lane in 0..32 {
            let $a = <$at as Lane>::from_store(a[lane]);
            let value: bool = $body;
            result |= u32::from(value) << lane;
        }
        finish_comparison($frame, $op, $m, result);
    }};
    ($frame:ident, $op:ident, $m:ident, ($a:ident: $at:ty, $b:ident: $bt:ty) $body:block) => {{
        let a = $frame.row::<$at>($op.a);
        let b = $frame.row::<$bt>($op.b);
        let mut result = 0u32;
        for lane in 0..32 {
            let $a = <$at as Lane>::from_store(a[lane]);
            let $b = <$bt as Lane>::from_store(b[lane]);
            let value: bool = $body;
            result |= u32::from(value) << lane;
        }
        finish_comparison($frame, $op, $m, result);
    }};
}

/// Picks a rounding at run time: `n` holds the rounding in bits 0 and 1, ftz in bit 2.
macro_rules! rounded_f32 {
    ($n:expr, $($f:ident)::+, [$($sat:tt)?], $($arg:expr),+) => {
        match $n & 7 {
            0 => $($f)::+::<Rn, false $(, $sat)?>($($arg),+),
            1 => $($f)::+::<Rz, false $(, $sat)?>($($arg),+),
            2 => $($f)::+::<Rm, false $(, $sat)?>($($arg),+),
            3 => $($f)::+::<Rp, false $(, $sat)?>($($arg),+),
            4 => $($f)::+::<Rn, true $(, $sat)?>($($arg),+),
            5 => $($f)::+::<Rz, true $(, $sat)?>($($arg),+),
            6 => $($f)::+::<Rm, true $(, $sat)?>($($arg),+),
            _ => $($f)::+::<Rp, true $(, $sat)?>($($arg),+),
        }
    };
}

/// As [`rounded_f32`], where the rounding is the only parameter.
macro_rules! rounded_same {
    ($n:expr, $($f:ident)::+, $($arg:expr),+) => {
        match $n & 3 {
            0 => $($f)::+::<Rn>($($arg),+),
            1 => $($f)::+::<Rz>($($arg),+),
            2 => $($f)::+::<Rm>($($arg),+),
            _ => $($f)::+::<Rp>($($arg),+),
        }
    };
}

/// As [`rounded_same`], after parameters that are named, or inferred (`_`).
macro_rules! rounded_with {
    ($n:expr, $($f:ident)::+, [$($param:ty),+], $a:expr) => {
        match $n & 3 {
            0 => $($f)::+::<$($param,)+ Rn>($a),
            1 => $($f)::+::<$($param,)+ Rz>($a),
            2 => $($f)::+::<$($param,)+ Rm>($a),
            _ => $($f)::+::<$($param,)+ Rp>($a),
        }
    };
}

/// Picks `.ftz` and `.NaN` of a minimum or maximum at run time.
macro_rules! extremum {
    ($n:expr, $($f:ident)::+, [$($param:ty,)?], $($arg:expr),+) => {
        match ($n & extremum::FTZ != 0, $n & extremum::NAN != 0) {
            (false, false) => $($f)::+::<$($param,)? false, false>($($arg),+),
            (false, true) => $($f)::+::<$($param,)? false, true>($($arg),+),
            (true, false) => $($f)::+::<$($param,)? true, false>($($arg),+),
            (true, true) => $($f)::+::<$($param,)? true, true>($($arg),+),
        }
    };
}

crate::program::table::lane_operations!(define_lane_loop);

/// Operations whose operands are predicates or other lanes' registers.
#[allow(non_snake_case, reason = "the functions are named after the codes that they implement")]
mod other {
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
        // SAFETY: passed on.
        unsafe { select::<u32>(frame, op, mask) }
    }

    #[inline(always)]
    pub(super) unsafe fn Select64(frame: &Frame, op: &Op, mask: u32) {
        // SAFETY: passed on.
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
            let (a, b, c) =
                (frame.row::<u32>(op.a), frame.row::<u32>(op.b), frame.row::<u32>(op.c));
            let mut result = [0; 32];
            for lane in 0..32u32 {
                let at = lane as usize;
                result[at] = a[shuffle_source(op.n, lane, b[at], c[at]).0 as usize];
            }
            frame.set_row::<u32>(op.dst, mask, result);
        }
    }

    /// The predicate of `shfl`: whether the source lane is in range.
    #[inline(always)]
    pub(super) unsafe fn ShuffleInRange(frame: &Frame, op: &Op, mask: u32) {
        // SAFETY: rows of `u32`; the destination is a predicate.
        unsafe {
            let (b, c) = (frame.row::<u32>(op.b), frame.row::<u32>(op.c));
            let mut result = 0;
            for lane in 0..32u32 {
                let at = lane as usize;
                result |= u32::from(shuffle_source(op.n, lane, b[at], c[at]).1) << lane;
            }
            frame.set_predicate(op.dst, mask, result);
        }
    }

    /// Calls `f` once for each group of lanes that communicate: those of `mask` whose member masks
    /// are the same and name them, or all of `mask` where the instruction has no member mask.
    ///
    /// # Safety
    ///
    /// The invariants of [`Frame`]; `op` belongs to its program.
    #[inline(always)]
    unsafe fn for_groups(frame: &Frame, op: &Op, mask: u32, mut f: impl FnMut(u32)) {
        if op.n & MEMBERS == 0 {
            return f(mask);
        }
        // SAFETY: `b` is a row. It is copied because a result may be written over it.
        let members = unsafe { *frame.row::<u32>(op.b) };
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
    pub(super) unsafe fn Vote(frame: &Frame, op: &Op, mask: u32) {
        // SAFETY: the operands are predicates.
        unsafe {
            let invert = if op.n & 4 != 0 { FULL_MASK } else { 0 };
            let votes = frame.predicate(op.a) ^ invert;
            for_groups(frame, op, mask, |group| {
                let votes = votes & group;
                let result = match op.n & 3 {
                    0 => votes == group,
                    1 => votes != 0,
                    _ => votes == 0 || votes == group,
                };
                frame.set_predicate(op.dst, group, u32::from(result).wrapping_neg());
            });
        }
    }

    /// `vote.ballot`: predicate `a` (inverted if `n` is 4) to a row.
    #[inline(always)]
    pub(super) unsafe fn Ballot(frame: &Frame, op: &Op, mask: u32) {
        // SAFETY: `a` is a predicate, `dst` a row.
        unsafe {
            let votes = frame.predicate(op.a) ^ if op.n & 4 != 0 { FULL_MASK } else { 0 };
            for_groups(frame, op, mask, |group| frame.fill_row(op.dst, group, votes & group));
        }
    }

    /// `activemask`.
    #[inline(always)]
    pub(super) unsafe fn ActiveMask(frame: &Frame, op: &Op, mask: u32) {
        // SAFETY: the destination is a row.
        unsafe { frame.fill_row(op.dst, mask, mask) }
    }

    /// `elect`: the lowest executing lane; its index to row `dst`, the choice to predicate `c`.
    #[inline(always)]
    pub(super) unsafe fn Elect(frame: &Frame, op: &Op, mask: u32) {
        // SAFETY: `dst` is a row, `c` a predicate.
        unsafe {
            for_groups(frame, op, mask, |group| {
                frame.set_predicate(op.c, group, group & group.wrapping_neg());
                frame.fill_row(op.dst, group, group.trailing_zeros());
            });
        }
    }

    #[inline(always)]
    unsafe fn match_any<T: Lane<Store: PartialEq>>(frame: &Frame, op: &Op, mask: u32) {
        // SAFETY: `a` is a row of type `T`, `dst` a row.
        unsafe {
            let a = *frame.row::<T>(op.a);
            for_groups(frame, op, mask, |group| {
                let mut result = [0; 32];
                for lane in 0..32 {
                    for other in 0..32 {
                        result[lane] |= u32::from(a[lane] == a[other]) << other;
                    }
                    result[lane] &= group;
                }
                frame.set_row::<u32>(op.dst, group, result);
            });
        }
    }

    #[inline(always)]
    pub(super) unsafe fn MatchAny32(frame: &Frame, op: &Op, mask: u32) {
        // SAFETY: passed on.
        unsafe { match_any::<u32>(frame, op, mask) }
    }

    #[inline(always)]
    pub(super) unsafe fn MatchAny64(frame: &Frame, op: &Op, mask: u32) {
        // SAFETY: passed on.
        unsafe { match_any::<u64>(frame, op, mask) }
    }

    /// `match.all`: row `dst` gets the executing lanes if all agree, else 0; predicate `c`
    /// whether they do.
    #[inline(always)]
    unsafe fn match_all<T: Lane<Store: PartialEq>>(frame: &Frame, op: &Op, mask: u32) {
        // SAFETY: `a` is a row of type `T`, `dst` a row, `c` a predicate.
        unsafe {
            let a = *frame.row::<T>(op.a);
            for_groups(frame, op, mask, |group| {
                let first = a[(group.trailing_zeros() & 31) as usize];
                let equal = (0..32).all(|lane| group >> lane & 1 == 0 || a[lane] == first);
                frame.set_predicate(op.c, group, u32::from(equal).wrapping_neg());
                frame.fill_row(op.dst, group, if equal { group } else { 0 });
            });
        }
    }

    #[inline(always)]
    pub(super) unsafe fn MatchAll32(frame: &Frame, op: &Op, mask: u32) {
        // SAFETY: passed on.
        unsafe { match_all::<u32>(frame, op, mask) }
    }

    #[inline(always)]
    pub(super) unsafe fn MatchAll64(frame: &Frame, op: &Op, mask: u32) {
        // SAFETY: passed on.
        unsafe { match_all::<u64>(frame, op, mask) }
    }

    /// `redux.sync` on integers; `n`: 0 add, 1 min.u, 2 max.u, 3 min.s, 4 max.s, 5 and, 6 or,
    /// 7 xor.
    #[inline(always)]
    pub(super) unsafe fn Redux(frame: &Frame, op: &Op, mask: u32) {
        // SAFETY: `a` and `dst` are rows.
        unsafe {
            let a = *frame.row::<u32>(op.a);
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
                frame.fill_row(op.dst, group, result);
            });
        }
    }

    /// `redux.sync` on `.f32`; see [`extremum`] for `n`. Compiled once for all CPU levels.
    #[inline(never)]
    pub(super) unsafe fn ReduxF32(frame: &Frame, op: &Op, mask: u32) {
        // SAFETY: `a` and `dst` are rows.
        unsafe {
            let a = *frame.row::<f32>(op.a);
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
                frame.fill_row(op.dst, group, result.to_bits());
            });
        }
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
}
