//! Registers whose values are still needed, and the words that they take at the same time.
//!
//! The analysis is the usual backward one. A guarded write does not end liveness. Each register is
//! walked from its uses to its definitions, so the cost is that of the live ranges, however many
//! blocks a function has.

use crate::cfg::{BlockId, ControlFlowGraph};
use crate::dataflow::Uses;
use crate::module::{Instruction, Register, RegisterId};
use crate::types::ScalarType;

/// The registers that are live where the blocks of a function begin and end.
#[derive(Clone, Debug)]
pub struct Liveness {
    uses: Vec<Uses>,
    guarded: Vec<bool>,
    /// By block, the registers that are live behind its last instruction.
    at_end: Vec<Vec<RegisterId>>,
    at_entry: Vec<RegisterId>,
}

/// A block that reads a register before it writes it, and blocks that write it in any case.
#[derive(Clone, Default)]
struct Places {
    reads: Vec<BlockId>,
    writes: Vec<BlockId>,
}

impl Liveness {
    /// That of a function with `registers` registers, whose graph is `graph`.
    #[must_use]
    pub fn new(instructions: &[Instruction], graph: &ControlFlowGraph, registers: usize) -> Self {
        let uses: Vec<Uses> = instructions.iter().map(Uses::of).collect();
        let guarded = instructions.iter().map(|instruction| instruction.guard.is_some()).collect();
        let mut liveness = Self {
            uses,
            guarded,
            at_end: vec![Vec::new(); graph.blocks().len()],
            at_entry: Vec::new(),
        };
        // The last register that was found live at the end of a block.
        let mut found = vec![None; graph.blocks().len()];
        for (register, places) in (0..).map(RegisterId).zip(liveness.places(graph, registers)) {
            liveness.walk(register, places, graph, &mut found);
        }
        liveness
    }

    fn places(&self, graph: &ControlFlowGraph, registers: usize) -> Vec<Places> {
        let mut places = vec![Places::default(); registers];
        for (block, id) in graph.blocks().iter().zip((0..).map(BlockId)) {
            for at in block.instructions.clone().map(|at| at as usize) {
                for register in &self.uses[at].read {
                    let Places { reads, writes } = &mut places[register.index()];
                    if writes.last() != Some(&id) && reads.last() != Some(&id) {
                        reads.push(id);
                    }
                }
                for register in self.uses[at].written.iter().filter(|_| !self.guarded[at]) {
                    let writes = &mut places[register.index()].writes;
                    if writes.last() != Some(&id) {
                        writes.push(id);
                    }
                }
            }
        }
        places
    }

    /// Marks the blocks at whose end `register` is live.
    fn walk(
        &mut self,
        register: RegisterId,
        Places { reads: mut pending, writes }: Places,
        graph: &ControlFlowGraph,
        found: &mut [Option<RegisterId>],
    ) {
        let entry = graph.reverse_post_order().first();
        while let Some(block) = pending.pop() {
            if Some(&block) == entry && self.at_entry.last() != Some(&register) {
                self.at_entry.push(register);
            }
            for &before in &graph.blocks()[block.index()].predecessors {
                if found[before.index()].replace(register) == Some(register) {
                    continue;
                }
                self.at_end[before.index()].push(register);
                // Blocks are gathered in ascending order.
                if writes.binary_search(&before).is_err() {
                    pending.push(before);
                }
            }
        }
    }

    /// The registers that are live at the function's entry, in ascending order: those that may be
    /// read before they are written.
    #[must_use]
    pub fn at_entry(&self) -> &[RegisterId] {
        &self.at_entry
    }

    /// The most words of 32 bits that live values take at the same time. Predicates take none, and
    /// narrower values one each.
    #[must_use]
    pub fn most_words(&self, graph: &ControlFlowGraph, registers: &[Register]) -> u32 {
        let words = |register: RegisterId| {
            let Register { ty, vector, .. } = &registers[register.index()];
            let of_element = if *ty == ScalarType::Pred { 0 } else { ty.bits().div_ceil(32) };
            u64::from(of_element) * u64::from(*vector)
        };
        let mut live = vec![false; registers.len()];
        let mut most = 0;
        for (block, at_end) in graph.blocks().iter().zip(&self.at_end) {
            let mut now = 0;
            let mut touched = at_end.clone();
            for &register in at_end {
                live[register.index()] = true;
                now += words(register);
            }
            most = most.max(now);
            for at in block.instructions.clone().rev().map(|at| at as usize) {
                let Uses { read, written, partly_written } = &self.uses[at];
                // A value that nobody reads takes its register all the same.
                let is_unread = |register: &&RegisterId| !live[register.index()];
                let unread = written.iter().chain(partly_written).filter(is_unread);
                most = most.max(now + unread.map(|&register| words(register)).sum::<u64>());
                for &register in written.iter().filter(|_| !self.guarded[at]) {
                    if std::mem::replace(&mut live[register.index()], false) {
                        now -= words(register);
                    }
                }
                for &register in read {
                    if !std::mem::replace(&mut live[register.index()], true) {
                        touched.push(register);
                        now += words(register);
                    }
                }
                most = most.max(now);
            }
            touched.into_iter().for_each(|register| live[register.index()] = false);
        }
        u32::try_from(most).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::module::Function;

    fn function(body: &str) -> Function {
        let text = format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{{\n.reg .pred p;\n\
             .reg .b16 h;\n.reg .b32 a, b, c, d;\n.reg .b64 x, y;\n{body}\n}}\n"
        );
        let Ok(module) = crate::load(&text) else { panic!("{text}") };
        module.functions.into_iter().next().expect("a function")
    }

    /// The registers that are live at the entry, by name, and the most words.
    fn check(body: &str, at_entry: &str, words: u32) {
        let function = function(body);
        let body = function.body.as_ref().expect("a body");
        let graph = ControlFlowGraph::new(body).expect("a graph");
        let liveness = Liveness::new(&body.instructions, &graph, function.registers.len());
        let names =
            liveness.at_entry().iter().map(|register| &*function.registers[register.index()].name);
        assert_eq!(names.collect::<Vec<_>>().join(" "), at_entry);
        assert_eq!(liveness.most_words(&graph, &function.registers), words);
    }

    #[test]
    fn live_words_are_those_that_are_still_read() {
        // x and y together, then a, b and c, of which c has the place of nothing.
        check("mov.b64 x, 1;\nmov.b64 y, 2;\nadd.s64 x, x, y;\nst.global.b64 [x], x;\nret;", "", 4);
        check("mov.b32 a, 1;\nadd.s32 b, a, 1;\nadd.s32 c, b, 1;\nret;", "", 1);
        check(
            "mov.b16 h, 1;\nmov.b32 a, 2;\nst.global.b32 [x], a;\nst.global.b16 [x], h;\nret;",
            "x",
            4,
        );
        // Predicates have registers of their own.
        check("setp.eq.s32 p, a, 0;\n@p add.s32 b, a, 1;\nret;", "a", 1);
    }

    #[test]
    fn what_a_loop_needs_is_live_all_through_it() {
        // b is read behind the loop alone, c in every iteration; x is read before it is written.
        let looping = "mov.b32 b, 1;\nmov.b32 c, 2;\nmov.b32 a, 0;\nL: add.s32 a, a, c;\n\
                       setp.lt.s32 p, a, 9;\n@p bra L;\nst.global.b32 [x], b;\nret;";
        check(looping, "x", 5);
        // A guarded write leaves what was there before.
        check("@p mov.b32 a, 1;\nst.global.b32 [x], a;\nret;", "p a x", 3);
    }
}
