//! Operations whose modifiers are picked at run time.
//!
//! Conversions to the formats of 8 bits and fewer and the video instructions have many forms. A
//! lane loop for each would cost more build time than they are worth. Each function here takes the
//! operation's small immediate `n` and serves one lane.

use crate::program::op::narrow::{
    BF16, E2M1, E2M3, E3M2, E4M3, E5M2, FORMAT, PZO, RELU, RNA, RP, RZ, SATFINITE, SCALED, UE5M3,
};
use crate::program::op::{quad as quad_field, video as field};
use crate::semantics::minifloat::{E2m1, E2m3, E3m2, E4m3, E5m2, Narrowing, Ue5m3};
use crate::semantics::rounding::Mode;
use crate::semantics::{
    Bf16, F16, Half, Rn, Rna, Rp, Rz, convert, float, half, minifloat, quad as quads, s2f6, video,
};

/// Evaluates an expression with a constant that says whether `n` has a flag.
macro_rules! with_flag {
    ($n:expr, $flag:ident as $name:ident, $body:expr) => {
        if $n & $flag != 0 {
            const $name: bool = true;
            $body
        } else {
            const $name: bool = false;
            $body
        }
    };
}

/// Evaluates an expression with the type `$m` of the format in `n`.
macro_rules! with_format {
    ($n:expr, $m:ident, $body:expr) => {
        match $n & FORMAT {
            E4M3 => {
                type $m = E4m3;
                $body
            }
            E5M2 => {
                type $m = E5m2;
                $body
            }
            E2M3 => {
                type $m = E2m3;
                $body
            }
            E3M2 => {
                type $m = E3m2;
                $body
            }
            E2M1 => {
                type $m = E2m1;
                $body
            }
            UE5M3.. => {
                type $m = Ue5m3;
                $body
            }
        }
    };
}

fn halves(pair: u32) -> (u16, u16) {
    ((pair >> 16) as u16, pair as u16)
}

fn bytes(pair: u16) -> (u8, u8) {
    ((pair >> 8) as u8, pair as u8)
}

/// The modifiers of a conversion to a narrow format.
fn narrowing(n: u16) -> Narrowing {
    let mode = match n & (RZ | RP) {
        0 => Mode::NearestEven,
        RP => Mode::Up,
        _ => Mode::Zero,
    };
    let has = |flag| n & flag != 0;
    Narrowing { mode, relu: has(RELU), satfinite: has(SATFINITE), positive_zero: has(PZO) }
}

/// A pair of values as a packed pair of a narrow format.
#[inline(never)]
fn narrow(n: u16, a: f64, b: f64) -> u16 {
    let how = narrowing(n);
    with_format!(n, M, {
        minifloat::pack_x2::<M>(minifloat::from_f64::<M>(a, how), minifloat::from_f64::<M>(b, how))
    })
}

/// `cvt` from `.f32` to a packed pair of a narrow format. Operands with a scale are flushed.
pub(super) fn f32_to_narrow(n: u16, a: f32, b: f32, scale: u16) -> u16 {
    let value = |x: f32| match n & SCALED {
        0 => f64::from(x),
        _ => minifloat::descale(float::ftz_f32(x), scale as u8),
    };
    narrow(n, value(a), value(b))
}

/// `cvt.rs` from `.f32` to a packed pair of a narrow format.
#[inline(never)]
pub(super) fn f32_to_narrow_stochastic(n: u16, a: f32, b: f32, random: u32) -> u16 {
    with_flag!(n, RELU as R, {
        with_format!(n, M, {
            let convert = minifloat::from_f32_stochastic::<M, R>;
            minifloat::pack_x2::<M>(convert(a, random), convert(b, random))
        })
    })
}

/// `cvt` from `.f16x2` or `.bf16x2` to a packed pair of a narrow format. Operands with a scale are
/// flushed, each as a number of its own format.
pub(super) fn halves_to_narrow(n: u16, pair: u32, scale: u16) -> u16 {
    let (a, b) = halves(pair);
    let value = |x: u16| match (n & BF16, n & SCALED) {
        (0, 0) => F16::widen(x).into(),
        (0, _) => minifloat::descale(F16::widen(half::ftz::<F16>(x)), scale as u8),
        (_, 0) => Bf16::widen(x).into(),
        _ => minifloat::descale(Bf16::widen(half::ftz::<Bf16>(x)), scale as u8),
    };
    narrow(n, value(a), value(b))
}

/// `add`, `sub`, `mul` and `fma` of four narrow numbers.
#[inline(never)]
pub(super) fn quad(n: u16, a: u32, b: u32, c: u32) -> u32 {
    let (operation, [a_format, b_format]) = quad_field::decode(n);
    let satfinite = n & quad_field::SATFINITE != 0;
    let (a, b) = (a_format.values(a), b_format.values(b));
    match n & quad_field::E5M2 {
        0 => {
            let operands = [a, b, quads::Elements::E4m3.values(c)];
            quads::compute::<E4m3>(operation, operands, satfinite)
        }
        _ => {
            let operands = [a, b, quads::Elements::E5m2.values(c)];
            quads::compute::<E5m2>(operation, operands, satfinite)
        }
    }
}

/// `cvt` from a packed pair of a narrow format to `.f16x2`.
#[inline(never)]
pub(super) fn narrow_to_f16x2(n: u16, pair: u16) -> u32 {
    with_flag!(n, RELU as R, {
        with_format!(n, M, {
            let (a, b) = minifloat::unpack_x2::<M>(pair);
            half::pack(minifloat::to_f16::<M, R>(a), minifloat::to_f16::<M, R>(b))
        })
    })
}

/// `cvt` from a packed pair of a narrow format to `.bf16x2`.
#[inline(never)]
pub(super) fn narrow_to_bf16x2(n: u16, pair: u16, scales: u16) -> u32 {
    let (scale_a, scale_b) = bytes(scales);
    with_flag!(n, RELU as R, {
        with_flag!(n, SATFINITE as S, {
            with_format!(n, M, {
                let (a, b) = minifloat::unpack_x2::<M>(pair);
                let convert = minifloat::to_bf16::<M, R, S>;
                half::pack(convert(a, scale_a), convert(b, scale_b))
            })
        })
    })
}

/// `cvt` from `.f32` to `.ue8m0x2`.
#[inline(never)]
pub(super) fn f32_to_ue8m0(n: u16, a: f32, b: f32) -> u16 {
    with_flag!(n, SATFINITE as S, {
        let convert = match n & RP {
            0 => minifloat::ue8m0_from_f32::<Rz, S>,
            _ => minifloat::ue8m0_from_f32::<Rp, S>,
        };
        minifloat::pack_bytes(convert(a), convert(b))
    })
}

/// `cvt` from `.f32` to `.s2f6x2`.
#[inline(never)]
pub(super) fn f32_to_s2f6(n: u16, a: f32, b: f32, scales: u16) -> u16 {
    let (scale_a, scale_b) = bytes(scales);
    with_flag!(n, RELU as R, {
        let convert = match n & RZ {
            0 => s2f6::from_f32::<R, Rn>,
            _ => s2f6::from_f32::<R, Rz>,
        };
        minifloat::pack_bytes(convert(a, scale_a), convert(b, scale_b))
    })
}

/// `cvt` from `.s2f6x2` to `.bf16x2`.
#[inline(never)]
pub(super) fn s2f6_to_bf16x2(n: u16, pair: u16, scales: u16) -> u32 {
    let ((a, b), (scale_a, scale_b)) = (bytes(pair), bytes(scales));
    with_flag!(n, RELU as R, {
        with_flag!(n, SATFINITE as S, {
            let convert = s2f6::to_bf16::<R, S>;
            half::pack(convert(a, scale_a), convert(b, scale_b))
        })
    })
}

/// `cvt` from `.f32` to `.f16` or `.bf16` with `.relu`, `.satfinite` and either rounding.
#[inline(never)]
pub(super) fn f32_to_half<H: Half>(n: u16, a: f32) -> u16 {
    with_flag!(n, RELU as R, {
        with_flag!(n, SATFINITE as S, {
            match n & RZ {
                0 => convert::f32_to_half_clamped::<H, Rn, R, S>(a),
                _ => convert::f32_to_half_clamped::<H, Rz, R, S>(a),
            }
        })
    })
}

/// `cvt.rs` from `.f32` to `.f16x2` or `.bf16x2`.
#[inline(never)]
pub(super) fn f32_to_x2_stochastic<H: Half>(n: u16, a: f32, b: f32, random: u32) -> u32 {
    with_flag!(n, RELU as R, {
        with_flag!(n, SATFINITE as S, convert::f32_to_x2_stochastic::<H, R, S>(a, b, random))
    })
}

/// `cvt` from `.f32` to `.tf32`.
#[inline(never)]
pub(super) fn f32_to_tf32(n: u16, a: f32) -> u32 {
    with_flag!(n, RELU as R, {
        with_flag!(n, SATFINITE as S, {
            match n & (RZ | RNA) {
                0 => convert::f32_to_tf32::<Rn, R, S>(a),
                RNA => convert::f32_to_tf32::<Rna, R, S>(a),
                _ => convert::f32_to_tf32::<Rz, R, S>(a),
            }
        })
    })
}

#[inline(always)]
pub(super) fn video_extract(n: u16, a: u32) -> i64 {
    let part = field::Part::decode(n);
    video::extract(a, part.position, part.bits, part.signed)
}

#[inline(never)]
pub(super) fn video_primary(n: u16, a: i64, b: i64) -> i64 {
    video::primary(field::operation(n), a, b)
}

#[inline(always)]
pub(super) fn video_shl(n: u16, a: i64, b: i64) -> i64 {
    match n & field::WRAP {
        0 => video::shift_left::<false>(a, b),
        _ => video::shift_left::<true>(a, b),
    }
}

#[inline(always)]
pub(super) fn video_shr(n: u16, a: i64, b: i64) -> i64 {
    match n & field::WRAP {
        0 => video::shift_right::<false>(a, b),
        _ => video::shift_right::<true>(a, b),
    }
}

#[inline(always)]
pub(super) fn video_saturate(n: u16, a: i64) -> i64 {
    let part = field::Part::decode(n);
    match n & field::SHIFTED {
        0 => video::saturate(a, part.bits, part.signed),
        _ => video::saturate_shifted(a, part.signed),
    }
}

#[inline(always)]
pub(super) fn video_merge(n: u16, a: i64, c: u32) -> u32 {
    let part = field::Part::decode(n);
    video::merge(a, c, part.position, part.bits)
}

#[inline(never)]
pub(super) fn video_mad(n: u16, a: i64, b: i64, c: u32) -> u32 {
    field::multiply_add(n).apply(a, b, c)
}

#[inline(never)]
pub(super) fn video_simd(n: u16, a: u32, b: u32, c: u32) -> u32 {
    field::simd(n).apply(a, b, c)
}
