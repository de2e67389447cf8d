//! `gpucast compare`.

use crate::gpucast::{gpucast, json, stdout};

/// The counts and the times of the thesis: its own errors, tables 5.9, 5.12 and 5.14, but for the
/// digits that it rounds (model/tests/all/thesis_tables.rs).
#[test]
fn published_counts_and_times_have_the_errors_of_the_thesis() {
    let result = json("compare --published --published-counts --format json");
    let rows = result["rows"].as_array().unwrap();
    let error = |kernel: &str, gpu: &str| {
        let row = rows.iter().find(|row| row["kernel"] == kernel && row["gpu"] == gpu).unwrap();
        format!("{:.1}", 100.0 * row["error"].as_f64().unwrap())
    };
    assert_eq!(error("sgemm", "gtx-480"), "-25.9");
    assert_eq!(error("sor-red-black", "gtx-660"), "-0.1");
    assert_eq!(error("lmsor", "tesla-m2050"), "-10.2");
    // One kernel of the thesis is not in the corpus; it is a row all the same.
    let without: Vec<&str> = rows
        .iter()
        .filter(|row| row["predicted_ms"].is_null())
        .map(|row| row["kernel"].as_str().unwrap())
        .collect();
    assert_eq!(without, ["lvmd-krn"]);
}

/// The thesis's times are predicted by its model from its GPU's counts; others by the default.
#[test]
fn times_of_the_thesis_are_predicted_as_in_the_thesis() {
    let result = json("compare --published=Konstantinidis --machine rules --format json");
    let rows = result["rows"].as_array().unwrap();
    assert!(rows.iter().all(|row| row["model"] == "quantitative-roofline"));
    let of = |kernel: &str, gpu: &str| {
        let row = rows.iter().find(|row| row["kernel"] == kernel && row["gpu"] == gpu).unwrap();
        format!("{:.3}", row["predicted_ms"].as_f64().unwrap())
    };
    // docs/evidence/validation.md has the whole table.
    assert_eq!(of("sgemm", "gtx-960"), "2.932");
    assert_eq!(of("sgemm", "gtx-660"), "5.076");
}

#[test]
fn measured_times_as_text() {
    insta::assert_snapshot!("compare-text", stdout("compare measured.csv --machine rules"));
    insta::assert_snapshot!(
        "compare-csv",
        stdout("compare --published --published-counts --format csv")
    );
}

/// The summary against the rows, by the definition of the mean.
#[test]
fn the_summary_is_the_mean_of_the_rows() {
    let result = json("compare measured.csv --machine rules --format json");
    let errors: Vec<f64> = result["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["error"].as_f64().unwrap().abs())
        .collect();
    let all = result["groups"].as_array().unwrap().iter().find(|group| group["by"] == "all");
    let mean = all.unwrap()["mean_ape"].as_f64().unwrap();
    assert!((mean - errors.iter().sum::<f64>() / errors.len() as f64).abs() < 1e-12);
}

/// A line's own clock and way of measuring, in place of which the options stand if they are given.
#[test]
fn a_measurement_may_say_its_clock_and_how_it_was_made() {
    let file = "measured-clocks.csv";
    let times = |options: &str| -> Vec<f64> {
        let result = json(&format!("compare {file} --machine rules --format json {options}"));
        let rows = result["rows"].as_array().unwrap();
        rows.iter().map(|row| row["predicted_ms"].as_f64().unwrap()).collect()
    };
    let own = times("");
    assert!((own[1] - own[0] - 0.005).abs() < 1e-9, "{own:?}");
    assert!((own[2] / own[0] - 1740.0 / 1305.0).abs() < 1e-9, "{own:?}");
    let same = times("--clock 1740 --timing kernel");
    assert!(same.iter().all(|time| (time / own[0] - 1.0).abs() < 1e-12), "{same:?} {own:?}");
}

#[test]
fn wrong_tables_are_pointed_at() {
    for file in ["measured-column", "measured-time", "measured-gpu", "measured-clock"] {
        let outcome = gpucast(&format!("compare broken/{file}.csv"));
        assert_eq!(outcome.status, 1, "{file}");
        insta::assert_snapshot!(format!("compare-{file}"), outcome.stderr);
    }
}
