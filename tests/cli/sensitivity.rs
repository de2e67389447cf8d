//! `gpucast sensitivity`.

use crate::gpucast::{gpucast, json, stdout};

const SGEMM: &str = "sensitivity --from-metrics sgemm-metrics.toml";

#[test]
fn the_ranking_as_text_and_csv() {
    insta::assert_snapshot!("sensitivity-text", stdout(&format!("{SGEMM} --gpu gtx-660")));
    insta::assert_snapshot!(
        "sensitivity-csv",
        stdout(&format!(
            "{SGEMM} --gpu gtx-660 --format csv --step 0.5 --field sp_throughput,memory_bandwidth"
        ))
    );
}

/// Elasticities of the throughputs of a compute-bound kernel are the shares of its pipeline, which
/// add up to one (Konstantinidis 2017, section 4.4: E_instr, the share of multiply-adds, is 10.45
/// %).
#[test]
fn the_throughputs_of_a_compute_bound_kernel_share_its_time() {
    let result = json(&format!("{SGEMM} --gpu gtx-660 --step 0.0001 --format json"));
    let parameters = result["analyses"][0]["parameters"].as_array().unwrap();
    let of = |field: &str| {
        let found = parameters.iter().find(|parameter| parameter["field"] == field).unwrap();
        found["elasticity"].as_f64().unwrap()
    };
    let [operations, loads, other] =
        ["sp_throughput", "load_store_throughput", "int_add_throughput"].map(of);
    assert!((operations + loads + other + 1.0).abs() < 1e-6);
    assert!((operations + 0.1045).abs() < 1e-3, "{operations}");
}

#[test]
fn unknown_fields_and_steps_are_usage_errors() {
    for (name, arguments) in [("field", "--field memory_bandwith"), ("step", "--step 0")] {
        let outcome = gpucast(&format!("{SGEMM} --gpu gtx-660 {arguments}"));
        assert_eq!(outcome.status, 2);
        insta::assert_snapshot!(format!("sensitivity-wrong-{name}"), outcome.stderr);
    }
}

#[test]
fn several_kernels_are_analysed() {
    let result = json(
        "sensitivity sgemm histogram --size small --gpu gtx-480 --machine rules --field sm_count \
         --format json",
    );
    let analyses = result["analyses"].as_array().unwrap();
    let kernels: Vec<&str> =
        analyses.iter().map(|analyse| analyse["kernel"].as_str().unwrap()).collect();
    assert_eq!(kernels, ["sgemm", "histogram"]);
}

/// Whoever left caches out is told so, in place of advice about profilers.
#[test]
fn counts_without_caches_name_the_option() {
    let outcome = gpucast("sensitivity sgemm --size small --gpu gtx-480 --caches none");
    assert_eq!(outcome.status, 1);
    insta::assert_snapshot!("sensitivity-without-caches", outcome.stderr);
}
