//! The quantitative roofline where its equations end: no operations, no traffic, integer
//! kernels, missing and impossible metrics; and its JSON.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use gpucast_counters::import::metrics_toml;
use gpucast_counters::{KernelProfile, Kind, MetricValue, Number};
use gpucast_model::{
    Bound, Conditions, Gpu, GpuLibrary, LaunchShape, Model, ModelError, Prediction,
    QuantitativeRoofline, Reference, SymbolValue, Warning, predict_with_reference,
};

const SGEMM: &str = include_str!("../../../corpus/published/sgemm.toml");
const SOR: &str = include_str!("../../../corpus/published/sor.toml");

/// A kernel of one invocation with these metrics.
fn kernel(metrics: &[(&str, f64)]) -> KernelProfile {
    let figure = |&(name, value): &(&str, f64)| {
        let value = Number::Real(value);
        (name.to_owned(), MetricValue { value, unit: "instruction", kind: Kind::Measured })
    };
    KernelProfile {
        kernel: "k".into(),
        invocations: 1,
        measured_on: None,
        metrics: metrics.iter().map(figure).collect(),
    }
}

fn gpu(name: &str) -> Gpu {
    GpuLibrary::builtin().unwrap().as_written(name).unwrap().clone()
}

fn predict(profile: &KernelProfile) -> Result<Prediction, ModelError> {
    QuantitativeRoofline.predict(profile, &gpu("gtx-660"), &Conditions::default())
}

const INTEGER: [(&str, f64); 7] = [
    ("inst_fp_64", 0.0),
    ("inst_fp_32", 0.0),
    ("inst_integer", 3.2e9),
    ("inst_executed", 2e8),
    ("inst_compute_ld_st", 3.2e8),
    ("dram_read_transactions", 1e6),
    ("dram_write_transactions", 1e6),
];

/// The integer kernel with one metric changed, or left out.
fn integer_kernel(change: &str, value: Option<f64>) -> KernelProfile {
    let mut metrics: Vec<_> = INTEGER.into_iter().filter(|&(name, _)| name != change).collect();
    metrics.extend(value.map(|value| (change, value)));
    kernel(&metrics)
}

fn assert_finite(prediction: &Prediction) {
    assert!(prediction.time_ms.is_finite() && prediction.time_ms > 0.0, "{prediction:?}");
    for symbol in prediction.parameters.iter().chain(prediction.intermediate.iter()) {
        if let SymbolValue::Real(value) = symbol.value {
            assert!(value.is_finite(), "{} is {value}", symbol.name);
        }
    }
}

#[test]
fn an_integer_kernel_has_half_the_mix_efficiency_and_counts_one_operation_an_instruction() {
    let prediction = predict(&kernel(&INTEGER)).unwrap();
    let value = |name: &str| prediction.parameters.get(name).cloned().unwrap();
    assert_eq!(value("K_type"), SymbolValue::Name("int"));
    assert_eq!(value("W_comp"), SymbolValue::Count(3_200_000_000));
    assert_eq!(value("E_mix"), SymbolValue::Real(0.5));
    assert_eq!(prediction.intermediate.get("T_op"), Some(&SymbolValue::Real(359.04)));
    assert!(prediction.warnings.contains(&Warning::IntegerOperations));
    assert_finite(&prediction);
}

#[test]
fn a_kernel_without_operations_takes_the_time_of_its_other_instructions_or_traffic() {
    let copy = integer_kernel("inst_integer", Some(0.0));
    let prediction = predict(&copy).unwrap();
    assert_finite(&prediction);
    assert!(prediction.warnings.contains(&Warning::NoOperations));
    assert_eq!(prediction.intermediate.get("T_op_adjusted"), Some(&SymbolValue::Real(0.0)));
    // 6.4e9 thread instructions: 5 % loads and stores at 169.58, the rest at 621.36 GOPS.
    let expected_ms = 3.2e8 / 169.58 / 1e6 + 6.08e9 / 621.36 / 1e6;
    assert!((prediction.time_ms - expected_ms).abs() < 1e-9 * expected_ms);
    assert_eq!(prediction.bound, Bound::Compute);

    let mut streaming = copy;
    let reads = streaming.metrics.get_mut("dram_read_transactions").unwrap();
    reads.value = Number::Count(1_000_000_000);
    let prediction = predict(&streaming).unwrap();
    assert_eq!(prediction.bound, Bound::Memory);
    let expected_ms = 32.0 * 1.001e9 / 117.56 / 1e6;
    assert!((prediction.time_ms - expected_ms).abs() < 1e-9 * expected_ms);
}

#[test]
fn a_kernel_without_traffic_is_compute_bound_and_its_intensity_is_null() {
    let mut profile = integer_kernel("dram_read_transactions", Some(0.0));
    profile.metrics.get_mut("dram_write_transactions").unwrap().value = Number::Count(0);
    let prediction = predict(&profile).unwrap();
    assert_eq!(prediction.bound, Bound::Compute);
    assert!(prediction.warnings.contains(&Warning::NoTraffic));
    assert_finite(&prediction);
    let json = serde_json::to_value(&prediction).unwrap();
    assert!(json["parameters"]["O_krn"].is_null());
}

#[test]
fn without_operations_and_traffic_there_still_is_a_time() {
    let mut profile = integer_kernel("inst_integer", Some(0.0));
    for name in ["dram_read_transactions", "dram_write_transactions"] {
        profile.metrics.get_mut(name).unwrap().value = Number::Count(0);
    }
    assert_finite(&predict(&profile).unwrap());
}

#[test]
fn bytes_stand_in_for_transactions() {
    let mut profile = integer_kernel("dram_read_transactions", None);
    let bytes =
        MetricValue { value: Number::Count(32_000_000), unit: "byte", kind: Kind::Measured };
    profile.metrics.insert("dram_read_bytes".into(), bytes);
    let by_bytes = predict(&profile).unwrap();
    assert_eq!(by_bytes.parameters, predict(&kernel(&INTEGER)).unwrap().parameters);
}

#[test]
fn a_missing_fp64_count_is_assumed_zero_and_said_so() {
    let prediction = predict(&integer_kernel("inst_fp_64", None)).unwrap();
    assert!(prediction.warnings.contains(&Warning::AssumedZero { metric: "inst_fp_64" }));
}

#[test]
fn double_precision_decides_the_type_beside_single_precision() {
    let mut profile = metrics_toml(SOR).unwrap();
    profile.metrics.get_mut("inst_fp_32").unwrap().value = Number::Count(1 << 40);
    let prediction = predict(&profile).unwrap();
    assert_eq!(prediction.parameters.get("K_type"), Some(&SymbolValue::Name("fp64")));
}

/// A product of halves: 10⁸ warp instructions of 4,096 operations, and as many others.
const TENSOR: [(&str, f64); 9] = [
    ("inst_fp_64", 0.0),
    ("inst_fp_32", 0.0),
    ("inst_integer", 32.0 * 5e7),
    ("inst_executed", 2e8),
    ("inst_executed_pipe_tensor", 1e8),
    ("tensor_op_count", 4096e8),
    ("inst_compute_ld_st", 0.0),
    ("dram_read_transactions", 1e3),
    ("dram_write_transactions", 1e3),
];

fn tensor_kernel(formats: &[(&'static str, f64)]) -> KernelProfile {
    kernel(&[&TENSOR, formats].concat())
}

#[test]
fn a_kernel_of_tensor_cores_is_named_so_and_takes_their_time() {
    let library = GpuLibrary::builtin().unwrap();
    let a100 = library.get("a100-sxm-40gb").unwrap();
    let on_a100 = |profile: &KernelProfile| {
        QuantitativeRoofline.predict(profile, &a100, &Conditions::default()).unwrap()
    };
    let halves = on_a100(&tensor_kernel(&[("tensor_op_count_fp16", 4096e8)]));
    assert_eq!(halves.parameters.get("K_type"), Some(&SymbolValue::Name("tensor")));
    assert_eq!(halves.parameters.get("W_comp"), Some(&SymbolValue::Count(409_600_000_000)));
    let of_tensor_cores =
        |one: &Warning| matches!(one, Warning::Uncharged { what: "tensor-core", .. });
    assert!(!halves.warnings.iter().any(of_tensor_cores));
    assert_finite(&halves);
    // The pipeline does the products, and after them everything else.
    let throughput = a100.tensor_throughput.as_ref().unwrap().value.0;
    let others = 32e8 / a100.int_add_throughput.as_ref().unwrap().value.0 / 1e6;
    let expected = 4096e8 / throughput / 1e6 + others;
    assert!((halves.time_ms - expected).abs() < 1e-9 * expected, "{}", halves.time_ms);
    // The same operations on tf32 take twice as long.
    let tf32 = on_a100(&tensor_kernel(&[("tensor_op_count_tf32", 4096e8)]));
    let products = |prediction: &Prediction| prediction.time_ms - others;
    assert!((products(&tf32) / products(&halves) - 2.0).abs() < 1e-9);
    // Nobody knows how fast these are.
    let bytes = on_a100(&tensor_kernel(&[("tensor_op_count_int8", 4096e8)]));
    assert_eq!(bytes.parameters.get("K_type"), Some(&SymbolValue::Name("int")));
    assert!(bytes.warnings.iter().any(of_tensor_cores));
}

#[test]
fn a_time_below_that_of_a_launch_has_two_digits() {
    let library = GpuLibrary::builtin().unwrap();
    let a100 = library.get("a100-sxm-40gb").unwrap();
    let mut short = tensor_kernel(&[("tensor_op_count_fp16", 4096e8)]);
    let long = QuantitativeRoofline.predict(&short, &a100, &Conditions::default()).unwrap();
    assert!(!long.is_below_launch() && !long.time_text().starts_with('≈'));
    for figure in short.metrics.values_mut() {
        figure.value = Number::Real(figure.value.as_f64() / 1e6);
    }
    let short = QuantitativeRoofline.predict(&short, &a100, &Conditions::default()).unwrap();
    assert!(short.is_below_launch(), "{}", short.time_ms);
    let digits = short.time_text().chars().filter(char::is_ascii_digit).count();
    assert!(short.time_text().starts_with('≈') && digits == 2, "{}", short.time_text());
    assert!(short.warning_codes().contains("short-launch"));
}

#[test]
fn what_cannot_be_predicted_is_refused_by_name() {
    let mut bare = gpu("gtx-660");
    bare.int_throughput = None;
    let conditions = Conditions::default();
    let integer = kernel(&INTEGER);
    let mut too_many_fma = metrics_toml(SGEMM).unwrap();
    too_many_fma.metrics.get_mut("inst_fp_32").unwrap().value = Number::Count(7);
    let mut never_ran = kernel(&INTEGER);
    never_ran.invocations = 0;
    let reference = Reference { gpu: &bare, measured_ms: 0.0 };
    let refusals = [
        predict(&integer_kernel("inst_fp_32", None)),
        predict(&integer_kernel("inst_integer", None)),
        predict(&integer_kernel("inst_executed", None)),
        predict(&integer_kernel("inst_compute_ld_st", None)),
        predict(&integer_kernel("dram_write_transactions", None)),
        predict(&integer_kernel("inst_executed", Some(0.0))),
        predict(&integer_kernel("inst_executed", Some(1.0))),
        predict(&integer_kernel("inst_executed", Some(f64::NAN))),
        predict(&integer_kernel("inst_integer", Some(-1.0))),
        predict(&integer_kernel("dram_read_transactions", Some(1e308))),
        predict(&integer_kernel("inst_executed", Some(1e308))),
        predict(&too_many_fma),
        predict(&never_ran),
        QuantitativeRoofline.predict(&integer, &bare, &conditions),
        predict_with_reference(&QuantitativeRoofline, &integer, &bare, &conditions, &reference),
    ];
    let report: Vec<String> =
        refusals.into_iter().map(|refusal| refusal.unwrap_err().to_string()).collect();
    insta::assert_snapshot!(report.join("\n"));
}

#[test]
fn broken_assumptions_are_told() {
    let mut profile = metrics_toml(SGEMM).unwrap();
    profile.invocations = 1000;
    for figure in profile.metrics.values_mut() {
        figure.value = Number::Real(figure.value.as_f64() / 1000.0);
    }
    let efficiency =
        MetricValue { value: Number::Real(78.21), unit: "percent", kind: Kind::Measured };
    profile.metrics.insert("warp_execution_efficiency".into(), efficiency);
    let small = LaunchShape { blocks: 16, threads_per_block: 32, ..LaunchShape::default() };
    let large = LaunchShape { blocks: 800, threads_per_block: 1024, ..LaunchShape::default() };
    let report: Vec<String> = [("gtx-660", small), ("r9-nano", large)]
        .into_iter()
        .flat_map(|(name, launch)| {
            let conditions = Conditions { launch: Some(launch), ..Conditions::default() };
            QuantitativeRoofline.predict(&profile, &gpu(name), &conditions).unwrap().warnings
        })
        .map(|warning| warning.to_string())
        .collect();
    insta::assert_snapshot!(report.join("\n"));
}

#[test]
fn a_full_launch_of_sgemm_breaks_no_assumption() {
    let conditions = Conditions {
        launch: Some(LaunchShape {
            blocks: 800,
            threads_per_block: 1024,
            ..LaunchShape::default()
        }),
        ..Conditions::default()
    };
    let profile = metrics_toml(SGEMM).unwrap();
    let prediction = QuantitativeRoofline.predict(&profile, &gpu("gtx-660"), &conditions).unwrap();
    assert_eq!(prediction.warnings, []);
}

/// 200 blocks of 256 threads are 51,200 of the 221,184 threads of an A100's 108 SMs, and of a GTX
/// 1080's 40,960.
#[test]
fn a_launch_that_leaves_a_large_gpu_empty_is_told() {
    let conditions = Conditions {
        launch: Some(LaunchShape { blocks: 200, threads_per_block: 256, ..LaunchShape::default() }),
        ..Conditions::default()
    };
    let warnings = |name: &str| {
        let gpu = gpu(name).completed();
        let profile = metrics_toml(SGEMM).unwrap();
        let prediction = QuantitativeRoofline.predict(&profile, &gpu, &conditions).unwrap();
        let is_one = |warning: &&Warning| matches!(warning, Warning::SmallPartOfGpu { .. });
        prediction.warnings.iter().filter(is_one).map(ToString::to_string).collect::<Vec<_>>()
    };
    let [said] = &warnings("a100-pcie-40gb")[..] else { panic!("one warning") };
    assert!(said.starts_with("the grid's 51200 threads are 23 % of those"), "{said}");
    assert_eq!(warnings("gtx-1080"), [""; 0]);
}

#[test]
fn divergence_is_seen_from_instruction_counts_too() {
    let mut profile = metrics_toml(SGEMM).unwrap();
    let threads = 46_208_000 * 16;
    let figure =
        MetricValue { value: Number::Count(threads), unit: "instruction", kind: Kind::Exact };
    profile.metrics.insert("thread_inst_executed".into(), figure);
    let warnings = predict(&profile).unwrap().warnings;
    assert_eq!(warnings, [Warning::Divergence { efficiency_percent: 50.0 }]);
}

#[test]
fn the_utilisation_factor_makes_the_reference_gpu_exact_and_scales_the_others() {
    // Tables 5.14: SGEMM took 4.033 ms on the GTX 480.
    let profile = metrics_toml(SGEMM).unwrap();
    let gtx_480 = gpu("gtx-480");
    let reference = Reference { gpu: &gtx_480, measured_ms: 4.033 };
    let on = |target: &Gpu| {
        let model = &QuantitativeRoofline;
        predict_with_reference(model, &profile, target, &Conditions::default(), &reference).unwrap()
    };
    assert!((on(&gtx_480).time_ms - 4.033).abs() < 1e-12);
    let on_660 = on(&gpu("gtx-660"));
    assert_eq!(format!("{:.3}", on_660.time_ms), "6.982"); // 5.1706 × 4.033 / 2.98659
    let factor = on_660.intermediate.get("E_util").and_then(SymbolValue::as_f64).unwrap();
    assert_eq!(format!("{factor:.4}"), "1.3504");
    assert!(on_660.warnings.iter().any(|w| matches!(w, Warning::Corrected { .. })));
}

#[test]
fn models_are_found_by_name() {
    assert_eq!(
        <dyn Model>::by_name("quantitative-roofline").unwrap().name(),
        "quantitative-roofline"
    );
    let error = <dyn Model>::by_name("crystal-ball").err().unwrap();
    let said = error.to_string();
    assert!(said.starts_with("there is no model named `crystal-ball`; the models are"), "{said}");
    for model in <dyn Model>::ALL {
        assert!(said.contains(&format!("`{}`", model.name())), "{said}");
    }
}

#[test]
fn the_json_of_a_prediction() {
    let prediction = predict(&metrics_toml(SGEMM).unwrap()).unwrap();
    insta::assert_snapshot!(serde_json::to_string_pretty(&prediction).unwrap());
}

#[test]
fn arithmetic_that_has_no_throughput_is_named() {
    let said = |profile: &KernelProfile| {
        let warnings = predict(profile).unwrap().warnings;
        let uncharged = warnings.into_iter().filter(|w| matches!(w, Warning::Uncharged { .. }));
        uncharged.map(|warning| warning.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(said(&kernel(&INTEGER)), [""; 0]);
    let none = integer_kernel("inst_executed_pipe_tensor", Some(0.0));
    assert_eq!(said(&none), [""; 0]);
    for (metric, what) in
        [("inst_executed_pipe_tensor", "tensor-core"), ("inst_fp_16", "half-precision")]
    {
        assert_eq!(
            said(&integer_kernel(metric, Some(4096.0))),
            [format!(
                "4096 {what} instructions are charged as other instructions: the model knows no \
                 throughput of their operations, and the prediction leaves them out"
            )]
        );
    }
}
