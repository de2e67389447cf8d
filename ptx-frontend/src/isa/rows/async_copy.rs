//! Asynchronous copies and tensor maps (manual, sections 9.7.9.25 to 9.7.9.28).

use super::InstructionClass::{LoadStore, Misc};
use super::{Group, group};

#[rustfmt::skip]
pub(super) const GROUPS: &[Group] = &[
    group(LoadStore, "9.7.9.25.3.1", &[
        "cp.async.[ca cg].<shared>.global{.<l2size>}             [d], [a], #size:u32                         ; 7.0 sm_80",
        "cp.async.[ca cg].<shared>.global{.<l2size>}             [d], [a], #size:u32, source:u32             ; 7.0 sm_80",
        "cp.async.[ca cg].<shared>.global{.<l2size>}             [d], [a], #size:u32, ignore:pred            ; 7.5 sm_80",
        "cp.async.[ca cg].<shared>.global.<hint>{.<l2size>}      [d], [a], #size:u32, cache:b64              ; 7.4 sm_80",
        "cp.async.[ca cg].<shared>.global.<hint>{.<l2size>}      [d], [a], #size:u32, source:u32, cache:b64  ; 7.4 sm_80",
        "cp.async.[ca cg].<shared>.global.<hint>{.<l2size>}      [d], [a], #size:u32, ignore:pred, cache:b64  ; 7.5 sm_80",
    ]),
    group(Misc, "9.7.9.25.3.2", &["cp.async.commit_group                                                ; 7.0 sm_80"]),
    group(Misc, "9.7.9.25.3.3", &[
        "cp.async.wait_group                                     #n:u32                                      ; 7.0 sm_80",
        "cp.async.wait_all                                                                                   ; 7.0 sm_80",
    ]),
    group(LoadStore, "9.7.13.15.15", &[
        "cp.async.mbarrier.arrive{.noinc}{.<shared>}.b64         [a]                                         ; 7.0 sm_80",
    ]),
    group(LoadStore, "9.7.9.25.4.1", &[
        "cp.async.bulk.[shared::cluster shared::cta].global.<mbar>{.multicast::cluster}{.<hint>}  [d], [a], size:u32, [mbar]{, ctamask:u16}{, cache:b64}  ; 8.0 sm_90",
        "cp.async.bulk.shared::cluster.shared::cta.<mbar>        [d], [a], size:u32, [mbar]                  ; 8.0 sm_90",
        "cp.async.bulk.global.shared::cta.bulk_group{.<hint>}    [d], [a], size:u32{, cache:b64}             ; 8.0 sm_90",
        "cp.async.bulk.global.shared::cta.bulk_group{.<hint>}.cp_mask  [d], [a], size:u32{, cache:b64}, bytes:u16  ; 8.6 sm_100",
    ]),
    group(LoadStore, "9.7.9.25.4.2", &[
        "cp.reduce.async.bulk.shared::cluster.shared::cta.<mbar>.[and or xor].b32  [d], [a], size:u32, [mbar]  ; 8.0 sm_90",
        "cp.reduce.async.bulk.shared::cluster.shared::cta.<mbar>.[add inc dec min max].u32  [d], [a], size:u32, [mbar]  ; 8.0 sm_90",
        "cp.reduce.async.bulk.shared::cluster.shared::cta.<mbar>.[add min max].s32  [d], [a], size:u32, [mbar]  ; 8.0 sm_90",
        "cp.reduce.async.bulk.shared::cluster.shared::cta.<mbar>.add.u64  [d], [a], size:u32, [mbar]  ; 8.0 sm_90",
        "cp.reduce.async.bulk.global.shared::cta.bulk_group{.<hint>}.[and or xor].[b32 b64]  [d], [a], size:u32{, cache:b64}  ; 8.0 sm_90",
        "cp.reduce.async.bulk.global.shared::cta.bulk_group{.<hint>}.[add inc dec min max].u32  [d], [a], size:u32{, cache:b64}  ; 8.0 sm_90",
        "cp.reduce.async.bulk.global.shared::cta.bulk_group{.<hint>}.[add min max].[s32 u64]  [d], [a], size:u32{, cache:b64}  ; 8.0 sm_90",
        "cp.reduce.async.bulk.global.shared::cta.bulk_group{.<hint>}.[min max].[s64 f16 bf16]  [d], [a], size:u32{, cache:b64}  ; 8.0 sm_90",
        "cp.reduce.async.bulk.global.shared::cta.bulk_group{.<hint>}.add.[f32 f64]  [d], [a], size:u32{, cache:b64}  ; 8.0 sm_90",
        "cp.reduce.async.bulk.global.shared::cta.bulk_group{.<hint>}.add.noftz.[f16 bf16]  [d], [a], size:u32{, cache:b64}  ; 8.0 sm_90",
    ]),
    // Not in the manual of ISA 9.0: read off what ptxas of CUDA 13.5 accepts.
    group(LoadStore, "9.7.9.25", &[
        "multimem.cp.async.bulk.global.shared::cta.bulk_group     [d], [a], size:u32                         ; 9.1 sm_90",
        "multimem.cp.async.bulk.global.shared::cta.bulk_group.cp_mask  [d], [a], size:u32, bytes:u16         ; 9.1 sm_100",
        "multimem.cp.reduce.async.bulk.global.shared::cta.bulk_group.[and or xor].[b32 b64]  [d], [a], size:u32  ; 9.1 sm_90",
        "multimem.cp.reduce.async.bulk.global.shared::cta.bulk_group.add.[u32 s32 u64 f32 f64]  [d], [a], size:u32  ; 9.1 sm_90",
        "multimem.cp.reduce.async.bulk.global.shared::cta.bulk_group.[inc dec].u32  [d], [a], size:u32       ; 9.1 sm_90",
        "multimem.cp.reduce.async.bulk.global.shared::cta.bulk_group.[min max].[f16 bf16 u32 s32 u64 s64]  [d], [a], size:u32  ; 9.1 sm_90",
        "multimem.cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.[f16 bf16]  [d], [a], size:u32  ; 9.1 sm_90",
        "multimem.st.async.release.[gpu sys]{.global}.[b8 b16 b32 b64 u8 u16 u32 u64 s8 s16 s32 s64 f32 f64]  [a], b:t+  ; 9.3 sm_100",
        "multimem.red.async.release.[gpu sys]{.global}.add.[u32 s32 u64]  [a], b:t                           ; 9.3 sm_100",
    ]),
    group(LoadStore, "9.7.9.25.4.3", &[
        "cp.async.bulk.prefetch.L2.global{.<hint>}               [a], size:u32{, cache:b64}                  ; 8.0 sm_90",
    ]),
    group(LoadStore, "9.7.9.25.5.2", &[
        "cp.async.bulk.tensor.<dim>.[shared::cluster shared::cta].global{.[tile tile::gather4 im2col im2col::w im2col::w::128]}.<mbar>{.multicast::cluster}{.<group>}{.<hint>}  [d], [map, coordinates], [mbar]{, offsets:u16*?}{, ctamask:u16}{, cache:b64}  ; 8.0 sm_90",
        "cp.async.bulk.tensor.<dim>.global.shared::cta{.[tile tile::scatter4 im2col_no_offs]}.bulk_group{.<hint>}  [map, coordinates], [a]{, cache:b64}  ; 8.0 sm_90",
    ]),
    group(LoadStore, "9.7.9.25.5.3", &[
        "cp.reduce.async.bulk.tensor.<dim>.global.shared::cta.[and or xor add inc dec min max]{.[tile im2col_no_offs]}.bulk_group{.<hint>}  [map, coordinates], [a]{, cache:b64}  ; 8.0 sm_90",
    ]),
    group(LoadStore, "9.7.9.25.5.4", &[
        "cp.async.bulk.prefetch.tensor.<dim>.L2.global{.[tile tile::gather4 im2col im2col::w im2col::w::128]}{.<hint>}  [map, coordinates]{, offsets:u16*?}{, cache:b64}  ; 8.0 sm_90",
    ]),
    group(Misc, "9.7.9.25.6.1", &["cp.async.bulk.commit_group                                           ; 8.0 sm_90"]),
    group(Misc, "9.7.9.25.6.2", &[
        "cp.async.bulk.wait_group{.read}                         #n:u32                                      ; 8.0 sm_90",
    ]),
    group(LoadStore, "9.7.9.27.1", &[
        "tensormap.replace.tile.[global_address]{.[global shared::cta]}.b1024.b64          [a], value:b64            ; 8.3 sm_90a",
        "tensormap.replace.tile.[rank]{.[global shared::cta]}.b1024.b32                    [a], value:b32            ; 8.3 sm_90a",
        "tensormap.replace.tile.[box_dim global_dim element_stride]{.[global shared::cta]}.b1024.b32  [a], #ordinal:u32, value:b32  ; 8.3 sm_90a",
        "tensormap.replace.tile.global_stride{.[global shared::cta]}.b1024.b64             [a], #ordinal:u32, value:b64  ; 8.3 sm_90a",
        "tensormap.replace.tile.[elemtype interleave_layout swizzle_mode swizzle_atomicity fill_mode]{.[global shared::cta]}.b1024.b32  [a], #value:u32  ; 8.3 sm_90a",
    ]),
    group(LoadStore, "9.7.13.15.18", &[
        "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.<scope>.sync.aligned  [d], [a], #size:u32  ; 8.3 sm_90",
    ]),
];
