//! Derives observations of the blocks of machine code from the counts of the PTX.

use std::collections::BTreeMap;

use gpucast_counters::operation::class;
use gpucast_interpreter::AccessKind;
use gpucast_ptx_frontend::isa::{InstructionClass, Opcode};
use gpucast_ptx_frontend::types::StateSpace;

use super::flow::Observation;
use super::isa::Guard;
use super::listing::{Listing, bytes_accessed};

/// From this weight on, an instruction alone gives the executions of its block.
pub(super) const LEAST_FIRM: f64 = 1.0;

/// A line that is no mere fetching of operands can bear out a block; only a firm one contradicts.
pub(super) const LEAST_TO_BEAR_OUT: f64 = 0.05;

/// A place of copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct CopyPlace {
    /// The block of the machine.
    block: usize,
    /// True if they have a predicate that the PTX does not have.
    is_predicated: bool,
}

/// The property that copies of a machine instruction have in common, and different instructions
/// of the same PTX instruction do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// The bits without registers and values.
    Bits(u64),
    /// The mnemonic of an exchange between lanes. There is one for a shuffle, vote or match of the
    /// PTX. Copies may differ in bits: the one for warps whose lanes came apart takes registers
    /// where the other one takes literals.
    Exchange(&'static str),
}

impl Listing<'_> {
    /// One observation per PTX instruction, about the blocks that hold its machine code.
    ///
    /// The machine instructions of one PTX instruction differ in their bits, and copies of it
    /// repeat the same bits. So each kind of bits gives an equation of its own ([`Kind`]). The
    /// number of instructions per copy follows from the greatest number that divides all of them.
    /// Spills are no part of a copy: each copy spills what it has no register for.
    pub(super) fn observations(&self) -> Vec<Observation> {
        // Of each PTX instruction, by kind: machine instructions of each block.
        type Kinds = BTreeMap<Kind, BTreeMap<CopyPlace, u32>>;
        let mut by_ptx: BTreeMap<u32, Kinds> = BTreeMap::new();
        let mut weights: BTreeMap<(u32, Kind), f64> = BTreeMap::new();
        for (block, contents) in self.code.blocks.iter().enumerate() {
            for index in contents.instructions.clone() {
                let Some(ptx) = self.ptx[index].filter(|_| !self.is_spill(index)) else { continue };
                let kind = self.kind(index);
                let kinds = by_ptx.entry(ptx).or_default();
                let place = CopyPlace { block, is_predicated: self.is_predicated(index) };
                *kinds.entry(kind).or_default().entry(place).or_default() += 1;
                // Copies differ by predicates alone; the one without speaks for all.
                let weight = weights.entry((ptx, kind)).or_default();
                *weight = self.weight(index, ptx).max(*weight);
            }
        }
        /// Copies by place; executions by threads and by warps; the block of the PTX.
        type Statement = (Vec<(CopyPlace, u32)>, u128, u128, u32);
        #[derive(Default)]
        struct Support {
            weight: f64,
            visits: Option<u128>,
            is_firm: bool,
        }
        let mut merged: BTreeMap<Statement, Support> = BTreeMap::new();
        for (ptx, kinds) in &by_ptx {
            let Some(row) = self.counts.get(ptx) else { continue };
            if self.branching.binary_search(ptx).is_ok() {
                continue;
            }
            let counts = kinds.values().map(with_predicates).flat_map(BTreeMap::into_values);
            let all = counts.reduce(gcd).unwrap_or(1);
            // The greatest firm weight that speaks for a statement, and the sum of the others.
            let mut said: BTreeMap<Statement, (f64, f64)> = BTreeMap::new();
            for (kind, places) in kinds {
                let blocks = with_predicates(places);
                let common = blocks.values().copied().reduce(gcd).unwrap_or(1);
                let of_one_copy = (common / all).max(1);
                let copies = blocks.iter().map(|(&place, &count)| (place, count / of_one_copy));
                let weight = weights.get(&(*ptx, *kind)).copied().unwrap_or(1.0);
                let block = self.loops.block(*ptx);
                let key = (copies.collect(), row.issued_lanes, row.warp_executions, block);
                let (firm, others) = said.entry(key).or_default();
                if weight >= LEAST_FIRM {
                    *firm = weight.max(*firm);
                } else {
                    *others += weight;
                }
            }
            // The work of one PTX instruction moves as a whole, so it says a thing once.
            for (key, (firm, others)) in said {
                let support = merged.entry(key).or_default();
                support.weight += firm + others;
                support.visits = self.loops.visits(*ptx);
                support.is_firm |= firm > 0.0;
            }
        }
        merged
            .into_iter()
            .filter(|((copies, ..), support)| {
                support.is_firm || !are_fetched_twice(copies, support.weight)
            })
            .map(|((copies, lanes, warps, block), support)| {
                let of = |is_predicated: bool| {
                    let those = copies.iter().filter(|(at, _)| at.is_predicated == is_predicated);
                    those.map(|&(at, count)| (at.block, f64::from(count))).collect()
                };
                Observation {
                    copies: of(false),
                    predicated: of(true),
                    lanes,
                    warps,
                    block,
                    visits: support.visits,
                    weight: support.weight,
                    is_firm: support.is_firm,
                }
            })
            .collect()
    }

    fn kind(&self, index: usize) -> Kind {
        let decoded = &self.code.instructions[index].decoded;
        match self.meanings[index].class {
            InstructionClass::InterThread => Kind::Exchange(decoded.mnemonic),
            _ => Kind::Bits(decoded.shape),
        }
    }

    /// The confidence that a machine instruction stands where its PTX instruction stood.
    pub(super) fn weight(&self, index: usize, ptx: u32) -> f64 {
        let decoded = &self.code.instructions[index].decoded;
        let meaning = &self.meanings[index];
        let instruction = self.instruction(ptx);
        let is_control = meaning.class == InstructionClass::Control;
        // Several accesses became a wider one, which runs less often than each of them.
        let narrow = bytes_accessed(instruction);
        let is_merged = meaning.access.is_some() && decoded.bytes.is_some_and(|wide| wide > narrow);
        if is_merged {
            return 0.05;
        }
        // The instruction stands in a block that may have run more often.
        if self.is_predicated(index) || self.speculated.contains(&index) {
            return 0.05;
        }
        if !self.performs(index, ptx) {
            return 0.01;
        }
        // Unrolled loops are also controlled in other ways: the code in front of a version asks if
        // enough rounds are left for it.
        if is_control || (instruction.opcode == Opcode::Setp && is_of_integers(meaning.class)) {
            return 0.1;
        }
        let has_effect = meaning.access.is_some_and(|(_, kind)| kind != AccessKind::Load);
        match meaning.class {
            // Neither moved nor executed in vain.
            _ if has_effect || synchronises(decoded.mnemonic) => 8.0,
            InstructionClass::LoadStore | InstructionClass::Tensor => 4.0,
            InstructionClass::Fp16 | InstructionClass::Fp32 | InstructionClass::Fp64 => 2.0,
            InstructionClass::InterThread | InstructionClass::Texture => 4.0,
            InstructionClass::Integer | InstructionClass::BitConvert => 1.0,
            // Moves come and go.
            InstructionClass::Control | InstructionClass::Misc => 0.05,
        }
    }

    /// Returns true if an instruction has a predicate that its PTX instruction does not have: a
    /// branch was turned into it.
    pub(super) fn is_predicated(&self, index: usize) -> bool {
        let decoded = &self.code.instructions[index].decoded;
        let is_control = self.meanings[index].class == InstructionClass::Control;
        let has_none = |ptx: u32| self.instruction(ptx).guard.is_none();
        decoded.guard != Guard::Always && !is_control && self.ptx[index].is_some_and(has_none)
    }

    /// Returns true if a machine instruction does the work of its PTX instruction, and does not
    /// only bring an operand to it. Operands are constants, literals and copies. They are fetched
    /// anywhere before, for example in front of the loop.
    fn performs(&self, index: usize, ptx: u32) -> bool {
        use InstructionClass as C;
        let meaning = &self.meanings[index];
        let is_constant =
            |&(space, _): &(Option<StateSpace>, AccessKind)| space == Some(StateSpace::Const);
        if meaning.access.as_ref().is_some_and(is_constant) {
            return false;
        }
        match (meaning.class, class(self.instruction(ptx))) {
            (machine, of_ptx) if machine == of_ptx => true,
            (C::Control, _) => true,
            (C::Misc, _) => synchronises(self.code.instructions[index].decoded.mnemonic),
            // Divisions of integers compute with floating-point numbers, and such.
            (C::Integer | C::BitConvert | C::Fp32, C::Integer | C::BitConvert | C::Fp32) => true,
            (C::Fp32 | C::Integer, C::Fp16 | C::Fp64) => true,
            _ => false,
        }
    }
}

/// The copies whose predicates matter told apart from the others.
///
/// Alone, an instruction under a predicate says that its block runs: a branch became it. Beside one
/// without a predicate in the same block it is no copy, but a part of the work, such as the
/// correction of a quotient.
fn with_predicates(places: &BTreeMap<CopyPlace, u32>) -> BTreeMap<CopyPlace, u32> {
    let are_alone = places.keys().all(|place| place.is_predicated);
    let mut all = BTreeMap::new();
    for (&place, &count) in places {
        let plain = CopyPlace { is_predicated: false, ..place };
        let is_copy = place.is_predicated && !are_alone && !places.contains_key(&plain);
        *all.entry(if is_copy { place } else { plain }).or_default() += count;
    }
    all
}

/// Returns true if copies of mere fetching stand in one block. An operand that is fetched into two
/// registers is no second round of a loop.
fn are_fetched_twice(copies: &[(CopyPlace, u32)], weight: f64) -> bool {
    weight < LEAST_TO_BEAR_OUT && matches!(copies, [(_, 2..)])
}

/// Returns true if an instruction meets other warps, at a barrier of the CTA or at an mbarrier. A
/// spinning wait is such a loop: its first round may stand in front of it.
fn synchronises(mnemonic: &str) -> bool {
    matches!(mnemonic, "BAR" | "SYNCS")
}

fn is_of_integers(class: InstructionClass) -> bool {
    class == InstructionClass::Integer
}

/// The greatest common divisor.
fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}
