//! The PTX instructions that spilled registers belong to.
//!
//! `ptxas` gives a spill the line of an instruction that stands near it. A reader wants the value:
//! a store belongs to the instruction that computed it, and a load to the one that reads it next. A
//! load whose value is only stored again, in another place of the stack, belongs to the value, too.

use std::collections::BTreeMap;

use gpucast_counters::totals::Direction;
use gpucast_ptx_frontend::isa::{InstructionClass, Opcode};
use gpucast_ptx_frontend::module::Instruction as PtxInstruction;
use gpucast_ptx_frontend::types::StateSpace;

use super::code::Code;
use super::image::Image;
use super::isa::{Decoder, Meaning, Word};

/// Values are followed through so many places of the stack.
const MOST_COPIES: u32 = 8;

/// The PTX instruction that each spill belongs to, by its index in the code. `ptx` has the
/// instructions of the line table, and `may_be_own` says if a PTX instruction accesses local memory
/// itself.
pub(super) fn spills(
    image: &Image<'_>,
    code: &Code,
    (ptx, meanings): (&[Option<u32>], &[Meaning]),
    may_be_own: impl Fn(u32) -> bool,
) -> BTreeMap<usize, u32> {
    let is_spill = |index: usize| {
        let is_local = matches!(meanings[index].access, Some((Some(StateSpace::Local), _)));
        is_local && ptx[index].is_none_or(|ptx| !may_be_own(ptx))
    };
    let found: Vec<usize> = (0..ptx.len()).filter(|&index| is_spill(index)).collect();
    let Some(decoder) = Decoder::of(image.target).filter(|_| !found.is_empty()) else {
        return BTreeMap::new();
    };
    let reader = Reader { image, code, decoder, ptx, meanings, is_spill: &is_spill };
    found.into_iter().filter_map(|index| Some((index, reader.owner(index)?))).collect()
}

/// Returns true if a PTX instruction may access local memory by itself.
pub(super) fn may_access_local(instruction: &PtxInstruction) -> bool {
    match instruction.modifiers.iter().find_map(|modifier| modifier.as_space()) {
        Some(space) => space == StateSpace::Local,
        None => {
            instruction.form.form().class == InstructionClass::LoadStore
                || matches!(instruction.opcode, Opcode::Call)
        }
    }
}

struct Reader<'r, 'a> {
    image: &'r Image<'a>,
    code: &'r Code,
    decoder: Decoder,
    ptx: &'r [Option<u32>],
    meanings: &'r [Meaning],
    is_spill: &'r dyn Fn(usize) -> bool,
}

impl Reader<'_, '_> {
    fn mnemonic(&self, index: usize) -> &'static str {
        self.code.instructions[index].decoded.mnemonic
    }

    fn word(&self, index: usize) -> Option<Word> {
        let instruction = &self.code.instructions[index];
        let section = &self.image.sections[instruction.section];
        self.decoder.word_at(section.code, instruction.offset)
    }

    fn loads(&self, index: usize) -> bool {
        self.meanings[index].access.is_some_and(|(_, kind)| Direction::of(kind) == Direction::Load)
    }

    fn owner(&self, index: usize) -> Option<u32> {
        match self.loads(index) {
            true => self.next_reader(index).or_else(|| self.of_slot(index, MOST_COPIES)),
            false => self.definition(index, MOST_COPIES),
        }
    }

    /// The instruction of the value that a spill stores.
    fn definition(&self, store: usize, copies: u32) -> Option<u32> {
        let register = self.decoder.stored_register(self.word(store)?)?;
        let section = self.code.instructions[store].section;
        let before = (0..store).rev();
        let own = before.take_while(|&index| self.code.instructions[index].section == section);
        let definition = own.into_iter().find(|&index| self.writes(index, register))?;
        match (self.is_spill)(definition) && self.loads(definition) {
            true => self.of_slot(definition, copies.checked_sub(1)?),
            false => self.ptx[definition],
        }
    }

    /// The instruction of the value that lies where a spill is loaded from.
    fn of_slot(&self, load: usize, copies: u32) -> Option<u32> {
        let offset = self.decoder.address_offset(self.word(load)?)?;
        let stores = |&index: &usize| {
            (self.is_spill)(index)
                && !self.loads(index)
                && self.word(index).and_then(|word| self.decoder.address_offset(word))
                    == Some(offset)
        };
        let store = (0..load).rev().find(stores)?;
        self.definition(store, copies)
    }

    /// The first instruction of the block that reads what a spill loads, unless it spills it again.
    fn next_reader(&self, load: usize) -> Option<u32> {
        let register = self.decoder.written_register(self.mnemonic(load), self.word(load)?)?;
        let block = self.code.blocks.iter().find(|block| block.instructions.contains(&load))?;
        for index in load + 1..block.instructions.end {
            let read = self.decoder.read_registers(self.mnemonic(index), self.word(index)?);
            if read.contains(&Some(register)) {
                return self.ptx[index].filter(|_| !(self.is_spill)(index));
            }
            if self.writes(index, register) {
                return None;
            }
        }
        None
    }

    /// Returns true if an instruction writes a register, by itself or as part of a wide load.
    fn writes(&self, index: usize, register: u8) -> bool {
        let Some(word) = self.word(index) else { return false };
        let decoded = &self.code.instructions[index].decoded;
        let wide = decoded.bytes.filter(|_| self.loads(index)).unwrap_or(4).div_ceil(4);
        let first = self.decoder.written_register(decoded.mnemonic, word);
        first.is_some_and(|first| {
            (u32::from(first)..u32::from(first) + wide).contains(&u32::from(register))
        })
    }
}
