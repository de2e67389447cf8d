//! Textures and surfaces (manual, sections 9.7.10 and 9.7.11).

use super::InstructionClass::{Misc, Texture};
use super::{Group, group};

#[rustfmt::skip]
pub(super) const GROUPS: &[Group] = &[
    group(Texture, "9.7.10.3", &[
        "tex.<texgeom>.v4.[u32 s32 f32].[s32 f32]            d:t*vec{|p}, [a, c]{, e:s32*?}{, f:f32}",
        "tex.<texgeom>.v4.f16.[s32 f32]                      d:t*vec{|p}, [a, c]{, e:s32*?}{, f:f32}                ; 4.2 sm_53",
        "tex.<texgeom>.v2.f16x2.[s32 f32]                    d:t*vec{|p}, [a, c]{, e:s32*?}{, f:f32}                ; 4.2 sm_53",
        "tex.base.<texgeom>.v4.[u32 s32 f16 f32].[s32 f32]   d:t*vec{|p}, [a, c]{, e:s32*?}{, f:f32}                ; 3.1 sm_20",
        "tex.base.<texgeom>.v2.f16x2.[s32 f32]               d:t*vec{|p}, [a, c]{, e:s32*?}{, f:f32}                ; 4.2 sm_53",
        "tex.level.<texgeom>.v4.[u32 s32 f16 f32].[s32 f32]  d:t*vec{|p}, [a, c], lod:u{, e:s32*?}{, f:f32}         ; 3.1 sm_20",
        "tex.level.<texgeom>.v2.f16x2.[s32 f32]              d:t*vec{|p}, [a, c], lod:u{, e:s32*?}{, f:f32}         ; 4.2 sm_53",
        "tex.grad.<texgeom>.v4.[u32 s32 f16 f32].[s32 f32]   d:t*vec{|p}, [a, c], dx:f32*?, dy:f32*?{, e:s32*?}{, f:f32}  ; 3.1 sm_20",
        "tex.grad.<texgeom>.v2.f16x2.[s32 f32]               d:t*vec{|p}, [a, c], dx:f32*?, dy:f32*?{, e:s32*?}{, f:f32}  ; 4.2 sm_53",
    ]),
    group(Texture, "9.7.10.4", &[
        "tld4.[r g b a].[2d a2d cube acube].v4.[u32 s32 f32].f32  d:t*vec{|p}, [a, c]{, e:s32*?}{, f:f32}         ; 2.2 sm_20",
    ]),
    group(Misc, "9.7.10.5", &[
        "txq.[width height depth channel_data_type channel_order normalized_coords array_size num_mipmap_levels num_samples].b32  d:b32, [a]  ; 1.5 sm_10",
        "txq.level.[width height depth].b32                  d:b32, [a], lod:b32                                    ; 4.1 sm_30",
        "txq.[force_unnormalized_coords filter_mode addr_mode_0 addr_mode_1 addr_mode_2].b32  d:b32, [a]            ; 1.5 sm_10",
    ]),
    group(Misc, "9.7.10.6", &[
        "istypep.[texref samplerref surfref]                 p:pred, a:ptr                                          ; 4.0 sm_30",
    ]),
    group(Texture, "9.7.11.1", &[
        "suld.b.<geom>{.[ca cg cs cv]}{.[v2 v4]}.[b8 b16 b32 b64].<clamp>  d:t+*vec, [a, b]                       ; 1.5 sm_20",
    ]),
    group(Texture, "9.7.11.2", &[
        "sust.b.<geom>{.[wb cg cs wt]}{.[v2 v4]}.[b8 b16 b32 b64].<clamp>  [a, b], c:t+*vec                       ; 1.5 sm_11",
        "sust.p.[1d 2d 3d]{.[v2 v4]}.b32.<clamp>           [a, b], c:t*vec                                        ; 2.0 sm_20",
    ]),
    group(Texture, "9.7.11.3", &[
        "sured.b.add.[1d 2d 3d].[u32 u64 s32].<clamp>         [a, b], c:t                                          ; 2.0 sm_20",
        "sured.b.[min max].[1d 2d 3d].[u32 u64 s32 s64].<clamp>  [a, b], c:t                                       ; 2.0 sm_20",
        "sured.b.[and or].[1d 2d 3d].b32.<clamp>             [a, b], c:t                                           ; 2.0 sm_20",
        "sured.p.[add min max and or].[1d 2d 3d].b32.<clamp>  [a, b], c:t                                          ; 2.0 sm_20",
        "sured.p.[min max].[1d 2d 3d].b64.<clamp>            [a, b], c:t                                           ; 2.0 sm_20",
    ]),
    group(Misc, "9.7.11.4", &[
        "suq.[width height depth channel_data_type channel_order array_size memory_layout].b32  d:b32, [a]          ; 1.5 sm_11",
    ]),
];
