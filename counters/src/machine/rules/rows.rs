//! Rows: selected instructions times executions.

use gpucast_ptx_frontend::isa::Opcode;
use gpucast_ptx_frontend::types::StateSpace;

use super::super::MachineRow;
use super::branches::{control, home};
use super::family::{Constants, Family};
use super::flow::Dominators;
use super::graph::Graph;
use super::passes::MergedAccess;
use super::pipes::Pipes;
use super::select::{Operands, Selected, select};
use crate::table::BaseTable;

/// The executions of an instruction, by warps, lanes and threads.
#[derive(Clone, Copy, Debug)]
struct Executions {
    warps: u64,
    lanes: u64,
    threads: u64,
}

/// All machine instructions of the program, in order of the operations.
pub(super) fn rows(
    graph: &Graph<'_>,
    family: &Family,
    dominators: &Dominators,
    merged: &[MergedAccess],
    lanes_are_independent: bool,
    table: &BaseTable,
) -> Vec<MachineRow> {
    let mut rows = Vec::new();
    let mut operands = Operands::new(graph, family, dominators);
    let mut pipes = Pipes::new(family);
    preamble(graph, family, &mut rows);
    for block in &graph.blocks {
        let mut outstanding = 0;
        let mut stores_after_barrier = None;
        for index in block.first..block.end {
            let op = graph.op(index);
            if !op.is_live() {
                continue;
            }
            let own = executions(graph, table, index);
            let (moves, at) = operands.bring(op);
            let theirs = if at == op.block { own } else { of_block(graph, at) };
            let moves = moves.into_iter().flat_map(|selected| pipes.distribute(selected));
            rows.extend(moves.map(|selected| row(selected, index, theirs)));
            let mut push = |selected: Selected| {
                if op.opcode == Opcode::Mov {
                    rows.extend(
                        pipes.distribute(selected).into_iter().map(|one| row(one, index, own)),
                    );
                } else {
                    rows.push(row(selected, index, own));
                }
            };
            let wider = merged.iter().find(|access| access.leader == index);
            for mut selected in select(graph, family, index) {
                if let (Some(access), Some(wider)) = (&mut selected.access, wider) {
                    access.bytes = wider.bytes;
                }
                push(selected);
            }
            outstanding += u32::from(op.memory.is_some_and(|memory| {
                memory.space == Some(StateSpace::Global) && !op.results.is_empty()
            }));
            if family.load_barrier && outstanding == LOADS_OF_BARRIER {
                outstanding += 1;
                push(Selected::new("DEPBAR", 1));
            }
            if op.opcode == Opcode::Bar {
                let stores = stores_after_barrier.replace(0).unwrap_or(0);
                if family.pads && stores > 0 {
                    push(Selected::new("NOP", 1 + stores));
                }
            } else if op.opcode == Opcode::St {
                stores_after_barrier = stores_after_barrier.map(|stores| stores + 1);
            }
        }
    }
    for instruction in control(graph, family, dominators, lanes_are_independent) {
        let own = executions(graph, table, instruction.operation);
        let executions = match instruction.executions {
            Some((warps, lanes)) => Executions { warps, lanes, threads: lanes },
            None => own,
        };
        rows.push(row(instruction.selected, instruction.operation, executions));
    }
    rows.sort_by_key(|row| row.instruction);
    rows
}

/// Loads that are under way when a `DEPBAR` waits for the first of them.
const LOADS_OF_BARRIER: u32 = 4;

/// The instructions that every kernel begins with: the stack pointer, the generation's additions,
/// and the descriptor of global memory if the kernel uses any.
fn preamble(graph: &Graph<'_>, family: &Family, rows: &mut Vec<MachineRow>) {
    let Some(entry) = graph.blocks.first() else { return };
    let executions = of_block(graph, 0);
    let mut push = |selected: Selected| {
        if selected.count > 0 {
            rows.push(row(selected, entry.first, executions));
        }
    };
    // The stack pointer.
    push(match family.constants {
        Constants::Direct => Selected::new("MOV", 1),
        Constants::Uniform => Selected::constant(4),
    });
    push(Selected::new("SHFL", family.preamble));
    let global = graph.ops.iter().any(|op| {
        op.is_live()
            && op
                .memory
                .is_some_and(|memory| matches!(memory.space, None | Some(StateSpace::Global)))
    });
    push(Selected::new("ULDC", u32::from(global && family.descriptor)));
}

/// The executions of an unguarded instruction of a block.
fn of_block(graph: &Graph<'_>, block: u32) -> Executions {
    let own = &graph.blocks[block as usize];
    let home = &graph.blocks[home(graph, block) as usize];
    Executions { warps: home.warps, lanes: home.lanes, threads: own.lanes }
}

/// An operation of a block that has become guarded instructions is issued whenever the block is
/// that it belongs to now.
fn executions(graph: &Graph<'_>, table: &BaseTable, index: u32) -> Executions {
    let own = table.rows.get(index as usize);
    let share = |count: u64| count.div_ceil(u64::from(graph.op(index).shared_by));
    let (warps, lanes, threads) = own.map_or((0, 0, 0), |row| {
        (share(row.warp_executions), share(row.issued_lanes), share(row.thread_executions))
    });
    let block = graph.op(index).block;
    let home = home(graph, block);
    if home == block {
        return Executions { warps, lanes, threads };
    }
    let home = &graph.blocks[home as usize];
    Executions { warps: home.warps, lanes: home.lanes, threads }
}

fn row(selected: Selected, index: u32, executions: Executions) -> MachineRow {
    let count = u64::from(selected.count);
    MachineRow {
        mnemonic: selected.mnemonic.into(),
        class: selected.class,
        flops: selected.flops,
        access: selected.access,
        instruction: Some(index),
        warp_executions: executions.warps * count,
        issued_lanes: executions.lanes * count,
        thread_executions: if selected.is_idle { 0 } else { executions.threads * count },
    }
}
