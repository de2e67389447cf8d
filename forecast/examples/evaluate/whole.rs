//! The counts of a whole launch from those of a part of its grid.
//!
//! Only for grids whose parts are alike: each layer of blocks does what the others do. Counts are
//! multiplied, ratios stay, and the simulation gets all CTAs.

use std::sync::Arc;

use gpucast_counters::{KernelProfile, Number};
use gpucast_forecast::run::sources::Source;
use gpucast_model::Conditions;
use gpucast_model::sm_simulation::Invocations;

/// The counts and conditions of a launch of `parts` grids like the one that was counted.
pub(crate) fn of_part(source: &Source, parts: u32) -> (KernelProfile, Conditions) {
    let mut profile = source.profile.clone();
    for metric in profile.metrics.values_mut() {
        let is_ratio = metric.unit.contains('/') || matches!(metric.unit, "percent" | "ratio");
        if !is_ratio {
            metric.value = match metric.value {
                Number::Count(count) => Number::Count(count * u128::from(parts)),
                Number::Real(real) => Number::Real(real * f64::from(parts)),
            };
        }
    }
    let mut conditions = source.conditions.clone();
    if let Some(launch) = &mut conditions.launch {
        launch.blocks *= u128::from(parts);
    }
    if let Some(stages) = &mut conditions.evidence.stages {
        let part = Arc::clone(stages);
        let whole = Arc::make_mut(stages);
        (1..parts).for_each(|_| whole.add(&part.stages, part.merged));
    }
    if let Some(invocations) = &mut conditions.evidence.simulation {
        let of_whole = |one: &Invocations| {
            let mut launch = (*one.launch).clone();
            launch.order = launch.order.repeat(parts as usize);
            Invocations { launch: Arc::new(launch), count: one.count }
        };
        *invocations = Arc::new(invocations.iter().map(of_whole).collect());
    }
    (profile, conditions)
}
