//! Repeated launches: the first finds caches empty, the others find what it left.

use std::sync::Mutex;

use gpucast_forecast::run::counting::Extras;
use gpucast_forecast::run::sources::Source;
use gpucast_forecast::settings::CacheChoice;
use gpucast_forecast::{Kernel, LaunchOptions, Supervisor};
use gpucast_model::{GpuLibrary, Model, SmSimulation};
use gpucast_simulation::launch::Launch;

use crate::common::{COPY, counted_with, launch_file};

const GPU: &str = "a100-sxm-40gb";

/// Copies as many words of a buffer into another one: `launches` times `repeat` launches.
fn copies(words: u32, launches: usize, repeat: u32) -> Kernel {
    let launch = format!(
        "[[launch]]\nkernel = \"copy\"\ngrid = [{}, 1, 1]\nblock = [256, 1, 1]\n\
         args = [\"in\", \"out\"]\nrepeat = {repeat}\n",
        words / 256
    );
    let buffer = |name| format!("[buffers.{name}]\ntype = \"u32\"\nlen = {words}\n");
    let text = buffer("in") + &buffer("out") + &launch.repeat(launches);
    launch_file(COPY, &text, &LaunchOptions::default()).unwrap()
}

fn counted(repeat: u32) -> Source {
    // 4 MiB in, 4 MiB out: more than all L1 of an A100 hold together, less than its L2.
    let gpu = GpuLibrary::builtin().unwrap().get(GPU).unwrap();
    copies(1 << 20, 1, repeat).count(&gpu).unwrap().remove(0)
}

fn dram_sectors(launch: &Launch) -> u64 {
    let warps =
        launch.classes.iter().flat_map(|class| &class.samples).flat_map(|sample| &sample.warps);
    let requests = warps.flat_map(|warp| &warp.requests).flatten();
    requests.map(|request| u64::from(request.dram_sectors)).sum()
}

fn predicted_ms(source: &Source) -> f64 {
    let gpu = GpuLibrary::builtin().unwrap().get(GPU).unwrap();
    SmSimulation.predict(&source.profile, &gpu, &source.conditions).unwrap().time_ms
}

#[test]
fn later_invocations_are_simulated_with_the_caches_that_they_find() {
    let (once, often) = (counted(1), counted(10));
    let kinds = often.conditions.evidence.simulation.clone().unwrap();
    let counts: Vec<u64> = kinds.iter().map(|kind| kind.count).collect();
    assert_eq!(counts, [1, 9]);
    assert!(dram_sectors(&kinds[0].launch) > 0);
    assert_eq!(dram_sectors(&kinds[1].launch), 0);
    let (cold, all) = (predicted_ms(&once), predicted_ms(&often));
    assert!(all > cold && all < 8.0 * cold, "{all} ms for ten, {cold} ms for one");
}

/// Hears how many CTAs of a launch have run, all repetitions together.
#[derive(Default)]
struct Progress(Mutex<u128>);

impl Supervisor for Progress {
    fn progress(&self, done: u128, _ctas: u128) {
        let mut most = self.0.lock().unwrap();
        *most = (*most).max(done);
    }
}

/// Launches one after the other are each executed. So they say what repetitions count, whether or
/// not these are.
#[test]
fn repetitions_count_as_launches_one_after_the_other() {
    const REPEAT: u32 = 6;
    // With its copy it fits the L2 of an A100 or is larger.
    for words in [1 << 18, 1 << 23] {
        let of = |kernel: &Kernel, heard: &Progress| {
            counted_with(kernel, GPU, CacheChoice::Full, Extras::default(), heard)
        };
        let heard = Progress::default();
        let [repeated] = of(&copies(words, 1, REPEAT), &heard).try_into().ok().unwrap();
        let singles = of(&copies(words, REPEAT as usize, 1), &Progress::default());
        assert_eq!(repeated.profile.invocations, u64::from(REPEAT));
        for (name, metric) in &repeated.profile.metrics {
            let each = singles.iter().map(|single| single.profile.metrics[name].value.as_f64());
            let least = each.clone().fold(f64::INFINITY, f64::min);
            let most = each.clone().fold(f64::NEG_INFINITY, f64::max);
            let mean = each.sum::<f64>() / f64::from(REPEAT);
            let is_mean = (metric.value.as_f64() - mean).abs() <= 1e-12 * mean.abs();
            assert!(is_mean, "{words} words: {name} is {metric:?}, not {mean}");
            let (low, high) = repeated.ranges[name];
            assert_eq!([low.as_f64(), high.as_f64()], [least, most], "{words} words: {name}");
        }
        for (row, table) in repeated.profile.table.rows.iter().enumerate() {
            let sum: u128 =
                singles.iter().map(|one| one.profile.table.rows[row].warp_executions).sum();
            assert_eq!(table.warp_executions, sum);
        }
        let executed = *heard.0.lock().unwrap();
        let ctas = u128::from(words / 256);
        // What fits the L2 leaves it as it finds it from the second time on.
        let expected = if words == 1 << 18 { 2..=3 } else { 2..=u128::from(REPEAT) };
        assert!(expected.contains(&(executed / ctas)), "{words} words: {executed} of {ctas}");
    }
}
