//! The CTAs that an SM runs at the same time, and the limit that keeps it from more.
//!
//! The rules are those of NVIDIA's occupancy calculator (`CUDA_Occupancy_Calculator.xls`, and
//! `cuda_occupancy.h` of the CUDA toolkit, which holds the same as code).
//!
//! **Theoretical occupancy** is the warps of the CTAs that fit an SM, over the warps that it can
//! hold. **Achieved occupancy** is nvprof's average active warps per active cycle, over the same.
//! Here it follows from the grid alone. Every CTA takes equally long, its warps live as long as it
//! does, and CTAs are dealt to SMs in turns. Each SM begins the next CTA as soon as one ends. An SM
//! is active while it has a CTA. So only a grid that does not fill its waves lowers it. Warps that
//! exit early, CTAs of unequal length and the time between two CTAs lower it further on hardware;
//! they are left out.

use serde::{Deserialize, Serialize};

use crate::device::{DeviceModel, RegisterAllocation};
use crate::hierarchy::{HierarchyGeometry, L1Geometry};

/// The resources that one CTA of a launch takes on an SM.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CtaShape {
    /// Threads.
    pub threads: u64,
    /// Shared memory, static and dynamic.
    pub shared_bytes: u64,
    /// Registers of a thread; PTX does not say it, so it may be unknown, and then it limits
    /// nothing.
    pub registers_per_thread: Option<u32>,
}

/// The registers of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadRegisters {
    /// Their number.
    pub count: u32,
    /// Where the true number is taken to lie, unless `count` is stated or that of machine code for
    /// the GPU's own generation.
    pub estimated: Option<RegisterRange>,
    /// Registers that the values of the kernel surely need beyond `count`: they are spilled to
    /// local memory, and no machine code shows it. 0 where machine code does.
    pub spilled: u32,
}

/// The range of an estimated number of registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegisterRange {
    /// The least.
    pub least: u32,
    /// The most.
    pub most: u32,
}

impl DeviceModel {
    /// The registers of each of `threads` threads of a CTA on this GPU. A compiler for it spills
    /// what an estimate has beyond the limit of a thread. If the range of an estimate holds numbers
    /// with which the CTA fits an SM, the true one is taken to be among them: somebody launches it.
    #[must_use]
    pub fn registers_of_thread(&self, registers: ThreadRegisters, threads: u64) -> u32 {
        let ThreadRegisters { count, estimated, spilled: _ } = registers;
        let Some(RegisterRange { least, .. }) = estimated else { return count };
        let count = count.min(self.limits.max_registers_per_thread);
        let fits = |registers: &u32| {
            let (taken, most) = registers_of_cta(self, threads, *registers);
            taken <= most
        };
        (least..=count).rev().find(fits).unwrap_or(count)
    }

    /// The most registers of a thread with which an SM holds `ctas` CTAs of `threads` threads: what
    /// an assembler keeps to that knows the bounds of a launch. `None` if there is no such number.
    #[must_use]
    pub fn most_registers(&self, threads: u64, ctas: u32) -> Option<u32> {
        let holds = |registers: &u32| {
            let registers_per_thread = Some(*registers);
            let cta = CtaShape { threads, shared_bytes: 0, registers_per_thread };
            self.occupancy(cta).ctas_per_sm >= ctas
        };
        (1..=self.limits.max_registers_per_thread).rev().find(holds)
    }

    /// The CTAs that an SM runs at the same time, and the limit that keeps it from more.
    #[must_use]
    pub fn occupancy(&self, cta: CtaShape) -> Occupancy {
        occupancy(self, cta)
    }

    /// CTAs that one SM runs at the same time.
    ///
    /// A CTA that fits no SM counts as one, because refusing it is the launch's business.
    #[must_use]
    pub fn ctas_per_sm(&self, cta: CtaShape) -> u32 {
        self.occupancy(cta).ctas_per_sm.max(1)
    }

    /// CTAs that the whole GPU runs at the same time.
    #[must_use]
    pub fn wave(&self, cta: CtaShape) -> usize {
        self.sm_count.max(1) as usize * self.ctas_per_sm(cta) as usize
    }

    /// Bytes of shared memory that an SM's resident CTAs hold.
    fn resident_shared_bytes(&self, cta: CtaShape) -> u64 {
        let of_cta = cta.shared_bytes + self.limits.shared_reserved_bytes_per_cta;
        u64::from(self.ctas_per_sm(cta)).saturating_mul(of_cta)
    }

    /// Bytes that an SM sets aside as shared memory for such CTAs: from compute capability 7.0 on
    /// the smallest split of its cache that holds them, before it all that there are.
    #[must_use]
    pub fn shared_bytes_set_aside(&self, cta: CtaShape) -> u64 {
        let split = self.first_level.set_aside(self.resident_shared_bytes(cta));
        split.unwrap_or(self.limits.shared_bytes)
    }

    /// The caches as a launch of such CTAs finds them.
    #[must_use]
    pub fn hierarchy(&self, cta: CtaShape) -> HierarchyGeometry {
        let first_level = self.first_level.beside(self.resident_shared_bytes(cta));
        let with_fill =
            |cache: L1Geometry| L1Geometry { fill_bytes: self.fill(cache.fill_bytes), ..cache };
        HierarchyGeometry {
            sm_count: self.sm_count,
            resident_ctas: self.wave(cta) as u32,
            warps_per_cta: cta.threads.div_ceil(32) as u32,
            schedule: self.schedule,
            l1: first_level.l1.map(with_fill),
            read_only: first_level.read_only.map(with_fill),
            l2: self.l2_geometry(),
        }
    }
}

/// A limit that can keep an SM from running more CTAs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Limiter {
    /// Warps that the SM can hold, or threads of one CTA.
    Warps,
    /// CTAs that the SM can hold.
    Ctas,
    /// Registers.
    Registers,
    /// Shared memory.
    SharedMemory,
}

impl Limiter {
    /// In words.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Warps => "warps",
            Self::Ctas => "blocks",
            Self::Registers => "registers",
            Self::SharedMemory => "shared memory",
        }
    }
}

/// The CTAs that an SM runs at the same time, and the limit that keeps it from more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occupancy {
    /// CTAs that run at the same time; none if one is too large.
    pub ctas_per_sm: u32,
    /// Warps of one CTA.
    pub warps_per_cta: u64,
    /// Warps that an SM can hold.
    pub max_warps_per_sm: u32,
    /// CTAs that each resource alone would allow: warps, CTAs, registers, shared memory. `None` if
    /// the CTA takes nothing of it or it is unknown.
    pub limits: [(Limiter, Option<u32>); 4],
}

impl Occupancy {
    /// Warps that an SM runs at the same time.
    #[must_use]
    pub fn warps_per_sm(&self) -> u64 {
        u64::from(self.ctas_per_sm) * self.warps_per_cta
    }

    /// Theoretical occupancy: the warps that run, of those that the SM can hold.
    #[must_use]
    pub fn theoretical(&self) -> f64 {
        self.warps_per_sm() as f64 / f64::from(self.max_warps_per_sm.max(1))
    }

    /// Every resource that allows no more CTAs than there are.
    pub fn limiters(&self) -> impl Iterator<Item = Limiter> {
        let binding = Some(self.ctas_per_sm);
        self.limits.into_iter().filter(move |(_, ctas)| *ctas == binding).map(|(limit, _)| limit)
    }

    /// Achieved occupancy of a grid of `ctas` CTAs on `sm_count` SMs, as the module defines it. It
    /// is warps × CTAs over the sum of the SMs' active times, in lengths of a CTA. 0 for no CTAs.
    #[must_use]
    pub fn achieved(&self, ctas: u128, sm_count: u32) -> f64 {
        let sms = u128::from(sm_count.max(1));
        let together = u128::from(self.ctas_per_sm.max(1));
        // The first `ctas mod sms` SMs get one CTA more than the others.
        let (share, more) = (ctas / sms, ctas % sms);
        let active = more as f64 * (share + 1).div_ceil(together) as f64
            + (sms - more) as f64 * share.div_ceil(together) as f64;
        if active == 0.0 {
            return 0.0;
        }
        let warps = ctas as f64 * self.warps_per_cta as f64;
        warps / active / f64::from(self.max_warps_per_sm.max(1))
    }
}

/// The occupancy of CTAs of a shape on an SM of a device.
pub(crate) fn occupancy(device: &DeviceModel, cta: CtaShape) -> Occupancy {
    let limits = &device.limits;
    let warps_per_cta = cta.threads.div_ceil(32).max(1);
    let warp_unit = u64::from(limits.warp_allocation_unit.max(1));
    let warps = warps_per_cta.div_ceil(warp_unit).saturating_mul(warp_unit);
    let by_warps = match cta.threads <= u64::from(limits.max_threads_per_cta) {
        true => u64::from(limits.max_warps) / warps,
        false => 0,
    };
    let by_registers =
        cta.registers_per_thread.filter(|&registers| registers > 0).map(|registers| {
            let by_registers = registers_limit(device, warps, registers);
            let (taken, most) = registers_of_cta(device, cta.threads, registers);
            if taken <= most { by_registers } else { 0 }
        });
    let limits = [
        (Limiter::Warps, Some(by_warps)),
        (Limiter::Ctas, Some(u64::from(limits.max_ctas))),
        (Limiter::Registers, by_registers),
        (Limiter::SharedMemory, shared_limit(device, cta.shared_bytes)),
    ]
    .map(|(limit, ctas)| (limit, ctas.map(|ctas| ctas.min(u64::from(u32::MAX)) as u32)));
    let ctas_per_sm = limits.iter().filter_map(|(_, ctas)| *ctas).min().unwrap_or(0);
    Occupancy { ctas_per_sm, warps_per_cta, max_warps_per_sm: device.limits.max_warps, limits }
}

/// Registers that a CTA of `threads` threads takes, as the check of a launch has it, and the most
/// that a CTA can have.
pub(crate) fn registers_of_cta(device: &DeviceModel, threads: u64, registers: u32) -> (u64, u64) {
    let limits = &device.limits;
    let warp_unit = u64::from(limits.warp_allocation_unit.max(1));
    let warps = threads.div_ceil(32).max(1).div_ceil(warp_unit).saturating_mul(warp_unit);
    match limits.register_allocation {
        RegisterAllocation::PerCta(unit) => {
            let unit = u64::from(unit.max(1));
            let all = (u64::from(registers) * 32).saturating_mul(warps);
            (all.div_ceil(unit).saturating_mul(unit), u64::from(limits.registers))
        }
        RegisterAllocation::PerWarp(_) => {
            // A launch that fits 6.0, which has two partitions, must fit 6.1 and 6.2, which have
            // four.
            let partitions = match device.capability.major {
                6 => limits.sub_partitions.max(4),
                _ => limits.sub_partitions,
            };
            let partitions = u64::from(partitions.max(1));
            // The check takes it that every partition gets equally many warps.
            let checked = warps.div_ceil(partitions).saturating_mul(partitions);
            let all = registers_of_warp(device, registers).saturating_mul(checked);
            (all, u64::from(limits.max_registers_per_cta))
        }
    }
}

/// Registers that a warp takes, as they are given out.
fn registers_of_warp(device: &DeviceModel, registers: u32) -> u64 {
    let per_warp = u64::from(registers) * 32;
    let RegisterAllocation::PerWarp(unit) = device.limits.register_allocation else {
        return per_warp;
    };
    // Fermi gives some counts of registers twice the unit (cuda_occupancy.h, CUDA 7.0).
    let coarse =
        device.capability.major == 2 && matches!(registers, 21 | 22 | 29 | 30 | 37 | 38 | 45 | 46);
    let unit = u64::from(unit.max(1)) * if coarse { 2 } else { 1 };
    per_warp.div_ceil(unit) * unit
}

/// CTAs of `warps` warps that the registers of an SM allow.
fn registers_limit(device: &DeviceModel, warps: u64, registers: u32) -> u64 {
    let limits = &device.limits;
    if registers > limits.max_registers_per_thread {
        return 0;
    }
    let of_sm = u64::from(limits.registers);
    match limits.register_allocation {
        RegisterAllocation::PerCta(unit) => {
            let (unit, all) =
                (u64::from(unit.max(1)), (u64::from(registers) * 32).saturating_mul(warps));
            of_sm / all.div_ceil(unit).saturating_mul(unit).max(1)
        }
        RegisterAllocation::PerWarp(_) => {
            let partitions = u64::from(limits.sub_partitions.max(1));
            of_sm / partitions / registers_of_warp(device, registers).max(1) * partitions / warps
        }
    }
}

/// CTAs that the shared memory of an SM allows; `None` if they take none.
pub(crate) fn shared_limit(device: &DeviceModel, shared_bytes: u64) -> Option<u64> {
    let limits = &device.limits;
    let reserved = limits.shared_reserved_bytes_per_cta;
    let unit = limits.shared_allocation_bytes.max(1);
    let taken = shared_bytes.saturating_add(reserved).div_ceil(unit).saturating_mul(unit);
    if taken > limits.max_shared_bytes_per_cta.saturating_add(reserved) {
        return Some(0);
    }
    limits.shared_bytes.checked_div(taken)
}

#[cfg(test)]
mod tests;
