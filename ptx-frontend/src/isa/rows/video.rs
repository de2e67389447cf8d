//! Video instructions (manual, section 9.7.18).
//!
//! Sources select a byte or half (`.b0`, `.h1`), of one register in the scalar instructions, of
//! both in the SIMD ones; the destination selects where to merge.

use super::InstructionClass::Integer;
use super::{Group, group};

#[rustfmt::skip]
pub(super) const GROUPS: &[Group] = &[
    group(Integer, "9.7.18.1.1", &[
        "vadd.[u32 s32].[u32 s32].[u32 s32]{.sat}                d:u32.sel, a:u32.sel, b:u32.sel{, c:u32}      ; 2.0 sm_20",
        "vadd.[u32 s32].[u32 s32].[u32 s32]{.sat}.[add min max]  d:u32, a:u32.sel, b:u32.sel, c:u32            ; 2.0 sm_20",
        "vsub.[u32 s32].[u32 s32].[u32 s32]{.sat}                d:u32.sel, a:u32.sel, b:u32.sel{, c:u32}      ; 2.0 sm_20",
        "vsub.[u32 s32].[u32 s32].[u32 s32]{.sat}.[add min max]  d:u32, a:u32.sel, b:u32.sel, c:u32            ; 2.0 sm_20",
        "vabsdiff.[u32 s32].[u32 s32].[u32 s32]{.sat}                d:u32.sel, a:u32.sel, b:u32.sel{, c:u32}      ; 2.0 sm_20",
        "vabsdiff.[u32 s32].[u32 s32].[u32 s32]{.sat}.[add min max]  d:u32, a:u32.sel, b:u32.sel, c:u32            ; 2.0 sm_20",
        "vmin.[u32 s32].[u32 s32].[u32 s32]{.sat}                d:u32.sel, a:u32.sel, b:u32.sel{, c:u32}      ; 2.0 sm_20",
        "vmin.[u32 s32].[u32 s32].[u32 s32]{.sat}.[add min max]  d:u32, a:u32.sel, b:u32.sel, c:u32            ; 2.0 sm_20",
        "vmax.[u32 s32].[u32 s32].[u32 s32]{.sat}                d:u32.sel, a:u32.sel, b:u32.sel{, c:u32}      ; 2.0 sm_20",
        "vmax.[u32 s32].[u32 s32].[u32 s32]{.sat}.[add min max]  d:u32, a:u32.sel, b:u32.sel, c:u32            ; 2.0 sm_20",
    ]),
    group(Integer, "9.7.18.1.2", &[
        "vshl.[u32 s32].[u32 s32].u32{.sat}.[clamp wrap]                d:u32.sel, a:u32.sel, b:u32.sel{, c:u32}  ; 2.0 sm_20",
        "vshl.[u32 s32].[u32 s32].u32{.sat}.[clamp wrap].[add min max]  d:u32, a:u32.sel, b:u32.sel, c:u32        ; 2.0 sm_20",
        "vshr.[u32 s32].[u32 s32].u32{.sat}.[clamp wrap]                d:u32.sel, a:u32.sel, b:u32.sel{, c:u32}  ; 2.0 sm_20",
        "vshr.[u32 s32].[u32 s32].u32{.sat}.[clamp wrap].[add min max]  d:u32, a:u32.sel, b:u32.sel, c:u32        ; 2.0 sm_20",
    ]),
    group(Integer, "9.7.18.1.3", &[
        "vmad.[u32 s32].[u32 s32].[u32 s32]{.sat}{.[shr7 shr15]}     d:u32, a:u32.sel, b:u32.sel, c:u32.sel  ; 2.0 sm_20",
        "vmad.[u32 s32].[u32 s32].[u32 s32].po{.sat}{.[shr7 shr15]}  d:u32, a:u32.sel, b:u32.sel, c:u32      ; 2.0 sm_20",
    ]),
    group(Integer, "9.7.18.1.4", &[
        "vset.[u32 s32].[u32 s32].[eq ne lt le gt ge]                d:u32.sel, a:u32.sel, b:u32.sel{, c:u32}  ; 2.0 sm_20",
        "vset.[u32 s32].[u32 s32].[eq ne lt le gt ge].[add min max]  d:u32, a:u32.sel, b:u32.sel, c:u32        ; 2.0 sm_20",
    ]),
    group(Integer, "9.7.18.2.1", &[
        "vadd2.[u32 s32].[u32 s32].[u32 s32]{.sat}  d:u32.sel, a:u32.sel, b:u32.sel, c:u32  ; 3.0 sm_30",
        "vadd2.[u32 s32].[u32 s32].[u32 s32].add    d:u32.sel, a:u32.sel, b:u32.sel, c:u32  ; 3.0 sm_30",
        "vsub2.[u32 s32].[u32 s32].[u32 s32]{.sat}  d:u32.sel, a:u32.sel, b:u32.sel, c:u32  ; 3.0 sm_30",
        "vsub2.[u32 s32].[u32 s32].[u32 s32].add    d:u32.sel, a:u32.sel, b:u32.sel, c:u32  ; 3.0 sm_30",
        "vavrg2.[u32 s32].[u32 s32].[u32 s32]{.sat}  d:u32.sel, a:u32.sel, b:u32.sel, c:u32  ; 3.0 sm_30",
        "vavrg2.[u32 s32].[u32 s32].[u32 s32].add    d:u32.sel, a:u32.sel, b:u32.sel, c:u32  ; 3.0 sm_30",
        "vabsdiff2.[u32 s32].[u32 s32].[u32 s32]{.sat}  d:u32.sel, a:u32.sel, b:u32.sel, c:u32  ; 3.0 sm_30",
        "vabsdiff2.[u32 s32].[u32 s32].[u32 s32].add    d:u32.sel, a:u32.sel, b:u32.sel, c:u32  ; 3.0 sm_30",
        "vmin2.[u32 s32].[u32 s32].[u32 s32]{.sat}  d:u32.sel, a:u32.sel, b:u32.sel, c:u32  ; 3.0 sm_30",
        "vmin2.[u32 s32].[u32 s32].[u32 s32].add    d:u32.sel, a:u32.sel, b:u32.sel, c:u32  ; 3.0 sm_30",
        "vmax2.[u32 s32].[u32 s32].[u32 s32]{.sat}  d:u32.sel, a:u32.sel, b:u32.sel, c:u32  ; 3.0 sm_30",
        "vmax2.[u32 s32].[u32 s32].[u32 s32].add    d:u32.sel, a:u32.sel, b:u32.sel, c:u32  ; 3.0 sm_30",
    ]),
    group(Integer, "9.7.18.2.2", &[
        "vset2.[u32 s32].[u32 s32].[eq ne lt le gt ge]       d:u32.sel, a:u32.sel, b:u32.sel, c:u32  ; 3.0 sm_30",
        "vset2.[u32 s32].[u32 s32].[eq ne lt le gt ge].add   d:u32.sel, a:u32.sel, b:u32.sel, c:u32  ; 3.0 sm_30",
    ]),
    group(Integer, "9.7.18.3.1", &[
        "vadd4.[u32 s32].[u32 s32].[u32 s32]{.sat}  d:u32.sel, a:u32.sel, b:u32.sel, c:u32  ; 3.0 sm_30",
        "vadd4.[u32 s32].[u32 s32].[u32 s32].add    d:u32.sel, a:u32.sel, b:u32.sel, c:u32  ; 3.0 sm_30",
        "vsub4.[u32 s32].[u32 s32].[u32 s32]{.sat}  d:u32.sel, a:u32.sel, b:u32.sel, c:u32  ; 3.0 sm_30",
        "vsub4.[u32 s32].[u32 s32].[u32 s32].add    d:u32.sel, a:u32.sel, b:u32.sel, c:u32  ; 3.0 sm_30",
        "vavrg4.[u32 s32].[u32 s32].[u32 s32]{.sat}  d:u32.sel, a:u32.sel, b:u32.sel, c:u32  ; 3.0 sm_30",
        "vavrg4.[u32 s32].[u32 s32].[u32 s32].add    d:u32.sel, a:u32.sel, b:u32.sel, c:u32  ; 3.0 sm_30",
        "vabsdiff4.[u32 s32].[u32 s32].[u32 s32]{.sat}  d:u32.sel, a:u32.sel, b:u32.sel, c:u32  ; 3.0 sm_30",
        "vabsdiff4.[u32 s32].[u32 s32].[u32 s32].add    d:u32.sel, a:u32.sel, b:u32.sel, c:u32  ; 3.0 sm_30",
        "vmin4.[u32 s32].[u32 s32].[u32 s32]{.sat}  d:u32.sel, a:u32.sel, b:u32.sel, c:u32  ; 3.0 sm_30",
        "vmin4.[u32 s32].[u32 s32].[u32 s32].add    d:u32.sel, a:u32.sel, b:u32.sel, c:u32  ; 3.0 sm_30",
        "vmax4.[u32 s32].[u32 s32].[u32 s32]{.sat}  d:u32.sel, a:u32.sel, b:u32.sel, c:u32  ; 3.0 sm_30",
        "vmax4.[u32 s32].[u32 s32].[u32 s32].add    d:u32.sel, a:u32.sel, b:u32.sel, c:u32  ; 3.0 sm_30",
    ]),
    group(Integer, "9.7.18.3.2", &[
        "vset4.[u32 s32].[u32 s32].[eq ne lt le gt ge]       d:u32.sel, a:u32.sel, b:u32.sel, c:u32  ; 3.0 sm_30",
        "vset4.[u32 s32].[u32 s32].[eq ne lt le gt ge].add   d:u32.sel, a:u32.sel, b:u32.sel, c:u32  ; 3.0 sm_30",
    ]),
];
