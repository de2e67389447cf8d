//! Loads, stores, prefetches and cache control (manual, section 9.7.9).

use super::InstructionClass::{LoadStore, Misc};
use super::{Group, group};

#[rustfmt::skip]
pub(super) const GROUPS: &[Group] = &[
    group(LoadStore, "9.7.9.8", &[
        "ld{.weak}{.<ldspace>}{.<ldcop>}{.<hint>}{.<l2size>}{.<vec>}.<mem>{.unified}  d:t+*vec, [a]{, cache:b64}",
        "ld{.weak}{.<ldspace>}.<l1>{.<l2>}{.<hint>}{.<l2size>}{.<vec>}.<mem>{.unified}  d:t+*vec, [a]{, cache:b64}  ; 7.4 sm_70",
        "ld{.weak}{.<ldspace>}.<l2>{.<hint>}{.<l2size>}{.<vec>}.<mem>{.unified}  d:t+*vec, [a]{, cache:b64}  ; 8.8 sm_100",
        "ld.volatile{.<ldspace>}{.<l2size>}{.<vec>}.<mem>     d:t+*vec, [a]",
        "ld.[relaxed acquire].<scope>{.<ldspace>}{.<l1>}{.<l2>}{.<hint>}{.<l2size>}{.<vec>}.<mem>{.unified}  d:t+*vec, [a]{, cache:b64}  ; 6.0 sm_70",
        "ld.mmio.relaxed.sys{.global}.<mem>                   d:t+, [a]           ; 8.2 sm_70",
        "ld.mmio.acquire.sys{.global}.<mem>                   d:t+, [a]           ; 9.3 sm_75",
        "ld{.global}{.<vec>}.[b8 b16 b32 b64 u8 u16 u32 u64 s8 s16 s32 s64 f32 f64].proxy::readonly  d:t+*vec, [a]  ; 9.4 sm_90",
    ]),
    group(LoadStore, "9.7.9.9", &[
        "ld.global{.[ca cg cs]}.nc{.<hint>}{.<l2size>}{.<vec>}.<mem>{.unified}   d:t+*vec, [a]{, cache:b64}  ; 3.1 sm_32",
        "ld.global.nc.<l1>{.<l2>}{.<hint>}{.<l2size>}{.<vec>}.<mem>{.unified}    d:t+*vec, [a]{, cache:b64}  ; 7.4 sm_70",
        "ld.global.nc.<l2>{.<hint>}{.<l2size>}{.<vec>}.<mem>{.unified}           d:t+*vec, [a]{, cache:b64}  ; 8.8 sm_100",
    ]),
    group(LoadStore, "9.7.9.10", &[
        "ldu{.global}{.[v2 v4]}.<mem>                         d:t+*vec, [a]       ; 2.0 sm_20",
    ]),
    group(LoadStore, "9.7.9.11", &[
        "st{.weak}{.<stspace>}{.<stcop>}{.<hint>}{.<vec>}.<mem>  [a], b:t+*vec{, cache:b64}",
        "st{.weak}{.<stspace>}.<l1>{.<l2>}{.<hint>}{.<vec>}.<mem>  [a], b:t+*vec{, cache:b64}  ; 7.4 sm_70",
        "st{.weak}{.<stspace>}.<l2>{.<hint>}{.<vec>}.<mem>  [a], b:t+*vec{, cache:b64}  ; 8.8 sm_100",
        "st.volatile{.<stspace>}{.<vec>}.<mem>                [a], b:t+*vec",
        "st.[relaxed release].<scope>{.<stspace>}{.<l1>}{.<l2>}{.<hint>}{.<vec>}.<mem>  [a], b:t+*vec{, cache:b64}  ; 6.0 sm_70",
        "st.mmio.relaxed.sys{.global}.<mem>                   [a], b:t+           ; 8.2 sm_70",
    ]),
    group(LoadStore, "9.7.9.12", &[
        "st.async{.weak}{.shared::cluster}.<mbar>{.[v2 v4]}.[b32 b64 u32 u64 s32 s64 f32 f64]  [a], b:t*vec, [mbar]  ; 8.1 sm_90",
        "st.async{.mmio}.release.[gpu sys]{.global}.[b8 b16 b32 b64 u8 u16 u32 u64 s8 s16 s32 s64 f32 f64]  [a], b:t  ; 8.7 sm_100",
    ]),
    group(LoadStore, "9.7.9.13", &[
        "st.bulk{.weak}{.shared::cta}                         [a], size:ptr, #init:u32  ; 8.6 sm_100",
    ]),
    group(LoadStore, "9.7.9.14", &[
        "multimem.ld_reduce{.[weak relaxed acquire]}{.<scope>}{.global}.[and or xor].[b32 b64]  d:t, [a]  ; 8.1 sm_90",
        "multimem.ld_reduce{.[weak relaxed acquire]}{.<scope>}{.global}.add.[u32 s32 u64]  d:t, [a]  ; 8.1 sm_90",
        "multimem.ld_reduce{.[weak relaxed acquire]}{.<scope>}{.global}.[min max].[u32 s32 u64 s64]  d:t, [a]  ; 8.1 sm_90",
        "multimem.ld_reduce{.[weak relaxed acquire]}{.<scope>}{.global}.[min max add]{.acc::f32}.<vec>.[f16 bf16]  d:t*vec, [a]  ; 8.1 sm_90",
        "multimem.ld_reduce{.[weak relaxed acquire]}{.<scope>}{.global}.[min max add]{.acc::f32}{.[v2 v4]}.[f16x2 bf16x2]  d:t*vec, [a]  ; 8.1 sm_90",
        "multimem.ld_reduce{.[weak relaxed acquire]}{.<scope>}{.global}.add{.[v2 v4]}.f32  d:t*vec, [a]  ; 8.1 sm_90",
        "multimem.ld_reduce{.[weak relaxed acquire]}{.<scope>}{.global}.add.f64  d:t, [a]  ; 8.1 sm_90",
        "multimem.ld_reduce{.[weak relaxed acquire]}{.<scope>}{.global}.[min max add]{.acc::f16}.[v4 v8].[e5m2 e4m3]  d:t*vec, [a]  ; 8.6 sm_100a",
        "multimem.ld_reduce{.[weak relaxed acquire]}{.<scope>}{.global}.[min max add]{.acc::f16}.<vec>.[e5m2x2 e4m3x2]  d:t*vec, [a]  ; 8.6 sm_100a",
        "multimem.ld_reduce{.[weak relaxed acquire]}{.<scope>}{.global}.[min max add]{.acc::f16}{.[v2 v4]}.[e5m2x4 e4m3x4]  d:t*vec, [a]  ; 8.6 sm_100a",
        "multimem.st{.[weak relaxed release]}{.<scope>}{.global}.[b32 b64 u32 u64 s32 s64 f64]  [a], b:t  ; 8.1 sm_90",
        "multimem.st{.[weak relaxed release]}{.<scope>}{.global}.<vec>.[f16 bf16]  [a], b:t*vec  ; 8.1 sm_90",
        "multimem.st{.[weak relaxed release]}{.<scope>}{.global}{.[v2 v4]}.[f16x2 bf16x2 f32]  [a], b:t*vec  ; 8.1 sm_90",
        "multimem.st{.[weak relaxed release]}{.<scope>}{.global}.[v4 v8].[e5m2 e4m3]  [a], b:t*vec  ; 8.6 sm_100a",
        "multimem.st{.[weak relaxed release]}{.<scope>}{.global}.<vec>.[e5m2x2 e4m3x2]  [a], b:t*vec  ; 8.6 sm_100a",
        "multimem.st{.[weak relaxed release]}{.<scope>}{.global}{.[v2 v4]}.[e5m2x4 e4m3x4]  [a], b:t*vec  ; 8.6 sm_100a",
        "multimem.red{.[relaxed release]}{.<scope>}{.global}.[and or xor].[b32 b64]  [a], b:t  ; 8.1 sm_90",
        "multimem.red{.[relaxed release]}{.<scope>}{.global}.add.[u32 s32 u64 f64]  [a], b:t  ; 8.1 sm_90",
        "multimem.red{.[relaxed release]}{.<scope>}{.global}.[min max].[u32 s32 u64 s64]  [a], b:t  ; 8.1 sm_90",
        "multimem.red{.[relaxed release]}{.<scope>}{.global}.[min max add].<vec>.[f16 bf16]  [a], b:t*vec  ; 8.1 sm_90",
        "multimem.red{.[relaxed release]}{.<scope>}{.global}.add{.[v2 v4]}.[f16x2 bf16x2 f32]  [a], b:t*vec  ; 8.1 sm_90",
        "multimem.red{.[relaxed release]}{.<scope>}{.global}.[min max].[v2 v4].[f16x2 bf16x2]  [a], b:t*vec  ; 8.1 sm_90",
    ]),
    group(LoadStore, "9.7.9.15", &[
        "prefetch{.[global local]}.[L1 L2]                    [a]                 ; 2.0 sm_20",
        "prefetch.global.[L2::evict_last L2::evict_normal]    [a]                 ; 7.4 sm_80",
        "prefetch{.global}.L1::32B.valid_addr                 [a]                 ; 9.4 sm_90",
        "prefetch{.[const param]}.tensormap      [a]                 ; 8.0 sm_90",
        "prefetchu.L1                                         [a]                 ; 2.0 sm_20",
    ]),
    group(LoadStore, "9.7.9.16", &[
        "applypriority{.global}.L2::evict_normal              [a], #size:u32      ; 7.4 sm_80",
    ]),
    group(LoadStore, "9.7.10.18 of 9.4", &[
        "applypriority.async.bulk{.global}.bulk_group.L2::evict_normal  [a], size:u32  ; 9.4 sm_107f",
        "applypriority.async.bulk.tensor.<dim>{.global}.bulk_group{.<load_mode>}.L2::evict_normal{.<override>}{.<attributes>}  [map, coordinates]{, offsets:u16*?}  ; 9.4 sm_107f",
    ]),
    group(LoadStore, "9.7.9.17", &[
        "discard{.global}.L2                                  [a], #size:u32      ; 7.4 sm_80",
    ]),
    group(Misc, "9.7.9.18", &[
        "createpolicy.range{.global}.[L2::evict_last L2::evict_normal L2::evict_first L2::evict_unchanged]{.[L2::evict_first L2::evict_unchanged]}.b64  d:b64, [a], primary:b32, total:b32  ; 7.4 sm_80",
        "createpolicy.range.fabric.[L2::evict_last L2::evict_normal L2::evict_first L2::evict_unchanged]{.[L2::evict_first L2::evict_unchanged]}.b64  d:b64, [le, offset], primary:b32, total:b32  ; 9.4 sm_100",
        "createpolicy.fractional.[L2::evict_last L2::evict_normal L2::evict_first L2::evict_unchanged]{.[L2::evict_first L2::evict_unchanged]}.b64  d:b64{, fraction:f32}  ; 7.4 sm_80",
        "createpolicy.cvt.L2.b64                              d:b64, property:b64  ; 7.4 sm_80",
    ]),
];
