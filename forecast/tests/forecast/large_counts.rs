//! Counts beyond 64 bits: the largest grids of CUDA and of PTX's registers.

use std::sync::atomic::{AtomicBool, Ordering};

use gpucast_counters::definitions::{Basis, definition};
use gpucast_counters::metric::Number;
use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::run::counting::{self, Counted, Counting, Extras};
use gpucast_forecast::run::machine::Machine;
use gpucast_forecast::run::module;
use gpucast_forecast::run::rung::Rung;
use gpucast_forecast::settings::{CacheChoice, MachineChoice, MachineSettings, RungChoice};
use gpucast_forecast::{Alone, Failure, Kernel, LaunchOptions, Supervisor};
use gpucast_interpreter::Options;

/// The extents of CUDA's largest grid.
const CUDA: [u32; 3] = [(1 << 31) - 1, 65_535, 65_535];

/// Elements of a vector for the first dimension of that grid, in CTAs of 256 threads. Ten threads
/// have none: the last CTA has a warp with some of its lanes.
const ELEMENTS: u64 = CUDA[0] as u64 * 256 - 10;

/// The extents of the largest grid that registers can name.
const REGISTERS: [u32; 3] = [u32::MAX; 3];

const PTX: &str = ".version 8.0\n.target sm_80\n.address_size 64
    // Adds two vectors; the other dimensions of the grid do the same once more.
    .visible .entry add(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 n) {
    .reg .b32 %r<4>; .reg .b64 %d<9>; .reg .f32 %f<3>; .reg .pred %p;
    ld.param.u64 %d0, [a]; ld.param.u64 %d1, [b]; ld.param.u64 %d2, [c]; ld.param.u64 %d3, [n];
    mov.u32 %r0, %ctaid.x; mov.u32 %r2, %tid.x; mul.wide.u32 %d4, %r0, 256;
    cvt.u64.u32 %d5, %r2; add.u64 %d4, %d4, %d5; setp.ge.u64 %p, %d4, %d3; @%p ret;
    shl.b64 %d5, %d4, 2; add.u64 %d6, %d0, %d5; add.u64 %d7, %d1, %d5; add.u64 %d8, %d2, %d5;
    ld.global.f32 %f0, [%d6]; ld.global.f32 %f1, [%d7]; add.f32 %f2, %f0, %f1;
    st.global.f32 [%d8], %f2; ret; }
    // Two stages around a barrier, a loop and shared memory with conflicts of two.
    .visible .entry stages() {
    .reg .b32 %r<6>; .reg .b64 %d<4>; .reg .pred %p; .shared .align 4 .b8 s[4096];
    mov.u32 %r0, %tid.x; shl.b32 %r1, %r0, 3; mov.u32 %r2, s; add.u32 %r1, %r1, %r2;
    st.shared.u32 [%r1], %r0; bar.sync 0; mov.u32 %r3, 0;
    AGAIN: ld.shared.u32 %r4, [%r1]; add.u32 %r3, %r3, 1; setp.lt.u32 %p, %r3, 10; @%p bra AGAIN;
    ret; }
    .visible .entry nothing() { ret; }
    .visible .entry loops() {
    .reg .b32 %r; .reg .pred %p; mov.u32 %r, 0;
    AGAIN: add.u32 %r, %r, 1; setp.lt.u32 %p, %r, 4096; @%p bra AGAIN; ret; }
";

/// A launch of a kernel of [`PTX`].
struct Case<'a> {
    kernel: &'a str,
    grid: [u32; 3],
    threads: u32,
    /// Further lines of the launch's table.
    also: &'a str,
}

impl Case<'_> {
    fn file(&self, elements: u64) -> String {
        let [x, y, z] = self.grid;
        let Self { kernel, threads, also, .. } = self;
        let buffer = |name| format!("[buffers.{name}]\ntype = \"f32\"\nlen = {elements}\n");
        let (buffers, args) = match *kernel {
            "add" => (
                ["a", "b", "c"].map(buffer).concat(),
                format!("\"a\", \"b\", \"c\", {{ u64 = {elements} }}"),
            ),
            _ => Default::default(),
        };
        format!(
            "module = \"m.ptx\"\n{buffers}[[launch]]\nkernel = \"{kernel}\"\ngrid = [{x}, {y}, {z}]\n\
             block = [{threads}, 1, 1]\nargs = [{args}]\n{also}\n"
        )
    }

    /// Counts the launch by classes; buffers have so many elements.
    fn count(
        &self,
        elements: u64,
        machine: MachineChoice,
        caches: CacheChoice,
    ) -> Result<Counted, Failure> {
        self.count_under(&Alone, elements, machine, caches)
    }

    fn count_under(
        &self,
        supervisor: &dyn Supervisor,
        elements: u64,
        machine: MachineChoice,
        caches: CacheChoice,
    ) -> Result<Counted, Failure> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("m.ptx"), PTX).unwrap();
        let path = folder.path().join("m.toml");
        std::fs::write(&path, self.file(elements)).unwrap();
        let kernel = Kernel::open(path.to_str().unwrap(), &LaunchOptions::default()).unwrap();
        let gpu = gpu_argument::find(&gpu_argument::library().unwrap(), "a100-sxm-40gb").unwrap();
        let device = gpu_argument::device_model(&gpu).unwrap();
        let loaded = module::load(kernel.plan()).unwrap();
        let settings = MachineSettings { machine, ..MachineSettings::default() };
        let names = [self.kernel].into_iter();
        let machine = Machine::new(&settings, &loaded, device.capability, names, None).unwrap();
        let counting = Counting {
            device,
            machine: &machine,
            extras: Extras { stages: true, ..Extras::default() },
            rung: RungChoice::Classes,
            sample: None,
            caches,
            supervisor,
        };
        let options = Options::default();
        let counted = counting::count(kernel.plan(), &loaded, &options, &counting)?;
        Ok(counted.into_iter().next().unwrap())
    }
}

fn count(counted: &Counted, metric: &str) -> u128 {
    match counted.profile.metrics[metric].value {
        Number::Count(count) => count,
        Number::Real(real) => panic!("{metric} is {real}"),
    }
}

#[test]
fn the_largest_grid_of_cuda_has_the_counts_of_closed_forms() {
    let case = Case { kernel: "add", grid: CUDA, threads: 256, also: "" };
    let counted = case.count(ELEMENTS, MachineChoice::None, CacheChoice::None).unwrap();
    assert_eq!(counted.counted_by.rung, Rung::Classes);
    let [x, y, z] = CUDA.map(u128::from);
    let (ctas, rows, n) = (x * y * z, y * z, u128::from(ELEMENTS));
    let threads = ctas * 256;
    for (metric, expected) in [
        ("sm_cta_launched", ctas),
        ("threads_launched", threads),
        ("warps_launched", ctas * 8),
        ("flop_count_sp_add", rows * n),
        // 10 instructions of all threads, the return of those without an element, 9 of the others.
        ("ptx_thread_inst_executed", 10 * threads + rows * 10 + 9 * rows * n),
        // Each warp has a thread with an element.
        ("ptx_inst_executed", ctas * 8 * (11 + 9)),
        ("ptx_global_load_bytes", rows * 8 * n),
        ("global_load_sectors", rows * 2 * n.div_ceil(8)),
        ("global_store_sectors", rows * n.div_ceil(8)),
        ("global_load_requests", rows * 2 * n.div_ceil(32)),
        ("divergent_branch", 0),
    ] {
        assert_eq!(count(&counted, metric), expected, "{metric}");
    }
    assert!(threads > u128::from(u64::MAX));
}

/// Every count of a grid is that of a smaller one as many times as it has copies of it. The counts
/// of the smaller one fit 64 bits.
#[test]
fn all_counts_and_stages_grow_with_the_dimensions_that_repeat_them() {
    let also = "beyond_cuda = true";
    for (kernel, threads, elements, copies) in
        [("add", 256, ELEMENTS, [65_535, 65_535]), ("stages", 512, 16, [u32::MAX, 70_000])]
    {
        for machine in [MachineChoice::None, MachineChoice::Rules] {
            let of = |[y, z]: [u32; 2]| {
                let case = Case { kernel, grid: [CUDA[0], y, z], threads, also };
                case.count(elements, machine, CacheChoice::None).unwrap()
            };
            let (one, all) = (of([1, 1]), of(copies));
            let times = u128::from(copies[0]) * u128::from(copies[1]);
            assert_eq!(one.profile.metrics.len(), all.profile.metrics.len());
            let mut beyond = 0;
            for (name, metric) in &one.profile.metrics {
                let (basis, value) = (definition(name).unwrap().basis, metric.value);
                let found = all.profile.metrics[name].value;
                let of_cta = ["threads_per_block", "registers_per_thread"].contains(&name.as_str());
                match value {
                    Number::Count(count) if of_cta || basis == Basis::Residency => {
                        assert_eq!(found, Number::Count(count), "{kernel} {name}");
                    }
                    Number::Count(count) => {
                        assert_eq!(found, Number::Count(count * times), "{kernel} {name}");
                        beyond += u32::from(count * times > u64::MAX.into());
                    }
                    Number::Real(real) if name == "waves_per_sm" => {
                        let ratio = found.as_f64() / real / times as f64;
                        assert!((ratio - 1.0).abs() < 1e-12, "{kernel} {name}");
                    }
                    // Occupancy of even rounds tends to its limit.
                    Number::Real(real) => {
                        let difference = found.as_f64() - real;
                        assert!(difference.abs() <= 1e-6 * real.abs(), "{kernel} {name}");
                    }
                }
            }
            assert!(beyond > 10, "{beyond}");
            let sum = |counted: &Counted| {
                let stages = &counted.evidence.stages.as_ref().unwrap().stages;
                let all = stages.iter().map(|stage| (stage.ctas, stage.instructions().warps));
                all.collect::<Vec<_>>()
            };
            let expected: Vec<_> =
                sum(&one).into_iter().map(|(ctas, warps)| (ctas * times, warps * times)).collect();
            assert_eq!(sum(&all), expected, "{kernel}");
        }
    }
}

fn refusal(case: &Case<'_>, machine: MachineChoice, caches: CacheChoice) -> String {
    match case.count(ELEMENTS, machine, caches) {
        Ok(_) => panic!("{:?} is counted", case.grid),
        Err(failure) => failure.to_string(),
    }
}

#[test]
fn grids_beyond_cuda_are_a_choice_and_end_where_registers_do() {
    let case = |grid, also| Case { kernel: "nothing", grid, threads: 32, also };
    for (axis, grid) in [("x", [1 << 31, 1, 1]), ("y", [1, 65_536, 1]), ("z", [1, 1, 65_536])] {
        let asked = case(grid, "beyond_cuda = true");
        let counted = asked.count(16, MachineChoice::None, CacheChoice::None).unwrap();
        let expected: u128 = grid.iter().map(|&extent: &u32| u128::from(extent)).product();
        assert_eq!(count(&counted, "ptx_inst_executed"), expected);
        let refused = refusal(&case(grid, ""), MachineChoice::None, CacheChoice::None);
        assert!(refused.contains(&format!("in {axis} is not between 1 and")), "{refused}");
    }
    let largest = case(REGISTERS, "beyond_cuda = true");
    let counted = largest.count(16, MachineChoice::Rules, CacheChoice::None).unwrap();
    let extent = u128::from(u32::MAX);
    assert_eq!(count(&counted, "ptx_inst_executed"), extent * extent * extent);
    assert_eq!(count(&counted, "threads_launched"), extent * extent * extent * 32);
}

#[test]
fn what_does_not_fit_is_an_error() {
    let case = |kernel, grid, also| Case { kernel, grid, threads: 1024, also };
    // 2⁹⁶ CTAs of 2¹⁰ threads that execute three instructions 2¹² times, all of it 2¹⁰ times.
    let repeated = case("loops", REGISTERS, "beyond_cuda = true\nrepeat = 1024");
    let machine = case("loops", REGISTERS, "beyond_cuda = true\nrepeat = 8");
    for (case, machine) in [(repeated, MachineChoice::None), (machine, MachineChoice::Rules)] {
        let refused = refusal(&case, machine, CacheChoice::None);
        assert!(refused.contains("which 128 bits do not hold"), "{refused}");
    }
    let fits = case("loops", REGISTERS, "beyond_cuda = true");
    assert!(fits.count(16, MachineChoice::None, CacheChoice::None).is_ok());
    // Caches hear of CTAs by their place.
    for caches in [CacheChoice::Full, CacheChoice::Windows] {
        let wide = case("nothing", REGISTERS, "beyond_cuda = true");
        let refused = refusal(&wide, MachineChoice::None, caches);
        assert!(refused.contains("only classes of blocks without caches count"), "{refused}");
    }
    let refused = refusal(&case("add", CUDA, ""), MachineChoice::None, CacheChoice::Windows);
    assert!(refused.contains("counts of 2⁶⁴ or more"), "{refused}");
}

/// Hears if CTAs of a launch have gone by.
#[derive(Default)]
struct Heard(AtomicBool);

impl Supervisor for Heard {
    fn progress(&self, _done: u128, _ctas: u128) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn windows_refuse_large_counts_before_any_cta_goes_through_the_caches() {
    for (grid, fits) in [([1 << 30, 1, 1], true), (CUDA, false)] {
        let case = Case { kernel: "add", grid, threads: 256, also: "" };
        let heard = Heard::default();
        let (elements, none) = (ELEMENTS, MachineChoice::None);
        let counted = case.count_under(&heard, elements, none, CacheChoice::Windows);
        assert_eq!((counted.is_ok(), heard.0.into_inner()), (fits, fits), "{grid:?}");
    }
}
