//! Rows: emitted instructions times executions.

use gpucast_counters::machine::MachineRow;
use gpucast_counters::table::BaseTable;
use gpucast_simulation::Combining;

use super::branches::{home, outside_of, run_into};
use super::code_place::CodePlace;
use super::emit::{Emission, Emitted};
use super::graph::Graph;

/// The executions of an instruction, by warps, lanes and threads.
#[derive(Clone, Copy, Debug)]
struct Executions {
    warps: u128,
    lanes: u128,
    threads: u128,
}

/// All machine instructions of the program, in order of the operations.
pub(super) fn rows(graph: &Graph<'_>, emission: &Emission, table: &BaseTable) -> Vec<MachineRow> {
    let of = |emitted: &Emitted| row(emitted, executions(graph, table, emitted));
    emission.instructions.iter().map(of).collect()
}

fn executions(graph: &Graph<'_>, table: &BaseTable, emitted: &Emitted) -> Executions {
    match emitted.place {
        CodePlace::Operation => of_operation(graph, table, emitted.operation),
        CodePlace::Block(block) => of_block(graph, block),
        CodePlace::Meeting(block) => {
            let block = &graph.blocks[block as usize];
            Executions { warps: block.warps, lanes: block.lanes, threads: block.lanes }
        }
        CodePlace::Entries(block) => of_those(graph, outside_of(graph, block), block),
        CodePlace::RunInto(block) => {
            of_those(graph, run_into(graph, block).unwrap_or_default(), block)
        }
    }
}

/// The executions of some blocks before `block`, as far as they lead there.
fn of_those(graph: &Graph<'_>, blocks: impl IntoIterator<Item = u32>, block: u32) -> Executions {
    let homes = blocks.into_iter().map(|from| &graph.blocks[home(graph, from) as usize]);
    let (warps, lanes) =
        homes.fold((0, 0), |(warps, lanes), from| (warps + from.warps, lanes + from.lanes));
    let this = &graph.blocks[block as usize];
    let lanes = lanes.min(this.lanes);
    Executions { warps: warps.min(this.warps), lanes, threads: lanes }
}

/// The executions of an unguarded instruction of a block.
fn of_block(graph: &Graph<'_>, block: u32) -> Executions {
    let own = &graph.blocks[block as usize];
    let home = &graph.blocks[home(graph, block) as usize];
    Executions { warps: home.warps, lanes: home.lanes, threads: own.lanes }
}

/// An operation of a block that has become guarded instructions is issued whenever the block is
/// that it belongs to now.
fn of_operation(graph: &Graph<'_>, table: &BaseTable, index: u32) -> Executions {
    let own = table.rows.get(index as usize);
    let share = |count: u128| count.div_ceil(u128::from(graph.op(index).shared_by));
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

fn row(emitted: &Emitted, executions: Executions) -> MachineRow {
    let selected = &emitted.selected;
    let count = u128::from(selected.count);
    MachineRow {
        mnemonic: selected.mnemonic.into(),
        class: selected.class,
        flops: selected.flops,
        access: selected.access,
        instruction: Some(emitted.operation),
        warp_executions: executions.warps * count,
        issued_lanes: executions.lanes * count,
        thread_executions: match selected.combining {
            _ if selected.is_idle => 0,
            Some(Combining::Elected) => executions.warps.min(executions.threads) * count,
            _ => executions.threads * count,
        },
    }
}
