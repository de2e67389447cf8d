//! Moves, permutations and addresses (manual, section 9.7.9).

use super::InstructionClass::{InterThread, Misc};
use super::{Group, group};

#[rustfmt::skip]
pub(super) const GROUPS: &[Group] = &[
    group(Misc, "9.7.9.3", &[
        "mov.[pred b16 b32 b64 u16 u32 u64 s16 s32 s64 f32 f64]  d:t@, a:t@",
        "mov.b128                          d:t@, a:t@                ; 8.3 sm_70",
        "mov.[v2 v4].[b16 b32 u16 u32 s16 s32 f32]  d:t*vec, a:t*vec",
        "mov.v2.[b64 u64 s64 f64]          d:t*vec, a:t*vec",
    ]),
    group(InterThread, "9.7.9.5", &[
        "shfl.[up down bfly idx].b32       d:t{|p}, a:t, b:u32, c:u32   ; 3.0 sm_30",
    ]),
    group(InterThread, "9.7.9.6", &[
        "shfl.sync.[up down bfly idx].b32  d:t{|p}, a:t, b:u32, c:u32, mask:u32  ; 6.0 sm_30",
    ]),
    group(Misc, "9.7.9.7", &[
        "prmt.b32{.[f4e b4e rc8 ecl ecr rc16]}  d:t, a:t, b:t, c:t      ; 2.0 sm_20",
    ]),
    group(Misc, "9.7.9.19", &[
        "isspacep.[const]                  p:pred, a:ptr             ; 3.1 sm_20",
        "isspacep.[global local shared]    p:pred, a:ptr             ; 2.0 sm_20",
        "isspacep.[shared::cta shared::cluster]  p:pred, a:ptr       ; 7.8 sm_30",
        "isspacep.[param param::entry]     p:pred, a:ptr             ; 7.7 sm_70",
    ]),
    group(Misc, "9.7.9.20", &[
        "cvta.[const global local shared shared::cta shared::cluster param param::entry].[u32 u64]  d:t, a:t&      ; 2.0 sm_20",
        "cvta.to.[const global local shared shared::cta shared::cluster param param::entry].[u32 u64]  d:t, a:t    ; 2.0 sm_20",
    ]),
    group(Misc, "9.7.9.23", &[
        "mapa.shared::cluster.[u32 u64]    d:t, a:t&, b:u32          ; 7.8 sm_90",
        "mapa.[u32 u64]                    d:t, a:t, b:u32           ; 7.8 sm_90",
    ]),
    group(Misc, "9.7.9.24", &[
        "getctarank.shared::cluster.[u32 u64]  d:u32, a:t&           ; 7.8 sm_90",
        "getctarank.[u32 u64]              d:u32, a:t                ; 7.8 sm_90",
    ]),
    group(Misc, "9.7.10.30 of 9.4", &[
        "spcompress.[b8 b16].[b2 b4].sp::2:4.[x1 x2 x4 x8 x16 x32 x64]      d:b32*?, q:b32*?, data:b32*?, desc:b32  ; 9.4 sm_107a",
        "spdecompress.[b8 b16].[b2 b4].<spfactor>.[x1 x2 x4 x8 x16 x32 x64]  d:b32*?, metadata:b32*?, data:b32*?    ; 9.4 sm_107a",
    ]),
];
