//! Arithmetic on four narrow numbers against integers: every finite value is a multiple of a power
//! of two, so that sums and products are integers too, and the nearest value is found by looking.

use gpucast_interpreter::semantics::minifloat::{E4m3, E5m2};
use gpucast_interpreter::semantics::quad::{Elements, Operation, compute};
use num_bigint::BigInt;
use proptest::prelude::*;

use super::narrow::values;

/// Values are multiples of 2^-600: products of two scales and an element.
const UNIT: i32 = 600;

/// What an element stands for.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    Nan,
    /// Whether it is negative.
    Infinite(bool),
    /// Multiples of 2^-[`UNIT`], and whether it is negative, for zeros.
    Finite(BigInt, bool),
}

/// An exact integer multiple of 2^-`unit`.
fn scaled(value: f64, unit: i32) -> BigInt {
    // The least values are 2^-16, the greatest below 2^16.
    let whole = (value * 2f64.powi(40)) as u64;
    assert_eq!(whole as f64, value * 2f64.powi(40));
    BigInt::from(whole) << (unit - 40)
}

/// The element of the low bits of `code`, by the manual's table of formats.
fn value(format: Elements, code: u8) -> Value {
    let (exponent, mantissa, greatest) = match format {
        Elements::E4m3 => (4, 3, 0x7e),
        Elements::E5m2 => (5, 2, 0x7b),
        Elements::E2m3 => (2, 3, 0x1f),
        Elements::E3m2 => (3, 2, 0x1f),
        Elements::E2m1 | Elements::PaddedE2m1 => (2, 1, 7),
        Elements::Ue8m0 if code == 255 => return Value::Nan,
        Elements::Ue8m0 => {
            return Value::Finite(BigInt::from(1) << (UNIT - 127 + i32::from(code)), false);
        }
    };
    let width = exponent + mantissa;
    let (negative, magnitude) = (code >> width & 1 == 1, code & ((1u8 << width) - 1));
    let Some(finite) = values(exponent, mantissa, greatest).get(usize::from(magnitude)).copied()
    else {
        let infinite = format == Elements::E5m2 && magnitude == 0x7c;
        return if infinite { Value::Infinite(negative) } else { Value::Nan };
    };
    let units = scaled(finite, UNIT);
    Value::Finite(if negative { -units } else { units }, negative)
}

fn product(a: Value, b: Value) -> Value {
    use Value::{Finite, Infinite, Nan};
    match (a, b) {
        (Nan, _) | (_, Nan) => Nan,
        (Infinite(a), Infinite(b)) => Infinite(a != b),
        (Infinite(sign), Finite(units, other)) | (Finite(units, other), Infinite(sign)) => {
            if units == BigInt::ZERO { Nan } else { Infinite(sign != other) }
        }
        (Finite(a, negative), Finite(b, other)) => Finite((a * b) >> UNIT, negative != other),
    }
}

fn sum(a: Value, b: Value) -> Value {
    use Value::{Finite, Infinite, Nan};
    match (a, b) {
        (Nan, _) | (_, Nan) => Nan,
        (Infinite(a), Infinite(b)) if a != b => Nan,
        (Infinite(sign), _) | (_, Infinite(sign)) => Infinite(sign),
        (Finite(a, negative), Finite(b, other)) => {
            let units = a + b;
            // Zero is negative only as the sum of two negative zeros.
            let zero = units == BigInt::ZERO;
            let sign = if zero { negative && other } else { units < BigInt::ZERO };
            Finite(units, sign)
        }
    }
}

fn negated(value: Value) -> Value {
    match value {
        Value::Nan => Value::Nan,
        Value::Infinite(sign) => Value::Infinite(!sign),
        Value::Finite(units, sign) => Value::Finite(-units, !sign),
    }
}

/// The results of a format: its values, and the one that the next code would have.
struct Results {
    values: Vec<BigInt>,
    greatest: u8,
    infinity: Option<u8>,
}

impl Results {
    fn new(e5m2: bool) -> Self {
        let (exponent, mantissa, greatest) = if e5m2 { (5, 2, 0x7b) } else { (4, 3, 0x7e) };
        let mut values: Vec<BigInt> =
            values(exponent, mantissa, greatest).iter().map(|&v| scaled(v, UNIT)).collect();
        let last = &values[values.len() - 1];
        let next: BigInt = last * 2 - &values[values.len() - 2];
        values.push(next);
        Self { values, greatest, infinity: e5m2.then_some(0x7c) }
    }

    /// The code of a result; `0x7f` for every NaN.
    fn code(&self, value: &Value, satfinite: bool) -> u8 {
        let (nearest, negative) = match value {
            Value::Nan => return 0x7f,
            Value::Infinite(sign) => (self.values.len() - 1, *sign),
            Value::Finite(units, sign) => {
                let magnitude = BigInt::from(units.magnitude().clone());
                let above = self.values.partition_point(|value| *value < magnitude);
                if above == self.values.len() {
                    (above - 1, *sign)
                } else {
                    let below = above.max(1) - 1;
                    let (up, down) =
                        (&self.values[above] - &magnitude, &magnitude - &self.values[below]);
                    let takes_above = up < down || (up == down && above % 2 == 0);
                    (if takes_above { above } else { below }, *sign)
                }
            }
        };
        let code = match nearest as u8 {
            code if code <= self.greatest => code,
            _ if satfinite => self.greatest,
            _ => match self.infinity {
                Some(infinity) => infinity,
                None => return 0x7f,
            },
        };
        code | if negative { 0x80 } else { 0 }
    }
}

const FORMATS: [Elements; 7] = [
    Elements::E4m3,
    Elements::E5m2,
    Elements::E2m3,
    Elements::E3m2,
    Elements::E2m1,
    Elements::PaddedE2m1,
    Elements::Ue8m0,
];

/// Four codes as an operand.
fn pack(format: Elements, codes: [u8; 4]) -> u32 {
    match format {
        Elements::E2m1 => codes.iter().rev().fold(0, |bits, code| bits << 4 | u32::from(code & 15)),
        _ => u32::from_le_bytes(codes),
    }
}

fn computed(
    operation: Operation,
    [a, b, c]: [(Elements, [u8; 4]); 3],
    (e5m2, satfinite): (bool, bool),
) -> [u8; 4] {
    let operands = [a, b, c].map(|(format, codes)| format.values(pack(format, codes)));
    let result = if e5m2 {
        compute::<E5m2>(operation, operands, satfinite)
    } else {
        compute::<E4m3>(operation, operands, satfinite)
    };
    result.to_le_bytes()
}

#[test]
fn every_sum_and_every_product_is_the_nearest_value() {
    for e5m2 in [false, true] {
        let results = Results::new(e5m2);
        let own = if e5m2 { Elements::E5m2 } else { Elements::E4m3 };
        let own_values: Vec<Value> = (0..=255).map(|code| value(own, code)).collect();
        for format in FORMATS {
            // Bits above an element of fewer than 8 do not count, which the last ones show.
            let codes: Vec<u8> = match format {
                Elements::E2m1 => (0..16).collect(),
                Elements::PaddedE2m1 => (0..32).collect(),
                Elements::E2m3 | Elements::E3m2 => (0..96).collect(),
                _ => (0..=255).collect(),
            };
            for &first in &codes {
                let a = value(format, first);
                for four in (0..=255u8).step_by(4) {
                    let seconds = [four, four + 1, four + 2, four + 3];
                    let operands = [(format, [first; 4]), (own, seconds), (own, seconds)];
                    let of = |i: usize| own_values[usize::from(seconds[i])].clone();
                    for satfinite in [false, true] {
                        let got = |operation| computed(operation, operands, (e5m2, satfinite));
                        let code = |value: Value| results.code(&value, satfinite);
                        let what = format!("{format:?} {first:#x} with {own:?} {seconds:x?}");
                        let sums = [0, 1, 2, 3].map(|i| code(sum(a.clone(), of(i))));
                        assert_eq!(got(Operation::Add), sums, "{what}");
                        let products = [0, 1, 2, 3].map(|i| code(product(a.clone(), of(i))));
                        assert_eq!(got(Operation::Multiply), products, "{what}");
                    }
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30_000))]
    #[test]
    fn products_and_sums_are_rounded_once(
        a in (0usize..7, any::<[u8; 4]>()),
        b in (0usize..7, any::<[u8; 4]>()),
        c in any::<[u8; 4]>(),
        e5m2: bool,
        satfinite: bool,
    ) {
        let own = if e5m2 { Elements::E5m2 } else { Elements::E4m3 };
        let (a, b) = ((FORMATS[a.0], a.1), (FORMATS[b.0], b.1));
        let results = Results::new(e5m2);
        let fused = computed(Operation::MultiplyAdd, [a, b, (own, c)], (e5m2, satfinite));
        let difference = computed(Operation::Subtract, [a, b, (own, c)], (e5m2, satfinite));
        for i in 0..4 {
            // An element of four bits is all that its operand holds of it.
            let [a, b, c] = [a, b, (own, c)].map(|(format, codes)| value(format, codes[i]));
            let exact = sum(product(a.clone(), b), c.clone());
            prop_assert_eq!(fused[i], results.code(&exact, satfinite));
            prop_assert_eq!(difference[i], results.code(&sum(a, negated(c)), satfinite));
        }
    }
}
