//! Advice on kernels with a planted cause, on their mended twins, and on four stories.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests are not inside the test functions that the lints spare"
)]

mod page;
mod planted;
mod stories;

use std::path::{Path, PathBuf};

use gpucast_advice::{Advice, advise_all};
use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::run::sources::Counts;
use gpucast_forecast::settings::{MachineChoice, MachineSettings};
use gpucast_forecast::{Alone, Kernel, LaunchOptions};

/// The GPU that all of them run on.
const GPU: &str = "rtx-3060";

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

/// The advice on each launch of a file.
fn advice(file: &Path) -> Vec<Advice> {
    let library = gpu_argument::library().unwrap();
    let gpu = gpu_argument::find(&library, GPU).unwrap();
    let kernel = Kernel::open(file.to_str().unwrap(), &LaunchOptions::default());
    let kernel = kernel.unwrap_or_else(|error| panic!("{}: {error:?}", file.display()));
    let machine = MachineSettings { machine: MachineChoice::Rules, ..MachineSettings::default() };
    let counts = Counts { machine, ..Counts::default() };
    advise_all(&kernel, &[gpu], &counts, None, &Alone)
        .unwrap_or_else(|error| panic!("{}: {error:?}", file.display()))
}
