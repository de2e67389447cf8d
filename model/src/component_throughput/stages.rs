//! Stages between barriers, one after the other or overlapped: section 3.
//!
//! With one block on each SM stages are serialised, and each has a bottleneck of its own. With
//! several blocks, stages of different blocks overlap; the whole kernel then has one bottleneck,
//! the component with the longest sum of times.

use super::Components;
use super::global::{Configuration, Traffic};
use super::work::StageWork;
use crate::prediction::Bound;

/// The time of each component, in milliseconds; the shorter ones hide behind the longest.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Times {
    /// The instruction pipeline.
    pub instructions_ms: f64,
    /// Shared memory.
    pub shared_ms: f64,
    /// Global memory.
    pub global_ms: f64,
}

impl Times {
    /// Each component's time.
    #[must_use]
    pub fn components(&self) -> [(Bound, f64); 3] {
        [
            (Bound::Compute, self.instructions_ms),
            (Bound::Shared, self.shared_ms),
            (Bound::Memory, self.global_ms),
        ]
    }

    /// The component that takes longest, and its time.
    #[must_use]
    pub fn bottleneck(&self) -> (Bound, f64) {
        let [first, rest @ ..] = self.components();
        rest.into_iter().fold(first, |most, one| if one.1 > most.1 { one } else { most })
    }

    /// The times if one component took none.
    #[must_use]
    pub fn without(&self, bound: Bound) -> Self {
        let keep = |component, time| if component == bound { 0.0 } else { time };
        Self {
            instructions_ms: keep(Bound::Compute, self.instructions_ms),
            shared_ms: keep(Bound::Shared, self.shared_ms),
            global_ms: keep(Bound::Memory, self.global_ms),
        }
    }

    fn add(&mut self, other: &Self) {
        self.instructions_ms += other.instructions_ms;
        self.shared_ms += other.shared_ms;
        self.global_ms += other.global_ms;
    }
}

/// One stage on a GPU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StageAnalysis {
    /// Warps of an SM that work at the same time.
    pub warps_per_sm: f64,
    /// The time of each component.
    pub times: Times,
    /// Instructions if there were enough warps, in milliseconds.
    pub instructions_saturated_ms: f64,
    /// Shared memory if there were enough warps, in milliseconds.
    pub shared_saturated_ms: f64,
    /// Global memory at its full bandwidth, or that of the first-level caches' banks, in
    /// milliseconds.
    pub global_streaming_ms: f64,
}

/// The way in which blocks share SMs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Residency {
    /// Blocks of one invocation.
    pub blocks: f64,
    /// Blocks that an SM runs at the same time, at most as many as it gets.
    pub blocks_per_sm: f64,
    /// The share of the SMs that have a block; if the way of measuring is given, the mean over
    /// waves of which the last one need not be full.
    pub busy: f64,
    /// Blocks for each SM of the GPU.
    pub waves: f64,
    /// Invocations that the counts cover.
    pub invocations: f64,
}

impl Residency {
    /// Returns true if stages follow each other because there is no other block to overlap with.
    #[must_use]
    pub fn serialises(&self) -> bool {
        self.blocks_per_sm <= 1.0
    }

    /// Returns true if there are several waves of blocks, and the last one counts in full although
    /// it is not.
    #[must_use]
    pub fn has_tail(&self) -> bool {
        self.busy < 1.0 && self.waves > 1.0
    }

    /// The times of a stage whose blocks have `warps` warps at work.
    pub(super) fn analyse(
        &self,
        work: &StageWork,
        components: &Components,
        warps: f64,
    ) -> StageAnalysis {
        let warps_per_sm = warps * self.blocks_per_sm;
        let instructions =
            components.instructions.time(&work.instructions, warps_per_sm, self.busy);
        let shared = |bandwidth: f64| match work.passes {
            0.0 => 0.0,
            passes => passes * components.shared.pass_bytes / (bandwidth * self.busy) / 1e6,
        };
        // A launch occupies the paths to memory anew.
        let blocks = (work.blocks / self.invocations).max(1.0);
        let traffic = Traffic {
            bytes: work.bytes / self.invocations,
            batches_per_warp: work.load_batches / (work.blocks * work.active_warps).max(1.0),
            loads_per_batch: work.loads / work.load_batches.max(1.0),
            served: work.served,
            passes: work.cache_passes / self.invocations,
        };
        let configuration = Configuration { blocks, blocks_per_sm: self.blocks_per_sm };
        let global = components.global.time(&traffic, &configuration);
        StageAnalysis {
            warps_per_sm,
            times: Times {
                instructions_ms: instructions.time_ms,
                shared_ms: shared(components.shared.bandwidth(warps_per_sm)),
                global_ms: global.time_ms * self.invocations,
            },
            instructions_saturated_ms: instructions.saturated_ms,
            shared_saturated_ms: shared(components.shared.best_bandwidth()),
            global_streaming_ms: global.streaming_ms * self.invocations,
        }
    }
}

/// The sum over the stages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sum {
    /// The time in milliseconds.
    pub time_ms: f64,
    /// The component that decides most of it.
    pub bottleneck: Bound,
    /// All stages' times of each component.
    pub times: Times,
}

/// Adds up stages: each with its own bottleneck if they are serialised, one for all if they
/// overlap.
#[must_use]
pub fn sum(stages: impl IntoIterator<Item = Times>, serialised: bool) -> Sum {
    let (mut times, mut decided, mut time_ms) = (Times::default(), Times::default(), 0.0);
    for stage in stages {
        times.add(&stage);
        let (bound, longest) = stage.bottleneck();
        time_ms += longest;
        let others = [Bound::Compute, Bound::Shared, Bound::Memory];
        let only = others
            .into_iter()
            .filter(|other| *other != bound)
            .fold(stage, |stage, other| stage.without(other));
        decided.add(&only);
    }
    if serialised {
        Sum { time_ms, bottleneck: decided.bottleneck().0, times }
    } else {
        let (bottleneck, time_ms) = times.bottleneck();
        Sum { time_ms, bottleneck, times }
    }
}
