#![no_main]

#[path = "../../../doors/cuda/tests/fuzzed/mod.rs"]
mod fuzzed;

use gpucast_host::Settings;
use gpucast_host::settings::{Mode, OnFault, VARIABLE};

libfuzzer_sys::fuzz_target!(
    init: {
        let settings =
            Settings { mode: Mode::Run, on_fault: OnFault::Report, ..Settings::default() };
        // SAFETY: there is one thread yet.
        unsafe { std::env::set_var(VARIABLE, settings.to_variable()) };
    },
    |data: &[u8]| fuzzed::calls(data)
);
