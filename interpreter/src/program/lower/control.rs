//! Branches, returns, barriers, and the ends of blocks.

use std::collections::HashMap;

use gpucast_ptx_frontend::Module;
use gpucast_ptx_frontend::ScalarType as T;
use gpucast_ptx_frontend::cfg::{BlockId, ControlFlowGraph};
use gpucast_ptx_frontend::isa::{Modifier as M, Opcode};
use gpucast_ptx_frontend::module::{
    Body, FunctionId, Guard, Instruction, LabelId, Operand, TargetList,
};

use super::super::op::{Code, GUARD_REPEATED, GuardPredicate, NO_BLOCK, barrier as flag};
use super::super::side_tables;
use super::builder::{Builder, Lowered, Slot, operand};

/// Places of functions and their blocks in the program.
#[derive(Debug, Default)]
pub(in crate::program) struct BlockTargets {
    functions: HashMap<FunctionId, FunctionTargets>,
    blocks: u32,
}

#[derive(Debug)]
struct FunctionTargets {
    first_instruction: u32,
    entry: u32,
    /// Program block of each graph block that can be reached.
    blocks: HashMap<BlockId, u32>,
}

impl BlockTargets {
    /// Number the blocks of a function.
    pub(super) fn enter(&mut self, function: FunctionId, first: u32, graph: &ControlFlowGraph) {
        let entry = self.blocks;
        let numbered = graph.reverse_post_order().iter().zip(entry..);
        let blocks: HashMap<_, _> = numbered.map(|(&block, index)| (block, index)).collect();
        self.blocks += blocks.len() as u32;
        self.functions
            .insert(function, FunctionTargets { first_instruction: first, entry, blocks });
    }

    /// The program's number of a function's first instruction.
    pub(super) fn first_instruction(&self, function: FunctionId) -> u32 {
        self.functions.get(&function).map_or(0, |targets| targets.first_instruction)
    }

    /// The program's number of a function's block.
    pub(super) fn block(&self, function: FunctionId, block: BlockId) -> Option<u32> {
        self.functions.get(&function)?.blocks.get(&block).copied()
    }

    /// The block that a function begins with.
    pub(super) fn entry(&self, function: FunctionId) -> Option<u32> {
        self.functions.get(&function).map(|targets| targets.entry)
    }
}

/// The surroundings of an instruction that control flow needs.
pub(super) struct Context<'a> {
    pub(super) module: &'a Module,
    pub(super) graph: &'a ControlFlowGraph,
    pub(super) block: BlockId,
    pub(super) targets: &'a BlockTargets,
}

/// The block that begins at an instruction; one without instructions at the end of the text.
fn block_at(graph: &ControlFlowGraph, instruction: u32) -> Option<BlockId> {
    graph.block_of(instruction).or_else(|| {
        let last = graph.blocks().last()?;
        let ends_here = last.instructions.is_empty() && last.instructions.start == instruction;
        ends_here.then(|| BlockId(graph.blocks().len() as u32 - 1))
    })
}

impl Context<'_> {
    fn body<'m>(&'m self, builder: &Builder<'_>) -> Option<&'m Body> {
        self.module.functions[builder.function.index()].body.as_ref()
    }

    /// The program's block that a label stands before.
    fn label(&self, builder: &Builder<'_>, label: LabelId) -> Lowered<u32> {
        let body = self.body(builder).ok_or("branch outside a function")?;
        let at = body.labels[label.index()].instruction;
        let block = block_at(self.graph, at);
        block.and_then(|block| self.targets.block(builder.function, block)).ok_or_else(|| {
            format!("label {} is at the end of the function", body.labels[label.index()].name)
        })
    }

    /// The block that follows in the text.
    fn fall_through(&self, builder: &Builder<'_>) -> u32 {
        let end = self.graph.blocks()[self.block.index()].instructions.end;
        let next = block_at(self.graph, end);
        next.and_then(|block| self.targets.block(builder.function, block)).unwrap_or(NO_BLOCK)
    }
}

impl Builder<'_> {
    /// Guard the operations emitted next.
    pub(super) fn set_guard(&mut self, guard_index: u32, guard: Guard) {
        let invert = if guard.negated { u32::MAX } else { 0 };
        let predicate = match self.slot(guard.register) {
            Slot::Predicate(predicate) => predicate,
            // The resolver has checked that guards are predicates.
            Slot::Row { .. } => self.temporary_predicate(),
        };
        let index = guard_index as usize;
        let unused = GuardPredicate { predicate, invert };
        if self.guards.len() <= index {
            self.guards.resize(index + 1, unused);
        }
        self.guards[index] = unused;
        self.guard = guard_index + 1;
    }

    /// Keeps the present value of the guard of the instruction being lowered, whatever the
    /// instruction's own operations write.
    pub(super) fn preserve_guard(&mut self) {
        let Some(index) = (self.guard & !GUARD_REPEATED).checked_sub(1) else { return };
        let saved = self.temporary_predicate();
        let predicate = self.guards[index as usize].predicate;
        let guard = std::mem::take(&mut self.guard);
        self.emit(Code::PredicateLogic, 3, saved, [predicate, predicate, 0]);
        self.guard = guard;
        self.guards[index as usize].predicate = saved;
    }
}

/// The mnemonic with its modifiers, as written.
pub(super) fn full_mnemonic(instruction: &Instruction) -> String {
    let modifiers: String = instruction.modifiers.iter().map(|m| format!(".{m}")).collect();
    format!("{}{modifiers}", instruction.opcode.text())
}

/// `bra`.
pub(super) fn branch(
    builder: &mut Builder<'_>,
    instruction: &Instruction,
    context: &Context<'_>,
) -> Lowered<()> {
    let Operand::Label(label) = operand(instruction, 0)? else {
        return Err("a branch needs a label".to_owned());
    };
    let taken = context.label(builder, *label)?;
    if instruction.guard.is_none() {
        builder.emit(Code::Jump, 0, 0, [taken, 0, 0]);
    } else {
        let fall_through = context.fall_through(builder);
        builder.emit(Code::Branch, 0, 0, [taken, fall_through, 0]);
    }
    Ok(())
}

/// `brx.idx`.
pub(super) fn branch_indexed(
    builder: &mut Builder<'_>,
    instruction: &Instruction,
    context: &Context<'_>,
) -> Lowered<()> {
    let index = builder.value(operand(instruction, 0)?, T::U32)?;
    let Operand::Targets(list) = operand(instruction, 1)? else {
        return Err("brx.idx needs a list of targets".to_owned());
    };
    let body = context.body(builder).ok_or("branch outside a function")?;
    let TargetList::Labels(labels) = &body.target_lists[list.index()] else {
        return Err("brx.idx needs a list of labels".to_owned());
    };
    let targets: Result<Vec<_>, _> =
        labels.iter().map(|&label| context.label(builder, label)).collect();
    let table = side_tables::add(&mut builder.tables.branch_tables, targets?);
    let fall_through = context.fall_through(builder);
    builder.emit(Code::BranchIndexed, 0, 0, [index, fall_through, table]);
    Ok(())
}

/// `ret` and `exit`.
pub(super) fn leave(builder: &mut Builder<'_>, context: &Context<'_>, code: Code) -> Lowered<()> {
    if code == Code::Return {
        super::call::epilogue(builder)?;
    }
    let fall_through = context.fall_through(builder);
    builder.emit(code, 0, 0, [0, fall_through, 0]);
    Ok(())
}

/// `bar` and `barrier` of the CTA.
pub(super) fn barrier(builder: &mut Builder<'_>, instruction: &Instruction) -> Lowered<()> {
    let kind = if instruction.has(M::Arrive) {
        flag::ARRIVE
    } else if instruction.has(M::Popc) {
        flag::REDUCE_POPC
    } else if instruction.has(M::And) {
        flag::REDUCE_AND
    } else if instruction.has(M::Or) {
        flag::REDUCE_OR
    } else {
        flag::SYNC
    };
    let reduces = kind >= flag::REDUCE_POPC;
    let aligned = instruction.opcode == Opcode::Bar || instruction.has(M::Aligned);
    let mut n = kind | if aligned { flag::ALIGNED } else { 0 };
    let mut operands = &instruction.operands[..];
    let destination = if reduces {
        let (first, rest) = operands.split_first().ok_or("operands are missing")?;
        operands = rest;
        Some(first)
    } else {
        None
    };
    let mut predicate = 0;
    if reduces {
        let (last, rest) = operands.split_last().ok_or("operands are missing")?;
        operands = rest;
        let (register, negated) = builder.predicate(last)?;
        predicate = register;
        n |= if negated { flag::INVERT_C } else { 0 };
    }
    let id = operands.first().ok_or("the barrier's number is missing")?;
    n |= if matches!(id, Operand::Immediate(_)) { flag::LITERAL } else { 0 };
    let id = builder.value(id, T::U32)?;
    let count = match operands.get(1) {
        Some(count) => {
            n |= flag::COUNTED;
            builder.value(count, T::U32)?
        }
        None => 0,
    };
    match destination {
        None => builder.emit(Code::Barrier, n, 0, [id, count, predicate]),
        Some(destination) if kind == flag::REDUCE_POPC => {
            return builder.define(destination, T::U32, |builder, row| {
                builder.emit(Code::Barrier, n, row, [id, count, predicate]);
                Ok(())
            });
        }
        Some(destination) => {
            let result = builder.predicate_destination(destination)?;
            builder.emit(Code::Barrier, n, result, [id, count, predicate]);
        }
    }
    Ok(())
}

/// `bar.warp.sync`.
pub(super) fn barrier_warp(builder: &mut Builder<'_>, instruction: &Instruction) -> Lowered<()> {
    let members = builder.value(operand(instruction, 0)?, T::U32)?;
    builder.emit(Code::WarpSync, 0, 0, [members, 0, 0]);
    Ok(())
}

/// End a block that does not end in a branch: jump to the block that follows, or leave the
/// function where the text ends.
pub(super) fn close_block(
    builder: &mut Builder<'_>,
    targets: &BlockTargets,
    graph: &ControlFlowGraph,
    block: BlockId,
    first_op: u32,
) -> Lowered<()> {
    // The block's own operations: fences and hints have none.
    let ends = builder.ops[first_op as usize..].last().is_some_and(|op| {
        matches!(
            op.code,
            Code::Jump | Code::Branch | Code::BranchIndexed | Code::Return | Code::Exit
        ) && (op.guard == 0 || op.b != NO_BLOCK)
    });
    if ends {
        return Ok(());
    }
    let end = graph.blocks()[block.index()].instructions.end;
    // An empty block at the end of the text begins where it ends.
    let next = block_at(graph, end).filter(|&next| next != block);
    match next.and_then(|next| targets.block(builder.function, next)) {
        Some(next) => {
            builder.emit(Code::Jump, 0, 0, [next, 0, 0]);
        }
        None => {
            super::call::epilogue(builder)?;
            builder.emit(Code::Return, 0, 0, [0; 3]);
        }
    }
    Ok(())
}
