//! Kernels whose events are known, traced on GPUs whose caches are known.

use gpucast_interpreter::{
    Argument, DeviceMemory, Launch, Options, Program, Schedule, Silent, run,
};
use gpucast_simulation::code::Space;
use gpucast_simulation::launch::Beside;

use super::*;
use crate::hierarchy::L2Geometry;
use crate::{Counter, DeviceModel, LaunchProfile};
use gpucast_ptx_frontend::ComputeCapability;

/// A launch of a body with the parameter `in`, the address of `bytes` bytes.
struct Case {
    body: String,
    grid: [u32; 3],
    block: u32,
    bytes: u64,
    device: DeviceModel,
    limits: TraceLimits,
}

impl Case {
    fn new(body: &str) -> Self {
        Self {
            body: body.to_owned(),
            grid: [1, 1, 1],
            block: 32,
            bytes: 1 << 16,
            device: DeviceModel::GTX_480,
            limits: TraceLimits::default(),
        }
    }

    fn grid(self, x: u32, y: u32) -> Self {
        Self { grid: [x, y, 1], ..self }
    }

    fn block(self, threads: u32) -> Self {
        Self { block: threads, ..self }
    }

    fn limits(self, limits: TraceLimits) -> Self {
        Self { limits, ..self }
    }

    /// A GPU of capability 8.0 with eight SMs and an L2 of 1 MB.
    fn ampere(self) -> Self {
        let l2 = L2Geometry { size_bytes: 1 << 20, slices: 8, ..L2Geometry::GTX_480 };
        let capability = ComputeCapability::new(8, 0);
        Self { device: DeviceModel::for_capability(capability, 8, l2).unwrap(), ..self }
    }

    /// The launch with or without a trace, and the first instruction and number of instructions of
    /// each block.
    fn run(&self, is_traced: bool) -> (LaunchProfile, Program) {
        let text = format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n\
             .visible .entry k(.param .u64 in) {{\n\
             .reg .pred %p, %q; .reg .b32 %r<32>; .reg .b64 %d<16>; .reg .b64 %in;\n\
             .reg .b32 %tid; .reg .b32 %warp; .reg .b32 %lane; .reg .b32 %x; .reg .b32 %y;\n\
             ld.param.u64 %in, [in]; mov.u32 %tid, %tid.x; shr.u32 %warp, %tid, 5;\n\
             mov.u32 %lane, %laneid; mov.u32 %x, %ctaid.x; mov.u32 %y, %ctaid.y;\n{}\n}}",
            self.body
        );
        let module = gpucast_ptx_frontend::load(&text).unwrap_or_else(|error| panic!("{error:?}"));
        let program = Program::new(&module, &text, "k").unwrap();
        let mut memory = DeviceMemory::new();
        let address = memory.allocate("in", self.bytes).unwrap();
        let launch = Launch {
            grid: self.grid,
            block: [self.block, 1, 1],
            cluster: None,
            dynamic_shared_bytes: 0,
            arguments: vec![Argument::Address(address)],
        };
        let mut counter =
            Counter::new(&program, &launch, program.static_shared_bytes(), self.device);
        if is_traced {
            counter = counter.with_trace(&self.limits);
        }
        let options = Options { schedule: Schedule::Parallel, ..Options::default() };
        run(&program, &launch, &mut memory, &mut counter, &options, &Silent).unwrap();
        (counter.finish().0, program)
    }

    /// The trace, which has changed no count.
    fn trace(&self) -> (LaunchTrace, Program) {
        let (untraced, _) = self.run(false);
        let (mut profile, program) = self.run(true);
        let trace = profile.trace.take().unwrap();
        assert_eq!(profile, untraced);
        check_sums(&trace, &program);
        ((*trace).clone(), program)
    }
}

/// Recorded and left out instructions make up the class's; runs make up the grid.
fn check_sums(trace: &LaunchTrace, program: &Program) {
    for (index, class) in trace.classes.iter().enumerate() {
        let runs = trace.order.iter().filter(|run| run.class as usize == index);
        assert_eq!(runs.map(|run| run.ctas).sum::<u64>(), class.ctas);
        for sample in &class.samples {
            let instructions = |visit: &BlockVisit| {
                u64::from(program.blocks()[visit.block as usize].instruction_count)
            };
            let of_warp = |warp: &WarpRecord| {
                warp.left_out_instructions + warp.blocks.iter().map(instructions).sum::<u64>()
            };
            if trace.notes.is_empty() {
                assert_eq!(sample.warps.iter().map(of_warp).sum::<u64>(), class.warp_instructions);
            }
        }
    }
}

fn only(trace: &LaunchTrace) -> &CtaRecord {
    let [class] = &*trace.classes else { panic!("{:?}", trace.classes) };
    let [sample] = &*class.samples else { panic!("{:?}", class.samples) };
    sample
}

/// The requests of each instruction that has any, in order of the program.
fn requests(warp: &WarpRecord) -> Vec<&[Request]> {
    warp.requests.values().map(Vec::as_slice).collect()
}

/// Lines, passes, and sectors of the L1, the L2 and DRAM.
fn figures(request: &Request) -> [u16; 5] {
    let Request { lines, passes, l1_sectors, l2_sectors, dram_sectors, .. } = *request;
    [lines, passes, l1_sectors, l2_sectors, dram_sectors]
}

#[test]
fn each_warp_has_its_own_way() {
    // Warp w loops w + 1 times.
    let case = Case::new(
        "mov.u32 %r0, 0;\n\
         L: add.u32 %r0, %r0, 1; setp.le.u32 %p, %r0, %warp; @%p bra L;\n\
         bar.sync 0; ret;",
    );
    let (trace, program) = case.block(96).trace();
    let record = only(&trace);
    for (index, warp) in record.warps.iter().enumerate() {
        let blocks: Vec<_> = warp.blocks.iter().map(|visit| visit.block).collect();
        let firsts = program.blocks().iter().map(|block| block.first_instruction);
        assert!(firsts.is_sorted());
        let mut expected = vec![0];
        expected.extend(vec![1; index + 1]);
        expected.push(2);
        assert_eq!(blocks, expected);
        assert!(warp.blocks.iter().all(|visit| visit.lanes == !0));
    }
    assert_eq!(record.warps.len(), 3);
}

#[test]
fn parts_of_a_warp_have_their_lanes() {
    let case = Case::new(
        "setp.lt.u32 %p, %lane, 8; @%p bra A; mov.u32 %r0, 1; bra C;\n\
         A: mov.u32 %r0, 2; C: bar.warp.sync 0xFFFFFFFF; ret;",
    );
    let (trace, _) = case.trace();
    let mut visits: Vec<_> =
        only(&trace).warps[0].blocks.iter().map(|visit| (visit.block, visit.lanes)).collect();
    assert_eq!(visits.remove(0), (0, !0));
    visits.retain(|&(block, _)| block < 3);
    visits.sort_unstable();
    assert_eq!(visits, [(1, !0xFF), (2, 0xFF)]);
}

#[test]
fn requests_have_the_lanes_that_take_part() {
    // Lanes below 40 of all threads: all of warp 0, eight of warp 1, none of warp 2.
    let case = Case::new(
        "setp.lt.u32 %p, %tid, 40; mad.wide.u32 %d0, %tid, 4, %in;\n\
         @%p ld.global.u32 %r0, [%d0]; ret;",
    );
    let (trace, _) = case.block(96).trace();
    let warps = &only(&trace).warps;
    let lanes: Vec<_> = warps
        .iter()
        .map(|warp| requests(warp).concat().iter().map(|request| request.lanes).collect::<Vec<_>>())
        .collect();
    assert_eq!(lanes, [vec![32], vec![8], vec![]]);
}

#[test]
fn sectors_that_the_cta_has_asked_for_before_are_told() {
    // Words of each warp's own, twice from the same addresses; one word for all warps; then words
    // whose sector every warp has asked for, at another address.
    let case = Case::new(
        "mad.wide.u32 %d0, %tid, 4, %in; mad.wide.u32 %d1, %warp, 128, %in;\n\
         ld.global.u32 %r0, [%d0+4096]; ld.global.u32 %r0, [%d0+4096];\n\
         ld.global.u32 %r0, [%in]; ld.global.u32 %r0, [%d1+4100]; ret;",
    );
    let (trace, _) = case.block(96).trace();
    let reuse: Vec<[u64; 2]> =
        trace.reuse.values().map(|reuse| [reuse.sectors, reuse.again]).collect();
    assert_eq!(reuse, [[12, 0], [12, 0], [3, 2], [3, 3]]);
}

#[test]
fn lines_sectors_and_passes_are_those_of_the_pattern() {
    // DRAM is read by 64 bytes, two sectors. Strides of 4, 8 and 128 bytes; then a column and a row
    // of shared memory; atomics.
    let case = Case::new(
        ".shared .align 16 .b32 s[1024]; mov.u32 %r9, s;\n\
         mad.wide.u32 %d0, %lane, 4, %in; mad.wide.u32 %d1, %lane, 8, %in;\n\
         mad.wide.u32 %d2, %lane, 128, %in; mad.lo.u32 %r8, %lane, 128, %r9;\n\
         mad.lo.u32 %r7, %lane, 4, %r9;\n\
         ld.global.u32 %r0, [%d0+8192]; ld.global.u32 %r0, [%d1+16384];\n\
         ld.global.u32 %r0, [%d2+32768]; st.shared.u32 [%r8], %r0; ld.shared.u32 %r0, [%r7];\n\
         st.global.u32 [%d0], %r0; atom.global.add.u32 %r1, [%in+4096], 1;\n\
         red.global.add.u32 [%d0+4224], 1; ret;",
    );
    let (trace, _) = case.ampere().trace();
    let warp = &only(&trace).warps[0];
    let got: Vec<_> = requests(warp).concat().iter().map(figures).collect();
    assert_eq!(
        got,
        [
            [1, 1, 0, 0, 4],
            [2, 2, 0, 0, 8],
            [32, 32, 0, 0, 64],
            [0, 32, 0, 0, 0],
            [0, 1, 0, 0, 0],
            [1, 0, 0, 4, 0],
            [1, 0, 0, 0, 2],
            [1, 0, 0, 0, 4],
        ]
    );
    let requests = requests(warp).concat();
    let spaces = requests.iter().map(|request| (request.space, request.serial));
    let (global, shared) = ((Space::Global, 1), (Space::Shared, 1));
    let updates = [(Space::Global, 32), (Space::Global, 1)];
    let expected = [global, global, global, shared, shared, global, updates[0], updates[1]];
    assert!(spaces.eq(expected));
}

#[test]
fn what_was_touched_before_is_found_at_its_level() {
    // Every CTA loads the same line twice; they are on different SMs and run in step.
    let body = "ld.global.u32 %r0, [%in]; ld.global.u32 %r1, [%in]; ret;";
    let (trace, _) = Case::new(body).grid(3, 1).ampere().trace();
    let samples = &trace.classes[0].samples;
    let levels: Vec<_> = samples
        .iter()
        .map(|sample| requests(&sample.warps[0]).concat().iter().map(figures).collect::<Vec<_>>())
        .collect();
    let (first, hit) = ([1, 1, 0, 0, 2], [1, 1, 1, 0, 0]);
    let of_l2 = [1, 1, 0, 1, 0];
    assert_eq!(levels, [vec![first, hit], vec![of_l2, hit], vec![of_l2, hit]]);
    assert!(trace.notes.is_empty());
    // A Fermi fetches whole lines.
    let (trace, _) = Case::new(body).trace();
    let levels: Vec<_> = requests(&only(&trace).warps[0]).concat().iter().map(figures).collect();
    assert_eq!(levels, [[1, 1, 0, 0, 4], [1, 1, 1, 0, 0]]);
}

#[test]
fn hits_say_how_lately_another_cta_asked_dram() {
    // CTAs on different SMs, in step, pass their first-level caches.
    let wait = "add.u32 %r0, %r0, 1;".repeat(70);
    let body = format!(
        "mov.u32 %r0, 0; ld.global.cg.u32 %r1, [%in]; mov.u32 %r0, 1; mov.u32 %r0, 2;\n\
         ld.global.cg.u32 %r2, [%in]; {wait} ld.global.cg.u32 %r3, [%in]; ret;"
    );
    let (trace, _) = Case::new(&body).grid(2, 1).ampere().trace();
    let fetched: Vec<Vec<_>> = trace.classes[0]
        .samples
        .iter()
        .map(|sample| requests(&sample.warps[0]).concat())
        .map(|requests| requests.iter().map(|request| request.fetched_ago).collect())
        .collect();
    // The first request is the miss of one CTA, for which the other one waits; the last ones come
    // long after it.
    let misses: Vec<_> = trace.classes[0]
        .samples
        .iter()
        .map(|sample| requests(&sample.warps[0]).concat()[0].dram_sectors)
        .collect();
    assert_eq!(misses.iter().sum::<u16>(), 1, "{misses:?}");
    for (miss, fetched) in misses.into_iter().zip(fetched) {
        assert!(miss > 0 || fetched[0] == Some(0));
        assert_eq!(fetched[1..], [Some(3), None]);
    }
}

#[test]
fn an_execution_has_one_request_however_it_is_reported() {
    // Half of the lanes load shared memory and half global memory, by generic addresses.
    let case = Case::new(
        ".shared .align 16 .b32 s[1024]; cvta.shared.u64 %d0, 0; mov.u32 %r9, s;\n\
         cvt.u64.u32 %d0, %r9; cvta.shared.u64 %d0, %d0; mov.u64 %d1, %in;\n\
         setp.lt.u32 %p, %lane, 16; selp.b64 %d2, %d0, %d1, %p; mad.wide.u32 %d2, %lane, 4, %d2;\n\
         ld.u32 %r0, [%d2]; ld.u32 %r1, [%d2]; ret;",
    );
    let (trace, _) = case.ampere().trace();
    let got = requests(&only(&trace).warps[0]).concat();
    assert_eq!(got.iter().map(figures).collect::<Vec<_>>(), [[1, 2, 0, 0, 2], [1, 2, 2, 0, 0]]);
    assert!(got.iter().all(|request| (request.space, request.lanes) == (Space::Global, 32)));
}

#[test]
fn copies_read_device_memory_and_pass_over_the_banks_once() {
    // 16 bytes for each lane: four passes.
    let case = Case::new(
        ".shared .align 128 .b32 s[1024]; mov.u32 %r9, s; mad.lo.u32 %r8, %lane, 16, %r9;\n\
         mad.wide.u32 %d0, %lane, 16, %in; mov.u32 %r0, 0;\n\
         L: cp.async.cg.shared.global [%r8], [%d0], 16; add.u32 %r0, %r0, 1;\n\
         setp.lt.u32 %p, %r0, 3; @%p bra L; cp.async.wait_all; ret;",
    );
    let (trace, _) = case.ampere().trace();
    let got = requests(&only(&trace).warps[0]).concat();
    let expected = [[4, 4, 0, 0, 16], [4, 4, 0, 16, 0], [4, 4, 0, 16, 0]];
    assert_eq!(got.iter().map(figures).collect::<Vec<_>>(), expected);
    assert!(got.iter().all(|request| (request.space, request.lanes) == (Space::Global, 32)));
}

#[test]
fn a_bulk_copy_is_one_request() {
    let case = Case::new(
        ".shared .align 128 .b32 s[1024]; .shared .align 8 .b64 bar[1]; mov.u32 %r9, s;\n\
         mov.u32 %r8, bar; setp.ne.u32 %p, %tid, 0;\n\
         @!%p mbarrier.init.shared::cta.b64 [%r8], 1; bar.sync 0;\n\
         @!%p mbarrier.arrive.expect_tx.shared::cta.b64 %d1, [%r8], 2048;\n\
         @!%p cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r9], [%in], \
         2048, [%r8];\n\
         W: mbarrier.try_wait.parity.shared::cta.b64 %q, [%r8], 0; @!%q bra W; ret;",
    );
    let (trace, _) = case.ampere().trace();
    let got = requests(&only(&trace).warps[0]).concat();
    let copies: Vec<_> = got.iter().filter(|request| request.space == Space::Global).collect();
    let [copy] = &*copies else { panic!("{got:?}") };
    assert_eq!((copy.lanes, copy.lines, copy.dram_sectors), (1, 16, 64));
}

/// A guard `x < 72 and y < 5` over 10 x 3 CTAs of 8 columns and two warps, one for each row.
fn guarded() -> Case {
    Case::new(
        "and.b32 %r0, %lane, 7; mad.lo.u32 %r0, %x, 8, %r0; mad.lo.u32 %r1, %y, 2, %warp;\n\
         setp.ge.u32 %p, %r0, 72; setp.ge.u32 %q, %r1, 5; or.pred %p, %p, %q;\n\
         @%p bra DONE; mad.lo.u32 %r2, %r1, 80, %r0; mad.wide.u32 %d0, %r2, 4, %in;\n\
         ld.global.u32 %r3, [%d0]; add.u32 %r3, %r3, 1; st.global.u32 [%d0], %r3;\n\
         DONE: ret;",
    )
    .block(64)
    .grid(10, 3)
    .ampere()
}

#[test]
fn a_guarded_grid_has_classes_of_its_interior_and_its_edges() {
    let (trace, program) = guarded().trace();
    // Columns 0 to 8 are inside, column 9 is not; of row 2, only the first warp is.
    let runs: Vec<_> = trace.order.iter().map(|run| (run.class, run.ctas)).collect();
    assert_eq!(runs, [(0, 9), (1, 1), (0, 9), (1, 1), (2, 9), (1, 1)]);
    let blocks = program.blocks();
    let [all, body, end] = [0, 1, 2].map(|block: usize| u64::from(blocks[block].instruction_count));
    let lengths: Vec<_> = trace.classes.iter().map(|class| class.warp_instructions).collect();
    let outside = 2 * (all + end);
    assert_eq!(lengths, [outside + 2 * body, outside, outside + body]);
    assert!(trace.classes.iter().all(|class| !class.samples.is_empty()));
    // Edges of the grid were chosen: (9, 1), (5, 2) and the ends.
    let samples = |class: usize| trace.classes[class].samples.iter().map(|sample| sample.cta);
    assert!(samples(1).any(|cta| cta == 19) && samples(2).any(|cta| cta == 25));
    assert!(samples(0).any(|cta| cta == 0) && samples(1).any(|cta| cta == 29));
}

#[test]
fn traces_do_not_depend_on_the_threads() {
    let trace = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| guarded().run(true).0)
    };
    let one = trace(1);
    assert!(one.trace.is_some());
    for threads in [2, 7] {
        assert_eq!(trace(threads), one, "{threads} threads");
    }
}

/// Each warp loads 50 lines of its own.
fn long() -> Case {
    Case::new(
        "mov.u32 %r0, 0; mad.wide.u32 %d0, %tid, 4, %in;\n\
         L: ld.global.u32 %r1, [%d0]; add.u64 %d0, %d0, 256; add.u32 %r0, %r0, 1;\n\
         setp.lt.u32 %p, %r0, 50; @%p bra L; ret;",
    )
    .block(64)
    .ampere()
}

#[test]
fn limits_cut_the_record_of_each_warp_and_say_so() {
    let case = long().limits(TraceLimits { visits: 40, ..TraceLimits::default() });
    let (trace, program) = case.trace();
    let [_, body, end] =
        [0, 1, 2].map(|block: usize| u64::from(program.blocks()[block].instruction_count));
    for warp in &only(&trace).warps {
        // 20 visits for each warp: the first block and 19 of 50 loops.
        assert_eq!((warp.blocks.len(), requests(warp)[0].len()), (20, 19));
        assert_eq!(warp.left_out_instructions, 31 * body + end);
    }
    assert_eq!(trace.notes.len(), 1, "{:?}", trace.notes);
    assert!(trace.notes[0].contains(&format!("{} instructions", 2 * (31 * body + end))));

    let case = long().limits(TraceLimits { requests: 20, ..TraceLimits::default() });
    let (trace, _) = case.trace();
    let counts: Vec<_> = only(&trace)
        .warps
        .iter()
        .map(|warp| (warp.blocks.len(), requests(warp)[0].len()))
        .collect();
    assert_eq!(counts, [(11, 10), (11, 10)]);
}

#[test]
fn levels_beyond_the_limit_are_drawn_from_the_counts() {
    let case = long().limits(TraceLimits { lines: 10, ..TraceLimits::default() });
    let (trace, _) = case.trace();
    let warps = &only(&trace).warps;
    // The caches tell that all of them come from DRAM.
    let figures: Vec<_> = warps.iter().flat_map(|warp| requests(warp).concat()).collect();
    assert_eq!(figures.len(), 100);
    assert!(figures.iter().all(|request| (request.lines, request.dram_sectors) == (1, 4)));
    assert_eq!(trace.notes.len(), 1, "{:?}", trace.notes);
    assert!(trace.notes[0].contains(" 90 recorded requests"));
}

#[test]
fn levels_agree_with_those_of_the_launch() {
    // Only the first CTA of 2000 finds nothing; the first of each SM finds nothing in its L1.
    let body = "mad.wide.u32 %d0, %lane, 4, %in; mov.u32 %r0, 0;\n\
                L: ld.global.u32 %r1, [%d0]; add.u64 %d0, %d0, 128; add.u32 %r0, %r0, 1;\n\
                setp.lt.u32 %p, %r0, 100; @%p bra L; ret;";
    let case = Case::new(body).grid(2000, 1).ampere();
    let (profile, _) = case.run(true);
    let trace = profile.trace.as_ref().unwrap();
    let row = profile.table.rows.iter().find(|row| !row.memory.is_empty()).unwrap();
    let traffic = row.memory[0].traffic.unwrap();
    assert_eq!(row.memory.len(), 1);
    let totals = [traffic.l1_hit_sectors, traffic.l2_hit_sectors, traffic.dram_read_sectors];
    let mut recorded = [0_u64; 3];
    let samples = &trace.classes[0].samples;
    for request in samples.iter().flat_map(|sample| requests(&sample.warps[0]).concat()) {
        let levels = [request.l1_sectors, request.l2_sectors, request.dram_sectors];
        assert_eq!(levels.iter().sum::<u16>(), 4);
        recorded.iter_mut().zip(levels).for_each(|(sum, one)| *sum += u64::from(one));
    }
    for (sum, total) in recorded.iter().zip(totals) {
        let expected = total as f64 * samples.len() as f64 / 2000.0;
        assert!((*sum as f64 - expected).abs() <= 4.0, "{recorded:?} {totals:?}");
    }
    assert_eq!(trace.notes.len(), 1, "{:?}", trace.notes);
    // Without differences nothing moves: each CTA of its own lines.
    let body = "mad.lo.u32 %r0, %x, 32, %lane; mad.wide.u32 %d0, %r0, 4, %in;\n\
                ld.global.u32 %r1, [%d0]; st.global.u32 [%d0], %r1; ret;";
    let case = Case::new(body).grid(512, 1).ampere();
    let (trace, _) = case.trace();
    assert!(trace.notes.is_empty(), "{:?}", trace.notes);
    // All of it is written once.
    assert_eq!(trace.dram_writes_per_store, 1.0);
}

#[test]
fn many_classes_are_put_together() {
    // CTA x loops x + 1 times.
    let case = Case::new(
        "mov.u32 %r0, 0; L: add.u32 %r0, %r0, 1; setp.le.u32 %p, %r0, %x; @%p bra L; ret;",
    );
    let (trace, program) = case.grid(200, 1).trace();
    assert!((30..=64).contains(&trace.classes.len()), "{}", trace.classes.len());
    assert!(trace.notes[0].contains("200 classes"), "{:?}", trace.notes);
    let body = u64::from(program.blocks()[1].instruction_count);
    let all: u64 = trace.classes.iter().map(|class| class.ctas * class.warp_instructions).sum();
    let others: u64 =
        [0, 2].map(|block: usize| program.blocks()[block].instruction_count.into()).iter().sum();
    let exact = 200 * others + body * (1..=200).sum::<u64>();
    assert!(all.abs_diff(exact) <= 100, "{all} {exact}");
}

/// CTA 123 of 1,000 loads forty words, one after the other, each by all lanes of a line of their
/// own; all CTAs store one.
fn straggling() -> Case {
    Case::new(
        "mov.u32 %r0, 0; mul.wide.u32 %d0, %tid, 128; add.u64 %d0, %in, %d0;\n\
         setp.ne.u32 %p, %x, 123; @%p bra E;\n\
         L: ld.global.u32 %r1, [%d0]; add.u32 %r0, %r0, 1;\n\
         setp.lt.u32 %q, %r0, 40; @%q bra L;\n\
         E: st.global.u32 [%in], %r0; ret;",
    )
}

#[test]
fn a_class_that_nobody_chose_has_an_outline() {
    let case = straggling().grid(1000, 1).ampere();
    let (trace, _) = case.trace();
    let [usual, long] = &*trace.classes else { panic!("{:?}", trace.classes) };
    assert_eq!((usual.ctas, long.ctas), (999, 1));
    assert_eq!(trace.order.iter().map(|run| run.ctas).collect::<Vec<_>>(), [123, 1, 876]);
    let [record] = &*long.samples else { panic!("{:?}", long.samples) };
    assert_eq!(record.cta, 123);
    let warp = &record.warps[0];
    let [loads, stores] = &*requests(warp) else { panic!("{:?}", warp.requests) };
    assert_eq!((loads.len(), stores.len()), (40, 1));
    for load in *loads {
        assert_eq!((load.lanes, load.lines), (32, 32));
        assert_eq!(load.l1_sectors + load.l2_sectors + load.dram_sectors, 32);
    }
    assert_eq!((stores[0].l2_sectors, stores[0].serial), (1, 1));
    // Where it was chosen, its record says the same but for what only requests tell.
    let chosen = TraceLimits { samples: 1000, ..TraceLimits::default() };
    let (whole, _) = case.limits(chosen).trace();
    let recorded = &whole.classes[1].samples[0].warps[0];
    assert_eq!(recorded.blocks, warp.blocks);
    assert_eq!(requests(recorded).iter().map(|all| all.len()).collect::<Vec<_>>(), [40, 1]);
    let levels = |all: &[Request]| all.iter().map(|request| request.l1_sectors).sum::<u16>();
    let (told, drawn) = (levels(requests(recorded)[0]), levels(loads));
    assert!(told.abs_diff(drawn) <= 32, "{told} {drawn}");
}

#[test]
fn stages_are_counted_beside_a_trace() {
    use crate::stages::StageCounter;
    let case = guarded();
    let (_, program) = case.run(false);
    let counted = |is_traced: bool| {
        let mut memory = DeviceMemory::new();
        let address = memory.allocate("in", case.bytes).unwrap();
        let launch = Launch {
            grid: case.grid,
            block: [case.block, 1, 1],
            cluster: None,
            dynamic_shared_bytes: 0,
            arguments: vec![Argument::Address(address)],
        };
        let mut counter = Counter::new(&program, &launch, 0, case.device);
        if is_traced {
            counter = counter.with_trace(&case.limits);
        }
        let mut stages = StageCounter::around(counter, &program);
        run(&program, &launch, &mut memory, &mut stages, &Options::default(), &Silent).unwrap();
        let (profile, stages, _) = stages.finish();
        (profile.trace.is_some(), profile.table, stages)
    };
    let (traced, table, stages) = counted(true);
    assert!(traced);
    assert_eq!(counted(false), (false, table, stages));
}

/// Steps at lines of the L2 by the definition: in each sector the most lanes at one address.
fn steps(addresses: &[u64]) -> BTreeMap<u64, u64> {
    let mut lanes: BTreeMap<(u64, u64), BTreeMap<u64, u64>> = BTreeMap::new();
    for &address in addresses {
        let sector = lanes.entry((address / 128, address / 32)).or_default();
        *sector.entry(address).or_insert(0) += 1;
    }
    let mut steps = BTreeMap::new();
    for ((line, _), at) in lanes {
        *steps.entry(line).or_insert(0) += at.values().max().unwrap();
    }
    steps
}

#[test]
fn atomics_take_turns_at_the_lines_that_ctas_share() {
    // Thread t of CTA x adds at word (5 t + 3 x) mod n. Then every warp adds to a line of its CTA,
    // and to one of its own.
    for words in [1_u64, 6, 40, 300] {
        let case = Case::new(&format!(
            "mul.lo.u32 %r0, %tid, 5; mad.lo.u32 %r0, %x, 3, %r0; rem.u32 %r0, %r0, {words};\n\
             mad.wide.u32 %d0, %r0, 4, %in; red.global.add.u32 [%d0], 1;\n\
             mad.wide.u32 %d1, %x, 128, %in; red.global.add.u32 [%d1+4096], 1;\n\
             mad.lo.u32 %r1, %x, 3, %warp; mad.wide.u32 %d2, %r1, 128, %in;\n\
             red.global.add.u32 [%d2+8192], 1; ret;"
        ));
        let (trace, _) = case.grid(5, 1).block(96).ampere().trace();
        // Lines that several CTAs meet at, by all of their requests.
        let addresses = |x: u64, warp: u64| -> Vec<u64> {
            (0..32).map(|lane| (5 * (32 * warp + lane) + 3 * x) % words * 4).collect()
        };
        let mut ctas: BTreeMap<u64, std::collections::BTreeSet<u64>> = BTreeMap::new();
        for (x, warp) in (0..5).flat_map(|x| (0..3).map(move |warp| (x, warp))) {
            for line in steps(&addresses(x, warp)).into_keys() {
                ctas.entry(line).or_default().insert(x);
            }
        }
        let is_met = |line: &u64| ctas[line].len() > 1;
        let mut met = BTreeMap::new();
        for sample in trace.classes.iter().flat_map(|class| &class.samples) {
            for (at, warp) in sample.warps.iter().enumerate() {
                let turns: Vec<&[Turn]> = requests(warp)
                    .concat()
                    .iter()
                    .map(|request| turns_of(&trace, request))
                    .collect();
                let [common, own, alone] = turns[..] else { panic!("{turns:?}") };
                let expected = steps(&addresses(sample.cta, at as u64));
                let shared: Vec<_> = expected.iter().filter(|(line, _)| is_met(line)).collect();
                let found: Vec<_> = common.iter().filter(|turn| turn.is_shared).collect();
                assert_eq!(shared.len(), found.len(), "{words} words");
                for ((line, steps), turn) in shared.iter().zip(found) {
                    assert_eq!(**steps, u64::from(turn.steps));
                    // A line has one number.
                    assert_eq!(*met.entry(**line).or_insert(turn.line), turn.line);
                }
                assert_eq!(
                    own.iter().map(|run| (run.steps, run.is_shared)).collect::<Vec<_>>(),
                    [(32, false)]
                );
                assert!(alone.is_empty());
            }
        }
        let numbers: std::collections::BTreeSet<u32> = met.values().copied().collect();
        assert_eq!(numbers.len(), met.len());
    }
}

fn turns_of<'a>(trace: &'a LaunchTrace, request: &Request) -> &'a [Turn] {
    match request.beside {
        Beside::Turns { first, lines } => &trace.turns[first as usize..][..lines.into()],
        _ => &[],
    }
}
