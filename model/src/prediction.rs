//! A model's result: a time, the resource that bounds it, and every value on the way there.

use std::fmt;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::text::{duration, rough_duration};
use crate::warning::Warning;
use crate::{
    component_throughput, cost_model, hierarchical_roofline, interval, quantitative_roofline,
    sm_simulation,
};

/// A model's answer for one kernel on one GPU.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Prediction {
    /// The kernel.
    pub kernel: String,
    /// The GPU's library name.
    pub gpu: String,
    /// The model's name.
    pub model: &'static str,
    /// The time of all invocations that the counts cover, in milliseconds.
    pub time_ms: f64,
    /// The resource that the time is spent on.
    pub bound: Bound,
    /// The model's inputs from the kernel, by the paper's symbols.
    pub parameters: Symbols,
    /// The values that it computed for this GPU, by the paper's symbols.
    pub intermediate: Symbols,
    /// The parts of the time, in order; at least one.
    pub parts: Vec<Part>,
    /// The reason why the kernel takes this long, in a sentence.
    pub explanation: String,
    /// The assumptions that the kernel breaks; in JSON sentences, with their codes in
    /// `warning_codes`.
    #[serde(flatten, serialize_with = "crate::warning::with_codes")]
    pub warnings: Vec<Warning>,
    /// The model's own values, typed, for pictures and tables; not in JSON.
    #[serde(skip)]
    pub detail: Detail,
}

impl Prediction {
    /// Returns true if launching takes longer than the time that is predicted.
    #[must_use]
    pub fn is_below_launch(&self) -> bool {
        let is_mostly_launch = |warning: &Warning| matches!(warning, Warning::ShortLaunch { share: Some(share), .. } if *share > 0.5);
        self.warnings.iter().any(is_mostly_launch)
    }

    /// Returns true if the GPU refuses the launch, so that it has no time there.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        self.refusal().is_some()
    }

    /// The reason for which the GPU refuses the launch, in a sentence, if it does.
    #[must_use]
    pub fn refusal(&self) -> Option<String> {
        let is_refusal = |warning: &&Warning| matches!(warning, Warning::Unlaunchable { .. });
        self.warnings.iter().find(is_refusal).map(Warning::to_string)
    }

    /// The time for people. One that is shorter than the launch itself has two digits: more of it
    /// cannot be measured. One of a launch that the GPU refuses says so.
    #[must_use]
    pub fn time_text(&self) -> String {
        let time = match self.is_below_launch() {
            true => rough_duration(self.time_ms),
            false => duration(self.time_ms),
        };
        if self.is_refused() { format!("refused ({time})") } else { time }
    }

    /// The codes of the warnings, in one text for tables.
    #[must_use]
    pub fn warning_codes(&self) -> String {
        let codes: Vec<&str> = self.warnings.iter().map(Warning::code).collect();
        codes.join(" ")
    }
}

/// The values that only one model has, each under its own type.
#[derive(Clone, Debug, PartialEq)]
pub enum Detail {
    /// Konstantinidis 2017, with or without refinements.
    Quantitative(Box<quantitative_roofline::Analysis>),
    /// Zhang & Owens 2011.
    Component(Box<component_throughput::Analysis>),
    /// Yang & Williams 2019.
    Hierarchical(Box<hierarchical_roofline::Analysis>),
    /// One SM, simulated.
    Simulation(Box<sm_simulation::Analysis>),
    /// Intervals of one warp.
    Interval(Box<interval::Analysis>),
    /// Velho et al. 2013; the time of the kernel alone by another model, unless it was calibrated.
    Offload,
    /// Stevens & Klöckner 2020.
    Cost(Box<cost_model::Analysis>),
}

impl Detail {
    /// The values of the quantitative roofline, if that is the model.
    #[must_use]
    pub fn quantitative(&self) -> Option<&quantitative_roofline::Analysis> {
        match self {
            Self::Quantitative(analysis) => Some(analysis),
            Self::Component(_)
            | Self::Hierarchical(_)
            | Self::Simulation(_)
            | Self::Interval(_)
            | Self::Offload
            | Self::Cost(_) => None,
        }
    }

    /// The values of the component throughput, if that is the model.
    #[must_use]
    pub fn component(&self) -> Option<&component_throughput::Analysis> {
        match self {
            Self::Component(analysis) => Some(analysis),
            Self::Quantitative(_)
            | Self::Hierarchical(_)
            | Self::Simulation(_)
            | Self::Interval(_)
            | Self::Offload
            | Self::Cost(_) => None,
        }
    }

    /// The values of the simulation, if that is the model.
    #[must_use]
    pub fn simulation(&self) -> Option<&sm_simulation::Analysis> {
        match self {
            Self::Simulation(analysis) => Some(analysis),
            Self::Quantitative(_)
            | Self::Component(_)
            | Self::Hierarchical(_)
            | Self::Interval(_)
            | Self::Offload
            | Self::Cost(_) => None,
        }
    }

    /// The values of the hierarchical roofline, if that is the model.
    #[must_use]
    pub fn hierarchical(&self) -> Option<&hierarchical_roofline::Analysis> {
        match self {
            Self::Hierarchical(analysis) => Some(analysis),
            Self::Quantitative(_)
            | Self::Component(_)
            | Self::Simulation(_)
            | Self::Interval(_)
            | Self::Offload
            | Self::Cost(_) => None,
        }
    }
}

/// A model's answer without the names of kernel, GPU and model; see [`Prediction`] for the fields.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The time of all invocations that the counts cover, in milliseconds.
    pub time_ms: f64,
    /// The resource that the time is spent on.
    pub bound: Bound,
    /// The model's inputs from the kernel, by the paper's symbols.
    pub parameters: Symbols,
    /// The values that it computed for this GPU, by the paper's symbols.
    pub intermediate: Symbols,
    /// The parts of the time; at least one.
    pub parts: Vec<Part>,
    /// The reason why the kernel takes this long, in a sentence.
    pub explanation: String,
    /// The assumptions that the kernel breaks.
    pub warnings: Vec<Warning>,
    /// The model's own values.
    pub detail: Detail,
}

impl Prediction {
    /// Multiplies the time and everything that it is made of.
    pub(crate) fn scale_time(&mut self, factor: f64) {
        self.time_ms *= factor;
        for part in &mut self.parts {
            part.time_ms *= factor;
            part.components.iter_mut().for_each(|component| component.time_ms *= factor);
        }
    }
}

/// A piece of the kernel's time: the whole of it, or a stage between two barriers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Part {
    /// Its name: `kernel`, `stage 3`, `dispatch`.
    pub name: String,
    /// The time that it adds to the kernel's, in milliseconds.
    pub time_ms: f64,
    /// The resource that bounds it.
    pub bound: Bound,
    /// The time that each resource is busy with it, in milliseconds; those that work at the same
    /// time do not add up.
    pub components: Vec<Component>,
}

/// The time that one resource is busy with a part of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Component {
    /// The resource.
    pub resource: Bound,
    /// Its time, in milliseconds.
    pub time_ms: f64,
}

/// The resource that bounds a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Bound {
    /// The issue and execution of instructions.
    Compute,
    /// The bandwidth of device memory.
    Memory,
    /// The bandwidth of shared memory.
    Shared,
    /// The bandwidth of the first-level caches.
    L1,
    /// The bandwidth of the L2.
    L2,
    /// The time before the first and after the last instruction: launch and transfers.
    Overhead,
}

impl Bound {
    /// Its only name: in documents, tables, sentences and pictures. The glossary explains each.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Compute => "compute",
            Self::Memory => "memory",
            Self::Shared => "shared",
            Self::L1 => "l1",
            Self::L2 => "l2",
            Self::Overhead => "overhead",
        }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A value under the name that the paper gives it.
#[derive(Clone, Debug, PartialEq)]
pub struct Symbol {
    /// The symbol, with `_` for a subscript.
    pub name: &'static str,
    /// Its value.
    pub value: SymbolValue,
    /// Its unit; empty for fractions, weights and names.
    pub unit: &'static str,
}

/// The value of a symbol.
#[derive(Clone, Debug, PartialEq)]
pub enum SymbolValue {
    /// A whole number of operations or bytes.
    Count(u64),
    /// A real.
    Real(f64),
    /// A name from a fixed set.
    Name(&'static str),
    /// A quotient by zero; `null` in JSON.
    Undefined,
}

impl SymbolValue {
    /// The value as a real, if it is one.
    #[must_use]
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Count(count) => Some(*count as f64),
            Self::Real(real) => Some(*real),
            Self::Name(_) | Self::Undefined => None,
        }
    }
}

impl From<f64> for SymbolValue {
    /// JSON has no infinity, so a number that is not finite is undefined.
    fn from(real: f64) -> Self {
        if real.is_finite() { Self::Real(real) } else { Self::Undefined }
    }
}

impl Serialize for SymbolValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Self::Count(count) => serializer.serialize_u64(count),
            Self::Real(real) => serializer.serialize_f64(real),
            Self::Name(name) => serializer.serialize_str(name),
            Self::Undefined => serializer.serialize_none(),
        }
    }
}

/// Symbols in the order in which the paper computes them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Symbols(Vec<Symbol>);

impl Symbols {
    /// Appends a symbol.
    pub(crate) fn push(
        &mut self,
        name: &'static str,
        value: impl Into<SymbolValue>,
        unit: &'static str,
    ) {
        self.0.push(Symbol { name, value: value.into(), unit });
    }

    /// Appends a total: a count if it is whole, which a mean over invocations may not be.
    pub(crate) fn push_total(&mut self, name: &'static str, total: f64, unit: &'static str) {
        const EXACT: f64 = (1_u64 << 53) as f64;
        let whole = total.fract() == 0.0 && (0.0..EXACT).contains(&total);
        let value = if whole { SymbolValue::Count(total as u64) } else { total.into() };
        self.0.push(Symbol { name, value, unit });
    }

    /// Appends a name.
    pub(crate) fn push_name(&mut self, name: &'static str, value: &'static str) {
        self.0.push(Symbol { name, value: SymbolValue::Name(value), unit: "" });
    }

    /// The value of a symbol.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&SymbolValue> {
        self.find(name).map(|symbol| &symbol.value)
    }

    /// A symbol with its unit.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Symbol> {
        self.0.iter().find(|symbol| symbol.name == name)
    }

    /// All symbols.
    pub fn iter(&self) -> impl Iterator<Item = &Symbol> {
        self.0.iter()
    }
}

impl Serialize for Symbols {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for symbol in &self.0 {
            map.serialize_entry(symbol.name, &symbol.value)?;
        }
        map.end()
    }
}
