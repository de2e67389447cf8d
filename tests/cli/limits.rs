//! The limits of `gpucast predict`.

use std::fs;

use crate::gpucast::{gpucast, inputs, json, stdout};

const ON: &str = "--gpu a100-sxm-40gb --machine rules";

/// A baseline of kernels, in a folder of its own.
fn baseline(folder: &tempfile::TempDir, kernels: &str) -> String {
    let path = folder.path().join("base.json").display().to_string();
    stdout(&format!("predict {kernels} {ON} -o {path}"));
    path
}

/// The value of a metric of a kernel, and its time in microseconds.
fn figures(kernel: &str, metric: &str) -> (f64, f64) {
    let document = json(&format!("predict {kernel} {ON} --format json"));
    let value = document["counts"][0]["metrics"][metric]["value"].as_f64().unwrap();
    (value, 1e3 * document["predictions"][0]["time_ms"].as_f64().unwrap())
}

#[test]
fn a_change_against_a_baseline_is_held_to_the_limits_of_diff() {
    let folder = tempfile::tempdir().unwrap();
    let base = baseline(&folder, "transpose-padded.toml");
    let names = ["time", "shared_load_transactions"];
    // The other command says by how much each grows.
    let by_diff = json(&format!("diff {base} transpose.toml {ON} --format json"));
    let counts = by_diff["launches"][0]["counts"].as_array().unwrap();
    let count = counts.iter().find(|count| count["metric"] == names[1]).unwrap();
    let value = |side: &str| count[side].as_f64().unwrap();
    let growths =
        [by_diff["totals"][0]["change"].as_f64().unwrap(), value("after") / value("before") - 1.0];
    for (name, growth) in names.into_iter().zip(growths) {
        let status = |factor: f64| {
            let limit = format!("--fail-if {name}:{}%", 100.0 * growth * factor);
            gpucast(&format!("predict transpose.toml {ON} --baseline {base} {limit}")).status
        };
        assert_eq!((status(0.999), status(1.001)), (1, 0), "{name}");
    }
    // A kernel that did not change is within every limit.
    let same = format!("predict transpose-padded.toml {ON} --baseline {base}");
    assert_eq!(gpucast(&format!("{same} --fail-if time:0% --fail-if inst_executed")).status, 0);
}

#[test]
fn a_value_beyond_its_limit_fails_without_a_baseline() {
    let (instructions, us) = figures("transpose.toml", "inst_executed");
    let status = |condition: String| {
        let words = ["predict", "transpose.toml", "--gpu", "a100-sxm-40gb", "--machine", "rules"];
        gpucast(&format!("{} --fail-if {condition}", words.join(" "))).status
    };
    assert_eq!(status(format!("time>{}us", us * 0.999)), 1);
    assert_eq!(status(format!("time>{}us", us * 1.001)), 0);
    assert_eq!(status(format!("time>{}ns", us * 999.0)), 1);
    assert_eq!(status(format!("time<{}ms", us * 1.001e-3)), 1);
    assert_eq!(status(format!("inst_executed>{}", instructions - 1.0)), 1);
    assert_eq!(status(format!("inst_executed>{instructions}")), 0);
    assert_eq!(status(format!("inst_executed<{}", instructions + 1.0)), 1);
}

#[test]
fn broken_limits_stand_at_their_lines_in_the_forms_of_ci() {
    let folder = tempfile::tempdir().unwrap();
    let base = baseline(&folder, "transpose-padded.toml saxpy.toml");
    let limits =
        "--fail-if inst_executed:1% --fail-if shared_load_transactions<1 --fail-if time:5%";
    let run = format!("predict transpose.toml saxpy.toml {ON} --baseline {base} {limits}");
    // saxpy did not change, and reads no shared memory: one limit is broken twice.
    for form in ["sarif", "junit", "github"] {
        let run = gpucast(&format!("{run} --format {form}"));
        assert_eq!(run.status, 1);
        insta::assert_snapshot!(format!("limits-{form}"), run.stdout);
    }
    let said = gpucast(&run);
    assert_eq!(said.status, 1);
    insta::assert_snapshot!("limits-errors", said.stderr);
    // The line is that of the kernel's text with most passes over the banks.
    let sentence = "::error file=transpose.cu,line=";
    let annotations = gpucast(&format!("{run} --format github")).stdout;
    let at = annotations.find(sentence).unwrap() + sentence.len();
    let line: usize = annotations[at..].split(',').next().unwrap().parse().unwrap();
    let source = fs::read_to_string(inputs().join("transpose.cu")).unwrap();
    let text = source.lines().nth(line - 1).unwrap();
    assert!(text.contains("tile[threadIdx.x][threadIdx.y]"), "{text}");
    // A file's name says the form, and the file is there although a limit is broken.
    let path = folder.path().join("a.xml");
    assert_eq!(gpucast(&format!("{run} -o {}", path.display())).status, 1);
    assert!(fs::read_to_string(path).unwrap().starts_with("<?xml version"));
}

#[test]
fn limits_that_mean_nothing_are_refused_before_anything_runs() {
    let folder = tempfile::tempdir().unwrap();
    let base = baseline(&folder, "transpose-padded.toml");
    let said = [
        format!("predict transpose.toml {ON} --fail-if time:5%"),
        format!("predict transpose.toml {ON} --fail-if time>5"),
        format!("predict transpose.toml {ON} --fail-if slower>5us"),
        format!("predict transpose.toml {ON} --fail-if inst_execute>5"),
        format!("predict transpose.toml {ON} --format sarif"),
        format!("predict transpose.toml {ON} --baseline {base}"),
        format!("predict transpose.toml saxpy.toml {ON} --baseline {base} --fail-if time:5%"),
        format!("predict transpose.toml {ON} --baseline nowhere.json --fail-if time:5%"),
    ];
    let said = said.map(|words| gpucast(&words).transcript()).join("\n");
    insta::assert_snapshot!(
        "limits-refused",
        said.replace(&folder.path().display().to_string(), "/base")
    );
}

/// Nobody knows how a time changed that the baseline lacks.
#[test]
fn a_gpu_without_a_time_before_breaks_a_limit_of_time() {
    let folder = tempfile::tempdir().unwrap();
    let base = baseline(&folder, "transpose-padded.toml");
    let run = gpucast(&format!(
        "predict transpose-padded.toml --gpu a100-sxm-40gb,h100-sxm --machine rules --baseline {base} \
         --fail-if time:5%"
    ));
    assert_eq!(run.status, 1);
    let sentence = "no model predicts the time on h100-sxm before and after";
    assert!(run.stderr.contains(sentence), "{}", run.stderr);
}
