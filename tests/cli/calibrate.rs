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
