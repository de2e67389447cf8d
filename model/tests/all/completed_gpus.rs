//! What rules make of a GPU's file, and how far measured GPUs lie from them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use gpucast_model::gpu::{ACHIEVED, RULES, Source, Spread};
use gpucast_model::{Gpu, GpuLibrary};

/// The GPUs whose measured L2 the table of capabilities was made of; they say nothing of its rule.
const MADE_THE_L2_TABLE: [&str; 8] = [
    "gtx-660",
    "quadro-p6000",
    "tesla-v100-pcie",
    "rtx-2080-ti",
    "a100-pcie-40gb",
    "a40",
    "l40",
    "h100-pcie",
];

/// A measured value of a field, if the file has one.
fn measured(gpu: &Gpu, field: &str) -> Option<f64> {
    let figure = gpu.figure(field)?;
    matches!(figure.source, Source::Benchmark(_)).then(|| figure.value.number()).flatten()
}

#[test]
fn the_spread_of_every_rule_is_what_the_librarys_measurements_say() {
    let library = GpuLibrary::builtin().unwrap();
    for rule in RULES.iter().filter(|rule| rule.inputs() != ["compute_capability"]) {
        let ratios: Vec<f64> = library
            .iter()
            .filter(|gpu| {
                rule.field != "l2_bandwidth" || !MADE_THE_L2_TABLE.contains(&gpu.name.as_str())
            })
            .filter_map(|gpu| Some(measured(gpu, rule.field)? / gpu.by_rule(rule.field)?))
            .collect();
        // The achieved bandwidth has a spread for each kind of memory.
        if ratios.is_empty() || rule.field == "memory_bandwidth" {
            assert_eq!(rule.spread, None, "{}", rule.field);
            continue;
        }
        let low = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        let high = ratios.iter().copied().fold(0.0, f64::max);
        let outward = Spread {
            low: (low * 100.0).floor() / 100.0,
            high: (high * 100.0).ceil() / 100.0,
            gpus: ratios.len(),
        };
        assert_eq!(rule.spread, Some(outward), "{}", rule.field);
    }
}

#[test]
fn achieved_shares_are_the_medians_of_the_librarys_measurements() {
    let library = GpuLibrary::builtin().unwrap();
    let mut shares: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for gpu in library.iter() {
        let Some(kind) = &gpu.memory_type else { continue };
        let (Some(effective), Some(peak)) =
            (measured(gpu, "memory_bandwidth"), gpu.number("peak_memory_bandwidth"))
        else {
            continue;
        };
        shares.entry(kind.value.0.clone()).or_default().push(effective / peak);
    }
    for row in ACHIEVED {
        let Some(mut measured) = shares.remove(row.memory_type) else {
            assert_eq!(row.measured, None, "{}", row.memory_type);
            continue;
        };
        measured.sort_by(f64::total_cmp);
        let count = measured.len();
        let median = (measured[(count - 1) / 2] + measured[count / 2]) / 2.0;
        assert_eq!(row.fraction, (median * 100.0).round() / 100.0, "{}", row.memory_type);
        let range =
            ((measured[0] * 100.0).floor() / 100.0, (measured[count - 1] * 100.0).ceil() / 100.0);
        assert_eq!(row.measured, Some(range), "{}", row.memory_type);
        let evidence = match count {
            1 => "1 GPU".to_owned(),
            count => format!("the median of {count} GPUs"),
        };
        assert_eq!(row.evidence, evidence, "{}", row.memory_type);
    }
    assert!(shares.is_empty(), "kinds of memory without a row: {:?}", shares.keys());
}

#[test]
fn every_gpu_of_the_library_has_what_the_models_need() {
    for gpu in GpuLibrary::builtin().unwrap().iter() {
        let full = gpu.completed();
        let mut needed = vec![
            "sm_count",
            "sp_count",
            "sp_clock",
            "sp_throughput",
            "dp_throughput",
            "int_throughput",
            "int_add_throughput",
            "load_store_throughput",
            "memory_bandwidth",
            "shared_bandwidth",
            "warp_size",
            "max_warps_per_sm",
            "max_threads_per_block",
            "launch_overhead",
            "peak_memory_bandwidth",
            "peak_sp_throughput",
        ];
        if gpu.compute_capability.is_some() {
            needed.extend(["issue_rate", "special_rate", "arithmetic_latency", "memory_latency"]);
            assert!(full.device_model().is_ok(), "{}", gpu.name);
        }
        if gpu.name != "gtx-285" {
            needed.extend(["l1_bandwidth", "l2_bandwidth", "l2_size"]);
        }
        for field in needed {
            assert!(full.number(field).is_some_and(|value| value > 0.0), "{field} of {}", gpu.name);
        }
    }
}

/// Peaks that data sheets print, by what the vendor's table gives. The clocks of the two differ:
/// base, boost, tensor.
#[test]
fn derived_peaks_are_those_of_the_data_sheets() {
    let library = GpuLibrary::builtin().unwrap();
    for (name, field, tflops) in [
        ("h100-sxm", "peak_sp_throughput", 66.9),
        ("h100-sxm", "peak_dp_throughput", 33.5),
        ("a100", "peak_sp_throughput", 19.5),
        ("a100", "peak_dp_throughput", 9.7),
        ("rtx-4090", "peak_sp_throughput", 82.6),
        ("rtx-5090", "peak_sp_throughput", 104.8),
        ("rtx-2080-ti", "peak_sp_throughput", 13.45),
        ("rtx-2080-ti", "peak_hp_throughput", 26.9),
        ("tesla-k40c", "peak_dp_throughput", 1.68),
        ("gtx-780-ti", "peak_dp_throughput", 0.2102),
        ("gtx-580", "peak_dp_throughput", 0.1976),
        ("p100", "peak_hp_throughput", 21.2),
        ("t4", "peak_tensor_throughput", 64.8),
        // 165.2 TFLOPS with accumulation in single precision.
        ("rtx-4090", "peak_tensor_throughput", 165.2),
    ] {
        let peak = library.as_written(name).unwrap().completed().number(field).unwrap() / 1e3;
        assert!((peak / tflops - 1.0).abs() < 0.06, "{field} of {name}: {peak} against {tflops}");
    }
}

#[test]
fn what_a_file_gives_stays_and_what_is_filled_says_by_which_rule() {
    let library = GpuLibrary::builtin().unwrap();
    let gpu = library.as_written("gtx-660").unwrap();
    let full = gpu.completed();
    for field in Gpu::FIELDS {
        if let Some(given) = gpu.figure(field) {
            assert_eq!(full.figure(field), Some(given), "{field}");
            assert!(!full.is_filled(field));
        } else if let Some(filled) = full.figure(field) {
            assert!(full.is_filled(field), "{field}");
            assert!(
                !matches!(filled.source, Source::Datasheet(_) | Source::Benchmark(_)),
                "{field}"
            );
        }
    }
    assert_eq!(full.given(), *gpu);
    assert_eq!(full.completed(), full);
    // 128 bytes of 32 lanes: 4 × 192 lanes at 1.097 GHz on 5 SMs would be more than 32 lanes load.
    let source = full.shared_bandwidth.unwrap().source;
    insta::assert_snapshot!(source.text(), @"shared-bandwidth: shared_bytes_rate × sm_count × sp_clock with shared_bytes_rate = 256 /clk/SM, sm_count = 5 SM, sp_clock = 1097 MHz; 1 measured GPU reaches 0.99 to 1.00 of it");
}
