//! What a compute capability says of a GPU: one row for each.

use std::fmt;

use super::{RegisterAllocation, SmLimits};
use crate::banks::BankGeometry;
use crate::coalescing::{Coalescing, Protocol, SectorSize, TransactionRule};

/// A CUDA compute capability such as 8.6.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Capability {
    /// The generation.
    pub major: u32,
    /// The variant within it.
    pub minor: u32,
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// Where the parameters of a capability are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// Warps, CTAs, threads, registers and shared memory.
    pub limits: &'static str,
    /// Units of allocation, sub-partitions, reserved shared memory.
    pub allocation: &'static str,
    /// Registers of a thread.
    pub registers_per_thread: &'static str,
    /// Coalescing and what the profiler calls a transaction.
    pub coalescing: &'static str,
    /// Banks of shared memory.
    pub banks: &'static str,
    /// Constant memory.
    pub constants: &'static str,
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
pub(super) const LIMITS_2_0: SmLimits = SmLimits {
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

const fn rules(protocol: Protocol, loads: TransactionRule, stores: TransactionRule) -> Coalescing {
    Coalescing { protocol, loads, stores, sector: SectorSize::BYTES_32 }
}

const COALESCING_1_0: Coalescing =
    rules(Protocol::AlignedHalfWarps, TransactionRule::Sectors, TransactionRule::Sectors);
const COALESCING_1_2: Coalescing =
    Coalescing { protocol: Protocol::HalfWarpSegments, ..COALESCING_1_0 };
pub(super) const COALESCING_2: Coalescing =
    rules(Protocol::Lines, TransactionRule::Lines, TransactionRule::Lines);
const COALESCING_5: Coalescing =
    rules(Protocol::Lines, TransactionRule::Quads, TransactionRule::Sectors);
const COALESCING_7: Coalescing =
    rules(Protocol::Lines, TransactionRule::Sectors, TransactionRule::Sectors);

const SPREADSHEET: &str = "NVIDIA's CUDA_Occupancy_Calculator.xls (CUDA 12.4.1), sheet GPU Data; CUDA C++ Programming \
     Guide 11.7, table 15";
const GUIDE_4: &str = "CUDA C Programming Guide 4.2, table F-2";
const GUIDE_13: &str =
    "CUDA C++ Programming Guide 13, tables 30 to 32; cuda_occupancy.h of CUDA 13.5";

impl Capability {
    /// The capabilities of which the parameters are known.
    pub const KNOWN: [Self; 29] = {
        const fn of(major: u32, minor: u32) -> Capability {
            Capability { major, minor }
        }
        [
            of(1, 0),
            of(1, 1),
            of(1, 2),
            of(1, 3),
            of(2, 0),
            of(2, 1),
            of(3, 0),
            of(3, 2),
            of(3, 5),
            of(3, 7),
            of(5, 0),
            of(5, 2),
            of(5, 3),
            of(6, 0),
            of(6, 1),
            of(6, 2),
            of(7, 0),
            of(7, 2),
            of(7, 5),
            of(8, 0),
            of(8, 6),
            of(8, 7),
            of(8, 9),
            of(9, 0),
            of(10, 0),
            of(10, 3),
            of(11, 0),
            of(12, 0),
            of(12, 1),
        ]
    };

    fn limits(self) -> Option<SmLimits> {
        Some(match (self.major, self.minor) {
            (1, 0 | 1) => LIMITS_1_0,
            (1, 2 | 3) => LIMITS_1_2,
            (2, 0 | 1) => LIMITS_2_0,
            (3, 0) => LIMITS_3_0,
            (3, 2 | 5) => LIMITS_3_5,
            (3, 7) => LIMITS_3_7,
            (5, 0) => LIMITS_5_0,
            (5, 2) => LIMITS_5_2,
            (5, 3) => LIMITS_5_3,
            (6, 0) => LIMITS_6_0,
            (6, 1) => LIMITS_5_2,
            (6, 2) => LIMITS_5_0,
            (7, 0 | 2) => LIMITS_7_0,
            (7, 5) => LIMITS_7_5,
            (8, 0) => LIMITS_8_0,
            (8, 6) => LIMITS_8_6,
            (8, 7) => LIMITS_8_7,
            (8, 9) => LIMITS_8_9,
            (9, 0) | (10, 0 | 3) => LIMITS_9_0,
            (11, 0) => LIMITS_11_0,
            (12, 0 | 1) => LIMITS_8_9,
            _ => return None,
        })
    }

    /// Limits of an SM, coalescing, banks, and the lanes of a constant request.
    pub(super) fn defaults(self) -> Option<(SmLimits, Coalescing, BankGeometry, u32)> {
        let limits = self.limits()?;
        let (coalescing, banks, constant_lanes) = match (self.major, self.minor) {
            (1, 0 | 1) => (COALESCING_1_0, BankGeometry::CAPABILITY_1, 16),
            (1, _) => (COALESCING_1_2, BankGeometry::CAPABILITY_1, 16),
            (2, _) => (COALESCING_2, BankGeometry::CAPABILITY_2, 32),
            (3, _) => (COALESCING_2, BankGeometry::CAPABILITY_3, 32),
            (5 | 6, _) => (COALESCING_5, BankGeometry::CAPABILITY_2, 32),
            _ => (COALESCING_7, BankGeometry::CAPABILITY_2, 32),
        };
        Some((limits, coalescing, banks, constant_lanes))
    }

    /// Where the parameters come from; `None` if the capability is unknown.
    #[must_use]
    pub fn sources(self) -> Option<Source> {
        self.limits()?;
        let limits = match (self.major, self.minor) {
            (1, _) => GUIDE_4,
            (7, 2) | (8, 7) => "CUDA C++ Programming Guide 11.7, table 15",
            (2..=7, _) | (8, 0 | 6) => SPREADSHEET,
            _ => GUIDE_13,
        };
        let allocation = match self.major {
            1 | 2 => "cuda_occupancy.h of CUDA 7.0",
            3 | 5 | 6 => "cuda_occupancy.h of CUDA 11.8",
            7 => "cuda_occupancy.h of CUDA 12.9",
            _ => "cuda_occupancy.h of CUDA 13.5",
        };
        let registers_per_thread = match self.major {
            1 => "the port of NVIDIA's occupancy calculator in github.com/tmcdonell/cuda",
            _ => limits,
        };
        let coalescing = match (self.major, self.minor) {
            (1, 0 | 1) => "CUDA C Programming Guide 4.2, F.3.2.1",
            (1, _) => "CUDA C Programming Guide 4.2, F.3.2.2",
            (2, _) => "CUDA C Programming Guide 4.2, F.4.2",
            (3, _) => {
                "CUDA C++ Programming Guide 11.7, K.3; checked against nvprof's counts for Rodinia's backprop and hotspot (gpuperfpredict)"
            }
            (5 | 6, _) => {
                "reverse-engineered from nvprof's counts for Rodinia's backprop and hotspot (gpuperfpredict)"
            }
            _ => "Nsight Compute 2024.1, Kernel Profiling Guide, memory tables",
        };
        let banks = match self.major {
            1 => "CUDA C Programming Guide 4.2, F.3.3",
            2 => "CUDA C Programming Guide 4.2, F.4.3",
            3 => "CUDA C++ Programming Guide 11.7, K.3; 4-byte mode, the default",
            _ => "CUDA C++ Programming Guide 11.7, K.4",
        };
        let constants = "CUDA C Programming Guide 4.2, section 5.3.2.4";
        Some(Source { limits, allocation, registers_per_thread, coalescing, banks, constants })
    }
}
