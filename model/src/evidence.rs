//! What is known of a launch's execution besides its metrics.

use std::collections::BTreeMap;
use std::sync::Arc;

use gpucast_counters::features::Features;
use gpucast_counters::stages::Stages;
use serde::{Deserialize, Serialize};

use crate::sm_simulation::{Invocations, Orders, Simulator};

/// The facts of an execution that models, changes and advice read besides metrics, as far as
/// somebody has asked for them.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    /// The counts between barriers, of all invocations.
    pub stages: Option<Arc<Stages>>,
    /// The features of the launch's invocations, each with the number of consecutive invocations
    /// that have them.
    pub features: Option<Arc<Vec<(Features, u64)>>>,
    /// Recorded CTAs and their machine code, by kinds of invocation.
    pub simulation: Option<Arc<Vec<Invocations>>>,
    /// Who simulates them, if results of earlier runs may be known.
    pub simulator: Option<Arc<dyn Simulator>>,
    /// The orders of issue that simulations follow, where times of nearly the same GPUs are
    /// compared.
    pub orders: Option<Arc<Orders>>,
    /// Facts of the PTX instructions that changes of that record need, where there is one
    /// ([`crate::what_if`]).
    pub instructions: Option<Arc<InstructionFacts>>,
}

/// Facts of a launch's PTX instructions. Instructions are indices into the program's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct InstructionFacts {
    /// Mean active lanes of an execution of each instruction; 0 if it was not executed.
    pub active_lanes: Vec<f64>,
    /// Groups of accesses of a thread to addresses that follow each other, in order of the
    /// addresses; each could be one access.
    pub neighbours: Vec<Vec<u32>>,
    /// Loads and stores of a loop whose address is the same in each round.
    pub invariant: Vec<u32>,
    /// Loads of global memory from an address that the same block loaded before, with a store to
    /// another address between them.
    pub repeated: Vec<u32>,
    /// Loads of global memory most of whose sectors the CTA has asked for before, with the share of
    /// these sectors. Their addresses depend on no loaded data.
    pub reread: BTreeMap<u32, f64>,
    /// Divisions, remainders, roots and transcendentals.
    pub slow: Vec<u32>,
    /// Loads of one or two bytes of global memory, in a loop of one block. The bytes of
    /// neighbouring lanes lie side by side. The number is that of rounds whose bytes fill the
    /// widest access.
    pub bytes: BTreeMap<u32, u32>,
    /// Accesses to local memory.
    pub local: Vec<u32>,
    /// Multiplications whose products only additions read, and that nobody may join to them.
    pub fusable: Vec<u32>,
    /// Loads, stores and arithmetic on data that differ from CTA to CTA, each with the axes of the
    /// grid along which it differs. One CTA in the place of several does these for each of them. It
    /// does all else once.
    pub work: BTreeMap<u32, Axes>,
    /// Loads and stores of shared memory by which threads add up what they have, round by round.
    pub exchanges: Vec<u32>,
}

/// Axes of a grid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Axes {
    /// Along x.
    pub x: bool,
    /// Along y.
    pub y: bool,
}

impl Axes {
    /// Neither.
    pub const NONE: Self = Self { x: false, y: false };
}

/// CTAs of a grid that one CTA takes the place of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Merged {
    /// Along x.
    pub x: u64,
    /// Along y.
    pub y: u64,
}

impl Merged {
    /// All of them.
    #[must_use]
    pub const fn all(self) -> u64 {
        self.x * self.y
    }
}

impl InstructionFacts {
    /// Returns true if some work is the same along x and some along y, as in a product of matrices:
    /// CTAs merged along both share the data of either.
    #[must_use]
    pub fn shares_along_both(&self) -> bool {
        let has = |x, y| self.work.values().any(|&axes| axes == Axes { x, y });
        has(true, false) && has(false, true)
    }

    /// The CTAs that `all` in the place of one are best chosen from: a square where that shares
    /// data, else a row.
    #[must_use]
    pub fn merged(&self, all: u64) -> Merged {
        let side = all.isqrt();
        if self.shares_along_both() && side * side == all {
            Merged { x: side, y: side }
        } else if self.work.values().any(|axes| axes.x) {
            Merged { x: all, y: 1 }
        } else {
            Merged { x: 1, y: all }
        }
    }

    /// How often an instruction is done in the place of those of merged CTAs.
    #[must_use]
    pub fn times(&self, instruction: u32, merged: Merged) -> u64 {
        let axes = self.work.get(&instruction).copied().unwrap_or_default();
        let along = |differs, ctas| if differs { ctas } else { 1 };
        along(axes.x, merged.x) * along(axes.y, merged.y)
    }
}
