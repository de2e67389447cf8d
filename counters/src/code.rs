//! The static side of a program, and tables of its counts.

use std::sync::Arc;

use gpucast_interpreter::Program;

use crate::cache_operators::{LoadCaching, past_first_level};
use crate::counts::{BlockCount, BranchCounts, MemoryCounts};
use crate::recorder::Route;
use crate::row_key::RowKey;
use crate::sparse::SparseRows;
use crate::table::{BaseTable, Description, Row};
use crate::tensor::ProductCounts;

/// The static side of a program, as far as counting needs it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Code {
    pub(crate) kernel: String,
    /// First instruction and number of instructions of each block.
    pub(crate) blocks: Vec<(u32, u32)>,
    /// The guarded instructions, in the order of their lane counts.
    pub(crate) guarded: Vec<u32>,
    pub(crate) instructions: Vec<Description>,
    /// The route of each instruction's accesses.
    pub(crate) routes: Arc<[Route]>,
}

impl Code {
    pub(crate) fn of(program: &Program, loads: LoadCaching) -> Self {
        let block = |block: &gpucast_interpreter::program::Block| {
            (block.first_instruction, block.instruction_count)
        };
        Self {
            kernel: program.kernel().to_owned(),
            blocks: program.blocks().iter().map(block).collect(),
            guarded: program.guarded().to_vec(),
            instructions: program.instructions().iter().map(Description::of).collect(),
            routes: program
                .instructions()
                .iter()
                .map(|instruction| Route {
                    past_l1: past_first_level(&instruction.instruction, loads),
                    ..Route::default()
                })
                .collect(),
        }
    }

    /// The base table of the counts.
    pub(crate) fn table(
        &self,
        blocks: &[BlockCount],
        guarded_lanes: &[u128],
        branches: &SparseRows<BranchCounts>,
        memory: &SparseRows<MemoryCounts>,
        products: &SparseRows<u128>,
        has_caches: bool,
    ) -> BaseTable {
        let row = |(instruction, description): (usize, &Description)| {
            Row::without_counts(instruction as u32, *description)
        };
        let mut rows: Vec<Row> = self.instructions.iter().enumerate().map(row).collect();
        for (&(first, instructions), count) in self.blocks.iter().zip(blocks) {
            for row in rows.iter_mut().skip(first as usize).take(instructions as usize) {
                row.warp_executions += count.warps;
                row.issued_lanes += count.lanes;
                row.thread_executions += count.lanes;
            }
        }
        for (&instruction, &lanes) in self.guarded.iter().zip(guarded_lanes) {
            if let Some(row) = rows.get_mut(instruction as usize) {
                row.thread_executions = lanes;
            }
        }
        for (instruction, counts) in branches.iter() {
            if let Some(row) = rows.get_mut(instruction as usize) {
                row.branch = Some(*counts);
            }
        }
        for (key, counts) in memory.iter() {
            if let Some(row) = rows.get_mut(RowKey::of_index(key).instruction() as usize) {
                let mut counts = *counts;
                if has_caches {
                    counts.traffic.get_or_insert_default();
                }
                row.memory.push(counts);
            }
        }
        for (key, &operations) in products.iter() {
            if let Some(row) = rows.get_mut(ProductCounts::instruction_of(key) as usize) {
                row.products.push(ProductCounts::of_key(key, operations));
            }
        }
        for row in &mut rows {
            row.products.sort_by_key(|counts| counts.format);
            row.memory.sort_by_key(|counts| counts.space);
        }
        BaseTable { rows }
    }
}
