//! Barriers and masks that do not fit the threads that use them.

use crate::common::{Shape, found, found_in, kernel};

#[test]
fn threads_that_exit_before_a_barrier_of_all_are_named() {
    let body = "setp.ge.u32 %p, %t, 40;\n@%p exit;\nbar.sync 0; ret;";
    assert_eq!(found(body, 64), ["exited-before-barrier x1: thread 0 line 10, thread 40 line 9"]);
    assert_eq!(found(&body.replace("@%p exit;", ""), 64), [""; 0]);
    // A barrier for as many threads as come does not miss the others.
    let counted = body.replace("40", "32").replace("bar.sync 0", "bar.sync 0, 32");
    assert_eq!(found(&counted, 64), [""; 0]);
}

#[test]
fn a_barrier_in_divergent_code_is_found() {
    let body =
        "setp.lt.u32 %p, %t, 16; @%p bra LOW;\nbar.sync 0; bra END;\nLOW: bar.sync 0;\nEND: ret;";
    assert_eq!(
        found(body, 32),
        ["divergent-barrier x1: thread 0 line 10, divergent barrier: threads of one warp wait at \
             different barrier instructions"]
    );
    // The halves of two warps make up the 32 threads of a barrier; the others go elsewhere.
    let counted = "and.b32 %r1, %t, 31; setp.lt.u32 %p, %r1, 16; @!%p bra LATER;\n\
                   bar.sync 1, 32;\nLATER: bar.sync 0; ret;";
    assert_eq!(found(counted, 64), ["divergent-barrier x2: thread 0 line 9, thread 16"]);
}

#[test]
fn who_synchronises_must_be_in_the_mask() {
    let body = "mov.u32 %r1, 0xffff;\nbar.warp.sync %r1; ret;";
    assert_eq!(found(body, 32), ["not-in-mask x16: thread 16 line 9, the mask is 0x0000ffff"]);
    let shuffle = "shfl.sync.idx.b32 %r1, %t, 0, 31, 0xfffffffe;\nret;";
    assert_eq!(
        found(shuffle, 32),
        [
            "not-in-mask x1: thread 0 line 8, the mask is 0xfffffffe",
            "reads-lane-outside-mask x31: thread 1 line 8, thread 0, lane 0; the mask is 0xfffffffe"
        ]
    );
}

#[test]
fn deadlocks_and_broken_mbarriers_are_findings() {
    let warp = "setp.eq.u32 %p, %t, 0; @%p bra WAIT;\nbar.warp.sync 0xffffffff;\n\
                WAIT: bar.sync 0;\nbar.warp.sync 0xffffffff; ret;";
    let found_in_warp = found(warp, 32);
    assert!(found_in_warp[0].starts_with("deadlock x1: thread "), "{found_in_warp:?}");
    let counted = found("bar.sync 1, 96;\nret;", 64);
    assert_eq!(
        counted,
        [
            "deadlock x1: thread 0 line 8, deadlock at a barrier: 64 threads wait at barrier 1 for 96"
        ]
    );
    assert_eq!(
        found("mbarrier.arrive.shared.b64 %d0, [bar];\nret;", 1),
        ["invalid-barrier x1: thread 0 line 8, mbarrier at shared address 0x400: it was never \
          initialised, or something else was stored there"]
    );
}

const NOTHING: [&str; 0] = [];

#[test]
fn lanes_that_a_mask_names_must_come() {
    // The upper half of the warp leaves by a branch, or before.
    let branch = "setp.ge.u32 %p, %t, 16;\n@%p bra END;\nSYNC\nEND: ret;";
    let exit = branch.replace("@%p bra END;", "@%p exit;");
    let both = |text: &str| [branch, &exit].map(|body| found(&body.replace("SYNC", text), 32));
    for (wide, narrow) in [
        ("bar.warp.sync 0xffffffff;", "bar.warp.sync 0xffff;"),
        (
            "shfl.sync.idx.b32 %r1, %t, 3, 31, 0xffffffff;",
            "shfl.sync.idx.b32 %r1, %t, 3, 31, 0xffff;",
        ),
        ("vote.sync.ballot.b32 %r1, %p, 0xffffffff;", "vote.sync.ballot.b32 %r1, %p, 0xffff;"),
    ] {
        let missing = |line: u32| {
            format!(
                "missing-lanes x1: thread 0 line 10, thread 16 line {line}, the mask is 0xffffffff"
            )
        };
        assert_eq!(both(wide), [[missing(11)], [missing(9)]], "{wide}");
        assert_eq!(both(narrow), [NOTHING, NOTHING], "{narrow}");
    }
    // Lanes that a block has no threads for need not come: no mask is right for all warps.
    assert_eq!(found("bar.warp.sync 0xffffffff; ret;", 40), NOTHING);
}

#[test]
fn lanes_that_come_late_or_elsewhere_are_not_missing() {
    // The halves meet at different instructions, and one of them later.
    let body = "setp.ge.u32 %p, %t, 16; @%p bra HIGH;\nbar.warp.sync 0xffffffff; bra END;\n\
                HIGH: bar.warp.sync 0xffff0000;\nbar.warp.sync 0xffffffff;\nEND: ret;";
    assert_eq!(found(body, 32), NOTHING);
    // One lane leaves a loop of the others after each round, and all meet behind it.
    let leaving = "mov.u32 %r1, 0;\nLOOP: setp.ge.u32 %p, %r1, %t; @%p bra END;\n\
                   activemask.b32 %r2; bar.warp.sync %r2;\nadd.u32 %r1, %r1, 1; bra LOOP;\n\
                   END: bar.warp.sync 0xffffffff; ret;";
    assert_eq!(found(leaving, 32), NOTHING);
}

#[test]
fn lanes_that_meet_must_give_the_same_mask() {
    let body = "setp.lt.u32 %p, %t, 8;\nselp.b32 %r1, 0xff, HIGH, %p;\nbar.warp.sync %r1; ret;";
    assert_eq!(
        found(&body.replace("HIGH", "0xffffffff"), 32),
        ["differing-masks x24: thread 8 line 10, thread 0 line 10, 0xffffffff and 0x000000ff"]
    );
    // Tiles of a warp each give their own.
    assert_eq!(found(&body.replace("HIGH", "0xffffff00"), 32), NOTHING);
}

#[test]
fn shuffles_must_read_lanes_that_take_part() {
    let body = "setp.ge.u32 %p, %t, 16; @%p bra END;\n\
                shfl.sync.down.b32 %r1, %t, 8, CLAMP, 0xffff;\nEND: ret;";
    assert_eq!(
        found(&body.replace("CLAMP", "31"), 32),
        ["reads-lane-outside-mask x8: thread 8 line 9, thread 16, lane 16; the mask is 0x0000ffff"]
    );
    // Within sixteen lanes, the sources of the upper eight are out of range.
    assert_eq!(found(&body.replace("CLAMP", "0x101f"), 32), NOTHING);

    let body = "setp.ge.u32 %p, %t, 16;\n@%p exit;\n\
                shfl.sync.bfly.b32 %r1, %t, DISTANCE, 31, 0xffffffff;\nret;";
    let missing = "missing-lanes x1: thread 0 line 10, thread 16 line 9, the mask is 0xffffffff";
    let exited = "reads-exited-lane x16: thread 0 line 10, thread 16 line 9, lane 16; the mask is \
                  0xffffffff";
    assert_eq!(found(&body.replace("DISTANCE", "16"), 32), [missing, exited]);
    assert_eq!(found(&body.replace("DISTANCE", "8"), 32), [missing]);
    assert_eq!(found(&body.replace("DISTANCE", "16").replace("@%p exit;", ""), 32), NOTHING);

    let body = "shfl.sync.down.b32 %r1, %t, 16, 31, 0xffffffff;\nret;";
    assert_eq!(
        found(body, 20),
        ["reads-lane-without-thread x12: thread 4 line 8, lane 20; the mask is 0xffffffff"]
    );
    assert_eq!(found(body, 32), NOTHING);
}

#[test]
fn shuffles_of_old_targets_read_active_lanes_only() {
    let body = "setp.ge.u32 %p, %t, 16; @%p bra END;\nshfl.bfly.b32 %r1, %t, 16, 31;\nEND: ret;";
    let old = kernel(body).replace("sm_90", "sm_60");
    assert_eq!(
        found_in(&old, &Shape::new(32)),
        ["reads-inactive-lane x16: thread 0 line 9, thread 16, lane 16"]
    );
    let near = old.replace("%t, 16, 31;", "%t, 8, 31;");
    assert_eq!(found_in(&near, &Shape::new(32)), NOTHING);
}

#[test]
fn who_uses_one_barrier_gives_one_number_of_threads() {
    // A warp arrives for a barrier of three, the other two wait for two.
    let body = "setp.lt.u32 %p, %t, 32; @%p bra FIRST;\nbar.sync 1, COUNT; bra END;\n\
                FIRST: bar.arrive 1, 96;\nEND: ret;";
    assert_eq!(
        found(&body.replace("COUNT", "64"), 96),
        ["differing-counts x2: thread 32 line 9, thread 0 line 10, barrier 1, 64 and 96 threads"]
    );
    assert_eq!(found(&body.replace("COUNT", "96"), 96), NOTHING);
    // No number means every thread of the block, and the next phase may be of others.
    let phases = "bar.sync 1; bar.sync 1, 96;\nsetp.ge.u32 %p, %t, 64; @%p bra END;\n\
                  bar.sync 1, 64;\nEND: ret;";
    assert_eq!(found(phases, 96), NOTHING);
    assert_eq!(found(phases, 90), NOTHING);
}

#[test]
fn a_block_of_a_cluster_exits_after_others_have_read_its_memory() {
    // Rank 0 reads what rank 1 has written.
    let body = "st.shared.u32 [%r15], %t; mov.u32 %r1, %cluster_ctarank; setp.ne.u32 %p, %r1, 0;\n\
                barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; @%p bra END;\n\
                mapa.shared::cluster.u32 %r2, %r15, 1;\nld.shared::cluster.u32 %r3, [%r2];\n\
                END: AGAIN\nret;";
    let shape = Shape { grid: 2, cluster: Some([2, 1, 1]), ..Shape::new(32) };
    let meet = "barrier.cluster.arrive; barrier.cluster.wait;";
    let found = |again: &str| found_in(&kernel(&body.replace("AGAIN", again)), &shape);
    assert_eq!(
        found(""),
        ["used-after-exit x32: thread 0 line 11, cta 1 thread 31 line 13, 4 Shared tile+0"]
    );
    assert_eq!(found(meet), NOTHING);
    // To arrive without waiting is enough for who reads, not for who exits.
    assert_eq!(
        found(
            "@!%p barrier.cluster.arrive; @!%p bra OUT; barrier.cluster.arrive;\n\
                      barrier.cluster.wait; OUT:"
        ),
        NOTHING
    );
    assert_eq!(found("barrier.cluster.arrive;").len(), 1);
}
