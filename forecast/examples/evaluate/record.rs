//! Writes the table of measured times beside those of each model, and what follows from it.

use std::fs;
use std::path::{Path, PathBuf};

use gpucast_counters::KernelProfile;
use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::published::{self, Published};
use gpucast_forecast::settings::MachineChoice;
use gpucast_forecast::{Alone, Kernel, LaunchOptions, Supervisor};
use gpucast_model::sm_simulation::kind_of;
use gpucast_model::{Conditions, Gpu, Model};

use super::ptxas::Ptxas;
use super::space::Committed;
use super::times::{MODELS, Time, from_csv, to_csv};
use super::{coulomb_launch, counted, scoreboard, space};

/// The table, from the root of the repository.
const TIMES: &str = "docs/evidence/predicted-times.csv";

/// The oldest generation that the simulation describes.
const LEAST_MAJOR: u32 = 3;

/// Configurations of the Coulomb space by rules: a quarter of them.
const RULES_EVERY: usize = 4;

/// The name of the set of Coulomb configurations.
const COULOMB: &str = "coulomb";

/// The oldest generation that `ptxas` 12.9 assembles for.
const LEAST_ASSEMBLED: u32 = 5;

/// Replaces the rows of some sets, or of all, with one back end: `rules`, or the path of an
/// assembler. Then writes what follows from the table.
pub(crate) fn record(back_end: &str, sets: &[&str]) {
    let assembler = Ptxas::at(back_end);
    let (machine, supervisor): (_, &dyn Supervisor) = match back_end {
        "rules" => (MachineChoice::Rules, &Alone),
        _ => (MachineChoice::Ptxas, &assembler),
    };
    let is_meant = |set: &str| sets.is_empty() || sets.contains(&set);
    let library = gpu_argument::library().unwrap();
    let here = published::measured_here();
    let mut new = Vec::new();
    for time in published::times().iter().chain(&here).filter(|time| is_meant(time.set)) {
        let gpu = gpu_argument::find(&library, &time.gpu).unwrap();
        new.extend(of_publication(time, &gpu, machine, supervisor));
    }
    if is_meant(COULOMB) {
        new.extend(of_space(machine));
    }
    let name = if back_end == "rules" { "rules" } else { "ptxas" };
    let mut all = committed();
    all.retain(|time| time.machine != name || !is_meant(&time.set));
    all.extend(new);
    all.sort_by_key(Time::key);
    fs::write(path(TIMES), to_csv(&all)).unwrap();
    tables();
}

/// Writes the quantiles of errors and the page of evidence from the committed table.
pub(crate) fn tables() {
    let page = fs::read_to_string(path(scoreboard::PAGE)).unwrap();
    for (file, text) in scoreboard::files(&committed(), &page) {
        fs::write(path(file), text).unwrap();
    }
}

fn path(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file)
}

fn committed() -> Vec<Time> {
    fs::read_to_string(path(TIMES)).map_or_else(|_| Vec::new(), |text| from_csv(&text))
}

fn of_publication(
    time: &Published,
    gpu: &Gpu,
    machine: MachineChoice,
    supervisor: &dyn Supervisor,
) -> Option<Time> {
    let least = match machine {
        MachineChoice::Ptxas => LEAST_ASSEMBLED,
        _ => LEAST_MAJOR,
    };
    let entry = gpucast_corpus::find(time.entry?)?;
    major(gpu).filter(|&major| major >= least)?;
    let gpu = gpu_argument::at_clock(gpu.clone(), time.clock).unwrap();
    let options = LaunchOptions {
        param: time.parameters.clone(),
        arch: time.arch.clone(),
        ..LaunchOptions::default()
    };
    let kernel = Kernel::open(entry.name, &options).unwrap();
    let source = counted(&kernel, &gpu, machine, supervisor);
    let conditions = Conditions { timing: time.timing, ..source.conditions };
    let names = Names { set: time.set, kernel: &time.label(), family: entry.family };
    Some(row(names, time.measured_ms, &gpu, &source.profile, &conditions))
}

fn of_space(machine: MachineChoice) -> Vec<Time> {
    let every = if machine == MachineChoice::Rules { RULES_EVERY } else { 1 };
    let measured = space::measured();
    let of_configuration = |one: &space::Measured| {
        let (case, gpu, profile, conditions) = coulomb_launch(one, machine, &Committed);
        let names = Names { set: COULOMB, kernel: &case, family: "coulomb-sum-3d" };
        row(names, one.duration_us / 1e3, &gpu, &profile, &conditions)
    };
    measured.iter().step_by(every).map(of_configuration).collect()
}

fn major(gpu: &Gpu) -> Option<u32> {
    gpu.compute_capability.as_ref().map(|capability| capability.value.major)
}

struct Names<'a> {
    set: &'a str,
    kernel: &'a str,
    family: &'a str,
}

/// The times of all models for a launch.
fn row(
    names: Names<'_>,
    measured_ms: f64,
    gpu: &Gpu,
    profile: &KernelProfile,
    conditions: &Conditions,
) -> Time {
    let predictions = MODELS.map(|name| {
        let model = <dyn Model>::by_name(name).unwrap();
        match model.predict(profile, gpu, conditions) {
            Ok(prediction) => Some(prediction),
            Err(error) => {
                eprintln!("{} on {}: {error}", names.kernel, gpu.name);
                None
            }
        }
    });
    let simulated = predictions[0].as_ref();
    let has_interval =
        simulated.is_some_and(|prediction| prediction.interval_declined_because.is_none());
    let analysis =
        simulated.and_then(|simulated| simulated.detail.simulation()).filter(|_| has_interval);
    let kind = analysis.map(|analysis| kind_of(analysis, profile.invocations, gpu, conditions));
    let time = Time {
        set: names.set.to_owned(),
        kernel: names.kernel.to_owned(),
        family: names.family.to_owned(),
        gpu: gpu.name.clone(),
        capability: major(gpu).unwrap_or_default(),
        machine: conditions.machine.as_ref().map_or("rules", |machine| machine.name()),
        class: kind.map(|kind| kind.class),
        measured_ms,
        predicted_ms: predictions.map(|prediction| Some(prediction?.time_ms)),
    };
    eprint!("{}", to_csv(std::slice::from_ref(&time)).lines().last().unwrap_or_default());
    eprintln!();
    time
}
