//! Changed GPUs: what a change reaches, and which changes are refused.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use gpucast_model::gpu::Source;
use gpucast_model::{Gpu, GpuLibrary};

fn gpu(name: &str) -> Gpu {
    GpuLibrary::builtin().unwrap().as_written(name).unwrap().clone()
}

fn changed(name: &str, changes: &[(&str, &str)]) -> Gpu {
    gpu(name).with_overrides(changes).unwrap()
}

fn close(a: Option<f64>, b: f64) -> bool {
    a.is_some_and(|a| (a / b - 1.0).abs() < 1e-12)
}

#[test]
fn twice_the_sms_do_twice_the_work_measured_or_derived() {
    let double = changed("gtx-660", &[("sm_count", "10")]);
    // Given by the file: scaled. 1940.80 GFLOPS were measured on 5 SMs.
    assert!(close(double.number("sp_throughput"), 2.0 * 1940.80));
    assert!(close(double.number("load_store_throughput"), 2.0 * 169.58));
    assert_eq!(double.number("sp_count"), Some(1920.0));
    let source = &double.sp_throughput.as_ref().unwrap().source;
    insta::assert_snapshot!(source.text(), @"sp-throughput: 4212.48 / 2106.24 × 1940.8 GFLOPS (benchmark: Konstantinidis 2017, table 5.2)");
    // Filled by rules: filled anew. 256 bytes on 10 SMs at 1.097 GHz.
    assert!(close(double.number("shared_bandwidth"), 256.0 * 10.0 * 1.097));
    assert!(double.is_filled("shared_bandwidth") && !double.is_filled("sp_throughput"));
    // The memory is the same.
    assert_eq!(double.number("memory_bandwidth"), Some(117.56));
    assert_eq!(double.device_model().unwrap().sm_count, 10);
}

#[test]
fn a_factor_multiplies_and_a_unit_is_converted() {
    let h100 = gpu("h100-sxm");
    let faster = h100.with_override("memory_bandwidth", "1.2x").unwrap();
    assert!(close(faster.number("memory_bandwidth"), 1.2 * 2881.0));
    // Its share of the peak stays.
    assert!(close(faster.number("peak_memory_bandwidth"), 1.2 * 3352.0));
    let eight = h100.with_override("peak_memory_bandwidth", " 8 TB/s ").unwrap();
    assert_eq!(eight.number("peak_memory_bandwidth"), Some(8000.0));
    assert!(close(eight.number("memory_bandwidth"), 2881.0 * 8000.0 / 3352.0));
    let l2 = h100.with_override("l2_size", "96MiB").unwrap();
    assert_eq!(l2.number("l2_size"), Some(f64::from(96 << 20)));
    let clock = h100.with_override("sp_clock", "2×").unwrap();
    assert!(close(clock.number("sp_throughput"), 2.0 * 2.0 * 128.0 * 132.0 * 1.980));
    assert_eq!(clock.number("memory_bandwidth"), h100.number("memory_bandwidth"));
}

#[test]
fn a_rate_reaches_its_throughput_and_no_other() {
    let h100 = gpu("h100-sxm").completed();
    let wider = h100.with_override("int_mul_rate", "128").unwrap();
    assert!(close(wider.number("int_throughput"), 2.0 * h100.number("int_throughput").unwrap()));
    let same: Vec<&&str> = Gpu::FIELDS
        .iter()
        .filter(|field| h100.figure(field).map(|f| f.value) != wider.figure(field).map(|f| f.value))
        .collect();
    assert_eq!(same, [&"int_throughput", &"int_mul_rate"]);
}

#[test]
fn changes_go_together_and_in_any_order() {
    let one = changed("a100", &[("sm_count", "2x"), ("sp_throughput", "1 TFLOPS")]);
    let other = changed("a100", &[("sp_throughput", "1 TFLOPS"), ("sm_count", "2x")]);
    assert_eq!(one, other);
    assert_eq!(one.number("sp_throughput"), Some(1000.0));
    assert!(close(one.number("dp_throughput"), 2.0 * 32.0 * 216.0 * 1.410));
    // And one after the other, where they do not meet.
    let step = gpu("a100").with_override("sm_count", "2x").unwrap();
    let step = step.with_override("l2_size", "20 MiB").unwrap();
    let both = changed("a100", &[("sm_count", "2x"), ("l2_size", "20 MiB")]);
    for field in Gpu::FIELDS {
        assert_eq!(
            step.figure(field).map(|f| f.value),
            both.figure(field).map(|f| f.value),
            "{field}"
        );
    }
}

#[test]
fn there_and_back_again_is_the_same_gpu() {
    let library = GpuLibrary::builtin().unwrap();
    for gpu in library.iter() {
        let full = gpu.completed();
        let twice = full.with_overrides(&[("sp_clock", "2x"), ("sm_count", "2x")]).unwrap();
        let back = twice.with_overrides(&[("sp_clock", "0.5x"), ("sm_count", "0.5x")]).unwrap();
        for field in Gpu::FIELDS {
            match (full.number(field), back.number(field)) {
                (Some(was), is) => assert!(close(is, was), "{field} of {}", gpu.name),
                (None, is) => assert_eq!(is, None, "{field} of {}", gpu.name),
            }
        }
    }
}

#[test]
fn another_capability_brings_its_limits_and_its_rates() {
    // The file of the GTX 660 states the limits of capability 3.0 one by one.
    let gpu = changed("gtx-660", &[("compute_capability", "9.0")]);
    assert_eq!(gpu.number("max_registers_per_thread"), Some(255.0));
    assert_eq!(gpu.number("shared_memory_per_sm"), Some(f64::from(228 << 10)));
    assert_eq!(gpu.number("fp32_rate"), Some(128.0));
    // Measured with 192 lanes, now there are 128; measured with 8 units of double precision, now
    // 64.
    assert!(close(gpu.number("sp_throughput"), 1940.80 * 128.0 / 192.0));
    assert!(close(gpu.number("dp_throughput"), 89.70 * 64.0 / 8.0));
    let named = changed("gtx-660", &[("architecture", "Kepler, somewhat changed")]);
    assert_eq!(named.architecture.unwrap().value.0, "Kepler, somewhat changed");
}

#[test]
fn a_change_says_where_its_values_come_from() {
    let gpu = changed("h100", &[("memory_bandwidth", "1.2x"), ("sm_count", "144")]);
    let text = |source: Source| format!("{}: {}", source.kind(), source.text());
    let sources = [
        gpu.memory_bandwidth.unwrap().source,
        gpu.peak_memory_bandwidth.unwrap().source,
        gpu.sm_count.unwrap().source,
        gpu.peak_tensor_throughput.unwrap().source,
        gpu.sp_throughput.unwrap().source,
    ];
    insta::assert_snapshot!(sources.map(text).join("\n"));
}

#[test]
fn what_cannot_be_is_refused_with_the_reason() {
    let refused = [
        ("memory_bandwith", "1.2x"),
        ("memory_bandwidth", "8"),
        ("memory_bandwidth", "8 GHz"),
        ("memory_bandwidth", "-1x"),
        ("memory_bandwidth", "NaN GB/s"),
        ("memory_bandwidth", "0 GB/s"),
        ("memory_bandwidth", "fast"),
        ("sm_count", "1.5"),
        ("sm_count", "1.01x"),
        ("sm_count", "x"),
        ("sm_count", ""),
        ("shared_banks", "1000"),
        ("warp_size", "64"),
        ("compute_capability", "nine"),
        ("compute_capability", "4.0"),
        ("architecture", ""),
        ("peak_memory_bandwidth", "1e308x"),
        ("sms_per_cluster", "2x"),
    ];
    let gpu = gpu("gtx-660");
    let answers = refused.map(|(field, text)| {
        format!("{field}={text}\n    {}", gpu.with_override(field, text).unwrap_err())
    });
    insta::assert_snapshot!(answers.join("\n"));
    let twice = gpu.with_overrides(&[("sm_count", "6"), ("sm_count", "7")]).unwrap_err();
    assert_eq!(twice.to_string(), "`sm_count` is changed twice");
    let both = [("memory_bandwidth", "200 GB/s"), ("peak_memory_bandwidth", "100 GB/s")];
    insta::assert_snapshot!(gpu.with_overrides(&both).unwrap_err(), @"`memory_bandwidth` and `peak_memory_bandwidth` contradict each other: no memory delivers more than its pins can carry");
}
