//! Caches of large grids from windows: intervals hold what all requests give.

#![allow(clippy::print_stdout, reason = "the rows of a table of docs/counting.md")]

use std::fmt::Write as _;
use std::time::Duration;

use gpucast_collection::{MatchCondition, Request, Target};
use gpucast_counters::hierarchy::L2Geometry;
use gpucast_counters::{DeviceModel, Kind, LaunchProfile, WindowSizes};
use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::run::counting::{self, Counting, Extras};
use gpucast_forecast::run::execute::Timing;
use gpucast_forecast::run::kept::KeptCounts;
use gpucast_forecast::run::machine::Machine;
use gpucast_forecast::run::module;
use gpucast_forecast::run::rung::Rung;
use gpucast_forecast::run::sources::{Counts, Source};
use gpucast_forecast::settings::{CacheChoice, ExecutionSettings, RungChoice};
use gpucast_forecast::{Alone, Kernel, LaunchOptions, Supervisor};
use gpucast_interpreter::Options;
use gpucast_model::{Gpu, Model, Needs};

use crate::common::{counted, is_nightly, launch_file};
use crate::coverage::asked_samples;

/// Kernels over a grid of `CTAS` in x: a copy, a copy with a stride, a table that all CTAs read,
/// and neighbours that share rows.
const KERNELS: &str = r"
    .visible .entry copy(.param .u64 a, .param .u64 b) {
    .reg .b64 %d<8>; .reg .b32 %r<8>; .reg .f32 %f<4>;
    ld.param.u64 %d0, [a]; ld.param.u64 %d1, [b];
    mov.u32 %r0, %ctaid.x; mov.u32 %r1, %tid.x; mad.lo.u32 %r2, %r0, 128, %r1;
    mul.wide.u32 %d2, %r2, 4; add.u64 %d3, %d0, %d2; add.u64 %d4, %d1, %d2;
    ld.global.f32 %f0, [%d3]; st.global.f32 [%d4], %f0; ret; }

    .visible .entry strided(.param .u64 a, .param .u64 b) {
    .reg .b64 %d<8>; .reg .b32 %r<8>; .reg .f32 %f<4>;
    ld.param.u64 %d0, [a]; ld.param.u64 %d1, [b];
    mov.u32 %r0, %ctaid.x; mov.u32 %r1, %tid.x; mad.lo.u32 %r2, %r0, 128, %r1;
    mul.wide.u32 %d2, %r2, 20; add.u64 %d3, %d0, %d2;
    mul.wide.u32 %d2, %r2, 12; add.u64 %d4, %d1, %d2;
    ld.global.f32 %f0, [%d3]; st.global.f32 [%d4], %f0; ret; }

    .visible .entry table(.param .u64 a, .param .u64 b) {
    .reg .b64 %d<8>; .reg .b32 %r<8>; .reg .f32 %f<4>;
    ld.param.u64 %d0, [a]; ld.param.u64 %d1, [b];
    mov.u32 %r0, %ctaid.x; mov.u32 %r1, %tid.x; mad.lo.u32 %r2, %r0, 128, %r1;
    mul.wide.u32 %d2, %r2, 4; add.u64 %d4, %d1, %d2;
    and.b32 %r3, %r0, 63; mad.lo.u32 %r3, %r3, 128, %r1; mul.wide.u32 %d2, %r3, 4;
    add.u64 %d3, %d0, %d2;
    ld.global.f32 %f0, [%d3]; st.global.f32 [%d4], %f0; ret; }

    .visible .entry neighbours(.param .u64 a, .param .u64 b) {
    .reg .b64 %d<8>; .reg .b32 %r<8>; .reg .f32 %f<4>;
    ld.param.u64 %d0, [a]; ld.param.u64 %d1, [b];
    mov.u32 %r0, %ctaid.x; mov.u32 %r1, %tid.x; mad.lo.u32 %r2, %r0, 128, %r1;
    mul.wide.u32 %d2, %r2, 4; add.u64 %d3, %d0, %d2; add.u64 %d4, %d1, %d2;
    ld.global.f32 %f0, [%d3]; ld.global.f32 %f1, [%d3+512]; ld.global.f32 %f2, [%d3+65536];
    ld.global.f32 %f3, [%d3+262144];
    st.global.f32 [%d4], %f0; ret; }

    .visible .entry guarded(.param .u64 a, .param .u64 b) {
    .reg .b64 %d<8>; .reg .b32 %r<8>; .reg .f32 %f<4>; .reg .pred %p0; .shared .b32 s[128];
    ld.param.u64 %d0, [a]; ld.param.u64 %d1, [b];
    mov.u32 %r0, %ctaid.x; mov.u32 %r1, %tid.x; mad.lo.u32 %r2, %r0, 128, %r1;
    setp.ge.u32 %p0, %r2, 63999950; @%p0 bra END;
    mul.wide.u32 %d2, %r2, 4; add.u64 %d3, %d0, %d2; add.u64 %d4, %d1, %d2;
    shl.b32 %r3, %r1, 2; mov.u32 %r4, s; add.u32 %r3, %r3, %r4;
    ld.global.f32 %f0, [%d3]; st.shared.f32 [%r3], %f0; ld.shared.f32 %f1, [%r3];
    add.f32 %f1, %f1, %f1; st.global.f32 [%d4], %f1;
    END: bar.sync 0; setp.lt.u32 %p0, %r0, 1000; @%p0 bra FIRST; ret;
    FIRST: bar.sync 0; ret; }
";

/// A copy that reads from so many places: `times` sets `%r3`, and `%r0` is the CTA.
fn unlike(name: &str, times: &str) -> String {
    format!(
        r"
    .visible .entry {name}(.param .u64 a, .param .u64 b) {{
    .reg .b64 %d<8>; .reg .b32 %r<8>; .reg .f32 %f<4>; .reg .pred %p<3>;
    ld.param.u64 %d0, [a]; ld.param.u64 %d1, [b];
    mov.u32 %r0, %ctaid.x; mov.u32 %r1, %tid.x; mad.lo.u32 %r2, %r0, 128, %r1;
    mul.wide.u32 %d2, %r2, 4; add.u64 %d3, %d0, %d2; add.u64 %d4, %d1, %d2;
    mov.f32 %f1, 0f00000000; {times}
    LOOP: ld.global.f32 %f0, [%d3]; add.f32 %f1, %f1, %f0; add.u64 %d3, %d3, 4194304;
    sub.u32 %r3, %r3, 1; setp.ne.u32 %p0, %r3, 0; @%p0 bra LOOP;
    st.global.f32 [%d4], %f1; ret; }}"
    )
}

/// One of 64 CTAs does 30 times the work; a block of 1 % does; work changes every 4,096 CTAs, and
/// comes back after 32,768; and work grows along the grid.
fn unlike_ctas() -> String {
    let rare = "and.b32 %r4, %r0, 63; setp.eq.u32 %p1, %r4, 0; selp.u32 %r3, 30, 1, %p1;";
    let block = "setp.ge.u32 %p1, %r0, 166666; setp.lt.and.u32 %p2, %r0, 171666, %p1; \
                 selp.u32 %r3, 30, 1, %p2;";
    let waves = "shr.u32 %r4, %r0, 12; and.b32 %r4, %r4, 7; add.u32 %r3, %r4, 1;";
    let growing = "div.u32 %r4, %r0, 50000; add.u32 %r3, %r4, 1;";
    let kernels = [("rare", rare), ("block", block), ("waves", waves), ("growing", growing)];
    kernels.map(|(name, times)| unlike(name, times)).concat()
}

/// CTAs of each launch.
const CTAS: u32 = 500_000;

fn kernel(name: &str) -> (tempfile::TempDir, Kernel) {
    let folder = tempfile::tempdir().unwrap();
    let kernels = format!("{KERNELS}{}", unlike_ctas());
    let text = format!(".version 8.0\n.target sm_50\n.address_size 64\n{kernels}");
    std::fs::write(folder.path().join("m.ptx"), text).unwrap();
    let mut toml = "module = \"m.ptx\"\n".to_owned();
    for buffer in ["a", "b"] {
        write!(
            toml,
            "[buffers.{buffer}]\ntype = \"f32\"\nlen = {}\n",
            u64::from(CTAS) * 640 + 70_000
        )
        .unwrap();
    }
    write!(
        toml,
        "[[launch]]\nkernel = \"{name}\"\ngrid = [{CTAS}, 1, 1]\nblock = [128, 1, 1]\n\
         args = [\"a\", \"b\"]\n"
    )
    .unwrap();
    let path = folder.path().join("m.toml");
    std::fs::write(&path, toml).unwrap();
    let kernel = Kernel::open(path.to_str().unwrap(), &LaunchOptions::default()).unwrap();
    (folder, kernel)
}

/// Every metric that depends on caches lies in its interval, or misses it by a thousandth: edges
/// of windows are those of waves, and CTAs of a window begin together.
#[test]
fn intervals_of_windows_hold_what_all_requests_give() {
    // What unlike CTAs do depends on their place, so that there are classes. Replaying all their
    // requests takes minutes.
    let alike =
        (&["copy", "strided", "table", "neighbours"][..], ["gtx-480", "gtx-1080", "titan-v"]);
    let unlike = (&["rare", "block", "waves", "growing"][..], ["gtx-480", "titan-v", "h100-sxm"]);
    let tried = if asked_samples().is_some() { &[alike, unlike][..] } else { &[alike][..] };
    let pairs = tried.iter().flat_map(|(names, gpus)| names.iter().map(move |name| (*name, gpus)));
    let (mut metrics, mut missed) = (0, Vec::new());
    for (at, (name, gpus)) in pairs.enumerate() {
        let (_folder, kernel) = kernel(name);
        // In the gate each kernel meets one GPU, the next one another.
        for &gpu in if is_nightly() { &gpus[..] } else { &gpus[at % gpus.len()..][..1] } {
            let (before, missed_before) = (metrics, missed.len());
            let full = counted(&kernel, gpu, CacheChoice::Full).remove(0).profile;
            let windows = counted(&kernel, gpu, CacheChoice::Windows).remove(0);
            assert_eq!(windows.counted_by.rung, Rung::Classes, "{name}");
            let windows = windows.profile;
            assert!(windows.is_of_windows() && !windows.intervals.is_empty(), "{name} on {gpu}");
            assert_eq!(full.metrics.len(), windows.metrics.len());
            for (metric, figure) in &full.metrics {
                let (value, estimate) = (figure.value.as_f64(), windows.metrics[metric].value);
                match windows.intervals.get(metric) {
                    None => assert_eq!(value, estimate.as_f64(), "{metric} is counted"),
                    Some(&[least, most]) => {
                        metrics += 1;
                        let about = 1e-3 * value;
                        if value < least - about || value > most + about {
                            missed.push(format!(
                                "{name} on {gpu}: {metric} is {value}, not {least} to {most}"
                            ));
                        }
                        assert!((least..=most).contains(&estimate.as_f64()), "{name}: {metric}");
                    }
                }
            }
            let (of_launch, outside) = (metrics - before, missed.len() - missed_before);
            println!("| {name} | {gpu} | {} of {of_launch} |", of_launch - outside);
        }
    }
    println!("{} of {metrics} lie outside:\n{}", missed.len(), missed.join("\n"));
    assert!(20 * missed.len() <= metrics, "{}", missed.join("\n"));
}

/// Loads and stores of several instructions, or of several threads, that touch the same sectors:
/// loads of four words 16 bytes apart, of every 16 bytes, and with strides; and the same of stores,
/// and of both at one place.
const TOUCHED: &str = r"
    .visible .entry loads(.param .u64 a, .param .u64 b) {
    .reg .b64 %d<8>; .reg .b32 %r<8>; .reg .f32 %f<8>;
    ld.param.u64 %d0, [a]; ld.param.u64 %d1, [b];
    mov.u32 %r0, %ctaid.x; mov.u32 %r1, %tid.x; mad.lo.u32 %r2, %r0, 128, %r1;
    mul.wide.u32 %d2, %r2, 4; add.u64 %d3, %d0, %d2;
    ld.global.f32 %f0, [%d3]; ld.global.f32 %f1, [%d3+16]; ld.global.f32 %f2, [%d3+32];
    ld.global.f32 %f3, [%d3+48]; ret; }

    .visible .entry apart(.param .u64 a, .param .u64 b) {
    .reg .b64 %d<8>; .reg .b32 %r<8>; .reg .f32 %f<8>;
    ld.param.u64 %d0, [a]; ld.param.u64 %d1, [b];
    mov.u32 %r0, %ctaid.x; mov.u32 %r1, %tid.x; mad.lo.u32 %r2, %r0, 128, %r1;
    mul.wide.u32 %d2, %r2, 64; add.u64 %d3, %d0, %d2;
    ld.global.f32 %f0, [%d3]; ld.global.f32 %f1, [%d3+16]; ld.global.f32 %f2, [%d3+32];
    ld.global.f32 %f3, [%d3+48]; ret; }

    .visible .entry stores(.param .u64 a, .param .u64 b) {
    .reg .b64 %d<8>; .reg .b32 %r<8>; .reg .f32 %f<8>;
    ld.param.u64 %d0, [a]; ld.param.u64 %d1, [b];
    mov.u32 %r0, %ctaid.x; mov.u32 %r1, %tid.x; mad.lo.u32 %r2, %r0, 128, %r1;
    mul.wide.u32 %d2, %r2, 16; add.u64 %d3, %d0, %d2; mov.f32 %f0, 0f3F800000;
    st.global.f32 [%d3], %f0; ret; }

    .visible .entry strided(.param .u64 a, .param .u64 b) {
    .reg .b64 %d<8>; .reg .b32 %r<8>; .reg .f32 %f<8>;
    ld.param.u64 %d0, [a]; ld.param.u64 %d1, [b];
    mov.u32 %r0, %ctaid.x; mov.u32 %r1, %tid.x; mad.lo.u32 %r2, %r0, 128, %r1;
    mul.wide.u32 %d2, %r2, 12; add.u64 %d3, %d0, %d2;
    mul.wide.u32 %d2, %r2, 128; add.u64 %d4, %d1, %d2;
    ld.global.f32 %f0, [%d3]; st.global.f32 [%d4], %f0; st.global.f32 [%d4+16], %f0; ret; }

    .visible .entry updated(.param .u64 a, .param .u64 b) {
    .reg .b64 %d<8>; .reg .b32 %r<8>; .reg .f32 %f<8>;
    ld.param.u64 %d0, [a]; ld.param.u64 %d1, [b];
    mov.u32 %r0, %ctaid.x; mov.u32 %r1, %tid.x; mad.lo.u32 %r2, %r0, 128, %r1;
    mul.wide.u32 %d2, %r2, 16; add.u64 %d3, %d0, %d2;
    ld.global.f32 %f0, [%d3]; add.f32 %f0, %f0, %f0; st.global.f32 [%d3], %f0; ret; }
";

/// Whatever the L2 holds when a window begins, a sector comes from DRAM when it is touched first,
/// and goes there once. That is so where windows fill the L2, and where they are far too short for
/// it.
#[test]
fn windows_count_compulsory_traffic_wherever_sectors_are_touched_from() {
    let exact = compulsory_figures_that_are_exact(1);
    assert!(exact >= if is_nightly() { 40 } else { 20 }, "{exact}");
}

/// A launch does not find what windows of the one before have left where the CTAs between them
/// bring more into the L2 than it holds.
#[test]
fn windows_of_repeated_launches_count_compulsory_traffic_again() {
    let exact = compulsory_figures_that_are_exact(3);
    assert!(exact >= if is_nightly() { 18 } else { 8 }, "{exact}");
}

/// Compares windows with all requests. Returns how many figures are those of each sector's first
/// touch, in each of some launches; windows have them exactly.
fn compulsory_figures_that_are_exact(launches: u32) -> u32 {
    const CTAS: u64 = 6000;
    let threads = CTAS * 128;
    // Sectors of 32 bytes from the first byte to the last one, and each whole line of strides.
    let cases = [
        ("loads", [(threads * 4 + 48) / 32, 0]),
        ("apart", [threads * 64 / 32, 0]),
        ("stores", [0, threads * 16 / 32]),
        ("strided", [threads * 12 / 32, threads]),
        ("updated", [threads * 16 / 32; 2]),
    ];
    let all = WindowSizes::default();
    let short = WindowSizes { counted: 1 << 8, warming: 1 << 8, most_warming: 1 << 8, ..all };
    let wider = WindowSizes { most_warming: 1 << 20, ..short };
    let ptx = format!(".version 8.0\n.target sm_50\n.address_size 64\n{TOUCHED}");
    let mut exact = 0;
    for (at, (name, expected)) in cases.into_iter().enumerate() {
        let text = format!(
            "[buffers.a]\ntype = \"u8\"\nlen = {0}\n[buffers.b]\ntype = \"u8\"\nlen = {0}\n\
             [[launch]]\nkernel = \"{name}\"\ngrid = [{CTAS}, 1, 1]\nblock = [128, 1, 1]\n\
             args = [\"a\", \"b\"]\nrepeat = {launches}\n",
            threads * 128 + 64
        );
        let kernel = launch_file(&ptx, &text, &LaunchOptions::default()).unwrap();
        // In the gate each case meets two of them.
        let gpus = ["gtx-480", "titan-v", "gtx-1080", "h100-sxm"];
        for gpu in if is_nightly() { &gpus[..] } else { &gpus[2 * (at % 2)..][..2] } {
            let full = on_four_sms(&kernel, gpu, CacheChoice::Full, all);
            for size in [short, wider] {
                let windows = on_four_sms(&kernel, gpu, CacheChoice::Windows, size);
                assert!(windows.is_of_windows(), "{name} on {gpu}");
                let metrics = ["dram_read_transactions", "dram_write_transactions"];
                for (metric, expected) in metrics.into_iter().zip(expected) {
                    let value = |profile: &LaunchProfile| profile.metrics[metric].value.as_f64();
                    let found = (value(&windows), value(&full));
                    println!("{name} on {gpu}, {metric}: {found:?}, {expected}");
                    let of_one = expected as f64 / f64::from(launches);
                    assert!(found.1 + 1.0 >= of_one, "{name} on {gpu}: {found:?}");
                    let [least, most] = windows.intervals[metric];
                    println!("    {least} to {most}");
                    assert!((least - 2.0..=most + 2.0).contains(&found.1), "{name} on {gpu}");
                    // Small caches lose lines before all instructions have been. Such traffic is
                    // not compulsory, and windows of one wave do not show it as longer ones do.
                    // Nor does a launch read or write again what the L2 holds.
                    let expected = expected as f64;
                    if (expected..=2.0 + 1e-3 * expected + expected).contains(&found.1) {
                        // What a launch finds dirty is estimated.
                        let about = if launches > 1 { 2.0 + 2e-3 * expected } else { 2.0 };
                        assert!((found.0 - found.1).abs() <= about, "{name} on {gpu}: {found:?}");
                        exact += u32::from(expected > 0.0);
                    }
                }
            }
        }
    }
    exact
}

/// The first launch of a kernel on a GPU that has four of its SMs.
pub(crate) fn on_four_sms(
    kernel: &Kernel,
    gpu: &str,
    caches: CacheChoice,
    windows: WindowSizes,
) -> LaunchProfile {
    all_on_four_sms(kernel, gpu, caches, windows).remove(0)
}

/// The launches of a kernel on a GPU that has four of its SMs.
pub(crate) fn all_on_four_sms(
    kernel: &Kernel,
    gpu: &str,
    caches: CacheChoice,
    windows: WindowSizes,
) -> Vec<LaunchProfile> {
    let gpu = gpu_argument::find(&gpu_argument::library().unwrap(), gpu).unwrap();
    let device = gpu_argument::device_model(&gpu).unwrap();
    launches(kernel, DeviceModel { sm_count: 4, ..device }, caches, windows)
}

fn launches(
    kernel: &Kernel,
    device: DeviceModel,
    caches: CacheChoice,
    windows: WindowSizes,
) -> Vec<LaunchProfile> {
    let loaded = module::load(kernel.plan()).unwrap();
    let (machine, rung, supervisor) = (&Machine::none(), RungChoice::Auto, &Alone);
    let extras = Extras { windows, ..Extras::default() };
    let counting = Counting { device, machine, extras, rung, sample: None, caches, supervisor };
    let options = Options::default();
    let counted = counting::count(kernel.plan(), &loaded, &options, &counting).unwrap();
    counted.into_iter().map(|counted| counted.profile).collect()
}

/// A launch that writes an array, one that reads and writes an array, and one that reads it. `from`
/// is the first element.
const FOLLOWING: &str = r"
    .visible .entry writes(.param .u64 a, .param .u32 from) {
    .reg .b64 %d<4>; .reg .b32 %r<4>; .reg .f32 %f<4>;
    ld.param.u64 %d0, [a]; ld.param.u32 %r3, [from];
    mov.u32 %r0, %ctaid.x; mov.u32 %r1, %tid.x; mad.lo.u32 %r2, %r0, 128, %r1;
    add.u32 %r2, %r2, %r3; mul.wide.u32 %d2, %r2, 16; add.u64 %d3, %d0, %d2;
    mov.f32 %f0, 0f3F800000; st.global.v4.f32 [%d3], {%f0, %f0, %f0, %f0}; ret; }

    .visible .entry updates(.param .u64 a, .param .u32 from) {
    .reg .b64 %d<4>; .reg .b32 %r<4>; .reg .f32 %f<4>;
    ld.param.u64 %d0, [a]; ld.param.u32 %r3, [from];
    mov.u32 %r0, %ctaid.x; mov.u32 %r1, %tid.x; mad.lo.u32 %r2, %r0, 128, %r1;
    add.u32 %r2, %r2, %r3; mul.wide.u32 %d2, %r2, 16; add.u64 %d3, %d0, %d2;
    ld.global.f32 %f0, [%d3]; add.f32 %f0, %f0, %f0; st.global.f32 [%d3], %f0; ret; }

    .visible .entry reads(.param .u64 a, .param .u32 from) {
    .reg .b64 %d<4>; .reg .b32 %r<4>; .reg .f32 %f<4>;
    ld.param.u64 %d0, [a]; ld.param.u32 %r3, [from];
    mov.u32 %r0, %ctaid.x; mov.u32 %r1, %tid.x; mad.lo.u32 %r2, %r0, 128, %r1;
    add.u32 %r2, %r2, %r3; mul.wide.u32 %d2, %r2, 16; add.u64 %d3, %d0, %d2;
    ld.global.f32 %f0, [%d3]; ret; }
";

/// CTAs of a large launch, which is cut into windows.
const LARGE: u64 = 6000;

/// CTAs of one that is too small for windows.
const SMALL: u64 = 48;

/// A launch of a sequence: a kernel, its CTAs, and the CTA's place that it begins at.
type Following = (&'static str, u64, u64);

/// Small launches read and write again what CTAs left that windows skip: far from the end, just
/// before it, and at it. They bring in as much as an L2 holds, in several launches. And large
/// launches follow.
const SEQUENCES: [&[Following]; 6] = [
    &[("writes", LARGE, 0), ("reads", SMALL, LARGE), ("reads", SMALL, LARGE + SMALL)],
    &[("writes", LARGE, 0), ("reads", SMALL, LARGE - 400), ("writes", LARGE, 0)],
    &[("updates", LARGE, 0), ("updates", SMALL, LARGE - SMALL), ("updates", SMALL, LARGE - 200)],
    &[
        ("writes", LARGE, 0),
        ("reads", 200, LARGE),
        ("updates", 200, LARGE),
        ("writes", 200, LARGE + 200),
        ("reads", 200, LARGE + 400),
        ("updates", LARGE, 0),
    ],
    &[("reads", LARGE, 0), ("writes", SMALL, LARGE - 200), ("writes", SMALL, 0)],
    &[("writes", LARGE, 0), ("writes", SMALL, LARGE - 300), ("writes", LARGE, LARGE / 2)],
];

/// A launch after one that windows were replayed of finds what the skipped CTAs left: its figures
/// have an interval, as far as they depend on that, or are those of all requests.
#[test]
fn launches_after_windows_hold_what_all_requests_move() {
    let all = WindowSizes::default();
    let short = WindowSizes { counted: 1 << 8, warming: 1 << 8, most_warming: 1 << 8, ..all };
    let longer = WindowSizes { most_warming: 1 << 20, ..short };
    let ptx = format!(".version 8.0\n.target sm_50\n.address_size 64\n{FOLLOWING}");
    let (mut figures, mut certain, mut missed) = (0, 0, Vec::new());
    for (number, sequence) in SEQUENCES.iter().enumerate() {
        let len = (2 * LARGE + 1000) * 128 * 16;
        let mut text = format!("[buffers.a]\ntype = \"u8\"\nlen = {len}\n");
        for (name, ctas, from) in *sequence {
            write!(
                text,
                "[[launch]]\nkernel = \"{name}\"\ngrid = [{ctas}, 1, 1]\nblock = [128, 1, 1]\n\
                 args = [\"a\", {{ u32 = {} }}]\n",
                from * 128
            )
            .unwrap();
        }
        let kernel = launch_file(&ptx, &text, &LaunchOptions::default()).unwrap();
        for gpu in ["gtx-480", "gtx-1080", "titan-v", "h100-sxm"] {
            let full = all_on_four_sms(&kernel, gpu, CacheChoice::Full, all);
            for size in [short, longer] {
                let windows = all_on_four_sms(&kernel, gpu, CacheChoice::Windows, size);
                assert!(windows[0].is_of_windows(), "{number} on {gpu}");
                for (at, (full, windows)) in full.iter().zip(&windows).enumerate() {
                    for (metric, figure) in &full.metrics {
                        let (truth, found) = (figure.value.as_f64(), windows.metrics[metric]);
                        let value = found.value.as_f64();
                        figures += 1;
                        let interval = windows.intervals.get(metric).copied();
                        certain += u32::from(interval.is_none());
                        let [least, most] = interval.unwrap_or([value; 2]);
                        assert!((least..=most).contains(&value), "{number} on {gpu}: {metric}");
                        let about = 2.0 + 1e-3 * truth;
                        if truth < least - about || truth > most + about {
                            let kernel = sequence[at].0;
                            missed.push(format!(
                                "{number} on {gpu}, launch {at} ({kernel}): {metric} is {truth}, \
                                 not {least} to {most}"
                            ));
                        }
                    }
                }
            }
        }
    }
    let (outside, missed) = (missed.len(), missed.join("\n"));
    println!("{outside} of {figures} lie outside; {certain} have no interval\n{missed}");
    assert_eq!(outside, 0, "{missed}");
}

/// The collection's kernels that read arrays by strides and write one: windows that are far too
/// short for the L2, and longer ones, hold what all requests move from and to DRAM.
#[test]
fn windows_of_strided_kernels_hold_what_all_requests_move() {
    let all = WindowSizes::default();
    let short = WindowSizes { counted: 1 << 8, warming: 1 << 8, most_warming: 1 << 8, ..all };
    let longer = WindowSizes { counted: 1 << 12, warming: 1 << 13, most_warming: 1 << 18, ..all };
    let tags = "gmem_pattern dtype:float32 lsize_0:128 lsize_1:1 lid_stride_0:1,2,8,32 \
                lid_stride_1:8192 n_arrays:1,2 nelements:786432";
    let tags: Vec<&str> = tags.split_whitespace().collect();
    let request = Request::parse(&tags, MatchCondition::default()).unwrap();
    let (mut metrics, mut missed) = (0, Vec::new());
    for choice in request.choices().unwrap() {
        let texts = choice.texts(Target::new(50), "kernel.ptx").unwrap();
        let (_, text) = texts.launch.split_once("kernel.ptx\"\n").unwrap();
        let kernel = launch_file(&texts.ptx, text, &LaunchOptions::default()).unwrap();
        for gpu in ["gtx-480", "gtx-1080", "titan-v", "h100-sxm"] {
            let full = on_four_sms(&kernel, gpu, CacheChoice::Full, all);
            for size in [short, longer] {
                let windows = on_four_sms(&kernel, gpu, CacheChoice::Windows, size);
                assert!(windows.is_of_windows(), "{} on {gpu}", choice.tags());
                for metric in ["dram_read_transactions", "dram_write_transactions"] {
                    let value = |profile: &LaunchProfile| profile.metrics[metric].value.as_f64();
                    let (truth, estimate) = (value(&full), value(&windows));
                    let [least, most] = windows.intervals[metric];
                    metrics += 1;
                    println!(
                        "{} on {gpu}: {metric} {truth}, {estimate}, {least} to {most}",
                        choice.tags()
                    );
                    let about = 2.0 + 1e-3 * truth;
                    if truth < least - about || truth > most + about {
                        missed.push(format!("{} on {gpu}: {metric}", choice.tags()));
                    }
                }
            }
        }
    }
    assert!(metrics >= 100 && missed.is_empty(), "{} of {metrics}: {missed:?}", missed.len());
}

/// A product of square matrices in which each thread makes an element, with `n` of both.
const PRODUCT: &str = r"
    .version 8.0
    .target sm_50
    .address_size 64
    .visible .entry product(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n) {
    .reg .b64 %d<8>; .reg .b32 %r<8>; .reg .f32 %f<4>; .reg .pred %p0;
    ld.param.u64 %d0, [a]; ld.param.u64 %d1, [b]; ld.param.u64 %d2, [c]; ld.param.u32 %r4, [n];
    mov.u32 %r0, %ctaid.y; mov.u32 %r1, %tid.y; mad.lo.u32 %r0, %r0, 16, %r1;
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mad.lo.u32 %r1, %r1, 16, %r2;
    mul.lo.u32 %r2, %r0, %r4; mul.wide.u32 %d3, %r2, 4; add.u64 %d0, %d0, %d3;
    mul.wide.u32 %d3, %r1, 4; add.u64 %d1, %d1, %d3; mul.wide.u32 %d5, %r4, 4;
    mov.f32 %f0, 0f00000000; mov.u32 %r3, %r4;
    LOOP: ld.global.f32 %f1, [%d0]; ld.global.f32 %f2, [%d1]; fma.rn.f32 %f0, %f1, %f2, %f0;
    add.u64 %d0, %d0, 4; add.u64 %d1, %d1, %d5;
    sub.u32 %r3, %r3, 1; setp.ne.u32 %p0, %r3, 0; @%p0 bra LOOP;
    add.u32 %r2, %r2, %r1; mul.wide.u32 %d3, %r2, 4; add.u64 %d2, %d2, %d3;
    st.global.f32 [%d2], %f0; ret; }
";

/// A launch of the product on a few SMs, whose L2 is as large as given.
fn product(gpu: &str, l2_bytes: u64, caches: CacheChoice, windows: WindowSizes) -> LaunchProfile {
    const N: u64 = 256;
    let len = N * N;
    let text = format!(
        "[buffers.a]\ntype = \"f32\"\nlen = {len}\n[buffers.b]\ntype = \"f32\"\nlen = {len}\n\
         [buffers.c]\ntype = \"f32\"\nlen = {len}\n[[launch]]\nkernel = \"product\"\n\
         grid = [{0}, {0}, 1]\nblock = [16, 16, 1]\nargs = [\"a\", \"b\", \"c\", {{ u32 = {N} }}]\n",
        N / 16
    );
    let kernel = launch_file(PRODUCT, &text, &LaunchOptions::default()).unwrap();
    let gpu = gpu_argument::find(&gpu_argument::library().unwrap(), gpu).unwrap();
    let device = gpu_argument::device_model(&gpu).unwrap();
    let l2 = L2Geometry { size_bytes: l2_bytes, ..device.l2 };
    launches(&kernel, DeviceModel { sm_count: 1, l2, ..device }, caches, windows).remove(0)
}

/// Of a launch that is not large, the default sees all requests. A large one is estimated: from a
/// sample of its lines, and if it is larger still, from windows of the grid, too. Compulsory
/// traffic is 3 · 8,192 sectors where the L2 holds the matrices. The smaller one has a third of
/// that, so that it reads B again and again.
#[test]
fn large_launches_are_estimated_with_intervals_that_hold() {
    let all = WindowSizes::default();
    // All in all 1.6 million lines.
    let by_lines = WindowSizes { lines: 1 << 18, ..all };
    let in_windows = WindowSizes { counted: 1, warming: 1, lines: 1 << 14, ..all };
    let mut told = String::new();
    let (mut metrics, mut missed) = (0, 0);
    for gpu in ["gtx-480", "titan-v", "h100-sxm"] {
        for l2_bytes in [256 << 10, 4 << 20] {
            let full = product(gpu, l2_bytes, CacheChoice::Full, all);
            let small = product(gpu, l2_bytes, CacheChoice::Auto, all);
            assert_eq!(small.metrics, full.metrics, "{gpu}");
            assert!(small.intervals.is_empty() && small.lines_per_replayed().is_none());
            for (size, is_cut) in [(by_lines, false), (in_windows, true)] {
                let part = product(gpu, l2_bytes, CacheChoice::Auto, size);
                assert_eq!(part.is_of_windows(), is_cut, "{gpu}");
                assert!(part.lines_per_replayed() >= Some(2), "{gpu}");
                for (name, figure) in &full.metrics {
                    let Some(&[least, most]) = part.intervals.get(name) else {
                        assert_eq!(*figure, part.metrics[name], "{name} is counted");
                        continue;
                    };
                    let (truth, estimate) = (figure.value.as_f64(), part.metrics[name]);
                    assert_eq!(estimate.kind, Kind::Estimated, "{name}");
                    metrics += 1;
                    let about = 0.01 * truth;
                    let holds = least - about <= truth && truth <= most + about;
                    missed += u32::from(!holds);
                    let estimate = estimate.value.as_f64();
                    let sign = if holds { " " } else { "!" };
                    writeln!(
                        told,
                        "{sign} {gpu} {l2_bytes} {is_cut} {name}: {truth}, {estimate} ({least} to {most})"
                    )
                    .unwrap();
                }
            }
        }
    }
    println!("{told}");
    assert!(10 * missed <= metrics, "{missed} of {metrics}:\n{told}");
}

/// What a launch gives models, with stages and recorded blocks.
fn source(kernel: &Kernel, gpu: &Gpu, caches: CacheChoice) -> Source {
    let execution = ExecutionSettings { caches, ..ExecutionSettings::default() };
    let needs = Needs::STAGES | Needs::ORDER;
    let counts = Counts { needs, execution, ..Counts::default() };
    kernel.count_with(gpu, &counts, &Alone).unwrap().remove(0)
}

/// Stages, kinds of CTAs and their order are those of a whole replay, and so is the time within
/// what the levels of memory leave open. The first CTAs and the last one are of their own kinds.
#[test]
fn windows_record_blocks_as_all_requests_do() {
    for (name, classes) in [("guarded", 3), ("table", 1)] {
        let (_folder, kernel) = kernel(name);
        let gpu = gpu_argument::find(&gpu_argument::library().unwrap(), "gtx-1080").unwrap();
        let full = source(&kernel, &gpu, CacheChoice::Full);
        let windows = source(&kernel, &gpu, CacheChoice::Windows);
        assert!(windows.without_blocks.is_some() && full.without_blocks.is_none(), "{name}");
        assert_eq!(windows.conditions.evidence.stages, full.conditions.evidence.stages, "{name}");
        let launch = |source: &Source| {
            let all = source.conditions.evidence.simulation.as_ref().expect("blocks are recorded");
            (all[0].launch.order.clone(), all[0].launch.classes.len(), all[0].launch.code.clone())
        };
        assert_eq!(launch(&windows), launch(&full), "{name}");
        assert_eq!(launch(&full).1, classes, "{name}");
        for model in ["sm-simulation", "interval", "component-throughput"] {
            let model = <dyn Model>::by_name(model).unwrap();
            let time = |source: &Source| {
                model.predict(&source.profile, &gpu, &source.conditions).unwrap().time_ms
            };
            let ratio = time(&windows) / time(&full);
            assert!((ratio - 1.0).abs() < 0.02, "{name} by {}: {ratio}", model.name());
        }
    }
}

/// Estimates and their intervals are read back as they were counted.
#[test]
fn counts_of_windows_are_kept_with_their_intervals() {
    struct Keeping(KeptCounts);
    impl Supervisor for Keeping {
        fn kept_counts(&self) -> Option<&KeptCounts> {
            Some(&self.0)
        }
    }
    let (folder, kernel) = kernel("copy");
    let kept = KeptCounts::new(folder.path().join("cache"), "a build".to_owned());
    let keeping = Keeping(kept.with_limits(1 << 30, Duration::ZERO));
    let gpu = gpu_argument::find(&gpu_argument::library().unwrap(), "gtx-480").unwrap();
    let device = gpu_argument::device_model(&gpu).unwrap();
    let loaded = module::load(kernel.plan()).unwrap();
    let kept = || {
        let counting = Counting {
            device,
            machine: &Machine::none(),
            extras: Extras::default(),
            rung: RungChoice::Auto,
            sample: None,
            caches: CacheChoice::Windows,
            supervisor: &keeping,
        };
        let options = Options::default();
        let mut all = counting::count(kernel.plan(), &loaded, &options, &counting).unwrap();
        all.remove(0)
    };
    let (first, second) = (kept(), kept());
    let entries = std::fs::read_dir(folder.path().join("cache/counts")).unwrap().count();
    assert_eq!(entries, 1);
    // What is read has taken no time.
    assert_eq!(second.timing, Timing::default());
    assert!(!first.profile.intervals.is_empty());
    assert_eq!(second.profile.intervals, first.profile.intervals);
    assert_eq!(second.profile.metrics, first.profile.metrics);
    assert!(second.profile.is_of_windows());
}

/// A grid of 2³¹ CTAs takes no longer than the windows do. The copy reads each sector once and
/// writes it once.
#[test]
fn windows_of_the_largest_grid_count_its_traffic() {
    let (folder, _) = kernel("copy");
    let path = folder.path().join("m.toml");
    let toml = std::fs::read_to_string(&path).unwrap();
    let ctas = (1_u64 << 31) - 1;
    let toml = toml.replace(&format!("[{CTAS}, 1, 1]"), &format!("[{ctas}, 1, 1]"));
    // Elements beyond 2³² would need wider arithmetic: the grid reads its buffers 64 times.
    let toml =
        toml.replace(&format!("len = {}", u64::from(CTAS) * 640 + 70_000), "len = 4294967296");
    std::fs::write(&path, toml).unwrap();
    let kernel = Kernel::open(path.to_str().unwrap(), &LaunchOptions::default()).unwrap();
    let windows = counted(&kernel, "gtx-1080", CacheChoice::Windows).remove(0).profile;
    let count = |name: &str| windows.metrics[name].value.as_f64();
    let sectors = ctas as f64 * 16.0;
    assert_eq!(count("global_load_sectors"), sectors);
    for metric in ["dram_read_transactions", "dram_write_transactions"] {
        assert!((count(metric) / sectors - 1.0).abs() < 1e-3, "{metric}: {}", count(metric));
    }
}
