//! Energy by counts of events, and the clock that a power limit leaves.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use gpucast_counters::{KernelProfile, Kind, MetricValue, Number};
use gpucast_model::gpu::PowerLimit;
use gpucast_model::{Conditions, Energy, Gpu, GpuLibrary, Model, Prediction, Warning};

fn gpu(name: &str) -> Gpu {
    GpuLibrary::builtin().unwrap().get(name).unwrap()
}

fn profile(figures: &[(&str, f64)]) -> KernelProfile {
    let figure = |&(name, value): &(&str, f64)| {
        let value = Number::Real(value);
        (name.to_owned(), MetricValue { value, unit: "instruction", kind: Kind::Measured })
    };
    KernelProfile {
        kernel: "k".into(),
        invocations: 1,
        measured_on: None,
        metrics: figures.iter().map(figure).collect(),
    }
}

/// A second of a roofline benchmark: `bytes` are loaded, and `flops` are done on them by
/// multiply-adds.
fn roofline(flops: f64, bytes: f64) -> KernelProfile {
    let (multiply_adds, loads) = (flops / 2.0, bytes / 4.0);
    profile(&[
        ("inst_executed", (multiply_adds + loads) / 32.0),
        ("inst_compute_ld_st", loads),
        ("inst_fp_32", multiply_adds),
        ("inst_fp_64", 0.0),
        ("inst_integer", 0.0),
        ("flop_count_sp", flops),
        ("flop_count_sp_add", 0.0),
        ("flop_count_sp_mul", 0.0),
        ("flop_count_sp_fma", multiply_adds),
        ("flop_count_dp_add", 0.0),
        ("flop_count_dp_mul", 0.0),
        ("flop_count_dp_fma", 0.0),
        ("global_load_sectors", bytes / 32.0),
        ("l2_read_transactions", bytes / 32.0),
        ("dram_read_transactions", bytes / 32.0),
        ("dram_write_transactions", 0.0),
        ("dram_read_bytes", bytes),
        ("dram_write_bytes", 0.0),
    ])
}

fn predict(profile: &KernelProfile, gpu: &Gpu) -> Prediction {
    let model = <dyn Model>::by_name("quantitative-roofline").unwrap();
    model.predict(profile, gpu, &Conditions::default()).unwrap()
}

fn near(value: f64, expected: f64, tolerance: f64) -> bool {
    (value / expected - 1.0).abs() < tolerance
}

#[test]
fn energy_is_events_times_energies_beside_the_board() {
    let gpu = gpu("tesla-v100-sxm2");
    let counts = profile(&[
        ("inst_executed", 1e9),
        ("inst_fp_32", 2e10),
        ("shared_load_transactions", 3e8),
        ("dram_read_bytes", 4e9),
        ("dram_write_bytes", 1e9),
        ("tensor_op_count_tf32", 1e10),
        ("flop_count_sp", 4e10),
    ]);
    // 40 blocks keep half of the SMs busy, for 20 ms.
    let energy = Energy::of(&counts, Some(40), &gpu, 20.0).unwrap();
    let by_hand = (54.9 + 40.0 * 0.18) * 0.02
        + 1e9 * 280e-12
        + 2e10 * 5.85e-12
        + 3e8 * 611e-12
        + 4e9 * 54e-12
        + 1e9 * 35e-12
        + 2.0 * 1e10 * 0.86e-12;
    assert!(near(energy.joules, by_hand, 1e-12), "{} {by_hand}", energy.joules);
    assert!(near(energy.watts, by_hand / 0.02, 1e-12));
    assert!(near(energy.operations_per_joule.unwrap(), 4e10 / by_hand, 1e-12));
    let parts: f64 = energy.parts.iter().map(|part| part.joules).sum();
    assert!(near(parts, energy.joules, 1e-12));
    // Counts that do not tell the instructions or the bytes tell no energy.
    assert_eq!(Energy::of(&profile(&[("inst_executed", 1.0)]), None, &gpu, 1.0), None);
}

/// Rows of the benchmark that the energies come from: GFLOP/s, GB/s and watts of a GPU at its
/// highest clock (github.com/RRZE-HPC/gpu-benches, gpu-roofline).
#[test]
fn a_roofline_benchmark_has_the_watts_that_were_measured() {
    for (name, gflops, gbytes, watts) in [
        ("a100-sxm-40gb", 343.0, 1372.0, 227.0),
        ("l40", 211.0, 845.0, 199.0),
        ("l40", 10342.0, 844.0, 253.0),
        ("l40", 18768.0, 844.0, 300.0),
    ] {
        let counts = roofline(gflops * 1e9, gbytes * 1e9);
        let energy = Energy::of(&counts, None, &gpu(name), 1e3).unwrap();
        assert!(near(energy.watts, watts, 0.08), "{name}, {gflops}: {} W", energy.watts);
    }
}

#[test]
fn a_limit_decides_the_clock_of_arithmetic() {
    let free = predict(&roofline(1e13, 1e9), &gpu("a100-pcie-40gb"));
    let watts = free.energy.as_ref().unwrap().watts;
    let limit = 0.8 * watts;
    let gpu = gpu("a100-pcie-40gb").under_power_limit(PowerLimit::Watts(limit)).unwrap();
    let limited = predict(&roofline(1e13, 1e9), &gpu);
    let clock = limited.clock_mhz.unwrap();
    let energy = limited.energy.as_ref().unwrap();
    assert!(clock < 1410.0 && clock > 900.0, "{clock}");
    assert!(energy.watts <= limit && energy.watts > 0.97 * limit, "{} {limit}", energy.watts);
    assert!(near(limited.time_ms, free.time_ms * 1410.0 / clock, 1e-9));
    // A lower voltage does the same work with less.
    assert!(energy.joules < free.energy.unwrap().joules);
    assert!(near(limited.power_limit_w.unwrap(), limit, 1e-12));
}

#[test]
fn a_limit_costs_a_stream_no_time() {
    let gpu = gpu("a100-pcie-40gb");
    let free = predict(&roofline(1e9, 1e12), &gpu);
    let limit = free.energy.as_ref().unwrap().watts - 10.0;
    let limited =
        predict(&roofline(1e9, 1e12), &gpu.under_power_limit(PowerLimit::Watts(limit)).unwrap());
    assert!(limited.clock_mhz.unwrap() < 1410.0);
    assert!(near(limited.time_ms, free.time_ms, 1e-9));
    assert!(limited.energy.unwrap().watts <= limit);
}

#[test]
fn a_limit_that_is_not_reached_changes_nothing() {
    let gpu = gpu("h100-sxm").under_power_limit(PowerLimit::Board).unwrap();
    let limited = predict(&roofline(1e9, 1e12), &gpu);
    assert_eq!((limited.clock_mhz, limited.power_limit_w), (Some(1980.0), Some(700.0)));
    assert_eq!(limited.clock_text(), "1980 MHz, within 700 W");
}

/// The least clock is no promise: the board alone takes more than such a limit.
#[test]
fn a_limit_that_no_clock_holds_is_said_to_be_exceeded() {
    let gpu = gpu("l40").under_power_limit(PowerLimit::Watts(20.0)).unwrap();
    let limited = predict(&roofline(1e9, 1e12), &gpu);
    let watts = limited.energy.as_ref().unwrap().watts;
    assert!(watts > 20.0, "{watts}");
    let expected = format!("210 MHz, where it takes {watts:.0} W, more than the limit of 20 W");
    assert_eq!(limited.clock_text(), expected);
}

#[test]
fn nothing_is_said_of_a_gpu_without_a_power_model() {
    let gpu = gpu("rtx-4090");
    assert_eq!(gpu.lacks_for_power(), Some("idle_power"));
    let prediction = predict(&roofline(1e13, 1e9), &gpu);
    assert_eq!((prediction.energy, prediction.sustained), (None, None));
    let limited = gpu.under_power_limit(PowerLimit::Watts(200.0)).unwrap();
    let limited = predict(&roofline(1e13, 1e9), &limited);
    assert_eq!(limited.time_ms, prediction.time_ms);
    let is_unread =
        |one: &Warning| matches!(one, Warning::UnreadField { field: "power_limit", .. });
    assert!(limited.warnings.iter().any(is_unread));
}

#[test]
fn a_power_is_watts_or_that_of_the_board() {
    assert_eq!("72W".parse(), Ok(PowerLimit::Watts(72.0)));
    assert_eq!("450 W".parse(), Ok(PowerLimit::Watts(450.0)));
    assert_eq!("board".parse(), Ok(PowerLimit::Board));
    for other in ["", "W", "-3", "0", "much", "NaN"] {
        assert!(other.parse::<PowerLimit>().is_err(), "{other}");
    }
}
