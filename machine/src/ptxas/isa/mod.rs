//! The instruction sets of the machines: from opcode bits to mnemonics and control flow.
//!
//! | file | encoding | architectures |
//! |---|---|---|
//! | `kepler.rs` | 64 bits, a control word before every 7 instructions | sm_35, sm_37 |
//! | `maxwell.rs` | 64 bits, a control word before every 3 instructions | sm_50 … sm_62 |
//! | `volta.rs` | 128 bits with the control bits inside | sm_70 … sm_121 |
//!
//! Only the parts that counting and scheduling need are decoded: mnemonic, guard, control flow, the
//! size of accesses, the scheduling fields (`control.rs`), what decides about waiting and units
//! (`detail.rs`), the constant that is an operand (`constant.rs`), and the lanes that an atomic is
//! for (`lanes.rs`). The tables were made by
//! assembling PTX for every target and comparing with `nvdisasm`, which is the oracle of the tests.

mod constant;
mod control;
mod detail;
mod kepler;
mod lanes;
mod maxwell;
mod meaning;
mod registers;
mod volta;

use gpucast_ptx_frontend::container::Target;
use gpucast_ptx_frontend::isa::InstructionClass;

pub(super) use detail::{Detail, Meeting};
#[cfg(test)]
pub(super) use meaning::meant;
pub(in super::super) use meaning::{Meaning, meaning};

/// The condition under which an instruction takes effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Guard {
    /// Always.
    Always,
    /// When a predicate is true.
    Sometimes,
    /// Never: `@!PT`.
    Never,
}

/// The point at which a region continues that a warp may leave by a later instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Region {
    /// Divergent lanes meet (`SSY`, `BSSY`). The number is that of the convergence barrier; 0 if
    /// there is one stack of them.
    Join(u8),
    /// A loop is left (`PBK`).
    Break,
    /// A loop goes on (`PCNT`).
    Continue,
    /// A subroutine returns to a place that was pushed (`PRET`).
    Return,
}

/// The effect of an instruction on the flow of control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    /// The next instruction follows.
    Next,
    /// Jumps to an offset of the same section, or (`None`) somewhere else.
    Branch(Option<u64>),
    /// Jumps to one of several places.
    Indirect,
    /// Calls a place in the same section, or one that a relocation or a register names.
    Call(Option<u64>),
    /// Returns from a function.
    Return,
    /// Ends the thread.
    Exit,
    /// Pushes the point where a region will continue; the next instruction follows.
    Push(Region, u64),
    /// Goes to the point where the innermost such region continues.
    Pop(Region),
}

/// One decoded instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decoded {
    /// Without modifiers.
    pub(super) mnemonic: &'static str,
    pub(super) guard: Guard,
    pub(super) flow: Flow,
    /// True if control may also go on with the next instruction although `flow` leads elsewhere.
    pub(super) conditional: bool,
    /// The bits that are no operands: equal in copies of the same instruction.
    pub(super) shape: u64,
    /// Bytes of one lane's access, if the encoding gives them.
    pub(super) bytes: Option<u32>,
    /// True if a special function works on half of a double.
    pub(super) is_half_of_double: bool,
    /// The class of an instruction that the tables do not know, after its neighbours.
    pub(super) assumed: Option<InstructionClass>,
}

/// The encoding of instructions in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    Kepler,
    Maxwell,
    Volta { sm: u32 },
}

/// An instruction word with its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Word {
    /// Byte offset in its section.
    pub(super) offset: u64,
    /// The bits; 64-bit encodings leave the upper half zero.
    pub(super) bits: u128,
}

/// Decodes the code of one architecture.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decoder {
    encoding: Encoding,
}

impl Decoder {
    /// The decoder of an architecture, if its encoding is known.
    pub(super) fn of(target: Target) -> Option<Self> {
        let encoding = match target.sm {
            35 | 37 => Encoding::Kepler,
            50..=62 => Encoding::Maxwell,
            70..=129 => Encoding::Volta { sm: target.sm },
            _ => return None,
        };
        Some(Self { encoding })
    }

    /// The instructions of a section, without control words.
    pub(super) fn words(self, code: &[u8]) -> Vec<Word> {
        let read =
            |bytes: &[u8]| bytes.iter().rev().fold(0, |bits, &byte| bits << 8 | u128::from(byte));
        let (size, group) = match self.encoding {
            Encoding::Kepler => (8, 8),
            Encoding::Maxwell => (8, 4),
            Encoding::Volta { .. } => (16, usize::MAX),
        };
        let all = code.chunks_exact(size).enumerate();
        all.filter(|&(index, _)| group == usize::MAX || index % group != 0)
            .map(|(index, bytes)| Word { offset: (index * size) as u64, bits: read(bytes) })
            .collect()
    }

    /// The offset at which execution continues where `offset` is said: control words are passed.
    pub(super) fn first_at(self, offset: u64) -> u64 {
        let group = match self.encoding {
            Encoding::Kepler => 64,
            Encoding::Maxwell => 32,
            Encoding::Volta { .. } => return offset,
        };
        if offset.is_multiple_of(group) { offset + 8 } else { offset }
    }

    /// Decodes one instruction; `None` if its opcode is unknown.
    pub(super) fn decode(self, word: Word) -> Option<Decoded> {
        match self.encoding {
            Encoding::Kepler => kepler::decode(word),
            Encoding::Maxwell => maxwell::decode(word),
            Encoding::Volta { sm } => volta::decode(word, sm),
        }
    }

    /// The opcode bits of an instruction, as far as operands have no part in them.
    pub(super) fn opcode(self, word: Word) -> u64 {
        match self.encoding {
            Encoding::Kepler => bits(word.bits, 54, 10),
            Encoding::Maxwell => bits(word.bits, 51, 13),
            Encoding::Volta { .. } => bits(word.bits, 0, 9),
        }
    }

    /// An instruction that the tables do not know. It gets the class of the opcode nearest to its
    /// own. It is no jump and no access, because their operands would not be known.
    pub(super) fn assume(self, word: Word) -> Decoded {
        let (class, guard, shape) = match self.encoding {
            // Opcodes of the older encodings are of any length, and neighbours say nothing.
            Encoding::Kepler => {
                (None, guard(bits(word.bits, 18, 3), bits(word.bits, 21, 1)), self.opcode(word))
            }
            Encoding::Maxwell => {
                (None, guard(bits(word.bits, 16, 3), bits(word.bits, 19, 1)), self.opcode(word))
            }
            Encoding::Volta { sm } => {
                let guard = guard(bits(word.bits, 12, 3), bits(word.bits, 15, 1));
                (volta::neighbour(word.bits, sm), guard, volta::shape(word.bits))
            }
        };
        let class = class.and_then(meaning).map(|meaning| meaning.class);
        Decoded {
            mnemonic: UNKNOWN,
            guard,
            flow: Flow::Next,
            conditional: false,
            shape,
            bytes: None,
            is_half_of_double: false,
            assumed: Some(class.unwrap_or(InstructionClass::Misc)),
        }
    }
}

/// The name of instructions that the tables do not know.
pub(super) const UNKNOWN: &str = "?";

/// `count` bits of a word from bit `first` on.
const fn bits(word: u128, first: u32, count: u32) -> u64 {
    (word >> first & ((1 << count) - 1)) as u64
}

/// The same as a signed number.
const fn signed(word: u128, first: u32, count: u32) -> i64 {
    let unused = 64 - count;
    (bits(word, first, count) << unused) as i64 >> unused
}

/// Adds a signed distance to an offset.
const fn displaced(offset: u64, distance: i64) -> u64 {
    offset.wrapping_add(distance as u64)
}

/// A guard from its three bits of predicate and its bit of negation.
const fn guard(predicate: u64, negated: u64) -> Guard {
    match (predicate, negated) {
        (7, 0) => Guard::Always,
        (7, _) => Guard::Never,
        _ => Guard::Sometimes,
    }
}

/// Bytes of a lane's access by the size field that loads and stores share since Fermi. The sizes
/// are 8, 8, 16, 16, 32, 64 and 128 bits; signed ones count apart.
const fn access_bytes(size: u64) -> Option<u32> {
    match size {
        0 | 1 => Some(1),
        2 | 3 => Some(2),
        4 => Some(4),
        5 => Some(8),
        6 => Some(16),
        _ => None,
    }
}

/// Every mnemonic of the opcode tables.
#[cfg(test)]
pub(in super::super) fn mnemonics() -> impl Iterator<Item = &'static str> {
    kepler::mnemonics().chain(maxwell::mnemonics()).chain(volta::mnemonics())
}
