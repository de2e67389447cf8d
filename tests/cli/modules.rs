//! Modules with their launch on the command line, launch files, and buffers in files.

use std::fs;

use crate::gpucast::{gpucast, stdout};

const SAXPY: &str = "saxpy.ptx --kernel saxpy --grid 4 --block 256 --arg u32:1000 --arg f32:0.5";

#[test]
fn a_module_runs_with_arguments_of_the_command_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("y.bin");
    let out = stdout(&format!(
        "run {SAXPY} --arg buf:f32[1000]=iota --arg buf:f32[1000]=constant(1) --dump '{}'",
        format_args!("arg3={}", file.display())
    ));
    insta::assert_snapshot!("run-a-module", out);
    let expected: Vec<u8> =
        (0..1000).flat_map(|index| (0.5 * index as f32 + 1.0).to_le_bytes()).collect();
    assert_eq!(fs::read(file).unwrap(), expected);
}

#[test]
fn a_dumped_npy_file_can_be_a_buffer_again() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("y.npy");
    stdout(&format!("run saxpy.toml --dump 'y={}'", file.display()));
    let header = fs::read(&file).unwrap();
    assert!(header.starts_with(b"\x93NUMPY"));
    // y = x / 2 + 1 as x: the result of the second run tells whether it was read.
    let twice = folder.path().join("twice.bin");
    stdout(&format!(
        "run {SAXPY} --arg 'buf:f32[1000]={}' --arg buf:f32[1000] --dump 'arg3={}'",
        file.display(),
        twice.display()
    ));
    let expected: Vec<u8> =
        (0..1000).flat_map(|index| (0.25 * index as f32 + 0.5).to_le_bytes()).collect();
    assert_eq!(fs::read(twice).unwrap(), expected);
    // The wrong length and the wrong type are refused.
    let wrong = |buffer: &str| {
        let outcome = gpucast(&format!(
            "run {SAXPY} --arg 'buf:{buffer}={}' --arg buf:f32[1000]",
            file.display()
        ));
        assert_eq!(outcome.status, 1);
        outcome.stderr
    };
    assert!(wrong("f32[999]").contains("holds 1000 elements, but the buffer has 999"));
    assert!(wrong("u32[1000]").contains("but the buffer's are u32"));
}

#[test]
fn a_launch_file_checks_its_expectations() {
    insta::assert_snapshot!("run-a-launch-file", stdout("run saxpy.toml"));
}
