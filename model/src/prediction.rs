//! A model's result: a time, the resource that bounds it, and every value on the way there.

use serde::Serialize;

use crate::conformal::TimeInterval;
use crate::energy::Energy;
use crate::sustained::Sustained;
use crate::text::{duration, rough_duration};
use crate::warning::Warning;
use crate::{
    component_throughput, cost_model, hierarchical_roofline, interval, quantitative_roofline,
    sm_simulation,
};

pub use crate::bound::{Bound, Component, Part};
pub use crate::symbols::{Symbol, SymbolValue, Symbols};

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
    /// The interval that the time of 4 of 5 measured kernels lies in; of `sm-simulation` alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<TimeInterval>,
    /// The reason why `sm-simulation` gives no interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval_declined_because: Option<String>,
    /// The clock of the SMs that the time stands at, in megahertz.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_mhz: Option<f64>,
    /// The clock that a long load leaves, where that is known and less.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sustained: Option<Sustained>,
    /// The limit of the power that a user sets, in watts, which decides the clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power_limit_w: Option<f64>,
    /// The energy at that clock, if the GPU has a power model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub energy: Option<Energy>,
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

/// The power over its limit up to which the limit is held. Clocks come in steps, and times between
/// two of them are not simulated.
const HELD: f64 = 1.01;

impl Prediction {
    /// The interval in words that follow the time, or why there is none; empty for other models.
    #[must_use]
    pub fn interval_text(&self) -> String {
        match (&self.interval, &self.interval_declined_because) {
            (Some(interval), _) => interval.text(),
            (None, Some(reason)) => format!("no interval, as {reason}"),
            (None, None) => String::new(),
        }
    }

    /// The clock that the time stands at, and what a long load leaves, in words; empty where the
    /// GPU's clock is not known.
    #[must_use]
    pub fn clock_text(&self) -> String {
        let Some(clock) = self.clock_mhz else { return String::new() };
        match (&self.sustained, self.power_limit_w) {
            (Some(sustained), _) => format!("{clock:.0} MHz; {}", sustained.text()),
            (None, Some(limit)) => match self.energy.as_ref().map(|energy| energy.watts) {
                Some(watts) if watts > HELD * limit => format!(
                    "{clock:.0} MHz, where it takes {watts:.0} W, more than the limit of {limit:.0} W"
                ),
                _ => format!("{clock:.0} MHz, within {limit:.0} W"),
            },
            (None, None) => format!("{clock:.0} MHz"),
        }
    }

    /// Multiplies the time and everything that it is made of. Errors of uncorrected times say
    /// nothing of the new one, so that an interval goes.
    pub(crate) fn scale_time(&mut self, factor: f64) {
        if self.interval.take().is_some() {
            let reason = "the time is corrected by a measured one";
            self.interval_declined_because = Some(reason.to_owned());
        }
        self.time_ms *= factor;
        if let Some(sustained) = &mut self.sustained {
            sustained.time_at_most_ms *= factor;
        }
        // The events are those of the counts, but the power that they need is another one.
        self.energy = None;
        for part in &mut self.parts {
            part.time_ms *= factor;
            part.components.iter_mut().for_each(|component| component.time_ms *= factor);
        }
    }
}
