//! Instructions of a launch with their counts and stalls, for the source page.

use std::collections::BTreeMap;

use gpucast_counters::table::Row;
use serde::{Deserialize, Serialize};

use super::Figures;
use super::later::{REASONS, states};
use crate::input::loaded::Loaded;
use crate::run::cuda_file;

/// A PTX instruction. Nsight Compute lists machine code, which rules may only estimate.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct InstructionLine {
    /// Index into the kernel's instructions.
    pub instruction: u32,
    /// The text.
    pub text: String,
    /// The CUDA file, if the PTX has lines of one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Executions by warps.
    pub inst_executed: u64,
    /// Executions by threads, predicated off or not.
    pub thread_inst_executed: u64,
    /// Executions by threads that are not predicated off.
    pub thread_inst_executed_true: u64,
    /// Clocks of simulated warps by stall reason; none without a simulation.
    pub stalls: BTreeMap<String, f64>,
}

impl InstructionLine {
    /// Clocks of simulated warps that wait for this instruction to issue, or issue it.
    #[must_use]
    pub fn clocks(&self) -> f64 {
        // The sum of nothing would be a negative zero.
        self.stalls.values().fold(0.0, |sum, clocks| sum + clocks)
    }
}

impl Figures<'_> {
    /// The instructions of the launch's kernel, in order.
    #[must_use]
    pub fn lines(&self, loaded: &Loaded) -> Vec<InstructionLine> {
        let texts: Vec<&str> = loaded.source.text.lines().collect();
        let simulated = self.cycles.as_ref().and_then(|cycles| cycles.simulated.as_ref());
        let rows = self.launch.counts.table.rows.iter();
        let line = |row: &Row| {
            let place = row.description.location.and_then(|place| loaded.module.own_place(place));
            let text = (row.description.line as usize).checked_sub(1);
            let text = text.and_then(|at| texts.get(at)).copied().unwrap_or_default();
            let whole = |count: u128| u64::try_from(count).unwrap_or(u64::MAX);
            let clocks = simulated.map(|simulated| simulated.analysis.clocks_of([row.instruction]));
            let of_reason = |reason: &&str| {
                let states = states(reason)?;
                let clocks: f64 =
                    states.iter().map(|state| clocks.map_or(0.0, |all| all.of(*state))).sum();
                (clocks > 0.0).then(|| ((*reason).to_owned(), clocks))
            };
            InstructionLine {
                instruction: row.instruction,
                text: text.trim().replace('\t', " "),
                file: place.map(|place| cuda_file(loaded, place).to_owned()),
                line: place.map(|place| place.line),
                inst_executed: whole(row.warp_executions),
                thread_inst_executed: whole(row.issued_lanes),
                thread_inst_executed_true: whole(row.thread_executions),
                stalls: REASONS.iter().filter_map(of_reason).collect(),
            }
        };
        rows.map(line).collect()
    }
}
