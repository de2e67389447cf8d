//! Launch profiles as a store keeps them: whole, but for what the program says of its instructions,
//! the record of events, and the other tables that windows admit. Machine instructions must be
//! counted before, as they move the bounds of those tables.

use gpucast_interpreter::{AccessKind, Program};
use gpucast_ptx_frontend::types::StateSpace;
use serde::{Deserialize, Serialize};

use crate::counts::{BranchCounts, MemoryCounts, WIDER_BYTES, WiderPasses};
use crate::definitions::definition;
use crate::foreign::{Access, SpaceName};
use crate::hierarchy::{L2Traffic, RowTraffic};
use crate::launch_profile::LaunchProfile;
use crate::machine::{BackEnd, MachineProfile, MachineRow};
use crate::metric::{Kind, MetricValue, Metrics, Number};
use crate::table::{BaseTable, Description, Row};
use crate::tensor::ProductCounts;
use crate::totals::{Extent, LaunchFacts, Replay};

/// A [`LaunchProfile`] that can be written and read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredProfile {
    kernel: String,
    grid: [u32; 3],
    block: [u32; 3],
    invocations: u64,
    metrics: Vec<StoredMetric>,
    ptx_metrics: Vec<StoredMetric>,
    /// Bounds of estimated metrics, by name.
    intervals: Vec<(String, [f64; 2])>,
    machine: Option<Machine>,
    rows: Vec<StoredRow>,
    launch: LaunchFacts,
    l2: L2Traffic,
    replay: Replay,
}

/// As [`Number`], with a tag in every format.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum StoredNumber {
    /// A count.
    Count(u128),
    /// A real.
    Real(f64),
}

impl From<Number> for StoredNumber {
    fn from(number: Number) -> Self {
        match number {
            Number::Count(count) => Self::Count(count),
            Number::Real(real) => Self::Real(real),
        }
    }
}

impl From<StoredNumber> for Number {
    fn from(number: StoredNumber) -> Self {
        match number {
            StoredNumber::Count(count) => Self::Count(count),
            StoredNumber::Real(real) => Self::Real(real),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct StoredMetric {
    name: String,
    value: StoredNumber,
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct StoredRow {
    instruction: u32,
    warp_executions: u128,
    issued_lanes: u128,
    thread_executions: u128,
    branch: Option<Branch>,
    memory: Vec<Memory>,
    products: Vec<ProductCounts>,
}

// A document has these counts with others that follow from them, so that a store has its own form.

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Machine(#[serde(with = "MachineFields")] MachineProfile);

#[derive(Serialize, Deserialize)]
#[serde(remote = "MachineProfile")]
struct MachineFields {
    back_end: BackEnd,
    kind: Kind,
    target: String,
    registers_per_thread: Option<u32>,
    rows: Vec<MachineRow>,
    notes: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Branch(#[serde(with = "BranchFields")] BranchCounts);

#[derive(Serialize, Deserialize)]
#[serde(remote = "BranchCounts")]
struct BranchFields {
    taken_lanes: u128,
    divergent: u128,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Memory(#[serde(with = "MemoryFields")] MemoryCounts);

#[derive(Serialize, Deserialize)]
#[serde(remote = "MemoryCounts")]
struct MemoryFields {
    #[serde(with = "SpaceName")]
    space: StateSpace,
    #[serde(with = "Access")]
    kind: AccessKind,
    requests: u128,
    requested_bytes: u128,
    sectors: u128,
    ideal_sectors: u128,
    transactions: u128,
    passes: u128,
    conflict_free: u128,
    update_steps: u128,
    wider: [WiderPasses; WIDER_BYTES.len()],
    traffic: Option<RowTraffic>,
}

impl LaunchProfile {
    /// The profile for a store, without its [`trace`](LaunchProfile::trace).
    #[must_use]
    pub fn to_stored(&self) -> StoredProfile {
        StoredProfile {
            kernel: self.kernel.clone(),
            grid: self.grid,
            block: self.block,
            invocations: self.invocations,
            metrics: stored_metrics(&self.metrics),
            ptx_metrics: stored_metrics(&self.ptx_metrics),
            intervals: self
                .intervals
                .iter()
                .map(|(name, &bounds)| (name.clone(), bounds))
                .collect(),
            machine: self.machine.clone().map(Machine),
            rows: self.table.rows.iter().map(StoredRow::of).collect(),
            launch: self.launch,
            l2: self.l2,
            replay: self.replay,
        }
    }

    /// The profile of a launch of `program` that was stored; `None` if it was another program's.
    #[must_use]
    pub fn from_stored(stored: StoredProfile, program: &Program) -> Option<Self> {
        if stored.kernel != program.kernel() {
            return None;
        }
        let rows: Option<Vec<Row>> =
            stored.rows.into_iter().map(|row| row.into_row(program)).collect();
        Some(Self {
            kernel: stored.kernel,
            grid: stored.grid,
            block: stored.block,
            invocations: stored.invocations,
            metrics: metrics(stored.metrics)?,
            ptx_metrics: metrics(stored.ptx_metrics)?,
            machine: stored.machine.map(|Machine(machine)| machine),
            intervals: stored.intervals.into_iter().collect(),
            table: BaseTable { rows: rows? },
            trace: None,
            launch: stored.launch,
            l2: stored.l2,
            replay: stored.replay,
            // Estimates are not kept.
            extent: Extent::Grid,
            doubt: None,
        })
    }
}

fn stored_metrics(metrics: &Metrics) -> Vec<StoredMetric> {
    let stored = |(name, metric): (&String, &MetricValue)| StoredMetric {
        name: name.clone(),
        value: metric.value.into(),
        kind: metric.kind,
    };
    metrics.iter().map(stored).collect()
}

fn metrics(stored: Vec<StoredMetric>) -> Option<Metrics> {
    let metric = |StoredMetric { name, value, kind }| {
        let unit = definition(&name)?.unit;
        Some((name, MetricValue { value: value.into(), unit, kind }))
    };
    stored.into_iter().map(metric).collect()
}

impl StoredRow {
    fn of(row: &Row) -> Self {
        Self {
            instruction: row.instruction,
            warp_executions: row.warp_executions,
            issued_lanes: row.issued_lanes,
            thread_executions: row.thread_executions,
            branch: row.branch.map(Branch),
            memory: row.memory.iter().copied().map(Memory).collect(),
            products: row.products.clone(),
        }
    }

    fn into_row(self, program: &Program) -> Option<Row> {
        let instruction = program.instructions().get(self.instruction as usize)?;
        Some(Row {
            instruction: self.instruction,
            description: Description::of(instruction),
            warp_executions: self.warp_executions,
            issued_lanes: self.issued_lanes,
            thread_executions: self.thread_executions,
            branch: self.branch.map(|Branch(counts)| counts),
            memory: self.memory.into_iter().map(|Memory(counts)| counts).collect(),
            products: self.products,
        })
    }
}
