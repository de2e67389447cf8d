//! Times of models beside published ones, and what each part of the simulation is worth.
//!
//! ```text
//! evaluate [ablate] coulomb [EVERY [FIRST]] [rules]         KTT's space on an RTX 2080 Ti
//! evaluate [ablate] published [EVERY [FIRST]] rules|PTXAS   corpus kernels, capability 5.0 on
//! evaluate cost [EVERY [FIRST]]                             CPU seconds for the corpus
//! evaluate record rules|PTXAS [SET]...                      the committed table of times, anew
//! evaluate tables                                           what follows from that table
//! ```
//!
//! `record` writes `docs/evidence/predicted-times.csv`, and then what `tables` writes: quantiles of
//! errors behind intervals, and the scoreboard. A SET is `thesis`, `published`, `coulomb`, or a
//! set of `corpus/measured`; without one all are taken.
//!
//! `ablate` takes parts of the simulation away instead of asking other models. `coulomb` has the
//! committed machine code unless it is told `rules`; `published` has that of the assembler PTXAS.
//! Numbers take each EVERY-th time from FIRST on. A line is
//! `case,model or variant,measured ms,predicted ms`. A table of errors and ranks follows.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "it is a program for its authors"
)]

mod cost;
mod ptxas;
mod record;
#[path = "../../tests/published/scoreboard.rs"]
mod scoreboard;
#[expect(dead_code, reason = "the counters are for tests")]
#[path = "../../tests/coulomb/space.rs"]
mod space;
#[path = "../../tests/published/times.rs"]
mod times;
mod variants;
mod whole;

use std::collections::BTreeMap;

use gpucast_counters::KernelProfile;
use gpucast_counters::occupancy::CtaShape;
use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::run::sources::{Counts, Source};
use gpucast_forecast::settings::{MachineChoice, MachineSettings};
use gpucast_forecast::{Alone, Kernel, LaunchOptions, Supervisor, published};
use gpucast_model::agreement::{Pair, Summary, rank_correlation};
use gpucast_model::gpu::Clock;
use gpucast_model::{
    ComponentThroughput, Conditions, Gpu, HierarchicalRoofline, Interval, Model, Needs,
    QuantitativeRoofline, SmSimulation, Timing,
};
use gpucast_simulation::launch::Launch;
use gpucast_simulation::{Limits, simulate};

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
        if !self.names.iter().any(|known| known == name) {
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
        let (variants, others): (&[Without], &[&dyn Model]) = match self.ablates {
            true => (&Without::ALL, &[]),
            false => (
                &[],
                &[&Interval, &HierarchicalRoofline, &ComponentThroughput, &QuantitativeRoofline],
            ),
        };
        let invocations = conditions.evidence.simulation.as_ref().unwrap();
        let parameters = gpu.sm_parameters().unwrap();
        let resident = resident_ctas(gpu, conditions);
        // A prediction would also rerun the simulation at both ends of its interval.
        let mut add = |name: &str, clocks: &dyn Fn(&Launch) -> f64| {
            let all: f64 = invocations
                .iter()
                .map(|invocation| invocation.count as f64 * clocks(&invocation.launch))
                .sum();
            let kernel_ms = all / (parameters.sp_clock * 1e3);
            let launches = profile.invocations.max(1);
            let each_ms = kernel_ms / launches as f64;
            let added = |timing: Timing| timing.added_to_each_ms(gpu, each_ms, launches).unwrap();
            let added_ms = conditions.timing.map_or(0.0, added);
            self.add(case, name, measured_ms, kernel_ms + added_ms);
        };
        add(SmSimulation.name(), &|launch| {
            simulate(launch, resident, &parameters, Limits::default()).clocks
        });
        for without in variants {
            add(without.name(), &|launch| without.clocks(launch, resident, &parameters));
        }
        for model in others {
            match model.predict(profile, gpu, conditions) {
                Ok(prediction) => self.add(case, model.name(), measured_ms, prediction.time_ms),
                Err(error) => eprintln!("{case}: {error}"),
            }
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

/// CTAs that an SM holds.
fn resident_ctas(gpu: &Gpu, conditions: &Conditions) -> u32 {
    let shape = conditions.launch.unwrap();
    let device = gpu_argument::device_model(gpu).unwrap();
    let fit = device.ctas_per_sm(CtaShape {
        threads: shape.threads_per_block,
        shared_bytes: shape.shared_bytes,
        registers_per_thread: shape.registers,
    });
    fit.max(1)
}

fn counts(machine: MachineChoice) -> Counts {
    let machine = MachineSettings { machine, ..MachineSettings::default() };
    Counts { machine, needs: Needs::STAGES | Needs::ORDER, ..Counts::default() }
}

fn counted(
    kernel: &Kernel,
    gpu: &Gpu,
    machine: MachineChoice,
    supervisor: &dyn Supervisor,
) -> Source {
    kernel.count_with(gpu, &counts(machine), supervisor).unwrap().remove(0)
}

fn coulomb(results: &mut Results, machine: MachineChoice, choice: Choice) {
    for one in space::measured().iter().skip(choice.first).step_by(choice.every) {
        let (case, gpu, profile, conditions) = coulomb_launch(one, machine, &Committed);
        results.of_launch(&case, one.duration_us / 1e3, &gpu, &profile, &conditions);
    }
}

/// The name, GPU, counts and conditions of a configuration's whole launch.
fn coulomb_launch(
    one: &space::Measured,
    machine: MachineChoice,
    supervisor: &dyn Supervisor,
) -> (String, Gpu, KernelProfile, Conditions) {
    let library = gpu_argument::library().unwrap();
    let gpu = gpu_argument::find(&library, space::GPU).unwrap().at_clock(COULOMB_CLOCK).unwrap();
    let configuration = &one.configuration;
    let count = |part: Part| {
        let kernel = configuration.launch(part.planes, part.rows);
        counted(&kernel, &gpu, machine, supervisor)
    };
    let (mut part, mut source) = (Part::USUAL, count(Part::USUAL));
    if source.profile.metrics["local_store_transactions"].value.as_f64() > 0.0 {
        part = Part::LOCAL_MEMORY;
        source = count(part);
    }
    let (profile, mut conditions) = whole::of_part(&source, part.count());
    conditions.timing = Some(Timing::Events);
    let [x, y] = configuration.block;
    (format!("{} {x}x{y}", configuration.kernel()), gpu, profile, conditions)
}

/// The least compute capability of the GPUs whose published times are compared.
const LEAST_MAJOR: u32 = 5;

fn of_publications(
    results: &mut Results,
    machine: MachineChoice,
    supervisor: &dyn Supervisor,
    choice: Choice,
) {
    let library = gpu_argument::library().unwrap();
    let gpu = |time: &published::Published| gpu_argument::find(&library, &time.gpu).unwrap();
    let is_meant = |time: &&published::Published| {
        let major = |gpu: Gpu| gpu.compute_capability.map(|capability| capability.value.major);
        time.entry.is_some() && major(gpu(time)).is_some_and(|major| major >= LEAST_MAJOR)
    };
    let times = published::times().iter().filter(is_meant);
    for time in times.skip(choice.first).step_by(choice.every) {
        let gpu = gpu_argument::at_clock(gpu(time), time.clock).unwrap();
        let options = LaunchOptions { param: time.parameters.clone(), ..LaunchOptions::default() };
        let kernel = Kernel::open(time.entry.unwrap(), &options).unwrap();
        let source = counted(&kernel, &gpu, machine, supervisor);
        let conditions = Conditions { timing: time.timing, ..source.conditions };
        let case = format!("{} {}", time.label(), time.gpu);
        results.of_launch(&case, time.measured_ms, &gpu, &source.profile, &conditions);
    }
}

/// Which of the published times are taken: each `every`-th from `first` on.
#[derive(Clone, Copy)]
struct Choice {
    every: usize,
    first: usize,
}

impl Choice {
    /// Takes up to two leading numbers from words.
    fn take(words: &mut &[&str]) -> Self {
        let mut next = || {
            let number = words.first()?.parse().ok()?;
            *words = &words[1..];
            Some(number)
        };
        let (every, first) = (next(), next());
        Self { every: every.unwrap_or(1).max(1), first: first.unwrap_or(0) }
    }
}

const USAGE: &str = "usage: evaluate [ablate] coulomb|published|cost [EVERY [FIRST]] [rules|PTXAS]\n\
                             evaluate record rules|PTXAS [SET]...\n       evaluate tables";

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let ablates = words.first() == Some(&"ablate");
    let mut results = Results { ablates, ..Results::default() };
    let (set, mut rest) =
        words[usize::from(ablates)..].split_first().ok_or_else(|| USAGE.to_owned())?;
    match (*set, rest) {
        ("record", [back_end, sets @ ..]) => {
            record::record(back_end, sets);
            return Ok(());
        }
        ("tables", []) => {
            record::tables();
            return Ok(());
        }
        _ => {}
    }
    let choice = Choice::take(&mut rest);
    let (rules, code) = (MachineChoice::Rules, MachineChoice::Ptxas);
    match (*set, rest) {
        ("cost", []) => {
            cost::print(choice);
            return Ok(());
        }
        ("coulomb", []) => coulomb(&mut results, code, choice),
        ("coulomb", ["rules"]) => coulomb(&mut results, rules, choice),
        ("published", ["rules"]) => of_publications(&mut results, rules, &Alone, choice),
        ("published", [path]) => of_publications(&mut results, code, &Ptxas::at(path), choice),
        _ => return Err(USAGE.to_owned()),
    }
    results.print();
    Ok(())
}
