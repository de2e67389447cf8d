//! Bulk copies: sizes, places, signals, order of CTAs, events.
//!
//! Every launch runs with one and with two threads and must not differ.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests are not inside the test functions that the lints spare"
)]

use gpucast_interpreter::{AccessKind, AsyncTiming, RunError};
use gpucast_ptx_frontend::types::StateSpace;

use crate::common::log::{Accessed, logged};
use crate::common::{Shape, kernel, launch, words};

/// Shared memory for copies, and an mbarrier of one arrival, which thread 0 initialises.
const SETUP: &str = ".shared .align 16 .b32 box[4096]; .shared .align 8 .b64 bar[2];\n\
     mov.u32 %r10, box; mov.u32 %r11, bar; setp.ne.u32 %p, %tid, 0;\n\
     @!%p mbarrier.init.shared::cta.b64 [bar], 1; bar.sync 0;\n";

const TO_SHARED: &str = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes";
const TO_GLOBAL: &str = "cp.async.bulk.global.shared::cta.bulk_group";

#[test]
fn any_size_arrives_and_completes_the_phase() {
    for bytes in [16u32, 48, 1024, 16_000] {
        // The first half of the buffer is filled, copied in, and copied out to the second half.
        let body = format!(
            "{SETUP}mov.u32 %r0, %tid; FILL: setp.ge.u32 %q, %r0, {count}; @%q bra FILLED;\n\
             mad.wide.u32 %d0, %r0, 4, %out; mad.lo.u32 %r1, %r0, 7, 3; st.global.u32 [%d0], %r1;\n\
             add.u32 %r0, %r0, 64; bra FILL;\n\
             FILLED: bar.sync 0; mov.u32 %r2, {bytes};\n\
             @!%p mbarrier.arrive.expect_tx.shared::cta.b64 %d1, [bar], {bytes};\n\
             @!%p {TO_SHARED} [%r10], [%out], %r2, [%r11];\n\
             WAIT: mbarrier.try_wait.parity.shared::cta.b64 %q, [bar], 0; @!%q bra WAIT;\n\
             @!%p {TO_GLOBAL} [%out+{bytes}], [%r10], {bytes};\n\
             cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; ret;",
            count = bytes / 4,
        );
        let got = words(&body, &Shape::new(1, 64, bytes as usize / 2));
        let wanted: Vec<u32> = (0..bytes / 2).map(|i| i % (bytes / 4) * 7 + 3).collect();
        assert_eq!(got, wanted, "{bytes} bytes");
    }
}

/// The sentence of the fault of a body in one cluster of two CTAs.
fn fault(body: &str) -> String {
    let shape = Shape { cluster: Some([2, 1, 1]), ..Shape::new(2, 32, 64) };
    match launch(&kernel(&format!("{SETUP}{body}\nret;")), &shape) {
        Err(RunError::Fault(fault)) => fault.to_string(),
        other => panic!("no fault but {other:?}\n{body}"),
    }
}

#[test]
fn wrong_sizes_and_places_are_faults() {
    let meet = "barrier.cluster.arrive; barrier.cluster.wait;";
    for (body, said) in [
        (
            format!("{TO_GLOBAL} [%out], [%r10], 20;"),
            "the size of a bulk copy is 20, but must be a multiple of 16",
        ),
        (format!("{TO_GLOBAL} [%out+4], [%r10], 16;"), "misaligned access: address 0x700000004 is"),
        (format!("{TO_GLOBAL} [%out], [%r10+8], 16;"), "misaligned access: address 0x8 is not a"),
        (format!("{TO_GLOBAL} [%out+240], [%r10], 32;"), "out-of-bounds store of 32 bytes at glo"),
        (format!("{TO_GLOBAL} [%out], [%r10], 32768;"), "out-of-bounds store of 32768 bytes at gl"),
        (
            format!("{TO_SHARED} [%r10+16384], [%out], 32, [%r11];"),
            "out-of-bounds store of 32 bytes at shared address 0x4000",
        ),
        (
            format!("{TO_SHARED} [%r10], [%out], 16, [%r11+8];"),
            "mbarrier at shared address 0x4008: it was never initialised",
        ),
        (
            format!(
                "mov.u32 %r5, 1; mapa.shared::cluster.u32 %r6, %r10, %r5;\n{meet}\n\
                     {TO_SHARED} [%r6], [%out], 16, [%r11];\n{meet}"
            ),
            "the mbarrier of the copy at shared address 0x4000 belongs to another CTA",
        ),
        (
            format!(
                "mov.u32 %r5, 1; mapa.shared::cluster.u32 %r6, %r10, %r5;\n{meet}\n\
                 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r6], [%out], 16, \
                 [%r11];\n{meet}"
            ),
            "the destination of a bulk operation at shared address 0x1000000 belongs to another",
        ),
        (
            format!(
                "mov.u32 %r5, 4; cvt.u16.u32 %h, %r5;\n{TO_SHARED}.multicast::cluster [%r10], \
                 [%out], 16, [%r11], %h;"
            ),
            "out-of-bounds store of 16 bytes at shared address 0x2000000",
        ),
        (
            "mov.u64 %d0, 12; st.bulk.shared::cta [%r10], %d0, 0;".to_owned(),
            "the size of a bulk copy is 12, but must be a multiple of 8",
        ),
        (
            "mov.u64 %d0, 0x100000010; st.bulk.shared::cta [%r10], %d0, 0;".to_owned(),
            "the size of a bulk copy is 4294967295, but must be a multiple of 8",
        ),
        (
            "mov.u64 %d0, 8; st.bulk [out], %d0, 0;".to_owned(),
            "st.bulk cannot be executed: the destination must be in shared memory",
        ),
        (
            format!("{TO_GLOBAL} [out], [%r10], 16;"),
            "cp.async.bulk.global.shared::cta.bulk_group cannot be executed: out is in .param memory",
        ),
        (
            "mov.u64 %d0, 16; st.bulk [%out], %d0, 0;".to_owned(),
            "the destination of a bulk operation must be in shared memory, but 0x700000000",
        ),
    ] {
        let body = format!(".reg .b16 %h; {body}");
        let got = fault(&body);
        assert!(got.starts_with(said), "{body}: {got}");
    }
}

/// An answer that is held back is a place in shared memory, which local memory exceeds.
#[test]
fn an_answer_goes_to_shared_memory_alone() {
    let body = format!(
        "{SETUP}.local .align 16 .b8 large[262144];\n\
         clusterlaunchcontrol.try_cancel.async.mbarrier::complete_tx::bytes\
         .multicast::cluster::all.b128 [large+262128], [bar];\nret;"
    );
    let text = kernel(&body).replace("sm_100", "sm_100a");
    let mut shape = Shape::new(1, 1, 64);
    shape.options.async_timing = AsyncTiming::Late;
    let fault = launch(&text, &shape).unwrap_err().to_string();
    assert!(fault.contains("the destination must be in shared memory"), "{fault}");
}

#[test]
fn only_the_bytes_that_may_be_ignored_may_lie_outside_memory() {
    // `out` has 40 bytes, so that 8 of 48 lie behind it.
    for (left, right, said) in [
        (0, 8, None),
        (15, 15, None),
        (0, 7, Some("out-of-bounds load of 41 bytes at global address 0x700000000")),
        (15, 0, Some("out-of-bounds load of 33 bytes at global address 0x70000000f")),
        (16, 8, Some("the number of bytes to ignore of a bulk copy is 16, but must be 0 to 15")),
        (0, 40, Some("the number of bytes to ignore of a bulk copy is 40, but must be 0 to 15")),
    ] {
        let body = format!(
            "{SETUP}@!%p cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.ignore_oob \
             [%r10], [%out], 48, {left}, {right}, [%r11]; ret;"
        );
        let text = kernel(&body).replace(".version 8.8", ".version 9.2");
        match (launch(&text, &Shape::new(1, 32, 10)), said) {
            (Ok(_), None) => {}
            (Err(RunError::Fault(fault)), Some(said)) => {
                assert!(fault.to_string().starts_with(said), "{fault}");
            }
            (other, _) => panic!("{other:?} of {left} and {right}"),
        }
    }
}

#[test]
fn multicast_reaches_the_ctas_of_the_mask() {
    // Rank 1 of four copies 16 bytes to the CTAs 0, 2 and 3, whose mbarriers count them.
    let body = format!(
        ".reg .b16 %h; {SETUP}mov.u32 %r0, %cluster_ctarank;\n\
         setp.ne.u32 %q, %r0, 1; @%q mbarrier.arrive.expect_tx.shared::cta.b64 %d1, [bar], 16;\n\
         @!%q mbarrier.arrive.shared::cta.b64 %d1, [bar];\n\
         mov.u32 %r1, 9; st.shared.u32 [box+64], %r1;\n\
         barrier.cluster.arrive; barrier.cluster.wait;\n\
         mov.u16 %h, 13; mov.u32 %r2, 5; @!%q st.global.u32 [%out], %r2;\n\
         @!%q {TO_SHARED}.multicast::cluster [%r10+64], [%out], 16, [%r11], %h;\n\
         WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p, [bar], 0; @!%p bra WAIT;\n\
         ld.shared.u32 %r1, [box+64]; mad.wide.u32 %at, %r0, 4, %out;\n\
         barrier.cluster.arrive; barrier.cluster.wait; st.global.u32 [%at+16], %r1; ret;"
    );
    let shape = Shape { cluster: Some([4, 1, 1]), ..Shape::new(4, 1, 8) };
    let got = words(&body, &shape);
    assert_eq!(got[4..], [5, 9, 5, 5]);
}

#[test]
fn reductions_in_bulk_decide_about_the_order_of_ctas() {
    let body = |reduce: &str| {
        format!(
            "{SETUP}mov.u32 %r0, 3; st.shared.v4.u32 [%r10], {{%r0, %r0, %r0, %r0}};\n\
             @!%p cp.reduce.async.bulk.global.shared::cta.bulk_group{reduce} [%out], [%r10], 16;\n\
             cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; ret;"
        )
    };
    let shape = Shape::new(300, 32, 4);
    for (reduce, ordered, result) in [
        (".add.u32", false, 900),
        (".max.s32", false, 3),
        (".inc.u32", true, 0),
        (".add.noftz.f16", true, 900),
    ] {
        let (got, _, summary) = launch(&kernel(&body(reduce)), &shape).unwrap();
        // 3 as f16 is 3 times the smallest number, and so are sums of it.
        assert_eq!(got, [result; 4], "{reduce}");
        let reason = summary.ordered_because;
        assert_eq!(reason.is_some(), ordered, "{reduce}: {reason:?}");
        if let Some(reason) = reason {
            assert!(reason.contains("cp.reduce.async.bulk in line"), "{reason}");
        }
    }
}

#[test]
fn an_observer_sees_both_sides_of_a_copy() {
    // Lanes 3 and 4 copy 32 and 64 bytes out; one of them reduces.
    let text = kernel(&format!(
        "{SETUP}mul.lo.u32 %r0, %tid, 32; sub.u32 %r0, %r0, 64; mad.wide.u32 %d0, %tid, 64, %out;\n\
         setp.ge.u32 %p, %tid, 3; setp.le.u32 %q, %tid, 4; and.pred %p, %p, %q;\n\
         @%p {TO_GLOBAL} [%d0], [%r10+16], %r0; setp.eq.u32 %p, %tid, 4;\n\
         @%p cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u64 [%d0], [%r10], %r0; ret;"
    ));
    let (log, out) = logged(&text, 32, 4096);
    use AccessKind::{Load, Reduction, Store};
    let (global, shared) = (StateSpace::Global, StateSpace::Shared);
    let seen = |&Accessed { space, kind, bytes_per_lane, mask, first }: &Accessed| {
        (space, kind, bytes_per_lane, mask, first)
    };
    // The first access is the initialisation of the mbarrier.
    assert_eq!(
        log.accesses[1..].iter().map(seen).collect::<Vec<_>>(),
        [
            (shared, Load, 32, 1 << 3, 16),
            (global, Store, 32, 1 << 3, out + 192),
            (shared, Load, 64, 1 << 4, 16),
            (global, Store, 64, 1 << 4, out + 256),
            (shared, Load, 64, 1 << 4, 0),
            (global, Reduction, 64, 1 << 4, out + 256),
        ]
    );
}
