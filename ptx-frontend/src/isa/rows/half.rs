//! Half precision (manual, section 9.7.4).

use super::InstructionClass::Fp16;
use super::{Group, group};

#[rustfmt::skip]
pub(super) const GROUPS: &[Group] = &[
    group(Fp16, "9.7.4.1", &[
        "add{.rn}{.ftz}{.sat}.[f16 f16x2]       d:t, a:t, b:t        ; 4.2 sm_53",
        "add{.rn}.[bf16 bf16x2]                 d:t, a:t, b:t        ; 7.8 sm_90",
    ]),
    group(Fp16, "9.7.4.2", &[
        "sub{.rn}{.ftz}{.sat}.[f16 f16x2]       d:t, a:t, b:t        ; 4.2 sm_53",
        "sub{.rn}.[bf16 bf16x2]                 d:t, a:t, b:t        ; 7.8 sm_90",
    ]),
    group(Fp16, "9.7.4.3", &[
        "mul{.rn}{.ftz}{.sat}.[f16 f16x2]       d:t, a:t, b:t        ; 4.2 sm_53",
        "mul{.rn}.[bf16 bf16x2]                 d:t, a:t, b:t        ; 7.8 sm_90",
    ]),
    group(Fp16, "9.7.4.4", &[
        "fma.rn{.ftz}{.sat}.[f16 f16x2]         d:t, a:t, b:t, c:t   ; 4.2 sm_53",
        "fma.rn{.ftz}.relu.[f16 f16x2]          d:t, a:t, b:t, c:t   ; 7.0 sm_80",
        "fma.rn{.relu}.[bf16 bf16x2]            d:t, a:t, b:t, c:t   ; 7.0 sm_80",
        "fma.rn.oob{.relu}.[f16 f16x2 bf16 bf16x2]  d:t, a:t, b:t, c:t  ; 8.1 sm_90",
    ]),
    group(Fp16, "9.7.4.5", &[
        "neg{.ftz}.[f16 f16x2]                  d:t, a:t             ; 6.0 sm_53",
        "neg.[bf16 bf16x2]                      d:t, a:t             ; 7.0 sm_80",
    ]),
    group(Fp16, "9.7.4.6", &[
        "abs{.ftz}.[f16 f16x2]                  d:t, a:t             ; 6.5 sm_53",
        "abs.[bf16 bf16x2]                      d:t, a:t             ; 7.0 sm_80",
    ]),
    group(Fp16, "9.7.4.7", &[
        "min{.ftz}{.NaN}.[f16 f16x2]            d:t, a:t, b:t        ; 7.0 sm_80",
        "min{.ftz}{.NaN}.xorsign.abs.[f16 f16x2]  d:t, a:t, b:t      ; 7.2 sm_86",
        "min{.NaN}.[bf16 bf16x2]                d:t, a:t, b:t        ; 7.0 sm_80",
        "min{.NaN}.xorsign.abs.[bf16 bf16x2]    d:t, a:t, b:t        ; 7.2 sm_86",
    ]),
    group(Fp16, "9.7.4.8", &[
        "max{.ftz}{.NaN}.[f16 f16x2]            d:t, a:t, b:t        ; 7.0 sm_80",
        "max{.ftz}{.NaN}.xorsign.abs.[f16 f16x2]  d:t, a:t, b:t      ; 7.2 sm_86",
        "max{.NaN}.[bf16 bf16x2]                d:t, a:t, b:t        ; 7.0 sm_80",
        "max{.NaN}.xorsign.abs.[bf16 bf16x2]    d:t, a:t, b:t        ; 7.2 sm_86",
    ]),
    group(Fp16, "9.7.4.9", &[
        "tanh.approx.[f16 f16x2]                d:t, a:t             ; 7.0 sm_75",
        "tanh.approx.[bf16 bf16x2]              d:t, a:t             ; 7.8 sm_90",
    ]),
    group(Fp16, "9.7.4.10", &[
        "ex2.approx.[f16 f16x2]                 d:t, a:t             ; 7.0 sm_75",
        "ex2.approx.ftz.[bf16 bf16x2]           d:t, a:t             ; 7.8 sm_90",
    ]),
];
