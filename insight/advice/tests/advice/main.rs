//! Advice on kernels with a planted cause, on their mended twins, on four stories, and on ladders.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests are not inside the test functions that the lints spare"
)]

mod ladders;
mod page;
mod planted;
mod stories;

use std::path::{Path, PathBuf};

use gpucast_advice::place::Places;
use gpucast_advice::{Advice, Depth, Known, advise, advise_all};
use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::choice::model_choice::Models;
use gpucast_forecast::input::cuda_source;
use gpucast_forecast::prediction::predict;
use gpucast_forecast::run::module;
use gpucast_forecast::run::sources::{self, Counts};
use gpucast_forecast::settings::{MachineChoice, MachineSettings};
use gpucast_forecast::{Alone, Kernel, LaunchOptions};
use gpucast_model::{Gpu, Needs};

/// The GPU that all of them run on.
const GPU: &str = "rtx-3060";

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

fn gpu() -> Gpu {
    gpu_argument::find(&gpu_argument::library().unwrap(), GPU).unwrap()
}

fn kernel(file: &Path) -> Kernel {
    let kernel = Kernel::open(file.to_str().unwrap(), &LaunchOptions::default());
    kernel.unwrap_or_else(|error| panic!("{}: {error:?}", file.display()))
}

fn counts() -> Counts {
    let machine = MachineSettings { machine: MachineChoice::Rules, ..MachineSettings::default() };
    Counts { machine, ..Counts::default() }
}

/// The advice on each launch of a file.
fn advice(file: &Path) -> Vec<Advice> {
    advise_all(&kernel(file), &[gpu()], &counts(), None, &Alone)
        .unwrap_or_else(|error| panic!("{}: {error:?}", file.display()))
}

/// The same as `predict` shows it: on a prediction that is there already, and asking one model.
fn first_screen(file: &Path) -> Vec<Advice> {
    let kernel = kernel(file);
    let plan = kernel.plan();
    let loaded = module::load(plan).unwrap();
    let files = cuda_source::files(plan, &loaded.module, None);
    let places = Places { files: &files, loaded: &loaded };
    let counts = Counts { needs: Needs::ORDER, ..counts() };
    let launches = sources::launched(plan, &loaded, &gpu(), &counts, &Alone).unwrap();
    let Ok(models) = Models::read(&[], &[]) else { panic!("the default models exist") };
    let advised = launches.iter().enumerate().map(|(at, one)| {
        let view = predict(&models, &one.source, &[gpu()], None, &[]).unwrap();
        let known = Known { predictions: &view.predictions, depth: Depth::OneModel };
        advise(plan, places, one, at, &gpu(), known).unwrap()
    });
    advised.collect()
}
