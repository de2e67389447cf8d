//! Metric values: a number, its unit, and its reliability.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The origin of a figure; every published figure carries one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Follows from execution alone.
    Exact,
    /// Read off real hardware by a profiler and handed to us.
    Measured,
    /// Comes out of a stated hardware model.
    Modelled,
    /// Translated by a rule table or extrapolated from a sample.
    Estimated,
}

/// The level of the instructions that a figure counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// PTX instructions, as executed.
    Ptx,
    /// The GPU's own instructions, which a profiler counts.
    Machine,
}

/// A metric's number: a whole count if there is one, otherwise a real.
///
/// JSON has each as a number, a count with all of its digits. Readers that hold numbers as reals
/// round counts above 2⁵³.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Number {
    /// A count of events.
    Count(u128),
    /// A ratio, a percentage, or a mean over invocations.
    Real(f64),
}

impl Number {
    /// The number as a real; counts above 2⁵³ lose their last bits.
    #[must_use]
    pub fn as_f64(self) -> f64 {
        match self {
            Self::Count(n) => n as f64,
            Self::Real(x) => x,
        }
    }
}

/// One metric of one launch.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MetricValue {
    /// The figure.
    pub value: Number,
    /// The vendor's unit, singular: `instruction`, `operation`, `transaction`, `byte`, `percent`.
    pub unit: &'static str,
    /// The origin of the figure.
    pub kind: Kind,
}

/// Metrics by their nvprof name.
pub type Metrics = BTreeMap<String, MetricValue>;
