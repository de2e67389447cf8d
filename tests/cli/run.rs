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
    let result = json("run sgemm --size small --format json --execution-time");
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

#[test]
fn what_kernels_print_goes_to_the_standard_error_or_to_a_file() {
    let outcome = gpucast("run talk.ptx --kernel talk --grid 1 --block 3");
    insta::assert_snapshot!("printf-of-a-kernel", outcome.transcript());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("printed");
    let outcome = gpucast(&format!(
        "run talk.ptx --kernel talk --grid 1 --block 3 --print-to {}",
        path.display()
    ));
    assert_eq!((outcome.status, outcome.stderr.as_str()), (0, ""));
    let printed = std::fs::read_to_string(path).unwrap();
    assert_eq!(printed, "thread 0 of 3 here\nthread 1 of 3 here\nthread 2 of 3 here\n");
}

#[test]
fn a_failed_assertion_shows_what_was_printed_before() {
    let outcome = gpucast("run talk.ptx --kernel talk --grid 1 --block 4");
    insta::assert_snapshot!("failed-assertion-of-a-kernel", outcome.transcript());
}

#[test]
fn clusters_are_launched_as_the_command_line_says() {
    let kernel = "run ../../interpreter/tests/kernels/cluster_sm_90.ptx --kernel ring --block 64 \
                  --arg buf:s32[512]=iota --arg buf:s32[512] --arg u32:3";
    let launched = stdout(&format!("{kernel} --grid 8 --cluster 4"));
    assert_eq!(launched, "ran ring: 8 x 1 x 1 blocks of 64 x 1 x 1 threads\n");
    let outcome = gpucast(&format!("{kernel} --grid 6 --cluster 4"));
    insta::assert_snapshot!("partial-cluster", outcome.transcript());
}

/// A tensor map stands in a launch file as the driver's functions take it.
#[test]
fn tensor_maps_are_arguments() {
    let check = "--check memory,race,init,sync";
    insta::assert_snapshot!("tensor-map", stdout(&format!("run tensor-map.toml {check}")));
    let text = std::fs::read_to_string("tests/inputs/tensor-map.toml").unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy("tests/inputs/tensor-map.ptx", folder.path().join("tensor-map.ptx")).unwrap();
    let file = folder.path().join("changed.toml");
    let mut refused = Vec::new();
    for (from, to) in [
        ("global_strides = [16]", "global_strides = [24]"),
        ("global_strides = [16]", "global_strides = [16, 16]"),
        ("global_dim = [8, 4]", "global_dim = [8, 5]"),
        ("global_dim = [8, 4]", "global_dim = [6, 4]"),
        ("box_dim = [4, 2], swizzle", "box_dim = [3, 2], swizzle"),
        ("box_dim = [4, 2], swizzle", "box_dim = [16, 2], swizzle"),
        ("buffer = \"a\"", "buffer = \"c\""),
        ("swizzle = \"32B\"", "swizzle = \"96B\""),
        ("swizzle = \"32B\"", "interleave = \"16B\""),
        ("type = \"f32\", ", ""),
    ] {
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text, "{from}");
        std::fs::write(&file, changed).unwrap();
        let outcome = gpucast(&format!("run {}", file.display()));
        assert_eq!((outcome.status, outcome.stdout.as_str()), (1, ""), "{to}");
        let said = outcome.stderr.replace(&file.display().to_string(), "changed.toml");
        refused.push(format!("{to}\n{said}"));
    }
    insta::assert_snapshot!("broken-tensor-maps", refused.join("\n"));
}

/// Launch files describe textures and surfaces. A fault of a description names its place and a key.
#[test]
fn textures_are_bound_by_handle_and_by_name() {
    insta::assert_snapshot!("texture", stdout("run texture.toml"));
    insta::assert_snapshot!("texture-profile", stdout("profile texture.toml --gpu a100"));
    let text = std::fs::read_to_string("tests/inputs/texture.toml").unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy("tests/inputs/texture.ptx", folder.path().join("texture.ptx")).unwrap();
    let file = folder.path().join("changed.toml");
    let mut refused = Vec::new();
    for (from, to) in [
        ("height = 2", "height = 3"),
        ("height = 2", "height = 0"),
        ("height = 2", "height = 2\npitch = 10"),
        ("height = 2", "height = 2\nlinear = true"),
        ("type = \"f32\"\nwidth", "type = \"u32\"\nwidth"),
        ("type = \"f32\"\nwidth", "type = \"u24\"\nwidth"),
        ("width = 4\n", ""),
        ("normalized_coordinates = true\n", ""),
        ("buffer = \"texels\"", "buffer = \"texel\""),
        ("texture = \"canvas\"", "texture = \"canvass\""),
        ("texture = \"canvas\"", "texture = \"picture\""),
    ] {
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text, "{from}");
        std::fs::write(&file, changed).unwrap();
        let outcome = gpucast(&format!("run {}", file.display()));
        assert_eq!(outcome.status, 1, "{to}");
        let said = outcome.stderr.replace(&file.display().to_string(), "changed.toml");
        refused.push(format!("{to}\n{said}"));
    }
    insta::assert_snapshot!("broken-textures", refused.join("\n"));
}

/// What one kernel gets wrong does not hide the next.
#[test]
fn several_kernels_run_one_after_the_other() {
    let outcome = gpucast("run wrong-expectation.toml saxpy.toml");
    assert_eq!(outcome.status, 1);
    let (wrong, right) = (gpucast("run wrong-expectation.toml"), gpucast("run saxpy.toml"));
    assert_eq!(outcome.stdout, format!("{}\n{}", wrong.stdout, right.stdout));
    let both = gpucast("run wrong-expectation.toml saxpy.toml --format json");
    let both: serde_json::Value = serde_json::from_str(&both.stdout).unwrap();
    assert_eq!(both["kernels"][1]["document"]["schema"], "gpucast.run/1");
}

#[test]
fn a_dump_of_several_kernels_is_refused() {
    let outcome = gpucast("run saxpy.toml histogram --dump y=y.npy");
    assert_eq!(outcome.status, 2);
    assert!(outcome.stderr.contains("is about one kernel"), "{}", outcome.stderr);
}
