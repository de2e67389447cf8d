//! The base table: one row for each static instruction, from which every metric is summed.

use gpucast_interpreter::program::StaticInstruction;
use gpucast_ptx_frontend::isa::{InstructionClass, Opcode};
use gpucast_ptx_frontend::module::Location;
use gpucast_ptx_frontend::source::Span;
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::counts::{BranchCounts, MemoryCounts, WIDER_BYTES, WiderPasses};
use crate::operation::{Flops, class, class_metric, flops};
use crate::tensor::{ProductCounts, TensorOperations, tensor_operations};

/// The facts of an instruction that are known before it runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Description {
    /// The mnemonic.
    pub opcode: Opcode,
    /// The class that a profiler counts it as.
    pub class: InstructionClass,
    /// Its floating-point operations.
    pub flops: Option<Flops>,
    /// Its operations on matrices.
    pub tensor: Option<TensorOperations>,
    /// One-based line of the PTX text.
    pub line: u32,
    /// The position of the instruction in the PTX text.
    pub span: Span,
    /// The CUDA line, if `.loc` gives one.
    pub location: Option<Location>,
}

impl Description {
    /// Describes an instruction of a program.
    #[must_use]
    pub fn of(instruction: &StaticInstruction) -> Self {
        let resolved = &instruction.instruction;
        Self {
            opcode: resolved.opcode,
            class: class(resolved),
            flops: flops(resolved),
            tensor: tensor_operations(resolved),
            line: instruction.line,
            span: resolved.span,
            location: resolved.location,
        }
    }
}

/// The counts of one static instruction.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Index into the program's instructions.
    pub instruction: u32,
    /// The facts that are known before it runs.
    pub description: Description,
    /// Times that a warp issued it.
    pub warp_executions: u128,
    /// Times that a lane issued it, guard true or not.
    pub issued_lanes: u128,
    /// Times that a thread executed it: its guard was true.
    pub thread_executions: u128,
    /// The decisions of its lanes, if it is a conditional branch that ran.
    pub branch: Option<BranchCounts>,
    /// Its accesses to memory, by state space; empty for anything but memory instructions.
    pub memory: Vec<MemoryCounts>,
    /// Its operations on matrices, by format, if they are known only when it is issued.
    pub products: Vec<ProductCounts>,
}

impl Row {
    /// The row of an instruction that has not run.
    pub(crate) fn without_counts(instruction: u32, description: Description) -> Self {
        Self {
            instruction,
            description,
            warp_executions: 0,
            issued_lanes: 0,
            thread_executions: 0,
            branch: None,
            memory: Vec::new(),
            products: Vec::new(),
        }
    }

    /// Adds the counts of the same instruction in another launch.
    pub fn add(&mut self, other: &Self) {
        self.warp_executions += other.warp_executions;
        self.issued_lanes += other.issued_lanes;
        self.thread_executions += other.thread_executions;
        if let Some(branch) = other.branch {
            let total = self.branch.get_or_insert_default();
            total.taken_lanes += branch.taken_lanes;
            total.divergent += branch.divergent;
        }
        for counts in &other.memory {
            let same = |total: &&mut MemoryCounts| {
                (total.space, total.kind) == (counts.space, counts.kind)
            };
            match self.memory.iter_mut().find(same) {
                Some(total) => total.add(counts),
                None => self.memory.push(*counts),
            }
        }
        self.memory.sort_by_key(|counts| counts.space);
        for counts in &other.products {
            let same = |total: &&mut ProductCounts| total.format == counts.format;
            match self.products.iter_mut().find(same) {
                Some(total) => total.operations += counts.operations,
                None => self.products.push(*counts),
            }
        }
    }
}

/// The counts of one launch, instruction by instruction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BaseTable {
    /// The rows in order of the program.
    pub rows: Vec<Row>,
}

impl BaseTable {
    /// The rows grouped by a key, such as the PTX line, in order of the keys. Rows without a key
    /// are left out. [`BaseTable::by_source_line`] groups by CUDA line.
    ///
    /// ```
    /// # let table = gpucast_counters::table::BaseTable::default();
    /// let by_ptx_line = table.group_by(|row| Some(row.description.line));
    /// let by_mnemonic = table.group_by(|row| Some(row.description.opcode.text()));
    /// # assert!(by_ptx_line.is_empty() && by_mnemonic.is_empty());
    /// ```
    pub fn group_by<K: Ord>(&self, key: impl Fn(&Row) -> Option<K>) -> Vec<(K, Vec<&Row>)> {
        let mut groups = std::collections::BTreeMap::<K, Vec<&Row>>::new();
        for row in &self.rows {
            if let Some(key) = key(row) {
                groups.entry(key).or_default().push(row);
            }
        }
        groups.into_iter().collect()
    }
}

impl Serialize for BaseTable {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.rows.serialize(serializer)
    }
}

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut row = serializer.serialize_struct("Row", 10)?;
        row.serialize_field("ptx_line", &self.description.line)?;
        if let Some(location) = self.description.location {
            row.serialize_field("cuda_file", &location.file)?;
            row.serialize_field("cuda_line", &location.line)?;
        }
        row.serialize_field("opcode", self.description.opcode.text())?;
        row.serialize_field("counted_as", class_metric(self.description.class))?;
        row.serialize_field("warp_executions", &self.warp_executions)?;
        row.serialize_field("issued_lanes", &self.issued_lanes)?;
        row.serialize_field("thread_executions", &self.thread_executions)?;
        if let Some(branch) = &self.branch {
            row.serialize_field("branch", branch)?;
        }
        if !self.memory.is_empty() {
            row.serialize_field("memory", &self.memory)?;
        }
        row.end()
    }
}

impl Serialize for BranchCounts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut counts = serializer.serialize_struct("BranchCounts", 2)?;
        counts.serialize_field("taken_lanes", &self.taken_lanes)?;
        counts.serialize_field("divergent", &self.divergent)?;
        counts.end()
    }
}

impl Serialize for MemoryCounts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut counts = serializer.serialize_struct("MemoryCounts", 13)?;
        counts.serialize_field("space", self.space.text())?;
        counts.serialize_field("requests", &self.requests)?;
        counts.serialize_field("requested_bytes", &self.requested_bytes)?;
        counts.serialize_field("sectors", &self.sectors)?;
        counts.serialize_field("ideal_sectors", &self.ideal_sectors)?;
        counts.serialize_field("transactions", &self.transactions)?;
        counts.serialize_field("passes", &self.passes)?;
        counts.serialize_field("conflict_free", &self.conflict_free)?;
        counts.serialize_field("update_steps", &self.update_steps)?;
        if self.wider != <[WiderPasses; WIDER_BYTES.len()]>::default() {
            counts.serialize_field("wider_passes", &self.wider.map(|wider| wider.passes))?;
        }
        if let Some(traffic) = &self.traffic {
            counts.serialize_field("l1_hit_sectors", &traffic.l1_hit_sectors)?;
            counts.serialize_field("l2_sectors", &traffic.l2_sectors)?;
            counts.serialize_field("l2_hit_sectors", &traffic.l2_hit_sectors)?;
            counts.serialize_field("dram_read_sectors", &traffic.dram_read_sectors)?;
        }
        counts.end()
    }
}
