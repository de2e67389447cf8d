//! `gpucast corpus`, and every corpus kernel at its small size.

use std::fs;

use crate::gpucast::{command, gpucast, json, outcome, stdout};

#[test]
fn the_list_in_every_format() {
    insta::assert_snapshot!("corpus-list", stdout("corpus list"));
    insta::assert_snapshot!("corpus-list-csv", stdout("corpus list --format csv"));
    let list = json("corpus list --format json");
    assert_eq!(list["schema"], "gpucast.corpus/1");
    insta::assert_json_snapshot!("corpus-list-first", list["kernels"][0]);
}

#[test]
fn a_kernel_shows_its_parts() {
    insta::assert_snapshot!("corpus-show", stdout("corpus show sgemm"));
    insta::assert_snapshot!("corpus-show-launch", stdout("corpus show sgemm --part launch"));
    assert!(stdout("corpus show sgemm --part ptx").contains(".target sm_35"));
    assert!(stdout("corpus show sgemm --part source").contains("__global__"));
    let missing = gpucast("corpus show vector-add --part published");
    insta::assert_snapshot!("corpus-show-nothing-published", missing.transcript());
}

#[test]
fn every_kernel_computes_what_its_reference_says() {
    let list = json("corpus list --format json");
    let names = list["kernels"].as_array().unwrap().iter();
    let mut failed = Vec::new();
    for kernel in names {
        let name = kernel["name"].as_str().unwrap();
        let targets = kernel["targets"].as_array().unwrap().iter();
        for arch in targets.map(|target| target.as_str().unwrap()).filter(|one| *one != "sm_30") {
            let run = gpucast(&format!("run {name} --size small --arch {arch} --format json"));
            let result: serde_json::Value = serde_json::from_str(&run.stdout).unwrap_or_default();
            let expectations = result["expectations"].as_array().map_or(0, Vec::len);
            if run.status != 0 || expectations == 0 {
                failed.push(format!("{name} {arch}\n{}", run.transcript()));
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn an_exported_kernel_runs_from_its_files() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &str| {
        let mut command = command(arguments);
        command.current_dir(folder.path());
        outcome(command)
    };
    let export = run("corpus export vector-add");
    assert_eq!((export.status, &*export.stderr), (0, ""));
    insta::assert_snapshot!("corpus-export", export.stdout);
    let exported = run("run vector-add/launch-small.toml");
    assert_eq!(exported.status, 0, "{}", exported.transcript());
    assert!(exported.stdout.contains("ok c:"), "{}", exported.stdout);
    // A second export must not overwrite what may have been changed.
    fs::write(folder.path().join("vector-add/launch.toml"), "mine").unwrap();
    let again = run("corpus export vector-add");
    assert_eq!(again.status, 1);
    assert!(again.stderr.contains("exists already"), "{}", again.stderr);
    let kept = fs::read_to_string(folder.path().join("vector-add/launch.toml")).unwrap();
    assert_eq!(kept, "mine");
}
