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
    /// Accesses to local memory.
    pub local: Vec<u32>,
    /// Multiplications whose products only additions read, and that nobody may join to them.
    pub fusable: Vec<u32>,
}
