//! Barriers and masks that do not fit the threads that use them.

mod common;

use common::found;

#[test]
fn threads_that_exit_before_a_barrier_of_all_are_named() {
    let body = "setp.ge.u32 %p, %tid, 40;\n@%p exit;\nbar.sync 0; ret;";
    assert_eq!(found(body, 64), ["exited-before-barrier x1: thread 0 line 10, thread 40 line 9"]);
    assert_eq!(found(&body.replace("@%p exit;", ""), 64), [""; 0]);
    // A barrier for as many threads as come does not miss the others.
    let counted = body.replace("40", "32").replace("bar.sync 0", "bar.sync 0, 32");
    assert_eq!(found(&counted, 64), [""; 0]);
}

#[test]
fn a_barrier_in_divergent_code_is_found() {
    let body =
        "setp.lt.u32 %p, %tid, 16; @%p bra LOW;\nbar.sync 0; bra END;\nLOW: bar.sync 0;\nEND: ret;";
    assert_eq!(
        found(body, 32),
        ["divergent-barrier x1: thread 0 line 10, divergent barrier: threads of one warp wait at \
             different barrier instructions"]
    );
    // The halves of two warps make up the 32 threads of a barrier; the others go elsewhere.
    let counted = "and.b32 %r1, %tid, 31; setp.lt.u32 %p, %r1, 16; @!%p bra LATER;\n\
                   bar.sync 1, 32;\nLATER: bar.sync 0; ret;";
    assert_eq!(found(counted, 64), ["divergent-barrier x2: thread 0 line 9, thread 16"]);
}

#[test]
fn who_synchronises_must_be_in_the_mask() {
    let body = "mov.u32 %r1, 0xffff;\nbar.warp.sync %r1; ret;";
    assert_eq!(found(body, 32), ["not-in-mask x16: thread 16 line 9, the mask is 0x0000ffff"]);
    let shuffle = "shfl.sync.idx.b32 %r1, %tid, 0, 31, 0xfffffffe;\nret;";
    assert_eq!(found(shuffle, 32), ["not-in-mask x1: thread 0 line 8, the mask is 0xfffffffe"]);
}

#[test]
fn deadlocks_and_broken_mbarriers_are_findings() {
    let warp = "setp.eq.u32 %p, %tid, 0; @%p bra WAIT;\nbar.warp.sync 0xffffffff;\n\
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
