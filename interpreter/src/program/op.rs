//! Micro-operations, which the executor's inner loop executes.

/// One micro-operation. Operands are row indices into the warp's register file unless the
/// operation says otherwise.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Op {
    /// The action.
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

/// Flag in [`Op::n`] of [`Code::WarpSync`]: the instruction is `.aligned`, so that its guard must
/// be the same in all lanes that execute it.
pub(crate) const ALIGNED: u16 = 1 << 9;

/// Flag in [`Op::n`] of [`Code::WarpSync`]: the instruction is `shfl`, whose mode is in the low
/// bits and whose source operands are rows `b` and `c`. Without [`MEMBERS`] nobody waits.
pub(crate) const SHUFFLES: u16 = 1 << 10;

/// Mask of the mode of `shfl` in [`Op::n`]: up, down, bfly, idx.
pub(crate) const SHUFFLE_MODE: u16 = 3;

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

/// Returns true if a comparison with this [`Op::n`] is combined with predicate `c`.
#[inline(always)]
pub(crate) const fn combines(n: u16) -> bool {
    n >> compare::COMBINE_SHIFT != 0
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
    /// Returns true if the operation works on registers alone, so that the lane loop executes it.
    #[inline(always)]
    pub(crate) fn is_lane_operation(self) -> bool {
        self < Self::Jump
    }
}

/// Fields of [`Op::n`] of a conversion to or from packed formats.
pub(crate) mod narrow {
    /// Mask of the format: one of the following.
    pub(crate) const FORMAT: u16 = 7;
    pub(crate) const E4M3: u16 = 0;
    pub(crate) const E5M2: u16 = 1;
    pub(crate) const E2M3: u16 = 2;
    pub(crate) const E3M2: u16 = 3;
    pub(crate) const E2M1: u16 = 4;
    pub(crate) const UE5M3: u16 = 5;
    pub(crate) const RELU: u16 = 8;
    pub(crate) const SATFINITE: u16 = 16;
    /// The packed operand is `.bf16x2`, not `.f16x2`.
    pub(crate) const BF16: u16 = 32;
    /// Round towards zero, not to nearest.
    pub(crate) const RZ: u16 = 64;
    /// Round to nearest, ties away from zero.
    pub(crate) const RNA: u16 = 128;
    /// Round up, where the alternative is towards zero.
    pub(crate) const RP: u16 = 256;
    /// A negative zero becomes a positive one.
    pub(crate) const PZO: u16 = 512;
    /// The last operand is one scale for all elements.
    pub(crate) const SCALED: u16 = 1024;
}

/// Fields of [`Op::n`] of arithmetic on four narrow numbers: the result's format and saturation,
/// the operation in bits 2 and 3, the formats of `a` and `b` in three bits each.
pub(crate) mod quad {
    use crate::semantics::quad::{Elements, Operation};

    /// The result is `.e5m2x4`, not `.e4m3x4`.
    pub(crate) const E5M2: u16 = 1;
    pub(crate) const SATFINITE: u16 = 2;

    /// Everything at the place of its number.
    const OPERATIONS: [Operation; 4] =
        [Operation::Add, Operation::Subtract, Operation::Multiply, Operation::MultiplyAdd];
    const ELEMENTS: [Elements; 8] = [
        Elements::E4m3,
        Elements::E5m2,
        Elements::E2m3,
        Elements::E3m2,
        Elements::E2m1,
        Elements::PaddedE2m1,
        Elements::Ue8m0,
        Elements::Ue8m0,
    ];

    pub(crate) fn encode(operation: Operation, formats: [Elements; 2]) -> u16 {
        let operation = OPERATIONS.iter().position(|&known| known == operation).unwrap_or(0);
        let [a, b] = formats.map(|format| ELEMENTS.iter().position(|&element| element == format));
        (operation << 2 | a.unwrap_or(0) << 4 | b.unwrap_or(0) << 7) as u16
    }

    #[inline(always)]
    pub(crate) fn decode(n: u16) -> (Operation, [Elements; 2]) {
        let elements = |at: u16| ELEMENTS[usize::from(n >> at & 7)];
        (OPERATIONS[usize::from(n >> 2 & 3)], [elements(4), elements(7)])
    }
}

/// Flags in [`Op::n`] of a minimum or maximum of floats.
pub(crate) mod extremum {
    /// A NaN among the operands makes the result NaN.
    pub(crate) const NAN: u16 = 1;
    /// `redux`: of magnitudes.
    pub(crate) const ABS: u16 = 2;
    /// Flush subnormals.
    pub(crate) const FTZ: u16 = 4;
    /// `redux`: the maximum.
    pub(crate) const MAX: u16 = 8;
}

/// Fields of [`Op::n`] of the video instructions.
pub(crate) mod video {
    use crate::semantics::video::{MultiplyAdd, Operation, Simd};

    /// Every operation at the place of its number.
    const OPERATIONS: [Operation; 12] = [
        Operation::Add,
        Operation::Subtract,
        Operation::Average,
        Operation::AbsoluteDifference,
        Operation::Minimum,
        Operation::Maximum,
        Operation::Equal,
        Operation::NotEqual,
        Operation::Less,
        Operation::LessOrEqual,
        Operation::Greater,
        Operation::GreaterOrEqual,
    ];

    /// Flag of shifts: the amount wraps.
    pub(crate) const WRAP: u16 = 1;
    /// Flag of saturations beside a [`Part`]: the value is a shifted one.
    pub(crate) const SHIFTED: u16 = 1 << 9;

    /// A part of a register: `position` and `bits` are multiples of 8, `bits` at most 32.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Part {
        pub(crate) position: u32,
        pub(crate) bits: u32,
        pub(crate) signed: bool,
    }

    impl Part {
        pub(crate) const fn encode(self) -> u16 {
            ((self.position / 8) | (self.bits << 2) | ((self.signed as u32) << 8)) as u16
        }

        #[inline(always)]
        pub(crate) const fn decode(n: u16) -> Self {
            let bits = (n >> 2) as u32 & 0x3f;
            Self { position: (n & 3) as u32 * 8, bits, signed: n >> 8 & 1 != 0 }
        }
    }

    pub(crate) fn encode_operation(operation: Operation) -> u16 {
        OPERATIONS.iter().position(|&known| known == operation).unwrap_or(0) as u16
    }

    #[inline(always)]
    pub(crate) fn operation(n: u16) -> Operation {
        OPERATIONS[usize::from(n & 15).min(11)]
    }

    pub(crate) fn encode_multiply_add(how: MultiplyAdd) -> u16 {
        let flags = [how.negate_product, how.negate_addend, how.plus_one, how.signed, how.saturate];
        let flags = flags.iter().rev().fold(0, |n, &flag| n << 1 | u16::from(flag));
        flags | (how.shift as u16) << 5
    }

    #[inline(always)]
    pub(crate) fn multiply_add(n: u16) -> MultiplyAdd {
        let flag = |bit: u16| n >> bit & 1 != 0;
        MultiplyAdd {
            negate_product: flag(0),
            negate_addend: flag(1),
            plus_one: flag(2),
            signed: flag(3),
            saturate: flag(4),
            shift: u32::from(n >> 5 & 15),
        }
    }

    pub(crate) fn encode_simd(simd: Simd) -> u16 {
        let [a, b, result] = simd.signed;
        let flags = [simd.bits == 16, a, b, result, simd.saturate, simd.accumulate];
        let flags = flags.iter().rev().fold(0, |n, &flag| n << 1 | u16::from(flag));
        encode_operation(simd.operation) | flags << 4 | (simd.mask as u16 & 15) << 10
    }

    #[inline(always)]
    pub(crate) fn simd(n: u16) -> Simd {
        let flag = |bit: u16| n >> bit & 1 != 0;
        Simd {
            operation: operation(n),
            bits: if flag(4) { 16 } else { 8 },
            signed: [flag(5), flag(6), flag(7)],
            saturate: flag(8),
            accumulate: flag(9),
            mask: u32::from(n >> 10 & 15),
        }
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
    /// The barrier's number is a literal, the same for all lanes.
    pub(crate) const LITERAL: u16 = 64;
}

/// Flags in [`Op::n`] of a copy within local memory: which side lies in the frame that row `dst`
/// points to.
pub(crate) mod copy_local {
    pub(crate) const FROM_FRAME: u16 = 1;
    pub(crate) const TO_FRAME: u16 = 2;
}

/// Flags in [`Op::n`] of a barrier of the cluster.
pub(crate) mod cluster_barrier {
    /// It waits; without, it arrives.
    pub(crate) const WAIT: u16 = 1;
    /// All threads of a warp execute the same barrier instruction.
    pub(crate) const ALIGNED: u16 = 2;
}
