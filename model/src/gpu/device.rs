//! The GPU as the counters need it.
//!
//! A file gives the fields that it wants to give; everything else is as the compute capability has
//! it. Names on the left are those of GPU files, on the right those of the counters'
//! [`DeviceModel`].

use gpucast_counters::ComputeCapability;
use gpucast_counters::banks::BankGeometry;
use gpucast_counters::coalescing::{Protocol, SectorSize};
use gpucast_counters::device::{
    DeviceError, DeviceModel, RegisterAllocation, Source as DeviceSource, capability_sources,
};
use gpucast_counters::hierarchy::{L2Geometry, PartialWrites};
use gpucast_simulation::parameters::Scheduler;

use super::derive::INLINE_ECC;
use super::description::Gpu;
use super::error::CountingError;
use super::quantity::{
    Banks, Blocks, Bytes, CacheReplacement, Clocks, CtaSchedule, LanePairing, Partitions, Percent,
    Registers, SharedServing, Slices, Threads, TransactionMeaning, WarpScheduler, Warps, Ways,
};
use super::source::{Source, Sourced};

/// The number of a field, if the file has it.
macro_rules! given {
    ($gpu:ident.$field:ident) => {
        $gpu.$field.as_ref().map(|sourced| sourced.value.0)
    };
}

/// Replaces a parameter by the field of the file, if it has it.
macro_rules! take {
    ($gpu:ident.$field:ident => $place:expr) => {
        if let Some(value) = given!($gpu.$field) {
            $place = value.try_into().map_err(|_| CountingError::Impossible {
                field: stringify!($field),
                value,
                why: "it is impossibly large",
            })?;
        }
    };
}

impl Gpu {
    /// The GPU as the counters need it: the file's fields, and for the rest those of its compute
    /// capability.
    ///
    /// # Errors
    ///
    /// If the compute capability, the number of SMs or the size of the L2 is not known. Also if
    /// nothing is known of the capability, or a parameter is impossible.
    pub fn device_model(&self) -> Result<DeviceModel, CountingError> {
        let missing = |field| CountingError::Missing { field };
        let capability = self.capability().ok_or_else(|| missing("compute_capability"))?;
        let sm_count = given!(self.sm_count).ok_or_else(|| missing("sm_count"))?;
        let sm_count = u32::try_from(sm_count).map_err(|_| CountingError::Impossible {
            field: "sm_count",
            value: sm_count,
            why: "it is impossibly large",
        })?;
        if let Some(threads) = given!(self.warp_size).filter(|&threads| threads != 32) {
            let why = "only warps of 32 threads can be executed";
            return Err(CountingError::Impossible { field: "warp_size", value: threads, why });
        }
        let mut l2 = match given!(self.l2_size) {
            Some(size_bytes) => L2Geometry { size_bytes, ..L2Geometry::GTX_480 },
            None if capability.major == 1 => L2Geometry::NONE,
            None => return Err(missing("l2_size")),
        };
        take!(self.cache_line => l2.line_bytes);
        let mut device = DeviceModel::for_capability(capability, 1, L2Geometry::NONE)
            .map_err(|_| CountingError::UnknownCapability { capability })?;
        let L2Geometry { fill_bytes, replacement, distinct_percent, .. } = device.l2;
        device.l2 = L2Geometry { fill_bytes, replacement, distinct_percent, ..l2 };
        device.sm_count = sm_count;
        self.set_caches(&mut device)?;
        self.set_limits(&mut device)?;
        self.set_coalescing(&mut device)?;
        self.set_banks(&mut device)?;
        match device.validate() {
            Ok(()) => Ok(device),
            Err(DeviceError::UnknownCapability { capability }) => {
                Err(CountingError::UnknownCapability { capability })
            }
            Err(DeviceError::Impossible { field, value, why }) => {
                Err(CountingError::Impossible { field: name_in_files(field), value, why })
            }
        }
    }

    /// The same GPU with its compute capability's values in the fields that the file leaves out. A
    /// GPU that cannot be counted on is returned as it is.
    #[must_use]
    pub fn with_capability_defaults(&self) -> Self {
        let mut gpu = self.clone();
        let (Some(capability), Ok(device)) = (self.capability(), self.device_model()) else {
            return gpu;
        };
        if let Some(sources) = capability_sources(capability) {
            gpu.fill(&device, &sources);
        }
        gpu
    }

    /// Returns true if ECC bits lie in the same memory as the data, as `memory_type` says with
    /// `GDDR5 with ECC`.
    ///
    /// Bandwidths of such a GPU, measured or by the rule for its kind of memory, are those of data
    /// alone. They pay for the ECC bits that come with streams of data. Counts of DRAM traffic
    /// therefore leave ECC bits out, though the profilers of these GPUs count them.
    #[must_use]
    pub fn has_inline_ecc(&self) -> bool {
        self.memory_type.as_ref().is_some_and(|kind| kind.value.0.ends_with(INLINE_ECC))
    }

    fn capability(&self) -> Option<ComputeCapability> {
        Some(self.compute_capability.as_ref()?.value)
    }

    fn set_caches(&self, device: &mut DeviceModel) -> Result<(), CountingError> {
        let l2 = &mut device.l2;
        take!(self.l2_slices => l2.slices);
        take!(self.l2_ways => l2.ways);
        take!(self.l2_fill => l2.fill_bytes);
        take!(self.l2_fill_time => l2.fill_clocks);
        if self.has_inline_ecc() {
            // ECC bits are those of whole sectors.
            l2.partial_writes = PartialWrites::Fill;
        }
        if let Some(policy) = given!(self.l2_replacement) {
            l2.replacement = policy;
        }
        if let Some(percent) = given!(self.l2_distinct_share) {
            l2.distinct_percent = percent as u32;
            if f64::from(l2.distinct_percent) != percent || percent < 1.0 {
                return Err(CountingError::Impossible {
                    field: "l2_distinct_share",
                    value: percent as u64,
                    why: "it is a whole number of percent, 1 to 100",
                });
            }
        }
        if let Some(schedule) = given!(self.cta_schedule) {
            device.schedule = schedule;
        }
        let first_level = &mut device.first_level;
        // An L1 of no size is switched off.
        if given!(self.l1_size) == Some(0) {
            (first_level.l1, first_level.unified_bytes, first_level.carve_outs) = (None, 0, &[]);
        }
        if let Some(l1) = &mut first_level.l1 {
            if self.l1_size.is_some() {
                take!(self.l1_size => l1.size_bytes);
                first_level.unified_bytes = 0;
            }
            take!(self.l1_ways => l1.ways);
            take!(self.l1_fill => l1.fill_bytes);
            if let Some(policy) = given!(self.l1_replacement) {
                l1.replacement = policy;
            }
        }
        Ok(())
    }

    fn set_limits(&self, device: &mut DeviceModel) -> Result<(), CountingError> {
        let limits = &mut device.limits;
        take!(self.max_warps_per_sm => limits.max_warps);
        take!(self.max_blocks_per_sm => limits.max_ctas);
        take!(self.max_threads_per_block => limits.max_threads_per_cta);
        take!(self.registers_per_sm => limits.registers);
        take!(self.max_registers_per_block => limits.max_registers_per_cta);
        take!(self.max_registers_per_thread => limits.max_registers_per_thread);
        take!(self.sub_partitions => limits.sub_partitions);
        take!(self.shared_memory_per_sm => limits.shared_bytes);
        take!(self.max_shared_memory_per_block => limits.max_shared_bytes_per_cta);
        take!(self.shared_allocation_unit => limits.shared_allocation_bytes);
        take!(self.shared_reserved_per_block => limits.shared_reserved_bytes_per_cta);
        let mut unit = 0;
        if self.register_allocation_unit_per_block.is_some() {
            take!(self.register_allocation_unit_per_block => unit);
            limits.register_allocation = RegisterAllocation::PerCta(unit);
        }
        if self.register_allocation_unit_per_warp.is_some() {
            take!(self.register_allocation_unit_per_warp => unit);
            limits.register_allocation = RegisterAllocation::PerWarp(unit);
        }
        // From capability 2.0 on the calculator's granularity is that of the sub-partitions.
        if device.capability.major == 1 {
            take!(self.warp_allocation_granularity => limits.warp_allocation_unit);
        }
        Ok(())
    }

    fn set_coalescing(&self, device: &mut DeviceModel) -> Result<(), CountingError> {
        let coalescing = &mut device.coalescing;
        if let Some(protocol) = given!(self.coalescing) {
            coalescing.protocol = protocol;
        }
        if let Some(rule) = given!(self.load_transactions) {
            coalescing.loads = rule;
        }
        if let Some(rule) = given!(self.store_transactions) {
            coalescing.stores = rule;
        }
        if let Some(bytes) = given!(self.sector) {
            coalescing.sector = SectorSize::new(bytes).ok_or(CountingError::Impossible {
                field: "sector",
                value: bytes,
                why: "sectors of 16, 32, 64 and 128 bytes can be counted",
            })?;
        }
        Ok(())
    }

    fn set_banks(&self, device: &mut DeviceModel) -> Result<(), CountingError> {
        let banks = &mut device.banks;
        if let Some(serving) = given!(self.shared_serving) {
            *banks = banks.with_serving(serving);
        }
        let (mut width, mut interleave) = (banks.bank_bytes(), banks.interleave_bytes());
        take!(self.shared_bank_width => width);
        take!(self.shared_bank_interleave => interleave);
        *banks = banks.with_widths(width, interleave).ok_or(CountingError::Impossible {
            field: "shared_bank_width",
            value: width.into(),
            why: "a bank is 4 or 8 bytes wide, and its interleave is 4 or 8 and no wider",
        })?;
        let mut change = |field, value: Option<u64>, with: Change, why| {
            let Some(value) = value else { return Ok(()) };
            let changed = u32::try_from(value).ok().and_then(|value| with(*banks, value));
            *banks = changed.ok_or(CountingError::Impossible { field, value, why })?;
            Ok(())
        };
        let count = given!(self.shared_banks);
        change("shared_banks", count, BankGeometry::with_banks, "1 to 128 banks can be counted")?;
        let lanes = given!(self.shared_request);
        change("shared_request", lanes, BankGeometry::with_lanes, "it is 8, 16 or 32")?;
        take!(self.constant_request => device.constant_lanes);
        Ok(())
    }

    /// Fills every field that is empty.
    fn fill(&mut self, device: &DeviceModel, sources: &DeviceSource) {
        let of = |source: &str| {
            Source::Derived(format!("compute capability {}: {source}", device.capability).into())
        };
        fn set<T>(field: &mut Option<Sourced<T>>, value: T, source: Source) {
            field.get_or_insert(Sourced { value, source });
        }
        let limits = &device.limits;
        let (sizes, units) = (sources.limits, sources.allocation);
        set(&mut self.max_threads_per_block, Threads(limits.max_threads_per_cta.into()), of(sizes));
        set(&mut self.max_warps_per_sm, Warps(limits.max_warps.into()), of(sizes));
        set(&mut self.max_blocks_per_sm, Blocks(limits.max_ctas.into()), of(sizes));
        set(&mut self.shared_memory_per_sm, Bytes(limits.shared_bytes), of(sizes));
        set(
            &mut self.max_shared_memory_per_block,
            Bytes(limits.max_shared_bytes_per_cta),
            of(sizes),
        );
        set(&mut self.shared_allocation_unit, Bytes(limits.shared_allocation_bytes), of(units));
        if limits.shared_reserved_bytes_per_cta > 0 {
            let reserved = Bytes(limits.shared_reserved_bytes_per_cta);
            set(&mut self.shared_reserved_per_block, reserved, of(units));
        }
        set(&mut self.registers_per_sm, Registers(limits.registers.into()), of(sizes));
        set(
            &mut self.max_registers_per_block,
            Registers(limits.max_registers_per_cta.into()),
            of(sizes),
        );
        set(
            &mut self.max_registers_per_thread,
            Registers(limits.max_registers_per_thread.into()),
            of(sources.registers_per_thread),
        );
        match limits.register_allocation {
            RegisterAllocation::PerCta(unit) => {
                let unit = Registers(unit.into());
                set(&mut self.register_allocation_unit_per_block, unit, of(units));
                let granularity = Warps(limits.warp_allocation_unit.into());
                set(&mut self.warp_allocation_granularity, granularity, of(units));
            }
            RegisterAllocation::PerWarp(unit) => {
                let unit = Registers(unit.into());
                set(&mut self.register_allocation_unit_per_warp, unit, of(units));
            }
        }
        set(&mut self.sub_partitions, Partitions(limits.sub_partitions.into()), of(units));

        if device.has_l2() {
            let model = || {
                Source::Assumed("the model of the GTX 480's L2: docs/evidence/dram-study.md".into())
            };
            let l2 = &device.l2;
            set(&mut self.l2_slices, Slices(l2.slices.into()), model());
            set(&mut self.l2_ways, Ways(l2.ways.into()), model());
            let kept = || of(sources.l2_kept);
            set(&mut self.l2_replacement, CacheReplacement(l2.replacement), kept());
            set(&mut self.l2_distinct_share, Percent(l2.distinct_percent.into()), kept());
            set(&mut self.l2_fill, Bytes(l2.fill_bytes), of(sources.l2_fill));
            set(&mut self.l2_fill_time, Clocks(l2.fill_clocks.into()), model());
        }
        if let Some((scheduler, source)) = scheduler(device.capability) {
            set(&mut self.warp_scheduler, WarpScheduler(scheduler), source);
        }
        let schedule = Source::Assumed("docs/evidence/dram-study.md".into());
        set(&mut self.cta_schedule, CtaSchedule(device.schedule), schedule);

        let coalescing = &device.coalescing;
        let rules = sources.coalescing;
        set(&mut self.coalescing, LanePairing(coalescing.protocol), of(rules));
        // Under the others the protocol itself defines a transaction.
        if coalescing.protocol == Protocol::Lines {
            set(&mut self.load_transactions, TransactionMeaning(coalescing.loads), of(rules));
            set(&mut self.store_transactions, TransactionMeaning(coalescing.stores), of(rules));
        }
        set(&mut self.sector, Bytes(coalescing.sector.bytes()), of(rules));

        let banks = &device.banks;
        set(&mut self.shared_banks, Banks(banks.banks().into()), of(sources.banks));
        set(&mut self.shared_bank_width, Bytes(banks.bank_bytes().into()), of(sources.banks));
        set(
            &mut self.shared_bank_interleave,
            Bytes(banks.interleave_bytes().into()),
            of(sources.banks),
        );
        set(&mut self.shared_request, Threads(banks.lanes().into()), of(sources.banks));
        set(&mut self.shared_serving, SharedServing(banks.serving()), of(sources.banks));
        let constant = Threads(device.constant_lanes.into());
        set(&mut self.constant_request, constant, of(sources.constants));
    }
}

/// The choice of a capability's schedulers; none before capability 3.0, whose schedulers take
/// several clocks for a warp.
fn scheduler(capability: ComputeCapability) -> Option<(Scheduler, Source)> {
    let of = |text: &str| format!("compute capability {capability}: {text}");
    match (capability.major, capability.minor) {
        (..3, _) => None,
        (3..7, _) => {
            let source = Source::Assumed(of("as simulators have it before Turing").into());
            Some((Scheduler::GreedyThenOldest, source))
        }
        (7, 0 | 2) => {
            let source = Source::Assumed(of("as capability 7.5").into());
            Some((Scheduler::GreedyThenYoungest, source))
        }
        _ => {
            let source = Source::Derived(of("Huerta et al., MICRO 2025, section 5.1").into());
            Some((Scheduler::GreedyThenYoungest, source))
        }
    }
}

/// The name of a counters' parameter in GPU files.
fn name_in_files(parameter: &'static str) -> &'static str {
    match parameter {
        "max_warps" => "max_warps_per_sm",
        "max_ctas" => "max_blocks_per_sm",
        "max_threads_per_cta" => "max_threads_per_block",
        "registers" => "registers_per_sm",
        "max_registers_per_cta" => "max_registers_per_block",
        "register_allocation" => "register_allocation_unit_per_warp",
        "warp_allocation_unit" => "warp_allocation_granularity",
        "shared_bytes" => "shared_memory_per_sm",
        "shared_allocation_bytes" => "shared_allocation_unit",
        "shared_reserved_bytes_per_cta" => "shared_reserved_per_block",
        "constant_lanes" => "constant_request",
        "l2.line_bytes" => "cache_line",
        "l2.size_bytes" => "l2_size",
        same => same,
    }
}

/// Banks with one parameter changed, or none if it is impossible.
type Change = fn(BankGeometry, u32) -> Option<BankGeometry>;
