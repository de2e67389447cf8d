#![no_main]

#[path = "../../../ptx-frontend/tests/fuzzed/mod.rs"]
mod fuzzed;

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzzed::text(data));
