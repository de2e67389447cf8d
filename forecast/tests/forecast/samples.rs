//! Counts from samples of CTAs: intervals hold what all CTAs count as often as they say.
//!
//! `GPUCAST_SAMPLES` is the number of samples that are drawn of each input; a few by default. With
//! it, caches are tried on all inputs, and the corpus has the sizes of its publications.

#![allow(clippy::print_stdout, reason = "the rows of a table of docs/counting.md")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Mutex;
use std::thread::sleep;
use std::time::{Duration, Instant};

use gpucast_counters::definitions::definition;
use gpucast_counters::{Kind, LaunchProfile, SampleSize};
use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::run::counting::{self, Counted, Counting, Extras};
use gpucast_forecast::run::machine::Machine;
use gpucast_forecast::run::module;
use gpucast_forecast::run::rung::Rung;
use gpucast_forecast::settings::{CacheChoice, ExecutionSettings, RungChoice, Size};
use gpucast_forecast::{Alone, Failure, Kernel, LaunchOptions, Supervisor};
use gpucast_interpreter::Options;

/// A product of a sparse matrix in CSR with a vector, a thread for each row (Bell and Garland,
/// "Efficient sparse matrix-vector multiplication on CUDA", NVIDIA NVR-2008-004, section 4.2), and
/// one with a warp for each row.
const KERNELS: &str = r"
.version 8.0
.target sm_50
.address_size 64
.visible .entry scalar(.param .u64 starts, .param .u64 columns, .param .u64 values,
    .param .u64 x, .param .u64 y) {
    .reg .b64 %d<12>; .reg .b32 %r<12>; .reg .f32 %f<4>; .reg .pred %p<2>;
    ld.param.u64 %d0, [starts]; ld.param.u64 %d1, [columns]; ld.param.u64 %d2, [values];
    ld.param.u64 %d3, [x]; ld.param.u64 %d4, [y];
    mov.u32 %r0, %ctaid.x; mov.u32 %r1, %tid.x; mad.lo.u32 %r2, %r0, 128, %r1;
    mul.wide.u32 %d5, %r2, 4; add.u64 %d6, %d0, %d5; add.u64 %d7, %d4, %d5;
    ld.global.u32 %r3, [%d6]; ld.global.u32 %r4, [%d6+4];
    mov.f32 %f0, 0f00000000;
    setp.ge.u32 %p0, %r3, %r4; @%p0 bra DONE;
LOOP:
    mul.wide.u32 %d8, %r3, 4; add.u64 %d9, %d1, %d8; add.u64 %d10, %d2, %d8;
    ld.global.u32 %r5, [%d9]; ld.global.f32 %f1, [%d10];
    mul.wide.u32 %d8, %r5, 4; add.u64 %d9, %d3, %d8; ld.global.f32 %f2, [%d9];
    fma.rn.f32 %f0, %f1, %f2, %f0;
    add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, %r4; @%p1 bra LOOP;
DONE:
    st.global.f32 [%d7], %f0; ret; }
";

/// Threads of a CTA: rows that it takes.
const ROWS: usize = 128;

/// Pseudo-random numbers (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Between 0, exclusive, and 1.
    fn uniform(&mut self) -> f64 {
        ((self.next() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }
}

/// The lengths of the rows of a matrix.
fn lengths(input: &str, ctas: usize, random: &mut Random) -> Vec<u32> {
    let rows = ctas * ROWS;
    let power = |random: &mut Random, exponent: f64, most: f64| {
        (3.0 * random.uniform().powf(-1.0 / exponent)).min(most) as u32
    };
    let by_cta =
        |of: &dyn Fn(usize) -> u32| -> Vec<u32> { (0..rows).map(|row| of(row / ROWS)).collect() };
    match input {
        "uniform" => (0..rows).map(|_| 1 + (random.next() % 16) as u32).collect(),
        "power law 1.2" => (0..rows).map(|_| power(random, 1.2, 2000.0)).collect(),
        "power law 1.5" => (0..rows).map(|_| power(random, 1.5, 2000.0)).collect(),
        "power law 2" => (0..rows).map(|_| power(random, 2.0, 2000.0)).collect(),
        "power law 3" => (0..rows).map(|_| power(random, 3.0, 2000.0)).collect(),
        "sorted power law 1.5" => {
            let mut lengths = self::lengths("power law 1.5", ctas, random);
            lengths.sort_unstable();
            lengths
        }
        "log-normal CTAs" => {
            let of: Vec<u32> = (0..ctas)
                .map(|_| {
                    let (u, v) = (random.uniform(), random.uniform());
                    let normal = (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos();
                    (4.0 * normal.exp()).min(2000.0) as u32
                })
                .collect();
            by_cta(&|cta| of[cta])
        }
        "1 of 20 CTAs x 20" => by_cta(&heavy(random, 20, 4, 80)),
        "1 of 100 CTAs x 50" => by_cta(&heavy(random, 100, 4, 200)),
        "1 of 500 CTAs x 200" => by_cta(&heavy(random, 500, 4, 800)),
        "block of 1 % x 30" => {
            let from = ctas / 3;
            by_cta(&|cta| if (from..from + ctas / 100).contains(&cta) { 120 } else { 4 })
        }
        "period 7" => by_cta(&|cta| if cta % 7 == 0 { 60 } else { 6 }),
        "period 64" => by_cta(&|cta| if cta % 64 == 0 { 120 } else { 4 }),
        "waves" => by_cta(&|cta| {
            let phase = cta as f64 * std::f64::consts::TAU / 100.0;
            (20.0 + 15.0 * phase.cos()) as u32
        }),
        "growing" => by_cta(&|cta| (1 + 40 * cta / ctas) as u32),
        other => panic!("no input is called {other}"),
    }
}

/// One CTA of so many is heavy, drawn at random.
fn heavy(random: &mut Random, of: u64, light: u32, heavy: u32) -> impl Fn(usize) -> u32 + use<> {
    let seed = random.next();
    move |cta| {
        let is_heavy = Random(seed ^ (cta as u64) << 8).next().is_multiple_of(of);
        if is_heavy { heavy } else { light }
    }
}

/// The inputs whose rarest kind of CTA a sample of 256 meets with a probability of 90 %.
const INPUTS: &[&str] = &[
    "uniform",
    "power law 1.2",
    "power law 1.5",
    "power law 2",
    "power law 3",
    "sorted power law 1.5",
    "log-normal CTAs",
    "1 of 20 CTAs x 20",
    "1 of 100 CTAs x 50",
    "block of 1 % x 30",
    "period 7",
    "period 64",
    "waves",
    "growing",
];

/// An input with a kind of CTA so rare that a sample of 1024 meets it with a probability of 87 %.
const RARE: [&str; 1] = ["1 of 500 CTAs x 200"];

/// Writes a file of NumPy's format 1.0.
fn write(path: &Path, values: &[u32]) {
    let header =
        format!("{{'descr': '<u4', 'fortran_order': False, 'shape': ({},), }}", values.len());
    let padded = (header.len() + 11).next_multiple_of(64) - 10;
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((padded as u16).to_le_bytes());
    bytes.extend(format!("{header:<width$}\n", width = padded - 1).bytes());
    bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    std::fs::write(path, bytes).unwrap();
}

/// A product with a matrix whose rows have these lengths. Columns lie near the diagonal.
fn product(lengths: &[u32], random: &mut Random) -> (tempfile::TempDir, Kernel) {
    let folder = tempfile::tempdir().unwrap();
    let (mut starts, mut columns) = (vec![0], Vec::new());
    for (row, &length) in lengths.iter().enumerate() {
        for _ in 0..length {
            let near = row as u64 + random.next() % 4096;
            columns.push((near % lengths.len() as u64) as u32);
        }
        starts.push(columns.len() as u32);
    }
    std::fs::write(folder.path().join("m.ptx"), KERNELS).unwrap();
    write(&folder.path().join("starts.npy"), &starts);
    write(&folder.path().join("columns.npy"), &columns);
    let mut toml = "module = \"m.ptx\"\n".to_owned();
    for (name, values) in [("starts", &starts), ("columns", &columns)] {
        let length = values.len();
        write!(
            toml,
            "[buffers.{name}]\ntype = \"u32\"\nlen = {length}\ninit = {{ file = \"{name}.npy\" }}\n"
        )
        .unwrap();
    }
    for (name, length) in [("values", columns.len()), ("x", lengths.len()), ("y", lengths.len())] {
        write!(toml, "[buffers.{name}]\ntype = \"f32\"\nlen = {length}\n").unwrap();
    }
    write!(
        toml,
        "[[launch]]\nkernel = \"scalar\"\ngrid = [{}, 1, 1]\nblock = [{ROWS}, 1, 1]\n\
         args = [\"starts\", \"columns\", \"values\", \"x\", \"y\"]\n",
        lengths.len() / ROWS
    )
    .unwrap();
    let path = folder.path().join("m.toml");
    std::fs::write(&path, toml).unwrap();
    let kernel = Kernel::open(path.to_str().unwrap(), &LaunchOptions::default()).unwrap();
    (folder, kernel)
}

fn counted(kernel: &Kernel, sample: Option<SampleSize>, caches: CacheChoice) -> Vec<Counted> {
    let rung = if sample.is_some() { RungChoice::Sample } else { RungChoice::Slice };
    counted_on(kernel, rung, sample, caches)
}

fn counted_on(
    kernel: &Kernel,
    rung: RungChoice,
    sample: Option<SampleSize>,
    caches: CacheChoice,
) -> Vec<Counted> {
    let asked = Asked { rung, sample, caches, ..Asked::default() };
    asked.count(kernel).unwrap()
}

/// What to count, on which GPU, and how long.
struct Asked<'a> {
    gpu: &'a str,
    rung: RungChoice,
    sample: Option<SampleSize>,
    caches: CacheChoice,
    deadline: Option<Instant>,
    supervisor: &'a dyn Supervisor,
}

impl Default for Asked<'_> {
    fn default() -> Self {
        let caches = CacheChoice::None;
        let rung = RungChoice::Auto;
        Self { gpu: "gtx-480", rung, sample: None, caches, deadline: None, supervisor: &Alone }
    }
}

impl Asked<'_> {
    fn count(&self, kernel: &Kernel) -> Result<Vec<Counted>, Failure> {
        let Self { gpu, rung, sample, caches, deadline, supervisor } = *self;
        let library = gpu_argument::library().unwrap();
        let gpu = gpu_argument::find(&library, gpu).unwrap();
        let device = gpu_argument::device_model(&gpu).unwrap();
        let loaded = module::load(kernel.plan()).unwrap();
        let (machine, extras) = (&Machine::none(), Extras::default());
        let counting = Counting { device, machine, extras, rung, sample, caches, supervisor };
        let options = Options { deadline, ..Options::default() };
        counting::count(kernel.plan(), &loaded, &options, &counting)
    }
}

/// Samples to draw of each input.
fn samples(usual: u64) -> u64 {
    std::env::var("GPUCAST_SAMPLES").ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// Intervals that hold the truth.
#[derive(Clone, Debug, Default)]
struct Coverage {
    /// Metrics of all samples that differ from CTA to CTA.
    metrics: u32,
    held: u32,
    /// Those that miss the truth by less than a thousandth of it are added.
    nearly: u32,
    /// The sum of half widths over the truth.
    widths: f64,
    /// Metrics that all CTAs have alike, as far as the sample tells, and that are right.
    alike: u32,
    /// Times that metrics lay outside.
    missed: BTreeMap<String, u32>,
}

impl Coverage {
    fn percent(&self) -> f64 {
        if self.metrics == 0 {
            return 100.0;
        }
        100.0 * f64::from(self.held) / f64::from(self.metrics)
    }

    /// A row of the table in docs/counting.md, and the metrics that were missed most often.
    fn row(&self, input: &str) -> String {
        let mut missed: Vec<_> =
            self.missed.iter().map(|(name, times)| (times, name.as_str())).collect();
        missed.sort_unstable();
        let often = missed.iter().rev().take(4).map(|(times, name)| format!("{name} {times}"));
        let often: Vec<_> = often.collect();
        let width = 100.0 * self.widths / f64::from(self.metrics.max(1));
        format!(
            "| {input} | {} | {} | {:.1} % | {:.1} % | ± {width:.1} % | missed: {}",
            self.alike,
            self.metrics,
            self.percent(),
            100.0 * f64::from(self.nearly) / f64::from(self.metrics.max(1)),
            often.join(", ")
        )
    }

    fn add(&mut self, other: &Self) {
        self.metrics += other.metrics;
        self.held += other.held;
        self.nearly += other.nearly;
        self.widths += other.widths;
        self.alike += other.alike;
        for (name, times) in &other.missed {
            *self.missed.entry(name.clone()).or_default() += times;
        }
    }

    /// The coverage of one sample. Metrics that are zero in all CTAs say nothing.
    fn of(truth: &LaunchProfile, sampled: &LaunchProfile) -> Self {
        let mut coverage = Self::default();
        for (name, figure) in &truth.metrics {
            let truth = figure.value.as_f64();
            if !definition(name).unwrap().basis.is_counted() {
                assert_eq!(figure, &sampled.metrics[name], "{name}");
                assert!(!sampled.intervals.contains_key(name), "{name}");
                continue;
            }
            let Some(estimate) = sampled.metrics.get(name) else { continue };
            assert_eq!(estimate.kind, Kind::Estimated, "{name}");
            let [least, most] = sampled.intervals[name];
            let estimate = estimate.value.as_f64();
            let about = 1e-9 * truth.abs() + 1e-9;
            assert!(least <= estimate + about && estimate <= most + about, "{name}");
            let holds = least <= truth + about && truth <= most + about;
            if most - least <= 2.0 * about && holds {
                coverage.alike += u32::from(truth != 0.0);
                continue;
            }
            coverage.metrics += 1;
            coverage.held += u32::from(holds);
            let about = 1e-3 * truth.abs();
            coverage.nearly += u32::from(holds || least <= truth + about && truth <= most + about);
            if !holds {
                *coverage.missed.entry(name.clone()).or_default() += 1;
            }
            coverage.widths += (most - least) / 2.0 / truth.abs().max(1e-9);
        }
        coverage
    }
}

/// Draws samples of each input and says how often intervals hold the truth.
fn coverage(inputs: &[&str], ctas: usize, size: u64, usual: u64) -> Coverage {
    let asked = Asked { caches: CacheChoice::None, ..Asked::default() };
    coverage_of(&asked, inputs, ctas, size, usual)
}

fn coverage_of(asked: &Asked<'_>, inputs: &[&str], ctas: usize, size: u64, usual: u64) -> Coverage {
    let mut total = Coverage::default();
    let Asked { gpu, caches, .. } = *asked;
    println!("{size} of {ctas} CTAs, caches {} of {gpu}", caches.name());
    for &input in inputs {
        let mut random = Random(1);
        let lengths = lengths(input, ctas, &mut random);
        let (_folder, kernel) = product(&lengths, &mut random);
        let exact = Asked { rung: RungChoice::Slice, gpu, caches, ..Asked::default() };
        let truth = exact.count(&kernel).unwrap().remove(0).profile;
        let mut all = Coverage::default();
        for seed in 0..samples(usual) {
            let sample = Some(SampleSize { ctas: size, seed });
            let sampling =
                Asked { rung: RungChoice::Sample, sample, gpu, caches, ..Asked::default() };
            let sample = sampling.count(&kernel).unwrap().remove(0);
            let because = &sample.counted_by.because;
            assert_eq!(sample.counted_by.rung, Rung::Sample, "{input}: {because:?}");
            assert_eq!(sample.profile.has_caches(), caches != CacheChoice::None);
            all.add(&Coverage::of(&truth, &sample.profile));
        }
        println!("{}", all.row(input));
        total.add(&all);
    }
    println!("{}", total.row("all"));
    total
}

/// Seeds are fixed, so that the coverage is the same in every run. By default few samples are
/// drawn, whose metrics go together: a sample that misses one misses many. `usual` is a bound for
/// these.
fn insist(coverage: &Coverage, usual: f64) {
    let least = if samples(0) >= 20 { 92.0 } else { usual };
    assert!(coverage.percent() >= least, "{}", coverage.row("all"));
}

#[test]
fn intervals_of_small_samples_hold_the_counts_of_skewed_inputs() {
    let inputs = match samples(0) {
        0 => &["uniform", "power law 1.5", "1 of 20 CTAs x 20", "period 7", "growing"],
        _ => INPUTS,
    };
    insist(&coverage(inputs, 4096, 256, 2), 92.0);
}

#[test]
fn intervals_of_samples_hold_the_counts_of_skewed_inputs() {
    let mut inputs = vec!["power law 2", "log-normal CTAs", "block of 1 % x 30"];
    if samples(0) > 0 {
        inputs = INPUTS.to_vec();
        inputs.extend(RARE);
    }
    insist(&coverage(&inputs, 4096, 1024, 1), 75.0);
}

/// GPUs whose waves are small enough, and CTAs of a grid that is more than twice as large as a
/// sample: Fermi, Kepler and Turing.
const GPUS: [(&str, usize); 3] =
    [("gtx-480", 12_288), ("tesla-k20c", 20_480), ("gtx-1650", 12_288)];

#[test]
fn intervals_of_samples_hold_metrics_of_caches() {
    let (inputs, gpus) = match samples(0) {
        0 => (&INPUTS[..1], &GPUS[..1]),
        _ => (INPUTS, &GPUS[..]),
    };
    for &(gpu, ctas) in gpus {
        let asked = Asked { gpu, caches: CacheChoice::Full, ..Asked::default() };
        insist(&coverage_of(&asked, inputs, ctas, 1024, 6), 85.0);
    }
}

#[test]
fn intervals_of_samples_hold_the_counts_of_the_corpus() {
    let (size, ctas) = if samples(0) > 0 { (Size::Paper, 1024) } else { (Size::Small, 64) };
    let (mut total, mut launches) = (Coverage::default(), 0);
    for entry in gpucast_corpus::entries() {
        let options = LaunchOptions { size: Some(size), ..LaunchOptions::default() };
        let kernel = Kernel::open(entry.name, &options).unwrap();
        let caches = CacheChoice::None;
        let truth = counted(&kernel, None, caches);
        let mut all = Coverage::default();
        for seed in 0..samples(2) {
            let sampled = counted(&kernel, Some(SampleSize { ctas, seed }), caches);
            for (truth, sampled) in truth.iter().zip(&sampled) {
                if sampled.counted_by.rung == Rung::Sample {
                    launches += 1;
                    all.add(&Coverage::of(&truth.profile, &sampled.profile));
                } else {
                    assert!(sampled.counted_by.because.is_some(), "{}", entry.name);
                    assert!(truth.profile == sampled.profile, "{}", entry.name);
                }
            }
        }
        if all.metrics + all.alike > 0 {
            println!("{}", all.row(entry.name));
        }
        total.add(&all);
    }
    println!("{} of {launches} launches", total.row("all"));
    // Wrong figures without an interval would be metrics that are not held.
    assert!(launches > 0 && total.alike > 0);
    insist(&total, 92.0);
}

/// Every CTA counts what its threads find, and the next launch works as often.
const CHAIN: &str = r"
.version 8.0
.target sm_50
.address_size 64
.visible .entry write(.param .u64 work) {
    .reg .b64 %d<4>; .reg .b32 %r<4>;
    ld.param.u64 %d0, [work];
    mov.u32 %r0, %ctaid.x; mul.wide.u32 %d1, %r0, 4; add.u64 %d2, %d0, %d1;
    st.global.u32 [%d2], %r0; ret; }
.visible .entry work(.param .u64 work) {
    .reg .b64 %d<4>; .reg .b32 %r<4>; .reg .pred %p<2>;
    ld.param.u64 %d0, [work];
    mov.u32 %r0, %ctaid.x; mul.wide.u32 %d1, %r0, 4; add.u64 %d2, %d0, %d1;
    ld.global.u32 %r1, [%d2];
LOOP:
    sub.u32 %r1, %r1, 1; setp.gt.s32 %p0, %r1, 0; @%p0 bra LOOP;
    ret; }
";

fn chain() -> (tempfile::TempDir, Kernel) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("m.ptx"), CHAIN).unwrap();
    let launch = |kernel: &str| {
        format!(
            "[[launch]]\nkernel = \"{kernel}\"\ngrid = [5000, 1, 1]\nblock = [32, 1, 1]\n\
             args = [\"work\"]\n"
        )
    };
    let toml = format!(
        "module = \"m.ptx\"\n[buffers.work]\ntype = \"u32\"\nlen = 5000\n{}{}",
        launch("write"),
        launch("work")
    );
    let path = folder.path().join("m.toml");
    std::fs::write(&path, toml).unwrap();
    let kernel = Kernel::open(path.to_str().unwrap(), &LaunchOptions::default()).unwrap();
    (folder, kernel)
}

/// The second launch depends on what all CTAs of the first one write, and on nothing that its own
/// CTAs do.
#[test]
fn launches_that_write_what_counts_depend_on_are_not_sampled() {
    let (_folder, kernel) = chain();
    let sample = Some(SampleSize { ctas: 512, seed: 1 });
    let sampled = counted(&kernel, sample, CacheChoice::None);
    let exact = counted(&kernel, None, CacheChoice::None);
    let [write, work] = sampled.as_slice() else { panic!("two launches") };
    assert_eq!(write.counted_by.rung, Rung::Slice);
    assert_eq!(
        write.counted_by.because.as_deref(),
        Some("line 9 writes contents that counts depend on")
    );
    assert!(write.profile == exact[0].profile);
    assert_eq!(work.counted_by.rung, Rung::Sample);
    assert_eq!(work.counted_by.sampled, Some(512));
    let [least, most] = work.profile.intervals["ptx_inst_executed"];
    let truth = exact[1].profile.metrics["ptx_inst_executed"].value.as_f64();
    assert!(least < truth && truth < most, "{least} to {most}, not {truth}");
}

#[test]
fn a_grid_that_is_not_much_larger_than_its_sample_is_counted_whole() {
    let (_folder, kernel) = chain();
    let sample = Some(SampleSize { ctas: 3000, seed: 1 });
    let counted = counted(&kernel, sample, CacheChoice::None);
    assert_eq!(counted[1].counted_by.rung, Rung::Slice);
    assert_eq!(
        counted[1].counted_by.because.as_deref(),
        Some("a sample of 3000 CTAs is more than half of the grid's 5000")
    );
    assert!(counted[1].profile.intervals.is_empty());
}

/// The choice of a rung, with or without the size of a sample.
fn chosen(kernel: &Kernel, counting: RungChoice, ctas: Option<u64>) -> Vec<Rung> {
    let settings = ExecutionSettings { counting, ctas, ..ExecutionSettings::default() };
    let (caches, sample) = (CacheChoice::None, settings.sample());
    let all = counted_on(kernel, counting, sample, caches);
    all.into_iter().map(|one| one.counted_by.rung).collect()
}

#[test]
fn nothing_is_sampled_unless_it_is_asked_for() {
    let (_folder, chain) = chain();
    assert_eq!(chosen(&chain, RungChoice::Auto, None), [Rung::Slice, Rung::Slice]);
    assert_eq!(chosen(&chain, RungChoice::Auto, Some(64)), [Rung::Slice, Rung::Sample]);
    assert_eq!(chosen(&chain, RungChoice::Sample, None), [Rung::Slice, Rung::Sample]);
    assert_eq!(chosen(&chain, RungChoice::Slice, Some(64)), [Rung::Slice, Rung::Slice]);
    // Exact counts of classes are better, where there are classes.
    let options = LaunchOptions { size: Some(Size::Paper), ..LaunchOptions::default() };
    let add = Kernel::open("vector-add", &options).unwrap();
    assert_eq!(chosen(&add, RungChoice::Auto, Some(64)), [Rung::Classes]);
    assert_eq!(chosen(&add, RungChoice::Sample, None), [Rung::Sample]);
}

#[test]
fn samples_depend_on_their_seed_and_not_on_the_number_of_threads() {
    let mut random = Random(1);
    let lengths = lengths("power law 2", 2048, &mut random);
    let (_folder, kernel) = product(&lengths, &mut random);
    let profile = |threads: usize, seed: u64| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let sample = Some(SampleSize { ctas: 256, seed });
        pool.install(|| counted(&kernel, sample, CacheChoice::None)).remove(0).profile
    };
    let (one, other) = (profile(1, 5), profile(3, 5));
    assert_eq!((&one.metrics, &one.intervals), (&other.metrics, &other.intervals));
    assert_ne!(one.metrics, profile(1, 6).metrics);
}

/// Each CTA takes two milliseconds. Remembers the notes.
#[derive(Default)]
struct Slow {
    notes: Mutex<Vec<String>>,
}

impl Supervisor for Slow {
    fn note(&self, text: &str) {
        self.notes.lock().unwrap().push(text.to_owned());
    }

    fn progress(&self, _done: u128, _ctas: u128) {
        sleep(Duration::from_millis(2));
    }
}

/// 2,000 CTAs take four seconds, more than there is time for.
#[test]
fn a_sample_whose_time_is_over_is_one_of_fewer_ctas() {
    let mut random = Random(1);
    let lengths = lengths("power law 2", 4096, &mut random);
    let (_folder, kernel) = product(&lengths, &mut random);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let sampled = |seconds: u64, supervisor: &dyn Supervisor| {
        let asked = Asked {
            rung: RungChoice::Sample,
            sample: Some(SampleSize { ctas: 2000, seed: 3 }),
            deadline: Some(Instant::now() + Duration::from_secs(seconds)),
            supervisor,
            ..Asked::default()
        };
        pool.install(|| asked.count(&kernel)).unwrap().remove(0)
    };
    let (slow, idle) = (Slow::default(), Slow::default());
    let (short, whole) = (sampled(2, &slow), sampled(3600, &idle));
    assert!(short.counted_by.is_cut_short && !whole.counted_by.is_cut_short);
    assert_eq!((whole.counted_by.sampled, idle.notes.into_inner().unwrap()), (Some(2000), vec![]));
    let executed = short.counted_by.sampled.unwrap();
    assert!((16..2000).contains(&executed), "{executed}");
    let notes = slow.notes.into_inner().unwrap();
    let note = format!(
        "the sample of scalar was cut short: its time was over after {} CTAs",
        gpucast_forecast::number::count(executed)
    );
    assert_eq!(notes, [note]);
    // It is a sample all the same, of fewer CTAs.
    let truth = counted(&kernel, None, CacheChoice::None).remove(0).profile;
    let coverage = Coverage::of(&truth, &short.profile);
    assert!(coverage.metrics > 20, "{}", coverage.row("cut short"));
    let width = |counted: &Counted| Coverage::of(&truth, &counted.profile).widths;
    assert!(width(&short) > width(&whole), "{} {}", width(&short), width(&whole));
}

/// A launch that is counted whole has no result before its end, and neither has a sample of none.
#[test]
fn time_that_is_over_is_an_error_without_a_sample() {
    let (_folder, kernel) = chain();
    let hint = |rung: RungChoice, ctas: Option<u64>| {
        let sample = ctas.map(|ctas| SampleSize { ctas, seed: 0 });
        let deadline = Some(Instant::now());
        let asked = Asked { rung, sample, deadline, ..Asked::default() };
        let Err(Failure::Input(reports)) = asked.count(&kernel) else { panic!("a report") };
        reports[0].hint.clone()
    };
    let sampling = Some("--counting sample estimates counts from what is executed in time");
    assert_eq!(hint(RungChoice::Slice, None).as_deref(), sampling);
    assert_eq!(hint(RungChoice::Full, None).as_deref(), sampling);
    assert_eq!(hint(RungChoice::Sample, Some(64)), None, "the first launch cannot be sampled");
}
