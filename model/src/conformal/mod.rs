//! Intervals of simulated times that measured times lie in.
//!
//! An interval rests on the errors of the simulation itself, on kernels that were measured: ln
//! (measured / predicted) of [`MeasuredError`]s, in groups by what binds the time, by generation
//! and by back end. Their quantiles are a committed [`Table`]. A class with too few kernels takes
//! the quantiles of a wider [`Scope`]: first of its own generation, then of any. There each GPU
//! counts once, however many kernels were measured on it.
//!
//! | file | holds |
//! |---|---|
//! | `quantile` | quantiles with the correction for few errors |
//! | `class` | what binds a simulated time |
//! | `table` | quantiles by scope, and the choice of a scope |
//! | `variants` | what errors of variants of one kernel do not have in common |
//!
//! `docs/evidence/validation.md` tells how often the intervals hold on kernels that were held back.

mod class;
mod quantile;
mod table;
mod variants;

use serde::Serialize;

use crate::roofs::Roof;
use crate::text::duration_range;

pub use class::{TimeClass, UnknownClass};
pub use table::{COVERAGE, Kind, MeasuredError, Quantiles, Scope, Table, back_end};
pub use variants::{VariantError, VariantFactor, VariantFactors};

/// The interval of a predicted time, and the measured times that it rests on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TimeInterval {
    /// Its lower end, in milliseconds.
    pub low_ms: f64,
    /// Its upper end, in milliseconds.
    pub high_ms: f64,
    /// The share of measured times that lie inside.
    pub coverage: f64,
    /// What binds the time: a name of [`TimeClass`].
    pub bound_by: &'static str,
    /// What binds the measured kernels: the same, or `any`.
    pub measured_bound_by: &'static str,
    /// The major number of the measured GPUs' compute capability, or `any`.
    pub measured_capability: String,
    /// The back end of their machine code, `ptxas` or `rules`, or `any`.
    pub measured_machine: &'static str,
    /// The number of measured times.
    pub measured_times: usize,
    /// The number of kernel families on a GPU that they are of.
    pub measured_kernels: usize,
    /// The clock of the SMs that a long load leaves, in megahertz, if the upper end is the time
    /// there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub covers_clock_mhz: Option<f64>,
    /// The unit whose counted work at its peak takes as long as the lower end, if that is more than
    /// the measured kernels say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub least_by: Option<&'static str>,
    /// The number of GPUs that they are of. Where these are of any generation, each counts once.
    pub measured_gpus: usize,
    /// True if no kernel of this kind, or of this generation, was measured. The interval is the
    /// widest of those around it then.
    pub is_widest: bool,
}

impl TimeInterval {
    /// The interval of `time_ms`, if the table has one.
    #[must_use]
    pub fn new(time_ms: f64, kind: Kind, table: &Table) -> Option<Self> {
        let (Quantiles { scope, times, groups, gpus, factors }, is_widest) = table.find(kind)?;
        let (low, high) = factors?;
        Some(Self {
            low_ms: low * time_ms,
            high_ms: high * time_ms,
            coverage: COVERAGE,
            bound_by: kind.class.name(),
            measured_bound_by: scope.class.map_or(ANY, TimeClass::name),
            measured_capability: scope.capability.map_or(ANY.to_owned(), |major| major.to_string()),
            measured_machine: scope.machine.unwrap_or(ANY),
            measured_times: times,
            measured_kernels: groups,
            covers_clock_mhz: None,
            least_by: None,
            measured_gpus: gpus,
            is_widest,
        })
    }

    /// The interval with an upper end that holds the time at the clock that a long load leaves.
    #[must_use]
    pub fn covering(self, time_ms: f64, clock_mhz: f64) -> Self {
        match time_ms > self.high_ms {
            true => Self { high_ms: time_ms, covers_clock_mhz: Some(clock_mhz), ..self },
            false => self,
        }
    }

    /// The interval with a lower end that is not below a roof. A time below its roof stays inside.
    #[must_use]
    pub(crate) fn not_below(self, time_ms: f64, roof: Roof) -> Self {
        let least_ms = roof.least_ms.min(time_ms);
        match least_ms > self.low_ms {
            true => Self { low_ms: least_ms, least_by: Some(roof.unit), ..self },
            false => self,
        }
    }

    /// The interval wider by what the part of a measurement may be less and more, in milliseconds.
    #[must_use]
    pub(crate) fn with_part(self, [less_ms, more_ms]: [f64; 2]) -> Self {
        let low_ms = (self.low_ms + less_ms).max(0.0);
        Self { low_ms, high_ms: self.high_ms + more_ms, ..self }
    }

    /// The interval in words that follow a time.
    #[must_use]
    pub fn text(&self) -> String {
        let alike = if self.measured_bound_by == ANY { "" } else { " bound like this" };
        let times = duration_range(self.low_ms, self.high_ms);
        format!("4 of 5 measured kernels{alike} take {times}")
    }

    /// What the interval rests on, in a sentence.
    #[must_use]
    pub fn basis(&self) -> String {
        let Self { measured_times, measured_kernels, measured_gpus, .. } = self;
        let of_class = match self.measured_bound_by {
            ANY => String::new(),
            class => {
                let text = class.parse().map_or(class, TimeClass::text);
                format!(" bound by {text}")
            }
        };
        let on = match self.measured_capability.as_str() {
            ANY => format!(", on {measured_gpus} GPUs that count once each"),
            major => format!(", on capability {major}"),
        };
        let by = match self.measured_machine {
            ANY => String::new(),
            machine => format!(", by {machine}"),
        };
        let own = self.bound_by.parse().map_or(self.bound_by, TimeClass::text);
        let widest = match self.is_widest {
            true => format!(
                " No kernel bound by {own} on such a GPU was measured, so the widest of the \
                 intervals around it stands here."
            ),
            false => String::new(),
        };
        let longer = self.covers_clock_mhz.map_or_else(String::new, |clock| {
            format!(" Its upper end is the time at {clock:.0} MHz, which a long load leaves.")
        });
        let least = self.least_by.map_or_else(String::new, |unit| {
            format!(" Its lower end is the least time of the counted work, by {unit}.")
        });
        format!(
            "The interval rests on {measured_times} measured times of {measured_kernels} kernels \
             on a GPU{of_class}{on}{by}.{widest}{least}{longer}"
        )
    }
}

/// The name of any class, generation or back end.
const ANY: &str = "any";

#[cfg(test)]
mod tests {
    use super::*;

    /// Errors of `groups` kernels of a kind on as many GPUs: from −`most` to `most`, evenly spaced.
    fn errors(kind: Kind, groups: u32, most: f64) -> Vec<MeasuredError> {
        let one = |at: u32| MeasuredError {
            family: format!("{kind:?} {at}"),
            gpu: format!("gpu {at} of {}", kind.capability),
            kind,
            error: most * (2.0 * f64::from(at) / f64::from(groups - 1) - 1.0),
        };
        (0..groups).map(one).collect()
    }

    fn kind_of(class: TimeClass, capability: u32, machine: &'static str) -> Kind {
        Kind { class, capability, machine: Some(machine) }
    }

    /// 19 kernels bound by DRAM on capability 8 within 10 %, 9 on capability 7 within 20 %, five
    /// bound by latency on capability 9 within 80 %.
    fn table() -> Table {
        let mut all = errors(kind_of(TimeClass::Dram, 8, "ptxas"), 19, 0.1);
        all.extend(errors(kind_of(TimeClass::Dram, 7, "rules"), 9, 0.2));
        all.extend(errors(kind_of(TimeClass::Latency, 9, "ptxas"), 5, 0.8));
        Table::of(&all)
    }

    fn near(value: f64, expected: f64) -> bool {
        (value / expected - 1.0).abs() < 1e-9
    }

    #[test]
    fn a_kind_with_kernels_enough_takes_its_own_errors() {
        let interval = |kind| TimeInterval::new(2.0, kind, &table()).unwrap();
        let dram = interval(kind_of(TimeClass::Dram, 8, "ptxas"));
        // Of 19 evenly spaced errors from −0.1 to 0.1, the second and the eighteenth.
        let second: f64 = 0.1 * (1.0 - 2.0 / 18.0);
        assert!(near(dram.low_ms, 2.0 * (-second).exp()), "{dram:?}");
        assert!(near(dram.high_ms, 2.0 * second.exp()), "{dram:?}");
        assert_eq!((dram.measured_times, dram.measured_kernels), (19, 19));
        assert_eq!((dram.measured_capability.as_str(), dram.measured_machine), ("8", "ptxas"));
        assert!(dram.text().starts_with("4 of 5 measured kernels bound like this take "));
        // Nine kernels are just enough: the interval is from the least to the greatest.
        let nine = interval(kind_of(TimeClass::Dram, 7, "rules"));
        assert!(near(nine.high_ms, 2.0 * 0.2_f64.exp()), "{nine:?}");
    }

    #[test]
    fn a_kind_with_few_kernels_takes_the_next_wider_scope() {
        let of = |kind| TimeInterval::new(1.0, kind, &table()).unwrap();
        // No kernel on capability 8 by rules: those by any back end.
        let by_rules = of(kind_of(TimeClass::Dram, 8, "rules"));
        assert_eq!((by_rules.measured_bound_by, by_rules.measured_machine), ("dram", "any"));
        assert_eq!((by_rules.measured_capability.as_str(), by_rules.measured_gpus), ("8", 19));
        // None on that GPU bound by latency: its generation says more than the class.
        let latency = of(kind_of(TimeClass::Latency, 8, "ptxas"));
        assert_eq!((latency.measured_bound_by, latency.measured_kernels), ("any", 19));
        assert_eq!(latency.measured_capability, "8");
        assert!(!latency.is_widest);
        assert!(latency.text().starts_with("4 of 5 measured kernels take "), "{}", latency.text());
        // Five kernels on capability 9 are too few: those of any generation and class are 24.
        let hopper = of(kind_of(TimeClass::Latency, 9, "ptxas"));
        assert_eq!((hopper.measured_capability.as_str(), hopper.measured_kernels), ("any", 24));
        assert!(hopper.basis().contains("on 24 GPUs that count once each"), "{}", hopper.basis());
    }

    #[test]
    fn many_kernels_of_one_gpu_do_not_stand_for_other_generations() {
        // A hundred kernels on one GPU within 1 %, one on each of eleven others from −50 to 50 %.
        let mut all = errors(kind_of(TimeClass::Issue, 9, "ptxas"), 100, 0.01);
        all.iter_mut().for_each(|row| row.gpu = "hopper".to_owned());
        all.extend(errors(kind_of(TimeClass::Issue, 8, "ptxas"), 6, 0.5));
        all.extend(errors(kind_of(TimeClass::Issue, 7, "ptxas"), 5, 0.4));
        let table = Table::of(&all);
        let of = |major| TimeInterval::new(1.0, kind_of(TimeClass::Issue, major, "ptxas"), &table);
        let hopper = of(9).unwrap();
        assert!(hopper.high_ms < 1.011, "{hopper:?}");
        let ampere = of(8).unwrap();
        assert_eq!((ampere.measured_gpus, ampere.measured_kernels), (12, 111));
        assert!(ampere.low_ms < 0.68 && ampere.high_ms > 1.45, "{ampere:?}");
    }

    #[test]
    fn what_was_never_measured_takes_the_widest_and_says_so() {
        let of = |kind| TimeInterval::new(1.0, kind, &table()).unwrap();
        let tensor = of(kind_of(TimeClass::Tensor, 8, "ptxas"));
        assert!(tensor.is_widest && tensor.basis().contains("tensor cores"), "{}", tensor.basis());
        let blackwell = of(kind_of(TimeClass::Dram, 12, "ptxas"));
        assert!(blackwell.is_widest);
        let known = of(kind_of(TimeClass::Dram, 8, "ptxas"));
        assert!(blackwell.high_ms / blackwell.low_ms > known.high_ms / known.low_ms);
    }

    #[test]
    fn an_interval_covers_the_time_at_the_clock_of_a_long_load() {
        let of = |time_ms| {
            let kind = kind_of(TimeClass::Dram, 8, "ptxas");
            TimeInterval::new(2.0, kind, &table()).unwrap().covering(time_ms, 1500.0)
        };
        let (inside, beyond) = (of(2.05), of(3.0));
        assert!(inside.high_ms < 2.3 && inside.covers_clock_mhz.is_none(), "{inside:?}");
        assert_eq!((beyond.high_ms, beyond.covers_clock_mhz), (3.0, Some(1500.0)));
        assert_eq!(beyond.low_ms, inside.low_ms);
        assert!(beyond.basis().ends_with("1500 MHz, which a long load leaves."));
    }

    #[test]
    fn an_interval_begins_at_the_highest_roof_below_its_time() {
        let of = |least_ms| {
            let kind = kind_of(TimeClass::Dram, 8, "ptxas");
            let roof = Roof { unit: "device memory", least_ms };
            TimeInterval::new(2.0, kind, &table()).unwrap().not_below(2.0, roof)
        };
        let (low, inside, above) = (of(0.5), of(1.99), of(2.5));
        assert!(low.low_ms < 1.99 && low.least_by.is_none(), "{low:?}");
        assert_eq!((inside.low_ms, inside.least_by), (1.99, Some("device memory")));
        assert_eq!((above.low_ms, above.high_ms), (2.0, low.high_ms));
        assert!(inside.basis().ends_with("of the counted work, by device memory."));
    }

    #[test]
    fn the_table_is_read_back_and_anything_else_is_refused() {
        let text = table().to_csv();
        let read = Table::from_csv(&text).unwrap();
        assert_eq!(read.to_csv(), text);
        assert_eq!(read.rows().len(), table().rows().len());
        assert_eq!(Table::from_csv(&format!("# comment\n{text}")), Some(read));
        for other in ["", "low,high\n", &text.replace("dram", "sram"), &format!("{text}a,b\n")] {
            assert_eq!(Table::from_csv(other), None, "{other}");
        }
    }

    #[test]
    fn the_committed_table_is_read_completely_and_its_intervals_hold_the_prediction() {
        let table = Table::committed();
        assert!(!table.rows().is_empty());
        for class in TimeClass::ALL {
            for (capability, machine) in [(5, "rules"), (8, "ptxas"), (9, "rules"), (12, "ptxas")] {
                let kind = kind_of(class, capability, machine);
                let interval = TimeInterval::new(1.0, kind, table).unwrap();
                assert!(interval.low_ms <= 1.0 && interval.high_ms >= 1.0, "{interval:?}");
                assert!(interval.measured_kernels >= 9, "{interval:?}");
            }
        }
    }
}
