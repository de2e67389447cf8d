//! Elasticities against closed forms of the quantitative roofline.
//!
//! Its compute time is a sum of times, one for each throughput, and its time the larger of this sum
//! and the traffic's time. A share s of a sum that is proportional to 1/p makes
//! t(p·f)/t(p) = 1 − s + s/f, so that the elasticity over a step of the factor f is
//! ln(1 − s + s/f) / ln f, which tends to −s.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use gpucast_counters::{KernelProfile, Kind, MetricValue, Number};
use gpucast_model::sensitivity::{Analysis, Sensitivity, Side, analyse};
use gpucast_model::{Bound, Conditions, Gpu, GpuLibrary, QuantitativeRoofline};

/// As in `refinements.rs`: 1000·10⁹ multiply-adds and additions, 500·10⁹ loads and stores a second,
/// 100 GB/s.
fn gpu() -> Gpu {
    let field = |name: &str, value: u32, unit: &str| {
        format!(
            "{name} = {{ value = {value}, unit = \"{unit}\", source = {{ assumed = \"a test\" }} }}\n"
        )
    };
    let mut text = "name = \"round\"\ndisplay_name = \"Round\"\n".to_owned();
    text += &field("sp_throughput", 2000, "GFLOPS");
    text += &field("int_add_throughput", 1000, "GIOPS");
    text += &field("load_store_throughput", 500, "GOPS");
    text += &field("memory_bandwidth", 100, "GB/s");
    text += "architecture = { value = \"none\", source = { assumed = \"a test\" } }\n";
    Gpu::from_toml(&text).unwrap()
}

/// 3.2·10⁹ instructions, a quarter of them multiply-adds and a quarter loads and stores: 0.8 + 1.6
/// + 1.6 = 4 ms; and so many transactions of 32 bytes.
fn kernel(transactions: f64) -> KernelProfile {
    let metrics = [
        ("inst_fp_64", 0.0),
        ("inst_fp_32", 8e8),
        ("flop_count_sp_fma", 8e8),
        ("inst_executed", 1e8),
        ("inst_compute_ld_st", 8e8),
        ("dram_read_transactions", transactions),
        ("dram_write_transactions", 0.0),
    ];
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

fn analysis(profile: &KernelProfile, gpu: &Gpu, step: f64) -> Analysis {
    analyse(&QuantitativeRoofline, profile, gpu, &Conditions::default(), &[], step).unwrap()
}

fn of<'a>(analysis: &'a Analysis, field: &str) -> &'a Sensitivity {
    analysis.parameters.iter().find(|parameter| parameter.field == field).unwrap()
}

#[track_caller]
fn close(found: Option<f64>, expected: f64) {
    let found = found.unwrap();
    assert!((found - expected).abs() < 1e-9, "{found}, not {expected}");
}

#[test]
fn twice_the_bandwidth_is_half_the_time_of_a_memory_bound_kernel_whatever_the_step() {
    for step in [1e-4, 0.01, 0.3] {
        let analysis = analysis(&kernel(1e9), &gpu(), step);
        assert_eq!(analysis.bound, Bound::Memory);
        assert_eq!(analysis.parameters.len(), 1, "{analysis:?}");
        let bandwidth = of(&analysis, "memory_bandwidth");
        close(bandwidth.elasticity, -1.0);
        close(bandwidth.down.elasticity(), -1.0);
        close(bandwidth.up.elasticity(), -1.0);
        assert!(analysis.unmoved.contains(&"sp_throughput"));
        // What is no number cannot be moved.
        assert!(!analysis.unmoved.contains(&"architecture"));
    }
}

#[test]
fn a_throughput_matters_as_much_as_its_share_of_the_time() {
    let step = 0.02;
    let analysis = analysis(&kernel(1.0), &gpu(), step);
    let closed = |share: f64, factor: f64| (1.0 - share + share / factor).ln() / factor.ln();
    for (field, share) in
        [("sp_throughput", 0.2), ("load_store_throughput", 0.4), ("int_add_throughput", 0.4)]
    {
        let found = of(&analysis, field);
        close(found.up.elasticity(), closed(share, 1.0 + step));
        close(found.down.elasticity(), closed(share, 1.0 - step));
        // The central difference lies between its sides, near the share.
        assert!((found.elasticity.unwrap() + share).abs() < 1e-3, "{found:?}");
    }
    // The strongest first, and by name where they are alike.
    let names: Vec<&str> = analysis.parameters.iter().map(|parameter| parameter.field).collect();
    assert_eq!(names, ["int_add_throughput", "load_store_throughput", "sp_throughput"]);
}

/// 4 ms of traffic beside 4 ms of instructions: less bandwidth costs time, more gains none.
#[test]
fn at_an_edge_the_sides_differ() {
    let analysis = analysis(&kernel(1.25e7), &gpu(), 0.01);
    let bandwidth = of(&analysis, "memory_bandwidth");
    close(bandwidth.down.elasticity(), -1.0);
    close(bandwidth.up.elasticity(), 0.0);
    assert!(bandwidth.elasticity.unwrap() > -0.6 && bandwidth.elasticity.unwrap() < -0.4);
}

/// A GTX 480 has 15 SMs, and no GPU has 15.15: steps go to 14 and 16. All its throughputs follow,
/// so that the time of a kernel that they bound goes as 1/SMs.
#[test]
fn whole_numbers_make_whole_steps_and_take_their_dependents_along() {
    let library = GpuLibrary::builtin().unwrap();
    let gpu = library.as_written("gtx-480").unwrap().completed();
    let analysis = analysis(&kernel(1.0), &gpu, 0.01);
    let sms = of(&analysis, "sm_count");
    let factor = |side: &Side| match side {
        Side::Time { factor, .. } => *factor,
        Side::Refused { reason } => panic!("{reason}"),
    };
    close(Some(factor(&sms.down)), 14.0 / 15.0);
    close(Some(factor(&sms.up)), 16.0 / 15.0);
    close(sms.elasticity, -1.0);
    // A bank is 4 or 8 bytes wide, and nothing between.
    let fixed: Vec<&str> = analysis.fixed.iter().map(|fixed| fixed.field).collect();
    assert!(fixed.contains(&"shared_bank_width"), "{fixed:?}");
}

#[test]
fn a_gpu_that_the_model_cannot_predict_for_is_an_error() {
    let nothing = Gpu::named("nothing", "Nothing");
    let conditions = Conditions::default();
    let result = analyse(&QuantitativeRoofline, &kernel(1.0), &nothing, &conditions, &[], 0.01);
    assert!(result.unwrap_err().is_lack());
}
