//! `gpucast advise`.

use crate::gpucast::{command, gpucast, json, outcome, stdout, without_interval};

const STORIES: &str = "../../insight/advice/tests/stories";

/// Four kernels with the mistakes that strangers make: what they read first.
#[test]
fn strangers_are_told_what_to_change() {
    for story in ["convolution", "softmax", "product", "reduction"] {
        let arguments = format!("advise {STORIES}/{story}.toml --gpu rtx-3060");
        let told = without_interval(&stdout(&arguments));
        insta::assert_snapshot!(format!("advise-{story}"), told);
    }
}

#[test]
fn every_launch_and_every_gpu_has_advice() {
    let kernel = "../../insight/advice/tests/kernels/bank-conflicts.toml";
    let result = json(&format!("advise {kernel} --gpu rtx-3060,h100-sxm --format json"));
    assert_eq!(result["schema"], "gpucast.advice/1");
    let all = result["advice"].as_array().unwrap();
    let places: Vec<String> = all
        .iter()
        .map(|advice| format!("{} {} {}", advice["kernel"], advice["launch"], advice["gpu"]))
        .collect();
    assert_eq!(
        places,
        [
            r#""planted" 0 "rtx-3060""#,
            r#""mended" 1 "rtx-3060""#,
            r#""planted" 0 "h100-sxm""#,
            r#""mended" 1 "h100-sxm""#,
        ]
    );
    assert_eq!(all[0]["items"][0]["rule"], "bank-conflicts");
    assert!(all[0]["items"][0]["speed_up"].as_f64().unwrap() > 1.05);
}

/// A GPU without a simulation: the slowest model that leaves nothing out has the headline.
#[test]
fn older_gpus_are_advised_by_other_models() {
    let result = json(&format!("advise {STORIES}/convolution.toml --gpu gtx-480 --format json"));
    let advice = &result["advice"][0];
    assert_ne!(advice["verdict"]["model"], "sm-simulation");
    assert_eq!(advice["items"][0]["rule"], "uncoalesced-access");
}

#[test]
fn a_gpu_that_does_not_exist_is_refused() {
    let outcome = gpucast(&format!("advise {STORIES}/softmax.toml --gpu rtx-306"));
    assert_eq!(outcome.status, 1);
    assert_eq!(outcome.stdout, "");
}

#[test]
fn counts_without_caches_name_the_option_that_gives_them() {
    let outcome = gpucast("advise sgemm --size small --gpu a100-sxm-80gb --caches none");
    assert_eq!(outcome.status, 1);
    let said = outcome.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("`--caches full` counts it"), "{said}");
}

/// A run from kept counts says what a new one says: advice stands on everything that is kept.
#[test]
fn advice_from_kept_counts_is_that_of_new_ones() {
    let cache = tempfile::tempdir().unwrap();
    let advise = |options: &str| {
        let line =
            format!("advise {STORIES}/convolution.toml --gpu h100-sxm --format json{options}");
        let mut command = command(&line);
        command.env("GPUCAST_CACHE", cache.path());
        let outcome = outcome(command);
        assert_eq!(outcome.status, 0, "{}", outcome.stderr);
        outcome.stdout
    };
    let entries = || std::fs::read_dir(cache.path().join("counts")).map_or(0, Iterator::count);
    let new = advise(" --no-cache");
    assert_eq!(entries(), 0);
    assert_eq!(advise(""), new);
    assert_eq!(entries(), 1);
    assert_eq!(advise(""), new);
    assert_eq!(entries(), 1);
}
