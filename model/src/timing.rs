//! The part of a time that depends on how it was measured.
//!
//! A profiler, a pair of events and a stream of launches show different times of one kernel:
//!
//! | way | shows |
//! |---|---|
//! | a profiler | each launch with a fixed part |
//! | events, a framework's call | all launches of a stream with one fixed part |
//! | launches over their number | the time from one launch to the next |
//!
//! Between two kernels of a stream or a graph lies a gap, which adds to each of them. And a host
//! launches no faster than it can: short kernels wait for it. The figures are fields of the GPU
//! with sources of their own. Models leave all of this out unless [`Conditions::timing`] asks for
//! it.
//!
//! [`Conditions::timing`]: crate::predictor::Conditions::timing

use std::str::FromStr;

use gpucast_counters::KernelProfile;
use thiserror::Error;

use crate::gpu::{Gpu, RULES, Source, Spread};
use crate::inputs::number;
use crate::prediction::{Bound, Component, Outcome, Part};
use crate::predictor::ModelError;
use crate::text::duration;
use crate::warning::Warning;

/// Declares [`Timing`] with its names and the fields of the GPU that hold the measurement's part.
macro_rules! timings {
    ($($(#[doc = $doc:literal])* $variant:ident = $name:literal, [$($field:literal),+];)+) => {
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

            /// The GPU's fields that hold the measurement's part, that of one launch alone first.
            #[must_use]
            pub fn fields(self) -> &'static [&'static str] {
                match self {
                    $(Self::$variant => &[$($field),+],)+
                }
            }
        }
    };
}

timings! {
    /// The elapsed cycles that Nsight Compute reports, over the clock.
    NcuCycles = "ncu-cycles", ["profiler_cycles_overhead"];
    /// The duration that Nsight Compute reports.
    NcuDuration = "ncu-duration", ["profiler_duration_overhead"];
    /// A pair of events around the launches, in a queue that is never empty.
    Events = "events", ["event_overhead", "launch_gap", "launch_overhead"];
    /// Many launches in a stream, over their number.
    BackToBack = "back-to-back", ["launch_gap", "launch_overhead"];
    /// Many launches in a graph, over their number.
    Graph = "graph", ["graph_launch_gap", "graph_launch_overhead"];
    /// A pair of events around one call of a framework, in an empty queue.
    Framework = "framework", ["framework_overhead", "launch_gap", "launch_overhead"];
}

/// The word for no way of measuring: the kernel alone, as papers model it.
pub const KERNEL_ALONE: &str = "kernel";

/// A way of measuring that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("there is no way of measuring named `{name}`; they are {}", known())]
pub struct UnknownTiming {
    /// The name.
    pub name: String,
}

fn known() -> String {
    let names = Timing::ALL.iter().map(|timing| timing.name());
    names.chain([KERNEL_ALONE]).collect::<Vec<_>>().join(", ")
}

impl FromStr for Timing {
    type Err = UnknownTiming;

    fn from_str(text: &str) -> Result<Self, UnknownTiming> {
        let named = Self::ALL.iter().find(|timing| timing.name() == text);
        named.copied().ok_or_else(|| UnknownTiming { name: text.to_owned() })
    }
}

/// The way of measuring that a user asks for, beside that of a launch file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AskedTiming {
    /// The launch file's, or else the kernel alone.
    #[default]
    OfFile,
    /// The kernel alone, whatever the launch file says.
    Kernel,
    /// This one, whatever the launch file says.
    As(Timing),
}

impl AskedTiming {
    /// The way of measuring where a launch file says `of_file`.
    #[must_use]
    pub fn over(self, of_file: Option<Timing>) -> Option<Timing> {
        match self {
            Self::OfFile => of_file,
            Self::Kernel => None,
            Self::As(timing) => Some(timing),
        }
    }

    /// Its word; `None` if the launch file decides.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        match self {
            Self::OfFile => None,
            Self::Kernel => Some(KERNEL_ALONE),
            Self::As(timing) => Some(timing.name()),
        }
    }
}

impl FromStr for AskedTiming {
    type Err = UnknownTiming;

    fn from_str(text: &str) -> Result<Self, UnknownTiming> {
        match text {
            KERNEL_ALONE => Ok(Self::Kernel),
            _ => text.parse().map(Self::As),
        }
    }
}

/// Equal launches that follow each other in a stream.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasuredLaunches {
    /// Milliseconds of all of them, as one measurement of these alone shows them.
    pub time_ms: f64,
    /// Their number.
    pub launches: u64,
}

/// The distance of launches that follow each other.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Spacing {
    /// Milliseconds from the end of a kernel to the start of the next.
    gap_ms: f64,
    /// Milliseconds from a launch to the next, however short the kernel is.
    least_ms: f64,
}

/// The share of a measured time that is not the kernels'.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Protocol {
    /// Each launch is measured by itself, and shows this many milliseconds more.
    Each(f64),
    /// Launches follow each other, and their time is taken over their number.
    Spaced(Spacing),
    /// One measurement stands around launches that follow each other, and shows this many
    /// milliseconds more.
    Around(f64, Spacing),
}

/// Equal kernels that follow each other.
#[derive(Clone, Copy, Debug)]
struct Kernels {
    /// Milliseconds of one of them alone.
    each_ms: f64,
    /// Their number.
    count: f64,
}

impl Spacing {
    fn of_stream(gpu: &Gpu) -> Result<Self, ModelError> {
        Ok(Self {
            gap_ms: number!(gpu.launch_gap) / 1e3,
            least_ms: number!(gpu.launch_overhead) / 1e3,
        })
    }

    /// Milliseconds from the first start to the last end of kernels that the host launches as fast
    /// as it can.
    ///
    /// The n-th launch leaves the host n `least_ms` after the first one. It starts then, or behind
    /// the kernel before it and the gap. Among equal kernels, either the first or the last one may
    /// be the last that waited for the host.
    fn stream_ms(self, kernels: impl IntoIterator<Item = Kernels>) -> f64 {
        let Self { gap_ms, least_ms } = self;
        let (mut next_ms, mut launched, mut end_ms) = (0.0_f64, 0.0, 0.0);
        for Kernels { each_ms, count } in kernels {
            let step_ms = each_ms + gap_ms;
            let first_ms = next_ms.max(launched * least_ms);
            let from_host_ms = (launched + count - 1.0) * least_ms;
            let last_ms = (first_ms + (count - 1.0) * step_ms).max(from_host_ms);
            (next_ms, launched, end_ms) = (last_ms + step_ms, launched + count, last_ms + each_ms);
        }
        end_ms
    }

    /// The `count` equal kernels that end after `stream_ms`.
    fn kernels(self, stream_ms: f64, count: f64) -> Kernels {
        let Self { gap_ms, least_ms } = self;
        let queued_ms = (stream_ms - (count - 1.0) * gap_ms) / count;
        let each_ms = queued_ms.min(stream_ms - (count - 1.0) * least_ms);
        Kernels { each_ms: each_ms.max(0.0), count }
    }
}

impl Protocol {
    /// Milliseconds that launches of a stream show, in their order.
    fn shown_ms(self, kernels: impl IntoIterator<Item = Kernels>) -> f64 {
        let kernels = kernels.into_iter();
        match self {
            Self::Each(more_ms) => {
                kernels.map(|kernel| kernel.count * (kernel.each_ms + more_ms)).sum()
            }
            Self::Spaced(Spacing { gap_ms, least_ms }) => {
                kernels.map(|kernel| kernel.count * (kernel.each_ms + gap_ms).max(least_ms)).sum()
            }
            Self::Around(once_ms, spacing) => once_ms + spacing.stream_ms(kernels),
        }
    }
}

impl Timing {
    fn protocol(self, gpu: &Gpu) -> Result<Protocol, ModelError> {
        Ok(match self {
            Self::NcuCycles => {
                let clocks = number!(gpu.profiler_cycles_overhead) as f64;
                Protocol::Each(clocks / number!(gpu.sp_clock) / 1e3)
            }
            Self::NcuDuration => {
                let clocks = number!(gpu.profiler_duration_overhead) as f64;
                Protocol::Each(clocks / number!(gpu.sp_clock) / 1e3)
            }
            Self::Events => {
                Protocol::Around(number!(gpu.event_overhead) / 1e3, Spacing::of_stream(gpu)?)
            }
            Self::BackToBack => Protocol::Spaced(Spacing::of_stream(gpu)?),
            Self::Graph => Protocol::Spaced(Spacing {
                gap_ms: number!(gpu.graph_launch_gap) / 1e3,
                least_ms: number!(gpu.graph_launch_overhead) / 1e3,
            }),
            Self::Framework => {
                Protocol::Around(number!(gpu.framework_overhead) / 1e3, Spacing::of_stream(gpu)?)
            }
        })
    }

    /// The milliseconds that this way of measuring adds to a launch of `kernel_ms`.
    ///
    /// # Errors
    ///
    /// When the GPU lacks a field.
    pub fn added_ms(self, gpu: &Gpu, kernel_ms: f64) -> Result<f64, ModelError> {
        self.added_to_each_ms(gpu, kernel_ms, 1)
    }

    /// The milliseconds that it adds to equal launches of `kernel_ms` each, all of them together.
    ///
    /// # Errors
    ///
    /// When the GPU lacks a field.
    pub fn added_to_each_ms(
        self,
        gpu: &Gpu,
        kernel_ms: f64,
        launches: u64,
    ) -> Result<f64, ModelError> {
        let count = launches.max(1) as f64;
        let shown_ms = self.protocol(gpu)?.shown_ms([Kernels { each_ms: kernel_ms, count }]);
        Ok((shown_ms - count * kernel_ms).max(0.0))
    }

    /// The milliseconds that a launch takes at least, where it is one of many that follow each
    /// other; `None` for other ways of measuring.
    ///
    /// # Errors
    ///
    /// When the GPU lacks a field.
    pub fn least_ms(self, gpu: &Gpu) -> Result<Option<f64>, ModelError> {
        Ok(match self.protocol(gpu)? {
            Protocol::Spaced(spacing) => Some(spacing.least_ms),
            Protocol::Each(_) | Protocol::Around(..) => None,
        })
    }

    /// The milliseconds that this way of measuring adds to the profile's launches, which take
    /// `time_ms` together.
    ///
    /// # Errors
    ///
    /// When the GPU lacks a field.
    pub(crate) fn added_to_all_ms(
        self,
        time_ms: f64,
        profile: &KernelProfile,
        gpu: &Gpu,
    ) -> Result<f64, ModelError> {
        let launches = profile.invocations.max(1);
        self.added_to_each_ms(gpu, time_ms / launches as f64, launches)
    }

    /// The milliseconds that one measurement around launches of a stream shows, in their order: the
    /// fixed part once, and gaps between them. `None` if there is none around all, and their times
    /// add up.
    ///
    /// # Errors
    ///
    /// When the GPU lacks a field.
    pub fn around_all_ms(
        self,
        gpu: &Gpu,
        launches: &[MeasuredLaunches],
    ) -> Result<Option<f64>, ModelError> {
        let protocol = self.protocol(gpu)?;
        let Protocol::Around(once_ms, spacing) = protocol else { return Ok(None) };
        let kernels = launches
            .iter()
            .map(|launch| spacing.kernels(launch.time_ms - once_ms, launch.launches.max(1) as f64));
        Ok(Some(protocol.shown_ms(kernels)))
    }

    /// Milliseconds by which the part of `launches` may be less or more, as the spread of measured
    /// GPUs around a rule says. A part that was measured on the GPU itself has none.
    pub(crate) fn range_ms(self, gpu: &Gpu, launches: u64) -> [f64; 2] {
        let count = launches.max(1) as f64;
        let part_ms = match self.protocol(gpu) {
            Ok(Protocol::Each(more_ms)) => count * more_ms,
            Ok(Protocol::Spaced(spacing)) => count * spacing.gap_ms,
            Ok(Protocol::Around(once_ms, _)) => once_ms,
            Err(_) => 0.0,
        };
        let spread = || -> Option<Spread> {
            let field = *self.fields().first()?;
            let is_derived = matches!(gpu.figure(field)?.source, Source::Derived(_));
            RULES.iter().find(|rule| rule.field == field).filter(|_| is_derived)?.spread
        };
        let range = |Spread { low, high, .. }| [(low - 1.0).min(0.0), (high - 1.0).max(0.0)];
        spread().map_or([0.0; 2], range).map(|share| share * part_ms)
    }

    /// Adds the part of the measurement to a model's outcome, as a part of its own.
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
        let fields: Vec<String> = self.fields().iter().map(|field| format!("`{field}`")).collect();
        outcome.explanation.push_str(&format!(
            " Measured as {}, it shows {} more ({}), which the paper's model leaves out.",
            self.name(),
            duration(time_ms),
            fields.join(", ")
        ));
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

    /// A GPU with figures that are easy to add: in microseconds, events 5, a framework 15, a gap of
    /// 1.5 in a stream and 0.25 in a graph, launches every 3 and every 1.
    fn round() -> Gpu {
        let gpu = GpuLibrary::builtin().unwrap().get("h100-sxm").unwrap();
        gpu.with_overrides(&[
            ("event_overhead", "5 us"),
            ("framework_overhead", "15 us"),
            ("launch_gap", "1.5 us"),
            ("launch_overhead", "3 us"),
            ("graph_launch_gap", "0.25 us"),
            ("graph_launch_overhead", "1 us"),
        ])
        .unwrap()
    }

    #[test]
    fn events_around_all_launches_are_paid_once_and_gaps_between_them() {
        let gpu = round();
        // As measured by itself, a launch has 5 us more.
        let of = |kernel_ms: f64, launches| MeasuredLaunches {
            time_ms: launches as f64 * kernel_ms
                + Timing::Events.added_to_each_ms(&gpu, kernel_ms, launches).unwrap(),
            launches,
        };
        let all = |timing: Timing, launches: &[MeasuredLaunches]| {
            timing.around_all_ms(&gpu, launches).unwrap()
        };
        let shown = |launches: &[MeasuredLaunches]| all(Timing::Events, launches).unwrap();
        // One launch shows what it does alone.
        assert!(near(shown(&[of(0.1, 1)]), 0.105));
        // 100, 1 and 10 us with two gaps: the host has long launched the second and the third.
        let three = [of(0.1, 1), of(0.001, 1), of(0.01, 1)];
        assert!(near(shown(&three), 0.1 + 0.001 + 0.01 + 2.0 * 0.0015 + 0.005));
        // Four of 1 us wait for the host: the last one begins after 9 us.
        assert!(near(shown(&[of(0.001, 4)]), 0.009 + 0.001 + 0.005));
        assert!(near(of(0.001, 4).time_ms, 0.015));
        // Four of 20 us do not.
        assert!(near(of(0.02, 4).time_ms, 4.0 * 0.02 + 3.0 * 0.0015 + 0.005));
        // Two short ones in front of a long one, which begins after 6 us.
        assert!(near(shown(&[of(0.001, 2), of(0.05, 1)]), 0.006 + 0.05 + 0.005));
        // One by one or counted together is the same.
        let (one, four) = ([of(0.0017, 1); 4], [of(0.0017, 4)]);
        assert!(near(shown(&one), shown(&four)));
        // Each of two graphs, and each of two profiled launches, is measured by itself.
        assert_eq!(all(Timing::NcuCycles, &three), None);
        assert_eq!(all(Timing::Graph, &three), None);
    }

    /// The queue, launch by launch, against the closed form for equal kernels.
    #[test]
    fn a_stream_of_kernels_ends_as_one_that_is_played_launch_by_launch() {
        let spacing = Spacing { gap_ms: 1.5, least_ms: 3.0 };
        let all = [(10.0, 1), (0.5, 7), (1.5, 3), (20.0, 2), (0.1, 40), (4.0, 5)];
        let (mut host_ms, mut free_ms, mut end_ms) = (0.0_f64, 0.0_f64, 0.0);
        for (each_ms, count) in all {
            for _ in 0..count {
                let begin_ms = host_ms.max(free_ms);
                end_ms = begin_ms + each_ms;
                free_ms = end_ms + spacing.gap_ms;
                host_ms += spacing.least_ms;
            }
        }
        let kernels = all.map(|(each_ms, count)| Kernels { each_ms, count: f64::from(count) });
        assert!(near(spacing.stream_ms(kernels), end_ms));
        for Kernels { each_ms, count } in kernels {
            let alone_ms = spacing.stream_ms([Kernels { each_ms, count }]);
            assert!(near(spacing.kernels(alone_ms, count).each_ms, each_ms));
        }
    }

    #[test]
    fn launches_after_each_other_have_gaps_and_take_no_less_than_their_spacing() {
        let gpu = round();
        let added = |timing: Timing, kernel_ms| timing.added_ms(&gpu, kernel_ms).unwrap();
        assert!(near(added(Timing::BackToBack, 0.001), 0.002));
        assert!(near(added(Timing::Graph, 0.0001), 0.0009));
        // The gap adds to whatever takes longer.
        assert!(near(added(Timing::BackToBack, 0.01), 0.0015));
        assert!(near(added(Timing::BackToBack, 1.0), 0.0015));
        assert!(near(added(Timing::Graph, 0.01), 0.00025));
        assert_eq!(Timing::BackToBack.least_ms(&gpu), Ok(Some(0.003)));
        assert_eq!(Timing::Events.least_ms(&gpu), Ok(None));
    }

    #[test]
    fn a_call_of_a_framework_pays_once_for_all_its_kernels() {
        let gpu = round();
        let added = |launches| Timing::Framework.added_to_each_ms(&gpu, 0.1, launches).unwrap();
        assert!(near(added(1), 0.015));
        assert!(near(added(3), 0.015 + 2.0 * 0.0015));
    }

    #[test]
    fn what_a_user_asks_for_wins_over_a_launch_file() {
        let of_file = Some(Timing::Graph);
        assert_eq!(AskedTiming::OfFile.over(of_file), of_file);
        assert_eq!(AskedTiming::OfFile.over(None), None);
        assert_eq!("events".parse::<AskedTiming>().unwrap().over(of_file), Some(Timing::Events));
        assert_eq!("kernel".parse::<AskedTiming>().unwrap().over(of_file), None);
        assert!("stopwatch".parse::<AskedTiming>().is_err());
    }

    #[test]
    fn a_name_is_read_back_and_another_one_is_answered_with_those_that_exist() {
        for timing in Timing::ALL {
            assert_eq!(timing.name().parse(), Ok(*timing));
        }
        let error = "stopwatch".parse::<Timing>().unwrap_err().to_string();
        let names = Timing::ALL.iter().map(|timing| timing.name());
        assert!(names.chain([KERNEL_ALONE]).all(|name| error.contains(name)), "{error}");
    }

    #[test]
    fn a_gpu_without_the_figure_is_refused_by_the_name_of_the_field() {
        let bare = Gpu::named("bare", "Bare");
        for &timing in Timing::ALL {
            let error = timing.added_ms(&bare, 1.0).unwrap_err();
            assert!(error.to_string().contains(timing.fields()[0]), "{error}");
        }
    }
}
