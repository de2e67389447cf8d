//! The differences between generations of machine code, as columns of one table.
//!
//! Each column answers a question of some rule. The sources are machine code that NVIDIA's
//! assembler makes: `ptxas` 12.9 for sm_50, sm_70, sm_80 and sm_90, read with `nvdisasm`. Blackwell
//! has Hopper's columns. The columns of Fermi and Kepler follow from two documents. One is the
//! lists of machine instructions in the vendor's documentation of its binary utilities. The other
//! is the throughput table of the programming guide, which says which operations take several
//! instructions. Kepler's guarded blocks, expansions and video instructions were read from the code
//! of `ptxas` 11.8 for sm_35.

use gpucast_counters::machine::architecture::Architecture;

/// The instructions that multiply 32-bit integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Multiplier {
    /// One `IMAD` or `IMUL`; 64-bit products take two.
    Imad,
    /// 16-bit `XMAD`s: three for 32 × 32 bits, two if one factor is a constant of 16 bits.
    Xmad,
    /// One `IMAD`; `IMAD.WIDE` adds a 64-bit product to a 64-bit number.
    ImadWide,
}

/// The way in which lanes that a branch separated come together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Convergence {
    /// `SSY` pushes the place; the last instruction of each path carries `.S`.
    Suffix,
    /// `SSY` pushes the place; a `SYNC` of its own ends each path.
    Sync,
    /// `BSSY` names a barrier register; `BSYNC` stands where the paths meet.
    Barrier,
}

/// The way in which operands from the constant bank and wide literals reach an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Constants {
    /// One operand may be from the bank or a literal; others are moved to registers first.
    Direct,
    /// They are loaded into uniform registers, once for all that they dominate.
    Uniform,
}

/// The video instructions that the machine has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Video {
    /// All of them.
    Simd,
    /// Those of one byte, half or word (`VADD`), and `VABSDIFF4`.
    Scalar,
    /// `VABSDIFF4` alone.
    None,
}

/// The expansions that the compiler writes for divisions, roots and their like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expansions {
    Fermi,
    Kepler,
    Maxwell,
    Volta,
}

/// How the lanes of an atomic at one address become one update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aggregation {
    /// They do not, as far as is known.
    None,
    /// A ballot counts the lanes; different values are exchanged by whole warps only.
    Shuffles,
    /// `REDUX` combines different values of any lanes, and `ATOMS.POPC.INC` counts them.
    Reductions,
}

/// One generation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Family {
    /// The first compute capability times ten.
    pub(super) since: u32,
    /// The last one.
    pub(super) until: u32,
    /// The name of the architecture.
    pub(super) name: &'static str,
    pub(super) multiplier: Multiplier,
    pub(super) convergence: Convergence,
    pub(super) constants: Constants,
    /// `LOP3` computes any function of three inputs; before, `LOP` takes two.
    pub(super) lop3: bool,
    /// `LOP3` also compares its result with zero.
    pub(super) lop3_sets_predicate: bool,
    /// `IADD3` adds three numbers.
    pub(super) iadd3: bool,
    /// Instructions that begin every kernel besides the move of the stack pointer.
    pub(super) preamble: u32,
    /// A descriptor of global memory is loaded into uniform registers once.
    pub(super) descriptor: bool,
    /// The window of shared memory is computed from the CTA's rank in its cluster.
    pub(super) shared_window: bool,
    /// `BAR.SYNC` is followed by a fence of the CTA.
    pub(super) barrier_fence: bool,
    /// A scoreboard barrier (`DEPBAR`) waits for the first of several loads.
    pub(super) load_barrier: bool,
    /// `NOP`s wait before exits and barriers.
    pub(super) pads: bool,
    /// Loops with atomics ask which lanes are there (`VOTE`) before they go round.
    pub(super) gathers_lanes: bool,
    /// A barrier register is cleared (`BMOV`) before `BSSY` sets it.
    pub(super) saves_barrier: bool,
    /// Instructions of a 32-bit minimum or maximum: without `IMNMX`, a comparison and a selection.
    pub(super) integer_minimum: u32,
    /// Comparisons set registers (`ISET`, `FSET`), and selections compare (`ICMP`, `FCMP`).
    pub(super) sets_numbers: bool,
    /// The instruction that selects one of two floating-point numbers by a predicate.
    pub(super) float_selection: &'static str,
    /// Instructions for bytes and halves (`VADD`).
    pub(super) video: Video,
    /// The column of the tables of expansions.
    pub(super) expansions: Expansions,
    /// How the lanes of an atomic at one address are added up first.
    pub(super) aggregation: Aggregation,
    /// Numbers that all lanes share have instructions of their own (`VOTEU`, `UFLO`).
    pub(super) uniform_datapath: bool,
    /// The most machine instructions of a skipped block that become guarded instructions instead.
    pub(super) guarded_limit: u32,
    /// The same for a block that loads from global memory: the load had better be under way early.
    pub(super) guarded_limit_of_loads: u32,
}

const FERMI: Family = Family {
    since: 20,
    until: 21,
    name: "Fermi",
    multiplier: Multiplier::Imad,
    convergence: Convergence::Suffix,
    constants: Constants::Direct,
    lop3: false,
    lop3_sets_predicate: false,
    iadd3: false,
    preamble: 0,
    descriptor: false,
    shared_window: false,
    barrier_fence: false,
    load_barrier: false,
    pads: false,
    gathers_lanes: false,
    saves_barrier: false,
    integer_minimum: 1,
    sets_numbers: true,
    float_selection: "SEL",
    video: Video::Simd,
    expansions: Expansions::Fermi,
    aggregation: Aggregation::None,
    uniform_datapath: false,
    guarded_limit: 8,
    guarded_limit_of_loads: 20,
};
const KEPLER: Family =
    Family { since: 30, until: 37, name: "Kepler", expansions: Expansions::Kepler, ..FERMI };
const MAXWELL: Family = Family {
    since: 50,
    until: 53,
    name: "Maxwell",
    multiplier: Multiplier::Xmad,
    convergence: Convergence::Sync,
    lop3: true,
    iadd3: true,
    barrier_fence: true,
    load_barrier: true,
    pads: true,
    guarded_limit: 7,
    video: Video::Scalar,
    expansions: Expansions::Maxwell,
    aggregation: Aggregation::Shuffles,
    ..FERMI
};
const PASCAL: Family = Family { since: 60, until: 62, name: "Pascal", ..MAXWELL };
const VOLTA: Family = Family {
    since: 70,
    until: 72,
    name: "Volta",
    uniform_datapath: false,
    preamble: 1,
    gathers_lanes: true,
    saves_barrier: true,
    integer_minimum: 2,
    ..TURING
};
const TURING: Family = Family {
    since: 75,
    until: 75,
    name: "Turing",
    multiplier: Multiplier::ImadWide,
    convergence: Convergence::Barrier,
    lop3: true,
    lop3_sets_predicate: true,
    iadd3: true,
    sets_numbers: false,
    float_selection: "FSEL",
    video: Video::None,
    expansions: Expansions::Volta,
    aggregation: Aggregation::Shuffles,
    uniform_datapath: true,
    ..FERMI
};
const AMPERE: Family = Family {
    since: 80,
    until: 88,
    name: "Ampere",
    descriptor: true,
    aggregation: Aggregation::Reductions,
    ..TURING
};
const ADA: Family = Family { since: 89, until: 89, name: "Ada", ..AMPERE };
const HOPPER: Family = Family {
    since: 90,
    until: 90,
    name: "Hopper",
    constants: Constants::Uniform,
    shared_window: true,
    ..AMPERE
};
const BLACKWELL: Family = Family { since: 100, until: 121, name: "Blackwell", ..HOPPER };

/// The generations, oldest first.
pub(super) const FAMILIES: &[Family] =
    &[FERMI, KEPLER, MAXWELL, PASCAL, VOLTA, TURING, AMPERE, ADA, HOPPER, BLACKWELL];

impl Family {
    /// The generation that `target` belongs to; of targets that no row names, the closest older
    /// one as an [`Unknown`](Generation::Unknown) generation.
    pub(super) fn of(target: Architecture) -> Generation {
        let closest = FAMILIES.iter().rev().find(|family| family.since <= target.sm());
        match closest {
            Some(family) if target.sm() <= family.until => Generation::Known(family),
            Some(family) => Generation::Unknown { closest: family },
            None => Generation::Unknown { closest: &FERMI },
        }
    }
}

/// The family of a target, and if it is known.
#[derive(Clone, Copy, Debug)]
pub(super) enum Generation {
    /// It has a row.
    Known(&'static Family),
    /// No row names it; the closest older one stands for it.
    Unknown { closest: &'static Family },
}

impl Generation {
    pub(super) const fn family(self) -> &'static Family {
        match self {
            Self::Known(family) | Self::Unknown { closest: family } => family,
        }
    }
}

#[cfg(test)]
mod tests {
    use gpucast_counters::device::KNOWN_CAPABILITIES;

    use super::*;

    #[test]
    fn every_known_capability_has_a_row_and_others_have_none() {
        for capability in KNOWN_CAPABILITIES {
            let Some(target) = Architecture::of_capability(capability) else {
                continue;
            };
            assert!(matches!(Family::of(target), Generation::Known(_)), "{target}");
        }
        for text in ["sm_130", "sm_99", "sm_65"] {
            let target = text.parse().unwrap();
            assert!(matches!(Family::of(target), Generation::Unknown { .. }), "{text}");
        }
    }
}
