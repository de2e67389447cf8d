//! The video instructions: scalar ones on a byte, half-word or word of each operand, SIMD ones on
//! two half-words or four bytes (PTX ISA 9.7.18).
//!
//! The scalar instructions run in stages, as in the manual: [`extract`] the inputs, [`primary`],
//! [`saturate`], then an addition, minimum or maximum with a third operand, or [`merge`] into it.
//! Intermediate results are `i64`, which holds the manual's 34 bits.

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

/// `vshl`, first stage. With `saturate` a value beyond 64 bits stays beyond 32, else its low bits
/// are right.
#[inline(always)]
pub fn shift_left<const WRAP: bool>(a: i64, amount: i64, saturate: bool) -> i64 {
    let shifted = i128::from(a) << shift_amount::<WRAP>(amount);
    let clamped = shifted.clamp(i64::MIN.into(), i64::MAX.into());
    if saturate { clamped as i64 } else { shifted as i64 }
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

/// `.sat`: clamps to an integer of `bits` bits.
#[inline(always)]
pub fn saturate(x: i64, bits: u32, signed: bool) -> i64 {
    let (low, high) =
        if signed { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) };
    x.clamp(low, high)
}

/// The second stage sees 33 bits of the first one's result.
#[inline(always)]
pub fn to_33_bits(x: i64) -> i64 {
    x << 31 >> 31
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
    #[inline(always)]
    pub fn apply(self, a: i64, b: i64, c: u32) -> u32 {
        let product = i128::from(a) * i128::from(b);
        let product = if self.negate_product { !product } else { product };
        let negate_addend = self.negate_addend && !self.negate_product && !self.plus_one;
        let c = if negate_addend { !c } else { c };
        let addend = if self.signed { i128::from(c as i32) } else { i128::from(c) };
        let one = self.plus_one || self.negate_product || negate_addend;
        let scaled = (product + addend + i128::from(one)) >> self.shift;
        let (low, high) = if self.signed {
            (i128::from(i32::MIN), i128::from(i32::MAX))
        } else {
            (0, i128::from(u32::MAX))
        };
        (if self.saturate { scaled.clamp(low, high) } else { scaled }) as u32
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
            let value = if self.saturate { saturate(value, bits, self.signed[2]) } else { value };
            result = if self.accumulate {
                result.wrapping_add(value as u32)
            } else {
                merge(value, result, position, bits)
            };
        }
        result
    }
}
