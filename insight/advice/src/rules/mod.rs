//! The causes that are looked for: one file each, and their registry.
//!
//! A rule looks at a [`Case`] and may come to a [`Suspicion`]: where, what to change, which
//! counters tell, and which question to put to the models. Its documentation has five headings,
//! which the page of rules is written from.

use serde::Serialize;

use crate::case::Case;
use crate::place::LineShare;
use crate::trial::Trial;

/// A cause, and how to find it.
pub struct Rule {
    /// A stable name for programs.
    pub code: &'static str,
    /// The cause in a few words.
    pub title: &'static str,
    /// What mending it takes.
    pub effort: Effort,
    /// Looks for it.
    pub check: fn(&Case<'_>) -> Option<Suspicion>,
    /// The text of its file, which begins with its documentation.
    pub(crate) source: &'static str,
}

/// What mending a cause takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// Lines, types, or the shape of the launch.
    Lines,
    /// The structure of the kernel: who computes what, and where data is kept.
    Structure,
}

impl Effort {
    /// How often more a change must bring than one of lines, as a power: one that makes a kernel
    /// eight times as fast ranks with one of lines that makes it twice as fast.
    #[must_use]
    pub const fn weight(self) -> f64 {
        match self {
            Self::Lines => 1.0,
            Self::Structure => 3.0,
        }
    }
}

/// A cause that a rule found signs of.
#[derive(Clone, Debug, PartialEq)]
pub struct Suspicion {
    /// What to change, in a sentence.
    pub change: String,
    /// Where, by what falls on each line.
    pub places: Vec<LineShare>,
    /// The counters that tell.
    pub evidence: Vec<Evidence>,
    /// The question to the models.
    pub trial: Trial,
}

/// A counter with its value and the one that would be ideal.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evidence {
    /// The metric, or what is counted.
    pub counter: String,
    /// Its value.
    pub value: f64,
    /// The value without the cause.
    pub ideal: f64,
    /// The unit.
    pub unit: &'static str,
}

impl Evidence {
    pub(crate) fn new(counter: &str, value: f64, ideal: f64, unit: &'static str) -> Self {
        Self { counter: counter.to_owned(), value, ideal, unit }
    }
}

/// Declares the modules of the rules, and the registry in their order.
macro_rules! rules {
    ($($module:ident,)+) => {
        $(mod $module;)+

        /// Every rule. Where gains are equal, earlier ones come first.
        pub static ALL: &[Rule] = &[$(Rule {
            code: $module::CODE,
            title: $module::TITLE,
            effort: $module::EFFORT,
            check: $module::check,
            source: include_str!(concat!(stringify!($module), ".rs")),
        }),+];
    };
}

rules! {
    uncoalesced_access,
    bank_conflicts,
    narrow_accesses,
    divergence,
    idle_lanes,
    local_memory,
    redundant_accesses,
    read_only_loads,
    untiled_loads,
    l2_thrash,
    contended_atomics,
    global_atomics,
    double_precision,
    slow_arithmetic,
    missing_fma,
    unused_tensor_cores,
    work_per_thread,
    shared_sums,
    barriers,
    few_blocks,
    tail,
    low_occupancy,
    dependence_chain,
    launch_overhead,
}
