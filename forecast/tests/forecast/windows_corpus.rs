//! Windows of the corpus's launches: how often their intervals hold what all requests give.
//!
//! Launches of the corpus that are too small for windows are enlarged. By default two launches are
//! tried on one GPU. `GPUCAST_WINDOWS=all` tries all of them on three GPUs:
//!
//! ```sh
//! GPUCAST_WINDOWS=all cargo test --release -p gpucast-forecast --test forecast windows_corpus -- \
//!     --nocapture
//! ```

#![allow(clippy::print_stdout, reason = "the rows of a table of docs/counting.md")]

use std::path::Path;

use gpucast_counters::{Kind, LaunchProfile, WindowSizes};
use gpucast_forecast::settings::CacheChoice;
use gpucast_forecast::{Kernel, LaunchOptions};

use crate::common::{counted, is_nightly};
use crate::windows::on_four_sms;

/// Fermi, Volta and Hopper.
const GPUS: [&str; 3] = ["gtx-480", "titan-v", "h100-sxm"];

/// A launch file of the corpus with other sizes.
struct Enlarged {
    name: &'static str,
    /// What stands in the file, and what stands there instead.
    changes: &'static [(&'static str, &'static str)],
}

const ENLARGED: [Enlarged; 4] = [
    Enlarged {
        name: "vector-add",
        changes: &[("16777216", "67108864"), ("[65536, 1, 1]", "[262144, 1, 1]")],
    },
    Enlarged {
        name: "srad-1",
        changes: &[
            ("4198400", "16785408"),
            ("4194304", "16777216"),
            ("[128, 128, 1]", "[256, 256, 1]"),
            ("s32 = 2048", "s32 = 4096"),
        ],
    },
    Enlarged {
        name: "hotspot3d",
        changes: &[
            ("1048576", "16777216"),
            ("[8, 128, 1]", "[32, 512, 1]"),
            ("s32 = 512", "s32 = 2048"),
            ("repeat = 100", "repeat = 2"),
        ],
    },
    Enlarged {
        name: "merge-sort-first",
        changes: &[("4195852", "33566720"), ("4098", "32780"), ("repeat = 4", "repeat = 1")],
    },
];

/// Launch files with parameters, and sizes that are large enough.
const SIZES: [(&str, &[(&str, f64)]); 4] = [
    ("saxpy-n", &[("n", 1e8)]),
    ("parametric/sgemm", &[("n", 2048.0), ("m", 4096.0)]),
    ("parametric/transpose-square", &[("n", 12_288.0)]),
    ("parametric/stencil", &[("n", 384.0)]),
];

impl Enlarged {
    /// Contents decide nothing here, so that buffers need none.
    fn kernel(&self) -> Kernel {
        let folder =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus/kernels").join(self.name);
        let folder = folder.canonicalize().unwrap();
        let text = std::fs::read_to_string(folder.join("launch.toml")).unwrap();
        let (mut text, _) = text
            .split_once("[[expect]]")
            .map_or((text.clone(), ""), |(one, _)| (one.to_owned(), ""));
        for (from, to) in self.changes {
            assert!(text.contains(from), "{}: {from}", self.name);
            text = text.replace(from, to);
        }
        let module = format!("module = \"{}/sm_35.ptx\"", folder.display());
        text = text.replace("module = \"sm_35.ptx\"", &module);
        let written = tempfile::tempdir().unwrap();
        let path = written.path().join("launch.toml");
        std::fs::write(&path, text).unwrap();
        Kernel::open(path.to_str().unwrap(), &LaunchOptions::default()).unwrap()
    }
}

fn of_size((file, values): (&str, &[(&str, f64)])) -> Kernel {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = path.join("../tests/inputs").join(file).with_extension("toml");
    let param = values.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
    let options = LaunchOptions { param, ..LaunchOptions::default() };
    Kernel::open(path.to_str().unwrap(), &options).unwrap()
}

/// Metrics that depend on caches, of some launches.
#[derive(Default)]
struct Held {
    launches: u32,
    metrics: u32,
    held: u32,
    /// Those that miss the truth by less than a thousandth of it are added to the held ones.
    nearly: u32,
    missed: Vec<String>,
}

impl Held {
    /// Compares a launch, unless all of its requests were replayed.
    fn add(&mut self, name: &str, full: &LaunchProfile, windows: &LaunchProfile) {
        assert_eq!(full.metrics.len(), windows.metrics.len(), "{name}");
        self.launches += 1;
        for (metric, figure) in &full.metrics {
            let (truth, estimate) = (figure.value.as_f64(), windows.metrics[metric]);
            let Some(&[least, most]) = windows.intervals.get(metric) else {
                assert_eq!(figure, &estimate, "{name}: {metric} is counted");
                continue;
            };
            assert_eq!(estimate.kind, Kind::Estimated, "{name}: {metric}");
            assert!((least..=most).contains(&estimate.value.as_f64()), "{name}: {metric}");
            // Nothing is told of what does not occur.
            if [truth, least, most] == [0.0; 3] {
                continue;
            }
            let holds = |about: f64| least - about <= truth && truth <= most + about;
            self.metrics += 1;
            self.held += u32::from(holds(1e-9 * truth));
            self.nearly += u32::from(holds(1e-3 * truth));
            if !holds(1e-9 * truth) {
                self.missed.push(format!("{metric} is {truth}, not {least} to {most}"));
            }
        }
    }

    fn row(&self, name: &str) -> String {
        let percent = |part: u32| 100.0 * f64::from(part) / f64::from(self.metrics.max(1));
        format!(
            "| {name} | {} | {} | {:.1} % | {:.1} % |",
            self.launches,
            self.metrics,
            percent(self.held),
            percent(self.nearly)
        )
    }

    fn take_over(&mut self, other: &Self) {
        self.launches += other.launches;
        self.metrics += other.metrics;
        self.held += other.held;
        self.nearly += other.nearly;
    }
}

#[test]
fn intervals_of_windows_hold_what_all_requests_of_the_corpus_give() {
    let is_whole = std::env::var("GPUCAST_WINDOWS").is_ok_and(|which| which == "all");
    let mut kernels: Vec<(String, Kernel)> = Vec::new();
    if is_whole {
        for entry in gpucast_corpus::entries() {
            let kernel = Kernel::open(entry.name, &LaunchOptions::default()).unwrap();
            kernels.push((entry.name.to_owned(), kernel));
        }
    }
    let (enlarged, sizes) = if is_whole { (ENLARGED.len(), SIZES.len()) } else { (1, 1) };
    for one in &ENLARGED[..enlarged] {
        kernels.push((format!("{}, enlarged", one.name), one.kernel()));
    }
    for &(file, values) in &SIZES[..sizes] {
        kernels.push((format!("{file}, enlarged"), of_size((file, values))));
    }
    let gpus = if is_whole { &GPUS[..] } else { &GPUS[..1] };
    let mut all = Held::default();
    println!("| launches | | metrics | hold | within 0.1 % |");
    for gpu in gpus {
        let mut of_gpu = Held::default();
        for (name, kernel) in &kernels {
            let windows = counted(kernel, gpu, CacheChoice::Windows);
            if !windows.iter().any(|window| window.profile.is_of_windows()) {
                continue;
            }
            let full = counted(kernel, gpu, CacheChoice::Full);
            let mut held = Held::default();
            for (full, windows) in full.iter().zip(&windows) {
                if windows.profile.is_of_windows() {
                    held.add(name, &full.profile, &windows.profile);
                }
            }
            println!("{}", held.row(&format!("{name} on {gpu}")));
            held.missed.iter().for_each(|missed| println!("    {missed}"));
            of_gpu.take_over(&held);
        }
        println!("{}", of_gpu.row(&format!("all on {gpu}")));
        all.take_over(&of_gpu);
    }
    println!("{}", all.row("all"));
    assert!(all.launches > 0);
    assert!(f64::from(all.nearly) >= 0.92 * f64::from(all.metrics), "{}", all.row("all"));
}

/// Kernels of the corpus whose launches differ: streams, products, stencils, trees, tables, sorts,
/// sums into one word, and those that are launched again and again.
const SHORT: [&str; 15] = [
    "cyclic-reduction-regrouped",
    "finite-differences-18",
    "histogram",
    "hotspot3d",
    "kmeans-point",
    "lmsor",
    "matmul-volkov-8",
    "merge-sort-first",
    "nearest-neighbour",
    "reduction-f32",
    "reduction-u32",
    "sgemm",
    "stencil-7pt",
    "transpose-unpadded",
    "vector-add",
];

/// On four SMs, even windows of one wave hold what all requests move, and what a launch leaves does
/// not look like hits to the next one. `GPUCAST_WINDOWS=all` tries the whole corpus, and prints the
/// figures that lie outside their intervals.
#[test]
fn short_windows_of_the_corpus_hold_what_all_requests_move() {
    let is_whole = std::env::var("GPUCAST_WINDOWS").is_ok_and(|which| which == "all");
    let all_names = gpucast_corpus::entries().iter().map(|entry| entry.name);
    let names: Vec<&str> = if is_whole { all_names.collect() } else { SHORT.to_vec() };
    let all = WindowSizes::default();
    let short = WindowSizes { counted: 1 << 8, warming: 1 << 8, most_warming: 1 << 8, ..all };
    let (mut launches, mut figures, mut missed) = (0, 0, Vec::new());
    for (at, name) in names.into_iter().enumerate() {
        let kernel = Kernel::open(name, &LaunchOptions::default()).unwrap();
        // In the gate each kernel meets one of them.
        let gpus = ["gtx-480", "titan-v"];
        let met = if is_whole || is_nightly() { &gpus[..] } else { &gpus[at % 2..][..1] };
        for gpu in met {
            let windows = on_four_sms(&kernel, gpu, CacheChoice::Windows, short);
            if !windows.is_of_windows() {
                continue;
            }
            let full = on_four_sms(&kernel, gpu, CacheChoice::Full, all);
            launches += 1;
            for metric in MOVED {
                let truth = full.metrics[metric].value.as_f64();
                let [least, most] = windows.intervals[metric];
                let estimate = windows.metrics[metric].value.as_f64();
                assert!((least..=most).contains(&estimate), "{name} on {gpu}: {metric}");
                figures += 1;
                let about = 2.0 + 1e-3 * truth;
                if truth < least - about || truth > most + about {
                    missed.push(format!(
                        "{name} on {gpu}: {metric} is {truth}, not {least} to {most}"
                    ));
                }
            }
        }
    }
    let (outside, missed) = (missed.len(), missed.join("\n"));
    println!("{launches} launches, {figures} figures, {outside} outside\n{missed}");
    assert!(launches >= if is_nightly() { 15 } else { 7 } && outside == 0, "{missed}");
}

/// Sectors from and to DRAM, and those that a launch leaves in the L2 to be written later.
const MOVED: [&str; 3] = ["dram_read_transactions", "dram_write_transactions", "l2_dirty_sectors"];
