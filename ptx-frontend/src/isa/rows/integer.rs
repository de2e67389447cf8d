//! Integer and extended-precision arithmetic (manual, sections 9.7.1 and 9.7.2).

use super::InstructionClass::Integer;
use super::{Group, group};

#[rustfmt::skip]
pub(super) const GROUPS: &[Group] = &[
    group(Integer, "9.7.1.1", &[
        "add.<int>                      d:t, a:t, b:t",
        "add.sat.s32                    d:t, a:t, b:t",
        "add{.sat}.[u8x4 s8x4]          d:t, a:t, b:t            ; 9.2 sm_120f",
        "add.[u16x2 s16x2]              d:t, a:t, b:t            ; 8.0 sm_90",
        "add.sat.[u32 u16x2 s16x2]      d:t, a:t, b:t            ; 9.2 sm_120f",
    ]),
    group(Integer, "9.7.1.2", &[
        "sub.<int>                      d:t, a:t, b:t",
        "sub.sat.s32                    d:t, a:t, b:t",
        "sub{.sat}.[u8x4 s8x4]          d:t, a:t, b:t            ; 9.2 sm_120f",
    ]),
    group(Integer, "9.7.1.3", &[
        "mul.[hi lo].<int>              d:t, a:t, b:t",
        "mul.wide.[u16 u32 s16 s32]     d:w, a:t, b:t",
    ]),
    group(Integer, "9.7.1.4", &[
        "mad.[hi lo].<int>              d:t, a:t, b:t, c:t",
        "mad.wide.[u16 u32 s16 s32]     d:w, a:t, b:t, c:w",
        "mad.hi.sat.s32                 d:t, a:t, b:t, c:t",
    ]),
    group(Integer, "9.7.1.5 of 9.4", &[
        "clmad.[lo hi].u64              d:t, a:t, b:t, c:t       ; 9.3 sm_80",
    ]),
    group(Integer, "9.7.1.5", &[
        "mul24.[hi lo].[u32 s32]        d:t, a:t, b:t",
    ]),
    group(Integer, "9.7.1.6", &[
        "mad24.[hi lo].[u32 s32]        d:t, a:t, b:t, c:t",
        "mad24.hi.sat.s32               d:t, a:t, b:t, c:t",
    ]),
    group(Integer, "9.7.1.7", &[
        "sad.<int>                      d:t, a:t, b:t, c:t",
    ]),
    group(Integer, "9.7.1.8", &[
        "div.<int>                      d:t, a:t, b:t",
    ]),
    group(Integer, "9.7.1.9", &[
        "rem.<int>                      d:t, a:t, b:t",
    ]),
    group(Integer, "9.7.1.10", &[
        "abs.[s16 s32 s64]              d:t, a:t",
    ]),
    group(Integer, "9.7.1.11", &[
        "neg.[s16 s32 s64]              d:t, a:t",
        "neg.s8x4                       d:t, a:t                 ; 9.2 sm_120f",
    ]),
    group(Integer, "9.7.1.12", &[
        "min.<int>                      d:t, a:t, b:t",
        "min.[u8x4 s8x4]                d:t, a:t, b:t            ; 9.2 sm_120f",
        "min.[u16x2 s16x2]              d:t, a:t, b:t            ; 8.0 sm_90",
        "min.relu.s8x4                  d:t, a:t, b:t            ; 9.2 sm_120f",
        "min.relu.[s16x2 s32]           d:t, a:t, b:t            ; 8.0 sm_90",
    ]),
    group(Integer, "9.7.1.13", &[
        "max.<int>                      d:t, a:t, b:t",
        "max.[u8x4 s8x4]                d:t, a:t, b:t            ; 9.2 sm_120f",
        "max.[u16x2 s16x2]              d:t, a:t, b:t            ; 8.0 sm_90",
        "max.relu.s8x4                  d:t, a:t, b:t            ; 9.2 sm_120f",
        "max.relu.[s16x2 s32]           d:t, a:t, b:t            ; 8.0 sm_90",
    ]),
    group(Integer, "9.7.1.14", &[
        "popc.[b32 b64]                 d:u32, a:t               ; 2.0 sm_20",
    ]),
    group(Integer, "9.7.1.15", &[
        "clz.[b32 b64]                  d:u32, a:t               ; 2.0 sm_20",
    ]),
    group(Integer, "9.7.1.16", &[
        "bfind{.shiftamt}.[u32 u64 s32 s64]  d:u32, a:t          ; 2.0 sm_20",
    ]),
    group(Integer, "9.7.1.17", &[
        "fns.b32                        d:b32, mask:b32, base:b32, offset:s32   ; 6.0 sm_30",
    ]),
    group(Integer, "9.7.1.18", &[
        "brev.[b32 b64]                 d:t, a:t                 ; 2.0 sm_20",
    ]),
    group(Integer, "9.7.1.19", &[
        "bfe.[u32 u64 s32 s64]          d:t, a:t, b:u32, c:u32   ; 2.0 sm_20",
    ]),
    group(Integer, "9.7.1.20", &[
        "bfi.[b32 b64]                  d:t, a:t, b:t, c:u32, e:u32  ; 2.0 sm_20",
    ]),
    group(Integer, "9.7.1.21", &[
        "szext.[clamp wrap].[u32 s32]   d:t, a:t, b:u32          ; 7.6 sm_70",
    ]),
    group(Integer, "9.7.1.22", &[
        "bmsk.[clamp wrap].b32          d:t, a:t, b:t            ; 7.6 sm_70",
    ]),
    group(Integer, "9.7.1.23", &[
        "dp4a.[u32 s32].[u32 s32]       d:u32, a:u32, b:u32, c:u32      ; 5.0 sm_61",
    ]),
    group(Integer, "9.7.1.24", &[
        "dp2a.[lo hi].[u32 s32].[u32 s32]  d:u32, a:u32, b:u32, c:u32   ; 5.0 sm_61",
    ]),
    group(Integer, "9.7.2.1", &[
        "add.cc.[u32 s32]               d:t, a:t, b:t            ; 1.2 sm_10",
        "add.cc.[u64 s64]               d:t, a:t, b:t            ; 4.3 sm_20",
    ]),
    group(Integer, "9.7.2.2", &[
        "addc{.cc}.[u32 s32]            d:t, a:t, b:t            ; 1.2 sm_10",
        "addc.[u64 s64]                 d:t, a:t, b:t            ; 4.0 sm_20",
        "addc.cc.[u64 s64]              d:t, a:t, b:t            ; 4.3 sm_20",
    ]),
    group(Integer, "9.7.2.3", &[
        "sub.cc.[u32 s32]               d:t, a:t, b:t            ; 1.2 sm_10",
        "sub.cc.[u64 s64]               d:t, a:t, b:t            ; 4.3 sm_20",
    ]),
    group(Integer, "9.7.2.4", &[
        "subc{.cc}.[u32 s32]            d:t, a:t, b:t            ; 3.0 sm_20",
        "subc.[u64 s64]                 d:t, a:t, b:t            ; 4.0 sm_20",
        "subc.cc.[u64 s64]              d:t, a:t, b:t            ; 4.3 sm_20",
    ]),
    group(Integer, "9.7.2.5", &[
        "mad.[hi lo].cc.[u32 s32]       d:t, a:t, b:t, c:t       ; 3.0 sm_20",
        "mad.[hi lo].cc.[u64 s64]       d:t, a:t, b:t, c:t       ; 4.3 sm_20",
    ]),
    group(Integer, "9.7.2.6", &[
        "madc.[hi lo]{.cc}.[u32 s32]    d:t, a:t, b:t, c:t       ; 3.0 sm_20",
        "madc.[hi lo].[u64 s64]         d:t, a:t, b:t, c:t       ; 4.0 sm_20",
        "madc.[hi lo].cc.[u64 s64]      d:t, a:t, b:t, c:t       ; 4.3 sm_20",
    ]),
];
