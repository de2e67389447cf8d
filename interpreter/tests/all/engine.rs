//! The engine: divergence, barriers, waiting, order and determinism.
//!
//! Every launch runs with one and with two threads and must not differ in memory, events or
//! summary.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests are not inside the test functions that the lints spare"
)]

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use gpucast_interpreter::{
    Argument, DeviceMemory, FaultKind, Host, Launch, LaunchError, NoObserver, Options, Program,
    RunError, Schedule, Silent, StopReason, run,
};

use crate::common::{Shape, kernel, launch, launch_on, module, words};

/// One CTA of `threads` threads that writes one word for each.
fn check(threads: u32, body: &str, wanted: impl Fn(u32) -> u32) {
    let wanted: Vec<u32> = (0..threads).map(wanted).collect();
    assert_eq!(words(body, &Shape::new(1, threads, threads as usize)), wanted, "{body}");
}

#[test]
fn lanes_loop_their_own_number_of_times_and_meet_again() {
    for threads in [1, 31, 32, 33, 100] {
        check(
            threads,
            "mov.u32 %r0, 0; and.b32 %r1, %tid, 7;\n\
             OUTER: setp.eq.u32 %p, %r1, 0; @%p bra DONE; mov.u32 %r2, %r1;\n\
             INNER: add.u32 %r0, %r0, 1; sub.u32 %r2, %r2, 1; setp.ne.u32 %p, %r2, 0; @%p bra INNER;\n\
             sub.u32 %r1, %r1, 1; bra OUTER;\n\
             DONE: activemask.b32 %r3; popc.b32 %r3, %r3; mad.lo.u32 %r0, %r3, 1000, %r0;\n\
             st.global.u32 [%at], %r0; ret;",
            |tid| {
                let n = tid & 7;
                let warp = (threads - tid / 32 * 32).min(32);
                n * (n + 1) / 2 + warp * 1000
            },
        );
    }
}

#[test]
fn lanes_that_have_left_are_not_waited_for() {
    // At a barrier, at a warp-wide exchange, and at the end.
    check(
        96,
        "mov.u32 %r0, 5; st.global.u32 [%at], %r0;\n\
         and.b32 %r1, %tid, 3; setp.eq.u32 %p, %r1, 0; @%p exit;\n\
         setp.lt.u32 %p, %tid, 32; @%p ret;\n\
         bar.sync 0; setp.ne.u32 %p, %r1, 0; vote.sync.ballot.b32 %r0, %p, 0xffffffff;\n\
         st.global.u32 [%at], %r0; ret;",
        |tid| if tid % 4 == 0 || tid < 32 { 5 } else { 0xeeee_eeee },
    );
}

#[test]
fn divergent_lanes_wait_for_each_other_at_sync_instructions() {
    // Half the warp goes through a long detour before the same shuffle.
    check(
        32,
        "setp.lt.u32 %p, %tid, 16; mov.u32 %r1, 0; @%p bra HERE;\n\
         LOOP: add.u32 %r1, %r1, 1; setp.lt.u32 %q, %r1, 3000; @%q bra LOOP;\n\
         HERE: add.u32 %r2, %r1, %tid; shfl.sync.bfly.b32 %r0, %r2, 16, 31, 0xffffffff;\n\
         st.global.u32 [%at], %r0; ret;",
        |tid| if tid < 16 { 3000 + tid + 16 } else { tid - 16 },
    );
}

#[test]
fn a_spin_lock_within_a_warp_lets_everybody_through() {
    let body = "mov.u32 %r5, 0;\n\
         TRY: atom.global.cas.b32 %r0, [%out], 0, 1; setp.ne.u32 %p, %r0, 0; @%p bra TRY;\n\
         ld.volatile.global.u32 %r1, [%out+4]; add.u32 %r1, %r1, 1;\n\
         st.volatile.global.u32 [%out+4], %r1; membar.gl;\n\
         atom.global.exch.b32 %r0, [%out], 0; ret;";
    let (words, _, summary) = launch(&kernel(body), &Shape::new(3, 70, 2)).unwrap();
    assert_eq!(words, [0, 210]);
    assert!(summary.ordered_because.is_some(), "atomics that return values order the CTAs");
}

#[test]
fn a_producer_and_a_consumer_in_one_warp_finish() {
    // Lane 1 waits for lane 0, which sits behind it in the order of blocks.
    let body = "setp.ne.u32 %p, %tid, 0; @!%p bra PRODUCE;\n\
         WAIT: ld.volatile.global.u32 %r0, [%out]; setp.eq.u32 %q, %r0, 0; @%q bra WAIT;\n\
         st.global.u32 [%at], %r0; ret;\n\
         PRODUCE: mov.u32 %r0, 42; st.volatile.global.u32 [%out], %r0; ret;";
    assert_eq!(words(body, &Shape::new(1, 2, 2)), [42, 42]);
}

#[test]
fn a_cta_that_waits_for_a_later_one_gives_way() {
    // CTA 0 spins until CTA 4 has set the flag.
    let body = "mov.u32 %r1, %ctaid.x; setp.eq.u32 %p, %r1, 4; @%p bra SET;\n\
         WAIT: ld.acquire.gpu.global.u32 %r0, [%out]; setp.eq.u32 %q, %r0, 0; @%q bra WAIT;\n\
         mad.wide.u32 %d0, %r1, 4, %out; st.global.u32 [%d0+4], %r0; ret;\n\
         SET: mov.u32 %r0, 9; st.release.gpu.global.u32 [%out], %r0; ret;";
    let mut shape = Shape::new(5, 1, 5);
    shape.options.instruction_budget = 1 << 30;
    assert_eq!(words(body, &shape), [9, 9, 9, 9, 9]);
}

#[test]
fn how_far_a_cta_can_wait_does_not_depend_on_the_threads() {
    // All CTAs spin until the last of 200 has set the flag.
    let body = "mov.u32 %r1, %ctaid.x; setp.eq.u32 %p, %r1, 199; @%p bra SET;\n\
         WAIT: ld.volatile.global.u32 %r0, [%out]; setp.eq.u32 %q, %r0, 0; @%q bra WAIT;\n\
         mad.wide.u32 %d0, %r1, 4, %out; st.global.u32 [%d0+4], %r0; ret;\n\
         SET: mov.u32 %r0, 9; st.volatile.global.u32 [%out], %r0; ret;";
    let mut shape = Shape::new(200, 1, 200);
    shape.options.instruction_budget = 1 << 30;
    assert_eq!(words(body, &shape), [9; 200]);
}

#[test]
fn variables_of_functions_and_buffers_of_the_user_keep_apart() {
    let text = ".version 7.8\n.target sm_80\n.address_size 64\n\
        .global .u32 tab = 5;\n\
        .visible .entry one(.param .u64 out) { .reg .b64 %d; .reg .b32 %r, %s; .global .u32 cnt = 11;\n\
        ld.param.u64 %d, [out]; ld.global.u32 %r, [cnt]; ld.global.u32 %s, [tab];\n\
        mad.lo.u32 %r, %s, 100, %r; st.global.u32 [%d], %r; ret; }\n\
        .visible .entry two(.param .u64 out) { .reg .b64 %d; .reg .b32 %r; .global .u32 cnt = 22;\n\
        ld.param.u64 %d, [out]; ld.global.u32 %r, [cnt]; st.global.u32 [%d+4], %r; ret; }\n";
    let module = gpucast_ptx_frontend::load(text).unwrap();
    let mut memory = gpucast_interpreter::DeviceMemory::new();
    let out = memory.allocate("tab", 8).unwrap();
    for kernel in ["one", "two"] {
        let program = gpucast_interpreter::Program::new(&module, text, kernel).unwrap();
        let launch = gpucast_interpreter::Launch {
            grid: [1; 3],
            block: [1; 3],
            cluster: None,
            dynamic_shared_bytes: 0,
            arguments: vec![gpucast_interpreter::Argument::Address(out)],
        };
        let mut nobody = gpucast_interpreter::NoObserver;
        let options = gpucast_interpreter::Options::default();
        gpucast_interpreter::run(
            &program,
            &launch,
            &mut memory,
            &mut nobody,
            &options,
            &gpucast_interpreter::Silent,
        )
        .unwrap();
    }
    assert_eq!(memory.bytes("tab").unwrap(), [511u32.to_le_bytes(), 22u32.to_le_bytes()].concat());
}

#[test]
fn barriers_separate_writes_from_reads_whatever_the_shape() {
    for (block, threads) in [([7, 3, 2], 42), ([32, 2, 1], 64), ([5, 5, 5], 125)] {
        let body = "mov.u32 %r0, %tid.y; mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.z;\n\
             mov.u32 %r3, %ntid.y; mad.lo.u32 %r4, %r2, %r3, %r0; mad.lo.u32 %r4, %r4, %r1, %tid;\n\
             mov.u32 %r5, %ntid.z; mul.lo.u32 %r6, %r1, %r3; mul.lo.u32 %r6, %r6, %r5;\n\
             mov.u32 %r7, dynamic; mad.lo.u32 %r8, %r4, 4, %r7; st.shared.u32 [%r8], %r4;\n\
             bar.sync 0;\n\
             sub.u32 %r9, %r6, 1; sub.u32 %r9, %r9, %r4; mad.lo.u32 %r8, %r9, 4, %r7;\n\
             ld.shared.u32 %r10, [%r8];\n\
             mov.u32 %r11, %ctaid.x; mov.u32 %r12, %ctaid.y; mov.u32 %r13, %ctaid.z;\n\
             mov.u32 %r14, %nctaid.x; mov.u32 %r15, %nctaid.y;\n\
             mad.lo.u32 %r11, %r12, %r14, %r11; mul.lo.u32 %r14, %r14, %r15;\n\
             mad.lo.u32 %r11, %r13, %r14, %r11; mad.lo.u32 %r10, %r11, 1000, %r10;\n\
             mad.lo.u32 %r11, %r11, %r6, %r4; mad.wide.u32 %d0, %r11, 4, %out;\n\
             st.global.u32 [%d0], %r10; ret;";
        let text =
            kernel(body).replace(".visible", ".extern .shared .align 4 .b8 dynamic[];\n.visible");
        let mut shape = Shape::new(1, 1, threads * 12);
        (shape.grid, shape.block, shape.shared) = ([2, 3, 2], block, 4 * threads as u32);
        let (words, ..) = launch(&text, &shape).unwrap();
        for (index, word) in words.iter().enumerate() {
            let (cta, thread) = (index / threads, index % threads);
            assert_eq!(*word as usize, cta * 1000 + threads - 1 - thread, "{block:?} {index}");
        }
    }
}

#[test]
fn counted_barriers_let_other_warps_pass() {
    // Warps 0 and 1 meet at barrier 1; warp 2 never comes near it.
    check(
        96,
        "mov.u32 %r0, 1; setp.ge.u32 %p, %tid, 64; @%p bra END;\n\
         bar.sync 1, 64; bar.red.popc.u32 %r0, 1, 64, !%p;\n\
         END: bar.sync 0; st.global.u32 [%at], %r0; ret;",
        |tid| if tid < 64 { 64 } else { 1 },
    );
}

#[test]
fn reductions_of_many_ctas_run_in_parallel_and_add_up() {
    let body = "mov.u32 %r0, %ctaid.x; add.u32 %r0, %r0, 1;\n\
         red.global.add.u32 [%out], %r0; red.shared.add.u32 [box], 1; bar.sync 0;\n\
         setp.eq.u32 %p, %tid, 0; @!%p ret; ld.shared.u32 %r1, [box];\n\
         red.global.add.u32 [%out+4], %r1; ret;";
    let text = kernel(body).replace(".reg .pred", ".shared .align 4 .b32 box;\n.reg .pred");
    let (words, _, summary) = launch(&text, &Shape::new(300, 65, 2)).unwrap();
    assert_eq!(words, [300 * 301 / 2 * 65, 300 * 65]);
    assert_eq!(summary.ordered_because, None);
}

/// What compilers make of an `atomicAdd` whose result CUDA ignores.
#[test]
fn atomics_whose_results_nothing_reads_run_in_parallel() {
    let body = |rest: &str| {
        kernel(&format!(
            "mov.u32 %r0, %ctaid.x; add.u32 %r0, %r0, 1; mov.u32 %r2, 0;\n\
             atom.global.add.u32 %r1, [%out], %r0;\n{rest} ret;"
        ))
    };
    let run = |rest: &str| {
        let (words, _, summary) = launch(&body(rest), &Shape::new(300, 65, 2)).unwrap();
        assert_eq!(words[0], 300 * 301 / 2 * 65, "{rest}");
        summary.ordered_because.is_some()
    };
    assert!(!run(""));
    // Written again before it is read, which nothing depends on either.
    assert!(!run("mov.u32 %r1, 5;"));
    for reader in
        ["add.u32 %r2, %r1, 1;", "setp.eq.u32 %p, %r1, 0;", "st.global.u32 [%out+4], %r1;"]
    {
        assert!(run(reader), "{reader}");
    }
}

#[test]
fn floating_point_reductions_run_in_the_order_of_ctas() {
    // 2^24 + 1 + 1 + … depends on the order; in order it stays 2^24.
    let body = "mov.u32 %r0, %ctaid.x; setp.eq.u32 %p, %r0, 0;\n\
         selp.f32 %r1, 0f4B800000, 0f3F800000, %p; red.global.add.f32 [%out], %r1; ret;";
    let (words, _, summary) = launch(&kernel(body), &Shape::new(200, 1, 1)).unwrap();
    assert_eq!(words, [0x4b80_0000]);
    assert!(summary.ordered_because.unwrap().contains("red"));
}

#[test]
fn an_order_can_be_asked_for() {
    let mut shape = Shape::new(4, 32, 4);
    shape.options.schedule = Schedule::Ordered;
    let body = "mov.u32 %r0, %ctaid.x; mad.wide.u32 %d0, %r0, 4, %out;\n\
         st.global.u32 [%d0], %r0; ret;";
    let (words, _, summary) = launch(&kernel(body), &shape).unwrap();
    assert_eq!(words, [0, 1, 2, 3]);
    assert_eq!(summary.ordered_because.as_deref(), Some("asked for"));
}

#[test]
fn registers_and_memory_of_an_earlier_cta_are_not_seen() {
    // Only even CTAs write; odd ones read what nobody has written there.
    let body = "mov.u32 %r0, %ctaid.x; and.b32 %r1, %r0, 1; setp.ne.u32 %p, %r1, 0;\n\
         @%p bra READ;\n\
         mov.u32 %r2, 77; mov.b64 %d1, 77; setp.eq.u32 %q, %r1, 0;\n\
         st.shared.u32 [box], %r2; st.local.u32 [private], %r2; bra END;\n\
         READ: selp.u32 %r3, 1, 0, %q; add.u32 %r2, %r2, %r3; cvt.u32.u64 %r4, %d1;\n\
         add.u32 %r2, %r2, %r4; ld.shared.u32 %r5, [box]; add.u32 %r2, %r2, %r5;\n\
         ld.local.u32 %r5, [private]; add.u32 %r2, %r2, %r5;\n\
         END: mad.wide.u32 %d0, %r0, 4, %out; st.global.u32 [%d0], %r2; ret;";
    let text = kernel(body).replace(
        ".reg .pred",
        ".shared .align 4 .b32 box;\n.local .align 4 .b32 private;\n.reg .pred",
    );
    let (words, ..) = launch(&text, &Shape::new(64, 1, 64)).unwrap();
    for (cta, word) in words.into_iter().enumerate() {
        assert_eq!(word, if cta % 2 == 0 { 77 } else { 0 }, "CTA {cta}");
    }
}

#[test]
fn the_clock_advances_with_every_instruction() {
    check(
        32,
        "mov.u32 %r0, %clock; add.u32 %r2, %r0, 0; mov.u32 %r1, %clock; sub.u32 %r0, %r1, %r0;\n\
         mov.u64 %d0, %clock64; cvt.u32.u64 %r3, %d0; sub.u32 %r3, %r3, %r1;\n\
         mad.lo.u32 %r0, %r0, 100, %r3; st.global.u32 [%at], %r0; ret;",
        |_| 202,
    );
}

#[test]
fn guarded_instructions_count_the_lanes_that_execute_them() {
    // Once each, whatever they are made of, even if nothing is left to do.
    let body = "setp.lt.u32 %p, %tid, 5; mov.u32 %r0, %tid;\n\
         @%p membar.gl; @%p mul.wide.u32 %d0, %r0, 3; @%p shfl.sync.idx.b32 %r1, %r0, 0, 31, 31;\n\
         @%p setp.lt.u32 %p|%q, %r0, 3; @%p st.global.u32 [%at], %r0; ret;";
    let (_, totals, _) = launch(&kernel(body), &Shape::new(2, 32, 32)).unwrap();
    assert_eq!(totals.guarded, [10, 10, 10, 10, 6]);
}

#[test]
fn an_empty_kernel_runs() {
    let text = module(".visible .entry k(.param .u64 out) { }");
    let (_, totals, summary) = launch(&text, &Shape::new(3, 40, 1)).unwrap();
    assert_eq!((totals.blocks, summary.warp_instructions), (6, 0));
}

#[test]
fn updates_of_128_bits_are_not_torn_by_other_threads() {
    let body = ".reg .b128 %old, %n, %o; mov.u64 %d0, 0; mov.u64 %d1, 0;\n\
         AGAIN: mov.b128 %old, {%d0, %d1}; add.u64 %d2, %d0, 1; add.u64 %d3, %d1, 3;\n\
         mov.b128 %n, {%d2, %d3}; atom.global.cas.b128 %o, [%out], %old, %n;\n\
         mov.b128 {%d4, %d5}, %o; setp.ne.u64 %p, %d4, %d0; setp.ne.or.u64 %p, %d5, %d1, %p;\n\
         mov.u64 %d0, %d4; mov.u64 %d1, %d5; @%p bra AGAIN; ret;";
    let mut shape = Shape::new(8192, 64, 4);
    shape.options.schedule = Schedule::Parallel;
    shape.options.instruction_budget = 1 << 30;
    let (words, ..) = launch_on(&kernel(body), &shape, 2).unwrap();
    let field = |at: usize| u64::from(words[at]) | u64::from(words[at + 1]) << 32;
    assert_eq!(field(0), 8192 * 64);
    assert_eq!(field(2), 3 * 8192 * 64);
}

/// Runs `divide` of `kernels/division.cu` on pairs; quotient and remainder, unsigned and signed.
fn divide(pairs: &[(u128, u128)]) -> Vec<[u128; 4]> {
    let text = include_str!("../kernels/division.ptx");
    let module = gpucast_ptx_frontend::load(text).unwrap();
    let program = Program::new(&module, text, "divide").unwrap();
    let mut memory = DeviceMemory::new();
    let mut buffer = |name: &str, values: Vec<u128>| {
        let address = memory.allocate(name, values.len() as u64 * 16).unwrap();
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        memory.bytes_mut(name).unwrap().copy_from_slice(&bytes);
        Argument::Address(address)
    };
    let arguments = vec![
        buffer("numerators", pairs.iter().map(|pair| pair.0).collect()),
        buffer("denominators", pairs.iter().map(|pair| pair.1).collect()),
        buffer("results", vec![0; 4 * pairs.len()]),
    ];
    let launch = Launch {
        grid: [1, 1, 1],
        block: [pairs.len() as u32, 1, 1],
        cluster: None,
        dynamic_shared_bytes: 0,
        arguments,
    };
    run(&program, &launch, &mut memory, &mut NoObserver, &Options::default(), &Silent).unwrap();
    let bytes = memory.bytes("results").unwrap();
    let values = bytes.chunks_exact(16).map(|bytes| u128::from_le_bytes(bytes.try_into().unwrap()));
    let values: Vec<u128> = values.collect();
    values.chunks_exact(4).map(|four| four.try_into().unwrap()).collect()
}

#[test]
fn divisions_of_128_bit_integers_are_those_of_the_cpu() {
    let mut random = 1u64;
    let mut next = || {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        u128::from(random >> 32)
    };
    let mut pairs = vec![
        (10, 3),
        (u128::MAX, 1),
        (u128::MAX, u128::MAX),
        (1, u128::MAX),
        (1 << 127, 3),
        (1 << 64, (1 << 64) - 1),
        (0, 7),
        ((1 << 64) - 1, 1 << 64),
    ];
    while pairs.len() < 64 {
        let value =
            |next: &mut dyn FnMut() -> u128| next() << 96 | next() << 64 | next() << 32 | next();
        let (n, d) = (value(&mut next), value(&mut next));
        // Operands of all lengths: the code branches on where the first bit is.
        pairs.push((n >> (pairs.len() % 7 * 16), (d >> (pairs.len() % 9 * 14)).max(1)));
    }
    for ((n, d), results) in pairs.iter().zip(divide(&pairs)) {
        let (a, b) = (*n as i128, *d as i128);
        let signed = [a.wrapping_div(b) as u128, a.wrapping_rem(b) as u128];
        assert_eq!(results, [n / d, n % d, signed[0], signed[1]], "{n} / {d}");
    }
}

#[test]
fn the_carry_flag_holds_no_borrow() {
    // Folded by ptxas 12.9 for sm_80: CC.CF after `sub.cc` is the carry of a + !b + 1, and `subc`
    // adds !b + CC.CF.
    let chains = [
        ("sub.cc.u32 %r1, 0x627ADF75, 0x864CCEF5;", "addc.u32", 0),
        ("sub.cc.u32 %r1, 0x627ADF75, 0x864CCEF5;", "subc.u32", 0xffff_ffff),
        ("add.cc.u32 %r1, 0xffffffff, 1;", "subc.u32", 0),
        ("add.cc.u32 %r1, 1, 1;", "subc.u32", 0xffff_ffff),
        ("sub.cc.u32 %r1, 5, 1;", "addc.u32", 1),
        ("mad.lo.cc.u32 %r1, 0xffffffff, 1, 1;", "subc.u32", 0),
        ("sub.cc.u32 %r1, 5, 1;", "madc.lo.u32", 1),
        ("sub.cc.u32 %r1, 1, 5; subc.cc.u32 %r1, 0, 0;", "addc.u32", 0),
    ];
    let mut body = String::new();
    for (index, (first, second, _)) in chains.iter().enumerate() {
        let zeros = if second.starts_with("madc") { "0, 0, 0" } else { "0, 0" };
        body +=
            &format!("{first}\n{second} %r2, {zeros};\nst.global.u32 [%out+{}], %r2;\n", 4 * index);
    }
    let (words, ..) = launch(&kernel(&(body + "ret;")), &Shape::new(1, 1, chains.len())).unwrap();
    let wanted: Vec<u32> = chains.iter().map(|chain| chain.2).collect();
    assert_eq!(words, wanted);
}

#[test]
fn an_instruction_that_is_not_executed_ends_the_launch_where_it_is_reached() {
    let fabric = |body: &str| kernel(body).replace(".version 8.8", ".version 9.3");
    let body = |taken: &str| {
        fabric(&format!(
            "mov.u32 %r0, 7;\nst.global.u32 [%at], %r0;\nsetp.{taken}.u32 %p, %tid, 5;\n\
             @!%p bra END;\nfabric.submit;\nEND: ret;"
        ))
    };
    // No thread is above 1000: the launch runs to its end.
    let never = body("gt").replace("%tid, 5", "%tid, 1000");
    let module = gpucast_ptx_frontend::load(&never).unwrap();
    let program = Program::new(&module, &never, "k").unwrap();
    assert_eq!(program.unsupported().len(), 1);
    let reason = "fabric.submit needs logical endpoints of a fabric, and a launch has one device";
    assert_eq!(program.unsupported()[0].reason, reason);
    assert_eq!(launch(&never, &Shape::new(1, 8, 8)).unwrap().0, [7; 8]);
    let reached = body("gt");
    let Err(RunError::Fault(fault)) = launch(&reached, &Shape::new(1, 8, 8)) else {
        panic!("no fault")
    };
    assert!(matches!(&fault.kind, FaultKind::Unsupported { instruction, .. }
        if instruction == "fabric.submit"));
    assert_eq!(fault.thread, Some([6, 0, 0]));
    let span = fault.instruction.unwrap().span.range();
    assert!(reached[span].starts_with("fabric.submit"));
    // A guard that holds for no lane reaches nothing.
    let guarded = fabric("setp.gt.u32 %p, %tid, 1000;\n@%p fabric.submit;\nret;");
    launch(&guarded, &Shape::new(1, 8, 8)).unwrap();
}

/// Stops a run when it is asked the second time.
struct Impatient(AtomicU32);

impl Host for Impatient {
    fn stop(&self) -> bool {
        self.0.fetch_add(1, Ordering::Relaxed) > 0
    }
}

/// What a run with `options` ends with.
fn given_up(text: &str, grid: [u32; 3], options: &Options, host: &dyn Host) -> RunError {
    let module = gpucast_ptx_frontend::load(text).unwrap();
    let program = Program::new(&module, text, "k").unwrap();
    let mut memory = DeviceMemory::new();
    let out = memory.allocate("out", 4096).unwrap();
    let launch = Launch {
        grid,
        block: [32, 1, 1],
        cluster: None,
        dynamic_shared_bytes: 0,
        arguments: vec![Argument::Address(out)],
    };
    run(&program, &launch, &mut memory, &mut NoObserver, options, host).unwrap_err()
}

#[test]
fn a_deadline_or_the_host_ends_what_instructions_do_not() {
    let empty = kernel("ret;");
    let endless = kernel("AGAIN: bra AGAIN;");
    let polling = kernel("AGAIN: ld.volatile.global.u32 %r0, [%out]; bra AGAIN;");
    for text in [&empty, &endless, &polling] {
        let grid = [i32::MAX as u32, if text == &empty { 65_535 } else { 1 }, 1];
        let in_a_moment = Instant::now() + Duration::from_millis(200);
        let options = Options {
            instruction_budget: u64::MAX,
            deadline: Some(in_a_moment),
            ..Options::default()
        };
        let error = given_up(text, grid, &options, &Silent);
        let late = in_a_moment.elapsed();
        assert!(late < Duration::from_secs(10), "{late:?}");
        let RunError::Stopped { reason, done, ctas } = error else { panic!("{error}") };
        assert_eq!(reason, StopReason::Deadline);
        assert!(done < ctas);
        let options = Options { deadline: None, ..options };
        let error = given_up(text, grid, &options, &Impatient(AtomicU32::new(0)));
        assert!(matches!(error, RunError::Stopped { reason: StopReason::Asked, .. }), "{error}");
    }
}

#[test]
fn a_launch_that_needs_more_memory_than_it_may_take_is_refused_with_the_sum() {
    let text = kernel(
        ".local .align 16 .b8 large[65536];\nmov.u64 %d0, large;\nst.local.u32 [%d0], %tid;\nret;",
    );
    let limit = Some(4096 + 32 * 65_536 / 2);
    let options = Options { memory_limit: limit, ..Options::default() };
    let error = given_up(&text, [1, 1, 1], &options, &Silent);
    let RunError::Launch(LaunchError::Memory { needed, buffers, limit: told }) = error else {
        panic!("{error}")
    };
    assert_eq!((buffers, told), (4096, limit));
    // Local memory of 32 threads, and some registers.
    assert!((4096 + 32 * 65_536..4096 + 32 * 65_536 + 65_536).contains(&needed), "{needed}");
}

#[test]
fn what_ptxas_computes_in_front_of_an_instruction_is_computed() {
    // A register plus a constant, and elements of arrays, which count scalars.
    check(8, "add.u32 %r0, %tid+1, %tid+-3; st.global.u32 [%at], %r0+100; ret;", |i| 2 * i + 98);
    let text = module(
        ".global .align 16 .u32 words[8] = {10, 11, 12, 13, 14, 15, 16, 17};\n\
         .global .align 8 .u64 longs[4] = {0x500000004, 6, 7, 8};\n\
         .visible .entry k(.param .u64 out) {\n\
         .reg .b32 %tid, %r<16>; .reg .b64 %out, %at, %d<8>; .reg .pred %p;\n\
         ld.param.u64 %out, [out];\nmov.u32 %tid, %tid.x;\n\
         mad.wide.u32 %at, %tid, 16, %out;\n\
         ld.global.u32 %r0, words[3];\nld.global.u32 %r1, words[%tid];\n\
         ld.global.u32 %r2, words[%tid+4];\ncvt.u64.u32 %d0, %tid;\n\
         setp.eq.u32 %p, %tid, 1;\n@%p st.global.u64 longs[%d0], 99;\n\
         mov.u64 %d1, longs[1];\nld.global.u32 %r3, [%d1];\n\
         st.global.v4.u32 [%at], {%r0, %r1, %r2, %r3};\nret;\n}\n",
    );
    let words = launch(&text, &Shape::new(1, 4, 16)).unwrap().0;
    for thread in 0..4 {
        assert_eq!(words[4 * thread..][..4], [13, 10 + thread as u32, 14 + thread as u32, 99]);
    }
}

#[test]
fn moves_of_vectors_read_all_sources_first() {
    let body = ".reg .v4 .u32 %v, %w;\n.reg .v2 .u32 %u;\n.reg .b64 %p64;\n\
         mov.v4.u32 %v, %ntid;\nmov.v4.u32 %w, {%v.w, %v.z, %v.y, %v.x};\n\
         mov.v2.u32 %u, {5, 6};\nmov.v2.u32 {%u.x, %u.y}, {%u.y, %u.x};\n\
         mov.b64 %p64, %u;\nmov.b64 %u, %p64;\n\
         mad.lo.u32 %r0, %w.w, 1000, %u.x;\nmad.lo.u32 %r0, %u.y, 10, %r0;\n\
         add.u32 %r0, %r0, %w.x; st.global.u32 [%at], %r0; ret;";
    check(8, body, |_| 1000 * 8 + 6 + 50);
}
