//! Launch profiles as a store keeps them: whole, but for what the program says of its instructions,
//! the record of events, and the other tables that windows admit. Machine instructions must be
//! counted before, as they move the bounds of those tables.

use gpucast_interpreter::{AccessKind, Program};
use gpucast_ptx_frontend::isa::InstructionClass;
use gpucast_ptx_frontend::types::StateSpace;
use serde::{Deserialize, Serialize};

use crate::counts::{BranchCounts, MemoryCounts};
use crate::definitions::definition;
use crate::hierarchy::{L2Traffic, RowTraffic};
use crate::launch_profile::LaunchProfile;
use crate::machine::{BackEnd, MachineAccess, MachineProfile, MachineRow};
use crate::metric::{Kind, MetricValue, Metrics, Number};
use crate::operation::{FlopKind, Flops, Precision};
use crate::table::{BaseTable, Description, Row};
use crate::tensor::{ProductCounts, TensorFormat};
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
    machine: Option<StoredMachine>,
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
    branch: Option<StoredBranch>,
    memory: Vec<StoredMemory>,
    products: Vec<StoredProduct>,
}

/// The format stands at this place among all formats.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct StoredProduct {
    format: usize,
    operations: u128,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct StoredBranch {
    taken_lanes: u128,
    divergent: u128,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct StoredMemory {
    space: Space,
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
    traffic: Option<RowTraffic>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct StoredMachine {
    /// The assembler's version; none if rules made the instructions.
    ptxas: Option<String>,
    kind: Kind,
    target: String,
    registers_per_thread: Option<u32>,
    rows: Vec<StoredMachineRow>,
    notes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct StoredMachineRow {
    mnemonic: String,
    #[serde(with = "Class")]
    class: InstructionClass,
    flops: Option<StoredFlops>,
    access: Option<StoredAccess>,
    instruction: Option<u32>,
    warp_executions: u128,
    issued_lanes: u128,
    thread_executions: u128,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct StoredFlops {
    #[serde(with = "Format")]
    precision: Precision,
    #[serde(with = "Operation")]
    kind: FlopKind,
    per_thread: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct StoredAccess {
    space: Option<Space>,
    #[serde(with = "Access")]
    kind: AccessKind,
    bytes: u32,
}

/// A state space where serde wants a type of its own.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Space(#[serde(with = "SpaceName")] StateSpace);

// Serde matches each of these with the type that it names: a variant that is missing here is an
// error of the compiler.

#[derive(Serialize, Deserialize)]
#[serde(remote = "StateSpace")]
enum SpaceName {
    Reg,
    Sreg,
    Const,
    Global,
    Local,
    Param,
    Shared,
    Tex,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "AccessKind")]
enum Access {
    Load,
    LoadReadOnly,
    Store,
    Atomic,
    Reduction,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "InstructionClass")]
enum Class {
    Fp16,
    Fp32,
    Fp64,
    Integer,
    BitConvert,
    LoadStore,
    Control,
    InterThread,
    Texture,
    Tensor,
    Misc,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Precision")]
enum Format {
    Half,
    Single,
    Double,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "FlopKind")]
enum Operation {
    Add,
    Mul,
    Fma,
    Special,
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
            machine: self.machine.as_ref().map(StoredMachine::of),
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
            machine: stored.machine.map(StoredMachine::into_machine),
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
        let Row { instruction, description: _, warp_executions, .. } = *row;
        let branch = |&BranchCounts { taken_lanes, divergent }: &BranchCounts| StoredBranch {
            taken_lanes,
            divergent,
        };
        Self {
            instruction,
            warp_executions,
            issued_lanes: row.issued_lanes,
            thread_executions: row.thread_executions,
            branch: row.branch.as_ref().map(branch),
            memory: row.memory.iter().map(StoredMemory::of).collect(),
            products: row.products.iter().map(StoredProduct::of).collect(),
        }
    }

    fn into_row(self, program: &Program) -> Option<Row> {
        let instruction = program.instructions().get(self.instruction as usize)?;
        let branch =
            |StoredBranch { taken_lanes, divergent }| BranchCounts { taken_lanes, divergent };
        let products = self.products.into_iter().map(StoredProduct::into_counts);
        Some(Row {
            instruction: self.instruction,
            description: Description::of(instruction),
            warp_executions: self.warp_executions,
            issued_lanes: self.issued_lanes,
            thread_executions: self.thread_executions,
            branch: self.branch.map(branch),
            memory: self.memory.into_iter().map(StoredMemory::into_counts).collect(),
            products: products.collect::<Option<_>>()?,
        })
    }
}

impl StoredProduct {
    fn of(counts: &ProductCounts) -> Self {
        Self { format: counts.format as usize, operations: counts.operations }
    }

    fn into_counts(self) -> Option<ProductCounts> {
        let format = *TensorFormat::ALL.get(self.format)?;
        Some(ProductCounts { format, operations: self.operations })
    }
}

impl StoredMemory {
    fn of(counts: &MemoryCounts) -> Self {
        let &MemoryCounts {
            space,
            kind,
            requests,
            requested_bytes,
            sectors,
            ideal_sectors,
            transactions,
            passes,
            conflict_free,
            update_steps,
            traffic,
        } = counts;
        Self {
            space: Space(space),
            kind,
            requests,
            requested_bytes,
            sectors,
            ideal_sectors,
            transactions,
            passes,
            conflict_free,
            update_steps,
            traffic,
        }
    }

    fn into_counts(self) -> MemoryCounts {
        MemoryCounts {
            space: self.space.0,
            kind: self.kind,
            requests: self.requests,
            requested_bytes: self.requested_bytes,
            sectors: self.sectors,
            ideal_sectors: self.ideal_sectors,
            transactions: self.transactions,
            passes: self.passes,
            conflict_free: self.conflict_free,
            update_steps: self.update_steps,
            traffic: self.traffic,
        }
    }
}

impl StoredMachine {
    fn of(machine: &MachineProfile) -> Self {
        let MachineProfile { back_end, kind, target, registers_per_thread, rows, notes } = machine;
        Self {
            ptxas: match back_end {
                BackEnd::Ptxas { version } => Some(version.clone()),
                BackEnd::Rules => None,
            },
            kind: *kind,
            target: target.clone(),
            registers_per_thread: *registers_per_thread,
            rows: rows.iter().map(StoredMachineRow::of).collect(),
            notes: notes.clone(),
        }
    }

    fn into_machine(self) -> MachineProfile {
        MachineProfile {
            back_end: self.ptxas.map_or(BackEnd::Rules, |version| BackEnd::Ptxas { version }),
            kind: self.kind,
            target: self.target,
            registers_per_thread: self.registers_per_thread,
            rows: self.rows.into_iter().map(StoredMachineRow::into_row).collect(),
            notes: self.notes,
        }
    }
}

impl StoredMachineRow {
    fn of(row: &MachineRow) -> Self {
        let flops =
            |Flops { precision, kind, per_thread }| StoredFlops { precision, kind, per_thread };
        let access = |MachineAccess { space, kind, bytes }| StoredAccess {
            space: space.map(Space),
            kind,
            bytes,
        };
        Self {
            mnemonic: row.mnemonic.to_string(),
            class: row.class,
            flops: row.flops.map(flops),
            access: row.access.map(access),
            instruction: row.instruction,
            warp_executions: row.warp_executions,
            issued_lanes: row.issued_lanes,
            thread_executions: row.thread_executions,
        }
    }

    fn into_row(self) -> MachineRow {
        let flops =
            |StoredFlops { precision, kind, per_thread }| Flops { precision, kind, per_thread };
        let access = |StoredAccess { space, kind, bytes }| MachineAccess {
            space: space.map(|Space(space)| space),
            kind,
            bytes,
        };
        MachineRow {
            mnemonic: self.mnemonic.into(),
            class: self.class,
            flops: self.flops.map(flops),
            access: self.access.map(access),
            instruction: self.instruction,
            warp_executions: self.warp_executions,
            issued_lanes: self.issued_lanes,
            thread_executions: self.thread_executions,
        }
    }
}
