//! The lanes that update memory for an atomic of the PTX.
//!
//! Where all lanes of a warp have one address, `ptxas` adds their values up and lets one lane
//! change memory. That lane is found by a comparison of the lane's number with one that all lanes
//! know: the first of a `VOTE`, or a literal. So the guard of the access tells, and nothing that
//! the PTX says is needed.

use std::collections::BTreeMap;

use super::code::Code;
use super::image::Image;
use super::isa::{Decoder, Word};

/// The lanes that an instruction updates memory for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Update {
    /// Each lane updates by itself.
    EachLane,
    /// One lane updates for all.
    OneLane,
    /// The instruction adds the number of lanes at each address.
    Counted,
}

/// The updates of those instructions of `code` for which `is_atomic`: they stand for an atomic of
/// the PTX.
pub(super) fn updates(
    image: &Image<'_>,
    code: &Code,
    is_atomic: &dyn Fn(usize) -> bool,
) -> BTreeMap<usize, Update> {
    let Some(decoder) = Decoder::of(image.target) else { return BTreeMap::new() };
    let reader = Reader { image, code, decoder };
    (0..code.instructions.len())
        .filter(|&index| is_atomic(index) && reader.updates_memory(index))
        .map(|index| (index, reader.update(index, is_atomic)))
        .collect()
}

struct Reader<'r, 'a> {
    image: &'r Image<'a>,
    code: &'r Code,
    decoder: Decoder,
}

impl Reader<'_, '_> {
    fn mnemonic(&self, index: usize) -> &'static str {
        self.code.instructions[index].decoded.mnemonic
    }

    fn updates_memory(&self, index: usize) -> bool {
        matches!(self.mnemonic(index), "RED" | "REDG" | "ATOM" | "ATOMG" | "ATOMS")
    }

    fn word(&self, index: usize) -> Option<Word> {
        let instruction = &self.code.instructions[index];
        let section = &self.image.sections[instruction.section];
        self.decoder.word_at(section.code, instruction.offset)
    }

    /// The nearest instruction in front of `index` in its function for which `is_it`.
    fn nearest(&self, index: usize, is_it: impl Fn(&str, Word) -> bool) -> Option<usize> {
        let section = self.code.instructions[index].section;
        (0..index)
            .rev()
            .take_while(|&other| self.code.instructions[other].section == section)
            .find(|&other| self.word(other).is_some_and(|word| is_it(self.mnemonic(other), word)))
    }

    fn update(&self, index: usize, is_atomic: &dyn Fn(usize) -> bool) -> Update {
        let Some(word) = self.word(index) else { return Update::EachLane };
        if self.decoder.counts_lanes(self.mnemonic(index), word) {
            return Update::Counted;
        }
        match self.is_of_one_lane(index, word, is_atomic) {
            Some(true) => Update::OneLane,
            _ => Update::EachLane,
        }
    }

    /// Returns true if the guard compares the number of the lane. The comparison must stand for an
    /// atomic, too: a user's own choice of a lane is in the counts of the PTX.
    fn is_of_one_lane(
        &self,
        index: usize,
        word: Word,
        is_atomic: &dyn Fn(usize) -> bool,
    ) -> Option<bool> {
        let decoder = self.decoder;
        let predicate = decoder.demanded_predicate(word)?;
        let sets = |mnemonic: &str, word| {
            let comparison = decoder.comparison(mnemonic, word);
            comparison.is_some_and(|comparison| comparison.predicates.contains(&predicate))
        };
        let at = self.nearest(index, sets).filter(|&at| is_atomic(at))?;
        let comparison = decoder.comparison(self.mnemonic(at), self.word(at)?)?;
        let holds_number = |register: u8| {
            let writes =
                |mnemonic: &str, word| decoder.written_register(mnemonic, word) == Some(register);
            self.nearest(at, writes).is_some_and(|writer| {
                let word = self.word(writer);
                word.is_some_and(|word| decoder.reads_lane_number(self.mnemonic(writer), word))
            })
        };
        let is_true_if_equal = comparison.asks_equality && comparison.predicates[0] == predicate;
        Some(is_true_if_equal && comparison.registers.into_iter().flatten().any(holds_number))
    }
}
