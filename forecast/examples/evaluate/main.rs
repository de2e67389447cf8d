//! Times of models beside published ones, and what each part of the simulation is worth.
//!
//! ```text
//! evaluate [ablate] coulomb [rules] [EVERY [FIRST]]   KTT's tuning space on an RTX 2080 Ti
//! evaluate [ablate] published [PTXAS]                 times of corpus kernels, capability 5.0 on
//! ```
//!
//! `ablate` takes parts of the simulation away instead of asking other models. `coulomb` has the
//! committed machine code, or the rules, and each EVERY-th configuration from FIRST on. `published`
//! has machine code of PTXAS, or the rules. Each line is
//! `case,model or variant,measured ms,predicted ms`. A table of errors and ranks follows.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "it is a program for its authors"
)]

mod ptxas;
#[expect(dead_code, reason = "the counters are for tests")]
#[path = "../../tests/coulomb/space.rs"]
mod space;
mod variants;
mod whole;

use std::collections::BTreeMap;

use gpucast_counters::KernelProfile;
use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::run::sources::{Counts, Source};
use gpucast_forecast::settings::{MachineChoice, MachineSettings};
use gpucast_forecast::{Alone, Kernel, LaunchOptions, Supervisor, published};
use gpucast_model::agreement::{Pair, Summary, rank_correlation};
use gpucast_model::gpu::Clock;
use gpucast_model::sm_simulation::Invocations;
use gpucast_model::{
    ComponentThroughput, Conditions, Detail, Gpu, HierarchicalRoofline, Model, Prediction,
    QuantitativeRoofline, SmSimulation, Timing,
};

use ptxas::Ptxas;
use space::{Committed, SIDE};
use variants::Without;

/// The clock that KTT's counters tell: cycles over time.
const COULOMB_CLOCK: Clock = Clock::Megahertz(1345.0);

/// The part of the grid that is executed; the rest is like it.
#[derive(Clone, Copy)]
struct Part {
    planes: u32,
    rows: u32,
}

impl Part {
    /// The L1 of each SM fetches the atoms once. Of this many threads that is a small part.
    const USUAL: Self = Self { planes: 32, rows: 64 };
    /// Where results are in local memory, the resident threads compete for the caches: there must
    /// be more threads than fit at once.
    const LOCAL_MEMORY: Self = Self { planes: 64, rows: SIDE };

    /// Parts of the grid.
    fn count(self) -> u32 {
        SIDE / self.planes * (SIDE / self.rows)
    }
}

/// Pairs by model or variant, in the order of their first case.
#[derive(Default)]
struct Results {
    /// True if parts of the simulation are taken away, instead of asking other models.
    ablates: bool,
    names: Vec<String>,
    pairs: BTreeMap<String, Vec<Pair>>,
}

impl Results {
    fn add(&mut self, case: &str, name: &str, measured: f64, predicted: f64) {
        println!("{case},{name},{measured},{predicted}");
        if !self.names.iter().any(|one| one == name) {
            self.names.push(name.to_owned());
        }
        self.pairs.entry(name.to_owned()).or_default().push(Pair { predicted, measured });
    }

    /// The simulation on one launch, and its variants or the other models.
    fn of_launch(
        &mut self,
        case: &str,
        measured_ms: f64,
        gpu: &Gpu,
        profile: &KernelProfile,
        conditions: &Conditions,
    ) {
        let others: &[&dyn Model] = match self.ablates {
            true => &[],
            false => &[&HierarchicalRoofline, &ComponentThroughput, &QuantitativeRoofline],
        };
        match SmSimulation.predict(profile, gpu, conditions) {
            Ok(prediction) => {
                self.add(case, SmSimulation.name(), measured_ms, prediction.time_ms);
                if self.ablates {
                    self.of_variants(case, measured_ms, gpu, &prediction, conditions);
                }
            }
            Err(error) => eprintln!("{case}: {error}"),
        }
        for model in others {
            match model.predict(profile, gpu, conditions) {
                Ok(prediction) => self.add(case, model.name(), measured_ms, prediction.time_ms),
                Err(error) => eprintln!("{case}: {error}"),
            }
        }
    }

    fn of_variants(
        &mut self,
        case: &str,
        measured_ms: f64,
        gpu: &Gpu,
        whole: &Prediction,
        conditions: &Conditions,
    ) {
        let Detail::Simulation(analysis) = &whole.detail else { return };
        // The way of measuring adds the same to each variant.
        let fixed_ms = whole.time_ms - analysis.time_ms();
        let parameters = gpu.sm_parameters().unwrap();
        let invocations = conditions.simulation.iter().flat_map(|all| all.iter());
        for without in Without::ALL {
            let clocks = |one: &Invocations| {
                let of_one = without.clocks(&one.launch, analysis.resident_ctas, &parameters);
                one.count as f64 * of_one
            };
            let clocks: f64 = invocations.clone().map(clocks).sum();
            let time_ms = clocks / (analysis.clock_mhz * 1e3) + fixed_ms;
            self.add(case, without.name(), measured_ms, time_ms);
        }
    }

    fn print(&self) {
        println!("\n| | times | mean % | median % | within 10 % | within 25 % | ranks |");
        println!("|---|--:|--:|--:|--:|--:|--:|");
        for name in &self.names {
            let pairs = &self.pairs[name];
            let Some(summary) = Summary::of(pairs) else { continue };
            println!(
                "| {name} | {} | {:.1} | {:.1} | {:.0} | {:.0} | {:.3} |",
                summary.count,
                100.0 * summary.mean_ape,
                100.0 * summary.median_ape,
                100.0 * summary.within_10_percent,
                100.0 * summary.within_25_percent,
                rank_correlation(pairs).unwrap_or(f64::NAN),
            );
        }
    }
}

fn counts(machine: MachineChoice) -> Counts {
    let machine = MachineSettings { machine, ..MachineSettings::default() };
    Counts { machine, stages: true, order: true, ..Counts::default() }
}

fn counted(
    kernel: &Kernel,
    gpu: &Gpu,
    machine: MachineChoice,
    supervisor: &dyn Supervisor,
) -> Source {
    kernel.count_with(gpu, &counts(machine), supervisor).unwrap().remove(0)
}

fn coulomb(results: &mut Results, machine: MachineChoice, every: usize, first: usize) {
    let library = gpu_argument::library().unwrap();
    let gpu = gpu_argument::find(&library, space::GPU).unwrap().at_clock(COULOMB_CLOCK).unwrap();
    for one in space::measured().iter().skip(first).step_by(every) {
        let configuration = &one.configuration;
        let count = |part: Part| {
            let kernel = configuration.launch(part.planes, part.rows);
            counted(&kernel, &gpu, machine, &Committed)
        };
        let (mut part, mut source) = (Part::USUAL, count(Part::USUAL));
        if source.profile.metrics["local_store_transactions"].value.as_f64() > 0.0 {
            part = Part::LOCAL_MEMORY;
            source = count(part);
        }
        let (profile, mut conditions) = whole::of_part(&source, part.count());
        conditions.timing = Some(Timing::Events);
        let [x, y] = configuration.block;
        let case = format!("{} {x}x{y}", configuration.kernel());
        results.of_launch(&case, one.duration_us / 1e3, &gpu, &profile, &conditions);
    }
}

/// The least compute capability of the GPUs whose published times are compared.
const LEAST_MAJOR: u32 = 5;

fn of_publications(results: &mut Results, machine: MachineChoice, supervisor: &dyn Supervisor) {
    let library = gpu_argument::library().unwrap();
    for time in published::times() {
        let Some(entry) = time.entry else { continue };
        let gpu = gpu_argument::find(&library, &time.gpu).unwrap();
        let capability = gpu.compute_capability.as_ref().map(|capability| capability.value.major);
        if capability.is_none_or(|major| major < LEAST_MAJOR) {
            continue;
        }
        let gpu = gpu_argument::at_clock(gpu, time.clock).unwrap();
        let kernel = Kernel::open(entry, &LaunchOptions::default()).unwrap();
        let source = counted(&kernel, &gpu, machine, supervisor);
        let conditions = Conditions { timing: time.timing, ..source.conditions };
        let case = format!("{entry} {}", time.gpu);
        results.of_launch(&case, time.measured_ms, &gpu, &source.profile, &conditions);
    }
}

const USAGE: &str =
    "usage: evaluate [ablate] coulomb [rules] [EVERY [FIRST]] | [ablate] published [PTXAS]";

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut results = Results { ablates: words.first() == Some(&"ablate"), ..Results::default() };
    words.drain(..usize::from(results.ablates));
    match words.split_first() {
        Some((&"coulomb", rest)) => {
            let (machine, rest) = match rest {
                ["rules", rest @ ..] => (MachineChoice::Rules, rest),
                rest => (MachineChoice::Ptxas, rest),
            };
            let number = |word: &&str| word.parse::<usize>().map_err(|_| USAGE.to_owned());
            let numbers = rest.iter().map(number).collect::<Result<Vec<usize>, String>>()?;
            let every = numbers.first().copied().unwrap_or(1).max(1);
            coulomb(&mut results, machine, every, numbers.get(1).copied().unwrap_or(0));
        }
        Some((&"published", [])) => of_publications(&mut results, MachineChoice::Rules, &Alone),
        Some((&"published", [path])) => {
            of_publications(&mut results, MachineChoice::Ptxas, &Ptxas::at(path));
        }
        _ => return Err(USAGE.to_owned()),
    }
    results.print();
    Ok(())
}
