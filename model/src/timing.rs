//! The part of a time that depends on how it was measured.
//!
//! A profiler, a pair of events and a stream of launches show different times of one kernel. Each
//! way adds a fixed part, or cannot show less than a floor. The figures are fields of the GPU with
//! sources of their own. Models leave all of this out unless [`Conditions::timing`] asks for it.
//!
//! [`Conditions::timing`]: crate::predictor::Conditions::timing

use std::str::FromStr;

use gpucast_counters::KernelProfile;
use thiserror::Error;

use crate::gpu::Gpu;
use crate::inputs::number;
use crate::prediction::{Bound, Component, Outcome, Part};
use crate::predictor::ModelError;
use crate::text::duration;
use crate::warning::Warning;

/// Declares [`Timing`] with its names and the fields of the GPU that hold the fixed parts.
macro_rules! timings {
    ($($(#[doc = $doc:literal])* $variant:ident = $name:literal, $field:literal;)+) => {
        /// A way of measuring a kernel's time.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Timing {
            $($(#[doc = $doc])* $variant,)+
        }

        impl Timing {
            /// Every way.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Its name on the command line.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }

            /// The GPU's field that holds its fixed part.
            #[must_use]
            pub fn field(self) -> &'static str {
                match self {
                    $(Self::$variant => $field,)+
                }
            }
        }
    };
}

timings! {
    /// The elapsed cycles that Nsight Compute reports, over the clock.
    NcuCycles = "ncu-cycles", "profiler_cycles_overhead";
    /// The duration that Nsight Compute reports.
    NcuDuration = "ncu-duration", "profiler_duration_overhead";
    /// A pair of events around one launch.
    Events = "events", "event_overhead";
    /// Many launches in a stream, over their number.
    BackToBack = "back-to-back", "launch_overhead";
    /// Many launches in a graph, over their number.
    Graph = "graph", "graph_launch_overhead";
}

/// A way of measuring that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("there is no way of measuring named `{name}`; they are {}", known())]
pub struct UnknownTiming {
    /// The name.
    pub name: String,
}

fn known() -> String {
    let names: Vec<&str> = Timing::ALL.iter().map(|timing| timing.name()).collect();
    names.join(", ")
}

impl FromStr for Timing {
    type Err = UnknownTiming;

    fn from_str(text: &str) -> Result<Self, UnknownTiming> {
        let named = Self::ALL.iter().find(|timing| timing.name() == text);
        named.copied().ok_or_else(|| UnknownTiming { name: text.to_owned() })
    }
}

/// Equal launches that follow each other in a stream.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasuredLaunches {
    /// Milliseconds of all of them, each measured by itself.
    pub time_ms: f64,
    /// Their number.
    pub launches: u64,
}

/// The share of a measured time that is not the kernel's.
#[derive(Clone, Copy, Debug, PartialEq)]
enum FixedPart {
    /// Milliseconds that are added.
    Added(f64),
    /// Milliseconds that one launch takes at least.
    Floor(f64),
}

impl Timing {
    fn fixed_part(self, gpu: &Gpu) -> Result<FixedPart, ModelError> {
        Ok(match self {
            Self::NcuCycles => {
                let clocks = number!(gpu.profiler_cycles_overhead) as f64;
                FixedPart::Added(clocks / number!(gpu.sp_clock) / 1e3)
            }
            Self::NcuDuration => {
                let clocks = number!(gpu.profiler_duration_overhead) as f64;
                FixedPart::Added(clocks / number!(gpu.sp_clock) / 1e3)
            }
            Self::Events => FixedPart::Added(number!(gpu.event_overhead) / 1e3),
            Self::BackToBack => FixedPart::Floor(number!(gpu.launch_overhead) / 1e3),
            Self::Graph => FixedPart::Floor(number!(gpu.graph_launch_overhead) / 1e3),
        })
    }

    /// The milliseconds that this way of measuring adds to launches of `kernel_ms` each.
    ///
    /// # Errors
    ///
    /// When the GPU lacks the field.
    pub fn added_ms(self, gpu: &Gpu, kernel_ms: f64) -> Result<f64, ModelError> {
        Ok(match self.fixed_part(gpu)? {
            FixedPart::Added(milliseconds) => milliseconds,
            FixedPart::Floor(milliseconds) => (milliseconds - kernel_ms).max(0.0),
        })
    }

    /// The milliseconds that this way of measuring adds to the profile's launches, which take
    /// `time_ms` together.
    ///
    /// # Errors
    ///
    /// When the GPU lacks the field.
    pub(crate) fn added_to_all_ms(
        self,
        time_ms: f64,
        profile: &KernelProfile,
        gpu: &Gpu,
    ) -> Result<f64, ModelError> {
        let launches = profile.invocations.max(1) as f64;
        Ok(launches * self.added_ms(gpu, time_ms / launches)?)
    }

    /// The milliseconds that one measurement around launches of a stream shows, in their order. A
    /// pair of events adds its part once, and a launch begins no sooner after the one before than
    /// the spacing of a stream. `None` if this way measures each launch by itself.
    ///
    /// # Errors
    ///
    /// When the GPU lacks a field.
    pub fn around_all_ms(
        self,
        gpu: &Gpu,
        launches: &[MeasuredLaunches],
    ) -> Result<Option<f64>, ModelError> {
        if self != Self::Events {
            return Ok(None);
        }
        let spacing_ms = number!(gpu.launch_overhead) / 1e3;
        let events_ms = number!(gpu.event_overhead) / 1e3;
        let mut ends_ms = 0.0;
        let mut next_begins_ms = 0.0;
        for MeasuredLaunches { time_ms, launches } in launches {
            let launches = (*launches).max(1) as f64;
            let kernel_ms = time_ms / launches - events_ms;
            let last_begins_ms = next_begins_ms + (launches - 1.0) * kernel_ms.max(spacing_ms);
            ends_ms = last_begins_ms + kernel_ms;
            next_begins_ms = last_begins_ms + kernel_ms.max(spacing_ms);
        }
        Ok(Some(ends_ms + events_ms))
    }

    /// Adds the fixed part of each launch to a model's outcome, as a part of its own.
    pub(crate) fn extend(
        self,
        outcome: &mut Outcome,
        profile: &KernelProfile,
        gpu: &Gpu,
    ) -> Result<(), ModelError> {
        let time_ms = self.added_to_all_ms(outcome.time_ms, profile, gpu)?;
        if time_ms > outcome.time_ms {
            outcome.bound = Bound::Overhead;
        }
        outcome.time_ms += time_ms;
        outcome.parts.push(Part {
            name: "measurement".to_owned(),
            time_ms,
            bound: Bound::Overhead,
            components: vec![Component { resource: Bound::Overhead, time_ms }],
        });
        outcome.intermediate.push_name("timing", self.name());
        outcome.intermediate.push("T_measurement", time_ms, "ms");
        outcome.explanation.push_str(&match time_ms {
            0.0 => format!(
                " Measured as {}, a launch takes no less than `{}`, and this one takes more.",
                self.name(),
                self.field()
            ),
            _ => format!(
                " Measured as {}, it shows {} more (`{}`), which the paper's model leaves out.",
                self.name(),
                duration(time_ms),
                self.field()
            ),
        });
        outcome.warnings.retain(|warning| !matches!(warning, Warning::ShortLaunch { .. }));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::GpuLibrary;

    fn near(value: f64, expected: f64) -> bool {
        (value / expected - 1.0).abs() < 1e-12
    }

    #[test]
    fn a_profiler_adds_clocks_and_events_add_microseconds() {
        let gpu = GpuLibrary::builtin().unwrap().get("h100-sxm").unwrap();
        let gpu = gpu
            .with_overrides(&[
                ("profiler_cycles_overhead", "1980"),
                ("profiler_duration_overhead", "3960"),
                ("event_overhead", "5 us"),
                ("sp_clock", "1980 MHz"),
            ])
            .unwrap();
        assert!(near(Timing::NcuCycles.added_ms(&gpu, 0.5).unwrap(), 1e-3));
        assert!(near(Timing::NcuDuration.added_ms(&gpu, 0.5).unwrap(), 2e-3));
        assert!(near(Timing::Events.added_ms(&gpu, 0.5).unwrap(), 5e-3));
    }

    #[test]
    fn events_around_all_launches_are_paid_once() {
        let gpu = GpuLibrary::builtin().unwrap().get("h100-sxm").unwrap();
        let gpu = gpu.with_override("launch_overhead", "3 us").unwrap();
        let gpu = gpu.with_override("event_overhead", "5 us").unwrap();
        // A pair of events around each adds 5 us to each.
        let of = |kernels_ms, launches| MeasuredLaunches {
            time_ms: kernels_ms + 0.005 * launches as f64,
            launches,
        };
        let all = |launches: &[MeasuredLaunches]| Timing::Events.around_all_ms(&gpu, launches);
        // One launch shows what it does alone.
        assert!(near(all(&[of(0.1, 1)]).unwrap().unwrap(), 0.105));
        // 100, 1 and 10 us: the third begins 3 us after the second.
        let three = [of(0.1, 1), of(0.001, 1), of(0.01, 1)];
        assert!(near(all(&three).unwrap().unwrap(), 0.118));
        // Four of 1 us begin every 3 us; the last one's end counts.
        assert!(near(all(&[of(0.004, 4)]).unwrap().unwrap(), 0.015));
        assert_eq!(Timing::NcuCycles.around_all_ms(&gpu, &three), Ok(None));
    }

    #[test]
    fn launches_after_each_other_take_no_less_than_their_spacing() {
        let gpu = GpuLibrary::builtin().unwrap().get("h100-sxm").unwrap();
        let gpu = gpu.with_override("launch_overhead", "3 us").unwrap();
        let gpu = gpu.with_override("graph_launch_overhead", "1.5 us").unwrap();
        assert!(near(Timing::BackToBack.added_ms(&gpu, 0.001).unwrap(), 0.002));
        assert!(near(Timing::Graph.added_ms(&gpu, 0.001).unwrap(), 0.0005));
        assert_eq!(Timing::BackToBack.added_ms(&gpu, 0.01), Ok(0.0));
    }

    #[test]
    fn a_name_is_read_back_and_another_one_is_answered_with_those_that_exist() {
        for timing in Timing::ALL {
            assert_eq!(timing.name().parse(), Ok(*timing));
        }
        let error = "stopwatch".parse::<Timing>().unwrap_err().to_string();
        assert!(Timing::ALL.iter().all(|timing| error.contains(timing.name())), "{error}");
    }

    #[test]
    fn a_gpu_without_the_figure_is_refused_by_the_name_of_the_field() {
        let bare = Gpu::named("bare", "Bare");
        for timing in [Timing::NcuCycles, Timing::Events, Timing::BackToBack, Timing::Graph] {
            let error = timing.added_ms(&bare, 1.0).unwrap_err();
            assert!(error.to_string().contains(timing.field()), "{error}");
        }
    }
}
