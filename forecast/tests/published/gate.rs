//! No set of measured times may be predicted worse than `docs/evidence/predicted-times.csv` says.

use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::published::{self, Published};
use gpucast_forecast::settings::MachineChoice;
use gpucast_forecast::{Alone, Kernel, LaunchOptions};
use gpucast_model::{Conditions, Model, Needs, SmSimulation};

use super::common::counts;
use super::times::{Time, from_csv};

/// Kernels that are counted in a fraction of a second; `evaluate record` takes all.
const QUICK: [&str; 8] = [
    "copy-16",
    "copy-shared-16",
    "transpose-padded-16",
    "transpose-unpadded-16",
    "transpose-direct-16",
    "sgemm-320",
    "copy-few-blocks",
    "n-body",
];

/// A set's mean error may grow by this much: two points.
const MOST_WORSE: f64 = 0.02;

/// The time that the simulation predicts today, by rules.
fn predicted_ms(time: &Published) -> f64 {
    let library = gpu_argument::library().unwrap();
    let gpu = gpu_argument::find(&library, &time.gpu).unwrap();
    let gpu = gpu_argument::at_clock(gpu, time.clock).unwrap();
    let options = LaunchOptions { param: time.parameters.clone(), ..LaunchOptions::default() };
    let kernel = Kernel::open(time.entry.unwrap(), &options).unwrap();
    let counts = counts(MachineChoice::Rules, Needs::ORDER);
    let source = kernel.count_with(&gpu, &counts, &Alone).unwrap().remove(0);
    let conditions = Conditions { timing: time.timing, ..source.conditions };
    SmSimulation.time_ms(&source.profile, &gpu, &conditions).unwrap()
}

#[test]
fn no_set_of_measured_times_is_predicted_worse_than_its_table_says() {
    let table = from_csv(include_str!("../../../docs/evidence/predicted-times.csv"));
    let here = published::measured_here();
    let known: Vec<&Published> = published::times().iter().chain(&here).collect();
    let stored = |time: &Published| -> Option<&Time> {
        let label = time.label().replace(',', ";");
        table.iter().find(|row| {
            (row.set.as_str(), row.machine, row.gpu.as_str()) == (time.set, "rules", &time.gpu)
                && row.kernel == label
        })
    };
    let mut sets: Vec<&str> = known.iter().map(|time| time.set).collect();
    sets.dedup();
    let mut compared = 0;
    for set in sets {
        let (mut before, mut now, mut times) = (0.0, 0.0, 0.0);
        let quick = |time: &&&Published| time.set == set && QUICK.contains(&&*time.kernel);
        for time in known.iter().filter(quick) {
            let Some(row) = stored(time) else { continue };
            let error = |predicted: f64| (predicted / row.measured_ms - 1.0).abs();
            before += error(row.predicted_ms[0].unwrap());
            now += error(predicted_ms(time));
            times += 1.0;
            compared += 1;
        }
        assert!(
            now <= before + MOST_WORSE * times,
            "{set}: the mean error of {times} times is {:.1} %, and was {:.1} %. If a mechanism \
             makes up for it elsewhere, `evaluate record` writes the table anew",
            100.0 * now / times,
            100.0 * before / times
        );
    }
    assert!(compared >= 20, "{compared} times");
}
