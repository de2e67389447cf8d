//! Stages of small kernels whose counts follow from their text.

use gpucast_interpreter::{DeviceMemory, Options, Silent, run};
use gpucast_ptx_frontend::isa::InstructionClass as Class;

use super::*;
use crate::metric::Number;

/// Executes `ctas` CTAs of kernel `k` with this body and counts its stages.
fn stages(ctas: u32, threads: u32, body: &str) -> (LaunchProfile, Stages) {
    stages_on("sm_50", ctas, threads, body)
}

/// The same for an architecture.
fn stages_on(target: &str, ctas: u32, threads: u32, body: &str) -> (LaunchProfile, Stages) {
    let text = format!(
        ".version 8.8\n.target {target}\n.address_size 64\n.global .align 4 .b8 g[4096];\n\
         .visible .entry k() {{\n.reg .b32 %r<8>; .reg .b64 %rd<4>; .reg .f32 %f<4>; .reg .pred %p; .shared .align 4 .b8 s[2048];\n{body}\n}}\n"
    );
    let module = gpucast_ptx_frontend::load(&text).unwrap_or_else(|problems| {
        panic!("{:?}\n{text}", problems.iter().map(|problem| &problem.message).collect::<Vec<_>>())
    });
    let program = Program::new(&module, &text, "k").unwrap();
    let launch = Launch {
        grid: [ctas, 1, 1],
        block: [threads, 1, 1],
        cluster: None,
        dynamic_shared_bytes: 0,
        arguments: vec![],
    };
    let shared = program.static_shared_bytes();
    let mut counter = StageCounter::new(&program, &launch, shared, DeviceModel::GTX_480);
    let mut memory = DeviceMemory::new();
    run(&program, &launch, &mut memory, &mut counter, &Options::default(), &Silent).unwrap();
    let (profile, stages, _) = counter.finish();
    (profile, stages)
}

fn count(profile: &LaunchProfile, name: &str) -> u128 {
    match profile.metrics[name].value {
        Number::Count(count) => count,
        Number::Real(real) => panic!("{name} is {real}"),
    }
}

/// What the stages add up to is what was counted without them.
fn check_sums(profile: &LaunchProfile, stages: &Stages) {
    let sum = |of: fn(&Stage) -> u128| stages.stages.iter().map(of).sum::<u128>();
    for (name, of) in [
        ("ptx_inst_executed", (|stage| stage.instructions().warps) as fn(&Stage) -> u128),
        ("ptx_thread_inst_executed", |stage| stage.instructions().threads),
        ("inst_fp_32", |stage| stage.class(Class::Fp32).threads),
        ("inst_integer", |stage| stage.class(Class::Integer).threads),
        ("inst_misc", |stage| stage.class(Class::Misc).threads),
        ("cf_executed", |stage| stage.class(Class::Control).warps),
        ("shared_load", |stage| stage.shared.requests - stage.class(Class::LoadStore).warps / 2),
    ] {
        assert_eq!(sum(of), count(profile, name), "{name}");
    }
    for stage in &stages.stages {
        let operations: u128 = Operation::ALL.iter().map(|&class| stage.operation(class)).sum();
        assert_eq!(operations, stage.instructions().warps);
    }
}

/// The access pattern of cyclic reduction's forward phase: half the threads and twice the stride in
/// every step, on 512 words.
const HALVING: &str = "
    mov.u32 %r0, %tid.x; mov.u32 %r1, 256; mov.u32 %r2, 3; mov.u32 %r4, s;
    STEP: bar.sync 0;
    setp.ge.u32 %p, %r0, %r1; @%p bra NOTHING;
    shl.b32 %r3, %r0, %r2; add.u32 %r3, %r3, %r4;
    ld.shared.f32 %f0, [%r3]; fma.rn.f32 %f0, %f0, %f0, %f0; st.shared.f32 [%r3], %f0;
    NOTHING: shr.u32 %r1, %r1, 1; add.u32 %r2, %r2, 1;
    setp.ne.u32 %p, %r1, 0; @%p bra STEP; ret;";

#[test]
fn conflicts_keep_transactions_constant_while_work_halves() {
    let ctas = 3;
    let (profile, stages) = stages(ctas, 256, HALVING);
    // What precedes the first barrier, and one stage for each of 256, 128, … 1 active threads.
    assert_eq!((stages.stages.len(), stages.merged), (10, 0));
    let first = &stages.stages[0];
    // Four moves and the barrier of 8 warps; nobody has worked.
    assert_eq!(first.class(Class::Misc).warps, u128::from(ctas) * 8 * 5);
    assert_eq!(first.instructions().warps, u128::from(ctas) * 8 * 5);
    assert_eq!((first.ctas, first.warps, first.active_warps), (3, 24, 0));

    let mut passes = Vec::new();
    for (step, stage) in stages.stages.iter().enumerate().skip(1) {
        let threads = 256 >> (step - 1);
        let warps = (threads as u128).div_ceil(32);
        let per_cta = |count: u128| {
            assert_eq!(count % u128::from(ctas), 0);
            count / u128::from(ctas)
        };
        assert_eq!(stage.mean_active_warps(), warps as f64, "step {step}");
        assert_eq!(per_cta(stage.warps), 8);
        assert_eq!(per_cta(stage.class(Class::Fp32).warps), warps);
        assert_eq!(per_cta(stage.class(Class::Fp32).threads), threads as u128);
        assert_eq!(per_cta(stage.multiply_adds), warps);
        assert_eq!(per_cta(stage.operation(Operation::Fp32)), warps);
        // Two comparisons of everybody; the shift of the count is everybody's, too.
        assert_eq!(per_cta(stage.operation(Operation::IntegerCompare)), 2 * 8);
        assert_eq!(per_cta(stage.operation(Operation::Shift)), 8 + warps);
        assert_eq!(per_cta(stage.shared_loads), warps);
        assert_eq!(per_cta(stage.class(Class::LoadStore).warps), 2 * warps);
        // Two comparisons, a shift and an addition of everybody; two of those who work.
        assert_eq!(per_cta(stage.class(Class::Integer).warps), 4 * 8 + 2 * warps);
        // The next step's barrier ends the stage; the last one ends with `ret`.
        let (barriers, returns) = if step == 9 { (0, 8) } else { (8, 0) };
        assert_eq!(per_cta(stage.class(Class::Misc).warps), barriers);
        assert_eq!(per_cta(stage.class(Class::Control).warps), 2 * 8 + returns);
        assert_eq!(per_cta(stage.shared.requests), 2 * warps);
        assert_eq!(per_cta(stage.shared.conflict_free), 2 * warps);
        assert_eq!(per_cta(stage.shared.requested_bytes), 2 * 4 * threads as u128);
        passes.push(per_cta(stage.shared.passes));
    }
    // A stride of 2^k words on 32 banks: min(2^k, threads) passes for each of the warps.
    assert_eq!(passes, [32, 32, 32, 32, 32, 16, 8, 4, 2]);
    check_sums(&profile, &stages);
}

#[test]
fn loads_are_counted_by_batches() {
    // Two loads that go together; behind the barrier one whose address another one brings.
    let body = "mov.u64 %rd0, g; ld.global.f32 %f0, [%rd0]; ld.global.f32 %f1, [%rd0+4];
                bar.sync 0; ld.global.u32 %r0, [%rd0]; cvt.u64.u32 %rd1, %r0; add.s64 %rd1, %rd1, %rd0;
                ld.global.f32 %f2, [%rd1]; ret;";
    let (_, stages) = stages(2, 96, body);
    let counts = stages.stages.iter().map(|stage| (stage.global_loads, stage.global_load_batches));
    // Six warps.
    assert_eq!(counts.collect::<Vec<_>>(), [(12, 6), (12, 12)]);
}

#[test]
fn a_barrier_cuts_the_block_in_whose_middle_it_stands() {
    // 80 threads are three warps, the last of half the width.
    let add = "add.f32 %f0, %f0, %f0;";
    let guarded = "@%p add.f32 %f1, %f0, %f0;";
    let body = format!(
        "mov.u32 %r0, %tid.x; mov.f32 %f0, 0f3F800000; setp.lt.u32 %p, %r0, 10;\n\
         {add} bar.sync 0; {add}{add}{guarded} bar.sync 0; bar.sync 0; {add}{add}{add} ret;"
    );
    let (profile, stages) = stages(2, 80, &body);
    let fp32 = |stage: &Stage| {
        let count = stage.class(Class::Fp32);
        (count.warps, count.threads, stage.active_warps)
    };
    let counts: Vec<_> = stages.stages.iter().map(fp32).collect();
    assert_eq!(counts, [(6, 160, 6), (18, 340, 6), (0, 0, 0), (18, 480, 6)]);
    assert!(stages.stages.iter().all(|stage| (stage.ctas, stage.warps) == (2, 6)));
    check_sums(&profile, &stages);
}

#[test]
fn a_barrier_of_some_threads_does_not_cut() {
    // Warps 0 and 1 meet at barrier 1 while warp 2 goes on; then all meet.
    let body = "mov.u32 %r0, %tid.x; setp.ge.u32 %p, %r0, 64; @%p bra ALL;\n\
                bar.sync 1, 64; add.u32 %r0, %r0, 1;\n\
                ALL: bar.sync 0; ret;";
    let (profile, stages) = stages(1, 96, body);
    let warps: Vec<u128> = stages.stages.iter().map(|stage| stage.instructions().warps).collect();
    // Three instructions of three warps, two of two, and the barrier; then the return.
    assert_eq!(warps, [9 + 4 + 3, 3]);
    check_sums(&profile, &stages);
}

#[test]
fn stages_beyond_the_limit_are_added_to_the_last() {
    let loops = MOST_STAGES as u32 + 76;
    let body = format!(
        "mov.u32 %r0, 0; NEXT: bar.sync 0; add.u32 %r0, %r0, 1; setp.ne.u32 %p, %r0, {loops};\n\
         @%p bra NEXT; ret;"
    );
    let (profile, stages) = stages(2, 32, &body);
    // One stage more than there are barriers.
    assert_eq!((stages.stages.len(), stages.merged), (MOST_STAGES, 77));
    assert_eq!(stages.stages[5].class(Class::Integer).warps, 2 * 2);
    assert_eq!(stages.stages[MOST_STAGES - 1].class(Class::Integer).warps, 2 * 2 * 78);
    check_sums(&profile, &stages);
}

#[test]
fn operands_of_products_count_apart_from_what_warps_read() {
    let body = "mov.u64 %rd0, 0; setp.ne.u32 %p, 1, 1; mov.u32 %r3, s; ld.shared.f32 %f0, [%r3];\n\
         wgmma.fence.sync.aligned;\n\
         wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %rd0, %rd0, %p, \
         1, 1, 0, 0;\n\
         wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0; ret;";
    let (_, stages) = stages_on("sm_90a", 3, 128, body);
    let mut all = Stage::default();
    stages.stages.iter().for_each(|stage| all.add(stage));
    assert!(all.operands.passes > 0);
    // Four warps of each CTA load a word.
    assert_eq!(all.shared.passes - all.operands.passes, 3 * 4);
    assert_eq!(all.shared.requests - all.operands.requests, 3 * 4);
}
