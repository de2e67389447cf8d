//! Single and double precision arithmetic (PTX ISA 9.7.3).
//!
//! Rounding to nearest is the host's own operation. Directed `.f32` results go through `.f64`
//! rounded to odd (see [`super::rounding`]); directed `.f64` results, which hardly any
//! kernel asks for, through `rustc_apfloat`.

use rustc_apfloat::ieee::Double;
use rustc_apfloat::{Float as _, Round};

use super::rounding::{self, Mode, Rounding};

/// The NaN that `.f32` operations return.
pub const NAN_F32: f32 = f32::from_bits(0x7fff_ffff);
/// The NaN that `.f64` operations return when no operand is one.
pub const NAN_F64: f64 = f64::from_bits(0xfff8_0000_0000_0000);

/// `.f32` or `.f64`.
pub trait Float: Copy + PartialOrd {
    /// Returns true if the value is a NaN.
    fn is_nan(self) -> bool;
    /// Returns true if the value is an infinity.
    fn is_infinite(self) -> bool;
    /// Returns true if the value is neither 0 nor normal, but finite.
    fn is_subnormal(self) -> bool;
    /// The value rounded to an integral value; NaN stays one.
    fn round_integral(self, mode: Mode) -> Self;
}

macro_rules! floats {
    ($($t:ident)*) => {$(
        impl Float for $t {
            #[inline(always)]
            fn is_nan(self) -> bool { $t::is_nan(self) }
            #[inline(always)]
            fn is_infinite(self) -> bool { $t::is_infinite(self) }
            #[inline(always)]
            fn is_subnormal(self) -> bool { $t::is_subnormal(self) }
            #[inline(always)]
            fn round_integral(self, mode: Mode) -> Self {
                match mode {
                    Mode::NearestEven => self.round_ties_even(),
                    Mode::Zero => self.trunc(),
                    Mode::Down => self.floor(),
                    Mode::Up => self.ceil(),
                    Mode::NearestAway => self.round(),
                }
            }
        }
    )*};
}

floats!(f32 f64);

/// `.ftz`: a subnormal becomes a zero of the same sign.
#[inline(always)]
pub fn ftz_f32(x: f32) -> f32 {
    let bits = x.to_bits();
    f32::from_bits(if bits & 0x7f80_0000 == 0 { bits & 0x8000_0000 } else { bits })
}

/// `.sat`: clamps to 0..1; NaN becomes +0.
#[inline(always)]
pub fn sat_f32(x: f32) -> f32 {
    let above = if x > 0.0 { x } else { 0.0 };
    if above < 1.0 { above } else { 1.0 }
}

/// `.sat` on `.f64`, as `cvt` allows it: clamps to 0..1; NaN becomes +0.
#[inline(always)]
pub fn sat_f64(x: f64) -> f64 {
    let above = if x > 0.0 { x } else { 0.0 };
    if above < 1.0 { above } else { 1.0 }
}

/// Flushes an operand or a result where the instruction says `.ftz`.
#[inline(always)]
pub(super) fn flush<const FTZ: bool>(x: f32) -> f32 {
    if FTZ { ftz_f32(x) } else { x }
}

/// Every NaN to the one that `.f32` operations return.
///
/// The choice is made on the bits, because to the compiler all NaNs are alike. A choice between a
/// NaN constant and a float that is NaN may be optimised away, and with it the payload.
#[inline(always)]
pub(super) fn canonical(x: f32) -> f32 {
    let bits = x.to_bits();
    f32::from_bits(if x.is_nan() { NAN_F32.to_bits() } else { bits })
}

/// `nan` where `x` is NaN; on the bits, as in [`canonical`].
#[inline(always)]
pub(super) fn replace_nan_f64(x: f64, nan: u64) -> f64 {
    let bits = x.to_bits();
    f64::from_bits(if x.is_nan() { nan } else { bits })
}

/// The factor by which `.ftz` scales an operation to see its result round as a normal number.
const SCALE: f32 = 16_777_216.0;

/// The result of an operation flushed as `.ftz` says; `scaled` is the operation's result from
/// operands that make it `SCALE` times as large. An operand whose scaling overflows is too large
/// for a tiny result, and leaves an infinity or NaN here. Without `.ftz` all of this is dead code.
#[inline(always)]
pub(super) fn flush_result<const FTZ: bool>(result: f32, scaled: f32) -> f32 {
    let tiny = scaled.abs() < f32::MIN_POSITIVE * SCALE;
    if FTZ && tiny { 0f32.copysign(result) } else { result }
}

/// Applies the last steps of every `.f32` result: clamp, canonical NaN.
#[inline(always)]
fn finish<const SAT: bool>(x: f32) -> f32 {
    if SAT { sat_f32(x) } else { canonical(x) }
}

/// A NaN result of an `.f64` operation: the first NaN among the operands, quieted.
#[inline(always)]
fn propagate<const N: usize>(result: f64, operands: [f64; N]) -> f64 {
    let mut nan = NAN_F64.to_bits();
    for operand in operands.into_iter().rev() {
        nan = if operand.is_nan() { quiet(operand).to_bits() } else { nan };
    }
    replace_nan_f64(result, nan)
}

/// A NaN with its quiet bit set.
#[inline(always)]
pub(super) fn quiet(nan: f64) -> f64 {
    f64::from_bits(nan.to_bits() | 1 << 51)
}

/// `a + b` where the exact zero sum takes the sign that directed rounding gives it.
#[inline(always)]
fn directed_sum(a: f64, b: f64, mode: Mode) -> f32 {
    let sum = rounding::odd_sum_f64(a, b);
    let both_positive_zero = (a.to_bits() | b.to_bits()) == 0;
    let minus_zero = (mode == Mode::Down) & (sum == 0.0) & !both_positive_zero;
    rounding::f64_to_f32(if minus_zero { -0.0 } else { sum }, mode)
}

/// `add{.rnd}{.ftz}{.sat}.f32`.
#[inline(always)]
pub fn add_f32<R: Rounding, const FTZ: bool, const SAT: bool>(a: f32, b: f32) -> f32 {
    let (a, b) = (flush::<FTZ>(a), flush::<FTZ>(b));
    let sum = match R::MODE {
        Mode::NearestEven => a + b,
        mode => directed_sum(f64::from(a), f64::from(b), mode),
    };
    // A subnormal sum is exact: nothing rounds up to the least normal number.
    finish::<SAT>(flush::<FTZ>(sum))
}

/// `sub{.rnd}{.ftz}{.sat}.f32`.
#[inline(always)]
pub fn sub_f32<R: Rounding, const FTZ: bool, const SAT: bool>(a: f32, b: f32) -> f32 {
    add_f32::<R, FTZ, SAT>(a, -b)
}

/// `mul{.rnd}{.ftz}{.sat}.f32`.
#[inline(always)]
pub fn mul_f32<R: Rounding, const FTZ: bool, const SAT: bool>(a: f32, b: f32) -> f32 {
    let (a, b) = (flush::<FTZ>(a), flush::<FTZ>(b));
    let multiply = |a: f32| match R::MODE {
        Mode::NearestEven => a * b,
        // 24 + 24 bits fit in 53: the product is exact.
        mode => rounding::f64_to_f32(f64::from(a) * f64::from(b), mode),
    };
    finish::<SAT>(flush_result::<FTZ>(multiply(a), multiply(a * SCALE)))
}

/// `fma.rnd{.ftz}{.sat}.f32`, and `mad` from sm_20 on.
#[inline(always)]
pub fn fma_f32<R: Rounding, const FTZ: bool, const SAT: bool>(a: f32, b: f32, c: f32) -> f32 {
    let (a, b, c) = (flush::<FTZ>(a), flush::<FTZ>(b), flush::<FTZ>(c));
    let fuse = |a: f32, c: f32| match R::MODE {
        Mode::NearestEven => a.mul_add(b, c),
        mode => directed_sum(f64::from(a) * f64::from(b), f64::from(c), mode),
    };
    finish::<SAT>(flush_result::<FTZ>(fuse(a, c), fuse(a * SCALE, c * SCALE)))
}

/// `div.rnd{.ftz}.f32`.
#[inline(always)]
pub fn div_f32<R: Rounding, const FTZ: bool>(a: f32, b: f32) -> f32 {
    let (a, b) = (flush::<FTZ>(a), flush::<FTZ>(b));
    let divide = |a: f32| match R::MODE {
        Mode::NearestEven => a / b,
        mode => {
            let (a, b) = (f64::from(a), f64::from(b));
            let quotient = a / b;
            // Exact. Its sign times that of `b` is the sign of the error.
            let remainder = (-quotient).mul_add(b, a);
            rounding::f64_to_f32(rounding::to_odd_f64(quotient, remainder * b.signum()), mode)
        }
    };
    finish::<false>(flush_result::<FTZ>(divide(a), divide(a * SCALE)))
}

/// `rcp.rnd{.ftz}.f32`.
#[inline(always)]
pub fn rcp_f32<R: Rounding, const FTZ: bool>(a: f32) -> f32 {
    div_f32::<R, FTZ>(1.0, a)
}

/// `sqrt.rnd{.ftz}.f32`.
#[inline(always)]
pub fn sqrt_f32<R: Rounding, const FTZ: bool>(a: f32) -> f32 {
    let a = flush::<FTZ>(a);
    // Never subnormal.
    sqrt_result(
        a,
        match R::MODE {
            Mode::NearestEven => a.sqrt(),
            mode => {
                let a = f64::from(a);
                let root = a.sqrt();
                let remainder = (-root).mul_add(root, a);
                rounding::f64_to_f32(rounding::to_odd_f64(root, remainder), mode)
            }
        },
    )
}

/// The root of `a`, or NaN of the right bits. It looks at the bits of `a`. Tests of floating-point
/// values, be it of `root` or of `a`, were compiled away for x86-64-v3. They left the host's own
/// NaN (0xffc00000) of negative operands.
#[inline(always)]
pub(super) fn sqrt_result(a: f32, root: f32) -> f32 {
    let bits = a.to_bits();
    let negative = bits > 0x8000_0000;
    let nan = bits & 0x7fff_ffff > 0x7f80_0000;
    if negative | nan { NAN_F32 } else { root }
}

/// `neg{.ftz}.f32`.
#[inline(always)]
pub fn neg_f32<const FTZ: bool>(a: f32) -> f32 {
    -flush::<FTZ>(a)
}

/// `abs{.ftz}.f32`.
#[inline(always)]
pub fn abs_f32<const FTZ: bool>(a: f32) -> f32 {
    flush::<FTZ>(a).abs()
}

/// `copysign.f32`: the sign of `a` on the value of `b`.
#[inline(always)]
pub fn copysign_f32(a: f32, b: f32) -> f32 {
    b.copysign(a)
}

/// The smaller operand, -0 below +0; the other one where one is NaN, unless `NAN` asks for NaN.
#[inline(always)]
fn min_ordered<const NAN: bool>(a: f32, b: f32) -> f32 {
    let equal = f32::from_bits(a.to_bits() | b.to_bits());
    let ordered = if a < b { a } else { equal };
    pick::<NAN>(a, b, if b < a { b } else { ordered })
}

/// The larger operand, +0 above -0; the other one where one is NaN, unless `NAN` asks for NaN.
#[inline(always)]
fn max_ordered<const NAN: bool>(a: f32, b: f32) -> f32 {
    let equal = f32::from_bits(a.to_bits() & b.to_bits());
    let ordered = if a > b { a } else { equal };
    pick::<NAN>(a, b, if b > a { b } else { ordered })
}

/// Replaces the result of a comparison that had a NaN among its operands.
#[inline(always)]
fn pick<const NAN: bool>(a: f32, b: f32, ordered: f32) -> f32 {
    let without_b = if b.is_nan() { a } else { ordered };
    let picked = if a.is_nan() { b } else { without_b };
    let poisoned = NAN & (a.is_nan() | b.is_nan());
    f32::from_bits(if poisoned { NAN_F32.to_bits() } else { canonical(picked).to_bits() })
}

/// The sign of a `.xorsign.abs` result: the exclusive or of both signs, unless it is NaN.
#[inline(always)]
fn xor_sign(a: f32, b: f32, magnitude: f32) -> f32 {
    let sign = (a.to_bits() ^ b.to_bits()) & 0x8000_0000;
    let signed = f32::from_bits(magnitude.to_bits() | sign);
    if magnitude.is_nan() { magnitude } else { signed }
}

macro_rules! extrema_f32 {
    ($two:ident, $xorsign:ident, $three:ident, $ordered:ident, $name:literal) => {
        #[doc = concat!("`", $name, "{.ftz}{.NaN}.f32`.")]
        #[inline(always)]
        pub fn $two<const FTZ: bool, const NAN: bool>(a: f32, b: f32) -> f32 {
            $ordered::<NAN>(flush::<FTZ>(a), flush::<FTZ>(b))
        }

        #[doc = concat!("`", $name, "{.ftz}{.NaN}.xorsign.abs.f32`.")]
        #[inline(always)]
        pub fn $xorsign<const FTZ: bool, const NAN: bool>(a: f32, b: f32) -> f32 {
            xor_sign(a, b, $two::<FTZ, NAN>(a.abs(), b.abs()))
        }

        #[doc = concat!("`", $name, "{.ftz}{.NaN}{.abs}.f32` with three inputs.")]
        #[inline(always)]
        pub fn $three<const FTZ: bool, const NAN: bool, const ABS: bool>(
            a: f32,
            b: f32,
            c: f32,
        ) -> f32 {
            let input = |x: f32| flush::<FTZ>(if ABS { x.abs() } else { x });
            $ordered::<NAN>($ordered::<NAN>(input(a), input(b)), input(c))
        }
    };
}

extrema_f32!(min_f32, min_xorsign_abs_f32, min3_f32, min_ordered, "min");
extrema_f32!(max_f32, max_xorsign_abs_f32, max3_f32, max_ordered, "max");

/// `testp.finite.type`.
#[inline(always)]
pub fn testp_finite<F: Float>(a: F) -> bool {
    !(a.is_infinite() | a.is_nan())
}

/// `testp.infinite.type`.
#[inline(always)]
pub fn testp_infinite<F: Float>(a: F) -> bool {
    a.is_infinite()
}

/// `testp.number.type`: anything but NaN.
#[inline(always)]
pub fn testp_number<F: Float>(a: F) -> bool {
    !a.is_nan()
}

/// `testp.notanumber.type`.
#[inline(always)]
pub fn testp_notanumber<F: Float>(a: F) -> bool {
    a.is_nan()
}

/// `testp.normal.type`: finite and not subnormal; zeros count as normal.
#[inline(always)]
pub fn testp_normal<F: Float>(a: F) -> bool {
    testp_finite(a) & !a.is_subnormal()
}

/// `testp.subnormal.type`.
#[inline(always)]
pub fn testp_subnormal<F: Float>(a: F) -> bool {
    a.is_subnormal()
}

/// The mode in `rustc_apfloat`'s words.
fn apfloat_round(mode: Mode) -> Round {
    match mode {
        Mode::NearestEven => Round::NearestTiesToEven,
        Mode::Zero => Round::TowardZero,
        Mode::Down => Round::TowardNegative,
        Mode::Up => Round::TowardPositive,
        Mode::NearestAway => Round::NearestTiesToAway,
    }
}

fn to_apfloat(x: f64) -> Double {
    Double::from_bits(u128::from(x.to_bits()))
}

fn from_apfloat(x: Double) -> f64 {
    f64::from_bits(x.to_bits() as u64)
}

/// `add{.rnd}.f64`.
#[inline(always)]
pub fn add_f64<R: Rounding>(a: f64, b: f64) -> f64 {
    let sum = match R::MODE {
        Mode::NearestEven => a + b,
        mode => from_apfloat(to_apfloat(a).add_r(to_apfloat(b), apfloat_round(mode)).value),
    };
    propagate(sum, [a, b])
}

/// `sub{.rnd}.f64`.
#[inline(always)]
pub fn sub_f64<R: Rounding>(a: f64, b: f64) -> f64 {
    let difference = match R::MODE {
        Mode::NearestEven => a - b,
        mode => from_apfloat(to_apfloat(a).sub_r(to_apfloat(b), apfloat_round(mode)).value),
    };
    propagate(difference, [a, b])
}

/// `mul{.rnd}.f64`.
#[inline(always)]
pub fn mul_f64<R: Rounding>(a: f64, b: f64) -> f64 {
    let product = match R::MODE {
        Mode::NearestEven => a * b,
        mode => from_apfloat(to_apfloat(a).mul_r(to_apfloat(b), apfloat_round(mode)).value),
    };
    propagate(product, [a, b])
}

/// `fma.rnd.f64` and `mad.rnd.f64`.
#[inline(always)]
pub fn fma_f64<R: Rounding>(a: f64, b: f64, c: f64) -> f64 {
    let result = match R::MODE {
        Mode::NearestEven => a.mul_add(b, c),
        mode => from_apfloat(
            to_apfloat(a).mul_add_r(to_apfloat(b), to_apfloat(c), apfloat_round(mode)).value,
        ),
    };
    propagate(result, [a, b, c])
}

/// `div.rnd.f64`.
#[inline(always)]
pub fn div_f64<R: Rounding>(a: f64, b: f64) -> f64 {
    let quotient = match R::MODE {
        Mode::NearestEven => a / b,
        mode => from_apfloat(to_apfloat(a).div_r(to_apfloat(b), apfloat_round(mode)).value),
    };
    propagate(quotient, [a, b])
}

/// `rcp.rnd.f64`.
#[inline(always)]
pub fn rcp_f64<R: Rounding>(a: f64) -> f64 {
    div_f64::<R>(1.0, a)
}

/// `sqrt.rnd.f64`.
#[inline(always)]
pub fn sqrt_f64<R: Rounding>(a: f64) -> f64 {
    let nearest = a.sqrt();
    let root = match R::MODE {
        Mode::NearestEven | Mode::NearestAway => nearest,
        mode => {
            // Scaled so that the remainder of a tiny operand does not underflow; then exact.
            let scaled = nearest * 2f64.powi(54);
            let remainder = (-scaled).mul_add(scaled, a * 2f64.powi(108));
            let small = a < 2f64.powi(-500);
            let remainder = if small { remainder } else { (-nearest).mul_add(nearest, a) };
            match mode {
                Mode::Up if remainder > 0.0 => nearest.next_up(),
                Mode::Zero | Mode::Down if remainder < 0.0 => nearest.next_down(),
                _ => nearest,
            }
        }
    };
    propagate(root, [a])
}

/// `neg.f64`.
#[inline(always)]
pub fn neg_f64(a: f64) -> f64 {
    -a
}

/// `abs.f64`.
#[inline(always)]
pub fn abs_f64(a: f64) -> f64 {
    a.abs()
}

/// `copysign.f64`: the sign of `a` on the value of `b`.
#[inline(always)]
pub fn copysign_f64(a: f64, b: f64) -> f64 {
    b.copysign(a)
}

/// `min.f64`: -0 below +0; the other operand where one is NaN.
#[inline(always)]
pub fn min_f64(a: f64, b: f64) -> f64 {
    let equal = f64::from_bits(a.to_bits() | b.to_bits());
    let ordered = if a < b { a } else { equal };
    pick_f64(a, b, if b < a { b } else { ordered })
}

/// `max.f64`: +0 above -0; the other operand where one is NaN.
#[inline(always)]
pub fn max_f64(a: f64, b: f64) -> f64 {
    let equal = f64::from_bits(a.to_bits() & b.to_bits());
    let ordered = if a > b { a } else { equal };
    pick_f64(a, b, if b > a { b } else { ordered })
}

/// Replaces the result of a comparison that had a NaN among its operands.
#[inline(always)]
fn pick_f64(a: f64, b: f64, ordered: f64) -> f64 {
    let without_b = if b.is_nan() { a } else { ordered };
    let picked = if a.is_nan() { b } else { without_b };
    propagate(picked, [a, b])
}

/// Applies an `.f32` operation to both halves of `.f32x2` registers: `add`, `sub`, `mul`.
#[inline(always)]
pub fn map2_f32x2(f: impl Fn(f32, f32) -> f32, a: u64, b: u64) -> u64 {
    map3_f32x2(|a, b, _| f(a, b), a, b, 0)
}

/// Applies an `.f32` operation to both halves of `.f32x2` registers: `fma`.
#[inline(always)]
pub fn map3_f32x2(f: impl Fn(f32, f32, f32) -> f32, a: u64, b: u64, c: u64) -> u64 {
    let half = |x: u64, i: u32| f32::from_bits((x >> (32 * i)) as u32);
    let apply = |i: u32| u64::from(f(half(a, i), half(b, i), half(c, i)).to_bits());
    apply(1) << 32 | apply(0)
}
