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
    let all = 0..code.instructions.len();
    let atomics: Vec<usize> =
        all.filter(|&index| is_atomic(index) && changes(code, index)).collect();
    match Decoder::of(image.target) {
        Some(decoder) if !atomics.is_empty() => {
            let reader = Reader::new(image, code, decoder);
            let update = |index: usize| (index, reader.update(index, is_atomic));
            atomics.into_iter().map(update).collect()
        }
        _ => BTreeMap::new(),
    }
}

/// Returns true if an instruction changes memory as an atomic does.
fn changes(code: &Code, index: usize) -> bool {
    let mnemonic = code.instructions[index].decoded.mnemonic;
    matches!(mnemonic, "RED" | "REDG" | "ATOM" | "ATOMG" | "ATOMS")
}

/// The code with its definitions, in order: no search grows with the length of the code.
struct Reader<'r, 'a> {
    image: &'r Image<'a>,
    code: &'r Code,
    decoder: Decoder,
    /// The comparisons that set each predicate.
    setters: BTreeMap<u8, Vec<usize>>,
    /// The instructions that write each register.
    writers: BTreeMap<u8, Vec<usize>>,
}

impl<'r, 'a> Reader<'r, 'a> {
    fn new(image: &'r Image<'a>, code: &'r Code, decoder: Decoder) -> Self {
        let (setters, writers) = (BTreeMap::new(), BTreeMap::new());
        let mut reader = Self { image, code, decoder, setters, writers };
        for index in 0..code.instructions.len() {
            let (mnemonic, Some(word)) = (reader.mnemonic(index), reader.word(index)) else {
                continue;
            };
            if let Some(comparison) = decoder.comparison(mnemonic, word) {
                for predicate in comparison.predicates {
                    reader.setters.entry(predicate).or_default().push(index);
                }
            }
            if let Some(register) = decoder.written_register(mnemonic, word) {
                reader.writers.entry(register).or_default().push(index);
            }
        }
        reader
    }

    fn mnemonic(&self, index: usize) -> &'static str {
        self.code.instructions[index].decoded.mnemonic
    }

    fn word(&self, index: usize) -> Option<Word> {
        let instruction = &self.code.instructions[index];
        let section = &self.image.sections[instruction.section];
        self.decoder.word_at(section.code, instruction.offset)
    }

    /// The last of `definitions` in front of `index` in its function.
    fn nearest(&self, index: usize, definitions: Option<&Vec<usize>>) -> Option<usize> {
        let definitions = definitions?;
        let before = definitions.partition_point(|&definition| definition < index);
        let last = *definitions.get(before.checked_sub(1)?)?;
        let section = |index: usize| self.code.instructions[index].section;
        (section(last) == section(index)).then_some(last)
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
        let predicate = self.decoder.demanded_predicate(word)?;
        let at = self.nearest(index, self.setters.get(&predicate)).filter(|&at| is_atomic(at))?;
        let comparison = self.decoder.comparison(self.mnemonic(at), self.word(at)?)?;
        let is_true_if_equal = comparison.asks_equality && comparison.predicates[0] == predicate;
        let mut registers = comparison.registers.into_iter().flatten();
        Some(is_true_if_equal && registers.any(|register| self.holds_lane_number(at, register)))
    }

    /// Returns true if a register holds the number of the lane in front of an instruction.
    fn holds_lane_number(&self, index: usize, register: u8) -> bool {
        let writer = self.nearest(index, self.writers.get(&register));
        let read = writer.and_then(|writer| Some((self.mnemonic(writer), self.word(writer)?)));
        read.is_some_and(|(mnemonic, word)| self.decoder.reads_lane_number(mnemonic, word))
    }
}
