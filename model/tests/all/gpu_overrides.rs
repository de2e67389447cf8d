//! Changed GPUs: what a change reaches, and which changes are refused.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use gpucast_model::gpu::{Clock, Source};
use gpucast_model::{Gpu, GpuLibrary};

fn gpu(name: &str) -> Gpu {
    GpuLibrary::builtin().unwrap().as_written(name).unwrap().clone()
}

fn changed(name: &str, changes: &[(&str, &str)]) -> Gpu {
    gpu(name).with_overrides(changes).unwrap()
}

fn close(a: Option<f64>, b: f64) -> bool {
    a.is_some_and(|a| (a - b).abs() <= 1e-12 * b.abs())
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
    assert!(close(faster.number("memory_bandwidth"), 1.2 * 2884.0));
    // Its share of the peak stays.
    assert!(close(faster.number("peak_memory_bandwidth"), 1.2 * 3352.0));
    let eight = h100.with_override("peak_memory_bandwidth", " 8 TB/s ").unwrap();
    assert_eq!(eight.number("peak_memory_bandwidth"), Some(8000.0));
    assert!(close(eight.number("memory_bandwidth"), 2884.0 * 8000.0 / 3352.0));
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
    // A wide product takes a clock more than a narrow one.
    assert_eq!(same, [&"int_throughput", &"int_mul_rate", &"wide_mul_rate"]);
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

/// Clocks of the data sheet: an A100 SXM has a base of 1275 MHz and a boost of 1410.
#[test]
fn another_clock_moves_the_sms_and_leaves_the_memory() {
    let a40 = gpu("a40").completed();
    let base = a40.at_clock(Clock::Base).unwrap();
    let ratio = 1305.0 / 1740.0;
    let number = |gpu: &Gpu, field| gpu.number(field).unwrap();
    assert_eq!(base.number("sp_clock"), Some(1305.0));
    for field in ["sp_throughput", "l1_bandwidth", "shared_bandwidth", "load_store_throughput"] {
        assert!(close(base.number(field), ratio * number(&a40, field)), "{field}");
    }
    // Given in bytes per second by the file.
    for field in ["memory_bandwidth", "peak_memory_bandwidth", "l2_bandwidth", "launch_overhead"] {
        assert_eq!(base.number(field), a40.number(field), "{field}");
    }
    // 250 clocks to the L2 and 297 more, which take as many nanoseconds at the lower clock.
    assert_eq!(base.number("memory_latency"), Some(250.0 + (297.0_f64 * ratio).round()));
    assert_eq!(base.number("l2_latency"), Some(250.0));
    // A bandwidth of the L2 that follows from the clock follows it here, too.
    let v100 = gpu("tesla-v100-sxm2").completed();
    let derived = gpu("rtx-3090").completed();
    let slow = derived.at_clock(Clock::Megahertz(1000.0)).unwrap();
    assert!(close(slow.number("l2_bandwidth"), number(&derived, "l2_bandwidth") / 1.695));
    assert_eq!(v100.at_clock(Clock::Boost).unwrap(), v100);
}

#[test]
fn a_clock_that_a_file_lacks_is_refused_and_boost_is_the_files_own_clock() {
    let error = gpu("b200").at_clock(Clock::Base).unwrap_err();
    let expected = "`b200` has no `base_clock`; give the clock as a number of megahertz";
    assert_eq!(error.to_string(), expected);
    // The thesis measured a GTX 660 at 1097 MHz; its data sheet says 1032.
    let boost = gpu("gtx-660").at_clock(Clock::Boost).unwrap();
    assert_eq!(boost.number("sp_clock"), Some(1032.0));
    assert!(gpu("gtx-660").at_clock(Clock::Megahertz(f64::NAN)).is_err());
}

/// What a change does not reach is carried over. Filling everything anew gives the same GPU.
#[test]
fn fields_that_are_carried_over_are_those_that_rules_give() {
    let library = GpuLibrary::builtin().unwrap();
    let mut changed = 0;
    for gpu in library.iter().step_by(3) {
        for field in Gpu::FIELDS {
            let Ok(other) = gpu.with_override(field, "1.5x") else { continue };
            assert_eq!(other, other.given().completed(), "{} with {field}", gpu.name);
            changed += 1;
        }
        let both = gpu.with_overrides(&[("memory_bandwidth", "0.8x"), ("sp_clock", "1.1x")]);
        let Ok(both) = both else { continue };
        assert_eq!(both, both.given().completed(), "{}", gpu.name);
    }
    assert!(changed > 1000, "{changed}");
}
