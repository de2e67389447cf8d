//! Recorded launches before and after each change.

use std::sync::Arc;

use gpucast_counters::{KernelProfile, Metrics};
use gpucast_simulation::code::{AccessKind, Action, Class, Control, MemoryAccess, Space};
use gpucast_simulation::launch::{Beside, Launch, Request, Turn, WarpTrace};
use gpucast_simulation::writer::Writer;

use crate::predictor::{Axes, Conditions, Evidence, InstructionFacts, LaunchShape};
use crate::sm_simulation::Invocations;
use crate::what_if::{WhatIf, apply};

fn profile() -> KernelProfile {
    KernelProfile {
        kernel: "k".to_owned(),
        invocations: 1,
        measured_on: None,
        metrics: Metrics::new(),
    }
}

fn conditions(launch: Launch, facts: InstructionFacts) -> Conditions {
    let launch = Arc::new(launch);
    Conditions {
        evidence: Evidence {
            simulation: Some(Arc::new(vec![Invocations { launch, count: 1 }])),
            instructions: Some(Arc::new(facts)),
            ..Evidence::default()
        },
        ..Conditions::default()
    }
}

fn changed(what_if: WhatIf, conditions: &Conditions) -> Conditions {
    apply(&[what_if], &profile(), conditions).conditions
}

fn launch_of(conditions: &Conditions) -> Launch {
    conditions.evidence.simulation.as_ref().unwrap()[0].launch.as_ref().clone()
}

/// A loop of one access, with its requests, by one warp.
fn loop_of(space: Space, kind: AccessKind, bytes: u32, requests: Vec<Request>) -> Launch {
    let mut writer = Writer::default();
    writer.op("MOV", Class::Integer, Control::NEXT).end_block();
    writer.access(space, kind, bytes, Control::NEXT.signals(0));
    writer.op("FADD", Class::Fp32, Control::NEXT.waits(1)).end_block();
    writer.exit();
    let mut warp = WarpTrace::of_loop(requests.len(), &requests[..1]);
    warp.requests = vec![requests];
    Launch::of_equal_ctas(writer.finish(), vec![warp], 10)
}

fn requests(launch: &Launch) -> Vec<Request> {
    launch.classes[0].samples[0].warps[0].requests[0].clone()
}

#[test]
fn coalescing_fetches_once_what_was_fetched_once() {
    // Eight rounds read the same 32 sectors, the first from DRAM.
    let mut apart = vec![Request::global(32, 0, 0); 8];
    apart[0] = Request::global(0, 0, 32);
    for request in &mut apart {
        (request.lines, request.passes) = (32, 32);
    }
    let launch = loop_of(Space::Global, AccessKind::Load, 4, apart);
    let conditions = conditions(launch, InstructionFacts::default());
    let after = requests(&launch_of(&changed(WhatIf::PerfectCoalescing, &conditions)));
    for request in &after {
        assert_eq!(request.l1_sectors + request.l2_sectors + request.dram_sectors, 4);
        assert_eq!((request.lines, request.passes), (1, 1));
    }
    assert_eq!(after.iter().map(|request| request.dram_sectors).sum::<u16>(), 32);
}

#[test]
fn coalescing_leaves_full_and_shared_sectors_alone() {
    let whole = vec![Request::global(0, 2, 2), Request::global(1, 0, 0)];
    let launch = loop_of(Space::Global, AccessKind::Load, 4, whole);
    let conditions = conditions(launch.clone(), InstructionFacts::default());
    assert_eq!(launch_of(&changed(WhatIf::PerfectCoalescing, &conditions)), launch);
}

#[test]
fn tiles_serve_what_the_cta_has_asked_for_before() {
    // Four in five requests find their line in the L1 or bring it anew from the L2.
    let mut all = vec![Request::global(4, 0, 0); 10];
    (all[0], all[5]) = (Request::global(0, 0, 4), Request::global(0, 4, 0));
    let mut launch = loop_of(Space::Global, AccessKind::Load, 4, all);
    for instruction in &mut launch.code.instructions {
        let is_load = matches!(instruction.action, Action::Access(_));
        instruction.ptx = is_load.then_some(7);
    }
    let facts = InstructionFacts { reread: [(7, 0.8)].into(), ..InstructionFacts::default() };
    let after = launch_of(&changed(WhatIf::TiledLoads, &conditions(launch, facts)));
    let (shared, global): (Vec<Request>, Vec<Request>) =
        requests(&after).into_iter().partition(|request| request.space == Space::Shared);
    assert_eq!((shared.len(), global.len()), (8, 2));
    assert!(shared.iter().all(|request| request.passes == 1 && request.l1_sectors == 0));
    let sum = |of: fn(&Request) -> u16| global.iter().map(of).sum::<u16>();
    assert_eq!((sum(|request| request.l2_sectors), sum(|request| request.dram_sectors)), (4, 4));
}

#[test]
fn coalesced_stores_write_no_more_to_memory() {
    let mut apart = Request::global(0, 32, 0);
    apart.lines = 32;
    let mut launch = loop_of(Space::Global, AccessKind::Store, 4, vec![apart; 8]);
    launch.dram_writes_per_store = 0.125;
    let conditions = conditions(launch, InstructionFacts::default());
    let after = launch_of(&changed(WhatIf::PerfectCoalescing, &conditions));
    assert!(requests(&after).iter().all(|request| request.l2_sectors == 4));
    assert!((after.dram_writes_per_store - 1.0).abs() < 1e-9);
}

#[test]
fn an_access_without_conflicts_takes_the_passes_of_its_bytes() {
    for (bytes, fewest) in [(4, 1), (8, 2), (16, 4)] {
        let launch = loop_of(Space::Shared, AccessKind::Load, bytes, vec![Request::shared(32); 2]);
        let conditions = conditions(launch, InstructionFacts::default());
        let after = requests(&launch_of(&changed(WhatIf::NoBankConflicts, &conditions)));
        assert!(after.iter().all(|request| request.passes == fewest), "{bytes}");
    }
}

#[test]
fn lanes_of_atomics_do_not_wait() {
    let mut request = Request::shared(1);
    request.serial = 32;
    let launch = loop_of(Space::Shared, AccessKind::Atomic, 4, vec![request]);
    let conditions = conditions(launch, InstructionFacts::default());
    let after = launch_of(&changed(WhatIf::NoContention, &conditions));
    assert_eq!(requests(&after)[0].serial, 1);
}

#[test]
fn more_hits_in_the_l2_take_sectors_from_memory() {
    let launch = loop_of(Space::Global, AccessKind::Load, 4, vec![Request::global(0, 0, 4); 10]);
    let conditions = conditions(launch, InstructionFacts::default());
    let after = requests(&launch_of(&changed(WhatIf::L2Hits(0.75), &conditions)));
    let sum = |of: fn(&Request) -> u16| after.iter().map(of).sum::<u16>();
    assert_eq!((sum(|request| request.l2_sectors), sum(|request| request.dram_sectors)), (30, 10));
    let back = changed(WhatIf::L2Hits(0.5), &changed(WhatIf::L2Hits(0.75), &conditions));
    let after = requests(&launch_of(&back));
    let sum = |of: fn(&Request) -> u16| after.iter().map(of).sum::<u16>();
    assert_eq!((sum(|request| request.l2_sectors), sum(|request| request.dram_sectors)), (20, 20));
}

#[test]
fn what_an_instruction_waited_for_the_next_one_waits_for() {
    let mut writer = Writer::default();
    writer.access(Space::Global, AccessKind::Load, 4, Control::NEXT.signals(0));
    writer.op("FMUL", Class::Fp32, Control::after(4).waits(1));
    writer.op("FADD", Class::Fp32, Control::after(4)).end_block();
    writer.exit();
    let warp = WarpTrace {
        path: vec![0, 1],
        requests: vec![vec![Request::global(0, 0, 4)]],
        left_out_instructions: 0,
    };
    let launch = Launch::of_equal_ctas(writer.finish(), vec![warp], 1);
    let conditions = conditions(launch, InstructionFacts::default());
    let after = launch_of(&changed(WhatIf::Fma, &conditions));
    let names: Vec<&str> =
        after.code.instructions.iter().map(|instruction| &*instruction.mnemonic).collect();
    assert_eq!(names, ["ACCESS", "FADD", "EXIT"]);
    assert_eq!(after.code.instructions[1].control.wait_mask, 1);
    assert_eq!(after.code.blocks, [0..2, 2..3]);
}

/// A load and a sum are spilled. Without the store nobody waits for them; what reads another load
/// still does.
#[test]
fn nobody_waits_for_what_a_spill_was_to_store() {
    let spilled = |writer: &mut Writer, control| {
        let access = MemoryAccess {
            space: Space::Local,
            kind: AccessKind::Store,
            bytes: 4,
            has_uniform_address: false,
            queue: None,
        };
        writer.push("STL", Class::Memory, Action::Access(access), control);
    };
    let mut writer = Writer::default();
    writer.access(Space::Global, AccessKind::Load, 4, Control::NEXT.signals(0));
    spilled(&mut writer, Control::NEXT.waits(1));
    writer.op("FADD", Class::Fp32, Control::after(4));
    spilled(&mut writer, Control::NEXT);
    writer.op("FMUL", Class::Fp32, Control::after(4).waits(2)).end_block();
    writer.exit();
    let warp = WarpTrace {
        path: vec![0, 1],
        requests: vec![vec![Request::global(0, 0, 4)]],
        left_out_instructions: 0,
    };
    let launch = Launch::of_equal_ctas(writer.finish(), vec![warp], 1);
    let conditions = conditions(launch, InstructionFacts::default());
    let after = launch_of(&changed(WhatIf::NoLocalMemory, &conditions));
    let names: Vec<&str> =
        after.code.instructions.iter().map(|instruction| &*instruction.mnemonic).collect();
    assert_eq!(names, ["ACCESS", "FADD", "FMUL", "EXIT"]);
    let controls: Vec<(u8, u64)> = after.code.instructions[1..3]
        .iter()
        .map(|instruction| (instruction.control.stall, instruction.control.wait_mask))
        .collect();
    assert_eq!(controls, [(1, 0), (4, 2)]);
}

#[test]
fn a_product_is_joined_to_one_sum() {
    let mut writer = Writer::default();
    for name in ["FMUL", "FMUL", "FADD", "FADD", "FADD"] {
        writer.op(name, Class::Fp32, Control::NEXT);
    }
    writer.end_block().exit();
    let warp = WarpTrace { path: vec![0, 1], ..WarpTrace::default() };
    let launch = Launch::of_equal_ctas(writer.finish(), vec![warp], 1);
    let conditions = conditions(launch, InstructionFacts::default());
    let after = launch_of(&changed(WhatIf::Fma, &conditions));
    assert_eq!(after.code.instructions.len(), 4);
}

#[test]
fn blocks_that_half_of_the_lanes_execute_are_executed_by_half_of_the_warps() {
    let mut writer = Writer::default();
    writer.op("MOV", Class::Integer, Control::NEXT).end_block();
    writer.access(Space::Global, AccessKind::Load, 4, Control::NEXT).end_block();
    writer.exit();
    let mut code = writer.finish();
    for (instruction, ptx) in code.instructions.iter_mut().zip(0..) {
        instruction.ptx = Some(ptx);
    }
    let request = Request { lanes: 16, ..Request::global(0, 0, 2) };
    let warp =
        WarpTrace { path: vec![0, 1, 2], requests: vec![vec![request]], left_out_instructions: 0 };
    let launch = Launch::of_equal_ctas(code, vec![warp; 4], 1);
    let facts =
        InstructionFacts { active_lanes: vec![32.0, 16.0, 32.0], ..InstructionFacts::default() };
    let after = launch_of(&changed(WhatIf::NoDivergence, &conditions(launch, facts)));
    let warps = &after.classes[0].samples[0].warps;
    let executing = warps.iter().filter(|warp| warp.path == [0, 1, 2]).count();
    assert_eq!((executing, warps.iter().filter(|warp| warp.path == [0, 2]).count()), (2, 2));
    let request = warps[0].requests[0][0];
    assert_eq!((request.lanes, request.dram_sectors), (32, 4));
}

#[test]
fn accesses_to_neighbouring_words_are_joined() {
    let mut writer = Writer::default();
    for _ in 0..4 {
        writer.access(Space::Global, AccessKind::Load, 4, Control::NEXT);
    }
    writer.end_block().exit();
    let mut code = writer.finish();
    for (instruction, ptx) in code.instructions.iter_mut().zip(0..) {
        instruction.ptx = Some(ptx);
    }
    // Rows of four words: the first access brings all sectors.
    let (first, other) = (Request::global(0, 0, 16), Request::global(16, 0, 0));
    let requests = vec![vec![first], vec![other], vec![other], vec![other]];
    let warp = WarpTrace { path: vec![0, 1], requests, left_out_instructions: 0 };
    let launch = Launch::of_equal_ctas(code, vec![warp], 1);
    let facts =
        InstructionFacts { neighbours: vec![vec![0, 1, 2, 3]], ..InstructionFacts::default() };
    let after = launch_of(&changed(WhatIf::VectorAccesses, &conditions(launch, facts)));
    assert_eq!(after.code.instructions.len(), 2);
    let Action::Access(access) = after.code.instructions[0].action else { panic!("an access") };
    assert_eq!(access.bytes, 16);
    let request = after.classes[0].samples[0].warps[0].requests[0][0];
    assert_eq!((request.l1_sectors, request.dram_sectors, request.lines), (0, 16, 4));
}

#[test]
fn even_waves_do_the_same_work_in_fewer_blocks() {
    let launch = loop_of(Space::Shared, AccessKind::Load, 4, vec![Request::shared(1)]);
    let shape = LaunchShape { blocks: 10, threads_per_block: 32, ..LaunchShape::default() };
    let conditions =
        Conditions { launch: Some(shape), ..conditions(launch, InstructionFacts::default()) };
    let after = changed(WhatIf::EvenWaves(4.0), &conditions);
    assert_eq!(after.launch.unwrap().blocks, 8);
    let launch = launch_of(&after);
    assert_eq!(launch.ctas(), 8);
    assert!((launch.classes[0].scale - 1.25).abs() < 1e-9);
    let same = changed(WhatIf::EvenWaves(5.0), &conditions);
    assert_eq!(launch_of(&same), launch_of(&conditions));
}

#[test]
fn blocks_are_divided_as_far_as_their_warps_go() {
    let mut launch = loop_of(Space::Shared, AccessKind::Load, 4, vec![Request::shared(1)]);
    let warp = launch.classes[0].samples[0].warps[0].clone();
    launch.classes[0].samples[0].warps = vec![warp; 4];
    let shape = LaunchShape {
        blocks: 10,
        threads_per_block: 128,
        shared_bytes: 4096,
        ..LaunchShape::default()
    };
    let conditions =
        Conditions { launch: Some(shape), ..conditions(launch, InstructionFacts::default()) };
    let after = changed(WhatIf::SpreadBlocks(20.0), &conditions);
    let shape = after.launch.unwrap();
    assert_eq!((shape.blocks, shape.threads_per_block, shape.shared_bytes), (20, 64, 2048));
    let launch = launch_of(&after);
    assert_eq!(launch.ctas(), 20);
    assert!(launch.classes[0].samples.iter().all(|sample| sample.warps.len() == 2));
    // A warp is not divided.
    let after = changed(WhatIf::SpreadBlocks(1000.0), &conditions);
    assert_eq!(after.launch.unwrap().blocks, 40);
}

#[test]
fn blocks_that_loop_are_divided_by_rounds() {
    let requests = vec![Request::shared(1); 64];
    let launch = loop_of(Space::Shared, AccessKind::Load, 4, requests);
    let shape = LaunchShape { blocks: 10, threads_per_block: 32, ..LaunchShape::default() };
    let conditions =
        Conditions { launch: Some(shape), ..conditions(launch, InstructionFacts::default()) };
    let after = changed(WhatIf::SpreadBlocks(40.0), &conditions);
    let shape = after.launch.unwrap();
    assert_eq!((shape.blocks, shape.threads_per_block), (40, 32));
    let launch = launch_of(&after);
    assert_eq!(launch.ctas(), 40);
    let warps: Vec<_> = launch.classes[0].samples.iter().map(|sample| &sample.warps[0]).collect();
    assert_eq!(warps.len(), 4);
    assert_eq!(warps.iter().map(|warp| warp.path.len()).sum::<usize>(), 66);
    assert!(warps.iter().all(|warp| warp.requests[0].len() == 16));
}

/// A launch of 32 CTAs of 16 warps whose code loads a number of a row, one of a column, and adds.
fn of_rows_and_columns() -> Conditions {
    let mut writer = Writer::default();
    writer.op("MOV", Class::Integer, Control::NEXT);
    writer.access(Space::Global, AccessKind::Load, 4, Control::NEXT.signals(0));
    writer.access(Space::Global, AccessKind::Load, 4, Control::NEXT.signals(1));
    writer.op("FFMA", Class::Fp32, Control::after(4).waits(3)).end_block().exit();
    let mut code = writer.finish();
    for (instruction, ptx) in code.instructions.iter_mut().zip(0..) {
        instruction.ptx = Some(ptx);
    }
    let requests = vec![vec![Request::global(3, 0, 1)], vec![Request::global(0, 0, 4)]];
    let warp = WarpTrace { path: vec![0, 1], requests, left_out_instructions: 0 };
    let launch = Launch::of_equal_ctas(code, vec![warp; 16], 32);
    let (x, y) = (Axes { x: true, y: false }, Axes { x: false, y: true });
    let work = [(1, y), (2, x), (3, Axes { x: true, y: true })].into();
    let facts = InstructionFacts { work, ..InstructionFacts::default() };
    let shape = LaunchShape {
        blocks: 32,
        threads_per_block: 512,
        registers: Some(20),
        ..LaunchShape::default()
    };
    Conditions { launch: Some(shape), ..conditions(launch, facts) }
}

#[test]
fn merged_blocks_share_rows_and_columns() {
    let after = changed(WhatIf::MergedBlocks(4.0), &of_rows_and_columns());
    // A patch of two by two results of a thread, four warps in the place of sixteen.
    let shape = after.launch.unwrap();
    assert_eq!((shape.blocks, shape.threads_per_block, shape.registers), (32, 128, Some(23)));
    let launch = launch_of(&after);
    assert_eq!((launch.ctas(), launch.classes[0].samples[0].warps.len()), (32, 4));
    let names: Vec<&str> =
        launch.code.instructions.iter().map(|instruction| &*instruction.mnemonic).collect();
    let loads = ["ACCESS"; 4];
    assert_eq!(names, [&["MOV"][..], &loads, &["FFMA"; 4], &["EXIT"]].concat());
    // The first sum waits for the loads. The next instruction waits for the last sum alone.
    let sums = &launch.code.instructions[5..9];
    let controls = sums.iter().map(|sum| (sum.control.wait_mask, sum.control.stall));
    assert_eq!(controls.collect::<Vec<_>>(), [(3, 1), (0, 1), (0, 1), (0, 1)]);
    let requests = &launch.classes[0].samples[0].warps[0].requests;
    assert_eq!((requests[0].len(), requests[1].len()), (2, 2));
    // Each stands for two that had a sector from DRAM.
    assert_eq!((requests[0][0].dram_sectors, requests[0][0].l1_sectors), (2, 2));
    assert_eq!((requests[1][0].dram_sectors, requests[1][0].l1_sectors), (4, 0));
}

#[test]
fn merged_blocks_of_a_row_are_fewer_where_they_have_few_warps() {
    let mut conditions = of_rows_and_columns();
    let facts = InstructionFacts {
        work: [(1, Axes { x: true, y: false })].into(),
        ..InstructionFacts::default()
    };
    conditions.evidence.instructions = Some(Arc::new(facts));
    let after = changed(WhatIf::MergedBlocks(8.0), &conditions);
    let shape = after.launch.unwrap();
    assert_eq!((shape.blocks, shape.threads_per_block, shape.registers), (16, 128, Some(27)));
    let launch = launch_of(&after);
    assert_eq!((launch.ctas(), launch.classes[0].samples[0].warps[0].requests[0].len()), (16, 8));
    assert_eq!(launch.code.instructions.len(), 12);
}

#[test]
fn bytes_of_a_loop_are_loaded_as_vectors() {
    // A byte of each lane, from DRAM in each round.
    let mut launch =
        loop_of(Space::Global, AccessKind::Load, 1, vec![Request::global(0, 0, 1); 32]);
    for (instruction, ptx) in launch.code.instructions.iter_mut().zip(0..) {
        instruction.ptx = Some(ptx);
    }
    let facts = InstructionFacts {
        bytes: [(1, 16)].into(),
        work: [1, 2].map(|ptx| (ptx, Axes { x: true, y: false })).into(),
        ..InstructionFacts::default()
    };
    let after = launch_of(&changed(WhatIf::VectorAccesses, &conditions(launch, facts)));
    let count = |name: &str| {
        let names = after.code.instructions.iter().map(|instruction| &*instruction.mnemonic);
        names.filter(|one| *one == name).count()
    };
    // Each byte is taken out of its word and added.
    assert_eq!((count("ACCESS"), count("PRMT"), count("FADD")), (1, 16, 16));
    let Action::Access(access) = after.code.instructions[1].action else { panic!("an access") };
    assert_eq!(access.bytes, 16);
    let after = &after.classes[0].samples[0].warps[0];
    assert_eq!((after.path.len(), after.requests[0].len()), (4, 2));
    assert_eq!((after.requests[0][0].dram_sectors, after.requests[0][0].lines), (16, 4));
}

#[test]
fn blocks_update_a_line_once() {
    let line = |first| Request {
        serial: 2,
        lanes: 32,
        beside: Beside::Turns { first, lines: 1 },
        ..Request::global(0, 1, 0)
    };
    let all = vec![line(0), line(0), line(1), line(0), line(2)];
    let mut launch = loop_of(Space::Global, AccessKind::Reduction, 4, all);
    let turn = |line, is_shared| Turn { line, steps: 1, is_shared };
    launch.turns = vec![turn(7, true), turn(8, true), turn(9, false)];
    let after =
        launch_of(&changed(WhatIf::BlockAtomics, &conditions(launch, InstructionFacts::default())));
    let spaces: Vec<Space> = requests(&after).iter().map(|request| request.space).collect();
    assert_eq!(spaces, [Space::Global, Space::Shared, Space::Global, Space::Shared, Space::Global]);
    assert_eq!(requests(&after)[1].passes, 2);
}

#[test]
fn rounds_of_a_sum_become_shuffles() {
    let mut writer = Writer::default();
    writer.op("MOV", Class::Integer, Control::NEXT).end_block();
    writer.access(Space::Shared, AccessKind::Load, 4, Control::NEXT.signals(0));
    writer.access(Space::Shared, AccessKind::Load, 4, Control::NEXT.signals(0));
    writer.op("FADD", Class::Fp32, Control::after(4).waits(1));
    writer.access(Space::Shared, AccessKind::Store, 4, Control::NEXT).end_block();
    writer
        .push("BAR", Class::Branch, Action::CtaBarrier { queue: None }, Control::NEXT)
        .end_block();
    writer.exit();
    let mut code = writer.finish();
    for (instruction, ptx) in code.instructions.iter_mut().zip(0..) {
        instruction.ptx = Some(ptx);
    }
    // Eight warps: the first adds in each of eight rounds, all come to the barrier.
    let first = [&[0][..], &[1, 2].repeat(8), &[3]].concat();
    let other = [&[0][..], &[2].repeat(8), &[3]].concat();
    let warp = |path: &[u32]| WarpTrace {
        path: path.to_vec(),
        requests: vec![vec![Request::shared(1); 8]; 3],
        left_out_instructions: 0,
    };
    let mut warps = vec![warp(&other); 8];
    warps[0] = warp(&first);
    let launch = Launch::of_equal_ctas(code, warps, 1);
    let facts = InstructionFacts { exchanges: vec![1, 2, 4], ..InstructionFacts::default() };
    let after = launch_of(&changed(WhatIf::Shuffles, &conditions(launch, facts)));
    let names: Vec<&str> =
        after.code.instructions.iter().map(|instruction| &*instruction.mnemonic).collect();
    assert_eq!(names, ["MOV", "SHFL", "FADD", "EXIT"]);
    let rounds: Vec<usize> =
        after.classes[0].samples[0].warps.iter().map(|warp| warp.path.len() - 2).collect();
    // Five of eight rounds are those of a warp's lanes.
    assert_eq!(rounds, [16, 5, 5, 5, 5, 5, 5, 5]);
}

#[test]
fn unrolled_rounds_keep_a_store_and_two_barriers() {
    let mut writer = Writer::default();
    for _ in 0..8 {
        writer.access(Space::Shared, AccessKind::Store, 4, Control::NEXT);
        writer.push("BAR", Class::Branch, Action::CtaBarrier { queue: None }, Control::NEXT);
        writer.access(Space::Shared, AccessKind::Load, 4, Control::NEXT.signals(0));
        writer.op("FADD", Class::Fp32, Control::after(4).waits(1));
    }
    writer.end_block().exit();
    let mut code = writer.finish();
    for (instruction, ptx) in code.instructions.iter_mut().zip(0..) {
        instruction.ptx = Some(ptx);
    }
    let warp = WarpTrace {
        path: vec![0, 1],
        requests: vec![vec![Request::shared(1)]; 16],
        left_out_instructions: 0,
    };
    let launch = Launch::of_equal_ctas(code, vec![warp; 8], 1);
    let exchanges = (0..32).filter(|ptx| ptx % 2 == 0).collect();
    let facts = InstructionFacts { exchanges, ..InstructionFacts::default() };
    let after = launch_of(&changed(WhatIf::Shuffles, &conditions(launch, facts)));
    let count = |name: &str| {
        let names = after.code.instructions.iter().map(|instruction| &*instruction.mnemonic);
        names.filter(|one| *one == name).count()
    };
    assert_eq!((count("SHFL"), count("ACCESS"), count("BAR"), count("FADD")), (8, 1, 2, 8));
}

#[test]
fn every_change_leaves_a_launch_that_runs() {
    let launch = loop_of(Space::Global, AccessKind::Load, 4, vec![Request::global(0, 0, 32); 4]);
    let shape = LaunchShape { blocks: 10, threads_per_block: 32, ..LaunchShape::default() };
    let conditions =
        Conditions { launch: Some(shape), ..conditions(launch, InstructionFacts::default()) };
    for name in WhatIf::NAMES {
        let what_if: WhatIf = name
            .parse()
            .or_else(|_| format!("{name}=1").parse())
            .or_else(|_| format!("{name}=2").parse())
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let after = launch_of(&changed(what_if, &conditions));
        assert!(after.ctas() > 0, "{name}");
        for block in &after.code.blocks {
            assert!(block.end as usize <= after.code.instructions.len(), "{name}");
        }
    }
}
