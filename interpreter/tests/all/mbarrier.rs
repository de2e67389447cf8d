//! mbarriers between warps: phases, transactions, waiting, wrong uses and deadlocks.
//!
//! Every launch runs with one and with two threads and must not differ.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests are not inside the test functions that the lints spare"
)]

use gpucast_interpreter::semantics::mbarrier::MbarrierError;
use gpucast_interpreter::{FaultKind, RunError};

use crate::common::{Shape, kernel, launch, words};

/// The fault of a body in one CTA of 64 threads, with the line that it blames.
fn fault(body: &str) -> (FaultKind, String, String) {
    let text = kernel(body);
    match launch(&text, &Shape::new(1, 64, 64)) {
        Err(RunError::Fault(fault)) => {
            let span = fault.instruction.as_ref().unwrap().span;
            let line = text[span.start as usize..span.end as usize].to_owned();
            let said = fault.to_string();
            (fault.kind, said, line)
        }
        other => panic!("no fault but {other:?}\n{text}"),
    }
}

/// The first thread initialises the objects, all wait for it.
fn with_objects(counts: &[u32], body: &str) -> String {
    let init = |(index, count): (usize, &u32)| {
        format!("@!%p mbarrier.init.shared::cta.b64 [bar+{}], {count};\n", 8 * index)
    };
    let init: String = counts.iter().enumerate().map(init).collect();
    format!(
        ".shared .align 8 .b64 bar[{}]; .shared .align 16 .b32 box[256];\n\
         setp.ne.u32 %p, %tid, 0;\n{init}bar.sync 0;\n{body}",
        counts.len().max(1)
    )
}

/// Warp 0 fills a ring of `slots` words for each lane, warp 1 adds them up; `wait` is how they
/// wait for each other.
fn producer_consumer(slots: u32, items: u32, wait: &str) -> String {
    // Objects: `full` of each slot, then `empty` of each slot.
    let counts = vec![32; 2 * slots as usize];
    let wait = |object: &str, label: &str| {
        format!("{label}: {wait} %q, [{object}], %r4; @!%q bra {label};\n")
    };
    let (full, empty) = (wait("%r6", "FULL"), wait("%r7", "EMPTY"));
    let next = format!(
        "add.u32 %r3, %r3, 1; setp.eq.u32 %q, %r3, {slots}; @%q mov.u32 %r3, 0; @%q xor.b32 %r4, \
         %r4, 1;\n"
    );
    let slot = format!(
        "mul.lo.u32 %r6, %r3, 8; add.u32 %r6, %r6, %r10; add.u32 %r7, %r6, {};\n\
         mad.lo.u32 %r8, %r3, 128, %r11;\n",
        8 * slots
    );
    let body = format!(
        "mov.u32 %r10, bar; mov.u32 %r11, box; and.b32 %r0, %tid, 31; mad.lo.u32 %r11, %r0, 4, %r11;\n\
         mov.u32 %r2, 0; mov.u32 %r3, 0;\n\
         setp.ge.u32 %p, %tid, 32; @%p bra CONSUME;\n\
         mov.u32 %r4, 1;\n\
         PRODUCE: {slot}{empty}\
         mad.lo.u32 %r9, %r2, 77, %r0; st.shared.u32 [%r8], %r9;\n\
         mbarrier.arrive.shared.b64 %d0, [%r6];\n{next}\
         add.u32 %r2, %r2, 1; setp.lt.u32 %p, %r2, {items}; @%p bra PRODUCE; ret;\n\
         CONSUME: mov.u32 %r4, 0; mov.u32 %r5, 0;\n\
         TAKE: {slot}{full}\
         ld.shared.u32 %r9, [%r8]; mad.lo.u32 %r5, %r5, 3, %r9;\n\
         mbarrier.arrive.shared.b64 %d0, [%r7];\n{next}\
         add.u32 %r2, %r2, 1; setp.lt.u32 %p, %r2, {items}; @%p bra TAKE;\n\
         st.global.u32 [%at+-128], %r5; ret;"
    );
    with_objects(&counts, &body)
}

#[test]
fn a_producer_and_a_consumer_hand_over_every_item_in_order() {
    for wait in ["mbarrier.try_wait.parity.shared.b64", "mbarrier.test_wait.parity.shared.b64"] {
        for (slots, items) in [(1, 1), (1, 50), (2, 51), (4, 200), (7, 30)] {
            let body = producer_consumer(slots, items, wait);
            let (got, _, summary) = launch(&kernel(&body), &Shape::new(2, 64, 32)).unwrap();
            let sum = |lane: u32| {
                (0..items)
                    .fold(0u32, |sum, item| sum.wrapping_mul(3).wrapping_add(item * 77 + lane))
            };
            assert_eq!(got, (0..32).map(sum).collect::<Vec<_>>(), "{wait}, {slots} slots");
            // Waiting costs a few instructions for each item, not a turn.
            let limit = 2 * 2 * (100 + 40 * u64::from(items));
            assert!(
                summary.warp_instructions < limit.into(),
                "{wait}: {}",
                summary.warp_instructions
            );
        }
    }
}

#[test]
fn lanes_of_one_warp_wait_for_each_other() {
    // Lane 31 goes through a long loop before it arrives; the others wait for it, lane by lane.
    for wait in ["try_wait", "test_wait"] {
        let body = with_objects(
            &[1],
            &format!(
                "mov.u32 %r0, 0; and.b32 %r2, %tid, 31; setp.eq.u32 %p, %tid, 31; @%p bra LONG;\n\
                 WAIT: mbarrier.{wait}.parity.shared.b64 %q, [bar], 0; @!%q bra WAIT;\n\
                 ld.shared.u32 %r0, [box]; st.global.u32 [%at], %r0; ret;\n\
                 LONG: add.u32 %r0, %r0, 1; setp.lt.u32 %p, %r0, 5000; @%p bra LONG;\n\
                 st.shared.u32 [box], %r0; mbarrier.arrive.shared.b64 %d0, [bar];\n\
                 st.global.u32 [%at], %r0; ret;"
            ),
        );
        assert_eq!(words(&body, &Shape::new(1, 64, 64)), [5000; 64]);
    }
}

#[test]
fn lanes_wait_for_different_objects() {
    // Lane i waits for object i % 4; a second warp completes them one after the other.
    let body = with_objects(
        &[32, 32, 32, 32],
        "and.b32 %r0, %tid, 3; mov.u32 %r1, bar; mad.lo.u32 %r2, %r0, 8, %r1;\n\
         setp.ge.u32 %p, %tid, 32; @%p bra ARRIVE;\n\
         WAIT: mbarrier.try_wait.parity.shared.b64 %q, [%r2], 0; @!%q bra WAIT;\n\
         mad.lo.u32 %r3, %r0, 4, box; ld.shared.u32 %r4, [%r3]; st.global.u32 [%at], %r4; ret;\n\
         ARRIVE: mov.u32 %r5, 0;\n\
         NEXT: mov.u32 %r6, box; mad.lo.u32 %r6, %r5, 4, %r6; add.u32 %r7, %r5, 9;\n\
         st.shared.u32 [%r6], %r7; mad.lo.u32 %r6, %r5, 8, %r1;\n\
         mbarrier.arrive.shared.b64 %d0, [%r6];\n\
         add.u32 %r5, %r5, 1; setp.lt.u32 %p, %r5, 4; @%p bra NEXT;\n\
         st.global.u32 [%at], %r5; ret;",
    )
    .replace("mad.lo.u32 %r3, %r0, 4, box", "mov.u32 %r3, box; mad.lo.u32 %r3, %r0, 4, %r3");
    let wanted: Vec<u32> = (0..64).map(|i| if i < 32 { i % 4 + 9 } else { 4 }).collect();
    assert_eq!(words(&body, &Shape::new(1, 64, 64)), wanted);
}

#[test]
fn a_guarded_wait_holds_its_lanes_only_as_long_as_needed() {
    let body = with_objects(
        &[32],
        "and.b32 %r0, %tid, 1; setp.eq.u32 %p, %r0, 0; setp.eq.u32 %q, 0, 1;\n\
         setp.ge.u32 %q, %tid, 32; @%q bra ARRIVE; setp.eq.u32 %q, 0, 1;\n\
         @%p mbarrier.try_wait.parity.shared.b64 %q, [bar], 0;\n\
         selp.u32 %r1, 1, 2, %q; st.global.u32 [%at], %r1; ret;\n\
         ARRIVE: mbarrier.arrive.shared.b64 %d0, [bar]; mov.u32 %r1, 3;\n\
         st.global.u32 [%at], %r1; ret;",
    );
    let wanted: Vec<u32> = (0..64).map(|i| if i >= 32 { 3 } else { 1 + i % 2 }).collect();
    assert_eq!(words(&body, &Shape::new(1, 64, 64)), wanted);
}

#[test]
fn a_wait_with_an_end_of_its_own_ends() {
    // Nobody arrives; after 1000 attempts the threads give up, which is not a deadlock.
    let body = with_objects(
        &[1],
        "mov.u32 %r0, 0;\n\
         WAIT: mbarrier.try_wait.parity.shared.b64 %q, [bar], 0, 100; add.u32 %r0, %r0, 1;\n\
         @%q bra OUT; setp.lt.u32 %p, %r0, 1000; @%p bra WAIT;\n\
         OUT: st.global.u32 [%at], %r0; ret;",
    );
    assert_eq!(words(&body, &Shape::new(1, 64, 64)), [1000; 64]);
}

#[test]
fn a_wait_ends_while_others_poll_memory() {
    // Warp 1 polls a word that warp 0 writes only after its wait has been given up.
    let body = with_objects(
        &[1],
        "setp.ge.u32 %p, %tid, 32; @%p bra POLL;\n\
         mbarrier.try_wait.parity.shared.b64 %q, [bar], 0; mov.u32 %r0, 4; @%q mov.u32 %r0, 5;\n\
         st.volatile.shared.u32 [box], %r0; st.global.u32 [%at], %r0; ret;\n\
         POLL: ld.volatile.shared.u32 %r0, [box]; setp.eq.u32 %p, %r0, 0; @%p bra POLL;\n\
         st.global.u32 [%at], %r0; ret;",
    );
    assert_eq!(words(&body, &Shape::new(1, 64, 64)), [4; 64]);
}

#[test]
fn another_cta_may_end_the_wait() {
    // CTA 0 asks for an mbarrier in vain until CTA 3 has set a flag.
    let body = with_objects(
        &[1],
        "mov.u32 %r1, %ctaid.x; setp.eq.u32 %p, %r1, 3; @%p bra SET;\n\
         WAIT: mbarrier.try_wait.parity.shared.b64 %q, [bar], 0; @%q bra OUT;\n\
         ld.acquire.gpu.global.u32 %r0, [%out]; setp.eq.u32 %p, %r0, 0; @%p bra WAIT;\n\
         mad.wide.u32 %d0, %r1, 4, %out; st.global.u32 [%d0+4], %r0; OUT: ret;\n\
         SET: mov.u32 %r0, 9; st.release.gpu.global.u32 [%out], %r0; ret;",
    );
    let got = words(&body, &Shape::new(4, 1, 5));
    assert_eq!(got, [9, 9, 9, 9, 0]);
    // Without the flag it is a deadlock, whose mbarrier is named.
    let text = kernel(&body.replace("mov.u32 %r0, 9;", "mov.u32 %r0, 0;"));
    let mut shape = Shape::new(4, 1, 5);
    shape.options.instruction_budget = 1 << 32;
    let Err(RunError::Fault(fault)) = launch(&text, &shape) else { panic!("it ends") };
    assert!(matches!(fault.kind, FaultKind::MbarrierDeadlock { pending: 1, .. }), "{fault}");
}

#[test]
fn barriers_and_mbarriers_mix() {
    // A warp passes a barrier and reaches its wait within one block, and the other way round.
    let body = with_objects(
        &[64, 64],
        "bar.sync 1, 64; mbarrier.arrive.shared.b64 %d0, [bar];\n\
         mbarrier.try_wait.shared.b64 %q, [bar], %d0; bar.sync 2; bar.sync 3;\n\
         mbarrier.arrive.shared.b64 %d0, [bar+8]; bar.sync 4;\n\
         mbarrier.test_wait.shared.b64 %p, [bar+8], %d0;\n\
         selp.u32 %r0, 1, 0, %q; selp.u32 %r1, 2, 0, %p; or.b32 %r0, %r0, %r1;\n\
         st.global.u32 [%at], %r0; ret;",
    );
    assert_eq!(words(&body, &Shape::new(3, 64, 64)), [3; 64]);
}

#[test]
fn who_waits_for_an_arrival_that_never_comes_is_named() {
    let wait = |how: &str| {
        with_objects(
            &[3, 65],
            &format!(
                "mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 %d0, [bar+8], 2;\n\
                 WAIT: {how} @!%q bra WAIT;\nret;"
            ),
        )
    };
    for how in [
        "mbarrier.try_wait.shared.b64 %q, [bar+8], %d0;",
        "mbarrier.test_wait.shared.b64 %q, [bar+8], %d0;",
        "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %q, [bar+8], 0, 1000000;",
    ] {
        let (kind, said, line) = fault(&wait(how));
        let deadlock = FaultKind::MbarrierDeadlock {
            address: 8,
            waiting: 32,
            pending: 1,
            tx_count: 128,
            passed: 0,
        };
        assert_eq!(kind, deadlock, "{how}");
        assert_eq!(
            said,
            "deadlock at the mbarrier at shared address 0x8: 32 threads wait for a phase that \
             lacks 1 arrivals and 128 bytes; it has completed 0 phases (kernel k, CTA 0,0,0, thread 0,0,0)"
        );
        assert_eq!(line, how);
    }
    // Half of the threads wait for arrivals, the other half for them at a barrier.
    let body = with_objects(
        &[99],
        "mbarrier.arrive.shared.b64 %d0, [bar]; setp.ge.u32 %p, %tid, 32; @%p bra OUT;\n\
         WAIT: mbarrier.try_wait.parity.shared.b64 %q, [bar], 0; @!%q bra WAIT;\n\
         OUT: bar.sync 1; ret;",
    );
    let (kind, ..) = fault(&body);
    assert!(matches!(kind, FaultKind::MbarrierDeadlock { pending: 35, .. }), "{kind:?}");
}

/// What a single thread's wrong use of an object of one arrival is told.
fn wrong(body: &str, problem: MbarrierError) {
    let body = with_objects(&[1], &format!("setp.ne.u32 %p, %tid, 5; @%p exit;\n{body}\nret;"));
    let (kind, said, _) = fault(&body);
    assert_eq!(kind, FaultKind::Mbarrier { address: 0, problem }, "{body}");
    let start = format!("mbarrier at shared address 0x0: {problem}");
    assert!(said.starts_with(&start) && said.ends_with("thread 5,0,0)"), "{said}");
}

#[test]
fn wrong_uses_are_faults() {
    use MbarrierError as E;
    let again = "mbarrier.arrive.shared.b64 %d0, [bar];";
    wrong("mbarrier.arrive.shared.b64 %d0, [bar], 2;", E::TooManyArrivals { count: 2, pending: 1 });
    wrong(
        &format!("mbarrier.expect_tx.shared::cta.b64 [bar], 4; {again} {again}"),
        E::TooManyArrivals { count: 1, pending: 0 },
    );
    wrong(
        "mbarrier.arrive_drop.shared.b64 %d0, [bar], 2;",
        E::TooManyDropped { count: 2, expected: 1 },
    );
    wrong("mbarrier.arrive.noComplete.shared.b64 %d0, [bar], 1;", E::Completes);
    wrong("mbarrier.expect_tx.shared::cta.b64 [bar], 1048576;", E::TxCount { count: 1 << 20 });
    wrong("mbarrier.complete_tx.shared::cta.b64 [bar], 1048576;", E::TxCount { count: -(1 << 20) });
    wrong(
        "mbarrier.inval.shared.b64 [bar]; mbarrier.arrive.shared.b64 %d0, [bar];",
        E::Invalidated,
    );
    wrong("mbarrier.inval.shared.b64 [bar]; mbarrier.inval.shared.b64 [bar];", E::Invalidated);
    wrong(
        "mov.u64 %d1, 99; st.shared.u64 [bar], %d1;\n\
         mbarrier.try_wait.parity.shared.b64 %q, [bar], 0;",
        E::NotInitialised,
    );
    wrong("mov.u64 %d1, 99; mbarrier.test_wait.shared.b64 %q, [bar], %d1;", E::BadState);
    for count in [0, 1 << 20] {
        wrong(
            &format!("mov.u32 %r9, {count}; mbarrier.init.shared.b64 [bar], %r9;"),
            E::BadCount { count, least: 1 },
        );
    }
    wrong(
        "mbarrier.init.shared.b64 [bar], 1048575; cp.async.mbarrier.arrive.shared.b64 [bar];",
        E::TooManyPending,
    );
}

#[test]
fn objects_lie_aligned_in_shared_memory() {
    let said = |body: &str| fault(&with_objects(&[1], &format!("{body}\nret;"))).1;
    assert!(said("mbarrier.init.b64 [%out], 1;").starts_with(
        "the mbarrier object must be in shared memory, but 0x700000000 is a generic address \
             elsewhere (kernel k"
    ));
    assert!(
        said("mbarrier.init.shared.b64 [bar+4], 1;").starts_with("misaligned access: address 0x4")
    );
    assert!(
        said("mbarrier.arrive.shared.b64 %d0, [bar+65536];")
            .starts_with("out-of-bounds store of 8 bytes at shared address 0x10000; 1040 bytes")
    );
}
