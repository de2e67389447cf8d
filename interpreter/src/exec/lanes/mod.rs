//! The inner loop: operations on registers, one warp at a time.
//!
//! [`run_lane_operations`] executes micro-operations from a program counter on until it meets one
//! that needs more than registers. It is compiled once per CPU level (see [`super::level`]);
//! inlined into a function with the level's target features, each lane loop becomes vector code of
//! that level.
//!
//! Two decisions keep the build affordable. Rare operations are compiled once instead of once per
//! level. An operation that only some lanes execute stores its whole result to scratch rows, and
//! one function then copies the active lanes. Together they cut the crate's build from minutes to
//! about 40 seconds of CPU time. The second one also keeps results in vector registers: a masked
//! path in every operation would spill them.

#![allow(unsafe_code, reason = "operands of checked programs are not checked again")]

use super::rare;
use crate::lane::{Lane, Row};
use crate::program::op::{
    Code, GUARD_REPEATED, GuardPredicate, MEMBERS, Op, combines, compare as flag, extremum,
};
use crate::semantics::{
    Bf16, F16, Rm, Rn, Rp, Rz, approx, bits, compare, convert, float, half, integer, logic,
    minifloat, packed, shuffle,
};

/// All lanes of a warp.
pub(crate) const FULL_MASK: u32 = !0;

/// Number of lanes of a mask. Baseline x86-64 counts bits in a dozen instructions, and most warps
/// are whole.
#[inline(always)]
pub(crate) fn lane_count(mask: u32) -> u64 {
    if mask == FULL_MASK { 32 } else { mask.count_ones().into() }
}

/// The data on which the inner loop works.
///
/// # Invariants
///
/// `Program` construction checks that every row, predicate and guard that an operation names
/// exists, and that the operation list ends in an operation that leaves the loop. A register of any
/// width may begin at any row, since `rows` has room for the widest one behind the last row.
/// `guards` and `guarded_lanes` have at least `extents.guards` elements. `scratch` is as many rows
/// as the widest register, which no operation names.
///
/// The lowering gives each operand a row that is wide enough; otherwise results are wrong. Builds
/// with debug assertions check that at each use, and rows, predicates and guards once more. Rare
/// operations go by [`Frame::lanes`] and its like, which always check what exists.
pub(crate) struct Frame {
    pub(crate) ops: *const Op,
    pub(crate) guards: *const GuardPredicate,
    pub(crate) rows: *mut Row,
    pub(crate) scratch: *mut Row,
    pub(crate) predicates: *mut u32,
    pub(crate) guarded_lanes: *mut u64,
    pub(crate) extents: Extents,
}

/// The extents of a frame's parts.
#[derive(Clone, Copy)]
pub(crate) struct Extents {
    pub(crate) rows: usize,
    pub(crate) predicates: usize,
    pub(crate) guards: usize,
    /// Rows of the register that begins at each row; 0 in the middle of one.
    #[cfg(debug_assertions)]
    pub(crate) widths: *const [u8],
}

impl Frame {
    /// The lanes of `mask` that execute `op`, counted if this is the instruction's first.
    ///
    /// # Safety
    ///
    /// The invariants of [`Frame`], and `op` belongs to its program.
    #[inline(always)]
    pub(crate) unsafe fn guard(&self, op: &Op, mask: u32) -> u32 {
        // SAFETY: by the contract.
        unsafe {
            let lanes = self.guarded(op, mask);
            self.count(op, lanes);
            lanes
        }
    }

    /// [`Self::guard`] without counting.
    ///
    /// # Safety
    ///
    /// As [`Self::guard`].
    #[inline(always)]
    pub(crate) unsafe fn guarded(&self, op: &Op, mask: u32) -> u32 {
        if op.guard == 0 {
            return mask;
        }
        let index = ((op.guard & !GUARD_REPEATED) - 1) as usize;
        #[cfg(debug_assertions)]
        assert!(index < self.extents.guards, "guard {index} does not exist");
        // SAFETY: guard indices are in range by the invariants of `Frame`.
        unsafe {
            let guard = *self.guards.add(index);
            mask & (self.predicate(guard.predicate) ^ guard.invert)
        }
    }

    /// Counts `lanes` that execute `op`, if it is guarded and its instruction's first.
    ///
    /// # Safety
    ///
    /// As [`Self::guard`].
    #[inline(always)]
    pub(crate) unsafe fn count(&self, op: &Op, lanes: u32) {
        if op.guard != 0 && op.guard & GUARD_REPEATED == 0 {
            let index = (op.guard - 1) as usize;
            // SAFETY: guard indices are in range by the invariants of `Frame`.
            unsafe { *self.guarded_lanes.add(index) += lane_count(lanes) };
        }
    }

    /// The lanes of `mask` that execute `op`, an operation outside the lane loop.
    pub(crate) fn lanes_of(&self, op: &Op, mask: u32) -> u32 {
        assert!(self.has_guard(op), "guard {} does not exist", op.guard);
        // SAFETY: the guard exists, and so does its predicate.
        unsafe { self.guarded(op, mask) }
    }

    /// [`Self::lanes_of`], counted if `op` is its instruction's first.
    #[inline(always)]
    pub(crate) fn count_lanes_of(&self, op: &Op, mask: u32) -> u32 {
        assert!(self.has_guard(op), "guard {} does not exist", op.guard);
        // SAFETY: as in `lanes_of`.
        unsafe { self.guard(op, mask) }
    }

    #[inline(always)]
    fn has_guard(&self, op: &Op) -> bool {
        (op.guard & !GUARD_REPEATED) as usize <= self.extents.guards
    }

    /// The lanes of a register whose elements are of type `T`.
    ///
    /// # Safety
    ///
    /// The invariants of [`Frame`]; `row` is a row operand as wide as `T`.
    #[inline(always)]
    pub(crate) unsafe fn register<T>(&self, row: u32) -> *mut [T; 32] {
        #[cfg(debug_assertions)]
        {
            // SAFETY: the widths are those of the frame's program, which is borrowed meanwhile.
            let width = unsafe { &*self.extents.widths }.get(row as usize).copied();
            let bytes = 4 * usize::from(width.unwrap_or_default());
            assert!(size_of::<T>() <= bytes, "row {row} has elements of {bytes} bytes");
        }
        // SAFETY: rows are in range and wide enough, and rows are aligned to 64 bytes.
        unsafe { self.rows.add(row as usize).cast() }
    }

    /// # Safety
    ///
    /// The invariants of [`Frame`]; `row` is a row operand of type `T`.
    #[inline(always)]
    pub(crate) unsafe fn row<T: Lane>(&self, row: u32) -> &[T::Store; 32] {
        // SAFETY: by the contract.
        unsafe { &*self.register(row) }
    }

    /// # Safety
    ///
    /// As [`Self::row`]; no other reference to the row is alive.
    #[inline(always)]
    #[expect(clippy::mut_from_ref, reason = "the frame hands out rows of a raw register file")]
    pub(crate) unsafe fn row_mut<T: Lane>(&self, row: u32) -> &mut [T::Store; 32] {
        // SAFETY: by the contract.
        unsafe { &mut *self.register(row) }
    }

    /// # Safety
    ///
    /// The invariants of [`Frame`]; `predicate` is a predicate operand.
    #[inline(always)]
    pub(crate) unsafe fn predicate(&self, predicate: u32) -> u32 {
        // SAFETY: by the contract.
        unsafe { *self.predicate_place(predicate) }
    }

    /// # Safety
    ///
    /// As [`Self::predicate`].
    #[inline(always)]
    unsafe fn predicate_place(&self, predicate: u32) -> *mut u32 {
        #[cfg(debug_assertions)]
        assert!((predicate as usize) < self.extents.predicates, "no predicate {predicate}");
        // SAFETY: predicate indices are in range.
        unsafe { self.predicates.add(predicate as usize) }
    }

    /// Writes the lanes of `mask` of a predicate.
    ///
    /// # Safety
    ///
    /// As [`Self::predicate`].
    #[inline(always)]
    pub(crate) unsafe fn set_predicate(&self, predicate: u32, mask: u32, value: u32) {
        // SAFETY: by the contract.
        unsafe {
            let predicate = self.predicate_place(predicate);
            *predicate = (*predicate & !mask) | (value & mask);
        }
    }

    /// Writes the lanes of `mask` of a row.
    ///
    /// Whatever the mask, the value is stored once, as a whole: to the row, or to scratch rows of
    /// which the lanes are then taken. A path of its own for masks would need the value in memory.
    /// The compiler would then no longer keep it in vector registers for the other path either.
    ///
    /// # Safety
    ///
    /// As [`Self::row_mut`].
    #[inline(always)]
    pub(crate) unsafe fn set_row<T: Lane>(&self, row: u32, mask: u32, value: [T::Store; 32]) {
        // SAFETY: as in `row_mut`; scratch rows are as wide as any register.
        unsafe {
            let row: *mut [T::Store; 32] = self.register(row);
            let scratch: *mut [T::Store; 32] = self.scratch.cast();
            *(if mask == FULL_MASK { row } else { scratch }) = value;
            if mask != FULL_MASK {
                blend(&mut *row, &*scratch, mask);
            }
        }
    }

    /// Fails if a register of elements of type `T` does not lie within the register file.
    fn check<T: Lane>(&self, row: u32) {
        let end = row as usize + size_of::<T::Store>() / size_of::<u32>();
        assert!(end <= self.extents.rows, "row {row} lies outside the register file");
    }

    /// All lanes of a register.
    pub(crate) fn lanes<T: Lane>(&self, row: u32) -> [T::Store; 32] {
        self.check::<T>(row);
        // SAFETY: the rows exist, whatever the operation, and every content is a value.
        unsafe { *self.row::<T>(row) }
    }

    /// One lane of a register.
    pub(crate) fn lane<T: Lane>(&self, row: u32, lane: usize) -> T::Store {
        self.check::<T>(row);
        // SAFETY: as in `lanes`.
        unsafe { self.row::<T>(row)[lane] }
    }

    /// Writes the lanes of `mask` of a register.
    pub(crate) fn set_lanes<T: Lane>(&self, row: u32, mask: u32, values: [T::Store; 32]) {
        self.check::<T>(row);
        // SAFETY: as in `lanes`, and nobody keeps a reference to a row between operations.
        unsafe { self.set_row::<T>(row, mask, values) }
    }

    /// Writes one lane of a register.
    pub(crate) fn set_lane<T: Lane>(&self, row: u32, lane: usize, value: T::Store) {
        self.check::<T>(row);
        // SAFETY: as in `set_lanes`.
        unsafe { self.row_mut::<T>(row)[lane] = value }
    }

    /// The lanes in which a predicate holds.
    pub(crate) fn lanes_where(&self, predicate: u32) -> u32 {
        assert!((predicate as usize) < self.extents.predicates, "no predicate {predicate}");
        // SAFETY: the predicate exists.
        unsafe { self.predicate(predicate) }
    }

    /// Writes the lanes of `mask` of a predicate.
    pub(crate) fn set_lanes_where(&self, predicate: u32, mask: u32, value: u32) {
        assert!((predicate as usize) < self.extents.predicates, "no predicate {predicate}");
        // SAFETY: the predicate exists.
        unsafe { self.set_predicate(predicate, mask, value) }
    }

    /// Writes the same value to the lanes of `mask`.
    fn fill_lanes(&self, row: u32, mask: u32, value: u32) {
        self.set_lanes::<u32>(row, mask, [value; 32]);
    }
}

/// Writes the lanes of `mask`. Not inlined: every operation has this path, and few executions take
/// it.
#[inline(never)]
fn blend<T: Copy>(row: &mut [T; 32], value: &[T; 32], mask: u32) {
    // The lowest lanes: trees and the ends of arrays leave them.
    if mask & mask.wrapping_add(1) == 0 {
        let lanes = mask.trailing_ones() as usize;
        row[..lanes].copy_from_slice(&value[..lanes]);
        return;
    }
    for lane in 0..32 {
        row[lane] = if mask & 1 << lane != 0 { value[lane] } else { row[lane] };
    }
}

/// Combines a comparison's raw result with its predicate operand as `op.n` says.
///
/// # Safety
///
/// The invariants of [`Frame`].
#[inline(always)]
unsafe fn finish_comparison(frame: &Frame, op: &Op, mask: u32, mut result: u32) {
    if op.n & flag::INVERT != 0 {
        result = !result;
    }
    if combines(op.n) {
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

/// Returns true for operations that mostly follow one another: those that unrolled loops consist
/// of. Their runs are executed without looking each one up, at the price of more code.
const fn comes_in_runs(code: Code) -> bool {
    matches!(code, Code::FmaF32 | Code::FmaF64)
}

macro_rules! define_lane_loop {
    (
        value { $($(#[$vm:meta])* $value:ident ($($va:tt)*) -> $vr:ty $vb:block)+ }
        cold { $($(#[$dm:meta])* $cold:ident ($($da:tt)*) -> $dr:ty $db:block)+ }
        predicate { $($(#[$pm:meta])* $pred:ident ($($pa:tt)*) $pb:block)+ }
        other { $($(#[$om:meta])* $other:ident,)+ }
        control { $($(#[$cm:meta])* $control:ident,)+ }
    ) => {
        /// Executes operations from `pc` on for the lanes of `mask` and returns the index of the
        /// first one that it leaves to others. That one is neither a lane operation nor a memory
        /// operation that `access` executes or whose addresses `probe` tells.
        ///
        /// # Safety
        ///
        /// The invariants of [`Frame`]; `pc` is within its operation list.
        #[inline(always)]
        pub(crate) unsafe fn run_lane_operations(
            frame: &Frame,
            mut pc: u32,
            mask: u32,
            mut access: impl FnMut(&Op, u32) -> bool,
            mut probe: impl FnMut(&Op, u32) -> bool,
        ) -> u32 {
            // SAFETY: the invariants of `Frame` hold for every operation, row and predicate below.
            unsafe {
                loop {
                    let op = &*frame.ops.add(pc as usize);
                    if !op.code.is_lane_operation() {
                        if op.code == Code::Memory && access(op, mask) {
                            pc += 1;
                            continue;
                        }
                        if op.code == Code::Probe && probe(op, mask) {
                            pc += 1;
                            continue;
                        }
                        return pc;
                    }
                    let m = frame.guard(op, mask);
                    if m == 0 {
                        pc += 1;
                        continue;
                    }
                    match op.code {
                        $(Code::$value => {
                            value_operation!(frame, op, m, ($($va)*) -> $vr $vb);
                            if comes_in_runs(Code::$value) {
                                // A list ends in another operation.
                                let mut next = &*frame.ops.add(pc as usize + 1);
                                while next.code == Code::$value && next.guard == 0 {
                                    value_operation!(frame, next, mask, ($($va)*) -> $vr $vb);
                                    pc += 1;
                                    next = &*frame.ops.add(pc as usize + 1);
                                }
                            }
                        },)+
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
            // SAFETY: by the contract.
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

// Behind the macros that it uses.
mod other;

crate::program::table::lane_operations!(define_lane_loop);

#[cfg(test)]
mod tests {
    use super::blend;

    #[test]
    fn a_blend_writes_the_lanes_of_the_mask_alone() {
        let low = (0..32).map(|lanes| (1_u32 << lanes) - 1);
        let others = [u32::MAX, 1 << 31, 0b10, 0xffff_0000, 0x5555_5555, 0x0f00_00f1];
        for mask in low.chain(others) {
            let (before, value) = ([7_u64; 32], std::array::from_fn(|lane| 100 + lane as u64));
            let mut row = before;
            blend(&mut row, &value, mask);
            for lane in 0..32 {
                let wanted = if mask >> lane & 1 == 1 { value[lane] } else { before[lane] };
                assert_eq!(row[lane], wanted, "lane {lane} of {mask:#x}");
            }
        }
    }
}
