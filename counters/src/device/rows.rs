//! The table of compute capabilities: one row for each, and nothing for any other.
//!
//! A new capability is a new row. Every part of it stands there by name, so that nobody gets
//! another generation's caches by default.

use gpucast_ptx_frontend::ComputeCapability;

use super::first_level::{
    CARVE_OUTS_7_0, CARVE_OUTS_7_5, CARVE_OUTS_8_0, CARVE_OUTS_8_6, CARVE_OUTS_9_0, FirstLevel,
};
use super::{RegisterAllocation, SmLimits};
use crate::banks::BankGeometry;
use crate::coalescing::{Coalescing, Protocol, SectorSize, TransactionRule};
use crate::hierarchy::{L2Geometry, Replacement};

/// The document that states the parameters of a capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// Warps, CTAs, threads, registers and shared memory.
    pub limits: &'static str,
    /// Units of allocation, sub-partitions, reserved shared memory.
    pub allocation: &'static str,
    /// Registers of a thread.
    pub registers_per_thread: &'static str,
    /// Coalescing and the profiler's transactions.
    pub coalescing: &'static str,
    /// Banks of shared memory.
    pub banks: &'static str,
    /// Constant memory.
    pub constants: &'static str,
    /// First-level caches.
    pub first_level: &'static str,
    /// Bytes that a miss of the L2 reads.
    pub l2_fill: &'static str,
    /// The line of the L2 that gives way, and the share of lines that have no second copy.
    pub l2_kept: &'static str,
}

/// All that a compute capability says of a GPU.
#[derive(Clone, Copy, Debug)]
pub(super) struct CapabilityRow {
    pub(super) capability: ComputeCapability,
    pub(super) limits: SmLimits,
    pub(super) requests: RequestRules,
    pub(super) first_level: FirstLevel,
    pub(super) second_level: SecondLevel,
    pub(super) source: Source,
}

/// What a capability says of the L2: all but its size.
#[derive(Clone, Copy, Debug)]
pub(super) struct SecondLevel {
    /// Bytes that a miss reads from DRAM.
    pub(super) fill_bytes: u64,
    pub(super) replacement: Replacement,
    /// See [`L2Geometry::distinct_percent`].
    pub(super) distinct_percent: u32,
}

impl SecondLevel {
    /// An L2 that has these habits and is as given in all else.
    pub(super) fn applied_to(self, l2: L2Geometry) -> L2Geometry {
        let Self { fill_bytes, replacement, distinct_percent } = self;
        L2Geometry { fill_bytes, replacement, distinct_percent, ..l2 }
    }
}

/// The rules by which the requests of a warp are served.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestRules {
    pub(super) coalescing: Coalescing,
    pub(super) banks: BankGeometry,
    /// Lanes that share a request to constant memory.
    pub(super) constant_lanes: u32,
}

const KB: u64 = 1 << 10;

/// Capability 1.0 and 1.1.
const LIMITS_1_0: SmLimits = SmLimits {
    max_warps: 24,
    max_ctas: 8,
    max_threads_per_cta: 512,
    registers: 8 << 10,
    max_registers_per_cta: 8 << 10,
    max_registers_per_thread: 124,
    register_allocation: RegisterAllocation::PerCta(256),
    warp_allocation_unit: 2,
    sub_partitions: 1,
    shared_bytes: 16 * KB,
    max_shared_bytes_per_cta: 16 * KB,
    shared_allocation_bytes: 512,
    shared_reserved_bytes_per_cta: 0,
};

/// Capability 1.2 and 1.3.
const LIMITS_1_2: SmLimits = SmLimits {
    max_warps: 32,
    registers: 16 << 10,
    max_registers_per_cta: 16 << 10,
    register_allocation: RegisterAllocation::PerCta(512),
    ..LIMITS_1_0
};

/// Capability 2.x.
const LIMITS_2_0: SmLimits = SmLimits {
    max_warps: 48,
    max_ctas: 8,
    max_threads_per_cta: 1024,
    registers: 32 << 10,
    max_registers_per_cta: 32 << 10,
    max_registers_per_thread: 63,
    register_allocation: RegisterAllocation::PerWarp(64),
    warp_allocation_unit: 1,
    sub_partitions: 2,
    shared_bytes: 48 * KB,
    max_shared_bytes_per_cta: 48 * KB,
    shared_allocation_bytes: 128,
    shared_reserved_bytes_per_cta: 0,
};

const LIMITS_3_0: SmLimits = SmLimits {
    max_warps: 64,
    max_ctas: 16,
    registers: 64 << 10,
    max_registers_per_cta: 64 << 10,
    register_allocation: RegisterAllocation::PerWarp(256),
    sub_partitions: 4,
    shared_allocation_bytes: 256,
    ..LIMITS_2_0
};

const LIMITS_3_5: SmLimits = SmLimits { max_registers_per_thread: 255, ..LIMITS_3_0 };

const LIMITS_3_7: SmLimits =
    SmLimits { registers: 128 << 10, shared_bytes: 112 * KB, ..LIMITS_3_5 };

const LIMITS_5_0: SmLimits = SmLimits { max_ctas: 32, shared_bytes: 64 * KB, ..LIMITS_3_5 };

const LIMITS_5_2: SmLimits = SmLimits { shared_bytes: 96 * KB, ..LIMITS_5_0 };

const LIMITS_5_3: SmLimits = SmLimits { max_registers_per_cta: 32 << 10, ..LIMITS_5_0 };

const LIMITS_6_0: SmLimits = SmLimits { sub_partitions: 2, ..LIMITS_5_0 };

const LIMITS_7_0: SmLimits = SmLimits { max_shared_bytes_per_cta: 96 * KB, ..LIMITS_5_2 };

const LIMITS_7_5: SmLimits = SmLimits {
    max_warps: 32,
    max_ctas: 16,
    shared_bytes: 64 * KB,
    max_shared_bytes_per_cta: 64 * KB,
    ..LIMITS_7_0
};

const LIMITS_8_0: SmLimits = SmLimits {
    shared_bytes: 164 * KB,
    max_shared_bytes_per_cta: 163 * KB,
    shared_allocation_bytes: 128,
    shared_reserved_bytes_per_cta: KB,
    ..LIMITS_7_0
};

const LIMITS_8_6: SmLimits = SmLimits {
    max_warps: 48,
    max_ctas: 16,
    shared_bytes: 100 * KB,
    max_shared_bytes_per_cta: 99 * KB,
    ..LIMITS_8_0
};

const LIMITS_8_7: SmLimits = SmLimits { max_warps: 48, max_ctas: 16, ..LIMITS_8_0 };

const LIMITS_8_9: SmLimits = SmLimits { max_ctas: 24, ..LIMITS_8_6 };

const LIMITS_9_0: SmLimits =
    SmLimits { shared_bytes: 228 * KB, max_shared_bytes_per_cta: 227 * KB, ..LIMITS_8_0 };

const LIMITS_11_0: SmLimits = SmLimits { max_warps: 48, max_ctas: 24, ..LIMITS_9_0 };

/// As a GTX 480's, for all before 8.0 that nobody has measured otherwise.
const L2_2_0: SecondLevel = SecondLevel {
    fill_bytes: 32,
    replacement: L2Geometry::GTX_480.replacement,
    distinct_percent: L2Geometry::GTX_480.distinct_percent,
};
const L2_7_0: SecondLevel = SecondLevel { fill_bytes: 64, ..L2_2_0 };
/// One partition.
const L2_8_6: SecondLevel =
    SecondLevel { fill_bytes: 32, replacement: Replacement::Lru, distinct_percent: 100 };
/// Two partitions, each with copies of the other's lines.
const L2_8_0: SecondLevel = SecondLevel { fill_bytes: 64, distinct_percent: 78, ..L2_8_6 };

const fn rules(protocol: Protocol, loads: TransactionRule, stores: TransactionRule) -> Coalescing {
    Coalescing { protocol, loads, stores, sector: SectorSize::BYTES_32 }
}

const COALESCING_1_0: Coalescing =
    rules(Protocol::AlignedHalfWarps, TransactionRule::Sectors, TransactionRule::Sectors);
const COALESCING_1_2: Coalescing =
    Coalescing { protocol: Protocol::HalfWarpSegments, ..COALESCING_1_0 };
const COALESCING_2: Coalescing =
    rules(Protocol::Lines, TransactionRule::Lines, TransactionRule::Lines);
const COALESCING_5: Coalescing =
    rules(Protocol::Lines, TransactionRule::Quads, TransactionRule::Sectors);
const COALESCING_6_1: Coalescing =
    Coalescing { loads: TransactionRule::KeptQuadsTwice, ..COALESCING_5 };
const COALESCING_7: Coalescing =
    rules(Protocol::Lines, TransactionRule::Sectors, TransactionRule::Sectors);

const REQUESTS_1_0: RequestRules = RequestRules {
    coalescing: COALESCING_1_0,
    banks: BankGeometry::CAPABILITY_1,
    constant_lanes: 16,
};
const REQUESTS_1_2: RequestRules = RequestRules { coalescing: COALESCING_1_2, ..REQUESTS_1_0 };
const REQUESTS_2: RequestRules = RequestRules {
    coalescing: COALESCING_2,
    banks: BankGeometry::CAPABILITY_2,
    constant_lanes: 32,
};
const REQUESTS_3: RequestRules = RequestRules { banks: BankGeometry::CAPABILITY_3, ..REQUESTS_2 };
const REQUESTS_5: RequestRules =
    RequestRules { coalescing: COALESCING_5, banks: BankGeometry::CAPABILITY_5, ..REQUESTS_2 };
const REQUESTS_6_1: RequestRules = RequestRules { coalescing: COALESCING_6_1, ..REQUESTS_5 };
const REQUESTS_7: RequestRules = RequestRules { coalescing: COALESCING_7, ..REQUESTS_5 };

const SPREADSHEET: &str = "NVIDIA's CUDA_Occupancy_Calculator.xls (CUDA 12.4.1), sheet GPU Data; CUDA C++ Programming \
     Guide 11.7, table 15";
const GUIDE_4: &str = "CUDA C Programming Guide 4.2, table F-2";
const GUIDE_11: &str = "CUDA C++ Programming Guide 11.7, table 15";
const GUIDE_13: &str =
    "CUDA C++ Programming Guide 13, tables 30 to 32; cuda_occupancy.h of CUDA 13.5";

/// 64 bytes were measured on V100, A100 and H100, 32 on A40 and L40: devices.py of
/// github.com/te42kyfo/warpspeed.
const MEASURED_FILL: &str = "github.com/te42kyfo/warpspeed, devices.py: measured";
const ONE_SECTOR: &str =
    "nvprof's counts of Rodinia's hotspot on Kepler and Maxwell: a sector a miss";
/// The rate of scattered words on a T4, and the distance of misses on a GeForce without ECC.
const MEASURED_ON_TURING: &str = "measured: strided reads of a T4 (github.com/modal-labs/gpu-glossary, memory coalescing); the L2's line of an RTX 2070 (github.com/sjfeng1999/gpu-arch-microbenchmark)";
const AS_A40: &str = "assumed: as measured on the A40 and L40 (github.com/te42kyfo/warpspeed)";
const AS_H100: &str = "assumed: as measured on the H100 (github.com/te42kyfo/warpspeed)";
const NO_L2: &str = "there is no L2";
const AS_GTX_480: &str = "as the model of the GTX 480's L2: docs/evidence/dram-study.md";
/// Sets that a kernel goes through again and again. Reads come from DRAM when they are as large as
/// 1.0 of the L2 on A40 and L40; 0.67, 0.77 and 0.79 on A100, 0.78 and 0.82 on H200, 0.87 on H100.
const MEASURED_KEPT: &str =
    "github.com/RRZE-HPC/gpu-benches: gpu-l2-cache, gpu-l2-stream, gpu-small-kernels";
const KEPT_AS_8_6: &str =
    "assumed: as measured on the A40 and L40 (github.com/RRZE-HPC/gpu-benches)";
const KEPT_AS_9_0: &str =
    "assumed: as measured on the H100 and H200 (github.com/RRZE-HPC/gpu-benches)";

const SOURCE_1_0: Source = Source {
    limits: GUIDE_4,
    allocation: "cuda_occupancy.h of CUDA 7.0",
    registers_per_thread: "the port of NVIDIA's occupancy calculator in github.com/tmcdonell/cuda",
    coalescing: "CUDA C Programming Guide 4.2, F.3.2.1",
    banks: "CUDA C Programming Guide 4.2, F.3.3",
    constants: "CUDA C Programming Guide 4.2, section 5.3.2.4",
    first_level: "CUDA C Programming Guide 4.2, F.3: none but texture caches",
    l2_fill: NO_L2,
    l2_kept: NO_L2,
};
const SOURCE_1_2: Source =
    Source { coalescing: "CUDA C Programming Guide 4.2, F.3.2.2", ..SOURCE_1_0 };
const SOURCE_2: Source = Source {
    limits: SPREADSHEET,
    registers_per_thread: SPREADSHEET,
    coalescing: "CUDA C Programming Guide 4.2, F.4.2",
    banks: "CUDA C Programming Guide 4.2, F.4.3",
    first_level: "CUDA C Programming Guide 4.2, F.4.1 and F.4.2",
    l2_fill: ONE_SECTOR,
    l2_kept: AS_GTX_480,
    ..SOURCE_1_0
};
const SOURCE_3: Source = Source {
    allocation: "cuda_occupancy.h of CUDA 11.8",
    coalescing: "CUDA C++ Programming Guide 11.7, K.3; checked against nvprof's counts for Rodinia's backprop and hotspot (gpuperfpredict)",
    banks: "CUDA C++ Programming Guide 11.7, K.3; 4-byte mode, the default",
    first_level: "CUDA C++ Programming Guide 11.7, K.3; Kepler Tuning Guide: local memory only",
    ..SOURCE_2
};
const SOURCE_5: Source = Source {
    coalescing: "reverse-engineered from nvprof's counts for Rodinia's backprop and hotspot (gpuperfpredict)",
    banks: "CUDA C++ Programming Guide 11.7, K.4",
    first_level: "CUDA C++ Programming Guide 11.7, K.4 and section 5.3.2.2: read-only data; local memory as global memory",
    ..SOURCE_3
};
const SOURCE_6: Source = Source {
    first_level: "CUDA C++ Programming Guide 11.7, K.5 and section 5.3.2.2: local memory as global memory",
    ..SOURCE_5
};
const SOURCE_6_1: Source = Source {
    coalescing: "as on capability 5.x; twice of loads that the L1 keeps: nvprof's counts of a copy on a Titan Xp and a GTX 1080 Ti (stackoverflow.com/questions/56142674)",
    ..SOURCE_6
};
const SOURCE_7: Source = Source {
    allocation: "cuda_occupancy.h of CUDA 12.9",
    coalescing: "Nsight Compute 2024.1, Kernel Profiling Guide, memory tables",
    first_level: "CUDA C++ Programming Guide 11.7, K.6; local stores are written through: Nsight Compute's counts of 45 Coulomb kernels on an RTX 2080 Ti (KTT)",
    l2_fill: MEASURED_FILL,
    ..SOURCE_6
};
const SOURCE_8: Source = Source {
    allocation: "cuda_occupancy.h of CUDA 13.5",
    first_level: "CUDA C++ Programming Guide 11.7, K.7; local stores as on capability 7.5",
    l2_kept: MEASURED_KEPT,
    ..SOURCE_7
};
const SOURCE_9: Source = Source {
    limits: GUIDE_13,
    registers_per_thread: GUIDE_13,
    first_level: "CUDA C++ Programming Guide 13, tables 30 to 32; local stores as on capability 7.5",
    ..SOURCE_8
};
const SOURCE_10: Source = Source { l2_fill: AS_H100, l2_kept: KEPT_AS_9_0, ..SOURCE_9 };
const SOURCE_12: Source = Source { l2_fill: AS_A40, l2_kept: KEPT_AS_8_6, ..SOURCE_9 };

const fn from(limits: &'static str, source: Source) -> Source {
    Source { limits, registers_per_thread: limits, ..source }
}

const fn row(
    (major, minor): (u32, u32),
    limits: SmLimits,
    requests: RequestRules,
    first_level: FirstLevel,
    second_level: SecondLevel,
    source: Source,
) -> CapabilityRow {
    let capability = ComputeCapability::new(major, minor);
    CapabilityRow { capability, limits, requests, first_level, second_level, source }
}

/// Capability 2.0, the one that published counts were taken on.
pub(super) const FERMI: CapabilityRow =
    row((2, 0), LIMITS_2_0, REQUESTS_2, FirstLevel::FERMI, L2_2_0, SOURCE_2);

/// The rows of all capabilities of which the parameters are known.
#[rustfmt::skip]
pub(super) const TABLE: [CapabilityRow; 29] = [
    row((1, 0), LIMITS_1_0, REQUESTS_1_0, FirstLevel::NONE, L2_2_0, SOURCE_1_0),
    row((1, 1), LIMITS_1_0, REQUESTS_1_0, FirstLevel::NONE, L2_2_0, SOURCE_1_0),
    row((1, 2), LIMITS_1_2, REQUESTS_1_2, FirstLevel::NONE, L2_2_0, SOURCE_1_2),
    row((1, 3), LIMITS_1_2, REQUESTS_1_2, FirstLevel::NONE, L2_2_0, SOURCE_1_2),
    FERMI,
    row((2, 1), LIMITS_2_0, REQUESTS_2, FirstLevel::FERMI, L2_2_0, SOURCE_2),
    row((3, 0), LIMITS_3_0, REQUESTS_3, FirstLevel::KEPLER, L2_2_0, SOURCE_3),
    row((3, 2), LIMITS_3_5, REQUESTS_3, FirstLevel::KEPLER, L2_2_0, SOURCE_3),
    row((3, 5), LIMITS_3_5, REQUESTS_3, FirstLevel::KEPLER, L2_2_0, SOURCE_3),
    row((3, 7), LIMITS_3_7, REQUESTS_3, FirstLevel::KEPLER, L2_2_0, SOURCE_3),
    row((5, 0), LIMITS_5_0, REQUESTS_5, FirstLevel::MAXWELL, L2_2_0, SOURCE_5),
    row((5, 2), LIMITS_5_2, REQUESTS_5, FirstLevel::MAXWELL, L2_2_0, SOURCE_5),
    row((5, 3), LIMITS_5_3, REQUESTS_5, FirstLevel::MAXWELL, L2_2_0, SOURCE_5),
    row((6, 0), LIMITS_6_0, REQUESTS_5, FirstLevel::pascal(24), L2_2_0, SOURCE_6),
    row((6, 1), LIMITS_5_2, REQUESTS_6_1, FirstLevel::pascal(48), L2_2_0, SOURCE_6_1),
    row((6, 2), LIMITS_5_0, REQUESTS_5, FirstLevel::pascal(48), L2_2_0, SOURCE_6),
    row((7, 0), LIMITS_7_0, REQUESTS_7, FirstLevel::unified(128, CARVE_OUTS_7_0).evicting_any(), L2_7_0, SOURCE_7),
    row((7, 2), LIMITS_7_0, REQUESTS_7, FirstLevel::unified(128, CARVE_OUTS_7_0).evicting_any(), L2_2_0, from(GUIDE_11, Source { l2_fill: AS_A40, ..SOURCE_7 })),
    row((7, 5), LIMITS_7_5, REQUESTS_7, FirstLevel::unified(96, CARVE_OUTS_7_5).evicting_any(), L2_7_0, Source { l2_fill: MEASURED_ON_TURING, ..SOURCE_7 }),
    row((8, 0), LIMITS_8_0, REQUESTS_7, FirstLevel::unified(192, CARVE_OUTS_8_0), L2_8_0, SOURCE_8),
    row((8, 6), LIMITS_8_6, REQUESTS_7, FirstLevel::unified(128, CARVE_OUTS_8_6), L2_8_6, SOURCE_8),
    row((8, 7), LIMITS_8_7, REQUESTS_7, FirstLevel::unified(192, CARVE_OUTS_8_0), L2_8_6, from(GUIDE_11, Source { l2_fill: AS_A40, l2_kept: KEPT_AS_8_6, ..SOURCE_8 })),
    row((8, 9), LIMITS_8_9, REQUESTS_7, FirstLevel::unified(128, CARVE_OUTS_8_6), L2_8_6, SOURCE_9),
    row((9, 0), LIMITS_9_0, REQUESTS_7, FirstLevel::unified(256, CARVE_OUTS_9_0), L2_8_0, SOURCE_9),
    row((10, 0), LIMITS_9_0, REQUESTS_7, FirstLevel::unified(256, CARVE_OUTS_9_0), L2_8_0, SOURCE_10),
    row((10, 3), LIMITS_9_0, REQUESTS_7, FirstLevel::unified(256, CARVE_OUTS_9_0), L2_8_0, SOURCE_10),
    row((11, 0), LIMITS_11_0, REQUESTS_7, FirstLevel::unified(256, CARVE_OUTS_9_0), L2_8_6, SOURCE_12),
    row((12, 0), LIMITS_8_9, REQUESTS_7, FirstLevel::unified(128, CARVE_OUTS_8_6), L2_8_6, SOURCE_12),
    row((12, 1), LIMITS_8_9, REQUESTS_7, FirstLevel::unified(128, CARVE_OUTS_8_6), L2_8_6, SOURCE_12),
];

/// The compute capabilities of which the parameters are known.
pub const KNOWN_CAPABILITIES: [ComputeCapability; TABLE.len()] = {
    let mut known = [ComputeCapability::new(0, 0); TABLE.len()];
    let mut index = 0;
    while index < TABLE.len() {
        known[index] = TABLE[index].capability;
        index += 1;
    }
    known
};

/// The parameters of a capability; `None` if it is unknown.
pub(super) fn row_of(capability: ComputeCapability) -> Option<&'static CapabilityRow> {
    const ROWS: &[CapabilityRow] = &TABLE;
    ROWS.iter().find(|row| row.capability == capability)
}

/// The sources of a capability's parameters; `None` if it is unknown.
#[must_use]
pub fn capability_sources(capability: ComputeCapability) -> Option<Source> {
    row_of(capability).map(|row| row.source)
}
