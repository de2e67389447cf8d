//! CTAs that read what other CTAs write without saying so: what is counted, and what is in memory
//! afterwards, must not depend on the number of threads.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests are not inside the test functions that the lints spare"
)]

use gpucast_interpreter::{
    Argument, DeviceMemory, Launch, Options, Program, Schedule, Silent, Summary, run,
};

use crate::common::{Count, Outcome, Shape, kernel, launch_on, module};

/// Run with one, two and seven threads and insist that nothing differs.
fn on_any_threads(text: &str, shape: &Shape) -> Outcome {
    let one = launch_on(text, shape, 1);
    for threads in [2, 7] {
        assert_eq!(one, launch_on(text, shape, threads), "{threads} threads\n{text}");
    }
    one
}

fn shape(ctas: u32, threads: u32, words: usize) -> Shape {
    let mut shape = Shape::new(ctas, threads, words);
    shape.options.instruction_budget = 1 << 30;
    shape
}

/// The same as `shape`, one CTA after the other.
fn in_order(shape: &Shape) -> Shape {
    let mut shape = shape.clone();
    shape.options.schedule = Schedule::Ordered;
    shape
}

/// `text` behaves as in order, and the summary says that it was executed again.
fn is_executed_again(text: &str, shape: &Shape) -> Summary {
    let (words, totals, summary) = on_any_threads(text, shape).unwrap();
    let (ordered_words, ordered_totals, ordered) = launch_on(text, &in_order(shape), 2).unwrap();
    assert_eq!((words, totals), (ordered_words, ordered_totals), "{text}");
    assert_eq!(summary.issued_lanes, ordered.issued_lanes);
    assert!(summary.watched, "{text}");
    let reason = summary.ordered_because.as_deref().unwrap_or_else(|| panic!("{text}"));
    assert!(reason.starts_with("executed again in order because"), "{reason}");
    summary
}

/// How `text` runs: whether it is watched, and why it is ordered.
fn schedule(text: &str, shape: &Shape) -> (bool, Option<String>) {
    let (_, _, summary) = on_any_threads(text, shape).unwrap();
    (summary.watched, summary.ordered_because)
}

#[test]
fn a_loop_over_a_counter_that_other_ctas_store_to_counts_the_same_on_any_threads() {
    let text = kernel(
        "ld.global.u32 %r1, [%out]; add.u32 %r2, %r1, 1; mov.u32 %r3, 0;\n\
         W: add.u32 %r3, %r3, 1; setp.lt.u32 %p, %r3, %r1; @%p bra W;\n\
         st.global.u32 [%out], %r2; ret;",
    );
    let (mut words, ..) = on_any_threads(&text, &shape(500, 32, 1)).unwrap();
    // Each CTA adds one to what the one before has left.
    assert_eq!(words.pop(), Some(500));
    let summary = is_executed_again(&text, &shape(500, 32, 1));
    let reason = summary.ordered_because.unwrap();
    assert!(reason.contains("CTA 1 reads in line"), "{reason}");
}

#[test]
fn a_reduction_that_a_plain_load_of_another_cta_sees_is_watched() {
    let text = module(
        ".global .u32 c;\n.visible .entry k(.param .u64 out) { .reg .pred %p; .reg .b32 %r<6>;\n\
         red.global.add.u32 [c], 1; mov.u32 %r4, 0;\n\
         B: add.u32 %r4, %r4, 1; setp.lt.u32 %p, %r4, 50; @%p bra B;\n\
         ld.global.u32 %r1, [c]; and.b32 %r1, %r1, 1023; mov.u32 %r3, 0;\n\
         W: add.u32 %r3, %r3, 1; setp.lt.u32 %p, %r3, %r1; @%p bra W; ret; }",
    );
    is_executed_again(&text, &shape(300, 32, 1));
}

#[test]
fn values_are_followed_through_every_memory_and_through_calls() {
    let store = "atom.shared.add.u32 %r7, [0], 0; mov.u32 %r6, %ctaid.x;\n\
                 st.global.u32 [%out], %r6; ret;";
    let loops = "mov.u32 %r3, 0; and.b32 %r2, %r2, 63;\n\
                 W: add.u32 %r3, %r3, 1; setp.lt.u32 %p, %r3, %r2; @%p bra W;";
    let bodies = [
        // Registers, conversions and selections.
        "ld.global.u32 %r1, [%out]; cvt.u64.u32 %d0, %r1; shr.u64 %d0, %d0, 0;\n\
         cvt.u32.u64 %r2, %d0;",
        // Shared memory.
        "ld.global.u32 %r1, [%out]; st.shared.u32 [sh], %r1; bar.sync 0; ld.shared.u32 %r2, [sh];",
        // Local memory, by a generic address.
        "ld.global.u32 %r1, [%out]; mov.u64 %d0, lo; cvta.local.u64 %d0, %d0;\n\
         st.u32 [%d0], %r1; ld.local.u32 %r2, [lo];",
        // Another lane.
        "ld.global.u32 %r1, [%out]; shfl.sync.idx.b32 %r2, %r1, 0, 31, 0xffffffff;",
        // A copy in global memory.
        "ld.global.u32 %r1, [%out]; st.global.u32 [%at+4], %r1; ld.global.u32 %r2, [%at+4];",
        // The carry flag.
        "ld.global.u32 %r1, [%out]; add.cc.u32 %r1, %r1, -1; addc.u32 %r2, 1, 0;",
        // A function.
        "ld.global.u32 %r1, [%out]; call (%r2), same, (%r1);",
        // An asynchronous copy.
        "cp.async.ca.shared.global [sh], [%out], 4; cp.async.wait_all; bar.sync 0;\n\
         ld.shared.u32 %r2, [sh];",
    ];
    for body in bodies {
        let text = kernel(&format!(
            ".shared .align 16 .b32 sh[4]; .local .align 16 .b32 lo[4];\n{body}\n{loops}\n{}",
            store.replace("atom.shared.add.u32 %r7, [0], 0; ", "")
        ));
        let text = text.replace(
            ".visible .entry",
            ".func (.reg .b32 r) same(.reg .b32 a) { add.u32 r, a, 1; ret; }\n.visible .entry",
        );
        is_executed_again(&text, &shape(40, 32, 40));
    }
}

#[test]
fn addresses_and_guards_that_other_ctas_decide_are_watched() {
    let store = "mov.u32 %r6, %ctaid.x; and.b32 %r6, %r6, 3; st.global.u32 [%out], %r6; ret;";
    for body in [
        "ld.global.u32 %r1, [%out]; mad.wide.u32 %d0, %r1, 128, %out; ld.global.u32 %r2, [%d0];",
        "ld.global.u32 %r1, [%out]; setp.eq.u32 %p, %r1, 0; @%p add.u32 %r2, %r2, 1;",
        "ld.global.u32 %r1, [%out]; shl.b32 %r1, %r1, 2; mad.lo.u32 %r1, %r1, %tid, 0;\n\
         mov.u32 %r2, sh; add.u32 %r2, %r2, %r1; ld.shared.u32 %r2, [%r2];",
    ] {
        let text = kernel(&format!(".shared .align 16 .b32 sh[1024];\n{body}\n{store}"));
        is_executed_again(&text, &shape(40, 32, 200));
    }
}

#[test]
fn a_cta_that_reads_before_another_one_writes_depends_on_the_order_too() {
    // CTA 0 reads what CTA 1 writes: in order, it never sees that.
    let text = kernel(
        "mov.u32 %r1, %ctaid.x; setp.eq.u32 %p, %r1, 0; @%p bra READ;\n\
         mov.u32 %r2, 40; st.global.u32 [%out], %r2; ret;\n\
         READ: ld.global.u32 %r2, [%out]; mov.u32 %r3, 0;\n\
         W: add.u32 %r3, %r3, 1; setp.lt.u32 %p, %r3, %r2; @%p bra W; ret;",
    );
    let summary = is_executed_again(&text, &shape(2, 32, 1));
    assert!(summary.ordered_because.unwrap().contains("CTA 1 writes in line"));
}

#[test]
fn a_cta_that_waits_for_another_one_with_plain_loads_ends() {
    // CTA 0 waits for CTA 199.
    let text = kernel(
        "mov.u32 %r1, %ctaid.x; setp.eq.u32 %p, %r1, 199; @%p bra SET;\n\
         setp.ne.u32 %p, %r1, 0; @%p ret;\n\
         WAIT: ld.global.u32 %r0, [%out]; mov.u32 %r5, 0;\n\
         SLOW: add.u32 %r5, %r5, 1; setp.lt.u32 %p, %r5, 2; @%p bra SLOW;\n\
         setp.ne.u32 %q, %r0, 7; @%q bra WAIT; ret;\n\
         SET: mov.u32 %r0, 7; st.global.u32 [%out], %r0; ret;",
    );
    let mut shape = shape(200, 1, 1);
    // Small enough that an attempt on one thread comes to its end.
    shape.options.instruction_budget = 1 << 21;
    let (words, _, summary) = on_any_threads(&text, &shape).unwrap();
    assert_eq!(words, [7]);
    assert!(summary.ordered_because.is_some());
}

#[test]
fn what_no_cta_can_see_of_others_runs_in_parallel_unwatched() {
    let free = (false, None);
    // A histogram: the data decide where, and nobody writes them.
    let histogram = module(
        ".visible .entry k(.param .u64 out) { .reg .b32 %r<6>; .reg .b64 %d<6>;\n\
         ld.param.u64 %d0, [out]; mov.u32 %r0, %ctaid.x; mov.u32 %r1, %tid.x;\n\
         mad.lo.u32 %r0, %r0, 32, %r1; mul.wide.u32 %d1, %r0, 4; mov.u64 %d2, data;\n\
         add.u64 %d3, %d1, %d2; ld.global.u32 %r2, [%d3]; and.b32 %r2, %r2, 7;\n\
         mul.wide.u32 %d4, %r2, 4; add.u64 %d5, %d4, %d0; red.global.add.u32 [%d5], 1; ret; }\n",
    )
    .replace(".visible", ".global .u32 data[2048];\n.visible");
    assert_eq!(schedule(&histogram, &shape(64, 32, 8)), free);
    // A sum: what is read is added up and never looked at.
    let sum = "ld.global.u32 %r1, [%at+4]; red.global.add.u32 [%out], %r1; ret;";
    assert_eq!(schedule(&kernel(sum), &shape(64, 32, 64)), free);
    // One CTA has nobody to race with.
    let alone =
        "ld.global.u32 %r1, [%at]; setp.eq.u32 %p, %r1, 0; @%p st.global.u32 [%at], 1; ret;";
    assert_eq!(schedule(&kernel(&alone.replace(", 1;", ", %tid;")), &shape(1, 32, 32)), free);
}

#[test]
fn ctas_that_keep_to_their_own_elements_stay_parallel() {
    // Reads, decides and writes in place, each thread its own word.
    let text = kernel(
        "mov.u32 %r1, %ctaid.x; mad.lo.u32 %r1, %r1, 32, %tid; mad.wide.u32 %d0, %r1, 4, %out;\n\
         ld.global.u32 %r2, [%d0]; and.b32 %r2, %r2, 31; mov.u32 %r3, 0;\n\
         W: add.u32 %r3, %r3, 1; setp.lt.u32 %p, %r3, %r2; @%p bra W;\n\
         st.global.u32 [%d0], %r3; ret;",
    );
    assert_eq!(schedule(&text, &shape(64, 32, 2048)), (true, None));
}

#[test]
fn pointers_in_memory_may_lead_anywhere() {
    // The address of `out` is stored in a variable and loaded again.
    let text = kernel(
        "mov.u64 %d0, p; st.global.u64 [%d0], %out; ld.global.u64 %d1, [%d0];\n\
         ld.global.u32 %r1, [%out]; and.b32 %r1, %r1, 63; mov.u32 %r3, 0;\n\
         W: add.u32 %r3, %r3, 1; setp.lt.u32 %p, %r3, %r1; @%p bra W;\n\
         mov.u32 %r2, %ctaid.x; st.global.u32 [%d1], %r2; ret;",
    )
    .replace(".visible", ".global .u64 p;\n.visible");
    is_executed_again(&text, &shape(40, 32, 1));
}

/// Random kernels over a small buffer: loads, stores and reductions of random words, loops and
/// addresses that depend on what was loaded.
fn random_body(random: &mut impl FnMut(u32) -> u32) -> String {
    let mut body = String::from("mov.u32 %r4, %ctaid.x; mov.u32 %r1, 1; mov.u32 %r2, 2;\n");
    let register = |random: &mut dyn FnMut(u32) -> u32| format!("%r{}", 1 + random(2));
    for step in 0..3 + random(5) {
        let place = match random(3) {
            0 => format!("[%out+{}]", 4 * random(8)),
            1 => {
                body += &format!(
                    "add.u32 %r5, %r4, {}; and.b32 %r5, %r5, 15; mad.wide.u32 %d1, %r5, 4, %out;\n",
                    random(3)
                );
                "[%d1]".to_owned()
            }
            _ => {
                body += &format!(
                    "and.b32 %r5, {}, 15; mad.wide.u32 %d1, %r5, 4, %out;\n",
                    register(random)
                );
                "[%d1]".to_owned()
            }
        };
        let value = register(random);
        match random(4) {
            0 => body += &format!("ld.global.u32 {value}, {place};\n"),
            1 => {
                body += &format!("add.u32 {value}, {value}, %r4; st.global.u32 {place}, {value};\n")
            }
            2 => body += &format!("red.global.add.u32 {place}, {value};\n"),
            _ => {
                body += &format!(
                    "ld.global.u32 {value}, {place}; and.b32 %r5, {value}, 31; mov.u32 %r3, 0;\n\
                     W{step}: add.u32 %r3, %r3, 1; setp.lt.u32 %p, %r3, %r5; @%p bra W{step};\n"
                );
            }
        }
    }
    body + "ret;"
}

#[test]
fn random_kernels_that_race_count_the_same_on_any_threads() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = move |n: u32| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as u32 % n
    };
    let (mut again, mut parallel) = (0, 0);
    for _ in 0..150 {
        let text = kernel(&random_body(&mut random));
        let shape = shape(48, 32, 32);
        let one = launch_on(&text, &shape, 1).unwrap();
        let seven = launch_on(&text, &shape, 7).unwrap();
        // Memory may differ where nothing that is counted depends on it.
        assert_eq!((&one.1, &one.2), (&seven.1, &seven.2), "{text}");
        let ordered = launch_on(&text, &in_order(&shape), 1).unwrap();
        assert_eq!(one.1, ordered.1, "{text}");
        match one.2.ordered_because {
            Some(_) => {
                assert_eq!(one.0, ordered.0, "{text}");
                again += 1;
            }
            None => parallel += 1,
        }
    }
    assert!(again > 30 && parallel > 10, "{again} {parallel}");
}

#[test]
fn buffers_are_told_apart_by_the_parameters_that_lead_to_them() {
    let text = module(
        ".visible .entry k(.param .u64 a, .param .u64 b) { .reg .b32 %r<6>; .reg .b64 %d<6>;\n\
         .reg .pred %p; ld.param.u64 %d0, [a]; ld.param.u64 %d1, [b];\n\
         ld.global.u32 %r1, [%d0]; mov.u32 %r3, 0;\n\
         W: add.u32 %r3, %r3, 1; setp.lt.u32 %p, %r3, %r1; @%p bra W;\n\
         mov.u32 %r4, %ctaid.x; mad.wide.u32 %d2, %r4, 4, %d1; st.global.u32 [%d2], %r3; ret; }",
    );
    let module = gpucast_ptx_frontend::load(&text).unwrap();
    let program = Program::new(&module, &text, "k").unwrap();
    let summary = |same: bool| {
        let mut memory = DeviceMemory::new();
        let a = memory.allocate("a", 256).unwrap();
        let b = memory.allocate("b", 256).unwrap();
        let arguments = [a, if same { a } else { b }].map(Argument::Address).to_vec();
        let (grid, block) = ([16, 1, 1], [32, 1, 1]);
        let launch = Launch { grid, block, cluster: None, dynamic_shared_bytes: 0, arguments };
        let mut count = Count::default();
        run(&program, &launch, &mut memory, &mut count, &Options::default(), &Silent).unwrap()
    };
    let apart = summary(false);
    assert_eq!((apart.watched, apart.ordered_because), (false, None));
    assert!(summary(true).ordered_because.is_some());
}

#[test]
fn fewer_ctas_are_under_way_where_memory_is_short_and_nothing_else_changes() {
    let text = kernel(
        ".local .align 16 .b8 lo[65536]; mov.u32 %r1, %ctaid.x; st.local.u32 [lo+65532], %r1;\n\
         ld.local.u32 %r2, [lo+65532]; mad.wide.u32 %d0, %r1, 4, %out; st.global.u32 [%d0], %r2; ret;",
    );
    let wide = shape(40, 64, 40);
    let mut narrow = wide.clone();
    // A CTA takes 4 MiB of local memory and some registers.
    narrow.options.memory_limit = Some(5 << 20);
    assert_eq!(on_any_threads(&text, &wide), on_any_threads(&text, &narrow));
    assert_eq!(on_any_threads(&text, &in_order(&wide)), on_any_threads(&text, &in_order(&narrow)));
    narrow.options.memory_limit = Some(4 << 20);
    let refused = launch_on(&text, &narrow, 2).unwrap_err().to_string();
    assert!(refused.contains("needs 4") && refused.contains("it may take 4194304"), "{refused}");
}
