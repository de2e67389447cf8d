//! Stack and miscellaneous instructions (manual, sections 9.7.17 and 9.7.19).

use super::InstructionClass::{Control, Misc};
use super::{Group, group};

#[rustfmt::skip]
pub(super) const GROUPS: &[Group] = &[
    group(Misc, "9.7.17.1", &["stacksave.[u32 u64]     d:t                      ; 7.3 sm_52"]),
    group(Misc, "9.7.17.2", &["stackrestore.[u32 u64]  a:t                      ; 7.3 sm_52"]),
    group(Misc, "9.7.17.3", &["alloca.[u32 u64]        d:t, a:t{, #align:u32}   ; 7.3 sm_52"]),
    group(Misc, "9.7.19.1", &["brkpt                                            ; 1.0 sm_11"]),
    group(Misc, "9.7.19.2", &["nanosleep.u32           a:t                      ; 6.3 sm_70"]),
    group(Misc, "9.7.19.3", &["pmevent                 #a:u32                   ; 1.4 sm_10",
                              "pmevent.mask            #a:u32                   ; 3.0 sm_20"]),
    group(Control, "9.7.19.4", &["trap"]),
    group(Misc, "9.7.19.5", &["setmaxnreg.[inc dec].sync.aligned.u32  #n:u32    ; 8.0 sm_90a"]),
    // Not in the manual of ISA 9.4: read off the forms that ptxas of CUDA 13.5 accepts.
    group(Misc, "", &["trace.mark              #a:u32                   ; 9.5 sm_107f"]),
];
