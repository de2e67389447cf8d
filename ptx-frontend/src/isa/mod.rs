//! The one instruction table.
//!
//! All existing instructions are written here once, as rows in the manual's own notation
//! (`isa/rows`). The parser takes its words from here, and the resolver matches instructions
//! against the rows. The interpreter's lowering and the counters read the matched row's class and
//! operand shapes.
//!
//! ```text
//! cvt.[rni rzi rmi rpi]{.ftz}{.sat}.<int>.<float>   d:t+, a:u+   ; 1.0 sm_10
//! └┬┘ └──────┬───────┘ └──┬──┘      └─┬─┘           └────┬────┘    └───┬───┘
//! mnemonic  one of     optional   a named set     operand shapes   since when
//! ```
//!
//! The notation is explained in `isa/notation.rs`; adding an instruction of a future ISA means
//! adding its mnemonic, its new modifiers and its rows.

mod class;
mod combinations;
mod facts;
mod form;
mod matching;
mod modifier;
mod names;
mod notation;
mod opcode;
mod rows;
pub mod sample;
mod since;
mod sparse;
mod special;
mod table;
mod textures;

#[cfg(test)]
mod tests;

pub use class::InstructionClass;
pub use combinations::{Clash, clash};
pub use facts::{Effect, FloatRow, IntegerRow, OpcodeFacts, opcode_facts};
pub use form::{
    Access, Count, Form, FormId, OperandKind, OperandShape, PairResult, ShapeType, Slot, Target,
};
pub use matching::{ModifierMismatch, match_modifiers};
pub use modifier::Modifier;
pub use opcode::Opcode;
pub use since::{Since, modifier_since};
pub use sparse::{SparseVectors, sparse_vectors};
pub use special::{Component, SpecialRegister};
pub use table::{forms, forms_of};
pub use textures::{TextureExtras, texture_extras};
