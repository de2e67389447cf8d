//! Fifth-generation tensor cores (manual, section 9.7.16).

use super::InstructionClass::{LoadStore, Misc, Tensor};
use super::{Group, group};

#[rustfmt::skip]
pub(super) const GROUPS: &[Group] = &[
    group(Misc, "9.7.16.7.1", &[
        "tcgen05.alloc{.exclusive}.<group>.sync.aligned{.shared::cta}.b32      [d], columns:u32                                 ; 8.6 sm_100a",
        "tcgen05.dealloc{.exclusive}.<group>.sync.aligned.b32                  taddr:b32, columns:u32                           ; 8.6 sm_100a",
        "tcgen05.relinquish_alloc_permit.<group>.sync.aligned                                                       ; 8.6 sm_100a",
    ]),
    group(LoadStore, "9.7.16.8.1", &[
        "tcgen05.ld.sync.aligned.[16x64b 16x128b 16x256b 32x32b].<xnum>{.pack::16b}.b32    d:b32*?, [taddr]             ; 8.6 sm_100a",
        "tcgen05.ld.sync.aligned.16x32bx2.<xnum>{.pack::16b}.b32   d:b32*?, [taddr], #split:u32                         ; 8.6 sm_100a",
        "tcgen05.ld.red.sync.aligned.32x32b.[x2 x4 x8 x16 x32 x64 x128].[min max]{.abs}{.NaN}.[f32 u32 s32]     d:b32*?, q:b32, [taddr]      ; 8.8 sm_101a",
        "tcgen05.ld.red.sync.aligned.16x32bx2.[x2 x4 x8 x16 x32 x64 x128].[min max]{.abs}{.NaN}.[f32 u32 s32]   d:b32*?, q:b32, [taddr], #split:u32  ; 8.8 sm_101a",
    ]),
    group(LoadStore, "9.7.18.8.3 of 9.4", &[
        "tcgen05.ld.spcompress.sync.aligned.32x32b.[x4 x8 x16 x32 x64 x128].[min max].sp::2:4{.abs}.f32.b2            d:b32*?, q:b32*?, [taddr]         ; 9.4 sm_107a",
        "tcgen05.ld.red.spcompress.sync.aligned.32x32b.[x4 x8 x16 x32 x64 x128].[min max].sp::2:4{.abs}{.NaN}.f32.b2  d:b32*?, q:b32*?, p:b32, [taddr]  ; 9.4 sm_107a",
    ]),
    group(LoadStore, "9.7.16.8.2", &[
        "tcgen05.st.sync.aligned.[16x64b 16x128b 16x256b 32x32b].<xnum>{.unpack::16b}.b32  [taddr], b:b32*?             ; 8.6 sm_100a",
        "tcgen05.st.sync.aligned.16x32bx2.<xnum>{.unpack::16b}.b32  [taddr], #split:u32, b:b32*?                        ; 8.6 sm_100a",
    ]),
    group(Misc, "9.7.16.8.3", &[
        "tcgen05.wait::ld.sync.aligned                                                                              ; 8.6 sm_100a",
        "tcgen05.wait::st.sync.aligned                                                                              ; 8.6 sm_100a",
    ]),
    group(LoadStore, "9.7.16.9", &[
        "tcgen05.cp.<group>.[128x256b 4x256b 128x128b]            [taddr], b:b64                                        ; 8.6 sm_100a",
        "tcgen05.cp.<group>.[128x256b 4x256b 128x128b].b8x16.[b6x16_p32 b4x16_p64]  [taddr], b:b64                      ; 8.6 sm_100a",
        "tcgen05.cp.<group>.64x128b.[warpx2::02_13 warpx2::01_23]  [taddr], b:b64  ; 8.6 sm_100a",
        "tcgen05.cp.<group>.64x128b.[warpx2::02_13 warpx2::01_23].b8x16.[b6x16_p32 b4x16_p64]  [taddr], b:b64  ; 8.6 sm_100a",
        "tcgen05.cp.<group>.32x128b.warpx4  [taddr], b:b64  ; 8.6 sm_100a",
        "tcgen05.cp.<group>.32x128b.warpx4.b8x16.[b6x16_p32 b4x16_p64]  [taddr], b:b64  ; 8.6 sm_100a",
        "tcgen05.shift.<group>.down                                [taddr]                                              ; 8.6 sm_100a",
    ]),
    // Rows of A are shifted in tensor memory only. Only .kind::f16 and .kind::tf32 scale D.
    group(Tensor, "9.7.16.10.9.1", &[
        "tcgen05.mma.<group>.[kind::f16 kind::tf32]{.<collector_a>}{.<collector_one_b>}  [taddr], a:b64, b:b64, idesc:b32{, lanes:b32*?}, enable:pred{, #scale:u32}  ; 8.6 sm_100a",
        "tcgen05.mma.<group>.[kind::f8f6f4 kind::i8 kind::ti16]{.<collector_a>}{.<collector_one_b>}  [taddr], a:b64, b:b64, idesc:b32{, lanes:b32*?}, enable:pred  ; 8.6 sm_100a",
        "tcgen05.mma.<group>.[kind::f16 kind::tf32]{.ashift}{.<collector_a>}{.<collector_one_b>}  [taddr], [taddr], b:b64, idesc:b32{, lanes:b32*?}, enable:pred{, #scale:u32}  ; 8.6 sm_100a",
        "tcgen05.mma.<group>.[kind::f8f6f4 kind::i8 kind::ti16]{.ashift}{.<collector_a>}{.<collector_one_b>}  [taddr], [taddr], b:b64, idesc:b32{, lanes:b32*?}, enable:pred  ; 8.6 sm_100a",
        "tcgen05.mma.<group>.kind::mxf8f6f4.block_scale{.[scale_vec::1X block32]}{.<collector_a>}{.<collector_one_b>}  [taddr], a:b64, b:b64, idesc:b32, [taddr], [taddr], enable:pred     ; 8.6 sm_100a",
        "tcgen05.mma.<group>.kind::mxf4.block_scale{.[scale_vec::2X block32]}{.<collector_a>}{.<collector_one_b>}  [taddr], a:b64, b:b64, idesc:b32, [taddr], [taddr], enable:pred     ; 8.6 sm_100a",
        "tcgen05.mma.<group>.kind::mxf4nvf4.block_scale.[scale_vec::2X scale_vec::4X block16 block32]{.<collector_a>}{.<collector_one_b>}  [taddr], a:b64, b:b64, idesc:b32, [taddr], [taddr], enable:pred     ; 8.6 sm_100a",
        "tcgen05.mma.<group>.kind::mxf8f6f4.block_scale{.[scale_vec::1X block32]}{.<collector_a>}{.<collector_one_b>}  [taddr], [taddr], b:b64, idesc:b32, [taddr], [taddr], enable:pred       ; 8.6 sm_100a",
        "tcgen05.mma.<group>.kind::mxf4.block_scale{.[scale_vec::2X block32]}{.<collector_a>}{.<collector_one_b>}  [taddr], [taddr], b:b64, idesc:b32, [taddr], [taddr], enable:pred       ; 8.6 sm_100a",
        "tcgen05.mma.<group>.kind::mxf4nvf4.block_scale.[scale_vec::2X scale_vec::4X block16 block32]{.<collector_a>}{.<collector_one_b>}  [taddr], [taddr], b:b64, idesc:b32, [taddr], [taddr], enable:pred       ; 8.6 sm_100a",
    ]),
    // B comes as indices into tables.
    group(Tensor, "9.7.18.10.10.1 of 9.4", &[
        "tcgen05.mma.<group>.kind::f8f6f4.decompress::lut::b{.<collector_a>}{.<collector_one_b>}  [taddr], a:b64, b:b64, [taddr], idesc:b32{, lanes:b32*?}, enable:pred  ; 9.4 sm_107f",
        "tcgen05.mma.<group>.kind::f8f6f4.decompress::lut::b{.<collector_a>}{.<collector_one_b>}  [taddr], [taddr], b:b64, [taddr], idesc:b32{, lanes:b32*?}, enable:pred  ; 9.4 sm_107f",
        "tcgen05.mma.<group>.kind::mxf8f6f4.block_scale.decompress::lut::b{.[scale_vec::1X block32]}{.<collector_a>}{.<collector_one_b>}  [taddr], a:b64, b:b64, [taddr], idesc:b32, [taddr], [taddr], enable:pred  ; 9.4 sm_107f",
        "tcgen05.mma.<group>.kind::mxf8f6f4.block_scale.decompress::lut::b{.[scale_vec::1X block32]}{.<collector_a>}{.<collector_one_b>}  [taddr], [taddr], b:b64, [taddr], idesc:b32, [taddr], [taddr], enable:pred  ; 9.4 sm_107f",
    ]),
    group(Tensor, "9.7.16.10.9.2", &[
        "tcgen05.mma.sp.<group>.[kind::f16 kind::tf32]{.<collector_a>}{.<collector_one_b>}  [taddr], a:b64, b:b64, [taddr], idesc:b32{, lanes:b32*?}, enable:pred{, #scale:u32}  ; 8.6 sm_100a",
        "tcgen05.mma.sp.<group>.[kind::f8f6f4 kind::i8 kind::ti16]{.<collector_a>}{.<collector_one_b>}  [taddr], a:b64, b:b64, [taddr], idesc:b32{, lanes:b32*?}, enable:pred  ; 8.6 sm_100a",
        "tcgen05.mma.sp.<group>.[kind::f16 kind::tf32]{.ashift}{.<collector_a>}{.<collector_one_b>}  [taddr], [taddr], b:b64, [taddr], idesc:b32{, lanes:b32*?}, enable:pred{, #scale:u32}  ; 8.6 sm_100a",
        "tcgen05.mma.sp.<group>.[kind::f8f6f4 kind::i8 kind::ti16]{.ashift}{.<collector_a>}{.<collector_one_b>}  [taddr], [taddr], b:b64, [taddr], idesc:b32{, lanes:b32*?}, enable:pred  ; 8.6 sm_100a",
        "tcgen05.mma.sp.<group>.kind::mxf8f6f4.block_scale{.[scale_vec::1X block32]}{.<collector_a>}{.<collector_one_b>}  [taddr], a:b64, b:b64, [taddr], idesc:b32, [taddr], [taddr], enable:pred     ; 8.6 sm_100a",
        "tcgen05.mma.sp.<group>.kind::mxf4.block_scale{.[scale_vec::2X block32]}{.<collector_a>}{.<collector_one_b>}  [taddr], a:b64, b:b64, [taddr], idesc:b32, [taddr], [taddr], enable:pred     ; 8.6 sm_100a",
        "tcgen05.mma.sp.<group>.kind::mxf4nvf4.block_scale.[scale_vec::2X scale_vec::4X block16 block32]{.<collector_a>}{.<collector_one_b>}  [taddr], a:b64, b:b64, [taddr], idesc:b32, [taddr], [taddr], enable:pred     ; 8.6 sm_100a",
        "tcgen05.mma.sp.<group>.kind::mxf8f6f4.block_scale{.[scale_vec::1X block32]}{.<collector_a>}{.<collector_one_b>}  [taddr], [taddr], b:b64, [taddr], idesc:b32, [taddr], [taddr], enable:pred       ; 8.6 sm_100a",
        "tcgen05.mma.sp.<group>.kind::mxf4.block_scale{.[scale_vec::2X block32]}{.<collector_a>}{.<collector_one_b>}  [taddr], [taddr], b:b64, [taddr], idesc:b32, [taddr], [taddr], enable:pred       ; 8.6 sm_100a",
        "tcgen05.mma.sp.<group>.kind::mxf4nvf4.block_scale.[scale_vec::2X scale_vec::4X block16 block32]{.<collector_a>}{.<collector_one_b>}  [taddr], [taddr], b:b64, [taddr], idesc:b32, [taddr], [taddr], enable:pred       ; 8.6 sm_100a",
    ]),
    group(Tensor, "9.7.16.10.9.3", &[
        "tcgen05.mma.ws.cta_group::1.[kind::f16 kind::tf32 kind::f8f6f4 kind::i8 kind::ti16]{.<collector_b>}  [taddr], a:b64, b:b64, idesc:b32, enable:pred{, zeros:b64}  ; 8.6 sm_100a",
        "tcgen05.mma.ws.cta_group::1.[kind::f16 kind::tf32 kind::f8f6f4 kind::i8 kind::ti16]{.<collector_b>}  [taddr], [taddr], b:b64, idesc:b32, enable:pred{, zeros:b64}    ; 8.6 sm_100a",
        "tcgen05.mma.ws.sp.cta_group::1.[kind::f16 kind::tf32 kind::f8f6f4 kind::i8 kind::ti16]{.<collector_b>}  [taddr], a:b64, b:b64, [taddr], idesc:b32, enable:pred{, zeros:b64}  ; 8.6 sm_100a",
        "tcgen05.mma.ws.sp.cta_group::1.[kind::f16 kind::tf32 kind::f8f6f4 kind::i8 kind::ti16]{.<collector_b>}  [taddr], [taddr], b:b64, [taddr], idesc:b32, enable:pred{, zeros:b64}    ; 8.6 sm_100a",
    ]),
    group(Misc, "9.7.16.11", &[
        "tcgen05.fence::before_thread_sync                                                                          ; 8.6 sm_100a",
        "tcgen05.fence::after_thread_sync                                                                           ; 8.6 sm_100a",
    ]),
    group(Misc, "9.7.16.12", &[
        "tcgen05.commit.<group>.mbarrier::arrive::one{.sync_restrict::shared::read::mma::a}{.shared::cluster}{.<multicast16>}.b64  [a]{, ctamask:u16}  ; 8.6 sm_100a",
        "tcgen05.commit.<group>.mbarrier::arrive::one{.sync_restrict::shared::read::mma::a}{.shared::cluster}.multicast::cluster::32b.b64  [a], ctamask:u32  ; 9.4 sm_107f",
    ]),
];
