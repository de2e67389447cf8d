//! What the simulation of an SM costs for each kernel of the corpus, at full size.
//!
//! Times are CPU seconds of this process, so other work on the machine disturbs them little.

use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::run::sources::Counts;
use gpucast_forecast::settings::MachineChoice;
use gpucast_forecast::{Alone, Kernel, LaunchOptions};
use gpucast_model::Needs;
use gpucast_simulation::{Limits, simulate};
use rustix::time::{ClockId, clock_gettime};

use super::{Choice, counts, resident_ctas};

/// The GPU that is counted for and simulated.
const GPU: &str = "a100-sxm-80gb";

/// Prints a line per kernel: counting alone, counting with the order of events recorded, and one
/// simulation of all its launches.
pub(crate) fn print(choice: Choice) {
    let library = gpu_argument::library().unwrap();
    let gpu = gpu_argument::find(&library, GPU).unwrap();
    let parameters = gpu.sm_parameters().unwrap();
    let without = Counts { needs: Needs::STAGES, ..counts(MachineChoice::Rules) };
    println!("kernel,counted_s,recorded_s,simulated_s");
    let (mut shares, mut simulations) = (Vec::new(), Vec::new());
    for entry in gpucast_corpus::entries().iter().skip(choice.first).step_by(choice.every) {
        let kernel = Kernel::open(entry.name, &LaunchOptions::default()).unwrap();
        let counted = seconds(|| kernel.count_with(&gpu, &without, &Alone).unwrap().remove(0)).0;
        let with = counts(MachineChoice::Rules);
        let (recorded, source) =
            seconds(|| kernel.count_with(&gpu, &with, &Alone).unwrap().remove(0));
        let resident = resident_ctas(&gpu, &source.conditions);
        let simulated = seconds(|| {
            for one in source.conditions.evidence.simulation.iter().flat_map(|all| all.iter()) {
                std::hint::black_box(simulate(
                    &one.launch,
                    resident,
                    &parameters,
                    Limits::default(),
                ));
            }
        })
        .0;
        println!("{},{counted:.3},{recorded:.3},{simulated:.3}", entry.name);
        shares.push(recorded / counted);
        simulations.push(simulated);
    }
    let quick = simulations.iter().filter(|&&one| one <= 0.05).count();
    println!("\n{quick} of {} kernels within 50 ms", simulations.len());
    if let (Some(recording), Some(simulation)) = (spread(shares), spread(simulations)) {
        println!("recording: median {:.2} ×, most {:.2} ×", recording.0, recording.1);
        println!("simulation: median {:.3} s, most {:.3} s", simulation.0, simulation.1);
    }
}

/// The median and the greatest.
fn spread(mut values: Vec<f64>) -> Option<(f64, f64)> {
    values.sort_by(f64::total_cmp);
    Some((*values.get(values.len() / 2)?, *values.last()?))
}

/// The CPU seconds that something takes, and its result.
fn seconds<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let now = || {
        let time = clock_gettime(ClockId::ProcessCPUTime);
        time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
    };
    let before = now();
    let result = work();
    (now() - before, result)
}
