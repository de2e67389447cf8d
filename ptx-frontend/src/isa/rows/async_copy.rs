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
        "cp.async.bulk{.weak}.shared::cta.global.<mbar>{.<report>}{.<hint>}  [d], [a], size:u32, [mbar]{, cache:b64}  ; 8.0 sm_90",
        "cp.async.bulk{.weak}.shared::cluster.global.<mbar>{.<report>}{.<multicast16>}{.<hint>}  [d], [a], size:u32, [mbar]{, ctamask:u16}{, cache:b64}  ; 8.0 sm_90",
        "cp.async.bulk{.weak}.shared::cluster.shared::cta.<mbar>        [d], [a], size:u32, [mbar]                  ; 8.0 sm_90",
        "cp.async.bulk{.weak}.global.shared::cta.bulk_group{.<hint>}    [d], [a], size:u32{, cache:b64}             ; 8.0 sm_90",
        "cp.async.bulk{.weak}.global.shared::cta.bulk_group{.<hint>}.cp_mask  [d], [a], size:u32{, cache:b64}, bytes:u16  ; 8.6 sm_100",
    ]),
    group(LoadStore, "9.7.10.28.4.1 of 9.4", &[
        "cp.async.bulk{.weak}.shared::cta.global.<mbar>{.mbarrier::report::disabled}{.<hint>}.ignore_oob  [d], [a], size:u32, left:u32, right:u32, [mbar]{, cache:b64}  ; 9.2 sm_90",
        "cp.async.bulk{.weak}.shared::cluster.global.<mbar>{.<report>}.multicast::cluster::32b{.<hint>}  [d], [a], size:u32, [mbar], ctamask:u32{, cache:b64}  ; 9.4 sm_107f",
        "cp.async.bulk.relaxed.<scope>.shared::cta.global.<mbar>{.<report>}{.<hint>}.b128  [d], [a], size:u32, [mbar]{, cache:b64}  ; 9.3 sm_90",
        "cp.async.bulk.relaxed.<scope>.shared::cta.global.<mbar>{.mbarrier::report::disabled}{.<hint>}.ignore_oob.b128  [d], [a], size:u32, left:u32, right:u32, [mbar]{, cache:b64}  ; 9.3 sm_90",
        "cp.async.bulk.relaxed.<scope>.shared::cluster.global.<mbar>{.<report>}{.<multicast16>}{.<hint>}.b128  [d], [a], size:u32, [mbar]{, ctamask:u16}{, cache:b64}  ; 9.3 sm_90a",
        "cp.async.bulk.relaxed.<scope>.shared::cluster.global.<mbar>{.<report>}.multicast::cluster::32b{.<hint>}.b128  [d], [a], size:u32, [mbar], ctamask:u32{, cache:b64}  ; 9.4 sm_107f",
        "cp.async.bulk.relaxed.[cta cluster].shared::cluster.shared::cta.<mbar>.b128  [d], [a], size:u32, [mbar]                ; 9.3 sm_90",
        "cp.async.bulk.relaxed.<scope>.global.shared::cta.bulk_group{.<hint>}.b128    [d], [a], size:u32{, cache:b64}           ; 9.3 sm_90",
        "cp.async.bulk.relaxed.<scope>.global.shared::cta.bulk_group{.<hint>}.cp_mask.b128  [d], [a], size:u32{, cache:b64}, bytes:u16  ; 9.3 sm_100",
    ]),
    group(LoadStore, "9.7.9.25.4.2", &[
        "cp.reduce.async.bulk{.relaxed}{.[cta cluster]}.shared::cluster.shared::cta.<mbar>.[and or xor].b32  [d], [a], size:u32, [mbar]  ; 8.0 sm_90",
        "cp.reduce.async.bulk{.relaxed}{.[cta cluster]}.shared::cluster.shared::cta.<mbar>.[add inc dec min max].u32  [d], [a], size:u32, [mbar]  ; 8.0 sm_90",
        "cp.reduce.async.bulk{.relaxed}{.[cta cluster]}.shared::cluster.shared::cta.<mbar>.[add min max].s32  [d], [a], size:u32, [mbar]  ; 8.0 sm_90",
        "cp.reduce.async.bulk{.relaxed}{.[cta cluster]}.shared::cluster.shared::cta.<mbar>.add.u64  [d], [a], size:u32, [mbar]  ; 8.0 sm_90",
        "cp.reduce.async.bulk{.relaxed}{.<scope>}.global.shared::cta.bulk_group{.<hint>}.[and or xor].[b32 b64]  [d], [a], size:u32{, cache:b64}  ; 8.0 sm_90",
        "cp.reduce.async.bulk{.relaxed}{.<scope>}.global.shared::cta.bulk_group{.<hint>}.[add inc dec min max].u32  [d], [a], size:u32{, cache:b64}  ; 8.0 sm_90",
        "cp.reduce.async.bulk{.relaxed}{.<scope>}.global.shared::cta.bulk_group{.<hint>}.[add min max].[s32 u64]  [d], [a], size:u32{, cache:b64}  ; 8.0 sm_90",
        "cp.reduce.async.bulk{.relaxed}{.<scope>}.global.shared::cta.bulk_group{.<hint>}.[min max].[s64 f16 bf16]  [d], [a], size:u32{, cache:b64}  ; 8.0 sm_90",
        "cp.reduce.async.bulk{.relaxed}{.<scope>}.global.shared::cta.bulk_group{.<hint>}.add.[f32 f64]  [d], [a], size:u32{, cache:b64}  ; 8.0 sm_90",
        "cp.reduce.async.bulk{.relaxed}{.<scope>}.global.shared::cta.bulk_group{.<hint>}.add.noftz.[f16 bf16]  [d], [a], size:u32{, cache:b64}  ; 8.0 sm_90",
        "cp.reduce.async.bulk{.relaxed}{.<scope>}.global.shared::cta.bulk_group{.<hint>}.add.noftz.f32  [d], [a], size:u32{, cache:b64}  ; 9.4 sm_90",
    ]),
    // Not in the manual of ISA 9.0: read off the forms that ptxas of CUDA 13.5 accepts.
    group(LoadStore, "9.7.9.25", &[
        "multimem.cp.async.bulk{.weak}.global.shared::cta.bulk_group     [d], [a], size:u32                         ; 9.1 sm_90",
        "multimem.cp.async.bulk{.weak}.global.shared::cta.bulk_group.cp_mask  [d], [a], size:u32, bytes:u16         ; 9.1 sm_100",
        "multimem.cp.reduce.async.bulk{.relaxed}{.<scope>}.global.shared::cta.bulk_group.[and or xor].[b32 b64]  [d], [a], size:u32  ; 9.1 sm_90",
        "multimem.cp.reduce.async.bulk{.relaxed}{.<scope>}.global.shared::cta.bulk_group.add.[u32 s32 u64 f32 f64]  [d], [a], size:u32  ; 9.1 sm_90",
        "multimem.cp.reduce.async.bulk{.relaxed}{.<scope>}.global.shared::cta.bulk_group.[inc dec].u32  [d], [a], size:u32       ; 9.1 sm_90",
        "multimem.cp.reduce.async.bulk{.relaxed}{.<scope>}.global.shared::cta.bulk_group.[min max].[f16 bf16 u32 s32 u64 s64]  [d], [a], size:u32  ; 9.1 sm_90",
        "multimem.cp.reduce.async.bulk{.relaxed}{.<scope>}.global.shared::cta.bulk_group.add.noftz.[f16 bf16]  [d], [a], size:u32  ; 9.1 sm_90",
        "multimem.cp.reduce.async.bulk{.relaxed}{.<scope>}.global.shared::cta.bulk_group.add.noftz.f32  [d], [a], size:u32  ; 9.4 sm_90",
        "multimem.cp.async.bulk.relaxed.<scope>.global.shared::cta.bulk_group.b128  [d], [a], size:u32      ; 9.3 sm_90",
        "multimem.cp.async.bulk.relaxed.<scope>.global.shared::cta.bulk_group.cp_mask.b128  [d], [a], size:u32, bytes:u16  ; 9.3 sm_100",
        "multimem.st.async.release.[gpu sys]{.global}.[b8 b16 b32 b64 u8 u16 u32 u64 s8 s16 s32 s64 f32 f64]  [a], b:t+  ; 9.3 sm_100",
        "multimem.red.async.release.[gpu sys]{.global}.add.[u32 s32 u64]  [a], b:t                           ; 9.3 sm_100",
    ]),
    group(LoadStore, "9.7.9.25.4.3", &[
        "cp.async.bulk.prefetch.L2.global{.<hint>}               [a], size:u32{, cache:b64}                  ; 8.0 sm_90",
        "cp.async.bulk.prefetch.L2.global.L2::evict_last         [a], size:u32                               ; 9.4 sm_107f",
    ]),
    group(LoadStore, "9.7.9.25.5.2", &[
        "cp.async.bulk.tensor.<dim>.[shared::cluster shared::cta].global{.<load_mode>}.<mbar>{.<report>}{.<multicast16>}{.<group>}{.<hint>}{.<override>}{.<attributes>}  [d], [map, coordinates], [mbar]{, offsets:u16*?}{, ctamask:u16}{, cache:b64}  ; 8.0 sm_90",
        "cp.async.bulk.tensor.<dim>.shared::cluster.global{.<load_mode>}.<mbar>{.<report>}.multicast::cluster::32b{.<group>}{.<hint>}{.<override>}{.<attributes>}  [d], [map, coordinates], [mbar]{, offsets:u16*?}, ctamask:u32{, cache:b64}  ; 9.4 sm_107f",
        "cp.async.bulk.tensor.<dim>.global.shared::cta{.[tile tile::scatter4 im2col_no_offs im2col_no_offs::w]}.bulk_group{.<hint>}{.<override>}{.<attributes>}  [map, coordinates], [a]{, cache:b64}  ; 8.0 sm_90",
    ]),
    group(LoadStore, "9.7.9.25.5.3", &[
        "cp.reduce.async.bulk.tensor.<dim>.global.shared::cta.[and or xor add inc dec min max]{.[tile im2col_no_offs im2col_no_offs::w]}.bulk_group{.<hint>}{.<override>}{.<attributes>}  [map, coordinates], [a]{, cache:b64}  ; 8.0 sm_90",
    ]),
    group(LoadStore, "9.7.9.25.5.4", &[
        "cp.async.bulk.prefetch.tensor.<dim>.L2.global{.<load_mode>}{.<hint>}{.<override>}{.<attributes>}  [map, coordinates]{, offsets:u16*?}{, cache:b64}  ; 8.0 sm_90",
        "cp.async.bulk.prefetch.tensor.<dim>.L2.global{.<load_mode>}.L2::evict_last{.<override>}{.<attributes>}  [map, coordinates]{, offsets:u16*?}  ; 9.4 sm_107f",
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
