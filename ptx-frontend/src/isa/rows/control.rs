//! Control flow (manual, section 9.7.12).

use super::InstructionClass::Control;
use super::{Group, group};

#[rustfmt::skip]
pub(super) const GROUPS: &[Group] = &[
    group(Control, "9.7.12.3", &["bra{.uni}      label"]),
    group(Control, "9.7.12.4", &["brx.idx{.uni}  index:u32, targets  ; 6.0 sm_30"]),
    group(Control, "9.7.12.5", &["call{.uni}     {(d),} callee{, (arguments)}{, calltargets}"]),
    group(Control, "9.7.12.6", &["ret{.uni}"]),
    group(Control, "9.7.12.7", &["exit"]),
];
