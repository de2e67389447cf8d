//! What a program is told that starts this one in place of a user: errors as JSON, and a process
//! that has given up what it does not need.

use std::fs;

use crate::gpucast::{gpucast, inputs};

fn errors(arguments: &str) -> Vec<serde_json::Value> {
    let outcome = gpucast(&format!("--error-format json {arguments}"));
    let lines = outcome.stderr.lines();
    lines.map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{line}: {e}"))).collect()
}

#[test]
fn errors_are_lines_of_json_where_that_is_asked_for() {
    let broken = errors("run broken/several.ptx --grid 1 --block 1");
    assert!(broken.len() > 1);
    assert_eq!(broken[0]["place"]["file"], "broken/several.ptx");
    assert!(broken[0]["place"]["line"].as_u64().unwrap() > 1, "{}", broken[0]);
    for usage in ["run", "run sgemm --size tiny", "nonsense"] {
        let usage = errors(usage);
        assert_eq!(usage.len(), 1);
        assert!(!usage[0]["message"].as_str().unwrap().contains("Usage"), "{}", usage[0]);
    }
}

/// The same run, with the kernel in the folder and outside of it.
#[cfg(target_os = "linux")]
#[test]
fn a_confined_process_reads_its_folder_alone() {
    let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for folder in [&folder, &elsewhere] {
        fs::copy(inputs().join("saxpy.ptx"), folder.path().join("saxpy.ptx")).unwrap();
    }
    let run = |file: &std::path::Path| {
        let (folder, file) = (folder.path().display(), file.display());
        gpucast(&format!(
            "--confined {folder} --confined-seconds 60 run {file} --grid 1 --block 32 --arg u32:32 \
             --arg f32:2 --arg buf:f32[32] --arg buf:f32[32]"
        ))
    };
    let inside = run(&folder.path().join("saxpy.ptx"));
    assert_eq!(inside.status, 0, "{}", inside.transcript());
    let held = fs::read_to_string(folder.path().join("held")).unwrap();
    assert_eq!(held.len(), 3, "{held}");
    let outside = run(&elsewhere.path().join("saxpy.ptx"));
    let expected = if &held[1..2] == "1" { 1 } else { 0 };
    assert_eq!(outside.status, expected, "{}", outside.transcript());
}
