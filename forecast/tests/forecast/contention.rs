//! Atomics of a whole grid at a few addresses: their number times the clocks of one.

use std::fmt::Write as _;

use gpucast_forecast::run::sources::Source;
use gpucast_forecast::{Kernel, LaunchOptions};
use gpucast_model::what_if::apply;
use gpucast_model::{Gpu, GpuLibrary, Interval, Model, SmSimulation};

use crate::common::launch_file;

const GPUS: [&str; 5] = ["gtx-titan-x", "titan-v", "a100-sxm-40gb", "rtx-4090", "h100-sxm"];

const CTAS: u32 = 2048;
const THREADS: u32 = 256;

/// Each thread adds to one of `addresses` words, `stride` bytes apart.
fn kernel(operation: &str, addresses: u32, stride: u32) -> Kernel {
    let ptx = format!(
        ".version 7.8\n.target sm_50\n.address_size 64\n
        .visible .entry add(.param .u64 bins) {{
        .reg .b64 %d<4>; .reg .b32 %r<8>; .reg .f32 %f<2>;
        ld.param.u64 %d0, [bins];
        mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mad.lo.u32 %r2, %r1, {THREADS}, %r0;
        rem.u32 %r3, %r2, {addresses}; mul.wide.u32 %d1, %r3, {stride}; add.u64 %d2, %d0, %d1;
        cvt.rn.f32.u32 %f0, %r2;
        {operation}
        ret; }}"
    );
    let text = format!(
        "[buffers.bins]\ntype = \"u32\"\nlen = 65536\n
        [[launch]]\nkernel = \"add\"\ngrid = [{CTAS}, 1, 1]\nblock = [{THREADS}, 1, 1]\n\
        args = [\"bins\"]\n"
    );
    launch_file(&ptx, &text, &LaunchOptions::default()).unwrap()
}

fn gpu(name: &str) -> Gpu {
    GpuLibrary::builtin().unwrap().get(name).unwrap()
}

fn clocks(model: &dyn Model, source: &Source, gpu: &Gpu) -> f64 {
    let ms = model.predict(&source.profile, gpu, &source.conditions).unwrap().time_ms;
    ms * 1e3 * gpu.sm_parameters().unwrap().sp_clock
}

#[test]
fn a_grid_changes_an_address_once_in_an_interval() {
    let threads = f64::from(CTAS * THREADS);
    for name in GPUS {
        let gpu = gpu(name);
        let memory = gpu.sm_parameters().unwrap().memory;
        for addresses in [1, 2, 4, 16, 32, 64, 256] {
            let source = kernel("red.global.add.f32 [%d2], %f0;", addresses, 128)
                .count(&gpu)
                .unwrap()
                .remove(0);
            let of_address = threads / f64::from(addresses) * memory.atomic_interval;
            // Each warp changes a sector of each of its addresses.
            let sectors = threads / 32.0 * f64::from(addresses.min(32));
            let expected = of_address.max(sectors / memory.atomic_rate);
            for model in [&SmSimulation as &dyn Model, &Interval] {
                let found = clocks(model, &source, &gpu);
                // Starts of CTAs and what comes before their atomics.
                let rest = 6000.0 + 0.08 * expected;
                let is_right = (0.98 * expected..expected + rest).contains(&found);
                assert!(is_right, "{name}, {addresses} addresses: {found} of {expected}");
            }
        }
    }
}

#[test]
fn words_of_a_line_share_its_slice() {
    // The 32 lanes of a warp change 32 words of four sectors: a step for each sector.
    let gpu = gpu("a100-sxm-40gb");
    let source = kernel("red.global.add.f32 [%d2], %f0;", 32, 4).count(&gpu).unwrap().remove(0);
    let expected = f64::from(CTAS * THREADS / 32 * 4);
    let found = clocks(&SmSimulation, &source, &gpu);
    assert!((found / expected - 1.0).abs() < 0.1, "{found} of {expected}");
}

#[test]
fn warps_add_integers_up_before_they_take_a_turn() {
    let gpu = gpu("h100-sxm");
    let of = |operation| {
        let source = kernel(operation, 1, 4).count(&gpu).unwrap().remove(0);
        clocks(&SmSimulation, &source, &gpu)
    };
    let floats = of("red.global.add.f32 [%d0], %f0;");
    let integers = of("red.global.add.u32 [%d0], %r2;");
    // A turn at one address takes an H100 1.45 clocks.
    let turns = 1.45 * f64::from(CTAS * THREADS / 32);
    assert!(floats > 32.0 * turns, "{floats}");
    assert!((turns..turns + 6000.0).contains(&integers), "{integers} of {turns}");
}

#[test]
fn without_contention_a_warp_takes_one_turn() {
    let what_if = ["no-contention".parse().unwrap()];
    for gpu in ["titan-v", "h100-sxm"].map(gpu) {
        let interval = gpu.sm_parameters().unwrap().memory.atomic_interval;
        let kernel = kernel("red.global.add.f32 [%d0], %f0;", 1, 4);
        let mut source = kernel.count(&gpu).unwrap().remove(0);
        let before = clocks(&SmSimulation, &source, &gpu);
        let changed = apply(&what_if, &source.profile, &source.conditions);
        (source.profile, source.conditions) = (changed.profile, changed.conditions);
        let after = clocks(&SmSimulation, &source, &gpu);
        let warps = f64::from(CTAS * THREADS / 32);
        for (turns, clocks) in [(32.0 * warps, before), (warps, after)] {
            let found = clocks / interval;
            assert!((turns..1.03 * turns + 6000.0).contains(&found), "{found} of {turns} turns");
        }
    }
}

/// A dot product whose lanes each add their part to one word.
const DOT: &str = ".version 7.8\n.target sm_50\n.address_size 64\n
.visible .entry dot(.param .u64 a, .param .u64 b, .param .u64 sum) {
    .reg .b64 %d<8>; .reg .b32 %r<4>; .reg .f32 %f<4>;
    ld.param.u64 %d0, [a]; ld.param.u64 %d1, [b]; ld.param.u64 %d2, [sum];
    mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mad.lo.u32 %r2, %r1, 256, %r0;
    mul.wide.u32 %d3, %r2, 4; add.u64 %d4, %d0, %d3; add.u64 %d5, %d1, %d3;
    ld.global.f32 %f0, [%d4]; ld.global.f32 %f1, [%d5]; mul.f32 %f2, %f0, %f1;
    red.global.add.f32 [%d2], %f2;
    ret; }
";

#[test]
fn times_of_kernels_that_end_in_atomics() {
    let dot = "[buffers.a]\ntype = \"f32\"\nlen = 1048576\n[buffers.b]\ntype = \"f32\"\n\
         len = 1048576\n[buffers.sum]\ntype = \"f32\"\nlen = 1\n[[launch]]\nkernel = \"dot\"\n\
         grid = [4096, 1, 1]\nblock = [256, 1, 1]\nargs = [\"a\", \"b\", \"sum\"]\n";
    let options = LaunchOptions::default();
    let kernels = [
        ("histogram", Kernel::open("histogram", &options).unwrap()),
        ("reduction-f32", Kernel::open("reduction-f32", &options).unwrap()),
        ("reduction-u32", Kernel::open("reduction-u32", &options).unwrap()),
        ("dot", launch_file(DOT, dot, &options).unwrap()),
    ];
    let mut table = String::new();
    for (name, kernel) in kernels {
        for gpu in ["titan-v", "a100-sxm-40gb", "h100-sxm"].map(gpu) {
            let source = kernel.count(&gpu).unwrap().remove(0);
            let of = |model: &dyn Model| {
                1e3 * model.predict(&source.profile, &gpu, &source.conditions).unwrap().time_ms
            };
            let (simulated, interval) = (of(&SmSimulation), of(&Interval));
            writeln!(table, "{name} {}: {simulated:.1} {interval:.1} µs", gpu.name).unwrap();
        }
    }
    insta::assert_snapshot!(table);
}
