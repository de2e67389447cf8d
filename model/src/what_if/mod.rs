//! Transforms the counts of a kernel to those that it would have if something about it were
//! different.
//!
//! A what-if changes counts and conditions before any model sees them. So it holds for every model
//! that reads the changed values, and for none of the others. It is a bound, not another execution:
//! the effect on the rest of the kernel (on the order of its accesses, on its instructions) is left
//! out. Zhang & Owens 2011 (section 5) put such questions to their model one cause at a time;
//! `no-bank-conflicts` and `perfect-coalescing` are theirs.
//!
//! The metrics, the counts between barriers and the features of the cost model are changed alike,
//! each as far as it knows of the cause.
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
//!
//! With `perfect-coalescing`, no level below moves more than that either.

mod editor;
mod features;
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
    pub const NAMES: [&'static str; 7] = [
        "no-bank-conflicts",
        "perfect-coalescing",
        "fma",
        "no-divergence",
        "occupancy",
        "l2-hits",
        "dram-bytes",
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
        }
    }
}

impl fmt::Display for WhatIf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self {
            Self::Occupancy(value) | Self::L2Hits(value) | Self::DramBytes(value) => {
                write!(f, "={value}")
            }
            Self::NoBankConflicts | Self::PerfectCoalescing | Self::Fma | Self::NoDivergence => {
                Ok(())
            }
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
            }
            WhatIf::PerfectCoalescing => {
                transforms::perfect_coalescing(&mut editor);
                features::perfect_coalescing(&mut editor);
            }
            WhatIf::Fma => {
                transforms::fma(&mut editor);
                features::fma(&mut editor);
            }
            WhatIf::NoDivergence => {
                transforms::no_divergence(&mut editor);
                features::no_divergence(&mut editor);
            }
            WhatIf::Occupancy(fraction) => transforms::occupancy(&mut editor, fraction),
            WhatIf::L2Hits(fraction) => transforms::l2_hits(&mut editor, fraction),
            WhatIf::DramBytes(bytes) => transforms::dram_bytes(&mut editor, bytes),
        }
    }
    editor.finish()
}
