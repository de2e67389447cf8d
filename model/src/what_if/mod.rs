//! Transforms the counts of a kernel to those that it would have if something about it were
//! different.
//!
//! A what-if changes counts and conditions before any model sees them. So it holds for every model
//! that reads the changed values, and for none of the others. It is a bound, not another execution:
//! the effect on the rest of the kernel (on the order of its accesses, on its instructions) is left
//! out. Zhang & Owens 2011 (section 5) put such questions to their model one cause at a time;
//! `no-bank-conflicts` and `perfect-coalescing` are theirs.
//!
//! The metrics, the counts between barriers, the features of the cost model and the recorded launch
//! of the simulation are changed alike, each as far as it knows of the cause. The simulation then
//! runs again.
//!
//! | what-if | changes |
//! |---|---|
//! | `no-bank-conflicts` | every shared access takes the passes of one without conflicts |
//! | `perfect-coalescing` | global accesses move the sectors that their bytes fill |
//! | `fma` | each pair of an addition and a multiplication becomes a multiply-add |
//! | `no-divergence` | the work of all threads is packed into full warps |
//! | `occupancy=F` | models take F for the warps resident on an SM, over those that it can hold |
//! | `l2-hits=F` | the L2 holds F of the sectors that loads request; DRAM has the others |
//! | `dram-bytes=N` | device memory moves N bytes per invocation (Konstantinidis 2017, 7.2.1) |
//! | `no-local-memory` | arrays and spills in local memory stay in registers |
//! | `single-precision` | double-precision arithmetic is done in single precision |
//! | `no-barriers` | nobody waits at barriers of the block |
//! | `no-contention` | lanes whose atomics meet at one address do not wait for each other |
//! | `independent-instructions` | arithmetic waits for no earlier result |
//! | `fast-arithmetic` | divisions, roots and transcendentals take one ordinary instruction |
//! | `vector-accesses` | accesses of a thread to neighbouring addresses are one |
//! | `hoisted-accesses` | accesses of a loop whose address stays the same happen once |
//! | `merged-loads` | loads that only a store to another address parts happen once |
//! | `tiled-loads` | loads that warps of a CTA have in common come from tiles in shared memory |
//! | `tensor-cores` | half-precision multiply-adds are done by tensor cores |
//! | `spread-blocks=N` | blocks are divided until there are N, by rounds of loops or by warps |
//! | `even-waves=N` | the same work in whole waves of N blocks |
//! | `merged-blocks=N` | each thread does the work of N threads of neighbouring blocks |
//! | `shuffles` | threads add up by shuffles, in place of rounds through shared memory |
//! | `block-atomics` | blocks update words of their own in shared memory, and add these up last |
//!
//! Those from `no-barriers` on are seen by the simulation alone.
//!
//! With `perfect-coalescing`, no level below moves more than that either.

mod editor;
mod features;
mod simulated;
mod transforms;

use std::fmt;
use std::str::FromStr;

use gpucast_counters::KernelProfile;
use thiserror::Error;

use crate::predictor::Conditions;
use editor::Editor;

/// A change of circumstances.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WhatIf {
    /// Shared memory without bank conflicts.
    NoBankConflicts,
    /// Global memory without a byte that nobody asked for.
    PerfectCoalescing,
    /// Additions and multiplications contracted.
    Fma,
    /// Warps without idle lanes.
    NoDivergence,
    /// Another occupancy, a fraction.
    Occupancy(f64),
    /// Another hit rate of loads in the L2, a fraction.
    L2Hits(f64),
    /// Another traffic of device memory, in bytes of an invocation.
    DramBytes(f64),
    /// Local memory that stays in registers.
    NoLocalMemory,
    /// Double-precision arithmetic in single precision.
    SinglePrecision,
    /// No barriers of blocks.
    NoBarriers,
    /// Atomics of a warp that do not wait for each other.
    NoContention,
    /// Arithmetic without dependences.
    IndependentInstructions,
    /// Divisions, roots and transcendentals as fast as additions.
    FastArithmetic,
    /// Neighbouring accesses of a thread joined.
    VectorAccesses,
    /// Accesses of a loop whose address stays the same, outside of the loop.
    HoistedAccesses,
    /// Loads of one address, parted only by stores to others, as one.
    MergedLoads,
    /// Loads that warps of a CTA have in common, from tiles in shared memory.
    TiledLoads,
    /// Half-precision multiply-adds on tensor cores.
    TensorCores,
    /// Blocks divided until there are as many.
    SpreadBlocks(f64),
    /// The same work in whole waves of as many blocks.
    EvenWaves(f64),
    /// Each thread does the work of as many threads of neighbouring blocks.
    MergedBlocks(f64),
    /// Threads add up by shuffles.
    Shuffles,
    /// Blocks update words of their own in shared memory, and add them up at the end.
    BlockAtomics,
}

/// The reason why a text is no what-if.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum WhatIfError {
    /// The name does not exist.
    #[error("there is no what-if named `{name}`")]
    Unknown {
        /// The name.
        name: String,
    },
    /// A value is missing.
    #[error("`{name}` needs a value")]
    NoValue {
        /// The name.
        name: &'static str,
        /// An example of the notation.
        example: &'static str,
    },
    /// A value where none belongs.
    #[error("`{name}` takes no value")]
    Value {
        /// The name.
        name: &'static str,
    },
    /// A value that cannot be one.
    #[error("`{value}` is not {wanted}")]
    Impossible {
        /// The value as it was written.
        value: String,
        /// A description of a possible value.
        wanted: &'static str,
    },
}

impl WhatIfError {
    /// The text to write instead, if that is known.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NoValue { example, .. } => Some(format!("write {example}")),
            Self::Unknown { .. } | Self::Value { .. } | Self::Impossible { .. } => None,
        }
    }
}

impl WhatIf {
    /// The names, in the order of the table above.
    pub const NAMES: [&'static str; 23] = [
        "no-bank-conflicts",
        "perfect-coalescing",
        "fma",
        "no-divergence",
        "occupancy",
        "l2-hits",
        "dram-bytes",
        "no-local-memory",
        "single-precision",
        "no-barriers",
        "no-contention",
        "independent-instructions",
        "fast-arithmetic",
        "vector-accesses",
        "hoisted-accesses",
        "merged-loads",
        "tiled-loads",
        "tensor-cores",
        "spread-blocks",
        "even-waves",
        "merged-blocks",
        "shuffles",
        "block-atomics",
    ];

    /// Its name without its value.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NoBankConflicts => "no-bank-conflicts",
            Self::PerfectCoalescing => "perfect-coalescing",
            Self::Fma => "fma",
            Self::NoDivergence => "no-divergence",
            Self::Occupancy(_) => "occupancy",
            Self::L2Hits(_) => "l2-hits",
            Self::DramBytes(_) => "dram-bytes",
            Self::NoLocalMemory => "no-local-memory",
            Self::SinglePrecision => "single-precision",
            Self::NoBarriers => "no-barriers",
            Self::NoContention => "no-contention",
            Self::IndependentInstructions => "independent-instructions",
            Self::FastArithmetic => "fast-arithmetic",
            Self::VectorAccesses => "vector-accesses",
            Self::HoistedAccesses => "hoisted-accesses",
            Self::MergedLoads => "merged-loads",
            Self::TiledLoads => "tiled-loads",
            Self::TensorCores => "tensor-cores",
            Self::SpreadBlocks(_) => "spread-blocks",
            Self::EvenWaves(_) => "even-waves",
            Self::MergedBlocks(_) => "merged-blocks",
            Self::Shuffles => "shuffles",
            Self::BlockAtomics => "block-atomics",
        }
    }

    /// Its value, if it has one.
    fn value(self) -> Option<f64> {
        match self {
            Self::Occupancy(value)
            | Self::L2Hits(value)
            | Self::DramBytes(value)
            | Self::SpreadBlocks(value)
            | Self::EvenWaves(value)
            | Self::MergedBlocks(value) => Some(value),
            Self::NoBankConflicts
            | Self::PerfectCoalescing
            | Self::Fma
            | Self::NoDivergence
            | Self::NoLocalMemory
            | Self::SinglePrecision
            | Self::NoBarriers
            | Self::NoContention
            | Self::IndependentInstructions
            | Self::FastArithmetic
            | Self::VectorAccesses
            | Self::HoistedAccesses
            | Self::MergedLoads
            | Self::TiledLoads
            | Self::TensorCores
            | Self::Shuffles
            | Self::BlockAtomics => None,
        }
    }
}

impl fmt::Display for WhatIf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self.value() {
            Some(value) => write!(f, "={value}"),
            None => Ok(()),
        }
    }
}

impl FromStr for WhatIf {
    type Err = WhatIfError;

    fn from_str(text: &str) -> Result<Self, WhatIfError> {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name.trim(), Some(value.trim())),
            None => (text.trim(), None),
        };
        let plain = |what_if: Self| match value {
            None => Ok(what_if),
            Some(_) => Err(WhatIfError::Value { name: what_if.name() }),
        };
        let with = |name, example, read: fn(&str) -> Result<f64, WhatIfError>| {
            read(value.ok_or(WhatIfError::NoValue { name, example })?)
        };
        match name {
            "no-bank-conflicts" => plain(Self::NoBankConflicts),
            "perfect-coalescing" => plain(Self::PerfectCoalescing),
            "fma" => plain(Self::Fma),
            "no-divergence" => plain(Self::NoDivergence),
            "occupancy" => {
                let value = with("occupancy", "occupancy=50%", fraction)?;
                if value == 0.0 {
                    let value = value.to_string();
                    return Err(WhatIfError::Impossible { value, wanted: "an occupancy above 0" });
                }
                Ok(Self::Occupancy(value))
            }
            "l2-hits" => with("l2-hits", "l2-hits=90%", fraction).map(Self::L2Hits),
            "dram-bytes" => with("dram-bytes", "dram-bytes=64e6", bytes).map(Self::DramBytes),
            "no-local-memory" => plain(Self::NoLocalMemory),
            "single-precision" => plain(Self::SinglePrecision),
            "no-barriers" => plain(Self::NoBarriers),
            "no-contention" => plain(Self::NoContention),
            "independent-instructions" => plain(Self::IndependentInstructions),
            "fast-arithmetic" => plain(Self::FastArithmetic),
            "vector-accesses" => plain(Self::VectorAccesses),
            "hoisted-accesses" => plain(Self::HoistedAccesses),
            "merged-loads" => plain(Self::MergedLoads),
            "tiled-loads" => plain(Self::TiledLoads),
            "tensor-cores" => plain(Self::TensorCores),
            "spread-blocks" => {
                with("spread-blocks", "spread-blocks=132", blocks).map(Self::SpreadBlocks)
            }
            "even-waves" => with("even-waves", "even-waves=132", blocks).map(Self::EvenWaves),
            "merged-blocks" => {
                with("merged-blocks", "merged-blocks=4", merged).map(Self::MergedBlocks)
            }
            "shuffles" => plain(Self::Shuffles),
            "block-atomics" => plain(Self::BlockAtomics),
            _ => Err(WhatIfError::Unknown { name: name.to_owned() }),
        }
    }
}

/// `0.9` or `90%`.
fn fraction(text: &str) -> Result<f64, WhatIfError> {
    let (digits, scale) = match text.strip_suffix('%') {
        Some(digits) => (digits.trim(), 0.01),
        None => (text, 1.0),
    };
    let value = digits.parse::<f64>().map(|value| value * scale);
    let wanted = "a fraction from 0 to 1, or a percentage";
    match value {
        Ok(value) if (0.0..=1.0).contains(&value) => Ok(value),
        _ => Err(WhatIfError::Impossible { value: text.to_owned(), wanted }),
    }
}

fn bytes(text: &str) -> Result<f64, WhatIfError> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && value >= 0.0 => Ok(value),
        _ => {
            let wanted = "a number of bytes";
            Err(WhatIfError::Impossible { value: text.to_owned(), wanted })
        }
    }
}

fn blocks(text: &str) -> Result<f64, WhatIfError> {
    match text.parse::<u32>() {
        Ok(value) if value > 0 => Ok(f64::from(value)),
        _ => {
            let wanted = "a number of blocks";
            Err(WhatIfError::Impossible { value: text.to_owned(), wanted })
        }
    }
}

/// The most results of a thread: a patch of 8 × 8 with its factors fills half of the registers that
/// a thread can have.
const MOST_MERGED: u32 = 64;

fn merged(text: &str) -> Result<f64, WhatIfError> {
    match text.parse::<u32>() {
        Ok(value) if (2..=MOST_MERGED).contains(&value) => Ok(f64::from(value)),
        _ => {
            let wanted = "a number of blocks from 2 to 64";
            Err(WhatIfError::Impossible { value: text.to_owned(), wanted })
        }
    }
}

/// A quantity before and after.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Change {
    /// The metric, or the quantity between barriers or of the launch that is changed.
    pub quantity: String,
    /// The former value; none if it was not set.
    pub before: Option<f64>,
    /// As it is.
    pub after: f64,
    /// The unit; empty for fractions.
    pub unit: &'static str,
}

/// Counts under other circumstances.
#[derive(Clone, Debug)]
pub struct Changed {
    /// The counts.
    pub profile: KernelProfile,
    /// The conditions.
    pub conditions: Conditions,
    /// The differences; empty if the counts have nothing of the kind.
    pub changes: Vec<Change>,
}

/// The counts and conditions as they would be. Each what-if applies to the result of the one
/// before.
#[must_use]
pub fn apply(what_ifs: &[WhatIf], profile: &KernelProfile, conditions: &Conditions) -> Changed {
    let mut editor = Editor::new(profile.clone(), conditions.clone());
    for what_if in what_ifs {
        match *what_if {
            WhatIf::NoBankConflicts => {
                transforms::no_bank_conflicts(&mut editor);
                features::no_bank_conflicts(&mut editor);
                simulated::no_bank_conflicts(&mut editor);
            }
            WhatIf::PerfectCoalescing => {
                transforms::perfect_coalescing(&mut editor);
                features::perfect_coalescing(&mut editor);
                simulated::perfect_coalescing(&mut editor);
            }
            WhatIf::Fma => {
                transforms::fma(&mut editor);
                features::fma(&mut editor);
                simulated::fma(&mut editor);
            }
            WhatIf::NoDivergence => {
                transforms::no_divergence(&mut editor);
                features::no_divergence(&mut editor);
                simulated::no_divergence(&mut editor);
            }
            // The simulation reads it from the conditions.
            WhatIf::Occupancy(fraction) => transforms::occupancy(&mut editor, fraction),
            WhatIf::L2Hits(fraction) => {
                transforms::l2_hits(&mut editor, fraction);
                simulated::l2_hits(&mut editor, fraction);
            }
            WhatIf::DramBytes(bytes) => {
                let before = transforms::dram_bytes_of(&editor);
                transforms::dram_bytes(&mut editor, bytes);
                if let Some(before) = before.filter(|&before| before > 0.0) {
                    simulated::dram_bytes(&mut editor, bytes / before);
                }
            }
            WhatIf::NoLocalMemory => {
                transforms::no_local_memory(&mut editor);
                simulated::no_local_memory(&mut editor);
            }
            WhatIf::SinglePrecision => {
                transforms::single_precision(&mut editor);
                simulated::single_precision(&mut editor);
            }
            WhatIf::NoBarriers => simulated::no_barriers(&mut editor),
            WhatIf::NoContention => simulated::no_contention(&mut editor),
            WhatIf::IndependentInstructions => simulated::independent_instructions(&mut editor),
            WhatIf::FastArithmetic => simulated::fast_arithmetic(&mut editor),
            WhatIf::VectorAccesses => simulated::vector_accesses(&mut editor),
            WhatIf::HoistedAccesses => simulated::hoisted_accesses(&mut editor),
            WhatIf::MergedLoads => simulated::merged_loads(&mut editor),
            WhatIf::TiledLoads => simulated::tiled_loads(&mut editor),
            WhatIf::TensorCores => simulated::tensor_cores(&mut editor),
            WhatIf::SpreadBlocks(blocks) => simulated::spread_blocks(&mut editor, blocks as u64),
            WhatIf::EvenWaves(blocks) => simulated::even_waves(&mut editor, blocks as u64),
            WhatIf::MergedBlocks(blocks) => simulated::merged_blocks(&mut editor, blocks as u64),
            WhatIf::Shuffles => simulated::shuffles(&mut editor),
            WhatIf::BlockAtomics => simulated::block_atomics(&mut editor),
        }
    }
    editor.finish()
}
