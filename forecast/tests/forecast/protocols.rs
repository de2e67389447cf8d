//! Protocols of measurements: what a launch finds in the L2, and what a stopwatch stands around.

use std::sync::Mutex;

use gpucast_counters::LaunchProfile;
use gpucast_counters::hierarchy::DIRTY_SHARE;
use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::choice::model_choice::Models;
use gpucast_forecast::prediction::together;
use gpucast_forecast::prediction::{KernelView, predict};
use gpucast_forecast::run::counting::{Counted, Extras};
use gpucast_forecast::run::module;
use gpucast_forecast::run::sources::{self, CountingGpu, Counts};
use gpucast_forecast::settings::{CacheChoice, MachineChoice, MachineSettings};
use gpucast_forecast::{Alone, Kernel, LaunchOptions, Supervisor};
use gpucast_model::{AskedTiming, Gpu, Needs, Timing};

use crate::common::{COPY, counted, counted_with, launch_file};

const LAUNCH: &str = "[[launch]]\nkernel = \"copy\"\nargs = [\"in\", \"out\"]\n";

/// A launch file: `head`, and `launches` copies of as many words.
fn copies(head: &str, words: usize, launches: usize, more: &str) -> Kernel {
    let buffer = |name: &str, init: &str| {
        format!("[buffers.{name}]\ntype = \"u32\"\nlen = {words}\ninit = \"{init}\"\n")
    };
    let shape = format!("grid = [{}, 1, 1]\nblock = [256, 1, 1]\n{more}", words / 256);
    let launch = format!("{LAUNCH}{shape}");
    let buffers = buffer("in", "iota") + &buffer("out", "zero");
    let text = format!("{head}\n{buffers}{}", launch.repeat(launches));
    launch_file(COPY, &text, &LaunchOptions::default()).unwrap()
}

/// 1 MiB of words: with its copy they fit an A100's L2.
const FEW: usize = 1 << 18;
/// 32 MiB: in and out are 64 MiB, and the L2 has 40.
const MANY: usize = 1 << 23;
const GPU: &str = "a100-sxm-40gb";

fn count(kernel: &Kernel) -> Vec<Counted> {
    counted(kernel, GPU, CacheChoice::Full)
}

fn sectors(profile: &LaunchProfile, name: &str) -> f64 {
    profile.metrics[name].value.as_f64()
}

fn traffic(counted: &Counted) -> [f64; 2] {
    ["dram_read_transactions", "dram_write_transactions"]
        .map(|name| sectors(&counted.profile, name))
}

fn gpu() -> Gpu {
    gpu_argument::find(&gpu_argument::library().unwrap(), GPU).unwrap()
}

#[test]
fn a_repeated_launch_counts_as_the_second_of_two() {
    // Nothing stays of data that do not fit the L2.
    for (words, fits) in [(FEW, true), (MANY, false)] {
        let [first, second] = count(&copies("", words, 2, "")).try_into().ok().unwrap();
        let [repeated] = count(&copies("l2 = \"repeated\"", words, 1, "")).try_into().ok().unwrap();
        assert_eq!(repeated.profile.metrics, second.profile.metrics);
        assert_eq!(repeated.profile.metrics != first.profile.metrics, fits);
        assert_eq!(repeated.profile.invocations, 1);
    }
}

/// A loop around two launches: each finds what the other one left, and both left something before.
#[test]
fn a_loop_around_two_launches_counts_as_the_third_and_the_fourth() {
    let all = count(&copies("", MANY, 4, ""));
    let repeated = count(&copies("l2 = \"repeated\"", MANY, 2, ""));
    assert_eq!(repeated.len(), 2);
    for (one, other) in repeated.iter().zip(&all[2..]) {
        assert_eq!(one.profile.metrics, other.profile.metrics);
    }
}

#[test]
fn data_that_fit_the_l2_are_read_and_written_no_more() {
    let [kept] = count(&copies("", FEW, 1, "")).try_into().ok().unwrap();
    let [repeated] = count(&copies("l2 = \"repeated\"", FEW, 1, "")).try_into().ok().unwrap();
    let words = FEW as f64;
    assert_eq!(traffic(&kept), [words / 8.0; 2]);
    assert_eq!(traffic(&repeated), [0.0; 2]);
    // All of what it writes stays dirty, as it was before.
    assert_eq!(sectors(&repeated.profile, "l2_dirty_sectors"), words / 8.0);
    // Each of several in a row is the same.
    let [often] =
        count(&copies("l2 = \"repeated\"", FEW, 1, "repeat = 5\n")).try_into().ok().unwrap();
    assert_eq!(often.profile.invocations, 5);
    assert_eq!(traffic(&often), [0.0; 2]);
}

/// What a host sends and fetches is that of the first execution, which finds the buffers as they
/// are stated.
#[test]
fn a_rehearsal_changes_no_transfers() {
    let transfers = |l2: &str| {
        let file = copies(&format!("l2 = \"{l2}\""), FEW, 2, "repeat = 2\n");
        let text = |counted: &Counted| {
            let transfers = counted.transfers.unwrap();
            (transfers.dispatch_bytes, transfers.collect_bytes)
        };
        let extras = Extras { transfers: true, ..Extras::default() };
        let counted = counted_with(&file, GPU, CacheChoice::Full, extras, &Alone);
        counted.iter().map(text).collect::<Vec<_>>()
    };
    let bytes = 4 * FEW as u64;
    // The copy is sent and comes back; the second launch finds it there, and changes nothing.
    assert_eq!(transfers("keep"), [(bytes, bytes), (2 * bytes, 0)]);
    assert_eq!(transfers("repeated"), transfers("keep"));
}

/// Counts what kernels print.
#[derive(Default)]
struct Heard(Mutex<Vec<u8>>);

impl Supervisor for Heard {
    fn print(&self, text: &[u8]) {
        self.0.lock().unwrap().extend_from_slice(text);
    }
}

#[test]
fn nobody_hears_of_a_rehearsal() {
    let ptx = include_str!("../../../tests/inputs/talk.ptx");
    let heard = |l2: &str| {
        let text = format!(
            "l2 = \"{l2}\"\n[[launch]]\nkernel = \"talk\"\ngrid = [1, 1, 1]\nblock = [3, 1, 1]\n\
             args = []\n"
        );
        let file = launch_file(ptx, &text, &LaunchOptions::default()).unwrap();
        let heard = Heard::default();
        counted_with(&file, GPU, CacheChoice::Full, Extras::default(), &heard);
        String::from_utf8(heard.0.into_inner().unwrap()).unwrap()
    };
    assert_eq!(heard("keep").lines().count(), 3);
    assert_eq!(heard("repeated"), heard("keep"));
}

#[test]
fn data_that_are_far_larger_than_the_l2_are_read_anew_but_for_what_it_holds() {
    let gpu = gpu();
    let l2_sectors = gpu.number("l2_size").unwrap() / 32.0;
    let words = 2 * MANY;
    let [cold] = count(&copies("l2 = \"cold\"", words, 1, "")).try_into().ok().unwrap();
    let [repeated] = count(&copies("l2 = \"repeated\"", words, 1, "")).try_into().ok().unwrap();
    let [cold_reads, _] = traffic(&cold);
    let [reads, writes] = traffic(&repeated);
    assert_eq!(cold_reads, words as f64 / 8.0);
    assert!(reads <= cold_reads && reads >= cold_reads - l2_sectors, "{reads} of {cold_reads}");
    // It writes as much as it dirties: what the launch before left, and not what it leaves.
    let dirtied = words as f64 / 8.0;
    assert!((writes / dirtied - 1.0).abs() < 0.05, "{writes} of {dirtied}");
}

#[test]
fn a_flush_by_a_fill_leaves_dirty_lines_that_the_launch_writes() {
    let gpu = gpu();
    let l2_sectors = gpu.number("l2_size").unwrap() / 32.0;
    let words = 4 * MANY;
    let [cold] = count(&copies("l2 = \"cold\"", words, 1, "")).try_into().ok().unwrap();
    let [flushed] = count(&copies("l2 = \"overwritten\"", words, 1, "")).try_into().ok().unwrap();
    assert_eq!(traffic(&flushed)[0], traffic(&cold)[0]);
    // What is dirty when it begins is written or still there when it ends, as its own is.
    let dirtied = |one: &Counted| traffic(one)[1] + sectors(&one.profile, "l2_dirty_sectors");
    let before = dirtied(&flushed) - dirtied(&cold);
    let dirty = DIRTY_SHARE * l2_sectors;
    assert!((before / dirty - 1.0).abs() < 0.02, "{before} of {dirty}");
    assert!(traffic(&flushed)[1] > traffic(&cold)[1]);
    // Few lines push few out of a full cache.
    let [few] = count(&copies("l2 = \"overwritten\"", FEW, 1, "")).try_into().ok().unwrap();
    assert_eq!(traffic(&few)[0], FEW as f64 / 8.0);
    assert!(traffic(&few)[1] <= 2.0 * FEW as f64 / 8.0);
}

#[test]
fn several_gpus_count_a_repeated_launch_as_each_alone() {
    let kernel = copies("l2 = \"repeated\"", FEW, 2, "");
    let loaded = module::load(kernel.plan()).unwrap();
    let library = gpu_argument::library().unwrap();
    let gpus = ["a100-sxm-40gb", "h100-sxm", "titan-v"]
        .map(|name| gpu_argument::find(&library, name).unwrap());
    let machine = MachineSettings { machine: MachineChoice::Rules, ..MachineSettings::default() };
    let counts = Counts { machine, needs: Needs::ORDER, ..Counts::default() };
    let on = gpus.each_ref().map(|gpu| CountingGpu { gpu, needs: Needs::ORDER });
    let each = sources::launched_each(kernel.plan(), &loaded, &on, &counts, &Alone);
    for (gpu, together) in gpus.iter().zip(each) {
        let alone = sources::launched(kernel.plan(), &loaded, gpu, &counts, &Alone).unwrap();
        let together = together.unwrap();
        assert_eq!((alone.len(), together.len()), (2, 2));
        for (one, other) in alone.iter().zip(&together) {
            assert_eq!(one.counted.profile.metrics, other.counted.profile.metrics, "{}", gpu.name);
            let simulated = &one.source.conditions.evidence.simulation;
            assert_eq!(simulated.as_ref().map(|all| all.len()), Some(1));
            let other = &other.source.conditions.evidence.simulation;
            assert_eq!(format!("{simulated:?}"), format!("{other:?}"), "{}", gpu.name);
        }
    }
}

/// The launches of a kernel as a way of measuring shows them.
fn views(kernel: &Kernel, gpu: &Gpu, timing: AskedTiming) -> Vec<KernelView> {
    let machine = MachineSettings { machine: MachineChoice::Rules, ..MachineSettings::default() };
    let counts = Counts { machine, needs: Needs::ORDER, ..Counts::default() };
    let mut sources = kernel.count_with(gpu, &counts, &Alone).unwrap();
    let models = Models::read(&["sm-simulation".to_owned()], &[]).unwrap();
    let launches = sources.len();
    let view = |(launch, source): (usize, &mut sources::Source)| {
        source.ask(timing);
        let view = predict(&models, source, std::slice::from_ref(gpu), None, &[]).unwrap();
        KernelView { launch, launches, ..view }
    };
    sources.iter_mut().enumerate().map(view).collect()
}

#[test]
fn one_pair_of_events_around_all_launches_is_their_sum_with_gaps_and_one_fixed_part() {
    let gpu = gpu()
        .with_overrides(&[
            ("event_overhead", "4 us"),
            ("launch_gap", "1 us"),
            ("launch_overhead", "1 us"),
        ])
        .unwrap();
    let kernel = copies("", FEW, 3, "");
    let times = |timing| -> Vec<f64> {
        let views = views(&kernel, &gpu, timing);
        views.iter().map(|view| view.predictions[0].prediction.time_ms).collect()
    };
    let alone = times(AskedTiming::Kernel);
    let total = |timing| {
        let views = views(&kernel, &gpu, timing);
        let [total] = together::totals(&views).try_into().unwrap();
        let [low, high] = total.interval_ms.unwrap();
        assert!(low < total.time_ms && total.time_ms < high);
        (total.time_ms, [low, high], views)
    };
    let near = |value: f64, expected: f64| {
        assert!((value - expected).abs() < 1e-9, "{value} for {expected}")
    };
    let sum: f64 = alone.iter().sum();
    let (events, interval, of_events) = total(AskedTiming::As(Timing::Events));
    near(events, sum + 0.004 + 2.0 * 0.001);
    // One by one, each launch has a pair of its own.
    for (one, alone) in times(AskedTiming::As(Timing::Events)).iter().zip(&alone) {
        near(*one, alone + 0.004);
    }
    // All launches are as far from their ends as one of them is, or between two of them.
    let factors = of_events.iter().map(|view| {
        let prediction = &view.predictions[0].prediction;
        prediction.interval.as_ref().unwrap().low_ms / prediction.time_ms
    });
    let [least, most] = factors
        .fold([f64::MAX, 0.0], |[least, most], factor: f64| [least.min(factor), most.max(factor)]);
    let factor = interval[0] / events;
    assert!(least - 1e-12 <= factor && factor <= most + 1e-12, "{least} {factor} {most}");
    let (stream, _, _) = total(AskedTiming::As(Timing::BackToBack));
    near(stream, sum + 3.0 * 0.001);
    let (kernels, _, views) = total(AskedTiming::Kernel);
    near(kernels, sum);
    assert_eq!(
        views[0].predictions[0].measured_as.text(),
        "the kernel alone, on the L2 as earlier launches of this run left it (keep)"
    );
}

#[test]
fn a_launch_file_names_its_protocol_and_an_option_wins_over_it() {
    let kernel = copies("l2 = \"repeated\"\ntiming = \"graph\"", FEW, 1, "");
    assert_eq!(kernel.plan().timing, Some(Timing::Graph));
    let shown = |timing| {
        let [view] = views(&kernel, &gpu(), timing).try_into().ok().unwrap();
        let one = &view.predictions[0];
        (one.measured_as.text(), one.prediction.time_ms)
    };
    let (words, graph_ms) = shown(AskedTiming::OfFile);
    assert_eq!(words, "graph, on the L2 as the same launches left it (repeated)");
    let (words, alone_ms) = shown(AskedTiming::Kernel);
    assert_eq!(words, "the kernel alone, on the L2 as the same launches left it (repeated)");
    assert!(graph_ms > alone_ms);
    let (words, events_ms) = shown(AskedTiming::As(Timing::Events));
    assert!(words.starts_with("events, "), "{words}");
    assert!(events_ms > graph_ms);
}
