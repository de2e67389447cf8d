//! Counts from samples of CTAs.
//!
//! `GPUCAST_SAMPLES` is the number of samples with caches that are drawn of each input; a few by
//! default. Coverage without caches is a matter of [`super::coverage`].

#![allow(clippy::print_stdout, reason = "the rows of a table of docs/evidence/counting.md")]

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use gpucast_counters::SampleSize;
use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::run::counting::{self, Counted, Counting, Extras};
use gpucast_forecast::run::machine::Machine;
use gpucast_forecast::run::module;
use gpucast_forecast::run::rung::Rung;
use gpucast_forecast::settings::{CacheChoice, ExecutionSettings, RungChoice, Size};
use gpucast_forecast::{Alone, Failure, Kernel, LaunchOptions, Supervisor};
use gpucast_interpreter::Options;

use crate::common::{is_nightly, launch_file};
use crate::coverage::asked_samples;
use crate::coverage::inputs::{Input, OF_CACHES, POWER_LAW_1_5, POWER_LAW_2, UNIFORM};
use crate::coverage::table::{Coverage, HEADER};

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

/// A GPU whose caches are modelled, and a grid that is just more than twice as large as a sample.
struct Cached {
    gpu: &'static str,
    ctas: usize,
    /// Shared memory of a CTA: it keeps waves small, and so the sample.
    shared_bytes: u32,
}

/// Fermi, Volta and Hopper.
const CACHED: [Cached; 3] = [
    Cached { gpu: "gtx-480", ctas: 12_288, shared_bytes: 0 },
    Cached { gpu: "titan-v", ctas: 24_576, shared_bytes: 48 << 10 },
    Cached { gpu: "h100-sxm", ctas: 49_152, shared_bytes: 96 << 10 },
];

impl Cached {
    /// Draws samples of an input, and says how often intervals hold the truth.
    fn coverage(&self, input: Input, samples: u64) -> Coverage {
        let Self { gpu, ctas, shared_bytes } = *self;
        let (_folder, kernel) = input.product(ctas, shared_bytes);
        let caches = CacheChoice::Full;
        let exact = Asked { rung: RungChoice::Slice, gpu, caches, ..Asked::default() };
        let truth = exact.count(&kernel).unwrap().remove(0).profile;
        let mut all = Coverage::default();
        for seed in 0..samples {
            let sample = Some(SampleSize { ctas: 1024, seed });
            let rung = RungChoice::Sample;
            let sampling = Asked { rung, sample, gpu, caches, ..Asked::default() };
            let sample = sampling.count(&kernel).unwrap().remove(0);
            let because = &sample.counted_by.because;
            assert_eq!(sample.counted_by.rung, Rung::Sample, "{}: {because:?}", input.name);
            assert!(sample.profile.has_caches());
            all.add(&Coverage::of(&truth, &sample.profile, false));
        }
        println!("{}", all.row(input.name));
        all
    }
}

#[test]
fn intervals_of_samples_hold_metrics_of_caches() {
    let (inputs, gpus) = match asked_samples() {
        None if is_nightly() => (vec![(UNIFORM, 6), (POWER_LAW_1_5, 2)], &CACHED[..1]),
        None => (vec![(UNIFORM, 6)], &CACHED[..1]),
        Some(samples) => (OF_CACHES.iter().map(|&input| (input, samples)).collect(), &CACHED[..]),
    };
    for cached in gpus {
        println!("samples of 1024 of {} CTAs, caches of {}\n{HEADER}", cached.ctas, cached.gpu);
        let mut total = Coverage::default();
        for &(input, samples) in &inputs {
            let coverage = cached.coverage(input, samples);
            assert!(coverage.percent() >= 85.0, "{}", coverage.row(input.name));
            total.add(&coverage);
        }
        println!("{}", total.row("all"));
    }
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
    all.into_iter().map(|launch| launch.counted_by.rung).collect()
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
    let (_folder, kernel) = POWER_LAW_2.product(2048, 0);
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
    /// CTAs that it was told of.
    done: AtomicU64,
}

impl Supervisor for Slow {
    fn note(&self, text: &str) {
        self.notes.lock().unwrap().push(text.to_owned());
    }

    fn progress(&self, done: u128, _ctas: u128) {
        let done = u64::try_from(done).unwrap();
        let before = self.done.swap(done, Ordering::Relaxed);
        // Each round begins to count anew.
        sleep(Duration::from_millis(2 * done.checked_sub(before).unwrap_or(done)));
    }
}

/// 2,000 CTAs take four seconds, more than there is time for.
#[test]
fn a_sample_whose_time_is_over_is_one_of_fewer_ctas() {
    let (_folder, kernel) = POWER_LAW_2.product(4096, 0);
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
    let coverage = Coverage::of(&truth, &short.profile, false);
    assert!(coverage.metrics > 20, "{}", coverage.row("cut short"));
    let width = |counted: &Counted| Coverage::of(&truth, &counted.profile, false).widths;
    assert!(width(&short) > width(&whole), "{} {}", width(&short), width(&whole));
}

/// CTAs that read and write an array of their own, and CTAs that all read one table.
const AROUND: &str = r"
.version 8.0
.target sm_50
.address_size 64
.visible .entry updates(.param .u64 a) {
    .reg .b64 %d<4>; .reg .b32 %r<4>; .reg .f32 %f<4>;
    ld.param.u64 %d0, [a];
    mov.u32 %r0, %ctaid.x; mov.u32 %r1, %tid.x; mad.lo.u32 %r2, %r0, 128, %r1;
    mul.wide.u32 %d2, %r2, 4; add.u64 %d3, %d0, %d2;
    ld.global.f32 %f0, [%d3]; add.f32 %f0, %f0, %f0; st.global.f32 [%d3], %f0; ret; }
.visible .entry table(.param .u64 t) {
    .reg .b64 %d<4>; .reg .b32 %r<4>; .reg .f32 %f<4>; .reg .pred %p0;
    ld.param.u64 %d0, [t];
    mov.u32 %r0, %ctaid.x; mov.u32 %r1, %tid.x; and.b32 %r0, %r0, 15;
    mad.lo.u32 %r2, %r0, 1024, %r1; mul.wide.u32 %d2, %r2, 4; add.u64 %d3, %d0, %d2;
    mov.u32 %r3, 8;
LOOP:
    ld.global.f32 %f0, [%d3]; add.u64 %d3, %d3, 512;
    sub.u32 %r3, %r3, 1; setp.ne.u32 %p0, %r3, 0; @%p0 bra LOOP;
    ret; }
";

/// Of three launches the second one is sampled. It asks for little, so that the third one finds
/// what the first one has left.
#[test]
fn a_launch_after_a_sample_finds_what_launches_before_it_have_left() {
    let small = "kernel = \"updates\"\ngrid = [96, 1, 1]\nblock = [128, 1, 1]\nargs = [\"a\"]\n";
    let text = format!(
        "[buffers.a]\ntype = \"f32\"\nlen = 12288\n[buffers.t]\ntype = \"f32\"\nlen = 16384\n\
         [[launch]]\n{small}[[launch]]\nkernel = \"table\"\ngrid = [40000, 1, 1]\n\
         block = [128, 1, 1]\nargs = [\"t\"]\n[[launch]]\n{small}"
    );
    let kernel = launch_file(AROUND, &text, &LaunchOptions::default()).unwrap();
    let caches = CacheChoice::Full;
    let full = counted_on(&kernel, RungChoice::Slice, None, caches);
    let sample = Some(SampleSize { ctas: 512, seed: 1 });
    let sampled = counted_on(&kernel, RungChoice::Sample, sample, caches);
    let rungs = [0, 1, 2].map(|launch: usize| sampled[launch].counted_by.rung == Rung::Sample);
    assert_eq!(rungs, [false, true, false]);
    for metric in ["dram_read_transactions", "dram_write_transactions", "l2_dirty_sectors"] {
        for (launch, (full, sampled)) in full.iter().zip(&sampled).enumerate() {
            let truth = full.profile.metrics[metric].value.as_f64();
            let found = sampled.profile.metrics[metric].value.as_f64();
            let interval = sampled.profile.intervals.get(metric);
            let [least, most] = interval.copied().unwrap_or([found; 2]);
            assert!((least..=most).contains(&truth), "{launch}, {metric}: {least} to {most}");
            assert_eq!(found, truth, "{launch}, {metric}");
        }
    }
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
