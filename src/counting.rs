//! Executes a plan under the counters.
//!
//! The counts are those of a GTX 480, the GPU that the published ones were taken on: the models
//! take counts from one GPU to predict others. Every repetition starts with a cold L2, as a
//! profiler sees it, and a launch's metrics are the means over its repetitions, as nvprof's are.

use std::collections::BTreeMap;
use std::mem;

use gpucast_counters::{Counter, DeviceModel, LaunchProfile, Number};
use gpucast_interpreter::{Launch, Program};
use sha2::{Digest as _, Sha256};

use crate::execute::{self, Executed, Loaded, Settings, Timing, Watch};
use crate::failure::Failure;
use crate::input::plan::{Plan, PlannedArgument};
use crate::inspection::MachineFacts;

/// What a launch was counted to be.
pub(crate) struct Counted {
    /// Metrics are means over the invocations; the table is their sum.
    pub(crate) profile: LaunchProfile,
    pub(crate) timing: Timing,
    /// Why CTAs ran one after the other, if they did.
    pub(crate) ordered_because: Option<String>,
    /// What machine code in the same container says about the kernel.
    pub(crate) machine_code: Option<MachineFacts>,
    /// SHA-256 of each buffer argument after the launch, in hexadecimal; empty unless asked for.
    pub(crate) buffers_sha256: BTreeMap<String, String>,
}

/// Counts every launch of a plan; `with_hashes` adds the buffers' hashes.
pub(crate) fn count(
    plan: &Plan,
    loaded: &Loaded,
    settings: &Settings,
    with_hashes: bool,
) -> Result<Vec<Counted>, Failure> {
    let mut memory = execute::memory(plan, loaded)?;
    let mut watch = Count { plan, with_hashes, repetitions: Mean::default(), counted: Vec::new() };
    execute::execute(plan, loaded, &mut memory, settings, &mut watch)?;
    Ok(watch.counted)
}

struct Count<'a> {
    plan: &'a Plan,
    with_hashes: bool,
    /// Of the launch that is running.
    repetitions: Mean,
    counted: Vec<Counted>,
}

impl Watch for Count<'_> {
    type Observer = Counter;

    fn begin(&mut self, program: &Program, launch: &Launch) -> Counter {
        Counter::new(program, launch, program.static_shared_bytes(), DeviceModel::GTX_480)
    }

    fn end(&mut self, counter: Counter) {
        self.repetitions.add(counter.finish().0);
    }

    fn launched(&mut self, executed: Executed<'_>) {
        let Some(profile) = mem::take(&mut self.repetitions).finish() else { return };
        let mut buffers_sha256 = BTreeMap::new();
        let arguments = match self.with_hashes {
            true => self.plan.launches[executed.index].arguments.as_slice(),
            false => &[],
        };
        let buffers = arguments.iter().flat_map(|argument| match argument {
            PlannedArgument::Buffer(index) => vec![*index],
            PlannedArgument::Structure(structure) => structure.buffers().collect(),
            PlannedArgument::Scalar { .. } => Vec::new(),
        });
        for index in buffers {
            let name = &self.plan.buffers[index].name;
            let bytes = executed.memory.bytes(name).unwrap_or_default();
            buffers_sha256.insert(name.clone(), hexadecimal(&Sha256::digest(bytes)));
        }
        let Executed { timing, ordered_because, .. } = executed;
        let machine_code = MachineFacts::of(self.plan, &profile.kernel);
        self.counted.push(Counted {
            profile,
            timing,
            ordered_because,
            machine_code,
            buffers_sha256,
        });
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The mean of profiles of the same launch.
#[derive(Default)]
struct Mean {
    /// The first profile, to which the tables of the others are added.
    first: Option<LaunchProfile>,
    invocations: u64,
    sums: BTreeMap<String, Sum>,
}

/// The sum of a metric over repetitions, exact as long as it is one of counts.
#[derive(Default)]
struct Sum {
    counts: u128,
    reals: f64,
    /// How many values were reals.
    real_values: u64,
    values: u64,
}

impl Sum {
    fn add(&mut self, number: Number) {
        self.values += 1;
        match number {
            Number::Count(count) => self.counts += u128::from(count),
            Number::Real(real) => {
                self.reals += real;
                self.real_values += 1;
            }
        }
    }

    fn mean(&self) -> Number {
        let values = u128::from(self.values.max(1));
        if self.real_values == 0 && self.counts.is_multiple_of(values) {
            Number::Count((self.counts / values) as u64)
        } else {
            Number::Real((self.counts as f64 + self.reals) / values as f64)
        }
    }
}

impl Mean {
    fn add(&mut self, profile: LaunchProfile) {
        self.invocations += 1;
        for (name, metric) in &profile.metrics {
            self.sums.entry(name.clone()).or_default().add(metric.value);
        }
        let Some(first) = &mut self.first else {
            self.first = Some(profile);
            return;
        };
        // A ratio that has no value in the first repetition may have one in another.
        for (name, metric) in profile.metrics {
            first.metrics.entry(name).or_insert(metric);
        }
        for (total, row) in first.table.rows.iter_mut().zip(profile.table.rows) {
            add_row(total, row);
        }
    }

    fn finish(self) -> Option<LaunchProfile> {
        let mut profile = self.first?;
        profile.invocations = self.invocations;
        for (name, metric) in &mut profile.metrics {
            if let Some(sum) = self.sums.get(name) {
                metric.value = sum.mean();
            }
        }
        Some(profile)
    }
}

fn add_row(total: &mut gpucast_counters::table::Row, row: gpucast_counters::table::Row) {
    total.warp_executions += row.warp_executions;
    total.issued_lanes += row.issued_lanes;
    total.thread_executions += row.thread_executions;
    match (&mut total.branch, row.branch) {
        (Some(total), Some(branch)) => {
            total.taken_lanes += branch.taken_lanes;
            total.divergent += branch.divergent;
        }
        (total @ None, branch) => *total = branch,
        (Some(_), None) => {}
    }
    for counts in row.memory {
        match total.memory.iter_mut().find(|total| total.space == counts.space) {
            Some(total) => {
                total.requests += counts.requests;
                total.requested_bytes += counts.requested_bytes;
                total.sectors += counts.sectors;
                total.transactions += counts.transactions;
                total.passes += counts.passes;
                total.dram_read_sectors += counts.dram_read_sectors;
            }
            None => total.memory.push(counts),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_of_counts_stay_counts_where_they_are_whole() {
        let mean = |numbers: &[Number]| {
            let mut sum = Sum::default();
            numbers.iter().for_each(|&number| sum.add(number));
            sum.mean()
        };
        let (count, real) = (Number::Count, Number::Real);
        assert_eq!(mean(&[count(u64::MAX), count(u64::MAX)]), count(u64::MAX));
        assert_eq!(mean(&[count(1), count(2)]), real(1.5));
        assert_eq!(mean(&[real(50.0), real(100.0)]), real(75.0));
    }
}
