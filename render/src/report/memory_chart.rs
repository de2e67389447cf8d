//! The way of a kernel's bytes: kernel, first-level cache and shared memory, L2, device memory.

use gpucast_counters::KernelProfile;
use gpucast_counters::metric;
use gpucast_forecast::number;
use gpucast_plot::number::significant;

use super::speed_of_light::Meter;

const SECTOR_BYTES: f64 = 32.0;

/// The chart; every entry is in words, empty where the counts do not say.
pub(super) struct MemoryChart {
    /// Between the kernel and the first-level cache.
    pub(super) global: Vec<Fact>,
    /// Between the kernel and shared memory; empty if it uses none.
    pub(super) shared: Vec<Fact>,
    /// The first-level cache.
    pub(super) l1: Vec<Fact>,
    /// Between the first-level cache and the L2.
    pub(super) l1_to_l2: Vec<Fact>,
    /// The L2.
    pub(super) l2: Vec<Fact>,
    /// Between the L2 and device memory.
    pub(super) l2_to_dram: Vec<Fact>,
    /// Device memory.
    pub(super) dram: Vec<Fact>,
}

/// A number of the chart.
pub(super) struct Fact {
    pub(super) name: &'static str,
    pub(super) value: String,
}

impl MemoryChart {
    /// The chart of a launch, with the parts of the peaks that `meters` say; `None` if its counts
    /// have no memory.
    pub(super) fn of(profile: &KernelProfile, meters: &[Meter]) -> Option<Self> {
        let get = |name: &str| profile.metrics.get(name).map(|metric| metric.value.as_f64());
        let times = profile.invocations as f64;
        let fact = |name, value: Option<String>| value.map(|value| Fact { name, value });
        let amount = |name: &str, factor: f64| {
            let total = get(name)? * factor * times;
            (total > 0.0).then(|| bytes(total))
        };
        let count = |names: &[&str]| {
            let known: Vec<f64> = names.iter().filter_map(|name| get(name)).collect();
            let total = known.iter().sum::<f64>() * times;
            (total > 0.0).then(|| number::count(total as u128))
        };
        let percent = |name: &str| get(name).map(|value| format!("{} %", significant(value, 3)));
        let uses_local = get(metric!("local_load_requests")).is_some_and(|requests| requests > 0.0);
        let peak = |unit: &str| {
            let meter = meters.iter().find(|meter| meter.unit == unit);
            fact("of its peak", meter.map(|meter| format!("{} %", meter.percent)))
        };
        let facts = |facts: Vec<Option<Fact>>| facts.into_iter().flatten().collect::<Vec<Fact>>();
        let chart = Self {
            global: facts(vec![
                fact("requests", count(&metric!["global_load_requests", "global_store_requests"])),
                fact("asked for", amount(metric!("ptx_global_load_bytes"), 1.0)),
                fact("given", amount(metric!("ptx_global_store_bytes"), 1.0)),
                fact("load efficiency", percent(metric!("gld_efficiency"))),
                fact("store efficiency", percent(metric!("gst_efficiency"))),
            ]),
            shared: facts(vec![
                fact("requests", count(&metric!["shared_load", "shared_store"])),
                fact(
                    "passes",
                    count(&metric!["shared_load_transactions", "shared_store_transactions"]),
                ),
                fact(
                    "of them by conflicts",
                    count(&metric!["shared_ld_bank_conflict", "shared_st_bank_conflict"]),
                ),
                peak("shared memory"),
            ]),
            l1: facts(vec![
                fact("hits, global loads", percent(metric!("global_hit_rate"))),
                fact(
                    "hits, local loads",
                    percent(metric!("local_hit_rate")).filter(|_| uses_local),
                ),
                peak("L1"),
            ]),
            l1_to_l2: facts(vec![
                fact("read", amount(metric!("l2_read_transactions"), SECTOR_BYTES)),
                fact("written", amount(metric!("l2_write_transactions"), SECTOR_BYTES)),
                fact("updated", amount(metric!("l2_atomic_transactions"), SECTOR_BYTES)),
            ]),
            l2: facts(vec![fact("hits", percent(metric!("l2_tex_hit_rate"))), peak("L2")]),
            dram: facts(vec![peak("device memory")]),
            l2_to_dram: facts(vec![
                fact("read", amount(metric!("dram_read_transactions"), SECTOR_BYTES)),
                fact("written", amount(metric!("dram_write_transactions"), SECTOR_BYTES)),
            ]),
        };
        (!chart.global.is_empty() || !chart.shared.is_empty() || !chart.l2_to_dram.is_empty())
            .then_some(chart)
    }
}

/// An amount of bytes: `12.3 MB`.
pub(super) fn bytes(amount: f64) -> String {
    const UNITS: [(&str, f64); 4] = [("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("B", 1.0)];
    let unit = UNITS.iter().find(|(_, bytes)| amount >= *bytes).unwrap_or(&UNITS[3]);
    format!("{} {}", significant(amount / unit.1, 3), unit.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_three_digits() {
        assert_eq!([1.0, 999.0, 12_345.0, 2.5e9].map(bytes), ["1 B", "999 B", "12.3 kB", "2.5 GB"]);
    }
}
