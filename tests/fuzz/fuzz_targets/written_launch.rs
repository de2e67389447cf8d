#![no_main]

#[path = "../../../forecast/tests/fuzzed/mod.rs"]
mod fuzzed;

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzzed::written_launch(data));
