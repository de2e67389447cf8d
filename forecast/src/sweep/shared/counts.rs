//! The counts of an item as bytes.

use std::sync::Arc;

use gpucast_counters::KernelProfile;
use gpucast_counters::definitions;
use gpucast_counters::metric::{Kind, MetricValue, Metrics, Number};
use gpucast_counters::stages::Stages;
use gpucast_model::sm_simulation::Invocations;
use gpucast_model::{Conditions, CountedOn, Evidence, LaunchShape, Needs, Timing};
use gpucast_simulation::Packed;
use serde::{Deserialize, Serialize};

use crate::failure::Report;
use crate::run::sources::Source;
use crate::store::sealed;

/// The counts of each launch of a kernel, or why there are none.
pub(super) type Outcome = Result<Vec<Counts>, String>;

/// The counts of one launch, as far as models read them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Counts {
    kernel: String,
    invocations: u64,
    metrics: Vec<(String, Figure, Kind)>,
    launch: Option<LaunchShape>,
    stages: Option<Stages>,
    simulation: Option<Vec<(Packed, u64)>>,
}

/// As [`Number`], with a tag in every format.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
enum Figure {
    Count(u128),
    Real(f64),
}

impl Counts {
    /// The counts of an executed launch.
    pub(super) fn of(source: &Source) -> Self {
        let Source { profile, conditions, .. } = source;
        let figure = |value: &MetricValue| match value.value {
            Number::Count(count) => Figure::Count(count),
            Number::Real(real) => Figure::Real(real),
        };
        let metric =
            |(name, value): (&String, &MetricValue)| (name.clone(), figure(value), value.kind);
        let invocations = |all: &Arc<Vec<Invocations>>| {
            all.iter().map(|part| (Packed(part.launch.as_ref().clone()), part.count)).collect()
        };
        Self {
            kernel: profile.kernel.clone(),
            invocations: profile.invocations,
            metrics: profile.metrics.iter().map(metric).collect(),
            launch: conditions.launch,
            stages: conditions.evidence.stages.as_deref().cloned(),
            simulation: conditions.evidence.simulation.as_ref().map(invocations),
        }
    }

    /// The input of models that need `needs`; `None` if a metric is unknown, which another version
    /// of this program has written.
    pub(super) fn source(
        self,
        needs: Needs,
        counted_on: CountedOn,
        timing: Option<Timing>,
    ) -> Option<Source> {
        let metric = |(name, figure, kind): (String, Figure, Kind)| {
            let value = match figure {
                Figure::Count(count) => Number::Count(count),
                Figure::Real(real) => Number::Real(real),
            };
            let unit = definitions::definition(&name)?.unit;
            Some((name, MetricValue { value, unit, kind }))
        };
        let metrics: Option<Metrics> = self.metrics.into_iter().map(metric).collect();
        let simulation = self.simulation.filter(|_| needs.order).map(|launches| {
            let invocations =
                |(Packed(launch), count)| Invocations { launch: Arc::new(launch), count };
            Arc::new(launches.into_iter().map(invocations).collect())
        });
        let conditions = Conditions {
            launch: self.launch,
            evidence: Evidence {
                stages: self.stages.filter(|_| needs.stages).map(Arc::new),
                simulation,
                ..Evidence::default()
            },
            counted_on: Some(counted_on),
            timing,
            ..Conditions::default()
        };
        Some(Source {
            profile: KernelProfile {
                kernel: self.kernel,
                invocations: self.invocations,
                measured_on: None,
                metrics: metrics?,
            },
            conditions,
            origin: "Counts of a shared sweep.".to_owned(),
            published: None,
            machine_code: None,
            timing: None,
            l2: None,
            one_of_several: false,
            rung: None,
            without_blocks: None,
        })
    }
}

/// The folder of counts in a store.
pub(super) const COUNTS: &str = "counts";

/// The object with an item's counts.
pub(super) fn object(item: &str) -> String {
    format!("{COUNTS}/{item}")
}

/// An outcome as the object of an item. Equal outcomes have equal bytes.
pub(super) fn write(item: &str, outcome: &Outcome) -> Result<Vec<u8>, Report> {
    let bytes = postcard::to_stdvec(outcome);
    let bytes = bytes.map_err(|error| Report::new(format!("counts cannot be stored: {error}")))?;
    Ok(sealed::seal(&object(item), &bytes))
}

/// The outcome in the object of an item; `None` if the object is damaged, of another item, or of a
/// program that knows other metrics.
pub(super) fn read(item: &str, bytes: &[u8]) -> Option<Outcome> {
    let outcome: Outcome = postcard::from_bytes(&sealed::open(&object(item), bytes)?).ok()?;
    let is_known = |counts: &Counts| {
        counts.metrics.iter().all(|(name, ..)| definitions::definition(name).is_some())
    };
    outcome.as_ref().map_or(true, |launches| launches.iter().all(is_known)).then_some(outcome)
}
