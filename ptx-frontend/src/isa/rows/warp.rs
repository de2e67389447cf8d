//! Communication within a warp (manual, sections 9.7.13.8 to 9.7.13.14).

use super::InstructionClass::InterThread;
use super::{Group, group};

#[rustfmt::skip]
pub(super) const GROUPS: &[Group] = &[
    group(InterThread, "9.7.13.8", &[
        "vote.[all any uni].pred            p:pred, a:pred                   ; 1.2 sm_12",
        "vote.ballot.b32                    d:b32, a:pred                    ; 2.0 sm_20",
    ]),
    group(InterThread, "9.7.13.9", &[
        "vote.sync.[all any uni].pred       p:pred, a:pred, mask:u32         ; 6.0 sm_30",
        "vote.sync.ballot.b32               d:b32, a:pred, mask:u32          ; 6.0 sm_30",
    ]),
    group(InterThread, "9.7.13.10", &[
        "match.any.sync.[b32 b64]           d:b32, a:t, mask:u32             ; 6.0 sm_70",
        "match.all.sync.[b32 b64]           d:b32{|p}, a:t, mask:u32         ; 6.0 sm_70",
    ]),
    group(InterThread, "9.7.13.11", &[
        "activemask.b32                     d:b32                            ; 6.2 sm_30",
    ]),
    group(InterThread, "9.7.13.12", &[
        "redux.sync.[add min max].[u32 s32]  d:t, a:t, mask:u32              ; 7.0 sm_80",
        "redux.sync.[and or xor].b32        d:t, a:t, mask:u32               ; 7.0 sm_80",
        "redux.sync.[min max]{.abs}{.NaN}.f32  d:t, a:t, mask:u32            ; 8.6 sm_100a",
    ]),
    group(InterThread, "9.7.13.14", &[
        "elect.sync                         d:b32|p, mask:u32                ; 8.0 sm_90",
    ]),
];
