//! A row of the table, parsed.

use super::{InstructionClass, Modifier, Opcode};
use crate::types::ScalarType;

/// Index of a row of the instruction table; see [`FormId::form`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FormId(pub u16);

/// The oldest target that has an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    /// Compute capability times ten.
    pub sm: u32,
    /// `sm_90a`, `sm_100f`: available on this architecture and its family only.
    pub specific: bool,
}

/// One form of an instruction: a row of the table.
#[derive(Clone, Debug, PartialEq)]
pub struct Form {
    /// The mnemonic.
    pub opcode: Opcode,
    /// The modifiers, in the manual's order.
    pub slots: Vec<Slot>,
    /// The operands, in order.
    pub operands: Vec<OperandShape>,
    /// The PTX ISA version that introduced it.
    pub min_isa: (u8, u8),
    /// The oldest target that has it.
    pub min_target: Target,
    /// Class in which a profiler counts it.
    pub class: InstructionClass,
    /// The section of the PTX ISA manual that describes it: of version 9.0, or of the version
    /// that stands behind it; empty where no manual does.
    pub section: &'static str,
    /// The row as written.
    pub text: &'static str,
}

/// A place for one modifier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Modifiers that may stand there.
    pub choices: Vec<Modifier>,
    /// True if it may be left out.
    pub optional: bool,
}

/// Access of an instruction to an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Only read; addresses are read whatever happens to the memory.
    Read,
    /// Only written.
    Write,
    /// Read and written (accumulators).
    ReadWrite,
}

/// Kind of operand at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OperandKind {
    /// A register; where it is only read, also a literal.
    Value,
    /// A literal or constant expression (`#n`).
    Immediate,
    /// Anything that `mov` moves: register, literal, special register, address of a variable or
    /// function, pack of registers (`a@`).
    Any,
    /// A register, or the address of a variable plus an offset (`a&`).
    AddressValue,
    /// `[address]`.
    Address,
    /// `[object, {coordinates}, …]`.
    Indexed,
    /// `[endpoint, offset]` of memory across the fabric, or `[endpoint, offset, counter]`.
    Handle {
        /// True if the offset of a counter follows.
        counted: bool,
    },
    /// A branch target.
    Label,
    /// A `.branchtargets` label.
    BranchTargets,
    /// A function or a register that holds the address of one.
    Callee,
    /// A parenthesised list of arguments or results.
    List,
    /// The targets of an indirect call: `.calltargets`, `.callprototype`, or a call table.
    CallTargets,
}

/// The type that an operand must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ShapeType {
    /// That of the n-th type among the modifiers (`t`, `u`, `v` are 0, 1, 2).
    Modifier(u8),
    /// Twice as wide as the first type (`w`), for `mul.wide`.
    Wide,
    /// A fixed type.
    Fixed(ScalarType),
    /// An integer of 32 or 64 bits, as addresses and descriptors are (`ptr`).
    Pointer,
    /// Not checked (addresses, labels, lists).
    None,
}

/// Number of registers of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Count {
    /// One.
    One,
    /// As the `.v2`, `.v4`, `.v8` modifier says; one without it (`*vec`).
    Vector,
    /// As the `.x1`, `.x2`, … modifier says, always in braces (`*num`).
    Matrices,
    /// Exactly this many in braces (`*4`).
    Exactly(u8),
    /// Any number in braces (`*?`).
    Any,
}

/// A second result after a bar: `d|p`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PairResult {
    /// There is none.
    None,
    /// A predicate may follow (`d{|p}`).
    Optional,
    /// A predicate must follow (`d|p`).
    Required,
}

/// The operands that may stand at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperandShape {
    /// The manual's name for it.
    pub name: &'static str,
    /// Read or written: `d`, `p` and `q` are written, `acc` is read and written, all others
    /// are read.
    pub access: Access,
    /// Kind of the operand.
    pub kind: OperandKind,
    /// The type that it must have.
    pub ty: ShapeType,
    /// True if a wider register will do, as for `ld`, `st` and `cvt` (manual, section 9.4.1).
    pub wider: bool,
    /// Number of its registers.
    pub count: Count,
    /// Rule for a second result after a bar: none, optional or required.
    pub pair: PairResult,
    /// True if it may be left out.
    pub optional: bool,
    /// True if it may select bytes or halves (`.b0`, `.h10`) or be negated (video).
    pub selectable: bool,
}
