//! Directed `.f64` rounding against exact dyadic numbers, an integer times a power of two.

use gpucast_interpreter::semantics::rounding::Mode;
use gpucast_interpreter::semantics::{Rm, Rn, Rounding, Rp, Rz, float};
use num_bigint::BigInt;
use proptest::prelude::*;

use crate::values::doubles;

/// `integer * 2^-2200`: every sum and product of finite `.f64` and every midpoint is one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Exact(BigInt);

const POINT: i32 = 2200;

fn exact(x: f64) -> Exact {
    let bits = x.to_bits();
    let biased = (bits >> 52 & 0x7ff) as i32;
    let fraction = (bits & ((1 << 52) - 1)) as i64;
    let significand = if biased == 0 { fraction } else { fraction | 1 << 52 };
    let magnitude = BigInt::from(significand) << (POINT + biased.max(1) - 1075);
    Exact(if x.is_sign_negative() { -magnitude } else { magnitude })
}

impl Exact {
    fn add(&self, other: &Exact) -> Exact {
        Exact(&self.0 + &other.0)
    }
    fn mul(&self, other: &Exact) -> Exact {
        Exact((&self.0 * &other.0) >> POINT)
    }
}

/// Whether `result` is `value` rounded in `mode`, `value` compared to anything by `cmp`.
fn is_rounded(mode: Mode, result: f64, cmp: impl Fn(&Exact) -> std::cmp::Ordering) -> bool {
    // `cmp(x)` is the order of x against the exact value.
    if result.is_infinite() {
        let greatest = exact(f64::MAX.copysign(result));
        let beyond = match (mode, result > 0.0) {
            (Mode::Up, true) => cmp(&greatest).is_gt() || cmp(&greatest).is_lt(),
            (Mode::Down, false) => cmp(&greatest).is_gt() || cmp(&greatest).is_lt(),
            (Mode::NearestEven, _) => true,
            _ => false,
        };
        let outside = if result > 0.0 { cmp(&greatest).is_lt() } else { cmp(&greatest).is_gt() };
        return beyond && outside;
    }
    let above = |x: f64| if x == f64::INFINITY { true } else { cmp(&exact(x)).is_gt() };
    let below = |x: f64| if x == f64::NEG_INFINITY { true } else { cmp(&exact(x)).is_lt() };
    let at_least = |x: f64| !below(x);
    let at_most = |x: f64| !above(x);
    match mode {
        Mode::Down => at_most(result) && above(result.next_up()),
        Mode::Up => at_least(result) && below(result.next_down()),
        // Zero lies between exact values of either sign.
        Mode::Zero => {
            if result.is_sign_negative() {
                at_least(result) && below(result.next_down())
            } else {
                at_most(result) && above(result.next_up())
            }
        }
        Mode::NearestEven | Mode::NearestAway => {
            at_least(result.next_up()) && at_most(result.next_down())
        }
    }
}

fn check_mode<R: Rounding>(a: f64, b: f64, c: f64) {
    let mode = R::MODE;
    let at = format!("{mode:?} {a:e} {b:e} {c:e}");
    let (sum, product) = (float::add_f64::<R>(a, b), float::mul_f64::<R>(a, b));
    let (fused, quotient) = (float::fma_f64::<R>(a, b, c), float::div_f64::<R>(a, b));
    let root = float::sqrt_f64::<R>(a);
    // Infinities and invalid operations do not round: the host's answer is the answer.
    for (name, found, host, operands) in [
        ("add", sum, a + b, &[a, b][..]),
        ("mul", product, a * b, &[a, b]),
        ("fma", fused, a.mul_add(b, c), &[a, b, c]),
        ("div", quotient, a / b, &[a, b]),
        ("sqrt", root, a.sqrt(), &[a]),
    ] {
        let special = operands.iter().any(|x| !x.is_finite());
        let same = found == host || (found.is_nan() && host.is_nan());
        assert!(!special || same, "{name} {at}: {found:e}");
    }
    if a.is_finite() && b.is_finite() {
        let value = exact(a).add(&exact(b));
        assert!(is_rounded(mode, sum, |x| x.cmp(&value)), "add {at}: {sum:e}");
        let difference = float::sub_f64::<R>(a, -b);
        assert_eq!(difference.to_bits(), sum.to_bits(), "sub {at}");
        // A product below 2^-2200 would be cut.
        let value = exact(a).mul(&exact(b));
        assert!(is_rounded(mode, product, |x| x.cmp(&value)), "mul {at}: {product:e}");
        if c.is_finite() {
            let value = value.add(&exact(c));
            assert!(is_rounded(mode, fused, |x| x.cmp(&value)), "fma {at}: {fused:e}");
        }
        if b != 0.0 && !(quotient == 0.0 && a == 0.0) {
            let (numerator, divisor) = (exact(a), exact(b));
            let positive = b > 0.0;
            assert!(
                is_rounded(mode, quotient, |x| {
                    // x against a / b is x * b against a, turned round for a negative b.
                    let order = (&x.0 * &divisor.0).cmp(&(&numerator.0 << POINT));
                    if positive { order } else { order.reverse() }
                }),
                "div {at}: {quotient:e}"
            );
        }
    }
    if a > 0.0 && a.is_finite() {
        let value = exact(a).0 << POINT;
        assert!(is_rounded(mode, root, |x| (&x.0 * &x.0).cmp(&value)), "sqrt {at}: {root:e}");
    }
}

fn check(a: f64, b: f64, c: f64) {
    check_mode::<Rn>(a, b, c);
    check_mode::<Rz>(a, b, c);
    check_mode::<Rm>(a, b, c);
    check_mode::<Rp>(a, b, c);
}

#[test]
fn every_rounding_is_exact_at_the_boundaries() {
    for a in doubles() {
        for b in doubles() {
            for c in [0.0, 1.0, -f64::from_bits(1), f64::MAX, f64::INFINITY] {
                check(a, b, c);
            }
        }
    }
}

#[test]
fn a_nan_result_is_the_first_nan_operand_quieted() {
    let signalling = f64::from_bits(0x7ff0_0000_0000_0005);
    let quiet = f64::from_bits(0xfff8_0000_0000_0007);
    let first = 0x7ff8_0000_0000_0005;
    assert_eq!(float::add_f64::<Rn>(signalling, quiet).to_bits(), first);
    assert_eq!(float::mul_f64::<Rz>(signalling, 1.0).to_bits(), first);
    assert_eq!(float::fma_f64::<Rn>(1.0, quiet, signalling).to_bits(), quiet.to_bits());
    assert_eq!(float::sub_f64::<Rn>(f64::INFINITY, f64::INFINITY).to_bits(), 0xfff8 << 48);
    assert_eq!(float::sqrt_f64::<Rp>(-1.0).to_bits(), 0xfff8 << 48);
    assert_eq!(float::min_f64(signalling, quiet).to_bits(), first);
}

#[test]
fn extrema_order_zeros_and_skip_nan() {
    assert_eq!(float::min_f64(0.0, -0.0).to_bits(), 1 << 63);
    assert_eq!(float::max_f64(-0.0, 0.0).to_bits(), 0);
    assert_eq!(float::min_f64(f64::NAN, 2.0), 2.0);
    assert_eq!(float::max_f64(3.0, f64::NAN), 3.0);
    assert_eq!(float::max_f64(3.0, -4.0), 3.0);
}

#[test]
fn an_exact_zero_sum_is_negative_only_when_rounding_down() {
    assert_eq!(float::add_f64::<Rm>(1.0, -1.0).to_bits(), 1 << 63);
    assert_eq!(float::add_f64::<Rp>(1.0, -1.0).to_bits(), 0);
    assert_eq!(float::add_f64::<Rm>(0.0, 0.0).to_bits(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]
    #[test]
    fn every_rounding_is_exact(a: u64, b: u64, c: u64) {
        let [a, b, c] = [a, b, c].map(f64::from_bits);
        check(a, b, c);
        let near_one = |x: f64| f64::from_bits(x.to_bits() & !(0x3ff << 52) | 0x3fe << 52) / 4.0;
        let [a, b, c] = [a, b, c].map(near_one);
        check(a, b, c);
    }
}
