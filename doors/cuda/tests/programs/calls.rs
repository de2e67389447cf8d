//! Driver calls with any arguments, in a process of their own.

use std::process::Command;

use gpucast_host::Settings;
use gpucast_host::settings::{Mode, OnFault, VARIABLE};

#[path = "../../../../tests/fuzz/corpus.rs"]
mod corpus;
#[path = "../fuzzed/mod.rs"]
mod fuzzed;

#[test]
fn calls_with_any_arguments_end_in_errors() {
    let settings = Settings {
        mode: Mode::Run,
        on_fault: OnFault::Report,
        report_folder: Some(tempfile::tempdir().unwrap().path().to_owned()),
        ..Settings::default()
    };
    let ran = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "calls::in_a_process_of_their_own", "--ignored"])
        .env(VARIABLE, settings.to_variable())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(ran.status.success() && said.contains("1 passed"), "{:?}\n{said}", ran.status);
}

#[test]
#[ignore = "the test before runs it where the settings are right"]
fn in_a_process_of_their_own() {
    if std::env::var_os(VARIABLE).is_none() {
        return;
    }
    // A fill of no bytes at the null address.
    fuzzed::calls(b"--\n\n");
    for input in corpus::corpus("driver_calls") {
        fuzzed::calls(&input);
    }
    // SplitMix64.
    let mut state = 14_u64;
    let mut random = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    };
    for _ in 0..300 {
        let length = random() % 400;
        let input: Vec<u8> = (0..length).map(|_| random() as u8).collect();
        fuzzed::calls(&input);
    }
}
