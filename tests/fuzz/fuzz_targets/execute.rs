#![no_main]

#[path = "../../../interpreter/tests/fuzzed/mod.rs"]
mod fuzzed;

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzzed::execute(data));
