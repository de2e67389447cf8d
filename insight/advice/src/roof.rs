//! The roof of a launch that no rule finds a change for, and what it would take to reach it.

use gpucast_model::{Bound, HierarchicalRoofline, Model, Prediction};
use gpucast_simulation::states::State;
use serde::Serialize;

/// The time that the kernel's operations and bytes take at the GPU's peaks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Roof {
    /// The time of all invocations in milliseconds.
    pub time_ms: f64,
    /// The model that gives it.
    pub model: &'static str,
    /// The peak that is reached first.
    pub bound: Bound,
    /// What would bring the kernel nearer, by what most of its time goes to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub takes: Option<&'static str>,
}

impl Roof {
    /// The roof of the launch that a headline was chosen for.
    #[must_use]
    pub fn of(headline: &Prediction, predictions: &[Prediction]) -> Option<Self> {
        let model = HierarchicalRoofline.name();
        let roof = predictions.iter().find(|prediction| prediction.model == model)?;
        let spent = headline.detail.simulation().map(|analysis| analysis.shares());
        let most = spent.and_then(|shares| shares.first().map(|(state, _)| *state));
        Some(Self { time_ms: roof.time_ms, model, bound: roof.bound, takes: most.map(what_helps) })
    }
}

/// What shortens a state.
const fn what_helps(state: State) -> &'static str {
    match state {
        State::Selected | State::NotSelected => {
            "fewer instructions for each result: more results of a thread, wider accesses, matrix products"
        }
        State::Wait => "independent instructions: several sums of a thread, or more warps",
        State::ShortScoreboard => {
            "other work before results of shared memory are used, or more warps"
        }
        State::L1Latency | State::L2Latency | State::DramLatency | State::Copies => {
            "more loads on their way: several of a thread, more warps, or copies ahead of their use"
        }
        State::LoadStoreQueue | State::LgThrottle | State::MioThrottle => {
            "fewer or wider accesses: vectors, and values that stay in registers"
        }
        State::L2Queue => "fewer bytes from the L2: larger tiles, or narrower types",
        State::DramQueue => "fewer bytes from device memory: fused kernels, or narrower types",
        State::MathPipe => "fewer operations of the busy pipe: narrower types, or other operations",
        State::Barrier | State::Membar => "fewer places where warps meet, or more blocks on an SM",
        State::Products => "larger matrix products, or more of them on their way",
        State::NoInstruction => "shorter code: fewer rounds unrolled",
        State::ConstantMiss => "fewer constants, or constants that all lanes read together",
        State::Launch => "fewer blocks that do more each",
        State::Tail => "blocks that end together: as many as fill the GPU, or smaller ones",
    }
}
