//! Predictions beside the least times of units, and launches that a GPU refuses.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use gpucast_counters::{Extents, KernelProfile, Kind, MetricValue, Number};
use gpucast_model::roofs::roofs;
use gpucast_model::{Conditions, Gpu, GpuLibrary, LaunchShape, Model, Prediction};

fn gpu(name: &str) -> Gpu {
    GpuLibrary::builtin().unwrap().get(name).unwrap()
}

fn profile(metrics: &[(&str, f64)]) -> KernelProfile {
    let figure = |&(name, value): &(&str, f64)| {
        let value = Number::Real(value);
        (name.to_owned(), MetricValue { value, unit: "", kind: Kind::Measured })
    };
    KernelProfile {
        kernel: "k".into(),
        invocations: 2,
        measured_on: None,
        metrics: metrics.iter().map(figure).collect(),
    }
}

/// Counts that the quantitative roofline can read, with little work but for `more`.
fn predicted(gpu: &Gpu, launch: LaunchShape, more: &[(&str, f64)]) -> Prediction {
    let mut metrics = vec![
        ("inst_fp_64", 0.0),
        ("inst_fp_32", 8e6),
        ("flop_count_sp_fma", 8e6),
        ("inst_executed", 1e6),
        ("inst_compute_ld_st", 8e6),
        ("dram_read_transactions", 1e5),
        ("dram_write_transactions", 0.0),
    ];
    metrics.extend(more);
    let conditions = Conditions { launch: Some(launch), ..Conditions::default() };
    let model = <dyn Model>::by_name("quantitative-roofline").unwrap();
    model.predict(&profile(&metrics), gpu, &conditions).unwrap()
}

fn launch() -> LaunchShape {
    LaunchShape { blocks: 5000, threads_per_block: 256, ..LaunchShape::default() }
}

#[test]
fn a_time_below_the_l2s_roof_is_told() {
    let gpu = gpu("a100-sxm-40gb");
    let bandwidth = gpu.l2_bandwidth.as_ref().unwrap().value.0;
    // Two invocations of 10⁹ sectors.
    let least_ms = 2.0 * 1e9 * 32.0 / bandwidth / 1e6;
    let prediction = predicted(&gpu, launch(), &[("l2_read_transactions", 1e9)]);
    assert!(prediction.time_ms < least_ms);
    assert!(prediction.warning_codes().contains("below-roof"), "{:?}", prediction.warnings);
    let told =
        prediction.warnings.iter().any(|warning| warning.to_string().contains("reads of the L2"));
    assert!(told, "{:?}", prediction.warnings);
    let fewer = predicted(&gpu, launch(), &[("l2_read_transactions", 1e5)]);
    assert!(!fewer.warning_codes().contains("below-roof"), "{:?}", fewer.warnings);
}

#[test]
fn each_roof_is_its_work_over_its_peak() {
    let gpu = gpu("a100-sxm-40gb");
    let number = |field: &str| gpu.number(field).unwrap();
    let clocks_per_ms = number("sp_clock") * 1e3 * number("sm_count");
    for (metric, unit, per_ms) in [
        ("dram_read_bytes", "device memory", 1e6 * number("peak_memory_bandwidth")),
        ("dram_write_bytes", "device memory", 1e6 * number("peak_memory_bandwidth")),
        ("l2_write_transactions", "writes of the L2", 1e6 * number("l2_write_bandwidth") / 32.0),
        ("flop_count_dp_fma", "the double-precision units", 32.0 * clocks_per_ms),
        ("flop_count_sp_add", "the single-precision units", 64.0 * clocks_per_ms),
        // A multiply-add is two operations; an A100 makes 1,024 a clock and SM, of tf32 half.
        ("tensor_op_count_fp16", "the tensor cores", 2.0 * 1024.0 * clocks_per_ms),
        ("tensor_op_count_tf32", "the tensor cores", 2.0 * 512.0 * clocks_per_ms),
    ] {
        let found = roofs(&profile(&[(metric, 3e9)]), &gpu, None);
        let [roof] = found.as_slice() else { panic!("{metric}: {found:?}") };
        assert_eq!(roof.unit, unit);
        assert!((roof.least_ms / (6e9 / per_ms) - 1.0).abs() < 1e-9, "{metric}: {roof:?}");
    }
}

#[test]
fn a_launch_that_the_gpu_refuses_has_no_time_for_people() {
    let gpu = gpu("a100-sxm-40gb");
    let large = LaunchShape { threads_per_block: 1024, registers: Some(80), ..launch() };
    let prediction = predicted(&gpu, large, &[]);
    assert!(prediction.is_refused());
    assert!(prediction.time_text().starts_with("refused ("), "{}", prediction.time_text());
    assert_eq!(prediction.warnings[0].code(), "unlaunchable");
    let reason = prediction.refusal().unwrap();
    assert!(reason.contains("81920 registers") && reason.contains("65536"), "{reason}");
    let small = LaunchShape { threads_per_block: 1024, registers: Some(64), ..launch() };
    assert!(!predicted(&gpu, small, &[]).is_refused());
    // Clusters begin with Hopper.
    let extents = Some(Extents { grid: Some([5000, 1, 1]), block: [256, 1, 1] });
    let clusters = LaunchShape { cluster_blocks: 2, extents, ..launch() };
    assert!(predicted(&gpu, clusters, &[]).is_refused());
    assert!(!predicted(&self::gpu("h100-sxm"), clusters, &[]).is_refused());
}
