//! The video instructions: scalar ones on a byte, half-word or word of each operand, SIMD ones on
//! two half-words or four bytes (PTX ISA 9.7.18).
//!
//! The scalar instructions run in stages, as in the manual: [`extract`] the inputs, [`primary`],
//! [`saturate`], then an addition, minimum or maximum with a third operand, or [`merge`] into it.
//!
//! GPUs since sm_70 have no such instructions: the assembler writes sequences of 64-bit arithmetic
//! for them. Where these contradict the manual's pseudo-code, the functions do what the sequences
//! do, which an H200 confirmed; `docs/evidence/ptx-deviations.md` has the list.

/// The operation of the first stage, and of each lane of a SIMD instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the variants are the manual's operations and comparisons")]
pub enum Operation {
    Add,
    Subtract,
    Average,
    AbsoluteDifference,
    Minimum,
    Maximum,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// A byte, half-word or word of `x`: `bits` bits from bit `position` on, extended.
#[inline(always)]
pub fn extract(x: u32, position: u32, bits: u32, signed: bool) -> i64 {
    let above = i64::from(x >> (position & 31)) << (64 - bits);
    if signed { above >> (64 - bits) } else { (above as u64 >> (64 - bits)) as i64 }
}

/// `vadd`, `vsub`, `vabsdiff`, `vmin`, `vmax`, `vset`, and one lane of their SIMD forms.
#[inline(always)]
pub fn primary(operation: Operation, a: i64, b: i64) -> i64 {
    match operation {
        Operation::Add => a + b,
        Operation::Subtract => a - b,
        // Halves are rounded away from zero.
        Operation::Average => (a + b + i64::from(a + b >= 0)) >> 1,
        Operation::AbsoluteDifference => (a - b).abs(),
        Operation::Minimum => a.min(b),
        Operation::Maximum => a.max(b),
        Operation::Equal => i64::from(a == b),
        Operation::NotEqual => i64::from(a != b),
        Operation::Less => i64::from(a < b),
        Operation::LessOrEqual => i64::from(a <= b),
        Operation::Greater => i64::from(a > b),
        Operation::GreaterOrEqual => i64::from(a >= b),
    }
}

/// `vshl`, first stage: the low 64 bits.
#[inline(always)]
pub fn shift_left<const WRAP: bool>(a: i64, amount: i64) -> i64 {
    a << shift_amount::<WRAP>(amount)
}

/// `vshr`, first stage.
#[inline(always)]
pub fn shift_right<const WRAP: bool>(a: i64, amount: i64) -> i64 {
    a >> shift_amount::<WRAP>(amount)
}

#[inline(always)]
fn shift_amount<const WRAP: bool>(amount: i64) -> u32 {
    if WRAP { amount as u32 & 31 } else { amount.clamp(0, 32) as u32 }
}

/// The integer of 32 bits, signed or not, that is next to `x`.
#[inline(always)]
fn clamp_to_word(x: i64, signed: bool) -> i64 {
    if signed { x.clamp(i32::MIN.into(), i32::MAX.into()) } else { x.clamp(0, u32::MAX.into()) }
}

/// `.sat` of all scalar instructions but shifts and `vmad`, for a destination of `bits` bits.
///
/// A byte or half-word knows no lower bound: each value beyond 32 bits, negative ones included, is
/// the greatest of the destination. An unsigned word knows no upper bound.
#[inline(always)]
pub fn saturate(x: i64, bits: u32, signed: bool) -> i64 {
    match (bits, signed) {
        (32, true) => clamp_to_word(x, true),
        (32, false) => x.max(0),
        (_, signed) => {
            let greatest = (1 << (bits - u32::from(signed))) - 1;
            if x >> 32 == 0 { x.min(greatest) } else { greatest }
        }
    }
}

/// `.sat` of shifts: clamps 34 bits of the value to a word, whatever the destination's width.
#[inline(always)]
pub fn saturate_shifted(x: i64, signed: bool) -> i64 {
    clamp_to_word(x << 30 >> 30, signed)
}

/// `.sat` of a SIMD instruction: clamps to an integer of `bits` bits.
#[inline(always)]
fn clamp_to_lane(x: i64, bits: u32, signed: bool) -> i64 {
    let (low, high) =
        if signed { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) };
    x.clamp(low, high)
}

/// The low `bits` bits of `x` at bit `position` of `c`.
#[inline(always)]
pub fn merge(x: i64, c: u32, position: u32, bits: u32) -> u32 {
    let mask = ((1u64 << bits) - 1) as u32;
    let position = position & 31;
    (c & !(mask << position)) | (x as u32 & mask) << position
}

/// The way in which `vmad` combines its operands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MultiplyAdd {
    /// Exactly one factor is negated.
    pub negate_product: bool,
    /// The addend is negated.
    pub negate_addend: bool,
    /// `.po`: add one.
    pub plus_one: bool,
    /// True if the addend and the result are signed.
    pub signed: bool,
    /// `.sat`.
    pub saturate: bool,
    /// `.shr7`, `.shr15`, or 0.
    pub shift: u32,
}

impl MultiplyAdd {
    /// `vmad` of extracted factors and the addend as it stands in its register.
    ///
    /// Factors and addend of 32 bits are taken as signed ones, whatever their types say.
    #[inline(always)]
    pub fn apply(self, a: i64, b: i64, c: u32) -> u32 {
        let product = i64::from(a as i32) * i64::from(b as i32);
        let product = if self.negate_product { !product } else { product };
        let negate_addend = self.negate_addend && !self.negate_product && !self.plus_one;
        let addend = i64::from((if negate_addend { !c } else { c }) as i32);
        let one = self.plus_one || self.negate_product || negate_addend;
        let sum = product + addend + i64::from(one);
        let scaled =
            if self.signed { sum >> self.shift } else { (sum as u64 >> self.shift) as i64 };
        (if self.saturate { clamp_to_word(scaled, self.signed) } else { scaled }) as u32
    }
}

/// A SIMD video instruction, apart from its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Simd {
    /// Operation of each lane.
    pub operation: Operation,
    /// Bits of a lane, 8 or 16.
    pub bits: u32,
    /// Signedness of the lanes of `a`, of `b`, and of the results; true is signed.
    pub signed: [bool; 3],
    /// `.sat`.
    pub saturate: bool,
    /// `.add`: the results are added to `c` instead of replacing its lanes.
    pub accumulate: bool,
    /// The lanes that take part, one bit for each.
    pub mask: u32,
}

impl Simd {
    /// The result for operands whose lanes have been selected already.
    #[inline(always)]
    pub fn apply(self, a: u32, b: u32, c: u32) -> u32 {
        let bits = self.bits;
        let mut result = c;
        for lane in (0..32 / bits).filter(|lane| self.mask >> lane & 1 != 0) {
            let position = lane * bits;
            let a = extract(a, position, bits, self.signed[0]);
            let b = extract(b, position, bits, self.signed[1]);
            let value = primary(self.operation, a, b);
            let value =
                if self.saturate { clamp_to_lane(value, bits, self.signed[2]) } else { value };
            result = if self.accumulate {
                result.wrapping_add(value as u32)
            } else {
                merge(value, result, position, bits)
            };
        }
        result
    }
}
