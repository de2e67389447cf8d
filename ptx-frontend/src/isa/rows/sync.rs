//! Barriers, fences and mbarriers (manual, section 9.7.13).

use super::InstructionClass::{LoadStore, Misc};
use super::{Group, group};

#[rustfmt::skip]
pub(super) const GROUPS: &[Group] = &[
    group(Misc, "9.7.13.1", &[
        "bar{.cta}.sync                            a:u32{, b:u32}",
        "bar{.cta}.arrive                          a:u32, b:u32                    ; 2.0 sm_20",
        "bar{.cta}.red.popc.u32                    d:t, a:u32{, b:u32}, c:pred     ; 2.0 sm_20",
        "bar{.cta}.red.[and or].pred               p:t, a:u32{, b:u32}, c:pred     ; 2.0 sm_20",
        "barrier{.cta}.sync{.aligned}              a:u32{, b:u32}                  ; 6.0 sm_30",
        "barrier{.cta}.arrive{.aligned}            a:u32, b:u32                    ; 6.0 sm_30",
        "barrier{.cta}.red.popc{.aligned}.u32      d:t, a:u32{, b:u32}, c:pred     ; 6.0 sm_30",
        "barrier{.cta}.red.[and or]{.aligned}.pred  p:t, a:u32{, b:u32}, c:pred    ; 6.0 sm_30",
    ]),
    group(Misc, "9.7.13.2", &[
        "bar.warp.sync                             mask:u32                        ; 6.0 sm_30",
    ]),
    group(Misc, "9.7.13.3", &[
        "barrier.cluster.arrive{.[release relaxed]}{.aligned}                      ; 7.8 sm_90",
        "barrier.cluster.wait{.acquire}{.aligned}                                  ; 7.8 sm_90",
    ]),
    group(Misc, "9.7.13.4", &[
        "membar.[cta gl]                                                           ; 1.4 sm_10",
        "membar.sys                                                                ; 2.0 sm_20",
        "membar.proxy.alias                                                        ; 7.5 sm_60",
        "membar.proxy.async                                                        ; 8.0 sm_90",
        "fence{.[sc acq_rel]}.<scope>                                              ; 6.0 sm_70",
        "fence.[acquire release].<scope>                                           ; 6.0 sm_70",
        "fence.acquire.sync_restrict::shared::cluster.cluster                      ; 8.6 sm_90",
        "fence.release.sync_restrict::shared::cta.cluster                          ; 8.6 sm_90",
        "fence.mbarrier_init.release.cluster                                       ; 8.0 sm_90",
        "fence.proxy.alias                                                         ; 7.5 sm_70",
        "fence.proxy.async{.[global shared::cta shared::cluster]}                  ; 8.0 sm_90",
        "fence.proxy.tensormap::generic.release.<scope>                            ; 8.3 sm_90",
        "fence.proxy.tensormap::generic.acquire.<scope>  [a], #size:u32            ; 8.3 sm_90",
        "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster  ; 8.6 sm_90",
        "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster     ; 8.6 sm_90",
    ]),
    group(Misc, "9.7.13.13", &[
        "griddepcontrol.[launch_dependents wait]                                   ; 7.8 sm_90",
    ]),
    group(LoadStore, "9.7.13.15", &[
        "mbarrier.init{.<shared>}.b64                             [a], count:u32                 ; 7.0 sm_80",
        "mbarrier.inval{.<shared>}.b64                            [a]                            ; 7.0 sm_80",
        "mbarrier.expect_tx{.relaxed}{.[cta cluster]}{.[shared shared::cta shared::cluster]}.b64    [a], count:u32  ; 8.0 sm_90",
        "mbarrier.complete_tx{.relaxed}{.[cta cluster]}{.[shared shared::cta shared::cluster]}.b64  [a], count:u32  ; 8.0 sm_90",
        "mbarrier.arrive{.[release relaxed]}{.[cta cluster]}{.[shared shared::cta shared::cluster]}.b64       d:b64, [a]{, count:u32}   ; 7.0 sm_80",
        "mbarrier.arrive.expect_tx{.[release relaxed]}{.[cta cluster]}{.[shared shared::cta shared::cluster]}.b64  d:b64, [a], count:u32  ; 8.0 sm_90",
        "mbarrier.arrive.noComplete{.release}{.cta}{.<shared>}.b64  d:b64, [a], count:u32        ; 7.0 sm_80",
        "mbarrier.arrive_drop{.[release relaxed]}{.[cta cluster]}{.[shared shared::cta shared::cluster]}.b64  d:b64, [a]{, count:u32}   ; 7.0 sm_80",
        "mbarrier.arrive_drop.expect_tx{.[release relaxed]}{.[cta cluster]}{.[shared shared::cta shared::cluster]}.b64  d:b64, [a], count:u32  ; 8.0 sm_90",
        "mbarrier.arrive_drop.noComplete{.release}{.cta}{.<shared>}.b64  d:b64, [a], count:u32   ; 7.0 sm_80",
        "mbarrier.test_wait{.[acquire relaxed]}{.[cta cluster]}{.<shared>}.b64          p:pred, [a], state:b64   ; 7.0 sm_80",
        "mbarrier.test_wait.parity{.[acquire relaxed]}{.[cta cluster]}{.<shared>}.b64   p:pred, [a], phase:u32   ; 7.1 sm_80",
        "mbarrier.try_wait{.[acquire relaxed]}{.[cta cluster]}{.<shared>}.b64           p:pred, [a], state:b64{, hint:u32}  ; 7.8 sm_90",
        "mbarrier.try_wait.parity{.[acquire relaxed]}{.[cta cluster]}{.<shared>}.b64    p:pred, [a], phase:u32{, hint:u32}  ; 7.8 sm_90",
    ]),
    group(Misc, "9.7.13.15", &[
        "mbarrier.pending_count.b64                               d:b32, state:b64               ; 7.0 sm_80",
    ]),
    group(LoadStore, "9.7.13.17", &[
        "clusterlaunchcontrol.try_cancel.async{.shared::cta}.<mbar>.b128  [a], [mbar]  ; 8.6 sm_100",
        "clusterlaunchcontrol.try_cancel.async{.shared::cta}.<mbar>.multicast::cluster::all.b128  [a], [mbar]  ; 8.6 sm_100a",
    ]),
    group(Misc, "9.7.13.18", &[
        "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128  p:pred, a:b128                 ; 8.6 sm_100",
        "clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128  d:b32*vec, a:b128        ; 8.6 sm_100",
        "clusterlaunchcontrol.query_cancel.[get_first_ctaid::x get_first_ctaid::y get_first_ctaid::z].b32.b128  d:b32, a:b128  ; 8.6 sm_100",
    ]),
];
