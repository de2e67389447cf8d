//! The fields of a GPU, in one table that the file reader and the writer share.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::Serialize;

use super::error::FieldError;
use super::quantity::{
    Banks, Bits, Blocks, Bytes, CacheBytes, CacheReplacement, Clocks, ComputeCapability, Cores,
    CtaSchedule, Entries, Gflops, GigabytesPerSecond, Giops, Gops, Instructions, LanePairing,
    Latencies, Megahertz, Microseconds, Partitions, PerClock, PerGpuClock, Percent, Picojoules,
    Pipes, Quantity, Raw, Registers, SharedServing, Slices, Sms, Span, Text, Threads,
    TransactionMeaning, Units, WarpScheduler, Warps, Watts, Ways,
};
use super::slot::{Figure, Slot};
use super::source::{Source, Sourced};

/// A row of the table of fields.
struct Field {
    name: &'static str,
    /// The comment of its declaration.
    meaning: &'static str,
    units: Units,
    of: fn(&Gpu) -> &dyn Slot,
    of_mut: fn(&mut Gpu) -> &mut dyn Slot,
}

impl Field {
    /// The number of a field's row; `None` if there is no such field.
    fn index(name: &str) -> Option<usize> {
        static ROWS: LazyLock<HashMap<&str, usize>> =
            LazyLock::new(|| Gpu::ROWS.iter().map(|row| row.name).zip(0..).collect());
        ROWS.get(name).copied()
    }

    /// The row of a field; `None` if there is no such field.
    fn named(name: &str) -> Option<&'static Self> {
        Some(&Gpu::ROWS[Self::index(name)?])
    }
}

/// A set of fields, as a bit for each.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct FieldSet([u64; WORDS]);

/// Words of a set of fields.
const WORDS: usize = Gpu::ROWS.len().div_ceil(64);

impl FieldSet {
    /// Returns true if it holds a field.
    pub(super) fn contains(&self, field: &str) -> bool {
        Field::index(field).is_some_and(|index| self.0[index / 64] >> (index % 64) & 1 == 1)
    }

    /// The fields for which `belongs` is true.
    pub(super) fn of(mut belongs: impl FnMut(&'static str) -> bool) -> Self {
        let mut set = Self::default();
        for (index, row) in Gpu::ROWS.iter().enumerate() {
            set.0[index / 64] |= u64::from(belongs(row.name)) << (index % 64);
        }
        set
    }

    /// The fields in the order of the description.
    pub(super) fn iter(self) -> impl Iterator<Item = &'static str> {
        let holds = move |index: usize| self.0[index / 64] >> (index % 64) & 1 == 1;
        let rows = Gpu::ROWS.iter().enumerate();
        rows.filter(move |(index, _)| holds(*index)).map(|(_, row)| row.name)
    }
}

/// Declares [`Gpu`] and the table of its fields.
macro_rules! gpu {
    ($($(#[doc = $doc:literal])* $field:ident: $quantity:ty,)+) => {
        /// A GPU. Every field but its names may be unknown; a model says which it needs.
        #[derive(Clone, Debug, PartialEq, Serialize)]
        pub struct Gpu {
            /// The name on the command line: lower case, with dashes.
            pub name: String,
            /// The vendor's name for it.
            pub display_name: String,
            /// Other names on the command line.
            #[serde(skip_serializing_if = "Vec::is_empty")]
            pub aliases: Vec<String>,
            $(
                $(#[doc = $doc])*
                #[serde(skip_serializing_if = "Option::is_none")]
                pub $field: Option<Sourced<$quantity>>,
            )+
            /// The fields that no file gives: rules filled them, and do so anew when their inputs
            /// change.
            #[serde(skip)]
            pub(super) filled: FieldSet,
            /// The fields that [`Gpu::with_overrides`] changed.
            #[serde(skip)]
            pub(super) changed: FieldSet,
        }

        impl Gpu {
            /// The names of the fields that have a value, a unit and a source.
            pub const FIELDS: &'static [&'static str] = &[$(stringify!($field)),+];

            /// A GPU without known fields.
            #[must_use]
            pub fn named(name: &str, display_name: &str) -> Self {
                Self {
                    name: name.to_owned(),
                    display_name: display_name.to_owned(),
                    aliases: Vec::new(),
                    $($field: None,)+
                    filled: FieldSet::default(),
                    changed: FieldSet::default(),
                }
            }

            /// The fields that [`Gpu::with_overrides`] changed, in the order of the description.
            pub fn changed_fields(&self) -> impl Iterator<Item = &'static str> {
                self.changed.iter()
            }

            const ROWS: &'static [Field] = &[$(Field {
                name: stringify!($field),
                meaning: concat!($($doc),*).trim_ascii(),
                units: <$quantity as Quantity>::UNITS,
                of: |gpu| &gpu.$field,
                of_mut: |gpu| &mut gpu.$field,
            }),+];
        }
    };
}

gpu! {
    /// Who makes it.
    vendor: Text,
    /// The vendor's name of the generation.
    architecture: Text,
    /// The CUDA compute capability; none on other vendors' GPUs.
    compute_capability: ComputeCapability,

    /// Streaming multiprocessors.
    sm_count: Sms,
    /// Scalar processors in all of them.
    sp_count: Cores,
    /// Clock of the scalar processors, as the CUDA runtime reports it.
    sp_clock: Megahertz,

    /// T_SP: single-precision multiply-adds, two operations each (Konstantinidis 2017, table 4.3).
    sp_throughput: Gflops,
    /// T_DP: double-precision multiply-adds, two operations each.
    dp_throughput: Gflops,
    /// T_int: integer multiply-adds, two operations each.
    int_throughput: Giops,
    /// T_add: integer additions.
    int_add_throughput: Giops,
    /// T_ldst: loads and stores on shared memory.
    load_store_throughput: Gops,
    /// B_mem: effective bandwidth of device memory.
    memory_bandwidth: GigabytesPerSecond,

    /// Half-precision multiply-adds of the ordinary pipeline, two operations each.
    hp_throughput: Gflops,
    /// Half-precision multiply-adds of the tensor cores, accumulated in single precision.
    tensor_throughput: Gflops,
    /// B_shared: effective bandwidth of shared memory, of all SMs.
    shared_bandwidth: GigabytesPerSecond,
    /// Effective bandwidth of the first-level caches, of all SMs.
    l1_bandwidth: GigabytesPerSecond,
    /// Effective bandwidth of the L2.
    l2_bandwidth: GigabytesPerSecond,
    /// From the launch of an empty kernel to that of the next.
    launch_overhead: Microseconds,

    /// Bandwidth of device memory by its data sheet.
    peak_memory_bandwidth: GigabytesPerSecond,
    /// Single-precision throughput by its data sheet.
    peak_sp_throughput: Gflops,
    /// Double-precision throughput by its data sheet.
    peak_dp_throughput: Gflops,

    /// Half-precision throughput of the ordinary pipeline by the data sheet.
    peak_hp_throughput: Gflops,
    /// Half-precision throughput of the tensor cores by the data sheet, dense.
    peak_tensor_throughput: Gflops,

    /// Warp instructions that an SM issues in a clock, all its schedulers together.
    issue_rate: PerClock,
    /// Results of half-precision add, multiply and multiply-add, for each clock and SM, as the
    /// vendor's throughput table counts them; so are all rates.
    fp16_rate: PerClock,
    /// Results of single-precision add, multiply and multiply-add.
    fp32_rate: PerClock,
    /// Results of single-precision multiply (GT200: the special-function units take it, too).
    fp32_mul_rate: PerClock,
    /// Results of double-precision add, multiply and multiply-add.
    fp64_rate: PerClock,
    /// Results of reciprocal, square root, exponential, logarithm, sine and cosine.
    special_rate: PerClock,
    /// Results of 32-bit integer add and subtract.
    int_add_rate: PerClock,
    /// Results of 32-bit integer multiply and multiply-add.
    int_mul_rate: PerClock,
    /// Results of compare, minimum and maximum.
    compare_rate: PerClock,
    /// Results of 32-bit shifts.
    shift_rate: PerClock,
    /// Results of 32-bit bitwise logic.
    logic_rate: PerClock,
    /// Results of conversions between 32-bit types.
    conversion_rate: PerClock,
    /// Results of conversions from and to 64-bit types.
    wide_conversion_rate: PerClock,
    /// Results of shuffles.
    shuffle_rate: PerClock,
    /// Lanes whose addresses the load/store units take.
    load_store_rate: PerClock,
    /// Half-precision multiply-adds of the tensor cores.
    tensor_rate: PerClock,
    /// Bytes that shared memory delivers, for each clock and SM.
    shared_bytes_rate: PerClock,
    /// Bytes that the first-level cache delivers, for each clock and SM.
    l1_bytes_rate: PerClock,
    /// Bytes that the L2 delivers, for each clock and SM, when all SMs read it.
    l2_bytes_rate: PerClock,

    /// Clocks from an arithmetic instruction to one that reads its result.
    arithmetic_latency: Clocks,
    /// Clocks of a load from shared memory.
    shared_latency: Clocks,
    /// Clocks of a load that hits the first-level cache.
    l1_latency: Clocks,
    /// Clocks of a load that hits the L2.
    l2_latency: Clocks,
    /// Clocks of a load from device memory.
    memory_latency: Clocks,

    /// Size of device memory.
    memory_size: Bytes,
    /// What device memory is made of: GDDR5, HBM2.
    memory_type: Text,
    /// SMs that share a path to device memory (GT200: three of a thread-processing cluster);
    /// without it all SMs share one.
    sms_per_cluster: Sms,

    /// Size of the L2 cache.
    l2_size: Bytes,
    /// Parts of the L2 that work side by side.
    l2_slices: Slices,
    /// Lines of a set of the L2.
    l2_ways: Ways,
    /// Bytes that a miss of the L2 reads: a sector, or several.
    l2_fill: Bytes,
    /// Which line of a set of the L2 gives way.
    l2_replacement: CacheReplacement,
    /// The share of the L2 for different lines, in whole percent; copies near the SMs of the other
    /// partition take the rest.
    l2_distinct_share: Percent,
    /// Clocks of the L2 from a miss until its data is there.
    l2_fill_time: Clocks,
    /// Size of the first-level cache, 0 where it is switched off; what it shares with shared memory
    /// is then given apart.
    l1_size: CacheBytes,
    /// Lines of a set of the first-level cache.
    l1_ways: Ways,
    /// Bytes that a miss of the first-level cache reads: a sector, or several.
    l1_fill: Bytes,
    /// Which line of a set of the first-level cache gives way.
    l1_replacement: CacheReplacement,
    /// How CTAs follow each other: `lockstep-waves`, `drift`, `staggered`.
    cta_schedule: CtaSchedule,
    /// Width of the device-memory bus.
    memory_bus_width: Bits,
    /// Size of a cache line.
    cache_line: Bytes,
    /// Size of the piece of a line that is fetched alone, which is the smallest transaction.
    sector: Bytes,
    /// How the lanes of a warp are put together: `aligned-half-warps`, `half-warp-segments`,
    /// `lines`.
    coalescing: LanePairing,
    /// What the profiler calls a transaction of global loads: `lines`, `sectors`, `quads`,
    /// `kept-quads-twice`.
    load_transactions: TransactionMeaning,
    /// What the profiler calls a transaction of global stores.
    store_transactions: TransactionMeaning,
    /// Threads of which a request to constant memory is made.
    constant_request: Threads,

    /// Threads of a warp (AMD: of a wavefront).
    warp_size: Threads,
    /// Threads that a block may have.
    max_threads_per_block: Threads,
    /// Threads that can be resident on a multiprocessor.
    max_threads_per_sm: Threads,
    /// Warps that can be resident on a multiprocessor.
    max_warps_per_sm: Warps,
    /// Blocks that can be resident on a multiprocessor.
    max_blocks_per_sm: Blocks,
    /// Shared memory of a multiprocessor.
    shared_memory_per_sm: Bytes,
    /// Shared memory that one block may have.
    max_shared_memory_per_block: Bytes,
    /// Shared memory is given out in multiples of this.
    shared_allocation_unit: Bytes,
    /// Shared memory that the system takes of each block.
    shared_reserved_per_block: Bytes,
    /// Banks of shared memory.
    shared_banks: Banks,
    /// Bytes that a bank delivers in one pass.
    shared_bank_width: Bytes,
    /// Consecutive bytes of one bank before the next bank begins.
    shared_bank_interleave: Bytes,
    /// Threads whose accesses to shared memory go together where a bank's width is enough for each.
    shared_request: Threads,
    /// How they share the banks: `in-phases`, `in-paired-phases`, `word-by-word`.
    shared_serving: SharedServing,
    /// Registers of a multiprocessor.
    registers_per_sm: Registers,
    /// Registers that one block may have.
    max_registers_per_block: Registers,
    /// Registers that one thread may have.
    max_registers_per_thread: Registers,
    /// Registers are given to a warp in multiples of this.
    register_allocation_unit_per_warp: Registers,
    /// Registers are given to a block in multiples of this (compute capability 1.x).
    register_allocation_unit_per_block: Registers,
    /// Parts of a multiprocessor that share its registers and warps equally.
    sub_partitions: Partitions,
    /// Warps of a block are given room in multiples of this, as NVIDIA's spreadsheet says; counts
    /// use it on compute capability 1.x only, and `sub_partitions` later.
    warp_allocation_granularity: Warps,

    /// Clock of the SMs that the vendor guarantees, which profilers set.
    base_clock: Megahertz,
    /// Boost clock by the data sheet, where `sp_clock` is another one.
    boost_clock: Megahertz,
    /// From a launch in a graph to the next, where the kernel itself takes less.
    graph_launch_overhead: Microseconds,
    /// From the end of a kernel to the start of the next in a stream whose queue is not empty.
    launch_gap: Microseconds,
    /// From the end of a kernel to the start of the next in a graph.
    graph_launch_gap: Microseconds,
    /// Time between two events around one launch, beyond the kernel's.
    event_overhead: Microseconds,
    /// Time between two events around one call of a framework, beyond the kernel's, where the GPU
    /// waits for the host.
    framework_overhead: Microseconds,
    /// Clocks that Nsight Compute's elapsed cycles have beyond the kernel's work.
    profiler_cycles_overhead: Clocks,
    /// Clocks that Nsight Compute's duration has beyond the kernel's work.
    profiler_duration_overhead: Clocks,

    /// Power that the board may take by its data sheet; the clock of the SMs gives way to it.
    power_limit: Watts,
    /// The lowest clock of the SMs that somebody published for a long load of ordinary arithmetic
    /// under `power_limit`.
    sustained_clock: Megahertz,
    /// The same for a long load of the tensor cores.
    sustained_tensor_clock: Megahertz,
    /// Power of the board at `energy_clock` while no kernel runs.
    idle_power: Watts,
    /// The same at the least voltage of the SMs.
    idle_power_floor: Watts,
    /// Power that an SM adds as soon as it has work, without its instructions.
    sm_power: Watts,
    /// Clock of the SMs for which the energies are given.
    energy_clock: Megahertz,
    /// Share of the voltage at `energy_clock` that is left at low clocks.
    voltage_floor: Percent,
    /// Clock of the SMs up to which the voltage is at its floor.
    voltage_floor_clock: Megahertz,
    /// Energy to fetch, issue and retire an instruction of a warp, with its registers.
    instruction_energy: Picojoules,
    /// Energy of a single- or half-precision result of a thread, beside that of the instruction.
    fp32_energy: Picojoules,
    /// The same of a double-precision result.
    fp64_energy: Picojoules,
    /// The same of an integer result.
    integer_energy: Picojoules,
    /// The same of a result of a special function.
    special_energy: Picojoules,
    /// Energy of an operation of a tensor core in half precision; a multiply-add is two.
    tensor_energy: Picojoules,
    /// Energy of a pass through the banks of shared memory.
    shared_energy: Picojoules,
    /// Energy of a sector in the first-level cache.
    l1_energy: Picojoules,
    /// Energy of a sector that is read from the L2, with its way to the SM.
    l2_read_energy: Picojoules,
    /// Energy of a sector that is written to the L2, with its way from the SM.
    l2_write_energy: Picojoules,
    /// Energy of a byte that is read from device memory.
    dram_read_energy: Picojoules,
    /// Energy of a byte that is written to device memory.
    dram_write_energy: Picojoules,

    /// Instructions of one warp that a scheduler issues in a clock.
    issue_width: Instructions,
    /// The warp that a scheduler prefers: `greedy-then-youngest`, `greedy-then-oldest`.
    warp_scheduler: WarpScheduler,
    /// Pipes of a sub-core that share single-precision instructions; integer products take the
    /// first one.
    fp32_pipes: Pipes,
    /// Results of 32-bit integer multiply-add that are 64 bits wide.
    wide_mul_rate: PerClock,
    /// Clocks of a sub-core's branch unit for a warp.
    branch_interval: Span,
    /// Clocks of a sub-core's uniform datapath for an instruction.
    uniform_interval: Span,
    /// Clocks of a sub-core's way to the texture unit for a warp.
    texture_interval: Span,
    /// Clocks until a double-precision result is there.
    fp64_latency: Span,
    /// Clocks until the result of a special function or a conversion is there.
    special_latency: Span,
    /// Clocks until a texel is there.
    texture_latency: Span,
    /// Clocks until a result of the uniform datapath is there.
    uniform_latency: Span,
    /// Clocks until a special register has been read.
    special_register_latency: Span,
    /// Clocks of a shuffle.
    shuffle_latency: Span,
    /// Share of the tensor cores' rates that `mma.sync` reaches, but in double precision.
    mma_sync_share: Percent,
    /// Clocks from the last multiply-add of a matrix product until its result is there.
    tensor_latency: Span,
    /// Asynchronous matrix products of a warpgroup that wait for the tensor core.
    tensor_queue: Entries,
    /// Half-precision multiply-adds of the tensor cores, accumulated in half precision.
    tensor_half_rate: PerClock,
    /// Multiply-adds of TF32 of the tensor cores.
    tensor_tf32_rate: PerClock,
    /// Double-precision multiply-adds of the tensor cores; those of `fp64_rate` if there are none.
    tensor_fp64_rate: PerClock,
    /// Multiply-adds of FP8 of the tensor cores.
    tensor_fp8_rate: PerClock,
    /// Multiply-adds of FP6 and FP4 of the tensor cores, mixed with FP8.
    tensor_fp4_rate: PerClock,
    /// Multiply-adds of FP4 of the tensor cores, in blocks with a factor each.
    tensor_scaled_fp4_rate: PerClock,
    /// Multiply-adds of 8-bit integers of the tensor cores.
    tensor_int8_rate: PerClock,
    /// Multiply-adds of 4-bit integers of the tensor cores.
    tensor_int4_rate: PerClock,
    /// Multiply-adds of bits of the tensor cores.
    tensor_int1_rate: PerClock,
    /// Columns of an SM's tensor memory.
    tensor_memory_columns: Entries,
    /// Clocks of a product in tensor memory until an mbarrier is told, besides its first factor and
    /// its columns.
    tensor_memory_latency: Span,
    /// Further clocks of a product by a pair of SMs.
    tensor_pair_latency: Span,
    /// Bytes that tensor memory sends to registers.
    tensor_memory_read_rate: PerClock,
    /// Bytes that tensor memory takes from registers.
    tensor_memory_write_rate: PerClock,
    /// Memory instructions of a sub-core that wait for the load/store path.
    memory_queue: Entries,
    /// Clocks of a sub-core's address stage for an access with an address per lane.
    address_interval: Span,
    /// Clocks of a sub-core's address stage for an access with one address, and for shared memory.
    uniform_address_interval: Span,
    /// Lines whose tags the first-level cache compares, for each clock and SM.
    l1_tag_rate: PerClock,
    /// Further clocks for tags that meet in one bank of tags, times the square root of the lines.
    l1_tag_spread: Span,
    /// Bytes of stores that an SM sends to the L2 in a clock.
    store_bytes_rate: PerClock,
    /// Clocks of a load of constants by an instruction of its own.
    constant_latency: Span,
    /// Clocks of an SM for each address of a load of constants by an instruction of its own.
    constant_interval: Span,
    /// Clocks from the issue of an access until its operands may be overwritten.
    operand_latency: Span,
    /// Clocks of an atomic on shared memory for each lane at the same address.
    shared_atomic_interval: Span,
    /// Warp accesses of an SM that may wait for data.
    pending_accesses: Entries,
    /// Missed sectors of an SM that may wait for data.
    pending_sectors: Entries,
    /// Sectors of stores of an SM that may wait for the L2.
    stored_sectors: Entries,
    /// Further clocks of a hit in the far partition of the L2; half of all hits are.
    l2_far_latency: Span,
    /// Bytes that the L2 takes, for each clock and SM, when all SMs write it.
    l2_write_bytes_rate: PerClock,
    /// Effective bandwidth of the L2 for writes.
    l2_write_bandwidth: GigabytesPerSecond,
    /// Bytes of the sectors that the L2 takes, for each clock and SM, when all SMs write parts of
    /// them.
    l2_partial_write_bytes_rate: PerClock,
    /// Bytes that an SM's port to the L2 delivers in a clock.
    l2_reply_bytes_rate: PerClock,
    /// Requests that an SM sends to the L2 in a clock.
    l2_request_rate: PerClock,
    /// The share of the peak bandwidth that reads alone or writes alone reach.
    dram_efficiency: Percent,
    /// The share of the peak bandwidth that reads mixed with writes reach.
    dram_mixed_efficiency: Percent,
    /// Queueing for memory, in latencies times its use u, where all is read.
    read_queueing_linear: Latencies,
    /// Queueing for memory, in latencies times u / (1 − u), where all is read.
    read_queueing_hyperbolic: Latencies,
    /// Queueing for memory, in latencies times its use u, where a quarter is written.
    quarter_written_queueing_linear: Latencies,
    /// Queueing for memory, in latencies times u / (1 − u), where a quarter is written.
    quarter_written_queueing_hyperbolic: Latencies,
    /// Queueing for memory, in latencies times its use u, where half is written.
    half_written_queueing_linear: Latencies,
    /// Queueing for memory, in latencies times u / (1 − u), where half is written.
    half_written_queueing_hyperbolic: Latencies,
    /// Queueing for memory, in latencies times its use u, where all is written.
    write_queueing_linear: Latencies,
    /// Queueing for memory, in latencies times u / (1 − u), where all is written.
    write_queueing_hyperbolic: Latencies,
    /// Clocks of an atomic at the L2 beyond those of a hit.
    atomic_latency: Span,
    /// Clocks between atomics on one address of the L2, for each lane.
    atomic_interval: Span,
    /// Sectors of atomics that the L2 changes in a clock, all slices together.
    atomic_rate: PerGpuClock,
    /// Clocks from the last arrival at a block's barrier to the first issue behind it.
    barrier_latency: Span,
    /// Clocks between arrivals at barriers of an SM.
    barrier_arrival_interval: Span,
    /// Clocks from the arrival of copied data to the issue behind its mbarrier.
    mbarrier_latency: Span,
    /// Clocks of a fence of a block's memory accesses.
    fence_cta_latency: Span,
    /// Clocks of a fence of memory accesses for the GPU.
    fence_gpu_latency: Span,
    /// Clocks of a fence of memory accesses for the system.
    fence_system_latency: Span,
    /// Clocks between blocks that the GPU starts, on all SMs.
    cta_launch_interval: Span,
    /// Clocks from the end of a block until the next one issues in its place.
    cta_replacement: Span,
    /// Clocks between the first issues of the warps of a block.
    warp_launch_interval: Span,
    /// Clocks from the start of a launch to the first issue of its first block.
    launch_start: Span,
    /// Clocks from the end of the last block to that of the launch.
    launch_end: Span,
    /// Clocks to fetch a line of code that no instruction cache holds.
    code_latency: Span,
    /// Clocks for each further line of code that is fetched ahead.
    code_line_interval: Span,
    /// Size of a line of code.
    code_line: Bytes,
    /// Code that the instruction caches of a sub-core hold.
    code_cache_size: Bytes,
    /// Clocks to fetch a line of constants that the cache of level 1.5 holds.
    constant_near_latency: Span,
    /// Clocks to fetch a line of constants that no cache of an SM holds.
    constant_far_latency: Span,
    /// Size of a line of the cache of constants that instructions read.
    constant_line: Bytes,
    /// Size of a line of the cache of constants of level 1.5.
    constant_far_line: Bytes,
}

impl Gpu {
    /// The units of a field, each with its factor to the first, in which figures are kept; empty
    /// for names, `None` if there is no such field.
    #[must_use]
    pub fn units(field: &str) -> Option<Units> {
        Field::named(field).map(|row| row.units)
    }

    /// The meaning of a field; `None` if there is no such field.
    #[must_use]
    pub fn meaning(field: &str) -> Option<&'static str> {
        Field::named(field).map(|row| row.meaning)
    }

    /// A field by its name; `None` if it has no value or does not exist.
    #[must_use]
    pub fn figure(&self, field: &str) -> Option<Figure<'_>> {
        (Field::named(field)?.of)(self).figure()
    }

    /// Gives a field a value in its first unit.
    ///
    /// # Errors
    ///
    /// The reason why no GPU can have this value, or that there is no such field.
    pub(super) fn put(
        &mut self,
        field: &str,
        raw: Raw<'_>,
        source: Source,
    ) -> Result<(), &'static str> {
        let row = Field::named(field).ok_or("there is no such field")?;
        (row.of_mut)(self).put(raw, source)
    }

    /// Takes a field's value away.
    pub(super) fn clear(&mut self, field: &str) {
        if let Some(row) = Field::named(field) {
            (row.of_mut)(self).clear();
        }
    }

    /// Returns true if a field has another value or source than in `other`.
    pub(super) fn differs_from(&self, other: &Self, field: &str) -> bool {
        Field::named(field).is_some_and(|row| !(row.of)(self).equals((row.of)(other)))
    }

    /// Makes a field that of `other`, known or not.
    pub(super) fn take_from(&mut self, other: &Self, field: &str) {
        if let Some(row) = Field::named(field) {
            (row.of_mut)(self).take_from((row.of)(other));
        }
    }

    /// Fields that contradict each other, if any do.
    pub(super) fn contradiction(&self) -> Option<FieldError> {
        let value = |field: &Option<Sourced<Bytes>>| field.as_ref().map(|f| f.value.0);
        if let (Some(threads), Some(warps), Some(size)) =
            (&self.max_threads_per_sm, &self.max_warps_per_sm, &self.warp_size)
            && u128::from(threads.value.0) != u128::from(warps.value.0) * u128::from(size.value.0)
        {
            return Some(FieldError::Contradiction {
                field: "max_threads_per_sm",
                other: "max_warps_per_sm",
                why: "threads per SM are warps per SM times the warp size",
            });
        }
        if let (Some(effective), Some(peak)) = (&self.memory_bandwidth, &self.peak_memory_bandwidth)
            && effective.value.0 > peak.value.0
        {
            return Some(FieldError::Contradiction {
                field: "memory_bandwidth",
                other: "peak_memory_bandwidth",
                why: "no memory delivers more than its pins can carry",
            });
        }
        if let (Some(line), Some(sector)) = (value(&self.cache_line), value(&self.sector))
            && line % sector != 0
        {
            return Some(FieldError::Contradiction {
                field: "sector",
                other: "cache_line",
                why: "a line is made of whole sectors",
            });
        }
        if let (Some(block), Some(sm)) =
            (value(&self.max_shared_memory_per_block), value(&self.shared_memory_per_sm))
            && block > sm
        {
            return Some(FieldError::Contradiction {
                field: "max_shared_memory_per_block",
                other: "shared_memory_per_sm",
                why: "a block cannot have more than its multiprocessor",
            });
        }
        None
    }
}
