//! The reasons for which a GPU refuses a launch.
//!
//! CUDA answers such a launch with `cudaErrorInvalidConfiguration`, `cudaErrorInvalidValue` or
//! `cudaErrorLaunchOutOfResources`, and runs nothing. One function decides it for everybody:
//! [`DeviceModel::refusals`]. The limits are those of the CUDA C++ Programming Guide, table
//! "Technical Specifications per Compute Capability"; registers and shared memory are given out as
//! NVIDIA's occupancy calculator says ([`crate::occupancy`]).

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::device::DeviceModel;
use crate::occupancy::{CtaShape, RegisterRange, registers_of_cta, shared_limit};

/// A launch, as far as a GPU may refuse it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestedLaunch {
    /// The resources of a CTA.
    pub cta: CtaShape,
    /// CTAs of the grid and threads of a CTA in x, y and z, if they are known.
    pub extents: Option<Extents>,
    /// CTAs of a cluster; 1 without clusters.
    pub cluster_ctas: u32,
    /// The range of the registers, if they are not those of machine code for this GPU's generation.
    /// A compiler for the GPU spills what is beyond a thread's limit, so that one refuses nothing.
    /// What is within a CTA's limit somewhere in the range is not refused.
    pub estimated_registers: Option<RegisterRange>,
}

/// The shape of a grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extents {
    /// CTAs of the grid in x, y and z; `None` if the grid is one that no GPU runs, and whose counts
    /// were asked for all the same.
    pub grid: Option<[u32; 3]>,
    /// Threads of a CTA in x, y and z.
    pub block: [u32; 3],
}

/// A reason for which a GPU refuses a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Threads of a CTA.
    Threads {
        /// The number.
        threads: u64,
        /// The most that are possible.
        limit: u64,
    },
    /// Threads of a CTA, or CTAs of the grid, along one axis.
    Extent {
        /// `block` or `grid`.
        of: &'static str,
        /// `x`, `y` or `z`.
        axis: &'static str,
        /// The number.
        extent: u32,
        /// The most that are possible.
        limit: u32,
    },
    /// Registers of a thread.
    RegistersOfThread {
        /// The number.
        registers: u32,
        /// The most that are possible.
        limit: u32,
    },
    /// Registers of a CTA.
    Registers {
        /// Registers of a thread.
        of_thread: u32,
        /// Registers that the CTA takes, as they are given out.
        registers: u64,
        /// The most that a CTA can have.
        limit: u64,
        /// The range of the registers of a thread, if their number is an estimate.
        estimated: Option<RegisterRange>,
    },
    /// Shared memory of a CTA.
    SharedMemory {
        /// Bytes, static and dynamic.
        bytes: u64,
        /// The most that a CTA can have, with the opt-in.
        limit: u64,
    },
    /// CTAs of a cluster.
    Cluster {
        /// The number.
        ctas: u32,
        /// The most that are possible; 1 where there are no clusters.
        limit: u32,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Threads { threads, limit } => {
                write!(f, "a block has {threads} threads, and at most {limit} are possible")
            }
            Self::Extent { of, axis, extent, limit } => {
                write!(f, "the {of} has {extent} along {axis}, and at most {limit} are possible")
            }
            Self::RegistersOfThread { registers, limit } => {
                write!(f, "a thread has {registers} registers, and at most {limit} are possible")
            }
            Self::Registers { of_thread, registers, limit, estimated } => {
                let estimated = match estimated {
                    Some(RegisterRange { least, most }) if least < most => {
                        format!(", estimated within {least} to {most}")
                    }
                    Some(_) => ", estimated".to_owned(),
                    None => String::new(),
                };
                write!(
                    f,
                    "a block takes {registers} registers ({of_thread} a thread{estimated}), and at most \
                     {limit} are possible"
                )
            }
            Self::SharedMemory { bytes, limit } => write!(
                f,
                "a block takes {bytes} bytes of shared memory, and at most {limit} are possible"
            ),
            Self::Cluster { ctas, limit: 1 } => {
                write!(f, "a cluster has {ctas} blocks, and there are no clusters before 9.0")
            }
            Self::Cluster { ctas, limit } => {
                write!(f, "a cluster has {ctas} blocks, and at most {limit} are possible")
            }
        }
    }
}

/// The first capability with clusters.
const CLUSTERS_SINCE: u32 = 9;

/// The most CTAs of a cluster, with the opt-in to sizes that are not portable (CUDA C++ Programming
/// Guide, thread block clusters).
const MAX_CLUSTER_CTAS: u32 = 16;

impl DeviceModel {
    /// The reasons for which this GPU refuses a launch; none if it can run.
    #[must_use]
    pub fn refusals(&self, launch: &RequestedLaunch) -> Vec<Refusal> {
        let RequestedLaunch { cta, extents, cluster_ctas, estimated_registers } = *launch;
        let mut refusals = Vec::new();
        let limits = &self.limits;
        let threads_limit = u64::from(limits.max_threads_per_cta);
        if cta.threads > threads_limit {
            refusals.push(Refusal::Threads { threads: cta.threads, limit: threads_limit });
        }
        refusals.extend(extents.into_iter().flat_map(|extents| self.extents_beyond(extents)));
        refusals.extend(self.registers_beyond(cta, estimated_registers));
        if shared_limit(self, cta.shared_bytes) == Some(0) {
            let (bytes, limit) = (cta.shared_bytes, limits.max_shared_bytes_per_cta);
            refusals.push(Refusal::SharedMemory { bytes, limit });
        }
        let cluster_limit =
            if self.capability.major < CLUSTERS_SINCE { 1 } else { MAX_CLUSTER_CTAS };
        if cluster_ctas > cluster_limit {
            refusals.push(Refusal::Cluster { ctas: cluster_ctas, limit: cluster_limit });
        }
        refusals
    }

    /// The extents of a grid and its blocks that are too long.
    fn extents_beyond(&self, extents: Extents) -> Vec<Refusal> {
        let of_block = match self.capability.major {
            ..2 => [512, 512, 64],
            2.. => [1024, 1024, 64],
        };
        let of_grid = match self.capability.major {
            ..2 => [0xFFFF, 0xFFFF, 1],
            2 => [0xFFFF, 0xFFFF, 0xFFFF],
            3.. => [0x7FFF_FFFF, 0xFFFF, 0xFFFF],
        };
        let mut beyond = Vec::new();
        for (of, extents, limits) in
            [("block", Some(extents.block), of_block), ("grid", extents.grid, of_grid)]
        {
            let Some(extents) = extents else { continue };
            for ((extent, limit), axis) in extents.into_iter().zip(limits).zip(["x", "y", "z"]) {
                if extent > limit {
                    beyond.push(Refusal::Extent { of, axis, extent, limit });
                }
            }
        }
        beyond
    }

    fn registers_beyond(&self, cta: CtaShape, estimated: Option<RegisterRange>) -> Option<Refusal> {
        let of_thread = cta.registers_per_thread?;
        let most = self.limits.max_registers_per_thread;
        if of_thread > most && estimated.is_none() {
            return Some(Refusal::RegistersOfThread { registers: of_thread, limit: most });
        }
        let of_thread = of_thread.min(most);
        let least = estimated.map_or(of_thread, |range| range.least.min(of_thread));
        let (taken_at_least, limit) = registers_of_cta(self, cta.threads, least);
        let (registers, _) = registers_of_cta(self, cta.threads, of_thread);
        let refusal = Refusal::Registers { of_thread, registers, limit, estimated };
        (taken_at_least > limit).then_some(refusal)
    }
}

/// The reasons in one text.
#[must_use]
pub fn reasons(refusals: &[Refusal]) -> String {
    let texts: Vec<String> = refusals.iter().map(Refusal::to_string).collect();
    texts.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hierarchy::L2Geometry;
    use crate::occupancy::ThreadRegisters;
    use gpucast_ptx_frontend::ComputeCapability;

    fn launch(threads: u32, registers: u32, shared_bytes: u64) -> RequestedLaunch {
        RequestedLaunch {
            cta: CtaShape {
                threads: threads.into(),
                shared_bytes,
                registers_per_thread: Some(registers),
            },
            extents: Some(Extents { grid: Some([8, 1, 1]), block: [threads, 1, 1] }),
            cluster_ctas: 1,
            estimated_registers: None,
        }
    }

    #[track_caller]
    fn refusals(capability: (u32, u32), launch: &RequestedLaunch) -> Vec<String> {
        let capability = ComputeCapability::new(capability.0, capability.1);
        let device = DeviceModel::for_capability(capability, 30, L2Geometry::GTX_480).unwrap();
        let refusals = device.refusals(launch);
        // A launch that is refused has no place on an SM, unless extents alone speak against it.
        let of_extents =
            |one: &Refusal| matches!(one, Refusal::Extent { .. } | Refusal::Cluster { .. });
        let fits = device.occupancy(launch.cta).ctas_per_sm > 0;
        assert_eq!(fits, refusals.iter().all(of_extents), "{refusals:?}");
        refusals.iter().map(Refusal::to_string).collect()
    }

    #[test]
    fn each_limit_refuses_by_itself() {
        assert!(refusals((8, 0), &launch(1024, 64, 0)).is_empty());
        // 80 registers of 1,024 threads are 81,920 of 65,536.
        assert_eq!(
            refusals((8, 0), &launch(1024, 80, 0)),
            ["a block takes 81920 registers (80 a thread), and at most 65536 are possible"]
        );
        // 65 registers are given out as 72: 28 warps take 64,512 registers, 29 take 66,816, and the
        // check of a launch counts them by fours.
        assert!(refusals((8, 0), &launch(896, 65, 0)).is_empty());
        assert_eq!(refusals((8, 0), &launch(928, 65, 0)).len(), 1);
        assert_eq!(
            refusals((9, 0), &launch(32, 16, 232_449)),
            ["a block takes 232449 bytes of shared memory, and at most 232448 are possible"]
        );
        assert!(refusals((9, 0), &launch(32, 16, 232_448)).is_empty());
        let threads = refusals((9, 0), &launch(1056, 16, 0));
        assert_eq!(threads[0], "a block has 1056 threads, and at most 1024 are possible");
    }

    #[test]
    fn clusters_need_hopper_and_have_a_size() {
        let cluster = |cluster_ctas| RequestedLaunch { cluster_ctas, ..launch(32, 16, 0) };
        assert!(refusals((9, 0), &cluster(16)).is_empty());
        assert_eq!(refusals((9, 0), &cluster(32)).len(), 1);
        assert_eq!(
            refusals((8, 9), &cluster(2)),
            ["a cluster has 2 blocks, and there are no clusters before 9.0"]
        );
    }

    #[test]
    fn old_grids_are_short() {
        let grid = |grid| {
            let extents = Some(Extents { grid: Some(grid), block: [32, 1, 1] });
            RequestedLaunch { extents, ..launch(32, 16, 0) }
        };
        assert_eq!(refusals((2, 0), &grid([65_536, 1, 1])).len(), 1);
        assert!(refusals((3, 0), &grid([65_536, 1, 1])).is_empty());
        assert_eq!(refusals((1, 3), &grid([1, 1, 2])).len(), 1);
        assert_eq!(
            refusals((9, 0), &grid([1, 65_536, 1])),
            ["the grid has 65536 along y, and at most 65535 are possible"]
        );
    }

    #[test]
    fn estimates_beyond_a_threads_limit_are_spills() {
        // Fermi has 63 registers for a thread.
        assert_eq!(refusals((2, 0), &launch(64, 80, 0)).len(), 1);
        let of_other_code = |threads, count| RequestedLaunch {
            estimated_registers: Some(RegisterRange { least: count, most: count }),
            ..launch(threads, count, 0)
        };
        let estimated = of_other_code(64, 63);
        assert!(refusals((2, 0), &estimated).is_empty());
        let device = DeviceModel::GTX_480;
        let estimated = of_other_code(64, 80);
        assert!(device.refusals(&estimated).is_empty());
        let large = of_other_code(1024, 80);
        assert!(device.refusals(&large)[0].to_string().contains("63 a thread, estimated"));
    }

    #[test]
    fn a_range_refuses_what_no_number_of_it_lets_run() {
        let (capability, l2) = (ComputeCapability::new(8, 0), L2Geometry::GTX_480);
        let device = DeviceModel::for_capability(capability, 30, l2).unwrap();
        // 1,024 threads have at most 64 registers each.
        for (count, least, taken, refused) in
            [(100, 66, 100, true), (80, 65, 80, true), (80, 60, 64, false), (48, 40, 48, false)]
        {
            let range = RegisterRange { least, most: 2 * count };
            let registers = ThreadRegisters { count, estimated: Some(range), spilled: 0 };
            assert_eq!(device.registers_of_thread(registers, 1024), taken);
            let estimated_registers = Some(range);
            let launch = RequestedLaunch { estimated_registers, ..launch(1024, taken, 0) };
            assert_eq!(!device.refusals(&launch).is_empty(), refused, "{count}");
        }
        // Two CTAs of 256 threads leave 128 registers each of 65,536, three 80 (85.3 by eights).
        assert_eq!(device.most_registers(256, 2), Some(128));
        assert_eq!(device.most_registers(256, 3), Some(80));
        assert_eq!(device.most_registers(1024, 1), Some(64));
    }
}
