//! Blocks of the PTX that a predicate guards in the machine code, and what runs there in any case.
//!
//! Instead of branching around a block, the assembler puts it under a predicate. The machine's
//! block then holds the branch's own block, too, and runs as often as that one. Instructions that
//! do no harm stand there without the predicate. So does the comparison that sets it, which may
//! have a line of the guarded block. Such instructions run as often as the machine's block. They
//! say nothing about the executions of their own one.

use std::collections::{BTreeMap, BTreeSet};

use super::listing::Listing;
use super::observe::LEAST_FIRM;

/// The part of a PTX block that is in a block of the machine.
#[derive(Default)]
struct Part {
    /// Machine instructions of each PTX instruction.
    instructions: BTreeMap<u32, Vec<usize>>,
    /// Threads that issued its instructions.
    lanes: u128,
    /// True if one of them is under a predicate of the assembler's and has no other copy here.
    is_guarded: bool,
    /// True if one of them shows by itself how often the machine's block runs.
    is_firm: bool,
}

impl Listing<'_> {
    /// Machine instructions that run more often than the PTX block that they stand for: they are
    /// free of the predicate that guards their block, beside a block that runs more often.
    pub(super) fn find_speculated(&self) -> BTreeSet<usize> {
        let mut speculated = BTreeSet::new();
        for block in &self.code.blocks {
            let mut parts: BTreeMap<u32, Part> = BTreeMap::new();
            for index in block.instructions.clone() {
                let Some(ptx) = self.ptx[index] else { continue };
                let part = parts.entry(self.loops.block(ptx)).or_default();
                part.instructions.entry(ptx).or_default().push(index);
                let lanes = self.counts.get(&ptx).map_or(0, |row| row.issued_lanes);
                part.lanes = part.lanes.max(lanes);
                part.is_firm |= self.weight(index, ptx) >= LEAST_FIRM;
            }
            for part in parts.values_mut() {
                let all_guarded =
                    |copies: &Vec<usize>| copies.iter().all(|&index| self.is_predicated(index));
                part.is_guarded = part.instructions.values().any(all_guarded);
            }
            let firm = parts.values().filter(|part| part.is_firm);
            let most = firm.map(|part| part.lanes).max().unwrap_or(0);
            let guarded = parts.values().filter(|part| part.is_guarded && part.lanes < most);
            let indices = guarded.flat_map(|part| part.instructions.values().flatten());
            speculated.extend(indices.filter(|&&index| !self.is_predicated(index)));
        }
        speculated
    }
}
