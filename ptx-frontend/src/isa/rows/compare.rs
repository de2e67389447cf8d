//! Comparison and selection (manual, sections 9.7.6 and 9.7.7).

use super::InstructionClass::{Fp16, Fp32, Fp64, Integer, Misc};
use super::{Group, group};

#[rustfmt::skip]
pub(super) const GROUPS: &[Group] = &[
    group(Integer, "9.7.6.1", &[
        "set.[eq ne].[u32 s32 f32].<bits>                         d:t, a:u, b:u",
        "set.[eq ne].<bool>.[u32 s32 f32].<bits>                  d:t, a:u, b:u, c:pred",
        "set.<icmp>.[u32 s32 f32].[u16 u32 u64]                           d:t, a:u, b:u",
        "set.[eq ne lt le gt ge].[u32 s32 f32].[s16 s32 s64]                           d:t, a:u, b:u",
        "set.<icmp>.<bool>.[u32 s32 f32].[u16 u32 u64]                    d:t, a:u, b:u, c:pred",
        "set.[eq ne lt le gt ge].<bool>.[u32 s32 f32].[s16 s32 s64]                    d:t, a:u, b:u, c:pred",
    ]),
    group(Integer, "9.7.7.1 of 9.4", &[
        "set.<icmp>.[u8x4 u16x2]                                  d:t, a:t, b:t             ; 9.4 sm_107f",
        "set.[eq ne lt le gt ge].[s8x4 s16x2]                     d:t, a:t, b:t             ; 9.4 sm_107f",
    ]),
    group(Fp32, "9.7.6.1", &[
        "set.<fcmp>{.ftz}.[u32 s32 f32].f32                       d:t, a:u, b:u",
        "set.<fcmp>.<bool>{.ftz}.[u32 s32 f32].f32                d:t, a:u, b:u, c:pred",
    ]),
    group(Fp64, "9.7.6.1", &[
        "set.<fcmp>.[u32 s32 f32].f64                             d:t, a:u, b:u             ; 1.0 sm_13",
        "set.<fcmp>.<bool>.[u32 s32 f32].f64                      d:t, a:u, b:u, c:pred     ; 1.0 sm_13",
    ]),
    group(Integer, "9.7.6.2", &[
        "setp.[eq ne].<bits>                                      d:pred{|p}, a:t, b:t",
        "setp.[eq ne].<bool>.<bits>                               d:pred{|p}, a:t, b:t, c:pred",
        "setp.<icmp>.[u16 u32 u64]                                        d:pred{|p}, a:t, b:t",
        "setp.[eq ne lt le gt ge].[s16 s32 s64]                                        d:pred{|p}, a:t, b:t",
        "setp.<icmp>.<bool>.[u16 u32 u64]                                 d:pred{|p}, a:t, b:t, c:pred",
        "setp.[eq ne lt le gt ge].<bool>.[s16 s32 s64]                                 d:pred{|p}, a:t, b:t, c:pred",
    ]),
    group(Fp32, "9.7.6.2", &[
        "setp.<fcmp>{.ftz}.f32                                    d:pred{|p}, a:t, b:t",
        "setp.<fcmp>.<bool>{.ftz}.f32                             d:pred{|p}, a:t, b:t, c:pred",
    ]),
    group(Fp64, "9.7.6.2", &[
        "setp.<fcmp>.f64                                          d:pred{|p}, a:t, b:t          ; 1.0 sm_13",
        "setp.<fcmp>.<bool>.f64                                   d:pred{|p}, a:t, b:t, c:pred  ; 1.0 sm_13",
    ]),
    group(Misc, "9.7.6.3", &[
        "selp.<any>                                               d:t, a:t, b:t, c:pred",
    ]),
    group(Misc, "9.7.6.4", &[
        "slct.<any>.s32                                           d:t, a:t, b:t, c:u",
        "slct{.ftz}.<any>.f32                                     d:t, a:t, b:t, c:u",
    ]),
    group(Fp16, "9.7.7.1", &[
        "set.<fcmp>{.ftz}.[f16 u16 s16 u32 s32].f16               d:t, a:u, b:u             ; 4.2 sm_53",
        "set.<fcmp>.<bool>{.ftz}.[f16 u16 s16 u32 s32].f16        d:t, a:u, b:u, c:pred     ; 4.2 sm_53",
        "set.<fcmp>.[bf16 u16 s16 u32 s32].bf16                   d:t, a:u, b:u             ; 7.8 sm_90",
        "set.<fcmp>.<bool>.[bf16 u16 s16 u32 s32].bf16            d:t, a:u, b:u, c:pred     ; 7.8 sm_90",
        "set.<fcmp>{.ftz}.[f16x2 u32 s32].f16x2                   d:t, a:u, b:u             ; 4.2 sm_53",
        "set.<fcmp>.<bool>{.ftz}.[f16x2 u32 s32].f16x2            d:t, a:u, b:u, c:pred     ; 4.2 sm_53",
        "set.<fcmp>.[bf16x2 u32 s32].bf16x2                       d:t, a:u, b:u             ; 7.8 sm_90",
        "set.<fcmp>.<bool>.[bf16x2 u32 s32].bf16x2                d:t, a:u, b:u, c:pred     ; 7.8 sm_90",
        "set.[eq ne].f16.<bits>                                   d:t, a:u, b:u             ; 4.2 sm_53",
        "set.[eq ne].<bool>.f16.<bits>                            d:t, a:u, b:u, c:pred     ; 4.2 sm_53",
        "set.<icmp>.f16.[u16 u32 u64]                                     d:t, a:u, b:u             ; 4.2 sm_53",
        "set.[eq ne lt le gt ge].f16.[s16 s32 s64]                                     d:t, a:u, b:u             ; 4.2 sm_53",
        "set.<icmp>.<bool>.f16.[u16 u32 u64]                              d:t, a:u, b:u, c:pred     ; 4.2 sm_53",
        "set.[eq ne lt le gt ge].<bool>.f16.[s16 s32 s64]                              d:t, a:u, b:u, c:pred     ; 4.2 sm_53",
        "set.<fcmp>{.ftz}.f16.[f32 f64]                           d:t, a:u, b:u             ; 4.2 sm_53",
        "set.<fcmp>.<bool>{.ftz}.f16.[f32 f64]                    d:t, a:u, b:u, c:pred     ; 4.2 sm_53",
    ]),
    group(Fp16, "9.7.7.2", &[
        "setp.<fcmp>{.ftz}.f16                                    d:pred, a:t, b:t          ; 4.2 sm_53",
        "setp.<fcmp>.<bool>{.ftz}.f16                             d:pred, a:t, b:t, c:pred  ; 4.2 sm_53",
        "setp.<fcmp>{.ftz}.f16x2                                  d:pred|p, a:t, b:t            ; 4.2 sm_53",
        "setp.<fcmp>.<bool>{.ftz}.f16x2                           d:pred|p, a:t, b:t, c:pred    ; 4.2 sm_53",
        "setp.<fcmp>.bf16                                         d:pred, a:t, b:t          ; 7.8 sm_90",
        "setp.<fcmp>.<bool>.bf16                                  d:pred, a:t, b:t, c:pred  ; 7.8 sm_90",
        "setp.<fcmp>.bf16x2                                       d:pred|p, a:t, b:t            ; 7.8 sm_90",
        "setp.<fcmp>.<bool>.bf16x2                                d:pred|p, a:t, b:t, c:pred    ; 7.8 sm_90",
    ]),
];
