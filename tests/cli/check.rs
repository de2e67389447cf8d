//! What `gpucast check` says of kernels: what they use and need, and what could not be executed.

use std::fmt::Write as _;
use std::fs;

use crate::gpucast::{gpucast, outcome};

#[test]
fn kernels_are_described() {
    let check = |options: &str| {
        let outcome = gpucast(&format!("check check/uses.ptx {options}"));
        assert_eq!(outcome.stderr, "");
        outcome.transcript()
    };
    insta::assert_snapshot!("describe-kernels", check(""));
    insta::assert_snapshot!("describe-a-kernel-as-json", check("--kernel use? --format json"));
}

#[test]
fn a_slice_says_what_counting_executes_and_why() {
    let outcome = gpucast("check saxpy.ptx --slice");
    assert_eq!(outcome.status, 0, "{}", outcome.stderr);
    insta::assert_snapshot!("slice-of-saxpy", outcome.transcript());
    let outcome = gpucast("check slices.ptx --slice");
    insta::assert_snapshot!("slices", outcome.transcript());
    let json = gpucast("check slices.ptx --slice --kernel chosen --format json").stdout;
    assert!(json.contains("\"treatment\": \"addresses\""), "{json}");
    assert!(json.contains("\"needs_contents_of\": [\n"), "{json}");
}

#[test]
fn the_status_tells_whether_the_chosen_kernels_can_be_executed() {
    let status = |options: &str| gpucast(&format!("check check/uses.ptx {options}")).status;
    assert_eq!([status(""), status("--kernel uses"), status("--kernel idle")], [1, 1, 0]);
    let none = gpucast("check check/uses.ptx --kernel gemm");
    assert_eq!(none.status, 1);
    assert!(none.stderr.contains("has no kernel that `gemm` could mean"), "{}", none.stderr);
}

/// Names of templates of templates run over pages; a program that reads JSON gets them whole.
#[test]
fn long_names_lose_their_middle_in_text_alone() {
    let folder = tempfile::tempdir().unwrap();
    // `void gemm<a_long_words, a_long_words, …>()`.
    let name = format!("_Z4gemmI{}Evv", "12a_long_words".repeat(40));
    let text =
        format!(".version 8.0\n.target sm_80\n.address_size 64\n.entry {name}() {{ ret; }}\n");
    fs::write(folder.path().join("long.ptx"), text).unwrap();
    let check = |options: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_gpucast"));
        command.current_dir(folder.path()).args(["check", "long.ptx"]).args(options);
        outcome(command).stdout
    };
    let text = check(&[]);
    assert!(text.contains("void gemm<a_long_words, a_long_words, "), "{text}");
    assert!(text.contains("…") && text.lines().all(|line| line.chars().count() < 160), "{text}");
    assert!(check(&["--format", "json"]).contains(&name));
}

#[test]
fn many_kernels_have_a_line_each() {
    let folder = tempfile::tempdir().unwrap();
    let mut text = ".version 9.3\n.target sm_100\n.address_size 64\n".to_owned();
    for index in 0..13 {
        let body = match index % 5 {
            4 => "fabric.submit; ",
            _ => "",
        };
        let _ = writeln!(text, ".entry kernel{index}() {{ .reg .b32 %r; {body}ret; }}");
    }
    fs::write(folder.path().join("many.ptx"), text).unwrap();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_gpucast"));
    command.current_dir(folder.path()).args(["check", "many.ptx"]);
    insta::assert_snapshot!("many-kernels", outcome(command).transcript());
}
