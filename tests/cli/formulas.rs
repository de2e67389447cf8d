//! Sizes that formulas count: rows and profiles are those of executions.

use std::path::Path;

use serde_json::Value;

use crate::gpucast::{Outcome, command, gpucast, outcome};

/// Runs the program with a folder for kept counts.
fn keeping(folder: &Path, arguments: &str) -> Outcome {
    let mut command = command(arguments);
    command.env("GPUCAST_CACHE", folder);
    outcome(command)
}

const SGEMM: &str = "parametric/sgemm.toml --gpu gtx-480 --caches none --machine rules";

#[test]
fn rows_by_formulas_are_those_by_classes() {
    let folder = tempfile::tempdir().unwrap();
    let wide = "--vary n=32..6400:32 --vary m=640 --metrics flop_count_sp";
    let first = keeping(folder.path(), &format!("sweep {SGEMM} {wide} --counting formulas"));
    assert_eq!(first.status, 0, "{}", first.stderr);
    let (of_sizes, found) = first.stderr.split_once(" sizes by formulas").unwrap();
    assert_eq!(of_sizes, "note: 200");
    // Fifty others, of which the first sweep executed few; metrics are all that there are.
    let sizes: Vec<String> = (0..50).map(|at| (32 + at * at * 32 % 6400).to_string()).collect();
    let asked = format!("--vary n={} --vary m=640 --metrics all --format csv", sizes.join(","));
    let ours = keeping(folder.path(), &format!("sweep {SGEMM} {asked} --counting formulas"));
    assert_eq!(ours.stderr, format!("note: 50 sizes by formulas{found}"), "nothing was executed");
    let theirs = gpucast(&format!("sweep {SGEMM} {asked} --counting classes --no-cache"));
    assert_eq!((ours.status, theirs.status), (0, 0));
    assert!(ours.stdout.lines().skip(1).all(|line| line.ends_with(",formulas,")));
    assert_eq!(ours.stdout.replace(",formulas,", ",classes,"), theirs.stdout);
}

/// A document without what says how it was counted.
fn without_rung(mut document: Value) -> Value {
    for launch in document["launches"].as_array_mut().unwrap() {
        let launch = launch.as_object_mut().unwrap();
        for field in ["counted_by", "counted_by_because", "cta_classes", "formula_sizes"] {
            launch.remove(field);
        }
        for metrics in ["metrics", "ptx_metrics"] {
            let all = launch.get_mut(metrics).and_then(Value::as_object_mut);
            for (_, figure) in all.into_iter().flatten() {
                figure.as_object_mut().unwrap().remove("kind");
            }
        }
    }
    document
}

#[test]
fn profiles_take_the_formulas_of_sweeps() {
    let folder = tempfile::tempdir().unwrap();
    let profile = |options: &str| -> Value {
        let done = keeping(folder.path(), &format!("profile {SGEMM} {options} --format json"));
        assert_eq!(done.status, 0, "{}", done.stderr);
        serde_json::from_str(&done.stdout).unwrap()
    };
    let size = "--param n=1600 --param m=640 --counting";
    let because = |document: &Value| document["launches"][0]["counted_by_because"].clone();
    let before = profile(&format!("{size} formulas"));
    assert_eq!(before["launches"][0]["counted_by"], "classes");
    assert_eq!(because(&before), "no sweep has kept formulas for this size");
    let swept = "--vary n=32..3200:32 --vary m=640 --metrics flop_count_sp --counting formulas";
    assert_eq!(keeping(folder.path(), &format!("sweep {SGEMM} {swept}")).status, 0);
    for by in ["launch", "line", "branch"] {
        let ours = profile(&format!("{size} formulas --by {by}"));
        assert_eq!(ours["launches"][0]["counted_by"], "formulas", "{by}");
        assert!(ours["launches"][0]["formula_sizes"].as_u64().unwrap() > 50, "{by}");
        let theirs = profile(&format!("{size} classes --by {by} --no-cache"));
        assert_eq!(theirs["launches"][0]["counted_by"], "classes", "{by}");
        assert_eq!(without_rung(ours), without_rung(theirs), "{by}");
    }
    let ours = profile(&format!("{size} formulas"));
    assert_eq!(ours["launches"][0]["metrics"]["flop_count_sp"]["kind"], "estimated");
    let stages = profile(&format!("{size} formulas --by stage"));
    assert_eq!(because(&stages), "stages between barriers have no formulas");
    let larger = profile("--param n=6400 --param m=640 --counting formulas");
    assert_eq!(because(&larger), "no sweep has kept formulas for this size");
    let text =
        keeping(folder.path(), &format!("profile {SGEMM} {size} formulas --metrics flop_count_sp"));
    insta::assert_snapshot!("profile-by-formulas", text.transcript());
}

/// The predicted times of a document.
fn times(document: &Value) -> Vec<&Value> {
    let predictions = document["predictions"].as_array().unwrap();
    assert!(!predictions.is_empty());
    predictions.iter().map(|prediction| &prediction["time_ms"]).collect()
}

/// A forecast from formulas has the times of one from an execution.
#[test]
fn predictions_take_the_formulas_of_sweeps() {
    let folder = tempfile::tempdir().unwrap();
    let asked = "saxpy-n.toml --gpu h100-sxm --model hierarchical-roofline --count-on target";
    let vary = "--vary n=8192..2097152:8192 --counting formulas --format csv";
    let swept = keeping(folder.path(), &format!("sweep {asked} {vary}"));
    assert_eq!(swept.status, 0, "{}", swept.stderr);
    let predict = |options: &str| {
        let asked = format!("predict {asked} {options} --format json");
        let done = keeping(folder.path(), &asked);
        assert_eq!(done.status, 0, "{}", done.stderr);
        serde_json::from_str::<Value>(&done.stdout).unwrap()
    };
    for n in [8192, 40 * 8192, 2_097_152] {
        let size = format!("--param n={n} --counting");
        let ours = predict(&format!("{size} formulas"));
        let theirs = predict(&format!("{size} auto --no-cache"));
        let origin = ours["counts"][0]["origin"].as_str().unwrap();
        assert!(origin.starts_with("Counts from formulas, which"), "{origin}");
        assert_eq!(times(&ours), times(&theirs), "{n}");
    }
    let check = |options: &str, because: &str| {
        let text = format!("predict saxpy-n.toml --gpu h100-sxm --counting formulas {options}");
        let note = format!("note: saxpy-n.toml is executed: {because}\n");
        assert_eq!(keeping(folder.path(), &text).stderr, note, "{options}");
    };
    let model = "--model hierarchical-roofline --count-on target";
    check(&format!("--param n=8191 {model}"), "no sweep has kept formulas for this size");
    let stages = "stages between barriers have no formulas, and a model needs them";
    check("--param n=8192 --model component-throughput", stages);
    let text = format!("predict {asked} --param n=81920 --counting formulas");
    insta::assert_snapshot!("predict-by-formulas", keeping(folder.path(), &text).transcript());
}

/// What has no formulas is executed, and one line says why.
#[test]
fn sizes_without_formulas_are_executed() {
    let check = |arguments: &str, because: &str| {
        let ours = gpucast(&format!("sweep {arguments} --counting formulas --no-cache"));
        assert_eq!(ours.stderr, format!("note: {because}\n"), "{arguments}");
        let theirs = gpucast(&format!("sweep {arguments} --no-cache"));
        assert_eq!(theirs.stderr, "", "{arguments}");
        assert_eq!((ours.status, ours.stdout), (0, theirs.stdout), "{arguments}");
    };
    check(
        "saxpy-n.toml --vary n=1000,2000 --gpu gtx-480 --metrics inst_executed --caches none",
        "saxpy-n.toml is executed in each size: no parameter has sixteen values or more",
    );
    check(
        "saxpy-n.toml --vary n=1000..20000:1000 --gpu gtx-480 --metrics inst_executed --caches none",
        "saxpy-n.toml is executed in each size: 20 sizes are executed sooner than formulas are found",
    );
    check(
        "saxpy-n.toml --vary n=1000..40000:1000 --gpu gtx-480 --model component-throughput",
        "saxpy-n.toml is executed in each size: stages between barriers have no formulas, and a \
         model needs them",
    );
}

#[test]
fn other_commands_know_no_formulas() {
    let refused = |arguments: &str| gpucast(arguments).transcript();
    let transcripts = [
        refused("advise sgemm --size small --counting formulas"),
        refused("sweep saxpy-n.toml --vary n=1..9:1 --gpu gtx-480 --metrics all --model all"),
        refused("sweep saxpy-n.toml --vary n=1..9:1 --gpu gtx-480 --metrics flops"),
    ];
    insta::assert_snapshot!("formulas-refused", transcripts.join("\n"));
}

#[test]
fn metrics_of_a_sweep_are_those_of_profiles() {
    let sweep = "sweep saxpy-n.toml --vary n=1000,5000 --gpu gtx-480,h100-sxm \
                 --set sm_count=1x,2x --metrics inst_executed,global_hit_rate,dram_read_bytes \
                 --machine rules";
    insta::assert_snapshot!("sweep-metrics", gpucast(sweep).transcript());
    let csv = gpucast(&format!("{sweep} --format csv")).stdout;
    let row = csv.lines().find(|line| line.contains(",5000,h100-sxm,132,")).unwrap();
    let profile =
        "profile saxpy-n.toml --param n=5000 --gpu h100-sxm --machine rules --format json";
    let profile = crate::gpucast::json(profile);
    let metric = |name: &str| profile["launches"][0]["metrics"][name]["value"].to_string();
    let value = |column: &str| {
        let place = csv.lines().next().unwrap().split(',').position(|it| it == column).unwrap();
        row.split(',').nth(place).unwrap()
    };
    for name in ["inst_executed", "dram_read_bytes"] {
        assert_eq!(value(name), metric(name), "{name}");
    }
}
