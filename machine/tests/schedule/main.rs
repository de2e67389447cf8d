//! Machine code that the rules arrange: its counts, its dependences, and the way of warps through
//! it.

#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests are not inside the test functions that the lints spare"
)]

mod checker;
mod recording;

use std::collections::BTreeSet;

use gpucast_counters::table::{BaseTable, Description, Row};
use gpucast_counters::trace::{BlockVisit, ClassTrace, CtaRecord, LaunchTrace, WarpRecord};
use gpucast_interpreter::Program;
use gpucast_machine::rules::{schedule, translate};
use gpucast_ptx_frontend::isa::{Modifier, Opcode};
use gpucast_ptx_frontend::module::FunctionKind;
use gpucast_simulation::code::{Action, Class, Instruction, Space};
use gpucast_simulation::launch::{Beside, CtaRun, Launch, Request};

use Given::{Number, Zeros};
use checker::{Clocks, check};
use recording::{Counts, Given, Recorded, record};

/// The architectures that are looked at, with the clocks that results take: table 1 of what `ptxas`
/// leaves between dependent instructions.
const TARGETS: [(&str, Clocks); 6] = [
    ("sm_35", Clocks { result: 9, guard: 9 }),
    ("sm_52", Clocks { result: 6, guard: 13 }),
    ("sm_70", Clocks { result: 4, guard: 13 }),
    ("sm_75", Clocks { result: 4, guard: 12 }),
    ("sm_86", Clocks { result: 4, guard: 13 }),
    ("sm_90", Clocks { result: 4, guard: 13 }),
];

/// A kernel with pointers `%rd1` (a parameter), `%rd3` (an element of it for each thread), `%r1`
/// (the thread) and `%r2` (a parameter).
fn text(body: &str) -> String {
    format!(
        ".version 7.8\n.target sm_80\n.address_size 64\n\
         .visible .entry kernel(.param .u64 out, .param .u32 n)\n{{\n\
         .reg .pred %p<9>; .reg .b32 %r<60>; .reg .f32 %f<90>; .reg .b64 %rd<30>; .reg .f64 %fd<9>;\n\
         .shared .align 16 .b8 tile[4096];\n\
         ld.param.u64 %rd1, [out];\nld.param.u32 %r2, [n];\nmov.u32 %r1, %tid.x;\n\
         mul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\n\
         {body}\nret;\n}}\n"
    )
}

fn program(text: &str, kernel: &str) -> Program {
    let module = gpucast_ptx_frontend::load(text).unwrap();
    Program::new(&module, text, kernel).unwrap()
}

/// Counts by which a warp executes every instruction once.
fn ones(program: &Program) -> BaseTable {
    let row = |(index, instruction)| Row {
        instruction: index,
        description: Description::of(instruction),
        warp_executions: 1,
        issued_lanes: 32,
        thread_executions: 32,
        branch: None,
        memory: Vec::new(),
        products: Vec::new(),
    };
    BaseTable { rows: (0..).zip(program.instructions()).map(row).collect() }
}

/// The code of a kernel without recorded CTAs.
fn arranged(target: &str, body: &str) -> Launch {
    let program = program(&text(body), "kernel");
    schedule(target.parse().unwrap(), &program, &ones(&program), &LaunchTrace::default())
}

fn of<'l>(launch: &'l Launch, mnemonic: &str) -> Vec<&'l Instruction> {
    launch.code.instructions.iter().filter(|instruction| instruction.mnemonic == mnemonic).collect()
}

fn place(launch: &Launch, mnemonic: &str) -> Vec<usize> {
    let names =
        launch.code.instructions.iter().map(|instruction| &*instruction.mnemonic).enumerate();
    names.filter(|(_, name)| *name == mnemonic).map(|(place, _)| place).collect()
}

/// Twelve dependent multiply-adds wait for each other as `ptxas` makes them.
#[test]
fn chains_have_the_latencies_of_their_generation() {
    let chain: String = (0..12).map(|_| "fma.rn.f32 %f1, %f1, %f2, %f1;").collect();
    let body = format!(
        "ld.global.f32 %f1, [%rd3]; ld.global.f32 %f2, [%rd3+4]; {chain} st.global.f32 [%rd3], %f1;"
    );
    for (target, clocks) in [("sm_35", 9), ("sm_61", 6), ("sm_70", 4), ("sm_80", 4), ("sm_120", 4)]
    {
        let launch = arranged(target, &body);
        let chain = of(&launch, "FFMA");
        assert_eq!(chain.len(), 12, "{target}");
        let stalls: Vec<u8> =
            chain[..11].iter().map(|instruction| instruction.control.stall).collect();
        assert_eq!(stalls, [clocks; 11], "{target}");
    }
}

#[test]
fn loads_of_a_batch_come_first_and_each_is_waited_for() {
    let body: String = (1..=8)
        .map(|i| format!("ld.global.f32 %f{i}, [%rd3+{}]; add.f32 %f20, %f20, %f{i};", 128 * i))
        .collect();
    let body = format!("mov.f32 %f20, 0f00000000; {body} st.global.f32 [%rd3], %f20;");
    for (target, _) in TARGETS {
        let launch = arranged(target, &body);
        let (loads, sums) = (place(&launch, "LDG"), place(&launch, "FADD"));
        assert_eq!((loads.len(), sums.len()), (8, 8), "{target}");
        assert!(loads[7] < sums[0], "{target}: {loads:?} {sums:?}");
        for (load, sum) in loads.iter().zip(&sums) {
            let barrier = launch.code.instructions[*load].control.write_barrier.unwrap();
            let waits = launch.code.instructions[*sum].control.wait_mask;
            assert_eq!(waits, 1 << barrier, "{target}");
        }
    }
}

/// A store to the same array may change what later loads read; one to shared memory may not.
#[test]
fn loads_move_across_stores_of_other_spaces_alone() {
    let body = |store: &str| {
        format!(
            "ld.global.f32 %f1, [%rd3]; {store} ld.global.f32 %f2, [%rd3+256]; \
             add.f32 %f3, %f1, %f2; st.global.f32 [%rd3+512], %f3;"
        )
    };
    let first = |store, mnemonic| {
        let launch = arranged("sm_80", &body(store));
        let (loads, stores) = (place(&launch, "LDG"), place(&launch, mnemonic));
        loads[1] < stores[0]
    };
    assert!(first("st.shared.f32 [tile+64], %f1;", "STS"));
    assert!(first("st.global.f32 [%rd3+1024], %f1;", "STG"), "the same base, other bytes");
    assert!(!first("st.global.f32 [%rd3+256], %f1;", "STG"), "the same bytes");
    assert!(!first("st.global.f32 [%rd1], %f1;", "STG"), "another base");
    assert!(!first("bar.sync 0;", "BAR"));
}

/// The value that a round loads is used in the next one.
#[test]
fn copies_say_whether_they_go_past_the_first_level_cache() {
    let body = "mov.u32 %r3, tile; cp.async.cg.shared.global [%r3], [%rd1], 16; \
                cp.async.ca.shared.global [%r3+16], [%rd1+16], 16; cp.async.wait_all;";
    let launch = arranged("sm_80", body);
    let past = |instruction: &&Instruction| match instruction.action {
        Action::Access(access) => access.kind.bypasses_l1(),
        other => panic!("{other:?}"),
    };
    let copies: Vec<bool> = of(&launch, "LDGSTS").iter().map(past).collect();
    assert_eq!(copies, [true, false]);
}

#[test]
fn a_loop_waits_for_the_load_of_the_round_before() {
    let body = "mov.f32 %f1, 0f00000000; mov.f32 %f2, 0f00000000; mov.u32 %r5, 0; mov.b64 %rd5, %rd3;\n\
        .pragma \"nounroll\";\nL: add.f32 %f2, %f2, %f1; ld.global.f32 %f1, [%rd5]; add.s64 %rd5, %rd5, 512; \n\
        bar.sync 0; add.s32 %r5, %r5, 1; setp.lt.s32 %p1, %r5, %r2; @%p1 bra L;\n\
        st.global.f32 [%rd3], %f2;";
    for (target, _) in TARGETS {
        let launch = arranged(target, body);
        let load = of(&launch, "LDG")[0].control.write_barrier.unwrap();
        for (block, range) in launch.code.blocks.iter().enumerate() {
            let block_code = &launch.code.instructions[range.start as usize..range.end as usize];
            for sum in block_code.iter().filter(|instruction| instruction.mnemonic == "FADD") {
                assert_eq!(sum.control.wait_mask >> load & 1, 1, "{target}, block {block}");
            }
        }
    }
}

/// `ptxas` and rules must not differ in it.
#[test]
fn special_registers_are_read_by_no_unit_of_others() {
    for (target, _) in TARGETS {
        let launch = arranged(target, "st.global.b32 [%rd3], %r1;");
        let reads = of(&launch, "S2R");
        assert!(
            !reads.is_empty() && reads.iter().all(|read| read.class == Class::Other),
            "{target}"
        );
        assert!(reads.iter().all(|read| read.control.write_barrier.is_some()), "{target}");
    }
}

#[test]
fn a_branch_waits_for_its_comparison() {
    let body = "setp.lt.s32 %p1, %r1, %r2; @%p1 bra L; ld.global.f32 %f1, [%rd3]; bar.sync 0; \
                st.global.f32 [%rd3+4], %f1; bra L; L: st.global.u32 [%rd3], %r1;";
    for (target, clocks) in TARGETS {
        let launch = arranged(target, body);
        let (from, to) = (place(&launch, "ISETP")[0], place(&launch, "BRA")[0]);
        let between = &launch.code.instructions[from..to];
        let distance: u32 =
            between.iter().map(|instruction| u32::from(instruction.control.stall)).sum();
        assert!(distance >= clocks.guard, "{target}: {distance}");
    }
}

#[test]
fn memory_and_arithmetic_issue_together_up_to_pascal() {
    let sums: String = (2..10).map(|i| format!("fma.rn.f32 %f{i}, %f1, %f1, %f{i};")).collect();
    let stores: String =
        (2..10).map(|i| format!("st.global.f32 [%rd3+{}], %f{i};", 4 * i)).collect();
    let loads: String =
        (2..10).map(|i| format!("ld.global.f32 %f{i}, [%rd3+{}];", 4 * i)).collect();
    let body = format!("ld.global.f32 %f1, [%rd3]; {loads} {sums} {stores}");
    let pairs = |target| {
        let launch = arranged(target, &body);
        let code = &launch.code.instructions;
        let pairs = code.windows(2).filter(|pair| pair[0].control.stall == 0);
        for pair in pairs.clone() {
            let memory =
                pair.iter().filter(|instruction| instruction.class == Class::Memory).count();
            // The unit of conversions reads special registers as far as assemblers pair them.
            assert!(memory == 1 || pair.iter().any(|instruction| instruction.mnemonic == "S2R"));
        }
        pairs.count()
    };
    assert!(pairs("sm_35") > 0 && pairs("sm_61") > 0);
    assert_eq!(pairs("sm_70") + pairs("sm_90"), 0);
}

/// Every kernel of the corpus on every generation.
#[test]
fn results_are_there_when_they_are_used() {
    let (mut fixed, mut variable) = (0, 0);
    let mut problems = Vec::new();
    let mut seen = BTreeSet::new();
    for entry in gpucast_corpus::entries() {
        for module in entry.modules {
            if !seen.insert((entry.family, module.file)) {
                continue;
            }
            let loaded = gpucast_ptx_frontend::load(module.ptx()).unwrap();
            let kernels =
                loaded.functions.iter().filter(|function| function.kind == FunctionKind::Entry);
            for kernel in kernels {
                let program = Program::new(&loaded, module.ptx(), &kernel.name).unwrap();
                // Tensor cores are those of one generation.
                let is_of = |target: &str| {
                    !module.target.ends_with('a') || module.target.starts_with(target)
                };
                for (target, clocks) in TARGETS.iter().filter(|(target, _)| is_of(target)) {
                    let launch = schedule(
                        target.parse().unwrap(),
                        &program,
                        &ones(&program),
                        &LaunchTrace::default(),
                    );
                    let found = check(&program, &launch.code, clocks);
                    fixed += found.fixed;
                    variable += found.variable;
                    let name = format!("{} {} {target}", module.file, kernel.name);
                    problems
                        .extend(found.problems.iter().map(|problem| format!("{name}: {problem}")));
                }
            }
        }
    }
    assert!(fixed > 10_000 && variable > 10_000, "{fixed} {variable}");
    assert!(
        problems.is_empty(),
        "{} of {}:\n{}",
        problems.len(),
        fixed + variable,
        problems[..problems.len().min(40)].join("\n")
    );
}

/// Launches that are executed: kernels of the corpus at small sizes. The rounds of the loop that is
/// unrolled (`sgemm-16`) are a multiple of four, because rows take the rest to be as cheap.
fn launches(target: &str) -> Vec<(&'static str, Recorded)> {
    let run = |name: &str, kernel: &str, grid, block, given: &[Given]| {
        let entry = gpucast_corpus::find(name).unwrap();
        record(entry.module(target).unwrap().ptx(), kernel, grid, block, given)
    };
    vec![
        (
            "transpose",
            run(
                "transpose",
                "transpose_padded",
                [4, 3, 1],
                [32, 8, 1],
                &[Zeros(28_000), Zeros(28_000), Number(100), Number(70)],
            ),
        ),
        (
            "reduction-u32",
            run(
                "reduction-u32",
                "reduce_u32",
                [4, 1, 1],
                [256, 1, 1],
                &[Zeros(40_000), Zeros(4), Number(10_000)],
            ),
        ),
        (
            "histogram",
            run(
                "histogram",
                "histogram",
                [4, 1, 1],
                [256, 1, 1],
                &[Zeros(40_000), Zeros(1024), Number(10_000)],
            ),
        ),
        (
            "sgemm",
            run(
                "sgemm",
                "sgemm",
                [1, 2, 1],
                [32, 32, 1],
                &[Zeros(8192), Zeros(4096), Zeros(8192), Number(32)],
            ),
        ),
        (
            "sgemm-16",
            run(
                "sgemm-16",
                "sgemm_16",
                [4, 3, 1],
                [16, 16, 1],
                &[Zeros(12_288), Zeros(16_384), Zeros(12_288), Number(64)],
            ),
        ),
        (
            "stencil-7pt",
            run(
                "stencil-7pt",
                "stencil_7pt",
                [1, 8, 1],
                [32, 4, 1],
                &[Zeros(332_928), Zeros(332_928), Number(32)],
            ),
        ),
    ]
}

/// Executions on the recorded ways.
fn walked(launch: &Launch) -> Counts {
    let mut counts = Counts::new();
    for warp in launch.classes.iter().flat_map(|class| &class.samples).flat_map(|cta| &cta.warps) {
        for &block in &warp.path {
            let range = launch.code.blocks[block as usize].clone();
            for place in range {
                let instruction = &launch.code.instructions[place as usize];
                let key = (instruction.ptx.unwrap(), instruction.mnemonic.to_string());
                *counts.entry(key).or_default() += 1;
            }
        }
    }
    counts
}

/// The walk executes what the rows count, instruction by instruction.
#[test]
fn warps_execute_as_many_instructions_as_rows_count() {
    for ptx in ["sm_35", "sm_80"] {
        for (name, recorded) in launches(ptx) {
            for (target, _) in TARGETS {
                let target = target.parse().unwrap();
                let launch = schedule(target, &recorded.program, &recorded.table, &recorded.trace);
                let profile = translate(target, &recorded.program, &recorded.table);
                let mut counted = Counts::new();
                for row in &profile.rows {
                    let key = (row.instruction.unwrap(), row.mnemonic.to_string());
                    *counted.entry(key).or_default() += row.warp_executions as u64;
                }
                counted.retain(|_, count| *count > 0);
                let walked = walked(&launch);
                assert_eq!(walked, counted, "{name} {ptx} {target}");
            }
        }
    }
}

/// Each access of the code draws as many requests as the recording has.
#[test]
fn requests_are_those_of_the_recording() {
    for (name, recorded) in launches("sm_80") {
        let launch =
            schedule("sm_80".parse().unwrap(), &recorded.program, &recorded.table, &recorded.trace);
        assert_eq!(launch.ctas(), recorded.trace.classes.len() as u64, "{name}");
        let warps =
            launch.classes.iter().flat_map(|class| &class.samples).flat_map(|cta| &cta.warps);
        for warp in warps {
            assert_eq!(warp.requests.len(), launch.code.queues as usize, "{name}");
            let mut executions = vec![0; warp.requests.len()];
            for &block in &warp.path {
                let range = launch.code.blocks[block as usize].clone();
                for place in range {
                    if let Action::Access(access) = launch.code.instructions[place as usize].action
                        && let Some(queue) = access.queue
                    {
                        executions[queue as usize] += 1;
                    }
                }
            }
            for (executed, requests) in executions.iter().zip(&warp.requests) {
                // No access of these kernels has a guard of its own.
                assert_eq!(*executed, requests.len(), "{name}");
            }
        }
    }
}

const REQUEST: Request = Request {
    space: Space::Global,
    lanes: 32,
    lines: 1,
    passes: 1,
    serial: 1,
    is_paired: false,
    l1_sectors: 0,
    l2_sectors: 4,
    dram_sectors: 0,
    fetched_ago: None,
    first_sector: None,
    beside: Beside::Nothing,
};

/// A trace of one class whose only warp visits blocks.
fn visits(blocks: &[u32], requests: &[(u32, Vec<Request>)]) -> ClassTrace {
    let blocks = blocks.iter().map(|&block| BlockVisit { block, lanes: 32 }).collect();
    let requests = requests.iter().cloned().collect();
    let warp = WarpRecord { blocks, requests, left_out_instructions: 0 };
    ClassTrace {
        ctas: 1,
        warp_instructions: 100,
        samples: vec![CtaRecord { cta: 0, warps: vec![warp] }],
    }
}

/// A short branch becomes a guard: its load is issued in every round, and no lane takes part where
/// the block was skipped.
#[test]
fn skipped_accesses_take_requests_of_no_lanes() {
    let body = "mov.u32 %r5, 0; mov.f32 %f2, 0f00000000;\n\
        L: and.b32 %r6, %r5, 1; setp.eq.s32 %p2, %r6, 0; @%p2 bra M;\n\
        ld.global.f32 %f2, [%rd3+4];\n\
        M: bar.sync 0; add.s32 %r5, %r5, 1; setp.lt.s32 %p1, %r5, %r2; @%p1 bra L;\n\
        st.global.f32 [%rd3], %f2;";
    let program = program(&text(body), "kernel");
    let load = program.instructions().iter().position(|instruction| {
        instruction.instruction.opcode == Opcode::Ld
            && instruction.instruction.has(Modifier::Global)
    });
    let load = load.unwrap() as u32;
    let class = visits(&[0, 1, 3, 1, 2, 3, 1, 3, 1, 2, 3, 4], &[(load, vec![REQUEST; 2])]);
    let trace = LaunchTrace {
        classes: vec![class],
        order: vec![CtaRun { class: 0, ctas: 1 }],
        ..LaunchTrace::default()
    };
    let launch = schedule("sm_80".parse().unwrap(), &program, &ones(&program), &trace);
    let warp = &launch.classes[0].samples[0].warps[0];
    let lanes: Vec<Vec<u8>> = warp
        .requests
        .iter()
        .map(|queue| queue.iter().map(|request| request.lanes).collect())
        .collect();
    assert!(lanes.contains(&vec![0, 32, 0, 32]), "{lanes:?}");
}

#[test]
fn classes_without_samples_take_those_of_the_nearest_class() {
    let program = program(&text("st.global.u32 [%rd3], %r1;"), "kernel");
    let recorded = |warp_instructions| ClassTrace { warp_instructions, ..visits(&[0], &[]) };
    let bare = |warp_instructions| ClassTrace { ctas: 1, warp_instructions, samples: Vec::new() };
    let trace = LaunchTrace {
        classes: vec![recorded(100), bare(150), recorded(400)],
        order: vec![CtaRun { class: 1, ctas: 7 }],
        dram_writes_per_store: 0.25,
        ..LaunchTrace::default()
    };
    let launch = schedule("sm_80".parse().unwrap(), &program, &ones(&program), &trace);
    let scales: Vec<f64> = launch.classes.iter().map(|class| class.scale).collect();
    assert_eq!(scales, [1.0, 1.5, 1.0]);
    assert_eq!(launch.classes[1].samples, launch.classes[0].samples);
    assert_eq!((launch.order, launch.dram_writes_per_store), (trace.order, 0.25));
    let none = LaunchTrace { classes: vec![bare(1)], ..LaunchTrace::default() };
    let launch = schedule("sm_80".parse().unwrap(), &program, &ones(&program), &none);
    assert!(launch.classes.is_empty());
}
