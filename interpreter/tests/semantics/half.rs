use gpucast_interpreter::semantics::rounding::Mode;
use gpucast_interpreter::semantics::{Bf16, F16, Half, half};
use proptest::prelude::*;
use rustc_apfloat::ieee::{BFloat, Half as Binary16, Quad, Single};
use rustc_apfloat::{Float, FloatConvert as _};

use crate::values::{round, singles};

const NAN: u16 = 0x7fff;

/// One format in both worlds.
trait Pair: Half {
    type Exact: Float + rustc_apfloat::FloatConvert<Single>;
    fn exact(x: u16) -> Self::Exact {
        Self::Exact::from_bits(u128::from(x))
    }
    fn rounded(x: f32, mode: Mode) -> u16;
}

fn bits<E: Float>(x: E) -> u16 {
    if x.is_nan() { NAN } else { x.to_bits() as u16 }
}

impl Pair for F16 {
    type Exact = Binary16;
    fn rounded(x: f32, mode: Mode) -> u16 {
        let single = Single::from_bits(u128::from(x.to_bits()));
        let half: Binary16 = single.convert_r(round(mode), &mut false).value;
        bits(half)
    }
}

impl Pair for Bf16 {
    type Exact = BFloat;
    fn rounded(x: f32, mode: Mode) -> u16 {
        let single = Single::from_bits(u128::from(x.to_bits()));
        let half: BFloat = single.convert_r(round(mode), &mut false).value;
        bits(half)
    }
}

const MODES: [Mode; 5] = [Mode::NearestEven, Mode::NearestAway, Mode::Zero, Mode::Down, Mode::Up];

fn check_narrow<H: Pair>(x: f32) {
    for mode in MODES {
        let expected = H::rounded(x, mode);
        assert_eq!(H::narrow(x, mode), expected, "{mode:?} {x:e}");
        assert_eq!(H::narrow_f64(f64::from(x), mode), expected, "{mode:?} {x:e} from f64");
    }
}

fn check_arithmetic<H: Pair>(a: u16, b: u16, c: u16) {
    let (x, y, z) = (H::exact(a), H::exact(b), H::exact(c));
    let at = format!("{a:#x} {b:#x} {c:#x}");
    assert_eq!(half::add::<H, false, false>(a, b), bits((x + y).value), "add {at}");
    assert_eq!(half::sub::<H, false, false>(a, b), bits((x - y).value), "sub {at}");
    assert_eq!(half::mul::<H, false, false>(a, b), bits((x * y).value), "mul {at}");
    let fused = bits(x.mul_add(y, z).value);
    assert_eq!(half::fma::<H, false, false>(a, b, c), fused, "fma {at}");

    let negative = fused & 0x8000 != 0;
    let relu = if fused == NAN {
        NAN
    } else if negative {
        0
    } else {
        fused
    };
    assert_eq!(half::fma_relu::<H, false>(a, b, c), relu, "fma.relu {at}");
    let sat = if fused == NAN || negative { 0 } else { fused.min(H::ONE) };
    assert_eq!(half::fma::<H, false, true>(a, b, c), sat, "fma.sat {at}");

    check_extrema::<H>(a, b);
}

/// `.f16` alone has `.ftz`. Sums and products of halves are exact in 113 bits.
fn check_flushing(a: u16, b: u16, c: u16) {
    let flush = |x: u16| if F16::exact(x).is_denormal() { x & 0x8000 } else { x };
    let [x, y, z] = [a, b, c].map(|x| F16::exact(flush(x)));
    let wide = |x: Binary16| -> Quad { x.convert(&mut false).value };
    let expected = |result: Binary16, exact: Quad| {
        let scaled: Binary16 = exact.scalbn(12).convert(&mut false).value;
        let tiny = (scaled.to_bits() as u16 & 0x7fff) < 0x0400 + (12 << 10);
        if tiny { result.to_bits() as u16 & 0x8000 } else { bits(result) }
    };
    let at = format!("{a:#x} {b:#x} {c:#x}");
    let product = expected((x * y).value, (wide(x) * wide(y)).value);
    assert_eq!(half::mul::<F16, true, false>(a, b), product, "mul.ftz {at}");
    let fused = expected(x.mul_add(y, z).value, wide(x).mul_add(wide(y), wide(z)).value);
    assert_eq!(half::fma::<F16, true, false>(a, b, c), fused, "fma.ftz {at}");
    let sum = expected((x + y).value, (wide(x) + wide(y)).value);
    assert_eq!(half::add::<F16, true, false>(a, b), sum, "add.ftz {at}");
}

fn check_extrema<H: Pair>(a: u16, b: u16) {
    let (nan_a, nan_b) = (H::exact(a).is_nan(), H::exact(b).is_nan());
    // Sign and magnitude as an integer that orders like the value, -0 before +0.
    let key = |x: u16| if x & 0x8000 != 0 { -1 - i32::from(x & 0x7fff) } else { i32::from(x) };
    let expected = |first: bool| match (nan_a, nan_b) {
        (true, true) => NAN,
        (true, false) => b,
        (false, true) => a,
        (false, false) => {
            if first {
                a
            } else {
                b
            }
        }
    };
    let less = key(a) <= key(b);
    assert_eq!(half::min::<H, false, false>(a, b), expected(less), "min {a:#x} {b:#x}");
    assert_eq!(half::max::<H, false, false>(a, b), expected(!less), "max {a:#x} {b:#x}");
    let poisoned = |number: u16| if nan_a || nan_b { NAN } else { number };
    assert_eq!(half::min::<H, false, true>(a, b), poisoned(expected(less)));
    let magnitude = half::max::<H, false, false>(a & 0x7fff, b & 0x7fff);
    let signed = if magnitude == NAN { NAN } else { magnitude | (a ^ b) & 0x8000 };
    assert_eq!(half::max_xorsign_abs::<H, false, false>(a, b), signed);
}

/// Zeros, subnormals, the edges of normal, 1, the greatest, infinity and NaN, both signs.
fn operands<H: Half>() -> Vec<u16> {
    let least_normal = H::INFINITY & H::INFINITY.wrapping_neg();
    let magnitudes = [
        0,
        1,
        2,
        3,
        least_normal / 2,
        least_normal - 1,
        least_normal,
        least_normal + 1,
        H::ONE / 2,
        H::ONE - 1,
        H::ONE,
        H::ONE + 1,
        H::ONE + 3,
        H::ONE + least_normal,
        H::INFINITY / 4 * 3,
        H::INFINITY - least_normal,
        H::INFINITY - 1,
        H::INFINITY,
        H::INFINITY + 1,
        NAN,
    ];
    magnitudes.iter().flat_map(|&m| [m, m | 0x8000]).collect()
}

#[test]
fn every_half_widens_exactly_and_narrows_back() {
    fn check<H: Pair>() {
        for x in 0..=u16::MAX {
            let exact: Single = H::exact(x).convert(&mut false).value;
            let widened = H::widen(x);
            if exact.is_nan() {
                assert!(widened.is_nan(), "{x:#x}");
                assert_eq!(H::narrow(widened, Mode::NearestEven), NAN);
            } else {
                assert_eq!(u128::from(widened.to_bits()), exact.to_bits(), "{x:#x}");
                for mode in MODES {
                    assert_eq!(H::narrow(widened, mode), x, "{x:#x} {mode:?}");
                }
            }
        }
    }
    check::<F16>();
    check::<Bf16>();
}

#[test]
fn every_midpoint_and_its_neighbours_narrow_as_apfloat_says() {
    fn check<H: Pair>() {
        for x in (0..H::INFINITY).chain(0x8000..0x8000 | H::INFINITY) {
            let (low, high) = (H::widen(x), H::widen(x + 1));
            let middle = if high.is_infinite() { low } else { low / 2.0 + high / 2.0 };
            for candidate in [low.next_up(), middle.next_down(), middle, middle.next_up()] {
                check_narrow::<H>(candidate);
            }
        }
        singles().into_iter().for_each(check_narrow::<H>);
    }
    check::<F16>();
    check::<Bf16>();
}

#[test]
fn arithmetic_rounds_once_at_the_boundaries() {
    fn check<H: Pair>() {
        for a in operands::<H>() {
            for b in operands::<H>() {
                for c in operands::<H>() {
                    check_arithmetic::<H>(a, b, c);
                }
            }
        }
    }
    check::<F16>();
    check::<Bf16>();
}

#[test]
fn flushing_looks_at_the_rounded_result() {
    for a in operands::<F16>() {
        for b in operands::<F16>() {
            operands::<F16>().into_iter().for_each(|c| check_flushing(a, b, c));
        }
    }
    assert_eq!(half::mul::<F16, false, false>(0x07ff, 0x3800), 0x0400);
    assert_eq!(half::mul::<F16, true, false>(0x07ff, 0x3800), 0);
}

#[test]
fn packed_halves_do_not_mix() {
    let add = half::add::<F16, false, false>;
    assert_eq!(half::map2_x2(add, 0x3c00_4000, 0x3c00_4200), 0x4000_4500);
    assert_eq!(half::map1_x2(half::neg::<F16, false>, 0x3c00_c000), 0xbc00_4000);
    let fma = half::fma::<F16, false, false>;
    assert_eq!(half::map3_x2(fma, 0x4000_3c00, 0x4200_3c00, 0x3c00_0000), 0x4700_3c00);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100_000))]
    #[test]
    fn arithmetic_rounds_once(a: u16, b: u16, c: u16) {
        check_arithmetic::<F16>(a, b, c);
        check_arithmetic::<Bf16>(a, b, c);
        check_flushing(a, b, c);
        // Products around the least normal number, 2^-14.
        let below_one = |x: u16| x & 0x83ff | 0x2000 | x >> 3 & 0x0400;
        check_flushing(below_one(a), below_one(b), c & 0x83ff | 0x0400);
    }

    #[test]
    fn any_single_narrows_as_apfloat_says(x: u32) {
        check_narrow::<F16>(f32::from_bits(x));
        check_narrow::<Bf16>(f32::from_bits(x));
        // Most singles are out of the range of `.f16`.
        check_narrow::<F16>(f32::from_bits(x % 0x2000_0000 + 0x3000_0000));
    }
}
