//! How often intervals of samples hold what all CTAs count, without caches.
//!
//! All CTAs of an input are executed once. Then `GPUCAST_SAMPLES` samples are drawn from their
//! counts, or a few by default. Places, strata, rounds and intervals are those of an execution.
//!
//! ```sh
//! GPUCAST_SAMPLES=1000 cargo test --release -p gpucast-forecast --test forecast coverage -- \
//!     --nocapture --test-threads 1
//! ```

#![allow(clippy::print_stdout, reason = "the rows of tables of docs/evidence/counting.md")]

pub(crate) mod inputs;
pub(crate) mod table;

use gpucast_counters::{Counter, DeviceModel, LaunchProfile, Population, SampleSize};
use gpucast_forecast::run::counting::{self, Counting, Extras};
use gpucast_forecast::run::execute::{self, Executed, Watch};
use gpucast_forecast::run::machine::Machine;
use gpucast_forecast::run::module;
use gpucast_forecast::settings::{CacheChoice, RungChoice, Size};
use gpucast_forecast::{Alone, Failure, Kernel, LaunchOptions};
use gpucast_interpreter::{DeviceMemory, Launch, Options, Program};
use rayon::prelude::*;

use inputs::{HELD_OUT, INPUTS, Input, POWER_LAW_1_5, RARE_20, UNIFORM, WAVES};
use table::{Coverage, HEADER};

/// The GPU whose counters are modelled.
const DEVICE: DeviceModel = DeviceModel::GTX_480;

/// CTAs of a matrix.
const CTAS: usize = 4096;

/// Samples to draw of each input, if the environment says so.
pub(crate) fn asked_samples() -> Option<u64> {
    std::env::var("GPUCAST_SAMPLES").ok().and_then(|text| text.parse().ok())
}

/// A launch whose CTAs were all executed.
struct Counted {
    truth: LaunchProfile,
    population: Population,
    /// Of each CTA, if it is of a kind that few are of.
    rare: Option<Vec<bool>>,
}

impl Counted {
    fn of(population: Population) -> Self {
        Self { truth: population.whole(), population, rare: None }
    }

    /// The coverage of many samples; none if there are no such samples.
    fn coverage(&self, ctas: u64, rounds: Option<usize>, samples: u64) -> Option<Coverage> {
        let of_seed = |seed: u64| {
            let drawn = self.population.sample(SampleSize { ctas, seed }, rounds).ok()?;
            let has = |rare: &Vec<bool>| drawn.ctas.iter().any(|&cta| rare[cta as usize]);
            let lacks = self.rare.as_ref().is_some_and(|rare| !has(rare));
            Some(Coverage::of(&self.truth, &drawn.profile, lacks))
        };
        let add = |mut sum: Coverage, one: Coverage| {
            sum.add(&one);
            sum
        };
        let all: Vec<Coverage> =
            (0..samples).into_par_iter().map(of_seed).collect::<Option<_>>()?;
        Some(all.into_iter().fold(Coverage::default(), add))
    }
}

/// Keeps the CTAs of the first repetition of each launch.
#[derive(Default)]
struct Keeping {
    launches: Vec<Counted>,
    is_begun: bool,
}

impl Watch for Keeping {
    type Observer = Population;

    fn launching(&mut self, _index: usize, _memory: &DeviceMemory) {
        self.is_begun = false;
    }

    fn begin(&mut self, program: &Program, launch: &Launch) -> Population {
        let shared_bytes = program.static_shared_bytes();
        Population::of(Counter::new(program, launch, shared_bytes, DEVICE))
    }

    fn end(
        &mut self,
        population: Population,
        _program: &Program,
        _memory: &DeviceMemory,
    ) -> Result<(), Failure> {
        if !std::mem::replace(&mut self.is_begun, true) {
            self.launches.push(Counted::of(population));
        }
        Ok(())
    }

    fn launched(&mut self, _executed: Executed<'_>) {}
}

/// Executes all CTAs of a kernel's launches.
fn executed(kernel: &Kernel) -> Vec<Counted> {
    let plan = kernel.plan();
    let loaded = module::load(plan).unwrap();
    let mut memory = execute::memory(plan, &loaded).unwrap();
    let mut keeping = Keeping::default();
    let options = Options::default();
    execute::execute(plan, &loaded, &mut memory, &options, &Alone, &mut keeping).unwrap();
    keeping.launches
}

fn of_input(input: Input, ctas: usize) -> Counted {
    let (_folder, kernel) = input.product(ctas, 0);
    let counted = executed(&kernel).remove(0);
    Counted { rare: input.rare(ctas), ..counted }
}

/// Prints the coverage of inputs, and returns that of all.
fn of_inputs(inputs: &[Input], ctas: u64, usual: u64) -> Coverage {
    let samples = asked_samples().unwrap_or(usual);
    println!("{samples} samples of {ctas} of {CTAS} CTAs\n{HEADER}");
    let mut total = Coverage::default();
    for &input in inputs {
        let counted = of_input(input, CTAS);
        let coverage = counted.coverage(ctas, None, samples).unwrap();
        println!("{}", coverage.row(input.name));
        total.add(&coverage);
    }
    println!("{}", total.row("all"));
    total
}

/// Seeds are fixed, so that the coverage is the same in every run.
fn insist(coverage: &Coverage, least: f64) {
    assert!(coverage.percent_of_told() >= least, "{}", coverage.row("all"));
}

/// The experiment draws what a sample executes.
#[test]
fn samples_of_a_population_are_those_that_are_executed() {
    let (_folder, kernel) = inputs::POWER_LAW_2.product(1024, 0);
    let population = executed(&kernel).remove(0).population;
    let loaded = module::load(kernel.plan()).unwrap();
    for seed in 0..2 {
        let size = SampleSize { ctas: 256, seed };
        let counting = Counting {
            device: DEVICE,
            machine: &Machine::none(),
            extras: Extras::default(),
            rung: RungChoice::Sample,
            sample: Some(size),
            caches: CacheChoice::None,
            supervisor: &Alone,
        };
        let counted = counting::count(kernel.plan(), &loaded, &Options::default(), &counting);
        let profile = counted.unwrap().remove(0).profile;
        let drawn = population.sample(size, None).unwrap().profile;
        assert_eq!(drawn.metrics, profile.metrics);
        assert_eq!(drawn.intervals, profile.intervals);
    }
}

#[test]
fn intervals_of_small_samples_hold_the_counts_of_skewed_inputs() {
    match asked_samples() {
        Some(_) => insist(&of_inputs(&INPUTS, 256, 0), 92.0),
        None => insist(&of_inputs(&[UNIFORM, POWER_LAW_1_5, RARE_20, WAVES], 256, 20), 88.0),
    }
}

#[test]
fn intervals_of_small_samples_hold_the_counts_of_held_out_inputs() {
    match asked_samples() {
        Some(_) => insist(&of_inputs(&HELD_OUT, 256, 0), 92.0),
        None => insist(&of_inputs(&HELD_OUT[3..5], 256, 20), 80.0),
    }
}

#[test]
fn intervals_of_samples_hold_the_counts_of_skewed_inputs() {
    match asked_samples() {
        Some(_) => {
            insist(&of_inputs(&INPUTS, 1024, 0), 92.0);
            insist(&of_inputs(&HELD_OUT, 1024, 0), 92.0);
        }
        None => insist(&of_inputs(&INPUTS[9..10], 1024, 5), 75.0),
    }
}

/// A sample that was cut short is one of fewer CTAs: 16 for each round.
#[test]
fn intervals_of_few_rounds_hold_the_counts_of_skewed_inputs() {
    let inputs = if asked_samples().is_some() { &INPUTS[..] } else { &INPUTS[..1] };
    let samples = asked_samples().unwrap_or(20);
    let populations: Vec<Counted> = inputs.iter().map(|&input| of_input(input, CTAS)).collect();
    for rounds in [2, 4, 8, 16, 32, 59] {
        let mut total = Coverage::default();
        println!("{samples} samples of {rounds} of 60 rounds of 1024 of {CTAS} CTAs\n{HEADER}");
        for (input, counted) in inputs.iter().zip(&populations) {
            let coverage = counted.coverage(1024, Some(rounds), samples).unwrap();
            println!("{}", coverage.row(input.name));
            total.add(&coverage);
        }
        println!("{}", total.row("all"));
        insist(&total, 85.0);
    }
}

/// Launches of the corpus in which some metrics differ from CTA to CTA.
#[test]
fn intervals_of_samples_hold_the_counts_of_the_corpus() {
    let size = if asked_samples().is_some() { Size::Paper } else { Size::Small };
    let samples = asked_samples().unwrap_or(20);
    let mut total = Coverage::default();
    println!("{samples} samples of a quarter of the CTAs, and of 256 at most\n{HEADER}");
    for entry in gpucast_corpus::entries() {
        let options = LaunchOptions { size: Some(size), ..LaunchOptions::default() };
        let kernel = Kernel::open(entry.name, &options).unwrap();
        for counted in executed(&kernel) {
            let ctas = counted.truth.grid.iter().map(|&extent| u64::from(extent)).product::<u64>();
            let Some(coverage) = counted.coverage(256.min(ctas / 4), None, samples) else {
                continue;
            };
            if coverage.metrics > 0 {
                println!("{}", coverage.row(&format!("{}, {ctas} CTAs", counted.truth.kernel)));
            }
            total.add(&coverage);
        }
    }
    println!("{}", total.row("all"));
    // Wrong figures without an interval would be metrics that are not held.
    assert!(total.alike > 0);
    insist(&total, 92.0);
}
