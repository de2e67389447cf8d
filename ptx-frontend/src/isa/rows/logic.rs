//! Logic and shifts (manual, section 9.7.8).

use super::InstructionClass::Integer;
use super::{Group, group};

#[rustfmt::skip]
pub(super) const GROUPS: &[Group] = &[
    group(Integer, "9.7.8.1", &["and.[pred b16 b32 b64]   d:t, a:t, b:t"]),
    group(Integer, "9.7.8.2", &["or.[pred b16 b32 b64]    d:t, a:t, b:t"]),
    group(Integer, "9.7.8.3", &["xor.[pred b16 b32 b64]   d:t, a:t, b:t"]),
    group(Integer, "9.7.8.4", &["not.[pred b16 b32 b64]   d:t, a:t"]),
    group(Integer, "9.7.8.5", &["cnot.[b16 b32 b64]       d:t, a:t"]),
    group(Integer, "9.7.8.6", &[
        "lop3.b32                   d:t, a:t, b:t, c:t, #lut:u32           ; 4.3 sm_50",
        "lop3.[or and].b32          d:t|p, a:t, b:t, c:t, #lut:u32, q2:pred  ; 8.2 sm_70",
    ]),
    group(Integer, "9.7.8.7", &[
        "shf.[l r].[clamp wrap].b32  d:t, a:t, b:t, c:u32                  ; 3.1 sm_32",
    ]),
    group(Integer, "9.7.8.8", &["shl.[b16 b32 b64]        d:t, a:t, b:u32"]),
    group(Integer, "9.7.8.9", &[
        "shr.[b16 b32 b64 u16 u32 u64 s16 s32 s64]  d:t, a:t, b:u32",
    ]),
];
