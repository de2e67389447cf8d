//! The parameters of GPUs of the library, beside published ones.

use gpucast_simulation::code::{Control, TensorProduct};
use gpucast_simulation::parameters::Scheduler;
use gpucast_simulation::writer::Writer;

use super::*;
use crate::gpu::GpuLibrary;

fn parameters(gpu: &str) -> Parameters {
    GpuLibrary::builtin().unwrap().get(gpu).unwrap().sm_parameters().unwrap()
}

fn of_file(text: &str) -> Parameters {
    Gpu::from_toml(text).unwrap().completed().sm_parameters().unwrap()
}

fn unit(parameters: &Parameters, class: Class) -> UnitUse {
    parameters.units[class as usize]
}

#[test]
fn classes_stand_in_the_order_of_their_numbers() {
    for (place, class) in Class::ALL.into_iter().enumerate() {
        assert_eq!(class as usize, place);
    }
    for (place, format) in TensorFormat::ALL.into_iter().enumerate() {
        assert_eq!(format as usize, place);
    }
}

#[test]
fn every_gpu_of_the_library_since_kepler_can_be_simulated() {
    let library = GpuLibrary::builtin().unwrap();
    for gpu in library.iter() {
        let major = gpu
            .compute_capability
            .as_ref()
            .map_or(0, |compute_capability| compute_capability.value.major);
        match (gpu.completed().sm_parameters(), major) {
            (Ok(_), 3..) => {}
            (Err(missing), ..3) => assert_eq!(missing.gpu, gpu.name),
            (result, _) => panic!("{}: {result:?}", gpu.name),
        }
    }
}

/// Initiation intervals that Huerta et al. (MICRO 2025) configure, and the GA10x's two pipes.
#[test]
fn intervals_of_units_are_those_of_published_simulators() {
    for (gpu, class, interval, is_shared) in [
        ("tesla-v100-sxm2", Class::Fp32, 2.0, false),
        ("tesla-v100-sxm2", Class::Fp64, 4.0, false),
        ("tesla-v100-sxm2", Class::Special, 8.0, false),
        ("rtx-2080-ti", Class::Fp32, 2.0, false),
        ("rtx-2080-ti", Class::Fp64, 16.0, true),
        ("a100-sxm-80gb", Class::Fp16, 1.0, false),
        ("rtx-a6000", Class::Fp32, 2.0, false),
        ("rtx-a6000", Class::Integer, 2.0, false),
        ("rtx-a6000", Class::Fp16, 2.0, false),
        ("rtx-a6000", Class::Fp64, 16.0, true),
        ("rtx-a6000", Class::IntegerMultiply, 2.0, false),
        ("rtx-a6000", Class::WideMultiply, 3.0, false),
        ("rtx-a6000", Class::Uniform, 2.0, false),
        ("h100-sxm", Class::Fp64, 2.0, false),
        ("gtx-980", Class::Fp32, 1.0, false),
        ("gtx-980", Class::IntegerMultiply, 1.0, false),
        ("gtx-980", Class::Special, 4.0, false),
    ] {
        let unit = unit(&parameters(gpu), class);
        assert!((unit.interval - interval).abs() < 1e-9, "{gpu} {class:?}: {}", unit.interval);
        assert_eq!(unit.is_shared, is_shared, "{gpu} {class:?}");
    }
    assert_eq!(unit(&parameters("rtx-a6000"), Class::Fp32).other, Some(Unit::FmaSecond));
    assert_eq!(unit(&parameters("tesla-v100-sxm2"), Class::Fp32).other, None);
}

#[test]
fn sub_cores_together_compute_at_the_rate_of_the_sm() {
    let library = GpuLibrary::builtin().unwrap();
    for name in ["gtx-680", "gtx-980", "tesla-p100-sxm2", "titan-v", "rtx-4090", "b200"] {
        let gpu = library.get(name).unwrap();
        let parameters = gpu.sm_parameters().unwrap();
        let fp32 = unit(&parameters, Class::Fp32);
        let pipes = f64::from(1 + u32::from(fp32.other.is_some()));
        let lanes = f64::from(parameters.issue.sub_partitions) * pipes * 32.0 / fp32.interval;
        assert!((lanes - gpu.number("fp32_rate").unwrap()).abs() < 1e-9, "{name}: {lanes}");
    }
}

#[test]
fn eight_sub_cores_are_three_lines() {
    let file = "name = \"eight\"\nbase = \"h100-sxm\"\nsub_partitions = 8\n";
    let (eight, four) = (of_file(file), parameters("h100-sxm"));
    assert_eq!((four.issue.sub_partitions, eight.issue.sub_partitions), (4, 8));
    assert_eq!(eight.issue.issue_width, four.issue.issue_width);
    // The same lanes in more pieces.
    let interval = |of: &Parameters| unit(of, Class::Fp32).interval;
    assert!((interval(&eight) - 2.0 * interval(&four)).abs() < 1e-9);
}

#[test]
fn a_wide_l1_is_three_lines() {
    let file = "name = \"wide\"\nbase = \"h100-sxm\"\nl1_bytes_rate = 256\n";
    assert!((of_file(file).load_store.l1_bytes_rate - 256.0).abs() < 1e-9);
    let file = "name = \"old\"\nbase = \"h100-sxm\"\nwarp_scheduler = \"greedy-then-oldest\"\n";
    assert_eq!(of_file(file).issue.warp_scheduler, Scheduler::GreedyThenOldest);
    assert_eq!(parameters("h100-sxm").issue.warp_scheduler, Scheduler::GreedyThenYoungest);
}

#[test]
fn tensor_cores_have_the_published_ratios_of_formats() {
    let rate = |gpu: &str, format: TensorFormat| parameters(gpu).tensor.rates[format as usize];
    let library = GpuLibrary::builtin().unwrap();
    // Dense TFLOPS and TOPS of data sheets: NVIDIA A100, Jetson AGX Orin and Thor, H20.
    for (gpu, format, published) in [
        ("a100-sxm-80gb", TensorFormat::Fp64, 19.5),
        ("a100-sxm-80gb", TensorFormat::Tf32, 156.0),
        ("a100-sxm-80gb", TensorFormat::HalfInSingle, 312.0),
        ("a100-sxm-80gb", TensorFormat::Int8, 624.0),
        ("jetson-agx-orin", TensorFormat::HalfInSingle, 42.5),
        ("jetson-agx-orin", TensorFormat::Int8, 85.0),
        ("jetson-thor", TensorFormat::HalfInSingle, 258.5),
        ("jetson-thor", TensorFormat::Fp8, 517.0),
        ("jetson-thor", TensorFormat::Int8, 517.5),
        ("h20", TensorFormat::Tf32, 74.0),
        ("h20", TensorFormat::HalfInSingle, 148.0),
        ("h20", TensorFormat::Fp8, 296.0),
        ("h20", TensorFormat::Int8, 296.0),
    ] {
        let full = library.get(gpu).unwrap();
        let number = |field| full.number(field).unwrap();
        let peak = 2.0 * rate(gpu, format) * number("sm_count") * number("sp_clock") / 1e6;
        assert!((peak / published - 1.0).abs() < 0.01, "{gpu} {format:?}: {peak}");
    }
    // A GeForce card accumulates in single precision at half the rate.
    assert!((rate("rtx-3090", TensorFormat::HalfInHalf) - 512.0).abs() < 1e-9);
    assert!((rate("rtx-3090", TensorFormat::HalfInSingle) - 256.0).abs() < 1e-9);
    assert!(rate("gtx-1660-ti", TensorFormat::HalfInHalf) < 1e-9);
    assert!(rate("a100-sxm-80gb", TensorFormat::Fp8) < 1e-9);
}

/// The simulation's parameters have the names of the fields that they are made from, so that a name
/// is found from the GPU's file to the clock that it decides. Other names are groups, and what is
/// computed from several fields or in another unit.
#[test]
fn parameters_have_the_names_of_their_fields() {
    let shown = format!("{:#?}", parameters("h100-sxm"));
    let names = shown.lines().filter_map(|line| line.trim_start().split_once(':'));
    let names: std::collections::BTreeSet<&str> = names.map(|(name, _)| name).collect();
    let other: Vec<&str> = names.into_iter().filter(|name| !Gpu::FIELDS.contains(name)).collect();
    let of_unit = ["interval", "is_shared", "other", "unit"];
    let of_queueing = ["hyperbolic", "linear", "written"];
    let groups = [
        "constants",
        "issue",
        "launch",
        "load_store",
        "memory",
        "queueing",
        "synchronisation",
        "tensor",
        "units",
    ];
    let computed = [
        "dram_bandwidth",
        "fences",
        "l2_partial_write_cost",
        "l2_read_bandwidth",
        "latencies",
        "pass_interval",
        "port_interval",
        "rates",
        "shared_paired_bytes",
    ];
    let mut expected = [&of_unit[..], &of_queueing, &groups, &computed].concat();
    expected.sort_unstable();
    assert_eq!(other, expected, "a parameter has its field's name, or stands in a list above");
}

/// Work for a unit that the GPU lacks would take no time, and so has none.
#[test]
fn code_for_units_that_are_missing_is_told_of() {
    let multiply = |format| {
        let mut writer = Writer::default();
        let product = Action::Multiply {
            multiply_adds: 4096,
            format,
            is_asynchronous: false,
            ends_group: false,
        };
        writer.push("HMMA", Class::Tensor, product, Control::after(1)).end_block();
        writer.finish()
    };
    let of_tensor_memory = |action| {
        let mut writer = Writer::default();
        let action = Action::TensorMemory(action);
        writer.push("UTCHMMA", Class::Tensor, action, Control::after(1)).end_block();
        writer.finish()
    };
    let library = GpuLibrary::builtin().unwrap();
    let lacks = |gpu: &str, code: &Code| {
        library.get(gpu).unwrap().lacks_for(code).map(|missing| missing.field)
    };
    let half = multiply(TensorFormat::HalfInSingle);
    for (gpu, missing) in [
        ("gtx-1080", Some("tensor_rate")),
        ("gtx-1660-ti", Some("tensor_rate")),
        ("h100-sxm", None),
    ] {
        assert_eq!(lacks(gpu, &half), missing, "{gpu}");
    }
    assert_eq!(lacks("a100-sxm-80gb", &multiply(TensorFormat::Fp8)), Some("tensor_fp8_rate"));
    let product = TensorProduct {
        format: TensorFormat::HalfInSingle,
        depth: 16,
        reads_a: true,
        sms: 2,
        queue: None,
    };
    for (action, field) in [
        (TensorMemoryAction::Multiply(product), "tensor_memory_latency"),
        (TensorMemoryAction::Copy { queue: None }, "tensor_memory_latency"),
        (TensorMemoryAction::Transfer { bytes: 512, writes: false }, "tensor_memory_read_rate"),
        (TensorMemoryAction::Transfer { bytes: 512, writes: true }, "tensor_memory_write_rate"),
    ] {
        let code = of_tensor_memory(action);
        assert_eq!(lacks("h100-sxm", &code), Some(field));
        assert_eq!(lacks("b200", &code), None);
    }
}
