//! The effect of each what-if on the launch that `sm-simulation` walks through.
//!
//! | file | changes |
//! |---|---|
//! | `requests` | sectors, lines, passes and levels of the recorded requests |
//! | `code` | machine instructions: left out, or of another unit |
//! | `atomics` | atomics in global memory, to words of the block in shared memory |
//! | `bytes` | loads of bytes in rounds of a loop, to vectors |
//! | `exchanges` | sums over threads, by shuffles |
//! | `merged` | CTAs, in whose place one does the work of several |
//! | `tiles` | loads from global memory, to tiles in shared memory |
//! | `shape` | CTAs of the grid, warps of a CTA, executions of blocks by a warp |
//!
//! Each change leaves the recorded ways of the warps as they are unless its name says otherwise.

mod atomics;
mod bytes;
mod code;
mod exchanges;
mod merged;
mod requests;
mod shape;
mod tiles;

use std::sync::Arc;

use gpucast_simulation::launch::Launch;

use super::editor::Editor;
use crate::predictor::{Conditions, InstructionFacts};

pub(super) use atomics::block_atomics;
pub(super) use code::{
    fast_arithmetic, fma, hoisted_accesses, independent_instructions, merged_loads, no_barriers,
    no_local_memory, single_precision, tensor_cores, vector_accesses,
};
pub(super) use exchanges::shuffles;
pub(super) use merged::merged_blocks;
pub(super) use requests::{
    dram_bytes, l2_hits, no_bank_conflicts, no_contention, perfect_coalescing,
};
pub(super) use shape::{even_waves, no_divergence, spread_blocks};
pub(super) use tiles::tiled_loads;

impl Editor {
    /// Changes each recorded launch, if there are any. Notes under `quantity` how many of its items
    /// `change` touched; a launch of which it touched none stays as it is.
    pub(super) fn launches(
        &mut self,
        quantity: &str,
        unit: &'static str,
        change: impl Fn(&mut Launch, &InstructionFacts) -> u64,
    ) {
        let touched = change_launches(&mut self.conditions, change);
        if touched > 0 {
            self.note(quantity, Some(0.0), touched as f64, unit);
        }
    }
}

fn change_launches(
    conditions: &mut Conditions,
    change: impl Fn(&mut Launch, &InstructionFacts) -> u64,
) -> u64 {
    let facts = conditions.evidence.instructions.clone().unwrap_or_default();
    let Some(simulation) = &mut conditions.evidence.simulation else { return 0 };
    let mut touched = 0;
    let mut all = simulation.as_ref().clone();
    for one in &mut all {
        let mut launch = one.launch.as_ref().clone();
        let changes = change(&mut launch, &facts);
        if changes > 0 {
            one.launch = Arc::new(launch);
            touched += changes;
        }
    }
    if touched > 0 {
        *simulation = Arc::new(all);
    }
    touched
}

#[cfg(test)]
mod tests;
