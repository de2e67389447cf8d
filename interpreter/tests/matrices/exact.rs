//! Numbers as integers times powers of two, and the formats that they come from and go to.

use num_bigint::{BigInt, Sign};

/// A number, or what is none.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Number {
    Nan,
    /// Negative or not.
    Infinity(bool),
    /// `significand` times two to the power of `exponent`.
    Finite {
        significand: BigInt,
        exponent: i32,
    },
}

use Number::{Finite, Infinity, Nan};

impl Number {
    pub(crate) fn integer(value: i64) -> Self {
        Finite { significand: value.into(), exponent: 0 }
    }

    pub(crate) fn zero() -> Self {
        Self::integer(0)
    }

    fn sign(&self) -> i32 {
        match self {
            Nan => 0,
            Infinity(negative) => {
                if *negative {
                    -1
                } else {
                    1
                }
            }
            Finite { significand, .. } => match significand.sign() {
                Sign::Minus => -1,
                Sign::NoSign => 0,
                Sign::Plus => 1,
            },
        }
    }

    pub(crate) fn times(&self, other: &Self) -> Self {
        match (self, other) {
            (Nan, _) | (_, Nan) => Nan,
            (Finite { significand: a, exponent: i }, Finite { significand: b, exponent: j }) => {
                Finite { significand: a * b, exponent: i + j }
            }
            _ => match self.sign() * other.sign() {
                0 => Nan,
                sign => Infinity(sign < 0),
            },
        }
    }

    pub(crate) fn plus(&self, other: &Self) -> Self {
        match (self, other) {
            (Nan, _) | (_, Nan) => Nan,
            (Infinity(a), Infinity(b)) if a != b => Nan,
            (Infinity(a), _) | (_, Infinity(a)) => Infinity(*a),
            (Finite { significand: a, exponent: i }, Finite { significand: b, exponent: j }) => {
                let exponent = *i.min(j);
                let sum = (a << (i - exponent)) + (b << (j - exponent));
                Finite { significand: sum, exponent }
            }
        }
    }

    pub(crate) fn magnitude(&self) -> Self {
        match self {
            Nan => Nan,
            Infinity(_) => Infinity(false),
            Finite { significand, exponent } => {
                Finite { significand: significand.magnitude().clone().into(), exponent: *exponent }
            }
        }
    }

    pub(crate) fn negated(&self) -> Self {
        self.times(&Self::integer(-1))
    }

    /// Times two to the power of `power`.
    pub(crate) fn scaled(&self, power: i32) -> Self {
        self.times(&Finite { significand: 1.into(), exponent: power })
    }
}

/// A floating-point format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Format {
    pub(crate) exponent_bits: u32,
    pub(crate) mantissa_bits: u32,
    pub(crate) specials: Specials,
}

/// What the codes of the greatest exponent mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Specials {
    /// Infinity and NaNs.
    Ieee,
    /// A NaN with all bits set.
    OneNan,
    /// Numbers.
    None,
}

const fn format(exponent_bits: u32, mantissa_bits: u32, specials: Specials) -> Format {
    Format { exponent_bits, mantissa_bits, specials }
}

pub(crate) const F64: Format = format(11, 52, Specials::Ieee);
pub(crate) const F32: Format = format(8, 23, Specials::Ieee);
pub(crate) const F16: Format = format(5, 10, Specials::Ieee);
pub(crate) const BF16: Format = format(8, 7, Specials::Ieee);
pub(crate) const TF32: Format = format(8, 10, Specials::Ieee);
pub(crate) const E4M3: Format = format(4, 3, Specials::OneNan);
pub(crate) const E5M2: Format = format(5, 2, Specials::Ieee);
pub(crate) const E3M2: Format = format(3, 2, Specials::None);
pub(crate) const E2M3: Format = format(2, 3, Specials::None);
pub(crate) const E2M1: Format = format(2, 1, Specials::None);

/// How to round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rounding {
    Nearest,
    Zero,
    Down,
    Up,
}

impl Format {
    pub(crate) fn bits(self) -> u32 {
        1 + self.exponent_bits + self.mantissa_bits
    }

    fn bias(self) -> i32 {
        (1 << (self.exponent_bits - 1)) - 1
    }

    pub(crate) fn decode(self, code: u64) -> Number {
        let mantissa = code & ((1 << self.mantissa_bits) - 1);
        let field = code >> self.mantissa_bits & ((1 << self.exponent_bits) - 1);
        let negative = code >> (self.bits() - 1) & 1 == 1;
        let top = field == (1 << self.exponent_bits) - 1;
        match self.specials {
            Specials::Ieee if top && mantissa != 0 => return Nan,
            Specials::Ieee if top => return Infinity(negative),
            Specials::OneNan if top && mantissa == (1 << self.mantissa_bits) - 1 => return Nan,
            _ => {}
        }
        let hidden = if field == 0 { 0 } else { 1 << self.mantissa_bits };
        let significand = BigInt::from(mantissa + hidden);
        Finite {
            significand: if negative { -significand } else { significand },
            exponent: field.max(1) as i32 - self.bias() - self.mantissa_bits as i32,
        }
    }

    /// The code of `number` rounded, in an IEEE format; zero is positive.
    pub(crate) fn encode(self, number: &Number, rounding: Rounding) -> u64 {
        let infinity = ((1u64 << self.exponent_bits) - 1) << self.mantissa_bits;
        let sign = 1u64 << (self.bits() - 1);
        let (significand, exponent) = match number {
            Nan => return infinity | (infinity - 1) | ((1 << self.mantissa_bits) - 1),
            Infinity(negative) => return infinity | if *negative { sign } else { 0 },
            Finite { significand, exponent } => (significand, *exponent),
        };
        let negative = significand.sign() == Sign::Minus;
        let magnitude = significand.magnitude();
        if magnitude.bits() == 0 {
            return 0;
        }
        // The last place of the result.
        let least = 1 - self.bias() - self.mantissa_bits as i32;
        let last = (exponent + magnitude.bits() as i32 - 1 - self.mantissa_bits as i32).max(least);
        let dropped = last - exponent;
        let (kept, above_half, exactly_half, inexact) = if dropped <= 0 {
            (magnitude << -dropped, false, false, false)
        } else {
            let kept = magnitude >> dropped;
            let rest = magnitude - (&kept << dropped);
            let half = num_bigint::BigUint::from(1u8) << (dropped - 1);
            let zero = num_bigint::BigUint::ZERO;
            (kept, rest > half, rest == half, rest != zero)
        };
        let kept = u64::try_from(kept).unwrap();
        let up = match rounding {
            Rounding::Nearest => above_half || exactly_half && kept % 2 == 1,
            Rounding::Zero => false,
            Rounding::Down => negative && inexact,
            Rounding::Up => !negative && inexact,
        };
        let kept = kept + u64::from(up);
        let field = (last - least) as u64;
        let code = (field << self.mantissa_bits) + kept;
        let code = if code >= infinity {
            match rounding {
                Rounding::Nearest => infinity,
                Rounding::Zero => infinity - 1,
                Rounding::Down => infinity - u64::from(!negative),
                Rounding::Up => infinity - u64::from(negative),
            }
        } else {
            code
        };
        code | if negative { sign } else { 0 }
    }
}

/// Codes in the order of the numbers that they stand for; both zeros alike.
pub(crate) fn rank(format: Format, code: u64) -> i64 {
    let magnitude = (code & ((1 << (format.bits() - 1)) - 1)) as i64;
    if code >> (format.bits() - 1) & 1 == 1 { -magnitude } else { magnitude }
}

#[test]
fn the_formats_of_this_test_agree_with_the_hosts() {
    for bits in [0, 1, 0x8000_0001, 0x007f_ffff, 0x0080_0000, 0x3f80_0001, 0x7f7f_ffff, 0xff80_0000]
    {
        let value = f32::from_bits(bits);
        let number = F32.decode(u64::from(bits));
        if value != 0.0 {
            assert_eq!(F32.encode(&number, Rounding::Nearest), u64::from(bits));
            assert_eq!(F64.encode(&number, Rounding::Down), f64::from(value).to_bits());
        }
        let third = f64::from(value) / 3.0;
        if third.is_finite() && third != 0.0 {
            let number = F64.decode(third.to_bits());
            let expected = u64::from((third as f32).to_bits());
            assert_eq!(rank(F32, F32.encode(&number, Rounding::Nearest)), rank(F32, expected));
        }
    }
    assert_eq!(E4M3.decode(0x7e), Number::integer(14).scaled(5));
    assert_eq!(E4M3.decode(0x7f), Nan);
    assert_eq!(E5M2.decode(0xfc), Infinity(true));
    assert_eq!(E2M1.decode(7), Number::integer(3).scaled(1));
    assert_eq!(F16.encode(&Number::integer(65520), Rounding::Nearest), 0x7c00);
    assert_eq!(F16.encode(&Number::integer(65519), Rounding::Nearest), 0x7bff);
    assert_eq!(F16.encode(&Number::integer(-65520), Rounding::Zero), 0xfbff);
}
