//! Copies, reductions and atomics over the fabric between GPUs (manual of ISA 9.4, section 9.7.11).
//!
//! Memory of another GPU is named by a logical endpoint and an offset into it. Copies can count
//! the bytes that arrived in a counter beside the data, at an offset of its own.

use super::InstructionClass::{LoadStore, Misc};
use super::{Group, group};

#[rustfmt::skip]
pub(super) const GROUPS: &[Group] = &[
    group(LoadStore, "9.7.11.5.1 of 9.4", &[
        "fabric.try_get.async.shared::cta.<mbar>.mbarrier::report::fabric{.<hint>}.relaxed.sys.b128  [d], [le, offset], size:u32, [mbar]{, cache:b64}  ; 9.3 sm_100",
    ]),
    group(LoadStore, "9.7.11.5.2 of 9.4", &[
        "fabric.try_put.async{.multimem}.shared::cta.mbarrier::complete_tx::16B.mbarrier::report::fabric{.<hint>}.relaxed.sys.b128  [le, offset], [a], size:u32, [mbar]{, cache:b64}  ; 9.3 sm_100",
        "fabric.try_put.async{.multimem}.shared::cta.mbarrier::complete_tx::16B.mbarrier::report::fabric{.<hint>}.relaxed.sys.cp_mask.b128  [le, offset], [a], size:u32, [mbar], bytes:u16{, cache:b64}  ; 9.3 sm_100",
        "fabric.try_put.async{.multimem}.shared::cta.mbarrier::complete_tx::16B.mbarrier::report::fabric.counted::bytes{.<hint>}.relaxed.sys.b128  [le, offset, counter], [a], size:u32, [mbar]{, cache:b64}  ; 9.3 sm_100",
    ]),
    group(LoadStore, "9.7.11.5.3 of 9.4", &[
        "fabric.try_red.async{.multimem}.shared::cta.mbarrier::complete_tx::16B.mbarrier::report::fabric{.<hint>}.relaxed.sys.[and or xor].[b32 b64]  [le, offset], [a], size:u32, [mbar]{, cache:b64}  ; 9.3 sm_100",
        "fabric.try_red.async{.multimem}.shared::cta.mbarrier::complete_tx::16B.mbarrier::report::fabric{.<hint>}.relaxed.sys.[min max].[u32 s32 u64 s64 f16 bf16]  [le, offset], [a], size:u32, [mbar]{, cache:b64}  ; 9.3 sm_100",
        "fabric.try_red.async{.multimem}.shared::cta.mbarrier::complete_tx::16B.mbarrier::report::fabric{.<hint>}.relaxed.sys.add.[u32 u64 f16 bf16 f32 f64]  [le, offset], [a], size:u32, [mbar]{, cache:b64}  ; 9.3 sm_100",
        "fabric.try_red.async{.multimem}.shared::cta.mbarrier::complete_tx::16B.mbarrier::report::fabric.counted::bytes{.<hint>}.relaxed.sys.[and or xor].[b32 b64]  [le, offset, counter], [a], size:u32, [mbar]{, cache:b64}  ; 9.3 sm_100",
        "fabric.try_red.async{.multimem}.shared::cta.mbarrier::complete_tx::16B.mbarrier::report::fabric.counted::bytes{.<hint>}.relaxed.sys.[min max].[u32 s32 u64 s64 f16 bf16]  [le, offset, counter], [a], size:u32, [mbar]{, cache:b64}  ; 9.3 sm_100",
        "fabric.try_red.async{.multimem}.shared::cta.mbarrier::complete_tx::16B.mbarrier::report::fabric.counted::bytes{.<hint>}.relaxed.sys.add.[u32 u64 f16 bf16 f32 f64]  [le, offset, counter], [a], size:u32, [mbar]{, cache:b64}  ; 9.3 sm_100",
    ]),
    group(LoadStore, "9.7.11.5.4 of 9.4", &[
        "fabric.try_pullred.async.multimem.shared::cta.<mbar>.mbarrier::report::fabric.relaxed.sys.[and or xor].[b32 b64].sync  [d], [le, offset], size:u32, [mbar], #membermask:u32  ; 9.3 sm_100",
        "fabric.try_pullred.async.multimem.shared::cta.<mbar>.mbarrier::report::fabric.relaxed.sys.[min max].[u32 s32 u64 s64 f16 bf16].sync  [d], [le, offset], size:u32, [mbar], #membermask:u32  ; 9.3 sm_100",
        "fabric.try_pullred.async.multimem.shared::cta.<mbar>.mbarrier::report::fabric.relaxed.sys.[min max].[e4m3 e5m2].sync  [d], [le, offset], size:u32, [mbar], #membermask:u32  ; 9.3 sm_100f",
        "fabric.try_pullred.async.multimem.shared::cta.<mbar>.mbarrier::report::fabric.relaxed.sys.add.[u32 u64 f16 bf16 f32].sync  [d], [le, offset], size:u32, [mbar], #membermask:u32  ; 9.3 sm_100",
        "fabric.try_pullred.async.multimem.shared::cta.<mbar>.mbarrier::report::fabric.relaxed.sys.add.acc::f16.[e4m3 e5m2].sync  [d], [le, offset], size:u32, [mbar], #membermask:u32  ; 9.3 sm_100f",
        "fabric.try_pullred.async.multimem.shared::cta.<mbar>.mbarrier::report::fabric.relaxed.sys.add.acc::f32.[f16 bf16].sync  [d], [le, offset], size:u32, [mbar], #membermask:u32  ; 9.3 sm_100f",
    ]),
    group(Misc, "9.7.11.5.5 of 9.4", &[
        "fabric.submit{.op_restrict::fetching}           ; 9.3 sm_100",
        // Not in the manual of ISA 9.4: read off the forms that ptxas of CUDA 13.5 accepts.
        "fabric.submit.commit_group                      ; 9.5 sm_100",
    ]),
    group(Misc, "9.7.11.5.6 of 9.4", &[
        "fabric.wait.sync_restrict::reads  {#n:u32}      ; 9.3 sm_100",
        "fabric.wait.sync_restrict::read   #n:u32        ; 9.5 sm_100",
    ]),
    group(LoadStore, "9.7.11.5.7 of 9.4", &[
        "fabric.try_get.async.tensor.<dim>.shared::cta{.tile}.<mbar>.mbarrier::report::fabric{.<hint>}.override::global_address{.<attributes>}.relaxed.sys.b128  [d], [map, coordinates], [mbar]{, cache:b64}  ; 9.4 sm_107f",
        "fabric.try_put.async.tensor{.multimem}.<dim>.shared::cta{.tile}.mbarrier::complete_tx::16B.mbarrier::report::fabric{.counted::bytes}{.<hint>}.override::global_address{.<attributes>}.relaxed.sys.b128  [map, coordinates], [a], size:u32, [mbar]{, cache:b64}  ; 9.4 sm_107f",
        "fabric.try_red.async.tensor{.multimem}.<dim>.shared::cta{.tile}.mbarrier::complete_tx::16B.mbarrier::report::fabric{.counted::bytes}{.<hint>}.override::global_address{.<attributes>}.relaxed.sys.[and or xor add min max]  [map, coordinates], [a], size:u32, [mbar]{, cache:b64}  ; 9.4 sm_107f",
    ]),
    group(LoadStore, "9.7.11.5.10 of 9.4", &[
        "fabric.try_atom.async.shared::cta.mbarrier::complete_tx::16B.mbarrier::report::fabric{.<hint>}.relaxed.sys.[and or xor].[b32 b64]  [le, offset], [d], [a], [mbar]{, cache:b64}  ; 9.4 sm_100",
        "fabric.try_atom.async.shared::cta.mbarrier::complete_tx::16B.mbarrier::report::fabric{.<hint>}.relaxed.sys.[exch cas].[b32 b64 b128]  [le, offset], [d], [a], [mbar]{, cache:b64}  ; 9.4 sm_100",
        "fabric.try_atom.async.shared::cta.mbarrier::complete_tx::16B.mbarrier::report::fabric{.<hint>}.relaxed.sys.[min max].[u32 s32 u64 s64 f16x2 bf16x2]  [le, offset], [d], [a], [mbar]{, cache:b64}  ; 9.4 sm_100",
        "fabric.try_atom.async.shared::cta.mbarrier::complete_tx::16B.mbarrier::report::fabric{.<hint>}.relaxed.sys.add.[u32 u64 f16x2 bf16x2 f32 f64]  [le, offset], [d], [a], [mbar]{, cache:b64}  ; 9.4 sm_100",
    ]),
];
