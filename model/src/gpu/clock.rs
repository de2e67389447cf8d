//! The same GPU at another clock of its SMs.
//!
//! Clocks of SMs follow power and temperature, and a profiler holds them at their base. Whatever
//! follows from the clock moves with it: throughputs, bandwidths inside the SMs, figures measured
//! there. Device memory has a clock of its own. Its bandwidth stays, and its latency stays in
//! nanoseconds. A bandwidth of the L2 that the GPU's file gives in bytes per second stays, too.

use std::str::FromStr;

use thiserror::Error;

use super::description::Gpu;
use super::overrides::{Change, Override, OverrideError};
use super::quantity::Value;
use super::source::Source;

/// A clock of the SMs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Clock {
    /// The clock that the vendor guarantees, which Nsight Compute sets unless told otherwise.
    Base,
    /// The boost clock of the data sheet.
    Boost,
    /// A number of megahertz.
    Megahertz(f64),
}

/// A text that is no clock.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` is no clock; write base, boost, or a number of megahertz such as 1350")]
pub struct NoClock(String);

impl FromStr for Clock {
    type Err = NoClock;

    fn from_str(text: &str) -> Result<Self, NoClock> {
        match text {
            "base" => Ok(Self::Base),
            "boost" => Ok(Self::Boost),
            number => match number.parse::<f64>() {
                Ok(clock) if clock.is_finite() && clock > 0.0 => Ok(Self::Megahertz(clock)),
                _ => Err(NoClock(text.to_owned())),
            },
        }
    }
}

impl Gpu {
    /// This GPU, completed, with its SMs at another clock.
    ///
    /// # Errors
    ///
    /// If the file has no such clock, or no GPU can run at it.
    pub fn at_clock(&self, clock: Clock) -> Result<Self, OverrideError> {
        let old = self.completed();
        let of_field = |field: &'static str| {
            let figure = old.figure(field)?;
            Some((figure.value.number()?, figure.source.clone()))
        };
        let missing = |field| OverrideError::NoClock { gpu: old.name.clone(), field };
        let (after, source) = match clock {
            Clock::Base => of_field("base_clock").ok_or_else(|| missing("base_clock"))?,
            // The clock of most files is the boost clock already.
            Clock::Boost => of_field("boost_clock")
                .or_else(|| of_field("sp_clock"))
                .ok_or_else(|| missing("boost_clock"))?,
            Clock::Megahertz(clock) => (clock, Source::Assumed(format!("--clock {clock}").into())),
        };
        let before = old.number("sp_clock");
        if before == Some(after) {
            return Ok(old);
        }
        let mut changes =
            vec![Override { field: "sp_clock", change: Change::To(Value::Number(after)), source }];
        if let Some(before) = before {
            changes.extend(old.same_memory_latency(before, after));
        }
        if let (Some(bandwidth), false) = (&old.l2_bandwidth, old.is_filled("l2_bandwidth")) {
            changes.push(Override {
                field: "l2_bandwidth",
                change: Change::To(Value::Number(bandwidth.value.0)),
                source: bandwidth.source.clone(),
            });
        }
        old.changed(&changes)
    }

    /// The latency of device memory in clocks of the new length: the way to the L2 takes as many
    /// clocks as before, the rest as many nanoseconds.
    fn same_memory_latency(&self, before: f64, after: f64) -> Option<Override> {
        let (memory, l2) = (self.number("memory_latency")?, self.number("l2_latency")?);
        let clocks = l2 + ((memory - l2).max(0.0) * after / before).round();
        let source = Source::Derived(format!(
            "clock-domains: {l2} clocks to the L2, and {} clocks at {before} MHz are as long as {} \
             at {after} MHz",
            memory - l2,
            clocks - l2
        ).into());
        Some(Override {
            field: "memory_latency",
            change: Change::To(Value::Number(clocks)),
            source,
        })
    }
}
