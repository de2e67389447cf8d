//! Sums over the counts of a launch, in the words that metric definitions are written in.

use gpucast_ptx_frontend::isa::{InstructionClass, Opcode, opcode_facts};
use gpucast_ptx_frontend::types::StateSpace;
use serde::{Deserialize, Serialize};

use crate::counts::MemoryCounts;
use crate::device::DeviceModel;
pub use crate::direction::{Direction, Operation};
use crate::hierarchy::L2Traffic;
use crate::integer_kind::IntegerKind;
use crate::machine::architecture::Architecture;
use crate::machine::{MachineProfile, MachineRow, SharedPasses, shared_passes};
use crate::occupancy::{CtaShape, RegisterRange};
use crate::operation::{FlopKind, Flops, Precision};
use crate::table::{BaseTable, Row};
use crate::tensor::TensorFormat;

/// The inputs that the metrics of one launch are computed from.
#[derive(Clone, Copy, Debug)]
pub struct Totals<'a> {
    /// The counts of each static instruction.
    pub table: &'a BaseTable,
    /// The machine instructions, if a back end has been asked for them.
    pub machine: Option<&'a MachineProfile>,
    /// The launch, and the way in which it fits an SM.
    pub launch: LaunchFacts,
    /// The traffic of the L2.
    pub l2: L2Traffic,
    /// The part of the requests that went through the caches.
    pub replay: Replay,
    /// The CTAs that were counted.
    pub extent: Extent,
}

/// The CTAs of a launch that were counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Extent {
    /// All, or one of each class.
    #[default]
    Grid,
    /// A sample, from which all are estimated.
    Sample,
    /// None: formulas gave the counts, which agreed with executions in other sizes.
    Formulas,
}

/// The part of a launch's requests that went through the caches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Replay {
    /// All of them.
    #[default]
    Whole,
    /// All but some that were too many, so that traffic is in part extrapolated. Or all, where a
    /// launch before was replayed in part, so that the contents of the L2 are not known.
    Part,
    /// Some of them, which the rest is taken to be like.
    Sampled {
        /// True if the requests are those of some windows of the grid.
        in_windows: bool,
        /// One line of memory in so many is looked at.
        lines: u64,
    },
    /// None: what depends on caches is not known.
    None,
}

/// The size of a launch, and the part of it that an SM of the modelled GPU holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LaunchFacts {
    /// CTAs of the grid.
    pub ctas: u128,
    /// Threads of a CTA.
    pub threads_per_cta: u64,
    /// The resources that a CTA takes on an SM.
    pub cta: CtaShape,
    /// The range of its registers, if they are not those of machine code for the modelled GPU's
    /// generation.
    pub estimated_registers: Option<RegisterRange>,
    /// Registers of a thread that are surely spilled, and that no machine code shows.
    pub spilled_registers: u32,
    /// CTAs of a cluster; 1 without clusters, and 0 where nothing says it.
    pub cluster_ctas: u32,
    /// CTAs that one SM runs at a time.
    pub ctas_per_sm: u64,
    /// Warps that one SM can hold.
    pub max_warps_per_sm: u64,
    /// The mean fraction of those warps that the grid uses.
    pub achieved_occupancy: f64,
    /// SMs of the GPU.
    pub sms: u64,
    /// Bytes that the banks of shared memory move in one pass.
    pub bank_row_bytes: u64,
    /// Bytes of a sector, which is a transaction of DRAM.
    pub sector_bytes: u64,
}

impl LaunchFacts {
    /// The facts of `ctas` CTAs of the given shape on `device`.
    #[must_use]
    pub fn new(ctas: u128, cta: CtaShape, device: &DeviceModel) -> Self {
        let occupancy = device.occupancy(cta);
        Self {
            ctas,
            threads_per_cta: cta.threads,
            cta,
            estimated_registers: None,
            spilled_registers: 0,
            cluster_ctas: 1,
            ctas_per_sm: device.ctas_per_sm(cta).into(),
            max_warps_per_sm: device.limits.max_warps.into(),
            achieved_occupancy: occupancy.achieved(ctas, device.sm_count),
            sms: device.sm_count.into(),
            bank_row_bytes: u64::from(device.banks.banks()) * u64::from(device.banks.bank_bytes()),
            sector_bytes: device.sector_bytes(),
        }
    }

    /// True if the CTAs that an SM holds follow from registers that are known.
    #[must_use]
    pub fn residency_is_known(&self) -> bool {
        self.cta.registers_per_thread.is_some() && self.estimated_registers.is_none()
    }

    fn warps_per_cta(&self) -> u64 {
        self.threads_per_cta.div_ceil(32)
    }

    /// Threads of the grid.
    #[must_use]
    pub fn threads(&self) -> u128 {
        self.ctas * u128::from(self.threads_per_cta)
    }

    /// Warps of the grid.
    #[must_use]
    pub fn warps(&self) -> u128 {
        self.ctas * u128::from(self.warps_per_cta())
    }

    /// Warps that an SM runs at a time if the grid has enough of them.
    #[must_use]
    pub fn resident_warps(&self) -> u64 {
        self.ctas_per_sm * self.warps_per_cta()
    }

    /// CTAs of the grid over those that the GPU runs at a time.
    #[must_use]
    pub fn waves(&self) -> Option<f64> {
        let at_a_time = self.sms * self.ctas_per_sm;
        (at_a_time != 0).then(|| self.ctas as f64 / at_a_time as f64)
    }

    /// Mean warps of the SMs that have any, over those that an SM can hold: see
    /// [`Occupancy::achieved`](crate::occupancy::Occupancy::achieved).
    #[must_use]
    pub fn mean_occupancy(&self) -> Option<f64> {
        (self.achieved_occupancy > 0.0).then_some(self.achieved_occupancy)
    }
}

/// An instruction of either level.
struct Counted {
    class: InstructionClass,
    /// The kind that it would have as an integer instruction.
    integer: IntegerKind,
    flops: Option<Flops>,
    warps: u128,
    lanes: u128,
    threads: u128,
}

impl From<&Row> for Counted {
    fn from(row: &Row) -> Self {
        Self {
            class: row.description.class,
            integer: opcode_facts(row.description.opcode)
                .integer
                .map_or(IntegerKind::Other, IntegerKind::from),
            flops: row.description.flops,
            warps: row.warp_executions,
            lanes: row.issued_lanes,
            threads: row.thread_executions,
        }
    }
}

impl From<&MachineRow> for Counted {
    fn from(row: &MachineRow) -> Self {
        Self {
            class: row.class,
            integer: IntegerKind::of_mnemonic(&row.mnemonic),
            flops: row.flops,
            warps: row.warp_executions,
            lanes: row.issued_lanes,
            threads: row.thread_executions,
        }
    }
}

/// Reads of special registers and barriers: Maxwell and Pascal execute them in their load/store
/// units, and count them there.
fn executed_by_load_store_units(machine: &MachineProfile) -> u128 {
    let target: Option<Architecture> = machine.target.parse().ok();
    if !target.is_some_and(|target| matches!(target.sm(), 50..=62)) {
        return 0;
    }
    let is_one = |row: &&MachineRow| matches!(&*row.mnemonic, "S2R" | "BAR");
    machine.rows.iter().filter(is_one).map(|row| row.warp_executions).sum()
}

impl Totals<'_> {
    /// Bytes of a sector.
    #[must_use]
    pub fn sector_bytes(&self) -> u64 {
        self.launch.sector_bytes
    }

    /// Bytes that sectors hold.
    #[must_use]
    pub fn bytes_of_sectors(&self, sectors: u128) -> u128 {
        sectors * u128::from(self.launch.sector_bytes)
    }

    /// Bytes that the banks of shared memory move in passes.
    #[must_use]
    pub fn bytes_of_passes(&self, passes: u128) -> u128 {
        passes * u128::from(self.launch.bank_row_bytes)
    }

    fn ptx(&self, of: impl Fn(&Row) -> u128) -> u128 {
        self.table.rows.iter().map(of).sum()
    }

    /// PTX instructions issued by a warp.
    #[must_use]
    pub fn ptx_warp_executions(&self) -> u128 {
        self.ptx(|row| row.warp_executions)
    }

    /// PTX instructions executed by a thread whose guard is true.
    #[must_use]
    pub fn ptx_thread_executions(&self) -> u128 {
        self.ptx(|row| row.thread_executions)
    }

    /// PTX instructions issued by a lane, guard true or not.
    #[must_use]
    pub fn ptx_issued_lanes(&self) -> u128 {
        self.ptx(|row| row.issued_lanes)
    }

    /// PTX instructions of these mnemonics issued by a warp.
    #[must_use]
    pub fn opcodes(&self, opcodes: &[Opcode]) -> u128 {
        let is_one = |row: &Row| opcodes.contains(&row.description.opcode);
        self.ptx(|row| if is_one(row) { row.warp_executions } else { 0 })
    }

    /// Sum over the instructions of the machine if they are known, otherwise of the PTX.
    fn sum(&self, of: impl Fn(Counted) -> u128) -> u128 {
        match self.machine {
            Some(machine) => machine.rows.iter().map(|row| of(row.into())).sum(),
            None => self.table.rows.iter().map(|row| of(row.into())).sum(),
        }
    }

    /// Instructions issued by a warp.
    #[must_use]
    pub fn warp_executions(&self) -> u128 {
        self.sum(|row| row.warps)
    }

    /// Instructions executed by a thread whose guard is true.
    #[must_use]
    pub fn thread_executions(&self) -> u128 {
        self.sum(|row| row.threads)
    }

    /// Instructions issued by a lane, guard true or not.
    #[must_use]
    pub fn issued_lanes(&self) -> u128 {
        self.sum(|row| row.lanes)
    }

    /// Instructions of a class executed by a thread whose guard is true.
    #[must_use]
    pub fn threads(&self, class: InstructionClass) -> u128 {
        self.sum(|row| if row.class == class { row.threads } else { 0 })
    }

    /// Integer instructions of a kind executed by a thread whose guard is true.
    #[must_use]
    pub fn integers(&self, kind: IntegerKind) -> u128 {
        let is_meant =
            |row: &Counted| row.class == InstructionClass::Integer && row.integer == kind;
        self.sum(|row| if is_meant(&row) { row.threads } else { 0 })
    }

    /// Instructions of a class issued by a warp.
    #[must_use]
    pub fn warps(&self, class: InstructionClass) -> u128 {
        self.sum(|row| if row.class == class { row.warps } else { 0 })
    }

    /// Loads and stores issued by a warp, textures included, but for those of constant memory,
    /// which go another way.
    #[must_use]
    pub fn loads_and_stores(&self) -> u128 {
        use InstructionClass::{LoadStore, Texture};
        let constants = match self.machine {
            Some(machine) => {
                let constants = self.machine_accesses(machine, StateSpace::Const, Operation::Load);
                constants.map(|row| row.warp_executions).sum()
            }
            None => self.ptx(|row| {
                let only_constants = !row.memory.is_empty()
                    && row.memory.iter().all(|counts| counts.space == StateSpace::Const);
                if only_constants { row.warp_executions } else { 0 }
            }),
        };
        let others = self.machine.map_or(0, executed_by_load_store_units);
        (self.warps(LoadStore) + self.warps(Texture)).saturating_sub(constants) + others
    }

    /// Floating-point operations of one kind; a multiply-add counts once.
    #[must_use]
    pub fn flops(&self, precision: Precision, kind: FlopKind) -> u128 {
        self.sum(|row| match row.flops {
            Some(flops) if (flops.precision, flops.kind) == (precision, kind) => {
                row.threads * u128::from(flops.per_thread)
            }
            _ => 0,
        })
    }

    /// Additions, multiplications, and multiply-adds twice.
    #[must_use]
    pub fn all_flops(&self, precision: Precision) -> u128 {
        self.flops(precision, FlopKind::Add)
            + self.flops(precision, FlopKind::Mul)
            + 2 * self.flops(precision, FlopKind::Fma)
    }

    /// Operations of matrix instructions on one format, or on all.
    #[must_use]
    pub fn tensor_operations(&self, format: Option<TensorFormat>) -> u128 {
        self.ptx(|row| match row.description.tensor {
            Some(tensor) if format.is_none_or(|format| format == tensor.format) => {
                row.warp_executions * u128::from(tensor.per_warp)
            }
            Some(_) => 0,
            None => {
                let wanted = row
                    .products
                    .iter()
                    .filter(|counts| format.is_none_or(|format| format == counts.format));
                wanted.map(|counts| counts.operations).sum()
            }
        })
    }

    /// PTX branch instructions issued by a warp.
    #[must_use]
    pub fn branches(&self) -> u128 {
        self.opcodes(&[Opcode::Bra, Opcode::BrxIdx])
    }

    /// PTX branch instructions whose lanes went different ways.
    #[must_use]
    pub fn divergent_branches(&self) -> u128 {
        self.ptx(|row| row.branch.map_or(0, |branch| branch.divergent))
    }

    /// The sum of the accesses of one direction to one space.
    #[must_use]
    pub fn memory(&self, space: StateSpace, direction: Direction) -> MemoryCounts {
        self.accesses_where(|counts| {
            counts.space == space && Direction::of(counts.kind) == direction
        })
    }

    /// Accesses to shared memory in one direction, and their passes over the banks: the machine's
    /// if they are known, otherwise those of the PTX.
    #[must_use]
    pub fn shared(&self, direction: Direction) -> SharedPasses {
        shared_passes(self.table, self.machine, direction).into_values().sum()
    }

    /// All accesses to shared memory and their passes.
    #[must_use]
    pub fn all_shared(&self) -> SharedPasses {
        use Direction::{Load, Store, Update};
        [Load, Store, Update].into_iter().map(|direction| self.shared(direction)).sum()
    }

    /// Bytes that threads asked for in accesses to shared memory.
    #[must_use]
    pub fn shared_bytes(&self) -> u128 {
        self.accesses_where(|counts| counts.space == StateSpace::Shared).requested_bytes
    }

    /// The sum of the accesses of some instructions to textures and surfaces.
    #[must_use]
    pub fn texels(&self, opcodes: &[Opcode]) -> MemoryCounts {
        let mut total = MemoryCounts::default();
        let is_one = |row: &&Row| opcodes.contains(&row.description.opcode);
        let all = self.table.rows.iter().filter(is_one).flat_map(|row| &row.memory);
        all.filter(|counts| counts.space == StateSpace::Tex).for_each(|counts| total.add(counts));
        total
    }

    fn accesses_where(&self, is_meant: impl Fn(&MemoryCounts) -> bool) -> MemoryCounts {
        let mut total = MemoryCounts::default();
        let all = self.table.rows.iter().flat_map(|row| &row.memory);
        all.filter(|counts| is_meant(counts)).for_each(|counts| total.add(counts));
        total
    }

    /// PTX instructions that accessed a space in one way, by warps with a lane that took part.
    #[must_use]
    pub fn requests(&self, space: StateSpace, operation: Operation) -> u128 {
        let is_meant = |counts: &MemoryCounts| {
            counts.space == space && Operation::of(counts.kind) == operation
        };
        self.accesses_where(is_meant).requests
    }

    /// Memory instructions of warps that access a space in one way, with a lane that takes part:
    /// the machine's if they are known, otherwise those of the PTX.
    #[must_use]
    pub fn accesses(&self, space: StateSpace, operation: Operation) -> u128 {
        let Some(machine) = self.machine else { return self.requests(space, operation) };
        let of_machine = self.machine_accesses(machine, space, operation);
        of_machine.map(|row| self.table.taking_part(row)).sum()
    }

    /// Requests to local memory of one kind: the PTX's, or fewer if machine code makes fewer.
    #[must_use]
    pub fn local_requests(&self, operation: Operation) -> u128 {
        let of_ptx = self.requests(StateSpace::Local, operation);
        self.accesses(StateSpace::Local, operation).min(of_ptx)
    }

    fn machine_accesses<'a>(
        &'a self,
        machine: &'a MachineProfile,
        space: StateSpace,
        operation: Operation,
    ) -> impl Iterator<Item = &'a MachineRow> {
        machine.rows.iter().filter(move |row| {
            row.access.is_some_and(|access| Operation::of(access.kind) == operation)
                && self.table.space_of(row) == Some(space)
        })
    }

    /// Loads and stores of warps to a space with `bytes` bytes per thread: the machine's if they
    /// are known, otherwise those of the PTX.
    #[must_use]
    pub fn accesses_of_width(&self, space: StateSpace, bytes: u32) -> u128 {
        let is_update = |direction| direction == Direction::Update;
        if let Some(machine) = self.machine {
            let is_meant = |row: &&MachineRow| {
                row.access.is_some_and(|it| it.bytes == bytes && !is_update(Direction::of(it.kind)))
                    && self.table.space_of(row) == Some(space)
            };
            return machine
                .rows
                .iter()
                .filter(is_meant)
                .map(|row| self.table.taking_part(row))
                .sum();
        }
        self.ptx(|row| {
            // Every thread that executes an access moves as much as the instruction says.
            let moved: u128 = row.memory.iter().map(|counts| counts.requested_bytes).sum();
            if moved != u128::from(bytes) * row.thread_executions {
                return 0;
            }
            let is_meant = |counts: &&MemoryCounts| {
                counts.space == space && !is_update(Direction::of(counts.kind))
            };
            row.memory.iter().filter(is_meant).map(|counts| counts.requests).sum()
        })
    }

    /// Bytes that threads move by machine instructions of one direction on one space; `None` if
    /// machine instructions are not known.
    #[must_use]
    pub fn machine_bytes(&self, space: StateSpace, direction: Direction) -> Option<u128> {
        let bytes = |row: &MachineRow| match row.access {
            Some(access)
                if Direction::of(access.kind) == direction
                    && self.table.space_of(row) == Some(space) =>
            {
                row.thread_executions * u128::from(access.bytes)
            }
            _ => 0,
        };
        Some(self.machine?.rows.iter().map(bytes).sum())
    }

    /// Sectors of all accesses to global, local and texture memory: those that first-level caches
    /// held, and all of them. Stores count, as in Nsight Compute's hit rate.
    #[must_use]
    pub fn first_level_hits(&self) -> (u64, u128) {
        let is_cached = |counts: &MemoryCounts| {
            matches!(counts.space, StateSpace::Global | StateSpace::Local | StateSpace::Tex)
        };
        let counts = self.accesses_where(is_cached);
        (counts.traffic.unwrap_or_default().l1_hit_sectors, counts.sectors)
    }

    /// Sectors of loads from spaces that first-level caches held, and all of them.
    #[must_use]
    pub fn l1_hits(&self, spaces: &[StateSpace]) -> (u64, u128) {
        let loads = spaces.iter().map(|&space| self.memory(space, Direction::Load));
        loads.fold((0, 0), |(hits, all), counts| {
            (hits + counts.traffic.unwrap_or_default().l1_hit_sectors, all + counts.sectors)
        })
    }

    /// Sectors that accesses of one direction take to the L2, past the first-level caches.
    #[must_use]
    pub fn l2_sectors(&self, direction: Direction) -> u64 {
        match direction {
            Direction::Load => self.l2.read_sectors,
            Direction::Store => self.l2.write_sectors,
            Direction::Update => self.l2.update_sectors,
        }
    }

    /// Sectors that accesses of one direction to one space take to the L2. Sectors that an L1
    /// writes back of local memory belong to no instruction and are not included.
    #[must_use]
    pub fn l2_sectors_of(&self, space: StateSpace, direction: Direction) -> u64 {
        self.memory(space, direction).traffic.unwrap_or_default().l2_sectors
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(ctas: u128, threads: u64) -> LaunchFacts {
        let cta = CtaShape { threads, shared_bytes: 0, registers_per_thread: None };
        LaunchFacts::new(ctas, cta, &DeviceModel::GTX_480)
    }

    /// A GTX 480 has 15 SMs of 48 warps; CTAs of 256 threads are 8 warps, 6 of which fit.
    #[test]
    fn occupancy_is_that_of_even_rounds() {
        let full = facts(15 * 6 * 4, 256);
        assert_eq!((full.resident_warps(), full.warps()), (48, 2880));
        assert_eq!(full.mean_occupancy(), Some(1.0));
        assert_eq!(full.waves(), Some(4.0));
        // One CTA on each of 5 SMs: 8 of 48 warps; the other 10 SMs have none and do not count.
        assert_eq!(facts(5, 256).mean_occupancy(), Some(8.0 / 48.0));
        // 7 CTAs on each SM: 6 in the first round, 1 in the second.
        assert_eq!(facts(15 * 7, 256).mean_occupancy(), Some(7.0 * 8.0 / (2.0 * 48.0)));
        // Threads that fill no warp take a whole one.
        assert_eq!(facts(2, 33).warps(), 4);
        assert_eq!(LaunchFacts::default().mean_occupancy(), None);
        assert_eq!(LaunchFacts::default().waves(), None);
    }
}
