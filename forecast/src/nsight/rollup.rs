//! Names of the form `unit__counter.rollup.submetric`, and the values behind them.
//!
//! A definition names one roll-up of a counter. All others follow from the number of instances of
//! the unit, the time, and the peak of an instance.

use gpucast_counters::definitions::{Definition, definitions, nsight_definition};
use gpucast_counters::metric;
use gpucast_counters::metric::Kind;

use super::cycles::sm_count;
use super::{Figures, Value, pipes};

/// Roll-ups over the instances of a unit.
pub const ROLLUPS: [&str; 4] = ["sum", "avg", "min", "max"];

/// Sub-metrics of a roll-up.
pub const SUBMETRICS: [&str; 6] = [
    "per_second",
    "per_cycle_active",
    "per_cycle_elapsed",
    "pct_of_peak_sustained_active",
    "pct_of_peak_sustained_elapsed",
    "peak_sustained",
];

/// The roll-up of the definition of a use: a percentage of the elapsed time.
const SHARE: &str = "avg.pct_of_peak_sustained_elapsed";

/// How a definition gives a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// The sum over all instances.
    Sum,
    /// The mean over all instances.
    Mean,
    /// The value that all instances have.
    Equal,
    /// A percentage of the time, without a count behind it.
    Share,
}

const FORMS: [(&str, Form); 4] =
    [("sum", Form::Sum), ("avg", Form::Mean), ("max", Form::Equal), (SHARE, Form::Share)];

/// The definition that gives the counter of a name in some roll-up, and the factor between them.
pub(super) fn definition_of(name: &str) -> Option<(&'static Definition, f64)> {
    let (counter, _) = name.split_once('.')?;
    FORMS.iter().find_map(|(form, _)| nsight_definition(&format!("{counter}.{form}")))
}

/// The other names of the counter that a definition names.
pub(super) fn names_beside(name: &str) -> Vec<String> {
    let Some((counter, rollup)) = name.split_once('.') else { return Vec::new() };
    let Some((_, form)) = FORMS.iter().find(|(text, _)| *text == rollup) else { return Vec::new() };
    if *form == Form::Share {
        return vec![format!("{counter}.avg.pct_of_peak_sustained_active")];
    }
    let unit = counter.split("__").next().unwrap_or("");
    let alone = matches!(*form, Form::Equal) || unit == "gpu";
    let rollups = ROLLUPS.iter().filter(|rollup| alone || matches!(**rollup, "sum" | "avg"));
    let with_submetrics = |rollup: &&str| {
        let plain = format!("{counter}.{rollup}");
        let further = SUBMETRICS.iter().map(|submetric| format!("{plain}.{submetric}"));
        std::iter::once(plain.clone()).chain(further.collect::<Vec<_>>()).collect::<Vec<_>>()
    };
    rollups.flat_map(with_submetrics).collect()
}

/// A counter with what its roll-ups follow from.
struct Counter<'a> {
    name: &'a str,
    form: Form,
    value: f64,
    instances: Option<f64>,
}

impl Counter<'_> {
    fn mean(&self) -> Option<f64> {
        match self.form {
            Form::Sum => Some(self.value / self.instances?),
            Form::Mean | Form::Equal | Form::Share => Some(self.value),
        }
    }

    fn sum(&self) -> Option<f64> {
        match self.form {
            Form::Sum => Some(self.value),
            Form::Mean | Form::Equal => Some(self.value * self.instances?),
            Form::Share => None,
        }
    }
}

impl Figures<'_> {
    /// The value of a roll-up that no definition names.
    pub(super) fn rolled(&self, name: &str) -> Option<(Value, Kind)> {
        let mut parts = name.splitn(3, '.');
        let (counter, rollup, submetric) = (parts.next()?, parts.next()?, parts.next());
        let found = definitions().find_map(|definition| {
            let mut own = definition.nsight_names();
            own.find_map(|(known, worth)| {
                let (base, text) = known.split_once('.')?;
                let (_, form) = FORMS.iter().find(|(form, _)| *form == text)?;
                (base == counter && worth == 1.0).then_some((definition, *form))
            })
        });
        let (definition, form) = found?;
        let (value, kind) = self.own(definition.name)?;
        let (value, instances) = (value.as_f64()?, self.instances(counter));
        let counter = Counter { name: counter, form, value, instances };
        let value = match submetric {
            None => self.plain(&counter, rollup)?,
            Some(submetric) => self.submetric(&counter, rollup, submetric)?,
        };
        // Everything beyond counts rests on a predicted time or on a number of units.
        Some((Value::Real(value), kind.max(Kind::Modelled)))
    }

    fn plain(&self, counter: &Counter<'_>, rollup: &str) -> Option<f64> {
        let is_alone = counter.form == Form::Equal || counter.instances == Some(1.0);
        match rollup {
            _ if counter.form == Form::Share => None,
            "sum" => counter.sum(),
            "avg" => counter.mean(),
            "min" | "max" if is_alone => counter.mean(),
            _ => None,
        }
    }

    fn submetric(&self, counter: &Counter<'_>, rollup: &str, submetric: &str) -> Option<f64> {
        let cycles = self.cycles.as_ref()?;
        let active = || Some(cycles.simulated.as_ref()?.active);
        if counter.form == Form::Share {
            return match (rollup, submetric) {
                ("avg", "pct_of_peak_sustained_active") => {
                    Some(counter.value * cycles.elapsed / active()?)
                }
                _ => None,
            };
        }
        let plain = || self.plain(counter, rollup);
        Some(match submetric {
            "per_second" => plain()? / cycles.seconds,
            "per_cycle_active" => plain()? / active()?,
            "per_cycle_elapsed" => plain()? / cycles.elapsed,
            "pct_of_peak_sustained_active" => {
                100.0 * counter.mean()? / (self.peak(counter.name)? * active()?)
            }
            "pct_of_peak_sustained_elapsed" => match self.bandwidth(counter.name) {
                Some(per_second) => 100.0 * counter.sum()? / (per_second * cycles.seconds),
                None => 100.0 * counter.mean()? / (self.peak(counter.name)? * cycles.elapsed),
            },
            "peak_sustained" => match rollup {
                "sum" => self.peak(counter.name)? * counter.instances?,
                _ => self.peak(counter.name)?,
            },
            _ => return None,
        })
    }

    /// Instances of the unit of a counter; none if the GPU's file does not say it.
    fn instances(&self, counter: &str) -> Option<f64> {
        let gpu = self.launch.gpu;
        match counter.split("__").next()? {
            "gpu" => Some(1.0),
            "sm" | "l1tex" => sm_count(gpu),
            "smsp" => {
                let partitions = self.device.as_ref()?.limits.sub_partitions;
                Some(sm_count(gpu)? * f64::from(partitions.max(1)))
            }
            "lts" => gpu.number("l2_slices"),
            _ => None,
        }
    }

    /// What an instance counts in a cycle at most.
    fn peak(&self, counter: &str) -> Option<f64> {
        let simulated = self.cycles.as_ref()?.simulated.as_ref()?;
        let (unit, what) = counter.split_once("__")?;
        let schedulers = simulated.schedulers();
        let of_sm = match what {
            "inst_executed" | "inst_issued" => {
                schedulers * f64::from(simulated.parameters.issue.issue_width)
            }
            "warps_active" | "warps_eligible" => f64::from(self.device.as_ref()?.limits.max_warps),
            "cycles_active"
            | "cycles_elapsed"
            | "issue_active"
            | "issue_inst0"
            | "issue_inst1"
            | "pipe_tensor_cycles_active" => return Some(1.0),
            // Products differ in length; together they take as long as the tensor cores multiply.
            "inst_executed_pipe_tensor" => {
                let (instructions, _) = self.own(metric!("inst_executed_pipe_tensor"))?;
                let (clocks, _) = self.own(metric!("pipe_tensor_cycles"))?;
                match (instructions.as_f64()?, clocks.as_f64()? * sm_count(self.launch.gpu)?) {
                    (_, clocks) if clocks <= 0.0 => 1.0,
                    (instructions, clocks) => instructions / clocks,
                }
            }
            other => pipes::peak_per_sm(simulated, other.strip_prefix("inst_executed_pipe_")?)?,
        };
        Some(if unit == "smsp" { of_sm / schedulers } else { of_sm })
    }

    /// What all instances behind the SMs count in a second at most, where a bandwidth says it.
    fn bandwidth(&self, counter: &str) -> Option<f64> {
        let gpu = self.launch.gpu;
        let sector = f64::from(u32::try_from(self.device.as_ref()?.sector_bytes()).ok()?);
        let (unit, what) = counter.split_once("__")?;
        let bytes = match unit {
            "dram" => 1e9 * gpu.number("peak_memory_bandwidth")?,
            "lts" => 1e9 * gpu.number("l2_bandwidth")?,
            _ => return None,
        };
        if what.contains("bytes") {
            Some(bytes)
        } else if what.contains("sectors") {
            Some(bytes / sector)
        } else {
            None
        }
    }
}
