//! Warpgroup-level matrix instructions (manual, section 9.7.15).
//!
//! `A` comes from shared memory through a descriptor, or from registers (four of 32 bits). The
//! accumulator's number of registers follows from the shape and is not checked.

use super::InstructionClass::{Misc, Tensor};
use super::{Group, group};

#[rustfmt::skip]
pub(super) const GROUPS: &[Group] = &[
    group(Tensor, "9.7.15.5.2", &[
        "wgmma.mma_async.sync.aligned.<wg16>.[f16 f32].f16.f16     acc:b32*?, a:b64, b:b64, scale:pred, #ia:s32, #ib:s32, #ta:s32, #tb:s32     ; 8.0 sm_90a",
        "wgmma.mma_async.sync.aligned.<wg16>.[f16 f32].f16.f16     acc:b32*?, a:b32*4, b:b64, scale:pred, #ia:s32, #ib:s32, #tb:s32            ; 8.0 sm_90a",
        "wgmma.mma_async.sync.aligned.<wg16>.f32.bf16.bf16         acc:b32*?, a:b64, b:b64, scale:pred, #ia:s32, #ib:s32, #ta:s32, #tb:s32     ; 8.0 sm_90a",
        "wgmma.mma_async.sync.aligned.<wg16>.f32.bf16.bf16         acc:b32*?, a:b32*4, b:b64, scale:pred, #ia:s32, #ib:s32, #tb:s32            ; 8.0 sm_90a",
        "wgmma.mma_async.sync.aligned.<wg8>.f32.tf32.tf32          acc:b32*?, a:b64, b:b64, scale:pred, #ia:s32, #ib:s32                       ; 8.0 sm_90a",
        "wgmma.mma_async.sync.aligned.<wg8>.f32.tf32.tf32          acc:b32*?, a:b32*4, b:b64, scale:pred, #ia:s32, #ib:s32                     ; 8.0 sm_90a",
        "wgmma.mma_async.sync.aligned.<wg32>.[f16 f32].<f8>.<f8>   acc:b32*?, a:b64, b:b64, scale:pred, #ia:s32, #ib:s32                       ; 8.0 sm_90a",
        "wgmma.mma_async.sync.aligned.<wg32>.[f16 f32].<f8>.<f8>   acc:b32*?, a:b32*4, b:b64, scale:pred, #ia:s32, #ib:s32                     ; 8.0 sm_90a",
        "wgmma.mma_async.sync.aligned.<wg32i>{.satfinite}.s32.[s8 u8].[s8 u8]  acc:b32*?, a:b64, b:b64, scale:pred                              ; 8.0 sm_90a",
        "wgmma.mma_async.sync.aligned.<wg32i>{.satfinite}.s32.[s8 u8].[s8 u8]  acc:b32*?, a:b32*4, b:b64, scale:pred                            ; 8.0 sm_90a",
        "wgmma.mma_async.sync.aligned.<wg256>.s32.b1.b1.and.popc   acc:b32*?, a:b64, b:b64, scale:pred                                         ; 8.0 sm_90a",
        "wgmma.mma_async.sync.aligned.<wg256>.s32.b1.b1.and.popc   acc:b32*?, a:b32*4, b:b64, scale:pred                                       ; 8.0 sm_90a",
    ]),
    group(Tensor, "9.7.15.6.4", &[
        "wgmma.mma_async.sp.sync.aligned.<wg32>.[f16 f32].f16.f16  acc:b32*?, a:b64, b:b64, e:b32, #f:u32, scale:pred, #ia:s32, #ib:s32, #ta:s32, #tb:s32  ; 8.2 sm_90a",
        "wgmma.mma_async.sp.sync.aligned.<wg32>.[f16 f32].f16.f16  acc:b32*?, a:b32*4, b:b64, e:b32, #f:u32, scale:pred, #ia:s32, #ib:s32, #tb:s32         ; 8.2 sm_90a",
        "wgmma.mma_async.sp.sync.aligned.<wg32>.f32.bf16.bf16      acc:b32*?, a:b64, b:b64, e:b32, #f:u32, scale:pred, #ia:s32, #ib:s32, #ta:s32, #tb:s32  ; 8.2 sm_90a",
        "wgmma.mma_async.sp.sync.aligned.<wg32>.f32.bf16.bf16      acc:b32*?, a:b32*4, b:b64, e:b32, #f:u32, scale:pred, #ia:s32, #ib:s32, #tb:s32         ; 8.2 sm_90a",
        "wgmma.mma_async.sp.sync.aligned.<wg16>.f32.tf32.tf32      acc:b32*?, a:b64, b:b64, e:b32, #f:u32, scale:pred, #ia:s32, #ib:s32                    ; 8.2 sm_90a",
        "wgmma.mma_async.sp.sync.aligned.<wg16>.f32.tf32.tf32      acc:b32*?, a:b32*4, b:b64, e:b32, #f:u32, scale:pred, #ia:s32, #ib:s32                  ; 8.2 sm_90a",
        "wgmma.mma_async.sp.sync.aligned.<wg64>.[f16 f32].<f8>.<f8>  acc:b32*?, a:b64, b:b64, e:b32, #f:u32, scale:pred, #ia:s32, #ib:s32                  ; 8.2 sm_90a",
        "wgmma.mma_async.sp.sync.aligned.<wg64>.[f16 f32].<f8>.<f8>  acc:b32*?, a:b32*4, b:b64, e:b32, #f:u32, scale:pred, #ia:s32, #ib:s32                ; 8.2 sm_90a",
        "wgmma.mma_async.sp.sync.aligned.<wg64i>{.satfinite}.s32.[s8 u8].[s8 u8]  acc:b32*?, a:b64, b:b64, e:b32, #f:u32, scale:pred                        ; 8.2 sm_90a",
        "wgmma.mma_async.sp.sync.aligned.<wg64i>{.satfinite}.s32.[s8 u8].[s8 u8]  acc:b32*?, a:b32*4, b:b64, e:b32, #f:u32, scale:pred                      ; 8.2 sm_90a",
    ]),
    group(Misc, "9.7.15.7", &[
        "wgmma.fence.sync.aligned                                                                                                                          ; 8.0 sm_90a",
        "wgmma.commit_group.sync.aligned                                                                                                                   ; 8.0 sm_90a",
        "wgmma.wait_group.sync.aligned                             #n:u32                                                                                  ; 8.0 sm_90a",
    ]),
];
