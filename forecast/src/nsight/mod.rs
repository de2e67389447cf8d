//! What Nsight Compute would show of a launch, by its names of metrics.
//!
//! One table has the names: `gpucast_counters::definitions`. Counts come from there. Times, uses of
//! units and stalls follow from the prediction, and `rollup` makes every roll-up of a counter
//! from the one that the table names.

mod cycles;
mod later;
mod lines;
mod pipes;
mod rollup;
mod unit;

use gpucast_counters::definitions::{Basis, Definition, definitions, nsight_definition};
use gpucast_counters::metric::{Kind, Number};
use gpucast_counters::{DeviceModel, LaunchProfile};
use gpucast_model::{Gpu, Prediction};
use serde::{Deserialize, Serialize};

use crate::choice::gpu_argument;
use cycles::Cycles;
pub use later::REASONS;
pub use lines::InstructionLine;
pub use rollup::{ROLLUPS, SUBMETRICS};
pub use unit::unit;

/// A launch that was counted and predicted.
#[derive(Clone, Copy, Debug)]
pub struct Profiled<'a> {
    /// Its counts, of one invocation.
    pub counts: &'a LaunchProfile,
    /// The GPU that it is predicted for.
    pub gpu: &'a Gpu,
    /// Its prediction, if the model made one.
    pub prediction: Option<&'a Prediction>,
    /// Dynamic shared memory of a CTA in bytes.
    pub dynamic_shared_bytes: u32,
    /// Bytes of a thread's stack.
    pub stack_bytes: u32,
}

/// A value as Nsight Compute has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// A count.
    Count(u64),
    /// A ratio, a percentage, a time.
    Real(f64),
    /// A word.
    Text(String),
}

impl Value {
    /// The number; none of a word.
    #[must_use]
    pub fn as_f64(&self) -> Option<f64> {
        match *self {
            Self::Count(count) => Some(count as f64),
            Self::Real(real) => Some(real),
            Self::Text(_) => None,
        }
    }
}

impl From<Number> for Value {
    fn from(number: Number) -> Self {
        match number {
            Number::Count(count) => {
                u64::try_from(count).map_or(Self::Real(count as f64), Self::Count)
            }
            Number::Real(real) => Self::Real(real),
        }
    }
}

/// A metric of a launch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// The value in the unit.
    pub value: Value,
    /// Nsight Compute's unit, unscaled; empty for ratios.
    pub unit: String,
    /// The origin of the value.
    pub kind: Kind,
}

/// A launch with what its metrics have in common.
pub struct Figures<'a> {
    launch: Profiled<'a>,
    device: Option<DeviceModel>,
    cycles: Option<Cycles>,
}

impl<'a> Figures<'a> {
    /// The figures of a launch.
    #[must_use]
    pub fn new(launch: Profiled<'a>) -> Self {
        let device = gpu_argument::device_model(launch.gpu).ok();
        Self { launch, device, cycles: Cycles::new(&launch) }
    }

    /// The metric that Nsight Compute has under a name; none if it does not follow from the counts
    /// and the prediction.
    #[must_use]
    pub fn figure(&self, name: &str) -> Option<Figure> {
        let exact = nsight_definition(name);
        // Where CTAs are dealt out evenly is a guess beside a simulation of them.
        let is_guess = exact.is_some_and(|(one, _)| one.basis == Basis::EvenRounds);
        let (value, kind) = match is_guess {
            true => self.rolled(name).or_else(|| self.exact(name))?,
            false => {
                let defined = self.exact(name).or_else(|| self.rolled(name));
                defined.or_else(|| self.stand_in(name))?
            }
        };
        if value.as_f64().is_some_and(|value| !value.is_finite()) {
            return None;
        }
        Some(Figure { value, unit: unit(name).to_owned(), kind })
    }

    /// The metric that a definition names.
    fn exact(&self, name: &str) -> Option<(Value, Kind)> {
        let (definition, worth) = nsight_definition(name)?;
        let (value, kind) = self.own(definition.name)?;
        Some(match (worth == 1.0, value.as_f64()) {
            (false, Some(number)) => (Value::Real(number / worth), kind),
            _ => (value, kind),
        })
    }

    /// The metric that stands in for one of this name, although it may count something else.
    fn stand_in(&self, name: &str) -> Option<(Value, Kind)> {
        let (value, kind) = self.own(stand_in(name)?.name)?;
        Some((value, kind.max(Kind::Estimated)))
    }

    /// The value of a definition, by its name of ours.
    fn own(&self, name: &str) -> Option<(Value, Kind)> {
        match self.launch.counts.metrics.get(name) {
            Some(figure) => Some((figure.value.into(), figure.kind)),
            None => self.later(name),
        }
    }
}

/// The metric that takes the place of Nsight Compute's `name`, although it may count something
/// else.
fn stand_in(name: &str) -> Option<&'static Definition> {
    definitions().find(|definition| {
        let formulas = definition.nsight_stands_in;
        formulas.iter().any(|formula| matches!(formula, [(known, _)] if *known == name))
    })
}

/// Every name that [`Figures::figure`] may have a value for: what the definitions name, and the
/// roll-ups of counters.
pub fn names() -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in definitions().flat_map(|definition| definition.nsight_names().map(|(name, _)| name))
    {
        names.push(name.to_owned());
        names.extend(rollup::names_beside(name));
    }
    names.sort_unstable();
    names.dedup();
    names
}

/// Returns true if a name without a roll-up is a counter's.
#[must_use]
pub fn is_counter(counter: &str) -> bool {
    rollup::definition_of(&format!("{counter}.sum")).is_some()
}

/// The meaning of a metric, in words; none if no definition has it.
#[must_use]
pub fn meaning(name: &str) -> Option<&'static str> {
    let (definition, _) = nsight_definition(name).or_else(|| rollup::definition_of(name))?;
    Some(definition.meaning)
}
