//! No time depends on a field that its model does not declare.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use gpucast_counters::{KernelProfile, Kind, MetricValue, Number};
use gpucast_model::{Conditions, Gpu, GpuLibrary, LaunchShape, Model, Warning};

/// A kernel with some of every kind of work that counts alone can tell.
fn kernel(scale: f64) -> KernelProfile {
    let metrics = [
        ("inst_executed", 2e7),
        ("inst_compute_ld_st", 5e8),
        ("inst_fp_16", 1e7),
        ("inst_fp_32", 4e8),
        ("inst_fp_64", 2e7),
        ("inst_integer", 2e8),
        ("flop_count_hp_add", 1e7),
        ("flop_count_hp_mul", 0.0),
        ("flop_count_hp_fma", 1e7),
        ("flop_count_sp_add", 1e8),
        ("flop_count_sp_mul", 1e8),
        ("flop_count_sp_fma", 2e8),
        ("flop_count_dp_add", 1e7),
        ("flop_count_dp_mul", 1e7),
        ("flop_count_dp_fma", 1e7),
        ("tensor_op_count", 1e8),
        ("tensor_op_count_fp16", 1e8),
        ("tensor_op_count_bf16", 0.0),
        ("tensor_op_count_tf32", 0.0),
        ("gld_transactions", 4e6),
        ("gst_transactions", 2e6),
        ("global_load_sectors", 1.6e7),
        ("global_store_sectors", 8e6),
        ("global_load_passes", 4e6),
        ("shared_load_transactions", 3e6),
        ("shared_store_transactions", 2e6),
        ("l2_read_transactions", 1e7),
        ("l2_write_transactions", 6e6),
        ("dram_read_transactions", 8e6),
        ("dram_write_transactions", 5e6),
        ("dram_read_bytes", 2.56e8),
        ("dram_write_bytes", 1.6e8),
    ];
    let figure = |&(name, value): &(&str, f64)| {
        let value = Number::Real(value * scale);
        (name.to_owned(), MetricValue { value, unit: "instruction", kind: Kind::Measured })
    };
    KernelProfile {
        kernel: "k".into(),
        invocations: 1,
        measured_on: None,
        metrics: metrics.iter().map(figure).collect(),
    }
}

fn conditions() -> Conditions {
    let launch = LaunchShape {
        blocks: 5000,
        threads_per_block: 256,
        shared_bytes: 9000,
        registers: Some(40),
        ..LaunchShape::default()
    };
    Conditions { launch: Some(launch), ..Conditions::default() }
}

/// The fields with a number, each with a text that changes it.
fn changes(gpu: &Gpu) -> Vec<(&'static str, Gpu)> {
    let changed = |field: &&'static str| {
        // Whole numbers take no factor of 1.25, and limits must stay consistent.
        let texts = ["1.25x", "2x", "0.5x"];
        let changed = texts.iter().find_map(|text| gpu.with_override(field, text).ok());
        changed.map(|gpu| (*field, gpu))
    };
    Gpu::FIELDS.iter().filter_map(changed).collect()
}

#[test]
fn no_time_depends_on_a_field_that_is_not_declared() {
    let library = GpuLibrary::builtin().unwrap();
    for name in ["tesla-k40c", "gtx-1080", "titan-v", "tesla-t4", "a100-sxm-40gb", "h100-sxm"] {
        let gpu = library.get(name).unwrap();
        let changes = changes(&gpu);
        assert!(changes.len() > 80, "{name}: {}", changes.len());
        for model in <dyn Model>::ALL {
            let time = |gpu: &Gpu| model.predict(&kernel(1.0), gpu, &conditions());
            let Ok(before) = time(&gpu) else { continue };
            for (field, changed) in &changes {
                let Ok(after) = time(changed) else { continue };
                let is_unread = |one: &Warning| matches!(one, Warning::UnreadField { .. });
                if after.warnings.iter().any(is_unread) {
                    let (before, after) = (before.time_ms, after.time_ms);
                    assert_eq!(before, after, "{name}, {}: reads() lacks {field}", model.name());
                }
            }
        }
    }
}

/// The fields of which the simulation is made and those that it declares are the same ones.
#[test]
fn the_simulation_declares_what_its_parameters_are_made_of() {
    let library = GpuLibrary::builtin().unwrap();
    let simulation = <dyn Model>::by_name("sm-simulation").unwrap();
    let is_declared = |field: &str| simulation.reads().iter().any(|group| group.contains(&field));
    for name in ["gtx-1080", "tesla-t4", "a100-sxm-40gb", "b200"] {
        let gpu = library.get(name).unwrap();
        let before = gpu.sm_parameters().unwrap();
        for (field, changed) in changes(&gpu) {
            let moves = changed.sm_parameters().unwrap() != before;
            let reached = Gpu::fields_behind(field);
            let declared = reached.iter().any(|field| is_declared(field));
            assert!(declared || !moves, "{name}: src/reads.rs lacks {field}");
        }
    }
}

#[test]
fn fields_that_nobody_reads_are_told() {
    assert!(
        <dyn Model>::readers("memory_size").is_empty(),
        "{:?}",
        <dyn Model>::readers("memory_size")
    );
    assert_eq!(<dyn Model>::readers("cache_line"), ["counts"]);
    let library = GpuLibrary::builtin().unwrap();
    let gpu = library.get("a100-sxm-40gb").unwrap();
    let roofline = <dyn Model>::by_name("quantitative-roofline").unwrap();
    let codes = |field: &str| {
        let changed = gpu.with_override(field, "0.5x").unwrap();
        let prediction = roofline.predict(&kernel(1.0), &changed, &conditions()).unwrap();
        prediction.warning_codes()
    };
    // Lanes of shared memory bound the throughput of loads and stores.
    assert!(!codes("shared_bytes_rate").contains("unread-field"));
    assert!(codes("l1_bytes_rate").contains("unread-field"));
    assert!(codes("cache_line").contains("unread-field"));
    // More SMs bring throughput, and a peak its effective bandwidth.
    assert!(!codes("sm_count").contains("unread-field"));
    assert!(!codes("peak_memory_bandwidth").contains("unread-field"));
}

#[test]
fn an_unknown_kind_of_memory_is_refused() {
    let library = GpuLibrary::builtin().unwrap();
    let gpu = library.get("a100-sxm-40gb").unwrap();
    let error = gpu.with_override("memory_type", "HBM9").unwrap_err().to_string();
    assert!(error.contains("HBM9") && error.contains("HBM3e"), "{error}");
    assert!(gpu.with_override("memory_type", "HBM3").is_ok());
}
