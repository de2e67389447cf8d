//! Micro-operations: what the executor's inner loop sees.

/// One micro-operation. Operands are row indices into the warp's register file unless the
/// operation says otherwise.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Op {
    /// What to do.
    pub(crate) code: Code,
    /// A small immediate whose meaning depends on the operation (lop3's table, prmt's mode,
    /// flags of a comparison).
    pub(crate) n: u16,
    /// Guard: 0 for none, otherwise the index into [`super::Program::guards`] plus one, with
    /// [`GUARD_REPEATED`] set on every operation of an instruction but the first.
    pub(crate) guard: u32,
    /// Destination row, predicate index for predicate results.
    pub(crate) dst: u32,
    pub(crate) a: u32,
    pub(crate) b: u32,
    pub(crate) c: u32,
}

const _: () = assert!(size_of::<Op>() == 24, "micro-operations must stay within 24 bytes");

/// Marks the later operations of a guarded instruction, whose lanes are counted once.
pub(crate) const GUARD_REPEATED: u32 = 1 << 31;

/// Stands for "there is no such block" where control would run off the end of the text; the
/// operation that follows returns.
pub(crate) const NO_BLOCK: u32 = u32::MAX;

/// Flag in [`Op::n`] of an operation between lanes: row `b` holds each lane's member mask.
pub(crate) const MEMBERS: u16 = 1 << 8;

/// The predicate that guards an instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GuardPredicate {
    /// Predicate index.
    pub(crate) predicate: u32,
    /// XORed onto the predicate's lanes: all ones for `@!p`.
    pub(crate) invert: u32,
}

/// Flags in [`Op::n`] of a comparison.
pub(crate) mod compare {
    /// Invert the comparison's result before it is combined.
    pub(crate) const INVERT: u16 = 1;
    /// Invert the predicate operand `c`.
    pub(crate) const INVERT_C: u16 = 2;
    /// Combine with predicate `c`: 0 none, 1 and, 2 or, 3 xor, in bits 2 and 3.
    pub(crate) const COMBINE_SHIFT: u16 = 2;
    pub(crate) const AND: u16 = 1 << COMBINE_SHIFT;
    pub(crate) const OR: u16 = 2 << COMBINE_SHIFT;
    pub(crate) const XOR: u16 = 3 << COMBINE_SHIFT;
}

/// Declares [`Code`] from the lane-operation table and the list of all other operations.
macro_rules! declare_codes {
    (
        value { $($(#[$vm:meta])* $value:ident ($($va:tt)*) -> $vr:ty $vb:block)+ }
        cold { $($(#[$dm:meta])* $cold:ident ($($da:tt)*) -> $dr:ty $db:block)+ }
        predicate { $($(#[$pm:meta])* $pred:ident ($($pa:tt)*) $pb:block)+ }
        other { $($(#[$om:meta])* $other:ident,)+ }
        control { $($(#[$cm:meta])* $control:ident,)+ }
    ) => {
        /// Operation codes. The order matters in one place: everything from [`Code::Jump`] on
        /// leaves the lane loop.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[repr(u16)]
        pub(crate) enum Code {
            $($(#[$vm])* $value,)+
            $($(#[$dm])* $cold,)+
            $($(#[$pm])* $pred,)+
            $($(#[$om])* $other,)+
            $($(#[$cm])* $control,)+
        }
    };
}

super::table::lane_operations!(declare_codes);

impl Code {
    /// Whether the operation works on registers alone, so that the lane loop executes it.
    #[inline(always)]
    pub(crate) fn is_lane_operation(self) -> bool {
        self < Self::Jump
    }
}

/// Kinds and flags in [`Op::n`] of a barrier.
pub(crate) mod barrier {
    /// Mask of the kind.
    pub(crate) const KIND: u16 = 7;
    pub(crate) const SYNC: u16 = 0;
    pub(crate) const ARRIVE: u16 = 1;
    pub(crate) const REDUCE_POPC: u16 = 2;
    pub(crate) const REDUCE_AND: u16 = 3;
    pub(crate) const REDUCE_OR: u16 = 4;
    /// All threads of a warp execute the same barrier instruction.
    pub(crate) const ALIGNED: u16 = 8;
    /// Row `b` holds the number of threads that take part.
    pub(crate) const COUNTED: u16 = 16;
    /// Invert the predicate operand `c` of a reduction.
    pub(crate) const INVERT_C: u16 = 32;
}
