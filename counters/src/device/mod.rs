//! The GPU whose counters are modelled: limits of an SM, coalescing, banks, caches.

mod error;
mod first_level;
mod rows;

use gpucast_ptx_frontend::ComputeCapability;

use crate::banks::BankGeometry;
use crate::coalescing::{Coalescing, SECTOR_BYTES};
use crate::hierarchy::{L2Geometry, Schedule};

pub use crate::cache_operators::LoadCaching;
pub use error::DeviceError;
pub use first_level::FirstLevel;
pub use rows::{KNOWN_CAPABILITIES, Source, capability_sources};

/// The rule by which registers are allocated to a CTA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RegisterAllocation {
    /// Registers are allocated to the CTA, in multiples of this: capability 1.x.
    PerCta(u32),
    /// Registers are allocated to each warp, in multiples of this: capability 2.0 on.
    PerWarp(u32),
}

/// The limits of an SM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SmLimits {
    /// Warps.
    pub max_warps: u32,
    /// CTAs.
    pub max_ctas: u32,
    /// Threads of one CTA.
    pub max_threads_per_cta: u32,
    /// Registers of 32 bits.
    pub registers: u32,
    /// Registers of one CTA.
    pub max_registers_per_cta: u32,
    /// Registers of one thread.
    pub max_registers_per_thread: u32,
    /// The rule by which registers are allocated.
    pub register_allocation: RegisterAllocation,
    /// The warps of a CTA count as the next multiple of this.
    pub warp_allocation_unit: u32,
    /// Parts of the SM, each with an equal share of the registers for an equal share of the warps.
    pub sub_partitions: u32,
    /// Shared memory, in the largest split with the L1.
    pub shared_bytes: u64,
    /// Shared memory of one CTA, with the opt-in that capability 7.0 and later ask for.
    pub max_shared_bytes_per_cta: u64,
    /// Shared memory is given out in multiples of this.
    pub shared_allocation_bytes: u64,
    /// Shared memory that the system takes of each CTA besides its own.
    pub shared_reserved_bytes_per_cta: u64,
}

/// The GPU whose counters are modelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceModel {
    /// The compute capability that the parameters come from.
    pub capability: ComputeCapability,
    /// Streaming multiprocessors.
    pub sm_count: u32,
    /// The limits of each SM.
    pub limits: SmLimits,
    /// The rules by which accesses to device memory are coalesced.
    pub coalescing: Coalescing,
    /// The banks of shared memory.
    pub banks: BankGeometry,
    /// Lanes that share a request to constant memory: 16 or 32. The request is then done one
    /// address at a time (CUDA C Programming Guide 4.2, section 5.3.2.4).
    pub constant_lanes: u32,
    /// The caches of an SM.
    pub first_level: FirstLevel,
    /// The caches of loads that name none.
    pub load_caching: LoadCaching,
    /// The second-level cache. Its sectors are those of `coalescing`, whatever it says.
    pub l2: L2Geometry,
    /// The order in which CTAs follow each other.
    pub schedule: Schedule,
}

impl DeviceModel {
    /// A GTX 480, the GPU of the published counts: compute capability 2.0 and 15 SMs. It has the
    /// default split of 48 KB of shared memory and 16 KB of L1.
    pub const GTX_480: Self = Self {
        capability: ComputeCapability::new(2, 0),
        sm_count: 15,
        limits: rows::FERMI.limits,
        coalescing: rows::FERMI.requests.coalescing,
        banks: rows::FERMI.requests.banks,
        constant_lanes: rows::FERMI.requests.constant_lanes,
        first_level: rows::FERMI.first_level,
        load_caching: LoadCaching::All,
        l2: L2Geometry::GTX_480,
        schedule: Schedule::Drift,
    };

    /// A GPU of a compute capability with `sm_count` SMs. Of `l2` it takes the size, the line, the
    /// slices and the ways; all else is as the capability has it. [`capability_sources`] says where
    /// that is written.
    ///
    /// # Errors
    ///
    /// If the capability is unknown, or `sm_count` or `l2` is impossible.
    pub fn for_capability(
        capability: ComputeCapability,
        sm_count: u32,
        l2: L2Geometry,
    ) -> Result<Self, DeviceError> {
        let row = rows::row_of(capability).ok_or(DeviceError::UnknownCapability { capability })?;
        let device = Self {
            capability,
            sm_count,
            limits: row.limits,
            coalescing: row.requests.coalescing,
            banks: row.requests.banks,
            constant_lanes: row.requests.constant_lanes,
            first_level: row.first_level,
            load_caching: LoadCaching::All,
            l2: row.second_level.applied_to(l2),
            schedule: Schedule::Drift,
        };
        device.validate()?;
        Ok(device)
    }

    /// Checks that such a GPU can be counted on.
    ///
    /// # Errors
    ///
    /// The first parameter whose value is impossible.
    pub fn validate(&self) -> Result<(), DeviceError> {
        let limits = &self.limits;
        for (field, value) in [
            ("sm_count", u64::from(self.sm_count)),
            ("max_warps", u64::from(limits.max_warps)),
            ("max_ctas", u64::from(limits.max_ctas)),
            ("max_threads_per_cta", u64::from(limits.max_threads_per_cta)),
            ("registers", u64::from(limits.registers)),
            ("max_registers_per_cta", u64::from(limits.max_registers_per_cta)),
            ("max_registers_per_thread", u64::from(limits.max_registers_per_thread)),
            ("register_allocation", limits.register_allocation.unit()),
            ("warp_allocation_unit", u64::from(limits.warp_allocation_unit)),
            ("sub_partitions", u64::from(limits.sub_partitions)),
            ("shared_bytes", limits.shared_bytes),
            ("shared_allocation_bytes", limits.shared_allocation_bytes),
        ] {
            if value == 0 {
                return Err(impossible(field, value, "it must not be zero"));
            }
        }
        for (field, value, most) in [
            // Products of these stay far below 64 bits, and a wave of CTAs fits memory.
            ("sm_count", u64::from(self.sm_count), 1 << 12),
            ("max_warps", u64::from(limits.max_warps), 1 << 12),
            ("max_ctas", u64::from(limits.max_ctas), 1 << 10),
            ("shared_bytes", limits.shared_bytes, 1 << 40),
            ("shared_allocation_bytes", limits.shared_allocation_bytes, 1 << 40),
            ("shared_reserved_bytes_per_cta", limits.shared_reserved_bytes_per_cta, 1 << 40),
        ] {
            if value > most {
                return Err(impossible(field, value, "it is impossibly large"));
            }
        }
        if !matches!(self.constant_lanes, 16 | 32) {
            let lanes = u64::from(self.constant_lanes);
            return Err(impossible("constant_lanes", lanes, "it is 16 or 32"));
        }
        let (line, sector) = (self.l2.line_bytes, self.coalescing.sector.bytes());
        if self.has_l2() && (line < sector || line > 8 * sector || !line.is_power_of_two()) {
            let why = "a line has one, two, four or eight sectors";
            return Err(impossible("l2.line_bytes", line, why));
        }
        if self.has_l2() && (self.l2.ways == 0 || self.l2.size_bytes < line) {
            return Err(impossible("l2.size_bytes", self.l2.size_bytes, "it holds no line"));
        }
        if self.l2.size_bytes > 1 << 34 {
            let size = self.l2.size_bytes;
            return Err(impossible("l2.size_bytes", size, "it is impossibly large"));
        }
        Ok(())
    }

    /// Returns true if there is a second-level cache; capability 1.x has none.
    #[must_use]
    pub fn has_l2(&self) -> bool {
        self.l2.size_bytes > 0
    }

    /// Bytes of a sector, which is a transaction of DRAM.
    #[must_use]
    pub fn sector_bytes(&self) -> u64 {
        self.coalescing.sector.bytes()
    }

    /// The L2 as every launch has it.
    #[must_use]
    pub fn l2_geometry(&self) -> L2Geometry {
        let sector_bytes = self.sector_bytes();
        L2Geometry { sector_bytes, fill_bytes: self.fill(self.l2.fill_bytes), ..self.l2 }
    }

    /// Bytes of a fill. One of one sector stays one of one sector, whatever its size.
    pub(crate) fn fill(&self, bytes: u64) -> u64 {
        let sector_bytes = self.sector_bytes();
        if bytes > SECTOR_BYTES { bytes.max(sector_bytes) } else { sector_bytes }
    }
}

impl RegisterAllocation {
    /// Registers are given out in multiples of this.
    #[must_use]
    pub fn unit(self) -> u64 {
        match self {
            Self::PerCta(unit) | Self::PerWarp(unit) => u64::from(unit),
        }
    }
}

fn impossible(field: &'static str, value: u64, why: &'static str) -> DeviceError {
    DeviceError::Impossible { field, value, why }
}

#[cfg(test)]
mod tests;
