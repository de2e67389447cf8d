//! The clock that a time stands at, and what a long load leaves of it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use gpucast_counters::{KernelProfile, Kind, MetricValue, Number};
use gpucast_model::gpu::Clock;
use gpucast_model::{Conditions, Gpu, GpuLibrary, Model, Prediction};

fn gpu(name: &str) -> Gpu {
    GpuLibrary::builtin().unwrap().get(name).unwrap()
}

/// Multiply-adds and bytes of device memory.
fn kernel(multiply_adds: f64, bytes: f64) -> KernelProfile {
    let figures = [
        ("inst_executed", multiply_adds / 32.0),
        ("inst_compute_ld_st", 0.0),
        ("inst_fp_32", multiply_adds),
        ("inst_fp_64", 0.0),
        ("inst_integer", 0.0),
        ("flop_count_sp_add", 0.0),
        ("flop_count_sp_mul", 0.0),
        ("flop_count_sp_fma", multiply_adds),
        ("flop_count_dp_add", 0.0),
        ("flop_count_dp_mul", 0.0),
        ("flop_count_dp_fma", 0.0),
        ("dram_read_transactions", bytes / 32.0),
        ("dram_write_transactions", 0.0),
        ("dram_read_bytes", bytes),
        ("dram_write_bytes", 0.0),
    ];
    let figure = |(name, value): (&str, f64)| {
        let value = Number::Real(value);
        (name.to_owned(), MetricValue { value, unit: "instruction", kind: Kind::Measured })
    };
    KernelProfile {
        kernel: "k".into(),
        invocations: 1,
        measured_on: None,
        metrics: figures.into_iter().map(figure).collect(),
    }
}

fn predict(profile: &KernelProfile, gpu: &Gpu) -> Prediction {
    let model = <dyn Model>::by_name("quantitative-roofline").unwrap();
    model.predict(profile, gpu, &Conditions::default()).unwrap()
}

#[test]
fn arithmetic_takes_longer_at_the_clock_that_a_long_load_leaves() {
    let prediction = predict(&kernel(1e12, 1e6), &gpu("a40"));
    assert_eq!(prediction.clock_mhz, Some(1740.0));
    let sustained = prediction.sustained.as_ref().unwrap();
    assert_eq!((sustained.clock_mhz, sustained.by), (1620.0, "sustained_clock"));
    let ratio = sustained.time_at_most_ms / prediction.time_ms;
    assert!((ratio - 1740.0 / 1620.0).abs() < 1e-12, "{ratio}");
    assert!(prediction.clock_text().starts_with("1740 MHz; a long load like this leaves 1620 MHz"));
}

#[test]
fn device_memory_does_not_wait_for_the_clock() {
    let prediction = predict(&kernel(1e6, 1e12), &gpu("l40"));
    assert_eq!(prediction.sustained, None);
    assert_eq!(prediction.clock_text(), "2490 MHz");
}

#[test]
fn a_clock_that_holds_is_not_doubted() {
    let slow = gpu("a40").at_clock(Clock::Megahertz(1200.0)).unwrap();
    let prediction = predict(&kernel(1e12, 1e6), &slow);
    assert_eq!((prediction.clock_mhz, prediction.sustained), (Some(1200.0), None));
    // Nobody published one of ordinary arithmetic: of tensor cores alone.
    assert_eq!(predict(&kernel(1e12, 1e6), &gpu("b200")).sustained, None);
}
