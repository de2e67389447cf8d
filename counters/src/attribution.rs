//! Counts of parts of a program: of the instructions of a line, say, and their share of the whole.

use std::collections::BTreeMap;

use gpucast_ptx_frontend::Module;
use gpucast_ptx_frontend::types::StateSpace;
use serde::Serialize;

use crate::machine::{MachineProfile, SharedPasses, shared_passes};
use crate::table::{BaseTable, Row};
use crate::totals::Direction;

/// A line of the user's own source ([`Module::own_place`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceLine {
    /// The `.file` index.
    pub file: u32,
    /// One-based.
    pub line: u32,
}

impl SourceLine {
    /// The line that an instruction belongs to: that of the call, if a library's code was inlined.
    /// `None` if the module names none, or line 0, by which compilers say the same.
    #[must_use]
    pub fn of(module: &Module, row: &Row) -> Option<Self> {
        let own = module.own_place(row.description.location?).filter(|own| own.line > 0)?;
        Some(Self { file: own.file, line: own.line })
    }
}

impl BaseTable {
    /// The rows grouped by the line of the user's own source, in order of file and line. Those
    /// without a line come first.
    #[must_use]
    pub fn by_source_line(&self, module: &Module) -> Vec<(Option<SourceLine>, Vec<&Row>)> {
        self.group_by(|row| Some(SourceLine::of(module, row)))
    }
}

/// The counts of a set of instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PartCounts {
    /// Static PTX instructions.
    pub instructions: u64,
    /// Times that a warp issued one.
    pub warp_executions: u128,
    /// Times that a lane issued one, guard true or not.
    pub issued_lanes: u128,
    /// Times that a thread executed one: its guard was true.
    pub thread_executions: u128,
    /// Times that a warp issued a machine instruction that stands for one, if they are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine_warp_executions: Option<u128>,
    /// Times that a warp issued a store or load of a spilled register that stands for one.
    #[serde(skip_serializing_if = "is_zero")]
    pub spills: u128,
    /// Conditional branches issued by a warp.
    pub branches: u128,
    /// The branches whose lanes went different ways.
    pub divergent_branches: u128,
    /// Executions by a warp of memory instructions with at least one lane that takes part.
    pub requests: u128,
    /// Bytes that the lanes asked for.
    pub requested_bytes: u128,
    /// Sectors of global and local memory.
    pub sectors: u128,
    /// Sectors that the same requests would move if their lanes accessed consecutive bytes.
    pub ideal_sectors: u128,
    /// Transactions of global and local memory.
    pub transactions: u128,
    /// Requests to shared memory: the machine's if they are known.
    pub shared_requests: u128,
    /// Passes over the banks of shared memory.
    pub shared_passes: u128,
    /// Passes that the same requests would take without conflicts of banks.
    pub shared_conflict_free: u128,
    /// Passes over the constant cache.
    pub constant_passes: u128,
    /// DRAM read transactions that the requests caused; `None` without caches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dram_read_sectors: Option<u64>,
}

fn is_zero(count: &u128) -> bool {
    *count == 0
}

impl PartCounts {
    /// Passes of shared accesses over those that they would take without conflicts; `None` if there
    /// were no accesses.
    #[must_use]
    pub fn conflict_degree(&self) -> Option<f64> {
        let free = self.shared_conflict_free;
        (free != 0).then(|| self.shared_passes as f64 / free as f64)
    }

    /// Threads that executed an instruction, guard true, of a mean execution by a warp; `None` if
    /// there was none.
    #[must_use]
    pub fn mean_threads(&self) -> Option<f64> {
        let warps = self.warp_executions;
        (warps != 0).then(|| self.thread_executions as f64 / warps as f64)
    }

    /// Warp instructions: the machine's if they are known, otherwise PTX.
    fn issues(&self) -> u128 {
        self.machine_warp_executions.unwrap_or(self.warp_executions)
    }

    fn add(&mut self, row: &Row, shared: &SharedPasses) {
        self.instructions += 1;
        self.warp_executions += row.warp_executions;
        self.issued_lanes += row.issued_lanes;
        self.thread_executions += row.thread_executions;
        if let Some(branch) = row.branch {
            self.branches += row.warp_executions;
            self.divergent_branches += branch.divergent;
        }
        for counts in &row.memory {
            self.requests += counts.requests;
            self.requested_bytes += counts.requested_bytes;
            self.sectors += counts.sectors;
            self.ideal_sectors += counts.ideal_sectors;
            self.transactions += counts.transactions;
            if let (Some(all), Some(traffic)) = (&mut self.dram_read_sectors, counts.traffic) {
                *all += traffic.dram_read_sectors;
            }
            if counts.space == StateSpace::Const {
                self.constant_passes += counts.passes;
            }
        }
        self.add_shared(shared);
    }

    fn add_shared(&mut self, shared: &SharedPasses) {
        self.shared_requests += shared.requests;
        self.shared_passes += shared.passes;
        self.shared_conflict_free += shared.conflict_free;
    }
}

/// A part's shares of the quantities that can bound a kernel, as fractions of the launch. A share
/// is `None` if the launch has none of the quantity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Shares {
    /// Instructions issued by warps.
    pub instructions: Option<f64>,
    /// Passes over the banks of shared memory.
    pub shared: Option<f64>,
    /// Sectors of global and local memory, which go to the caches.
    pub sectors: Option<f64>,
    /// DRAM read transactions.
    pub dram_reads: Option<f64>,
}

/// The counts of the parts of a launch.
#[derive(Clone, Debug)]
pub struct Attribution {
    /// Machine instructions issued for each PTX instruction.
    machine: Option<BTreeMap<u32, u128>>,
    /// Executions by warps of machine instructions that store or load spilled registers.
    spills: BTreeMap<u32, u128>,
    /// Accesses to shared memory that stand for each PTX instruction, the machine's if they are
    /// known.
    shared: BTreeMap<u32, SharedPasses>,
    /// True if every access has its traffic.
    has_caches: bool,
    /// The whole launch.
    pub whole: PartCounts,
    /// Machine instructions that stand for no PTX instruction, issued by warps.
    pub machine_unattributed: Option<u128>,
}

impl Attribution {
    /// Prepares to attribute the counts of `table`.
    #[must_use]
    pub fn new(table: &BaseTable, machine: Option<&MachineProfile>) -> Self {
        let mut unattributed = 0;
        let by_instruction = machine.map(|machine| {
            let mut executions = BTreeMap::<u32, u128>::new();
            for row in &machine.rows {
                match row.instruction {
                    Some(at) => *executions.entry(at).or_default() += row.warp_executions,
                    None => unattributed += row.warp_executions,
                }
            }
            executions
        });
        let mut shared = BTreeMap::<u32, SharedPasses>::new();
        let mut unattributed_shared = SharedPasses::default();
        for direction in [Direction::Load, Direction::Store, Direction::Update] {
            for (instruction, passes) in shared_passes(table, machine, direction) {
                let sum = match instruction {
                    Some(at) => shared.entry(at).or_default(),
                    None => &mut unattributed_shared,
                };
                *sum = [*sum, passes].into_iter().sum();
            }
        }
        let mut attribution = Self {
            machine: by_instruction,
            spills: machine.map(|machine| spills(table, machine)).unwrap_or_default(),
            shared,
            has_caches: table
                .rows
                .iter()
                .flat_map(|row| &row.memory)
                .all(|it| it.traffic.is_some()),
            whole: PartCounts::default(),
            machine_unattributed: machine.map(|_| unattributed),
        };
        attribution.whole = attribution.part(&table.rows);
        attribution.whole.add_shared(&unattributed_shared);
        if let Some(executions) = &mut attribution.whole.machine_warp_executions {
            *executions += unattributed;
        }
        attribution
    }

    /// The counts of some rows.
    pub fn part<'a>(&self, rows: impl IntoIterator<Item = &'a Row>) -> PartCounts {
        let machine_warp_executions = self.machine.as_ref().map(|_| 0);
        let dram_read_sectors = self.has_caches.then_some(0);
        let mut counts =
            PartCounts { machine_warp_executions, dram_read_sectors, ..PartCounts::default() };
        for row in rows {
            counts.add(row, self.shared.get(&row.instruction).unwrap_or(&SharedPasses::default()));
            counts.spills += self.spills.get(&row.instruction).copied().unwrap_or_default();
            if let (Some(all), Some(machine)) = (&mut counts.machine_warp_executions, &self.machine)
            {
                *all += machine.get(&row.instruction).copied().unwrap_or_default();
            }
        }
        counts
    }

    /// The fraction of the launch's counts that `part` holds.
    #[must_use]
    pub fn shares(&self, part: &PartCounts) -> Shares {
        let share = |of: fn(&PartCounts) -> u128| {
            let whole = of(&self.whole);
            (whole != 0).then(|| of(part) as f64 / whole as f64)
        };
        Shares {
            instructions: share(PartCounts::issues),
            shared: share(|counts| counts.shared_passes),
            sectors: share(|counts| counts.sectors),
            dram_reads: share(|counts| counts.dram_read_sectors.unwrap_or_default().into()),
        }
    }
}

/// Executions by warps of machine accesses to local memory, by PTX instructions that access none:
/// registers are spilled there.
#[must_use]
pub fn spills(table: &BaseTable, machine: &MachineProfile) -> BTreeMap<u32, u128> {
    let accesses_local = |instruction: u32| {
        let row = table.row_of(instruction);
        row.is_some_and(|row| row.memory.iter().any(|counts| counts.space == StateSpace::Local))
    };
    let local = machine.local_accesses().into_iter();
    let of_instruction = local.filter_map(|(instruction, accesses)| {
        let instruction = instruction.filter(|&instruction| !accesses_local(instruction))?;
        Some((instruction, accesses.loads + accesses.stores))
    });
    of_instruction.collect()
}

#[cfg(test)]
mod tests {
    use gpucast_ptx_frontend::isa::{InstructionClass, Opcode};
    use gpucast_ptx_frontend::source::Span;

    use super::*;
    use crate::counts::{BranchCounts, MemoryCounts};
    use crate::hierarchy::RowTraffic;
    use crate::machine::{BackEnd, MachineRow};
    use crate::table::Description;

    fn row(instruction: u32, warps: u128, memory: Vec<MemoryCounts>) -> Row {
        Row {
            instruction,
            description: Description {
                opcode: Opcode::Ld,
                class: InstructionClass::LoadStore,
                flops: None,
                tensor: None,
                line: instruction,
                span: Span::default(),
                location: None,
            },
            warp_executions: warps,
            issued_lanes: 32 * warps,
            thread_executions: 24 * warps,
            branch: None,
            memory,
            products: Vec::new(),
        }
    }

    fn table() -> BaseTable {
        let shared = MemoryCounts {
            space: StateSpace::Shared,
            requests: 10,
            passes: 40,
            conflict_free: 10,
            traffic: Some(RowTraffic::default()),
            ..MemoryCounts::default()
        };
        let global = MemoryCounts {
            requests: 30,
            sectors: 120,
            transactions: 30,
            traffic: Some(RowTraffic { dram_read_sectors: 60, ..RowTraffic::default() }),
            ..MemoryCounts::default()
        };
        let more = MemoryCounts { sectors: 40, ..global };
        let branch = BranchCounts { taken_lanes: 5, divergent: 2 };
        BaseTable {
            rows: vec![
                row(0, 10, vec![shared]),
                row(1, 30, vec![global]),
                Row { branch: Some(branch), ..row(2, 20, vec![more]) },
            ],
        }
    }

    #[test]
    fn shares_of_all_parts_make_the_whole() {
        let table = table();
        let attribution = Attribution::new(&table, None);
        let first = attribution.part(&table.rows[..1]);
        assert_eq!((first.conflict_degree(), first.mean_threads()), (Some(4.0), Some(24.0)));
        assert_eq!(attribution.shares(&first).instructions, Some(10.0 / 60.0));
        assert_eq!(attribution.shares(&first).shared, Some(1.0));
        let rest = attribution.part(&table.rows[1..]);
        assert_eq!((rest.branches, rest.divergent_branches), (20, 2));
        assert_eq!(rest.conflict_degree(), None);
        assert_eq!(attribution.shares(&rest).dram_reads, Some(1.0));
        let second = attribution.part(&table.rows[1..2]);
        assert_eq!(attribution.shares(&second).sectors, Some(0.75));
        let none = Attribution::new(&BaseTable::default(), None);
        assert_eq!(none.shares(&PartCounts::default()), Shares::default());
    }

    #[test]
    fn without_caches_reads_of_dram_are_absent_and_not_zero() {
        let mut table = table();
        let reads = |table: &BaseTable| Attribution::new(table, None).whole.dram_read_sectors;
        assert_eq!(reads(&table), Some(120));
        for counts in table.rows.iter_mut().flat_map(|row| &mut row.memory) {
            counts.traffic = None;
        }
        assert_eq!(reads(&table), None);
    }

    #[test]
    fn machine_instructions_stand_with_their_ptx() {
        let table = table();
        let machine_row = |instruction, warp_executions| MachineRow {
            mnemonic: "LDG".into(),
            class: InstructionClass::LoadStore,
            flops: None,
            access: None,
            instruction,
            warp_executions,
            issued_lanes: 0,
            thread_executions: 0,
        };
        let machine = MachineProfile {
            back_end: BackEnd::Rules,
            kind: crate::metric::Kind::Estimated,
            target: "sm_50".to_owned(),
            registers_per_thread: None,
            rows: vec![
                machine_row(Some(0), 10),
                machine_row(Some(0), 20),
                machine_row(Some(2), 50),
                machine_row(None, 20),
            ],
            notes: Vec::new(),
        };
        let attribution = Attribution::new(&table, Some(&machine));
        let first = attribution.part(&table.rows[..1]);
        assert_eq!(first.machine_warp_executions, Some(30));
        assert_eq!(attribution.shares(&first).instructions, Some(0.3));
        assert_eq!(attribution.machine_unattributed, Some(20));
        assert_eq!(attribution.whole.machine_warp_executions, Some(100));
    }
}
