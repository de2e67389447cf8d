//! `gpucast run --check`: silent on every kernel of the corpus, and what it says of planted faults.

use crate::gpucast::{gpucast, is_nightly, json, stdout};

/// In the gate one module of each kernel, the first and the second in turn.
#[test]
fn every_corpus_kernel_passes_every_check() {
    for (at, entry) in gpucast_corpus::entries().iter().enumerate() {
        let turn = at % entry.modules.len();
        let in_turn = std::slice::from_ref(&entry.modules[turn]);
        for module in if is_nightly() { entry.modules } else { in_turn } {
            let (name, target) = (entry.name, module.target);
            let run = format!("run {name} --size small --arch {target} --check all");
            let told = stdout(&run);
            let last = told.lines().last().unwrap();
            assert_eq!(last, "checked memory, race, init, sync: nothing found", "{run}");
        }
    }
}

const PLANTED: &str = "run planted-faults.ptx --grid 1 --block 64 --arg buf:u32[64]";

#[test]
fn planted_faults_are_shown_with_both_threads_and_lines() {
    for kernel in ["missing_barrier", "past_the_end", "not_written", "early_exit"] {
        let outcome = gpucast(&format!("{PLANTED} --kernel {kernel} --check all"));
        assert_eq!(outcome.status, 1, "{kernel}");
        insta::assert_snapshot!(format!("check-{kernel}"), outcome.transcript());
    }
}

#[test]
fn planted_faults_of_masks_and_counts_are_shown_with_both_threads() {
    for kernel in ["missing_lanes", "differing_masks", "outside_the_mask", "differing_counts"] {
        let run = "run planted-masks.ptx --grid 1 --block 64 --arg buf:u32[64]=zero";
        let outcome = gpucast(&format!("{run} --kernel {kernel} --check all"));
        assert_eq!(outcome.status, 1, "{kernel}");
        insta::assert_snapshot!(format!("check-{kernel}"), outcome.transcript());
    }
}

#[test]
fn nothing_is_said_of_checks_where_nothing_ran() {
    let outcome = gpucast(
        "run planted-faults.ptx --grid 1 --block 2048 --arg buf:u32[64] --kernel missing_barrier \
         --check all",
    );
    assert_eq!(outcome.status, 1);
    assert_eq!(outcome.stdout, "");
    // The fault ends the launch, and only the first kernel's findings could be complete.
    let json = "--check race --format json";
    let outcome = gpucast(&format!("{PLANTED} --kernel past_the_end {json}"));
    let told: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(
        (&told["complete"], &told["launches"][0]["finished"]),
        (&false.into(), &false.into())
    );
}

#[test]
fn only_what_is_asked_for_is_checked() {
    let told = stdout(&format!("{PLANTED} --kernel missing_barrier --check memory,sync"));
    assert!(told.ends_with("checked memory, sync: nothing found\n"), "{told}");
    let outcome = gpucast(&format!("{PLANTED} --kernel missing_barrier --check races"));
    assert_eq!(outcome.status, 2);
    assert!(outcome.stderr.contains("there is no check `races`"), "{}", outcome.stderr);
}

#[test]
fn findings_are_versioned_json() {
    let outcome =
        gpucast(&format!("{PLANTED} --kernel missing_barrier --check race --format json"));
    assert_eq!(outcome.status, 1);
    insta::assert_snapshot!("check-as-json", outcome.stdout);
    let clean = json("run sgemm --size small --check all --format json");
    assert_eq!(clean["schema"], "gpucast.findings/1");
    assert_eq!(clean["launches"][0]["findings"].as_array().map(Vec::len), Some(0));
}

#[test]
fn findings_stand_at_their_lines_for_code_hosts() {
    let run = format!("{PLANTED} --kernel missing_barrier --check all");
    for form in ["sarif", "github", "junit"] {
        let outcome = gpucast(&format!("{run} --format {form}"));
        assert_eq!(outcome.status, 1);
        insta::assert_snapshot!(format!("check-as-{form}"), outcome.stdout);
    }
    // What differs from expectations is a finding, too; where nothing is found there are none.
    let wrong = gpucast("run wrong-expectation.toml --format github");
    assert_eq!(wrong.status, 1);
    insta::assert_snapshot!("expectation-as-github", wrong.stdout);
    let clean = json("run sgemm histogram --size small --check all --format sarif");
    assert_eq!(clean["runs"][0]["results"].as_array().map(Vec::len), Some(0));
}

#[test]
fn a_run_is_a_suite_with_a_case_for_all_that_was_looked_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("checks.xml");
    let run = "run histogram --size small --check race,sync -o";
    assert_eq!(gpucast(&format!("{run} {}", path.display())).status, 0);
    let suite = std::fs::read_to_string(path).unwrap();
    let cases = suite.split("<testcase name=\"").skip(1);
    let names: Vec<&str> = cases.filter_map(|case| case.split('"').next()).collect();
    assert_eq!(names, ["buffer bins", "runs to its end", "check race", "check sync"]);
    assert!(suite.contains("failures=\"0\"") && !suite.contains("<failure"), "{suite}");
    // A fault ends the run, at its line of the PTX, and buffers are not compared.
    let fault = gpucast(&format!("{PLANTED} --kernel past_the_end --check race --format junit"));
    assert_eq!(fault.status, 1);
    insta::assert_snapshot!("fault-as-junit", fault.stdout);
}

#[test]
fn a_fault_that_no_check_explains_is_told_after_the_findings() {
    let outcome = gpucast(&format!("{PLANTED} --kernel past_the_end --check race"));
    assert_eq!(outcome.status, 1);
    insta::assert_snapshot!("check-and-a-fault", outcome.transcript());
}
