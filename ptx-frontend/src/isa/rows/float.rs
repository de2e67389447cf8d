//! Single, double and mixed precision (manual, sections 9.7.3 and 9.7.5).

use super::InstructionClass::{Fp16, Fp32, Fp64};
use super::{Group, group};

#[rustfmt::skip]
pub(super) const GROUPS: &[Group] = &[
    group(Fp32, "9.7.3.1", &[
        "testp.[finite infinite number notanumber normal subnormal].f32  p:pred, a:t  ; 2.0 sm_20",
    ]),
    group(Fp64, "9.7.3.1", &[
        "testp.[finite infinite number notanumber normal subnormal].f64  p:pred, a:t  ; 2.0 sm_20",
    ]),
    group(Fp32, "9.7.3.2", &[
        "copysign.f32                       d:t, a:t, b:t        ; 2.0 sm_20",
    ]),
    group(Fp64, "9.7.3.2", &[
        "copysign.f64                       d:t, a:t, b:t        ; 2.0 sm_20",
    ]),
    group(Fp32, "9.7.3.3", &[
        "add{.<rnd>}{.ftz}{.sat}.f32        d:t, a:t, b:t",
        "add{.<rnd>}{.ftz}.f32x2            d:t, a:t, b:t        ; 8.6 sm_100",
    ]),
    group(Fp64, "9.7.3.3", &[
        "add{.<rnd>}.f64                    d:t, a:t, b:t        ; 1.0 sm_13",
    ]),
    group(Fp32, "9.7.3.4", &[
        "sub{.<rnd>}{.ftz}{.sat}.f32        d:t, a:t, b:t",
        "sub{.<rnd>}{.ftz}.f32x2            d:t, a:t, b:t        ; 8.6 sm_100",
    ]),
    group(Fp64, "9.7.3.4", &[
        "sub{.<rnd>}.f64                    d:t, a:t, b:t        ; 1.0 sm_13",
    ]),
    group(Fp32, "9.7.3.5", &[
        "mul{.<rnd>}{.ftz}{.sat}.f32        d:t, a:t, b:t",
        "mul{.<rnd>}{.ftz}.f32x2            d:t, a:t, b:t        ; 8.6 sm_100",
    ]),
    group(Fp64, "9.7.3.5", &[
        "mul{.<rnd>}.f64                    d:t, a:t, b:t        ; 1.0 sm_13",
    ]),
    group(Fp32, "9.7.3.6", &[
        "fma.<rnd>{.ftz}{.sat}.f32          d:t, a:t, b:t, c:t   ; 2.0 sm_20",
        "fma.<rnd>{.ftz}.f32x2              d:t, a:t, b:t, c:t   ; 8.6 sm_100",
    ]),
    group(Fp64, "9.7.3.6", &[
        "fma.<rnd>.f64                      d:t, a:t, b:t, c:t   ; 1.4 sm_13",
    ]),
    // `.rnd` is required from sm_20 on and did not exist before; see the resolver.
    group(Fp32, "9.7.3.7", &[
        "mad{.<rnd>}{.ftz}{.sat}.f32        d:t, a:t, b:t, c:t",
    ]),
    group(Fp64, "9.7.3.7", &[
        "mad.<rnd>.f64                      d:t, a:t, b:t, c:t   ; 1.0 sm_13",
    ]),
    group(Fp32, "9.7.3.8", &[
        "div.[approx full]{.ftz}.f32        d:t, a:t, b:t",
        "div.<rnd>{.ftz}.f32                d:t, a:t, b:t        ; 1.4 sm_20",
    ]),
    group(Fp64, "9.7.3.8", &[
        "div.<rnd>.f64                      d:t, a:t, b:t        ; 1.0 sm_13",
    ]),
    group(Fp32, "9.7.3.9", &[
        "abs{.ftz}.f32                      d:t, a:t",
    ]),
    group(Fp64, "9.7.3.9", &[
        "abs.f64                            d:t, a:t             ; 1.0 sm_13",
    ]),
    group(Fp32, "9.7.3.10", &[
        "neg{.ftz}.f32                      d:t, a:t",
    ]),
    group(Fp64, "9.7.3.10", &[
        "neg.f64                            d:t, a:t             ; 1.0 sm_13",
    ]),
    group(Fp32, "9.7.3.11", &[
        "min{.ftz}.f32                      d:t, a:t, b:t",
        "min{.ftz}.NaN.f32                  d:t, a:t, b:t        ; 7.0 sm_80",
        "min{.ftz}{.NaN}.xorsign.abs.f32   d:t, a:t, b:t        ; 7.2 sm_86",
        "min{.ftz}{.NaN}{.abs}.f32          d:t, a:t, b:t, c:t   ; 8.8 sm_100",
    ]),
    group(Fp64, "9.7.3.11", &[
        "min.f64                            d:t, a:t, b:t        ; 1.0 sm_13",
    ]),
    group(Fp32, "9.7.3.12", &[
        "max{.ftz}.f32                      d:t, a:t, b:t",
        "max{.ftz}.NaN.f32                  d:t, a:t, b:t        ; 7.0 sm_80",
        "max{.ftz}{.NaN}.xorsign.abs.f32   d:t, a:t, b:t        ; 7.2 sm_86",
        "max{.ftz}{.NaN}{.abs}.f32          d:t, a:t, b:t, c:t   ; 8.8 sm_100",
    ]),
    group(Fp64, "9.7.3.12", &[
        "max.f64                            d:t, a:t, b:t        ; 1.0 sm_13",
    ]),
    group(Fp32, "9.7.3.13", &[
        "rcp.approx{.ftz}.f32               d:t, a:t",
        "rcp.<rnd>{.ftz}.f32                d:t, a:t             ; 1.4 sm_20",
    ]),
    group(Fp64, "9.7.3.13", &[
        "rcp.<rnd>.f64                      d:t, a:t             ; 1.0 sm_13",
    ]),
    group(Fp64, "9.7.3.14", &[
        "rcp.approx.ftz.f64                 d:t, a:t             ; 2.1 sm_20",
    ]),
    group(Fp32, "9.7.3.15", &[
        "sqrt.approx{.ftz}.f32              d:t, a:t",
        "sqrt.<rnd>{.ftz}.f32               d:t, a:t             ; 1.4 sm_20",
    ]),
    group(Fp64, "9.7.3.15", &[
        "sqrt.<rnd>.f64                     d:t, a:t             ; 1.0 sm_13",
    ]),
    group(Fp32, "9.7.3.16", &[
        "rsqrt.approx{.ftz}.f32             d:t, a:t",
    ]),
    group(Fp64, "9.7.3.16", &[
        "rsqrt.approx.f64                   d:t, a:t             ; 1.0 sm_13",
        "rsqrt.approx.ftz.f64               d:t, a:t             ; 4.0 sm_20",
    ]),
    group(Fp32, "9.7.3.18", &[
        "sin.approx{.ftz}.f32               d:t, a:t",
    ]),
    group(Fp32, "9.7.3.19", &[
        "cos.approx{.ftz}.f32               d:t, a:t",
    ]),
    group(Fp32, "9.7.3.20", &[
        "lg2.approx{.ftz}.f32               d:t, a:t",
    ]),
    group(Fp32, "9.7.3.21", &[
        "ex2.approx{.ftz}.f32               d:t, a:t",
    ]),
    group(Fp32, "9.7.3.22", &[
        "tanh.approx.f32                    d:t, a:t             ; 7.0 sm_75",
    ]),
    group(Fp32, "9.7.5", &[
        "add{.<rnd>}{.sat}.f32.[f16 bf16]   d:t, a:u, c:t        ; 8.6 sm_100",
        "sub{.<rnd>}{.sat}.f32.[f16 bf16]   d:t, a:u, c:t        ; 8.6 sm_100",
        "fma.<rnd>{.sat}.f32.[f16 bf16]     d:t, a:u, b:u, c:t   ; 8.6 sm_100",
    ]),
    group(Fp32, "9.7.5 of 9.4", &[
        "add{.<rnd>}.f32x2.[f16x2 bf16x2].f32x2  d:t, a:u, c:v   ; 9.4 sm_107f",
        "add.rz.ftz.f16x2.f32x2.f32x2       d:t, a:u, c:v        ; 9.4 sm_107f",
        "add.rz.bf16x2.f32x2.f32x2          d:t, a:u, c:v        ; 9.4 sm_107f",
        "sub{.<rnd>}.f32x2.[f16x2 bf16x2].f32x2  d:t, a:u, c:v   ; 9.4 sm_107f",
        "sub.rz.ftz.f16x2.f32x2.f32x2       d:t, a:u, c:v        ; 9.4 sm_107f",
        "sub.rz.bf16x2.f32x2.f32x2          d:t, a:u, c:v        ; 9.4 sm_107f",
        "mul.rz.ftz.f16x2.f32x2.f32x2       d:t, a:u, c:v        ; 9.4 sm_107f",
        "mul.rz.bf16x2.f32x2.f32x2          d:t, a:u, c:v        ; 9.4 sm_107f",
        "fma.<rnd>.f32x2.[f16x2 bf16x2].f32x2.f32x2  d:t, a:u, b:v, c:v  ; 9.4 sm_107f",
    ]),
    group(Fp16, "9.7.5 of 9.4", &[
        "mul.f16x2.f16x2.bf16x2             d:t, a:u, c:v        ; 9.4 sm_107f",
        "mul.bf16x2.bf16x2.f16x2            d:t, a:u, c:v        ; 9.4 sm_107f",
    ]),
    // Four numbers of 8, 6 or 4 bits at once.
    group(Fp16, "9.7.6 of 9.4", &[
        "add{.rn}{.satfinite}.[e4m3x4 e5m2x4].<f8x4>         d:t, a:u, c:t       ; 9.4 sm_100a",
        "sub{.rn}{.satfinite}.[e4m3x4 e5m2x4].<f8x4>         d:t, a:u, c:t       ; 9.4 sm_100a",
        "mul{.rn}{.satfinite}.[e4m3x4 e5m2x4].<f8x4>.<f8x4>  d:t, a:u, c:v       ; 9.4 sm_100a",
        "fma{.rn}{.satfinite}.[e4m3x4 e5m2x4].<f8x4>.<f8x4>  d:t, a:u, b:v, c:t  ; 9.4 sm_100a",
    ]),
];
