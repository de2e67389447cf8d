//! Atomics and reductions in memory (manual, sections 9.7.13.5 to 9.7.13.7).

use super::InstructionClass::LoadStore;
use super::{Group, group};

#[rustfmt::skip]
pub(super) const GROUPS: &[Group] = &[
    group(LoadStore, "9.7.13.5", &[
        "atom{.<sem>}{.<scope>}{.<atomspace>}.[and or xor exch]{.<hint>}.[b32 b64]     d:t, [a], b:t{, cache:b64}         ; 1.1 sm_11",
        "atom{.<sem>}{.<scope>}{.<atomspace>}.add{.<hint>}.[u32 s32 u64]               d:t, [a], b:t{, cache:b64}         ; 1.1 sm_11",
        "atom{.<sem>}{.<scope>}{.<atomspace>}.add{.<hint>}.f32                         d:t, [a], b:t{, cache:b64}         ; 2.0 sm_20",
        "atom{.<sem>}{.<scope>}{.<atomspace>}.add.noftz{.<hint>}.f32                   d:t, [a], b:t{, cache:b64}         ; 9.4 sm_90",
        "atom{.<sem>}{.<scope>}{.<atomspace>}.add{.<hint>}.f64                         d:t, [a], b:t{, cache:b64}         ; 5.0 sm_60",
        "atom{.<sem>}{.<scope>}{.<atomspace>}.[inc dec]{.<hint>}.u32                   d:t, [a], b:t{, cache:b64}         ; 1.1 sm_11",
        "atom{.<sem>}{.<scope>}{.<atomspace>}.[min max]{.<hint>}.[u32 s32 u64 s64]     d:t, [a], b:t{, cache:b64}         ; 1.1 sm_11",
        "atom{.<sem>}{.<scope>}{.<atomspace>}.cas.[b32 b64]   d:t, [a], b:t, c:t    ; 1.1 sm_11",
        "atom{.<sem>}{.<scope>}{.<atomspace>}.cas.b16                         d:t, [a], b:t, c:t    ; 6.3 sm_70",
        "atom{.<sem>}{.<scope>}{.<atomspace>}.cas.b128                        d:t, [a], b:t, c:t    ; 8.3 sm_90",
        "atom{.<sem>}{.<scope>}{.<atomspace>}.exch{.<hint>}.b128                       d:t, [a], b:t{, cache:b64}         ; 8.3 sm_90",
        "atom{.<sem>}{.<scope>}{.<atomspace>}.add.noftz{.<hint>}.f16x2                 d:t, [a], b:t{, cache:b64}         ; 6.2 sm_60",
        "atom{.<sem>}{.<scope>}{.<atomspace>}.add.noftz{.<hint>}.f16                   d:t, [a], b:t{, cache:b64}         ; 6.3 sm_70",
        "atom{.<sem>}{.<scope>}{.<atomspace>}.add.noftz{.<hint>}.[bf16 bf16x2]         d:t, [a], b:t{, cache:b64}         ; 7.8 sm_90",
        "atom{.<sem>}{.<scope>}{.global}.add{.<hint>}.[v2 v4].f32                      d:t*vec, [a], b:t*vec{, cache:b64} ; 8.1 sm_90",
        "atom{.<sem>}{.<scope>}{.global}.add.noftz{.<hint>}.[v2 v4].f32                d:t*vec, [a], b:t*vec{, cache:b64} ; 9.4 sm_90",
        "atom{.<sem>}{.<scope>}{.global}.[add min max].noftz{.<hint>}.[v2 v4 v8].[f16 bf16]    d:t*vec, [a], b:t*vec{, cache:b64}  ; 8.1 sm_90",
        "atom{.<sem>}{.<scope>}{.global}.[add min max].noftz{.<hint>}.[v2 v4].[f16x2 bf16x2]   d:t*vec, [a], b:t*vec{, cache:b64}  ; 8.1 sm_90",
    ]),
    group(LoadStore, "9.7.13.6", &[
        "red{.[relaxed release]}{.<scope>}{.<atomspace>}.[and or xor]{.<hint>}.[b32 b64]           [a], b:t{, cache:b64}              ; 1.2 sm_11",
        "red{.[relaxed release]}{.<scope>}{.<atomspace>}.add{.<hint>}.[u32 s32 u64]                [a], b:t{, cache:b64}              ; 1.2 sm_11",
        "red{.[relaxed release]}{.<scope>}{.<atomspace>}.add{.<hint>}.f32                          [a], b:t{, cache:b64}              ; 2.0 sm_20",
        "red{.[relaxed release]}{.<scope>}{.<atomspace>}.add.noftz{.<hint>}.f32                    [a], b:t{, cache:b64}              ; 9.4 sm_90",
        "red{.[relaxed release]}{.<scope>}{.<atomspace>}.add{.<hint>}.f64                          [a], b:t{, cache:b64}              ; 5.0 sm_60",
        "red{.[relaxed release]}{.<scope>}{.<atomspace>}.[inc dec]{.<hint>}.u32                    [a], b:t{, cache:b64}              ; 1.2 sm_11",
        "red{.[relaxed release]}{.<scope>}{.<atomspace>}.[min max]{.<hint>}.[u32 s32 u64 s64]      [a], b:t{, cache:b64}              ; 1.2 sm_11",
        "red{.[relaxed release]}{.<scope>}{.<atomspace>}.add.noftz{.<hint>}.f16x2                  [a], b:t{, cache:b64}              ; 6.2 sm_60",
        "red{.[relaxed release]}{.<scope>}{.<atomspace>}.add.noftz{.<hint>}.f16                    [a], b:t{, cache:b64}              ; 6.3 sm_70",
        "red{.[relaxed release]}{.<scope>}{.<atomspace>}.add.noftz{.<hint>}.[bf16 bf16x2]          [a], b:t{, cache:b64}              ; 7.8 sm_90",
        "red{.[relaxed release]}{.<scope>}{.global}.add{.<hint>}.[v2 v4].f32                       [a], b:t*vec{, cache:b64}          ; 8.1 sm_90",
        "red{.[relaxed release]}{.<scope>}{.global}.add.noftz{.<hint>}.[v2 v4].f32                 [a], b:t*vec{, cache:b64}          ; 9.4 sm_90",
        "red{.[relaxed release]}{.<scope>}{.global}.[add min max].noftz{.<hint>}.[v2 v4 v8].[f16 bf16]     [a], b:t*vec{, cache:b64}  ; 8.1 sm_90",
        "red{.[relaxed release]}{.<scope>}{.global}.[add min max].noftz{.<hint>}.[v2 v4].[f16x2 bf16x2]    [a], b:t*vec{, cache:b64}  ; 8.1 sm_90",
    ]),
    group(LoadStore, "9.7.13.7", &[
        "red.async.relaxed.cluster{.shared::cluster}.<mbar>.[inc dec].u32                  [a], b:t, [mbar]           ; 8.1 sm_90",
        "red.async.relaxed.cluster{.shared::cluster}.<mbar>.[min max].[u32 s32]            [a], b:t, [mbar]           ; 8.1 sm_90",
        "red.async.relaxed.cluster{.shared::cluster}.<mbar>.[and or xor].b32               [a], b:t, [mbar]           ; 8.1 sm_90",
        "red.async.relaxed.cluster{.shared::cluster}.<mbar>.add.[u32 s32 u64]              [a], b:t, [mbar]           ; 8.1 sm_90",
        "red.async{.mmio}.release.[gpu sys]{.global}.add.[u32 s32 u64 s64]                       [a], b:t                   ; 8.7 sm_100",
    ]),
];
