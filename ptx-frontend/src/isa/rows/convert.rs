//! Conversions (manual, sections 9.7.9.21 and 9.7.9.22).

use super::InstructionClass::BitConvert;
use super::{Group, group};

#[rustfmt::skip]
pub(super) const GROUPS: &[Group] = &[
    group(BitConvert, "9.7.9.21", &[
        // Integer to integer.
        "cvt{.sat}.<int8>.<int8>                              d:t+, a:u+",
        // Integer to and from floating point: rounding is required.
        "cvt.<rnd>{.ftz}{.sat}.f32.<int8>                     d:t+, a:u+",
        "cvt.<rnd>{.sat}.f64.<int8>                           d:t+, a:u+     ; 1.0 sm_13",
        "cvt.<irnd>{.ftz}{.sat}.<int8>.f32                    d:t+, a:u+",
        "cvt.<irnd>{.sat}.<int8>.f64                          d:t+, a:u+     ; 1.0 sm_13",
        "cvt.<rnd>{.sat}.f16.<int8>                           d:t+, a:u+",
        "cvt.<irnd>{.sat}.<int8>.f16                          d:t+, a:u+",
        "cvt.<rnd>.bf16.<int8>                                d:t+, a:u+     ; 7.8 sm_90",
        "cvt.<irnd>.<int8>.bf16                               d:t+, a:u+     ; 7.8 sm_90",
        // Between floating-point types: narrowing rounds, widening does not.
        "cvt{.<irnd>}{.ftz}{.sat}.f32.f32                     d:t+, a:u+",
        "cvt{.<irnd>}{.sat}.f64.f64                           d:t+, a:u+     ; 1.0 sm_13",
        "cvt{.<irnd>}{.sat}.f16.f16                           d:t+, a:u+",
        "cvt.<irnd>.bf16.bf16                                 d:t+, a:u+     ; 7.8 sm_90",
        "cvt.<rnd>{.ftz}{.sat}.f32.f64                        d:t+, a:u+     ; 1.0 sm_13",
        "cvt{.ftz}{.sat}.f64.f32                              d:t+, a:u+     ; 1.0 sm_13",
        "cvt.<rnd>{.ftz}{.sat}.f16.f32                        d:t+, a:u+",
        "cvt.<rnd>{.sat}.f16.f64                              d:t+, a:u+     ; 1.0 sm_13",
        "cvt{.ftz}{.sat}.f32.f16                              d:t+, a:u+",
        "cvt{.sat}.f64.f16                                    d:t+, a:u+     ; 1.0 sm_13",
        "cvt.f32.bf16                                         d:t+, a:u+     ; 7.1 sm_80",
        "cvt.ftz.f32.bf16                                     d:t+, a:u+     ; 7.8 sm_90",
        "cvt.f64.bf16                                         d:t+, a:u+     ; 7.8 sm_90",
        "cvt.<rnd>{.sat}.bf16.f64                             d:t+, a:u+     ; 7.8 sm_90",
        "cvt.<rnd>{.sat}.bf16.f16                             d:t+, a:u+     ; 7.8 sm_90",
        "cvt.<rnd>{.sat}.f16.bf16                             d:t+, a:u+     ; 7.8 sm_90",
        "cvt.[rn rz].relu{.satfinite}.f16.f32                 d:t+, a:u+     ; 7.0 sm_80",
        "cvt.[rn rz].satfinite.f16.f32                        d:t+, a:u+     ; 8.1 sm_70",
        "cvt.[rn rz]{.relu}{.satfinite}.bf16.f32              d:t+, a:u+     ; 7.0 sm_80",
        "cvt.[rm rp].bf16.f32                                 d:t+, a:u+     ; 7.0 sm_80",
        // Packed results.
        "cvt.[rn rz]{.relu}{.satfinite}.[f16x2 bf16x2].f32    d:t, a:u, b:u  ; 7.0 sm_80",
        "cvt.rs{.relu}{.satfinite}.[f16x2 bf16x2].f32         d:t, a:u, b:u, rbits:b32  ; 8.7 sm_100a",
        "cvt.rna{.satfinite}.tf32.f32                         d:b32, a:u     ; 7.0 sm_80",
        "cvt.[rn rz]{.satfinite}{.relu}.tf32.f32              d:b32, a:u     ; 7.8 sm_90",
        // Eight-bit and narrower formats.
        "cvt.rn.satfinite{.relu}.[e4m3x2 e5m2x2].f32          d:b16, a:u, b:u     ; 7.8 sm_89",
        "cvt.rn.satfinite{.relu}.[e4m3x2 e5m2x2].f16x2        d:b16, a:u          ; 7.8 sm_89",
        "cvt.rn{.relu}.f16x2.[e4m3x2 e5m2x2]                  d:t, a:b16          ; 7.8 sm_89",
        "cvt.rn.satfinite{.relu}.[e4m3x2 e5m2x2].bf16x2       d:b16, a:u          ; 9.1 sm_100a",
        "cvt.rn{.satfinite}{.relu}{.scaled}.bf16x2.[e4m3x2 e5m2x2 e2m3x2 e3m2x2]  d:t, a:b16     ; 9.1 sm_100a",
        "cvt.rn{.satfinite}{.relu}.bf16x2.e2m1x2              d:t, a:b8           ; 9.1 sm_100a",
        "cvt.rs{.relu}.satfinite.[e4m3x4 e5m2x4 e2m3x4 e3m2x4].f32  d:b32, a:u*4, rbits:b32  ; 8.7 sm_100a",
        "cvt.rs{.relu}.satfinite.e2m1x4.f32                   d:b16, a:u*4, rbits:b32  ; 8.7 sm_100a",
        "cvt.rn.satfinite{.relu}.e2m1x2.f32                   d:b8, a:u, b:u      ; 8.6 sm_100a",
        "cvt.rn{.relu}.f16x2.e2m1x2                           d:t, a:b8           ; 8.6 sm_100a",
        "cvt.rn.satfinite{.relu}.e2m1x2.[f16x2 bf16x2]        d:b8, a:u           ; 9.1 sm_100a",
        "cvt.rn.satfinite{.relu}.[e2m3x2 e3m2x2].f32          d:b16, a:u, b:u     ; 8.6 sm_100a",
        "cvt.rn{.relu}.f16x2.[e2m3x2 e3m2x2]                  d:t, a:b16          ; 8.6 sm_100a",
        "cvt.rn.satfinite{.relu}.[e2m3x2 e3m2x2].[f16x2 bf16x2]  d:b16, a:u       ; 9.1 sm_100a",
        "cvt.[rz rp]{.satfinite}.ue8m0x2.f32                  d:b16, a:u, b:u     ; 8.6 sm_100a",
        "cvt.[rz rp]{.satfinite}.ue8m0x2.bf16x2               d:b16, a:u          ; 8.6 sm_100a",
        "cvt.rn.bf16x2.ue8m0x2                                d:t, a:b16          ; 8.6 sm_100a",
    ]),
    group(BitConvert, "9.7.9.22", &[
        "cvt.pack.sat.[u16 s16].s32                           d:b32, a:u, b:u           ; 6.5 sm_72",
        "cvt.pack.sat.[u8 s8 u4 s4 u2 s2].s32.b32             d:v, a:u, b:u, c:v        ; 6.5 sm_72",
    ]),
];
