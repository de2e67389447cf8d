//! Launches counted by their slices: the counts are those of executing everything.

use gpucast_counters::definitions::{Basis, definition};
use gpucast_counters::trace::TraceLimits;
use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::run::counting::{self, Counted, Counting, Extras};
use gpucast_forecast::run::machine::Machine;
use gpucast_forecast::run::module;
use gpucast_forecast::run::rung::Rung;
use gpucast_forecast::settings::{CacheChoice, RungChoice, Size};
use gpucast_forecast::{Alone, Failure, Kernel, LaunchOptions};
use gpucast_interpreter::Options;

use crate::common::corpus_part;

/// Everything that can be counted, on one rung.
fn counted(kernel: &Kernel, rung: RungChoice) -> Result<Vec<Counted>, Failure> {
    counted_with(kernel, rung, CacheChoice::Full)
}

/// Everything that can be counted, on one rung, with some of the requests in the caches.
fn counted_with(
    kernel: &Kernel,
    rung: RungChoice,
    caches: CacheChoice,
) -> Result<Vec<Counted>, Failure> {
    counted_on("a100-sxm-40gb", kernel, rung, caches)
}

/// As [`counted_with`], on a GPU.
pub(crate) fn counted_on(
    gpu: &str,
    kernel: &Kernel,
    rung: RungChoice,
    caches: CacheChoice,
) -> Result<Vec<Counted>, Failure> {
    let library = gpu_argument::library().unwrap();
    let gpu = gpu_argument::find(&library, gpu).unwrap();
    let device = gpu_argument::device_model(&gpu).unwrap();
    let loaded = module::load(kernel.plan()).unwrap();
    let trace = Some(TraceLimits::default());
    let extras = Extras { stages: true, features: true, trace, ..Extras::default() };
    let counting = Counting {
        device,
        machine: &Machine::none(),
        extras,
        rung,
        sample: None,
        caches,
        supervisor: &Alone,
    };
    counting::count(kernel.plan(), &loaded, &Options::default(), &counting)
}

/// Insist that `auto` counts as `full` does. Returns the rungs of `auto`, and why they are not
/// higher.
fn alike(kernel: &Kernel, name: &str) -> Vec<(Rung, Option<String>)> {
    let full = counted(kernel, RungChoice::Full).unwrap();
    let auto = counted(kernel, RungChoice::Auto).unwrap();
    assert_eq!(full.len(), auto.len(), "{name}");
    let rungs = full.iter().zip(auto).map(|(full, auto)| {
        assert!(full.profile == auto.profile, "the profile of {name}");
        assert_eq!(full.evidence.stages, auto.evidence.stages, "{name}");
        assert!(full.evidence.features == auto.evidence.features, "the features of {name}");
        assert_eq!(full.ordered_because, auto.ordered_because, "{name}");
        assert_eq!(full.watched, auto.watched, "{name}");
        assert_eq!(full.counted_by.rung, Rung::Full);
        (auto.counted_by.rung, auto.counted_by.because)
    });
    rungs.collect()
}

#[test]
fn parts_of_the_corpus_have_the_tables_stages_features_and_traces_of_the_whole() {
    for entry in corpus_part(0, 2) {
        let options = LaunchOptions { size: Some(Size::Small), ..LaunchOptions::default() };
        let kernel = Kernel::open(entry.name, &options).unwrap();
        for (rung, because) in alike(&kernel, entry.name) {
            let is_part = matches!(rung, Rung::Slice | Rung::Classes);
            assert!(is_part, "{} by {rung:?}: {because:?}", entry.name);
        }
    }
}

#[test]
fn classes_of_ctas_have_the_tables_stages_features_and_traces_of_the_slice() {
    let (mut by_classes, mut all) = (0, 0);
    for entry in corpus_part(1, 2) {
        all += 1;
        let options = LaunchOptions { size: Some(Size::Small), ..LaunchOptions::default() };
        let kernel = Kernel::open(entry.name, &options).unwrap();
        let name = entry.name;
        let classes = match counted(&kernel, RungChoice::Classes) {
            Ok(classes) => classes,
            Err(refused) => {
                println!("{name}: {refused}");
                continue;
            }
        };
        by_classes += 1;
        let slices = counted(&kernel, RungChoice::Slice).unwrap();
        assert_eq!(classes.len(), slices.len(), "{name}");
        for (one, slice) in classes.iter().zip(&slices) {
            assert_eq!(one.counted_by.rung, Rung::Classes);
            assert!(one.profile == slice.profile, "the profile of {name}");
            assert_eq!(one.evidence.stages, slice.evidence.stages, "{name}");
            assert!(one.evidence.features == slice.evidence.features, "the features of {name}");
            let lanes = |counted: &Counted| counted.timing.thread_instructions;
            assert_eq!(lanes(one), lanes(slice), "{name}");
            let ctas: u32 = one.profile.grid.iter().product();
            println!("{name}: {:?} classes of {ctas} CTAs", one.counted_by.classes);
        }
    }
    assert!(2 * by_classes > all, "{by_classes} of {all}");
}

/// Insist that counts without caches are those with caches, but for all that depends on caches.
fn alike_without_caches(without: &Counted, with: &Counted, name: &str) {
    let of_caches = |name: &str| definition(name).unwrap().basis == Basis::CacheReplay;
    let mut metrics = with.profile.metrics.clone();
    metrics.retain(|name, _| !of_caches(name));
    assert_eq!(without.profile.metrics, metrics, "{name}");
    let mut table = with.profile.table.clone();
    for counts in table.rows.iter_mut().flat_map(|row| &mut row.memory) {
        assert!(counts.traffic.take().is_some(), "{name}");
    }
    assert_eq!(without.profile.table, table, "{name}");
    assert_eq!(without.evidence.stages, with.evidence.stages, "{name}");
    assert!(without.evidence.features == with.evidence.features, "the features of {name}");
    assert!(with.profile.has_caches() && !without.profile.has_caches());
    assert!(without.profile.trace.is_none(), "{name}");
}

#[test]
fn counts_without_caches_are_those_with_caches() {
    let (mut by_classes, mut all) = (0, 0);
    for entry in corpus_part(0, 3) {
        all += 1;
        let options = LaunchOptions { size: Some(Size::Small), ..LaunchOptions::default() };
        let kernel = Kernel::open(entry.name, &options).unwrap();
        let with = counted(&kernel, RungChoice::Slice).unwrap();
        for rung in [RungChoice::Slice, RungChoice::Classes] {
            let without = match counted_with(&kernel, rung, CacheChoice::None) {
                Ok(without) => without,
                Err(_) if rung == RungChoice::Classes => continue,
                Err(failure) => panic!("{}: {failure}", entry.name),
            };
            assert_eq!(without.len(), with.len(), "{}", entry.name);
            for (without, with) in without.iter().zip(&with) {
                alike_without_caches(without, with, entry.name);
            }
            by_classes += u32::from(rung == RungChoice::Classes);
        }
    }
    assert!(2 * by_classes > all, "{by_classes} of {all}");
}

/// Adds two vectors, whose elements are as many as threads in two dimensions of the grid.
const ADDITION: &str = "
    .visible .entry add(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 n) {
    .reg .b32 %r<4>; .reg .b64 %d<9>; .reg .f32 %f<3>; .reg .pred %p;
    ld.param.u64 %d0, [a]; ld.param.u64 %d1, [b]; ld.param.u64 %d2, [c]; ld.param.u64 %d3, [n];
    mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ctaid.y; mov.u32 %r2, %tid.x;
    mul.wide.u32 %d4, %r0, 256; mul.wide.u32 %d5, %r1, 256000000; add.u64 %d4, %d4, %d5;
    cvt.u64.u32 %d5, %r2; add.u64 %d4, %d4, %d5; setp.ge.u64 %p, %d4, %d3; @%p ret;
    shl.b64 %d5, %d4, 2; add.u64 %d6, %d0, %d5; add.u64 %d7, %d1, %d5; add.u64 %d8, %d2, %d5;
    ld.global.f32 %f0, [%d6]; ld.global.f32 %f1, [%d7]; add.f32 %f2, %f0, %f1;
    st.global.f32 [%d8], %f2; ret; }
";

#[test]
fn grids_of_any_size_are_counted_without_caches() {
    // Ten threads short of 10¹²: the last CTA has a warp with some of its lanes.
    let n: u64 = 1_000_000_000_000 - 10;
    let buffer = |name: &str| format!("[buffers.{name}]\ntype = \"f32\"\nlen = {n}\n");
    let launch = format!(
        "[[launch]]\nkernel = \"add\"\ngrid = [1000000, 3907, 1]\nblock = [256, 1, 1]\n\
         args = [\"a\", \"b\", \"c\", {{ u64 = {n} }}]\n"
    );
    let toml = ["a", "b", "c"].map(buffer).concat() + &launch;
    let (_folder, kernel) = file(ADDITION, &toml);
    let counted = &counted_with(&kernel, RungChoice::Classes, CacheChoice::None).unwrap()[0];
    let count = |name: &str| counted.profile.metrics[name].value.as_f64() as u64;
    let threads = 3_907_000_000 * 256;
    assert_eq!(count("threads_launched"), threads);
    assert_eq!(count("flop_count_sp_add"), n);
    // 13 instructions of all threads, the return of those without an element, 9 of the others.
    assert_eq!(count("ptx_thread_inst_executed"), 13 * threads + (threads - n) + 9 * n);
    assert_eq!(count("ptx_global_load_bytes"), 8 * n);
    assert_eq!(count("global_load_sectors"), 2 * n.div_ceil(8));
    assert_eq!(count("global_store_sectors"), n.div_ceil(8));
    assert_eq!(count("global_load_requests"), 2 * n.div_ceil(32));
    // Of so many pages at least 1,600 are kept: four standard deviations are a tenth.
    for access in &counted.evidence.features.as_ref().unwrap()[0].0.accesses {
        let footprint = access.footprint.unwrap();
        assert!((footprint.elements / n as f64 - 1.0).abs() < 0.1, "{footprint:?}");
        assert!(!footprint.exact);
    }
}

/// A launch file beside its module, and the kernel that it describes.
fn file(ptx: &str, toml: &str) -> (tempfile::TempDir, Kernel) {
    file_for("sm_80", ptx, toml)
}

/// The same for a target.
fn file_for(target: &str, ptx: &str, toml: &str) -> (tempfile::TempDir, Kernel) {
    let folder = tempfile::tempdir().unwrap();
    let text = format!(".version 8.0\n.target {target}\n.address_size 64\n{ptx}");
    std::fs::write(folder.path().join("m.ptx"), text).unwrap();
    let path = folder.path().join("m.toml");
    std::fs::write(&path, format!("module = \"m.ptx\"\n{toml}")).unwrap();
    let kernel = Kernel::open(path.to_str().unwrap(), &LaunchOptions::default()).unwrap();
    (folder, kernel)
}

/// Kernels that count down from a word, and that write one.
const LOOPS: &str = "
    .visible .entry loops(.param .u64 from, .param .u64 to) {
    .reg .b32 %r<4>; .reg .b64 %d<4>; .reg .pred %p;
    ld.param.u64 %d0, [from]; ld.param.u64 %d1, [to]; ld.global.u32 %r0, [%d0];
    st.global.u32 [%d1], 3;
    ld.global.u32 %r0, [%d0];
    AGAIN: sub.u32 %r0, %r0, 1; setp.gt.s32 %p, %r0, 0; @%p bra AGAIN; ret; }
    .visible .entry writes(.param .u64 to) {
    .reg .b32 %r<4>; .reg .b64 %d<4>;
    ld.param.u64 %d1, [to]; mov.u32 %r1, 9; st.global.u32 [%d1], %r1; ret; }
    .visible .entry differs(.param .u64 from, .param .u64 distance) {
    .reg .b32 %r<4>; .reg .b64 %d<4>; .reg .pred %p;
    ld.param.u64 %d0, [from]; ld.param.u64 %d1, [distance]; add.u64 %d2, %d0, %d1;
    ld.global.u32 %r0, [%d2];
    AGAIN: sub.u32 %r0, %r0, 1; setp.gt.s32 %p, %r0, 0; @%p bra AGAIN; ret; }
";

const BUFFERS: &str = "
    [buffers.a]
    type = \"u32\"
    len = 16
    init = { constant = 5 }
    [buffers.b]
    type = \"u32\"
    len = 16
";

/// The table of a launch of one warp.
fn launch(kernel: &str, args: &str) -> String {
    format!(
        "[[launch]]\nkernel = \"{kernel}\"\ngrid = [1, 1, 1]\nblock = [1, 1, 1]\nargs = [{args}]\n"
    )
}

fn instructions(counted: &Counted) -> u128 {
    counted.profile.table.rows.iter().map(|row| row.warp_executions).sum()
}

#[test]
fn a_launch_finds_what_earlier_ones_and_other_pointers_have_written() {
    let of = |launches: &[(&str, &str)]| {
        let launches = launches.iter().map(|(kernel, args)| launch(kernel, args));
        let (_folder, kernel) = file(LOOPS, &format!("{BUFFERS}{}", launches.collect::<String>()));
        assert!(alike(&kernel, "loops").iter().all(|(rung, _)| *rung == Rung::Slice));
        instructions(counted(&kernel, RungChoice::Slice).unwrap().last().unwrap())
    };
    let alone = of(&[("loops", "\"a\", \"b\"")]);
    // The second parameter leads to the same buffer: 3 rounds, not 5.
    let same = [("writes", "\"b\""), ("loops", "\"a\", \"a\"")];
    assert_eq!(of(&same), alone - 2 * 3);
    // An earlier launch has written 9.
    assert_eq!(of(&[("writes", "\"a\""), ("loops", "\"a\", \"b\"")]), alone + 4 * 3);
}

#[test]
fn a_pointer_that_leads_elsewhere_than_it_seems_has_everything_executed() {
    // From `a` to `b` it is one step of the allocation.
    let launches = launch("writes", "\"b\"") + &launch("differs", "\"a\", { u64 = 2097152 }");
    let (_folder, kernel) = file(LOOPS, &format!("{BUFFERS}{launches}"));
    for (rung, because) in alike(&kernel, "differs") {
        assert_eq!(rung, Rung::Full);
        let because = because.unwrap();
        assert!(because.contains("needed that counting did not compute"), "{because}");
    }
    let Err(refused) = counted(&kernel, RungChoice::Slice) else { panic!("it needs everything") };
    assert!(refused.to_string().contains("more than a slice"), "{refused}");
}

#[test]
fn buffers_that_no_count_depends_on_take_no_memory() {
    let buffers = "[buffers.b]\ntype = \"u32\"\nlen = 274877906944\n";
    let (_folder, kernel) = file(LOOPS, &format!("{buffers}{}", launch("writes", "\"b\"")));
    assert_eq!(counted(&kernel, RungChoice::Auto).unwrap()[0].counted_by.rung, Rung::Slice);
    let Err(refused) = counted(&kernel, RungChoice::Full) else { panic!("that is a terabyte") };
    assert!(refused.to_string().contains("MiB"), "{refused}");
    // Bounds hold all the same.
    let beyond = LOOPS.replace("[%d1], %r1", "[%d1+1099511627776], %r1");
    let (_folder, kernel) = file(&beyond, &format!("{buffers}{}", launch("writes", "\"b\"")));
    let Err(fault) = counted(&kernel, RungChoice::Auto) else { panic!("it is out of bounds") };
    assert!(fault.to_string().contains("out-of-bounds store"), "{fault}");
}

/// Kernels that copy 64 words of a tensor and write one. The first one's map is in memory. The
/// second one's is a parameter, and a word of the tensor says how often it goes round.
const BOXES: &str = "
    .visible .entry in_memory(.param .u64 maps, .param .u64 to) {
    .shared .align 128 .b8 tile[256]; .shared .align 8 .b64 full;
    .reg .b32 %r<4>; .reg .b64 %d<4>; .reg .pred %p;
    ld.param.u64 %d0, [maps]; ld.param.u64 %d1, [to]; mov.u32 %r0, 0;
    mbarrier.init.shared.b64 [full], 1;
    mbarrier.arrive.expect_tx.shared.b64 _, [full], 256;
    cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes
        [tile], [%d0, {%r0}], [full];
    WAIT: mbarrier.try_wait.parity.shared.b64 %p, [full], 0; @!%p bra WAIT;
    ld.shared.u32 %r1, [tile]; st.global.u32 [%d1], %r1; ret; }
    .visible .entry passed(.param .align 64 .b8 map[128], .param .u64 to) {
    .shared .align 128 .b8 tile[256]; .shared .align 8 .b64 full;
    .reg .b32 %r<4>; .reg .b64 %d<4>; .reg .pred %p;
    mov.b64 %d2, map; cvta.param.u64 %d0, %d2; ld.param.u64 %d1, [to]; mov.u32 %r0, 0;
    mbarrier.init.shared.b64 [full], 1;
    mbarrier.arrive.expect_tx.shared.b64 _, [full], 256;
    cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes
        [tile], [%d0, {%r0}], [full];
    WAIT: mbarrier.try_wait.parity.shared.b64 %p, [full], 0; @!%p bra WAIT;
    ld.shared.u32 %r1, [tile]; st.global.u32 [%d1], %r1;
    AGAIN: sub.u32 %r1, %r1, 1; setp.gt.s32 %p, %r1, 0; @%p bra AGAIN; ret; }
";

#[test]
fn a_copy_of_a_tensor_needs_its_map_and_no_buffer_but_the_tensor() {
    let map =
        "{ tensor_map = { buffer = \"a\", type = \"u32\", global_dim = [1024], box_dim = [64] } }";
    // Few have this much memory, and nobody needs what is written there.
    let buffers = "
        [buffers.a]
        type = \"u32\"
        len = 1024
        init = { constant = 5 }
        [buffers.large]
        type = \"u32\"
        len = 17179869184
    ";
    let maps = format!("[buffers.maps]\ntype = \"u8\"\nlen = 128\ninit = {{ struct = [{map}] }}\n");
    let cases = [("in_memory", "\"maps\"", maps.as_str(), 0), ("passed", map, "", 5)];
    for (name, first, maps, rounds) in cases {
        let toml = format!("{buffers}\n{maps}{}", launch(name, &format!("{first}, \"large\"")));
        let (_folder, kernel) = file_for("sm_90", BOXES, &toml);
        let slice = &counted(&kernel, RungChoice::Slice).unwrap()[0];
        assert_eq!(slice.counted_by.rung, Rung::Slice, "{name}");
        let executions = |text: &str| {
            let rows =
                slice.profile.table.rows.iter().filter(|row| row.description.opcode.text() == text);
            rows.map(|row| row.warp_executions).sum::<u128>()
        };
        assert_eq!(executions("sub"), rounds, "{name}");
    }
}
