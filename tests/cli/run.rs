//! `gpucast run`: expectations, JSON, and a reader that goes away.

use std::process::Stdio;

use crate::gpucast::{command, gpucast, json, stdout};

#[test]
fn an_expectation_that_fails_lists_the_first_mismatches() {
    let outcome = gpucast("run wrong-expectation.toml");
    assert_eq!((outcome.status, outcome.stderr.as_str()), (1, ""));
    insta::assert_snapshot!("failed-expectation", outcome.stdout);
    let outcome = gpucast("run wrong-expectation.toml --format json");
    assert_eq!(outcome.status, 1);
    insta::assert_snapshot!("failed-expectation-as-json", outcome.stdout);
}

#[test]
fn a_run_says_what_it_checked() {
    insta::assert_snapshot!("run-sgemm", stdout("run sgemm --size small"));
    let result = json("run sgemm --size small --format json");
    assert_eq!(result["schema"], "gpucast.run/1");
    assert_eq!(result["expectations"][0]["mismatches"], 0);
    assert!(result["launches"][0].get("timing").is_none());
}

#[test]
fn timing_adds_seconds_and_a_rate() {
    let result = json("run sgemm --size small --format json --timing");
    let timing = &result["launches"][0]["timing"];
    assert!(timing["execute_s"].as_f64().unwrap() > 0.0);
    assert!(timing["thread_instructions_per_s"].as_f64().unwrap() > 0.0);
}

#[test]
fn a_closed_pipe_is_no_error() {
    let mut child = command("gpus list --format json")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}
