//! The parameters of a GPU that shape its counts: how many CTAs run at a time, banks, and the L2.

use crate::banks::BankGeometry;
use crate::l2::L2Geometry;

/// What one CTA of a launch takes of an SM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CtaShape {
    /// Threads.
    pub threads: u64,
    /// Shared memory, static and dynamic.
    pub shared_bytes: u64,
}

/// The GPU whose counters are modelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceModel {
    /// Streaming multiprocessors.
    pub sm_count: u32,
    /// Warps that an SM can hold.
    pub max_warps_per_sm: u32,
    /// Threads that an SM can hold.
    pub max_threads_per_sm: u32,
    /// CTAs that an SM can hold.
    pub max_ctas_per_sm: u32,
    /// Shared memory of an SM.
    pub shared_bytes_per_sm: u64,
    /// Shared memory is given out in multiples of this.
    pub shared_allocation_bytes: u64,
    /// The banks of shared memory.
    pub banks: BankGeometry,
    /// The second-level cache.
    pub l2: L2Geometry,
}

impl DeviceModel {
    /// The GPU that published counts were taken on: a GTX 480 (compute capability 2.0, 15 SMs).
    ///
    /// Limits: CUDA C Programming Guide 4.2, table F-2 for capability 2.x, with 48 KB of shared
    /// memory (the default split); allocation unit: NVIDIA's occupancy calculator.
    pub const GTX_480: Self = Self {
        sm_count: 15,
        max_warps_per_sm: 48,
        max_threads_per_sm: 1536,
        max_ctas_per_sm: 8,
        shared_bytes_per_sm: 48 << 10,
        shared_allocation_bytes: 128,
        banks: BankGeometry::CAPABILITY_2,
        l2: L2Geometry::GTX_480,
    };

    /// CTAs that one SM runs at the same time.
    ///
    /// Registers limit it too, but PTX does not say how many a thread will take. A CTA that
    /// fits no SM counts as one, since refusing it is the launch's business.
    #[must_use]
    pub fn ctas_per_sm(&self, cta: CtaShape) -> u32 {
        let threads = cta.threads.max(1);
        let by_warps = u64::from(self.max_warps_per_sm) / threads.div_ceil(32);
        let by_threads = u64::from(self.max_threads_per_sm) / threads;
        let unit = self.shared_allocation_bytes.max(1);
        let by_shared = match cta.shared_bytes.div_ceil(unit) * unit {
            0 => u64::MAX,
            shared_bytes => self.shared_bytes_per_sm / shared_bytes,
        };
        let ctas = by_warps.min(by_threads).min(by_shared).min(u64::from(self.max_ctas_per_sm));
        ctas.max(1) as u32
    }

    /// CTAs that the whole GPU runs at the same time.
    #[must_use]
    pub fn wave(&self, cta: CtaShape) -> usize {
        self.sm_count.max(1) as usize * self.ctas_per_sm(cta) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(threads: u64, shared_bytes: u64, ctas_per_sm: u32) {
        let cta = CtaShape { threads, shared_bytes };
        assert_eq!(DeviceModel::GTX_480.ctas_per_sm(cta), ctas_per_sm);
        assert_eq!(DeviceModel::GTX_480.wave(cta), 15 * ctas_per_sm as usize);
    }

    #[test]
    fn each_limit_of_the_gtx_480_binds_somewhere() {
        check(32, 0, 8);
        check(256, 0, 6);
        check(1024, 8192, 1);
        check(33, 0, 8);
        check(161, 0, 8);
        check(193, 0, 6);
        check(64, 12 << 10, 4);
        // 12 KB and one byte take 12 KB and 128 bytes.
        check(64, (12 << 10) + 1, 3);
        check(64, 64 << 10, 1);
    }
}
