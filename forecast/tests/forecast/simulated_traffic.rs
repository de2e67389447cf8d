//! The traffic of the simulation to device memory: it is that of the counts, whichever of the
//! recorded CTAs stand for the others.

use std::fmt::Write as _;

use gpucast_corpus::Entry;
use gpucast_forecast::run::sources::Source;
use gpucast_forecast::{Kernel, LaunchOptions, settings};
use gpucast_model::sm_simulation::Analysis;
use gpucast_model::{Gpu, GpuLibrary};

use crate::common::{corpus_part, launch_file};

const SECTOR: f64 = 32.0;

/// Sectors of a small launch by which both may differ: requests change their level as a whole, and
/// not for less than half a percent of an instruction's sectors.
const WHOLE_REQUESTS: f64 = 512.0;

/// The same where a request is a box of a tensor: of 256 sectors.
const WHOLE_BOXES: f64 = 1024.0;

/// Sectors of device memory that the simulation charges, and those that were counted.
struct Traffic {
    simulated: f64,
    counted: f64,
}

impl Traffic {
    fn of(source: &Source, gpu: &Gpu) -> Self {
        let analysis = Analysis::of(&source.profile, gpu, &source.conditions).unwrap();
        let bytes = |metric| source.profile.metrics[metric].value.as_f64();
        let counted = bytes("dram_read_bytes") + bytes("dram_write_bytes");
        Self {
            simulated: analysis.served.dram_sectors,
            counted: counted * source.profile.invocations as f64 / SECTOR,
        }
    }

    fn ratio(&self) -> f64 {
        self.simulated / self.counted
    }
}

fn gpu(name: &str) -> Gpu {
    GpuLibrary::builtin().unwrap().get(name).unwrap()
}

/// CTAs that each take several tiles of a product, as many as an H100 takes at once. Tile t has
/// rows t / 32 and columns t % 32, so the first CTAs of the grid ask for all of it first.
fn persistent() -> Kernel {
    let ptx = "
        .version 7.8\n.target sm_80\n.address_size 64\n
        .visible .entry tiles(.param .u64 a, .param .u64 b, .param .u64 out) {
        .reg .b64 %d<12>; .reg .b32 %r<12>; .reg .f32 %f<4>; .reg .pred %p<3>;
        ld.param.u64 %d0, [a]; ld.param.u64 %d1, [b]; ld.param.u64 %d2, [out];
        mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mov.f32 %f0, 0f00000000;
        TILE:
        shr.u32 %r2, %r1, 5; and.b32 %r3, %r1, 31;
        mad.lo.u32 %r4, %r2, 65536, %r0; mad.lo.u32 %r5, %r3, 65536, %r0;
        mul.wide.u32 %d3, %r4, 4; add.u64 %d4, %d0, %d3;
        mul.wide.u32 %d5, %r5, 4; add.u64 %d6, %d1, %d5;
        mov.u32 %r6, 0;
        STEP:
        ld.global.cg.f32 %f1, [%d4]; ld.global.cg.f32 %f2, [%d6];
        fma.rn.f32 %f0, %f1, %f2, %f0;
        add.u64 %d4, %d4, 1024; add.u64 %d6, %d6, 1024;
        add.u32 %r6, %r6, 1; setp.lt.u32 %p0, %r6, 256; @%p0 bra STEP;
        add.u32 %r1, %r1, 128; setp.lt.u32 %p1, %r1, 512; @%p1 bra TILE;
        mov.u32 %r7, %ctaid.x; mad.lo.u32 %r8, %r7, 256, %r0; mul.wide.u32 %d7, %r8, 4;
        add.u64 %d8, %d2, %d7; st.global.f32 [%d8], %f0;
        ret; }";
    let buffer = |name: &str, len: u32| format!("[buffers.{name}]\ntype = \"f32\"\nlen = {len}\n");
    let mut text = buffer("a", 16 * 65_536) + &buffer("b", 32 * 65_536) + &buffer("out", 32_768);
    text += "[[launch]]\nkernel = \"tiles\"\ngrid = [128, 1, 1]\nblock = [256, 1, 1]\n\
        args = [\"a\", \"b\", \"out\"]\n";
    launch_file(ptx, &text, &LaunchOptions::default()).unwrap()
}

#[test]
fn the_first_cta_of_a_persistent_grid_does_not_miss_for_all() {
    let gpu = gpu("h100-sxm");
    let source = persistent().count(&gpu).unwrap().remove(0);
    let traffic = Traffic::of(&source, &gpu);
    // Both matrices once.
    assert!(traffic.counted >= 48.0 * 65_536.0 * 4.0 / SECTOR);
    assert!((0.95..1.05).contains(&traffic.ratio()), "{}", traffic.ratio());
}

#[test]
fn simulated_traffic_is_the_counted_one() {
    let options = LaunchOptions { size: Some(settings::Size::Small), ..LaunchOptions::default() };
    let mut unlike = String::new();
    for name in ["a100-sxm-80gb", "h100-sxm"] {
        let gpu = gpu(name);
        // An A100 has no other tensor cores than those of sm_80.
        let runs = |entry: &&Entry| {
            let target = entry.modules[0].target;
            !target.ends_with('a') || target == "sm_90a" && name == "h100-sxm"
        };
        for entry in corpus_part(2, 3).filter(runs) {
            let of_boxes = entry.modules[0].target.ends_with('a');
            for source in Kernel::open(entry.name, &options).unwrap().count(&gpu).unwrap() {
                let traffic = Traffic::of(&source, &gpu);
                let Traffic { simulated, counted } = traffic;
                let whole = if of_boxes { WHOLE_BOXES } else { WHOLE_REQUESTS };
                if (simulated - counted).abs() > (0.05 * counted).max(whole) {
                    writeln!(unlike, "{} on {name}: {simulated} of {counted}", entry.name).unwrap();
                }
            }
        }
    }
    assert_eq!(unlike, "");
}
