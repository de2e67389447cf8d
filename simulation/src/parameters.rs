//! Every constant of the machine that is simulated.
//!
//! Times are in clocks of the SM unless a name says nanoseconds. Rates are per clock of the SM and,
//! unless a name says otherwise, per SM. Who fills the parameters keeps their sources.

use crate::code::{AccessKind, Class, MemoryAccess, TensorFormat};
use crate::launch::Request;

/// A streaming multiprocessor and the memory behind it.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters {
    /// Clock of the SM, in MHz.
    pub sp_clock: f64,
    /// SMs of the GPU.
    pub sm_count: u32,
    /// Issue, by sub-core.
    pub issue: Issue,
    /// The unit of each class, in the order of [`Class::ALL`].
    pub units: [UnitUse; Class::ALL.len()],
    /// Clocks until a result that a barrier announces is there, by class, in the order of
    /// [`Class::ALL`]. Results of fixed latency need none: stall counts wait for them.
    pub latencies: [f64; Class::ALL.len()],
    /// The tensor cores.
    pub tensor: Tensor,
    /// The load-store path.
    pub load_store: LoadStore,
    /// The memory behind the SM.
    pub memory: Memory,
    /// Barriers and fences.
    pub synchronisation: Synchronisation,
    /// Launch, replacement of CTAs, cold start.
    pub launch: LaunchCosts,
}

/// How a sub-core issues.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Issue {
    /// Sub-cores of an SM, each with a scheduler and units of its own.
    pub sub_partitions: u32,
    /// Instructions of one warp that a scheduler may issue in a clock.
    pub issue_width: u32,
    /// The warp that goes first.
    pub warp_scheduler: Scheduler,
}

/// The choice of a scheduler among warps that are ready. Both stay with the last warp while it is
/// ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduler {
    /// Then the youngest (Huerta et al., MICRO 2025, section 5.1, for Turing and later; Volta is
    /// taken to do the same).
    GreedyThenYoungest,
    /// Then the oldest.
    GreedyThenOldest,
}

/// A unit that executes warp instructions one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Unit {
    /// The first single-precision pipe of a sub-core.
    Fma,
    /// Its second one, where there is one.
    FmaSecond,
    /// Integers, logic, comparisons.
    Alu,
    /// Double precision.
    Fp64,
    /// Special functions and conversions.
    Special,
    /// The tensor core.
    Tensor,
    /// The way into the load-store path.
    Memory,
    /// Jumps.
    Branch,
    /// The uniform datapath.
    Uniform,
    /// Textures.
    Texture,
    /// The way between tensor memory and the registers of a sub-core.
    TensorMemory,
}

impl Unit {
    /// Units of a sub-core.
    pub const COUNT: usize = Self::TensorMemory as usize + 1;

    /// Every unit, in order of declaration.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Fma,
        Self::FmaSecond,
        Self::Alu,
        Self::Fp64,
        Self::Special,
        Self::Tensor,
        Self::Memory,
        Self::Branch,
        Self::Uniform,
        Self::Texture,
        Self::TensorMemory,
    ];

    /// In words.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Fma => "FMA pipe",
            Self::FmaSecond => "second FMA pipe",
            Self::Alu => "ALU pipe",
            Self::Fp64 => "FP64 pipe",
            Self::Special => "XU pipe",
            Self::Tensor => "tensor pipe",
            Self::Memory => "LSU pipe",
            Self::Branch => "branch unit",
            Self::Uniform => "uniform pipe",
            Self::Texture => "TEX pipe",
            Self::TensorMemory => "tensor memory port",
        }
    }
}

/// The units that a class of instructions may use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UnitUse {
    /// The unit; `None` if the instruction only has to be issued.
    pub unit: Option<Unit>,
    /// A second unit that takes it as well when the first one is busy.
    pub other: Option<Unit>,
    /// Clocks until the unit takes the next warp instruction: 32 lanes over the unit's lanes.
    pub interval: f64,
    /// True if the sub-cores of an SM share one unit.
    pub is_shared: bool,
}

/// The tensor cores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tensor {
    /// Multiply-adds per clock and SM by format, in the order of [`TensorFormat::ALL`]; 0 where
    /// there are none.
    pub rates: [f64; TensorFormat::ALL.len()],
    /// The share of these rates, but that of double precision, that products reach for which a warp
    /// waits (`mma.sync`).
    pub mma_sync_share: f64,
    /// Clocks from a product's last multiply-add until its result is there.
    pub tensor_latency: f64,
    /// Asynchronous products that may wait for the tensor core: of a warpgroup, or of the SM where
    /// they are in tensor memory.
    pub tensor_queue: u32,
    /// Tensor memory; all zero where there is none.
    pub memory: TensorMemory,
}

impl Tensor {
    /// Clocks in which one of some sub-cores makes the multiply-adds of a product; `None` without
    /// tensor cores for its format. `is_asynchronous` says that no warp waits for it.
    #[must_use]
    pub fn clocks(
        &self,
        multiply_adds: u32,
        format: TensorFormat,
        is_asynchronous: bool,
        sub_cores: u32,
    ) -> Option<f64> {
        let share = match format {
            TensorFormat::Fp64 => 1.0,
            _ if is_asynchronous => 1.0,
            _ => self.mma_sync_share,
        };
        let of_sub_core = share * self.rates[format as usize] / f64::from(sub_cores.max(1));
        (of_sub_core > 0.0).then(|| f64::from(multiply_adds) / of_sub_core)
    }
}

/// Tensor memory and the products in it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TensorMemory {
    /// Clocks of a product until an mbarrier is told, besides those for the first factor and for
    /// the columns of the sum.
    pub tensor_memory_latency: f64,
    /// Further clocks of a product by a pair of SMs.
    pub tensor_pair_latency: f64,
    /// Bytes that it sends to the registers of all sub-cores in a clock.
    pub tensor_memory_read_rate: f64,
    /// Bytes that it takes from the registers of all sub-cores in a clock.
    pub tensor_memory_write_rate: f64,
    /// Columns that the CTAs of an SM share.
    pub tensor_memory_columns: u32,
}

/// The load-store path of an SM.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoadStore {
    /// Memory instructions of a sub-core that wait for the path, besides the one under way.
    pub memory_queue: u32,
    /// Clocks of the address stage of a sub-core for an instruction with an address per lane.
    pub address_interval: f64,
    /// The same with a uniform address, and for shared memory.
    pub uniform_address_interval: f64,
    /// Clocks of the SM's port from one memory instruction to the next, of all sub-cores.
    pub port_interval: f64,
    /// Bytes that the first-level cache returns to registers in a clock, lanes counted apart.
    pub l1_bytes_rate: f64,
    /// Bytes that shared memory returns to registers in a clock.
    pub shared_bytes_rate: f64,
    /// The same for loads whose lanes come in pairs with one address.
    pub shared_paired_bytes: f64,
    /// Lines whose tags the first-level cache compares in a clock.
    pub l1_tag_rate: f64,
    /// Further clocks for tags that meet in one bank of tags, times the square root of the lines.
    pub l1_tag_spread: f64,
    /// Clocks of one pass over the banks.
    pub pass_interval: f64,
    /// Bytes that stores bring to the L2 in a clock.
    pub store_bytes_rate: f64,
    /// Clocks of a load that hits the first-level cache.
    pub l1_latency: f64,
    /// Clocks of a load from shared memory.
    pub shared_latency: f64,
    /// Clocks of a load of constants by an instruction of its own.
    pub constant_latency: f64,
    /// Clocks of an SM for each address of a load of constants by an instruction of its own.
    pub constant_interval: f64,
    /// Clocks of a shuffle.
    pub shuffle_latency: f64,
    /// Clocks from the issue of an access until its operands may be overwritten.
    pub operand_latency: f64,
    /// Clocks of an atomic on shared memory for each lane at the same address.
    pub shared_atomic_interval: f64,
    /// Warp accesses that may wait for data.
    pub pending_accesses: u32,
    /// Missed sectors that may wait for data.
    pub pending_sectors: u32,
    /// Stored sectors that may wait for the L2.
    pub stored_sectors: u32,
}

impl LoadStore {
    /// Clocks of the data stage for an access to shared memory.
    #[must_use]
    pub fn shared_clocks(&self, access: &MemoryAccess, request: &Request) -> f64 {
        let passes = f64::from(request.passes.max(1)) * self.pass_interval;
        let bytes = match access.kind {
            AccessKind::Load if request.is_paired => self.shared_paired_bytes,
            _ => self.shared_bytes_rate,
        };
        let busy = passes.max(lane_bytes(access, request) / bytes);
        match access.kind {
            // An H200 takes a clock for 32 lanes at as many banks, and one for each lane at a word.
            AccessKind::Atomic | AccessKind::Reduction => {
                busy.max(f64::from(request.serial.max(1)) * self.shared_atomic_interval)
            }
            AccessKind::Load
            | AccessKind::Store
            | AccessKind::AsyncCopy { .. }
            | AccessKind::BulkCopy
            | AccessKind::BulkStore
            | AccessKind::BulkReduction => busy,
        }
    }

    /// Clocks of the data stage for an access to global or local memory: tags, banks, and the way
    /// between them and registers or the L2.
    #[must_use]
    pub fn global_clocks(&self, access: &MemoryAccess, request: &Request) -> f64 {
        let lines = f64::from(request.lines.max(1));
        let tags = lines / self.l1_tag_rate + self.l1_tag_spread * lines.sqrt();
        let passes = f64::from(request.passes.max(1)) * self.pass_interval;
        let bytes = lane_bytes(access, request);
        match access.kind {
            AccessKind::Load => tags.max(passes).max(bytes / self.l1_bytes_rate),
            AccessKind::AsyncCopy { .. } => tags.max(passes).max(bytes / self.shared_bytes_rate),
            AccessKind::BulkCopy | AccessKind::BulkStore | AccessKind::BulkReduction => 1.0,
            AccessKind::Store | AccessKind::Atomic | AccessKind::Reduction => {
                let sectors = request.l1_sectors + request.l2_sectors + request.dram_sectors;
                tags.max(f64::from(sectors) * SECTOR_BYTES / self.store_bytes_rate)
            }
        }
    }
}

/// Bytes of a sector on the way to the L2.
const SECTOR_BYTES: f64 = 32.0;

/// The sectors that a store of `sectors` fills as a whole. Consecutive bytes may leave the first
/// and the last one partly filled; bytes that lie apart are taken to fill none.
pub(crate) fn whole_sectors(access: &MemoryAccess, request: &Request, sectors: f64) -> f64 {
    let filled = lane_bytes(access, request) / SECTOR_BYTES;
    if sectors <= filled {
        sectors
    } else if sectors <= filled + 2.0 {
        sectors - 2.0
    } else {
        0.0
    }
}

/// Bytes of all lanes that take part.
fn lane_bytes(access: &MemoryAccess, request: &Request) -> f64 {
    f64::from(request.lanes) * f64::from(access.bytes)
}

/// The memory behind the SMs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Memory {
    /// Clocks of a load that hits the L2, unloaded, from issue to use.
    pub l2_latency: f64,
    /// Further clocks of a hit in the far partition of the L2; half of all hits are.
    pub l2_far_latency: f64,
    /// Clocks of a load from DRAM, unloaded, from issue to use.
    pub memory_latency: f64,
    /// Bytes per second that the L2 delivers to all SMs.
    pub l2_read_bandwidth: f64,
    /// Bytes per second that the L2 takes from all SMs.
    pub l2_write_bandwidth: f64,
    /// What the L2 needs to take a sector of which a request writes a part, over what it needs for
    /// a whole one.
    pub l2_partial_write_cost: f64,
    /// Bytes per clock that an SM's port to the L2 delivers.
    pub l2_reply_bytes_rate: f64,
    /// Requests per clock that an SM sends to the L2.
    pub l2_request_rate: f64,
    /// Bytes per second of DRAM by its data sheet.
    pub dram_bandwidth: f64,
    /// The share of it that reads alone or writes alone reach.
    pub dram_efficiency: f64,
    /// The share of it that reads mixed with writes reach.
    pub dram_mixed_efficiency: f64,
    /// Queueing before DRAM at a utilisation `u`, by the share of bytes that are written:
    /// the delay is `linear · u + hyperbolic · u/(1 − u)`.
    pub queueing: [Queueing; 4],
    /// Bytes per sector.
    pub sector: f64,
    /// Further clocks of an atomic at the L2.
    pub atomic_latency: f64,
    /// Clocks between atomics on one address of the L2, per lane.
    pub atomic_interval: f64,
    /// Sectors of atomics per clock that the L2 changes, of all slices.
    pub atomic_rate: f64,
}

impl Memory {
    /// The share of the bandwidth that DRAM reaches where `written` of its bytes are written.
    #[must_use]
    pub fn efficiency(&self, written: f64) -> f64 {
        between(
            written,
            &[
                (0.0, self.dram_efficiency),
                (0.2, self.dram_mixed_efficiency),
                (0.8, self.dram_mixed_efficiency),
                (1.0, self.dram_efficiency),
            ],
        )
    }

    /// Clocks in queues before DRAM at a utilisation below 1, where `written` of the bytes are
    /// written.
    #[must_use]
    pub fn queueing_delay(&self, written: f64, utilisation: f64) -> f64 {
        let of = |part: fn(&Queueing) -> f64| {
            let points = self.queueing.map(|queueing| (queueing.written, part(&queueing)));
            between(written, &points)
        };
        self.memory_latency
            * (of(|part| part.linear) * utilisation
                + of(|part| part.hyperbolic) * utilisation / (1.0 - utilisation))
    }
}

/// The value at `x` on the line through points, by ascending `x`.
fn between(x: f64, points: &[(f64, f64)]) -> f64 {
    for pair in points.windows(2) {
        let [(x0, y0), (x1, y1)] = [pair[0], pair[1]];
        if x <= x1 {
            return y0 + (y1 - y0) * ((x - x0) / (x1 - x0)).clamp(0.0, 1.0);
        }
    }
    points.last().map_or(0.0, |&(_, y)| y)
}

/// Queueing before DRAM.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Queueing {
    /// The share of the bytes that are written; ascending from 0 to 1.
    pub written: f64,
    /// The delay at full use that grows in proportion to the use, in unloaded latencies.
    pub linear: f64,
    /// The delay at half use that grows without bound towards full use, in unloaded latencies.
    pub hyperbolic: f64,
}

/// Barriers and fences.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Synchronisation {
    /// Clocks from the last arrival at a CTA's barrier to the first issue behind it.
    pub barrier_latency: f64,
    /// Clocks between arrivals at a barrier.
    pub barrier_arrival_interval: f64,
    /// Clocks from the end of a phase of an mbarrier to the issue of a warp that waits for it.
    pub mbarrier_latency: f64,
    /// Clocks of a fence by scope: CTA, GPU, system.
    pub fences: [f64; 3],
}

/// Launch, replacement of CTAs, cold start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LaunchCosts {
    /// Clocks between CTAs that the GPU starts, of all SMs.
    pub cta_launch_interval: f64,
    /// Clocks from the end of a CTA until the next one issues in its place.
    pub cta_replacement: f64,
    /// Clocks between the first issues of the warps of a CTA.
    pub warp_launch_interval: f64,
    /// Clocks from the start of a launch to the first issue of its first CTA.
    pub launch_start: f64,
    /// Clocks from the last CTA's end to that of the launch.
    pub launch_end: f64,
    /// Clocks to fetch the first line of code that no cache holds.
    pub code_latency: f64,
    /// Clocks for each further line of code of the first CTA of an SM.
    pub code_line_interval: f64,
    /// Bytes of a line of code.
    pub code_line: f64,
    /// Bytes of code that the instruction caches of a sub-core hold. The simulation does not read
    /// it yet: code is fetched once.
    pub code_cache_size: f64,
    /// The constants that no cache holds when a launch begins.
    pub constants: ConstantCosts,
}

/// The fetch of constants by an SM that has not read them yet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConstantCosts {
    /// Clocks to fetch a line that the cache of level 1.5 holds.
    pub constant_near_latency: f64,
    /// Clocks to fetch a line that the L2 holds.
    pub constant_far_latency: f64,
    /// Bytes of a line of the cache that instructions read.
    pub constant_line: f64,
    /// Bytes of a line of the cache of level 1.5.
    pub constant_far_line: f64,
}
