//! The reasons why a component takes as long as it does: section 3, last paragraph.
//!
//! The paper names the causes without a threshold. Here each has a cost, the share of the
//! component's time that would go away with it, and is named from a tenth on.

use std::fmt;

use gpucast_counters::throughput::Operation;
use serde::Serialize;

use super::Components;
use super::stages::{StageAnalysis, Times};
use super::work::StageWork;
use crate::prediction::Bound;

/// The least cost of a cause that is named.
const WORTH_NAMING: f64 = 0.1;
/// Threads of a warp.
const LANES: f64 = 32.0;

/// The reason why a component takes long.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "cause")]
pub enum Cause {
    /// Few of the instructions compute.
    LowDensity {
        /// The share of the warp instructions that compute.
        computing: f64,
    },
    /// Instructions that few units execute.
    ExpensiveInstructions {
        /// The operation.
        #[serde(serialize_with = "operation_text")]
        operation: Operation,
        /// Their time beyond that of as many additions, over the whole time.
        excess: f64,
    },
    /// Too few warps to cover a latency.
    FewWarps {
        /// Warps of an SM, averaged over the component's time.
        warps: f64,
        /// Warps beyond which nothing is gained.
        saturating: f64,
        /// The throughput with them, of that with enough.
        reached: f64,
    },
    /// Lanes that need different words of one bank.
    BankConflicts {
        /// Passes for each that would do.
        degree: f64,
    },
    /// Lanes that load from the same bank of different lines of a first-level cache.
    CacheBankConflicts {
        /// Passes for each that would do.
        degree: f64,
        /// Their time over that of the rest of global memory's work.
        excess: f64,
    },
    /// Too little under way to cover the latency of memory, or paths to it that idle.
    LittleParallelism {
        /// The bandwidth, of that with enough.
        reached: f64,
    },
    /// Lanes of a warp that touch more pieces of memory than their bytes fill.
    Uncoalesced {
        /// Bytes moved for each that is asked for, at the transactions' granularity.
        excess: f64,
        /// Bytes of the smallest transaction.
        granularity_bytes: f64,
    },
}

fn operation_text<S: serde::Serializer>(operation: &Operation, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_str(operation.text())
}

impl Cause {
    /// The share of the component's time that would go away without it.
    #[must_use]
    pub fn cost(&self) -> f64 {
        match *self {
            Self::LowDensity { computing } => 1.0 - computing,
            Self::ExpensiveInstructions { excess, .. } => excess,
            Self::FewWarps { reached, .. } | Self::LittleParallelism { reached } => 1.0 - reached,
            Self::BankConflicts { degree } => 1.0 - 1.0 / degree,
            Self::CacheBankConflicts { excess, .. } | Self::Uncoalesced { excess, .. } => {
                1.0 - 1.0 / excess
            }
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::LowDensity { computing } => {
                write!(f, "only {:.0} % of the instructions compute", 100.0 * computing)
            }
            Self::ExpensiveInstructions { operation, excess } => write!(
                f,
                "{} are expensive and take {:.0} % of the pipeline's time beyond that of additions",
                operation.text(),
                100.0 * excess
            ),
            Self::FewWarps { warps, saturating, reached } => write!(
                f,
                "{warps:.1} warps of an SM reach {:.0} % of what {saturating:.0} would",
                100.0 * reached
            ),
            Self::BankConflicts { degree } => {
                write!(f, "bank conflicts cost {degree:.1} passes where one would do")
            }
            Self::CacheBankConflicts { degree, .. } => write!(
                f,
                "lanes load from the same bank of different lines: {degree:.1} passes over the \
                 first-level cache where one would do"
            ),
            Self::LittleParallelism { reached } => write!(
                f,
                "too little is under way for the latency of memory: {:.0} % of the bandwidth",
                100.0 * reached
            ),
            Self::Uncoalesced { excess, granularity_bytes } => write!(
                f,
                "uncoalesced accesses touch {excess:.1} bytes in transactions of \
                 {granularity_bytes:.0} bytes for each that is asked for"
            ),
        }
    }
}

/// The causes of a component's time, the costliest first.
pub(super) fn of(
    bound: Bound,
    work: &StageWork,
    stages: &[StageAnalysis],
    components: &Components,
) -> Vec<Cause> {
    let mut causes = match bound {
        Bound::Compute => instructions(work, stages, components),
        Bound::Shared => shared(work, stages, components),
        _ => global(work, stages, components),
    };
    causes.retain(|cause| cause.cost() >= WORTH_NAMING);
    causes.sort_by(|a, b| b.cost().total_cmp(&a.cost()));
    causes
}

/// The warps of an SM, weighted by the component's time.
fn mean_warps(stages: &[StageAnalysis], time: fn(&Times) -> f64) -> f64 {
    let all: f64 = stages.iter().map(|stage| time(&stage.times)).sum();
    let weighted: f64 = stages.iter().map(|stage| stage.warps_per_sm * time(&stage.times)).sum();
    if all > 0.0 { weighted / all } else { 0.0 }
}

/// `ideal` over the sum of actual times.
fn reached(
    stages: &[StageAnalysis],
    actual: fn(&Times) -> f64,
    ideal: fn(&StageAnalysis) -> f64,
) -> f64 {
    let all: f64 = stages.iter().map(|stage| actual(&stage.times)).sum();
    let best: f64 = stages.iter().map(ideal).sum();
    if all > 0.0 { best / all } else { 1.0 }
}

fn instructions(work: &StageWork, stages: &[StageAnalysis], components: &Components) -> Vec<Cause> {
    let counts = &work.instructions;
    let mut causes = vec![
        Cause::LowDensity { computing: counts.computations() / counts.total() },
        Cause::FewWarps {
            warps: mean_warps(stages, |times| times.instructions_ms),
            saturating: components.instructions.saturating_warps(),
            reached: reached(
                stages,
                |times| times.instructions_ms,
                |stage| stage.instructions_saturated_ms,
            ),
        },
    ];
    if let Some((operation, excess)) = components.instructions.most_expensive(counts) {
        causes.push(Cause::ExpensiveInstructions { operation, excess });
    }
    causes
}

fn shared(work: &StageWork, stages: &[StageAnalysis], components: &Components) -> Vec<Cause> {
    vec![
        Cause::BankConflicts { degree: work.passes / work.conflict_free.max(1.0) },
        Cause::FewWarps {
            warps: mean_warps(stages, |times| times.shared_ms),
            saturating: components.shared.saturating_warps(),
            reached: reached(stages, |times| times.shared_ms, |stage| stage.shared_saturated_ms),
        },
    ]
}

fn global(work: &StageWork, stages: &[StageAnalysis], components: &Components) -> Vec<Cause> {
    let mut causes = vec![Cause::LittleParallelism {
        reached: reached(stages, |times| times.global_ms, |stage| stage.global_streaming_ms),
    }];
    let busy_ms = |passes| components.global.streaming_ms(work.bytes, passes);
    let free_ms = busy_ms(work.cache_conflict_free);
    if free_ms > 0.0 {
        causes.push(Cause::CacheBankConflicts {
            degree: work.cache_passes / work.cache_conflict_free.max(1.0),
            excess: busy_ms(work.cache_passes) / free_ms,
        });
    }
    let requested = work.requested_bytes;
    // Lanes that read one word ask for each of its copies, so that less may be moved than asked
    // for.
    if requested > 0.0 {
        let per_lane = requested / (work.requests * LANES).max(1.0);
        causes.push(Cause::Uncoalesced {
            excess: (work.sector_bytes / requested).max(1.0),
            granularity_bytes: components.granularity_bytes.max(per_lane),
        });
    }
    causes
}
