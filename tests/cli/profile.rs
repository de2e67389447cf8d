//! `gpucast profile`.

use crate::gpucast::{command, json, outcome, stdout};

#[test]
fn the_counts_of_a_launch_in_every_format() {
    insta::assert_snapshot!("profile-text", stdout("profile saxpy.toml"));
    // One metric of each kind: the others have tests of their own.
    let chosen = ["flop_count_sp_fma", "dram_read_transactions", "inst_executed"];
    let csv = stdout("profile saxpy.toml --format csv");
    let rows = csv.lines().filter(|line| {
        line.starts_with("launch,") || chosen.iter().any(|name| line.contains(&format!(",{name},")))
    });
    insta::assert_snapshot!("profile-csv", rows.collect::<Vec<_>>().join("\n"));
    let mut profile = json("profile saxpy.toml --format json");
    let metrics = profile["launches"][0]["metrics"].as_object_mut().unwrap();
    metrics.retain(|name, _| chosen.contains(&name.as_str()));
    insta::assert_json_snapshot!("profile-json", profile);
}

#[test]
fn the_counts_by_line_in_every_format() {
    insta::assert_snapshot!("profile-lines-text", stdout("profile saxpy.toml --by line"));
    insta::assert_snapshot!(
        "profile-lines-csv",
        stdout("profile saxpy.toml --by line --format csv")
    );
    let lines = json("profile saxpy.toml --by line --format json");
    insta::assert_json_snapshot!("profile-lines-json-first", lines["launches"][0]["lines"][0]);
}

#[test]
fn metrics_carry_the_names_of_the_profiler_asked_for() {
    let names = |which: &str| {
        let profile = json(&format!("profile saxpy.toml --format json --metrics {which}"));
        let metrics = profile["launches"][0]["metrics"].as_object().unwrap().clone();
        metrics.keys().cloned().collect::<Vec<String>>()
    };
    let (nvprof, ncu, all) = (names("nvprof"), names("ncu"), names("all"));
    assert!(nvprof.iter().any(|name| name == "flop_count_sp_fma"));
    assert!(ncu.iter().any(|name| name == "dram__sectors_read.sum"));
    assert!(ncu.iter().all(|name| name.contains("__")), "{ncu:?}");
    assert!(nvprof.iter().all(|name| all.contains(name) && !name.starts_with("ptx_")));
    assert!(all.iter().any(|name| name == "ptx_thread_inst_executed"));
}

#[test]
fn the_number_of_threads_changes_nothing() {
    for kernel in ["sgemm", "reduction-f32", "histogram", "lmsor"] {
        let of = |threads: &str| {
            let mut command = command(&format!("profile {kernel} --size small --format json"));
            command.env("RAYON_NUM_THREADS", threads);
            let outcome = outcome(command);
            assert_eq!(outcome.status, 0, "{}", outcome.transcript());
            outcome.stdout
        };
        assert_eq!(of("1"), of("2"), "{kernel}");
        let option = stdout(&format!("profile {kernel} --size small --format json --threads 3"));
        assert_eq!(of("1"), option, "{kernel}");
    }
}

#[test]
fn a_repeated_launch_has_the_means_of_its_invocations() {
    let profile = json("profile wrong-expectation.toml --format json");
    let launch = &profile["launches"][0];
    assert_eq!(launch["invocations"], 2);
    // Eight threads, one multiply-add each.
    assert_eq!(launch["metrics"]["flop_count_sp_fma"]["value"], 8);
}

#[test]
fn a_file_takes_the_place_of_the_standard_output() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("profile.json");
    let out = stdout(&format!("profile saxpy.toml --format json -o '{}'", file.display()));
    assert_eq!(out, "");
    assert_eq!(std::fs::read_to_string(file).unwrap(), stdout("profile saxpy.toml --format json"));
}
