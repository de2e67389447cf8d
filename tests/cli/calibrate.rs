//! `gpucast calibrate`.

use crate::gpucast::{gpucast, json, stdout};

const SAMPLES: &str = "offload-samples.csv";

/// The samples are synthetic: the rates of equation 7 (5.68 GB/s, 241.10 GFLOPS, 2.13 GB/s) and
/// constants of 0.5, 0.4 and 1.028 ms, with noise of 0.2 ms on each step.
#[test]
fn samples_give_back_the_rates_that_they_were_made_with() {
    insta::assert_snapshot!("calibrate-offload", stdout(&format!("calibrate offload {SAMPLES}")));
    let document = json(&format!("calibrate offload {SAMPLES} --format json --every 1"));
    assert_eq!(document["schema"], "gpucast.calibration/1");
    let fitted = &document["offload"];
    assert_eq!((&fitted["fitted"], &fitted["evaluated"]), (&30.into(), &30.into()));
    let truth = [5.68e9, 241.10e9, 2.13e9];
    for (rate, truth) in fitted["rates"].as_array().unwrap().iter().zip(truth) {
        let bound = |at: usize| rate["interval"][at].as_f64().unwrap();
        assert!(bound(0) < truth && truth < bound(1), "{rate} {truth}");
    }
    let constant = fitted["constant"]["value"].as_f64().unwrap();
    assert!((constant - 0.001_928).abs() < 5e-4, "{constant}");
}

fn refused(arguments: &str) -> String {
    let outcome = gpucast(arguments);
    assert_eq!(outcome.status, 1, "{arguments}");
    outcome.transcript()
}

#[test]
fn bad_samples_are_pointed_at() {
    insta::assert_snapshot!(
        "calibrate-bad-column",
        refused("calibrate offload broken/samples-column.csv")
    );
    insta::assert_snapshot!(
        "calibrate-bad-number",
        refused("calibrate offload broken/samples-number.csv")
    );
    insta::assert_snapshot!(
        "calibrate-too-few",
        refused("calibrate offload broken/samples-few.csv")
    );
}

/// The launch adds 2·x to y: both go to the GPU, y alone comes back.
#[test]
fn a_calibration_predicts_transfers_beside_the_kernel() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("link.json");
    let file = file.to_str().unwrap();
    stdout(&format!("calibrate offload {SAMPLES} --gpu gtx-480 --format json -o {file}"));
    let predict = format!("predict saxpy.toml --machine rules --calibration {file}");
    let result = json(&format!("{predict} --gpu gtx-480,gtx-660 --model offload --format json"));
    let predictions = result["predictions"].as_array().unwrap();
    for prediction in predictions {
        let bytes = |symbol: &str| prediction["parameters"][symbol].as_u64().unwrap();
        assert_eq!(bytes("W_dispatch"), 2 * bytes("W_collect"), "{prediction}");
        let total = prediction["time_ms"].as_f64().unwrap();
        let parts = prediction["parts"].as_array().unwrap();
        let sum: f64 = parts.iter().map(|part| part["time_ms"].as_f64().unwrap()).sum();
        assert!((total - sum).abs() < 1e-9 && parts.len() == 4, "{total} {sum}");
    }
    // Only the calibrated GPU's own speed is known.
    let warned = |at: usize| predictions[at]["warnings"].to_string().contains("calibration");
    assert_eq!((warned(0), warned(1)), (false, true));

    insta::assert_snapshot!(
        "predict-with-transfers",
        stdout(&format!("{predict} --gpu gtx-660 --model all"))
    );
}

#[test]
fn what_is_no_calibration_is_pointed_at() {
    let of =
        |file: &str| refused(&format!("predict saxpy.toml --gpu gtx-480 --calibration {file}"));
    insta::assert_snapshot!("calibration-not-json", of("broken/samples-few.csv"));
    insta::assert_snapshot!("calibration-other-schema", of("broken/other-schema.json"));
}
