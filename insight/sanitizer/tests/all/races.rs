//! Races in shared memory: planted ones are found with both parties, and what orders them silences
//! them.

use crate::common::{Shape, found, found_in, kernel};

#[test]
fn a_missing_barrier_is_a_read_after_write_by_another_warp() {
    let store = "st.shared.u32 [%r15], %t;\n";
    let load = "xor.b32 %r1, %t, 32; shl.b32 %r1, %r1, 2; add.u32 %r1, %r1, %r14;\n\
                ld.shared.u32 %r2, [%r1]; st.global.u32 [%at], %r2; ret;";
    let other = "read-after-write Warps x32: thread 32 line 10, thread 0 line 8, 4 Shared tile+0";
    // Warp 0 reads what warp 1 has not written yet, which shows as a write after the read.
    let first = "write-after-read Warps x32: thread 32 line 8, thread 0 line 10, 4 Shared tile+128";
    let uninitialised = "uninitialised-read x32: thread 0 line 10, 4 Shared tile+128";
    assert_eq!(found(&format!("{store}{load}"), 64), [first, other, uninitialised]);
    assert_eq!(found(&format!("{store}bar.sync 0; {load}"), 64), [""; 0]);
    // A barrier of one warp, or of other threads, does not order them.
    assert_eq!(found(&format!("{store}bar.warp.sync 0xffffffff; {load}"), 64).len(), 3);
}

#[test]
fn a_buffer_that_is_filled_again_too_early_is_a_write_after_read() {
    // The classic of a loop with one barrier.
    let body = "mov.u32 %r1, 0; xor.b32 %r3, %t, 32; shl.b32 %r3, %r3, 2; add.u32 %r3, %r3, %r14;\n\
         LOOP: st.shared.u32 [%r15], %t;\n bar.sync 0;\n ld.shared.u32 %r2, [%r3];\nEND\n\
         add.u32 %r1, %r1, 1; setp.lt.u32 %p, %r1, 2; @%p bra LOOP; ret;";
    assert_eq!(
        found(&body.replace("END", ""), 64),
        [
            "write-after-read Warps x32: thread 32 line 9, thread 0 line 11, 4 Shared tile+128",
            "read-after-write Warps x32: thread 32 line 11, thread 0 line 9, 4 Shared tile+0",
        ]
    );
    assert_eq!(found(&body.replace("END", "bar.sync 0;"), 64), [""; 0]);
}

#[test]
fn writes_of_different_values_race_and_of_the_same_do_not() {
    let warps = "shr.u32 %r1, %t, 5;\nst.shared.u32 [tile], VALUE; ret;";
    assert_eq!(
        found(&warps.replace("VALUE", "%r1"), 64),
        ["write-after-write Warps x1: thread 32 line 9, thread 31 line 9, 4 Shared tile+0"]
    );
    assert_eq!(found(&warps.replace("VALUE", "7"), 64), [""; 0]);
    assert_eq!(
        found(&warps.replace("VALUE", "%t"), 2),
        ["write-after-write OneInstruction x1: thread 1 line 9, thread 0 line 9, 4 Shared tile+0"]
    );
}

#[test]
fn bytes_of_a_word_are_told_apart() {
    let body = "add.u32 %r1, %r14, %t;\nst.shared.u8 [%r1], %t;\nbar.sync 0;\n\
                setp.eq.u32 %p, %t, 33; @%p st.shared.u8 [tile+6], %t;\n\
                setp.eq.u32 %q, %t, 0;\n@%q ld.shared.ACCESS ret;";
    assert_eq!(found(&body.replace("ACCESS", "u8 %r2, [tile+7];"), 64), [""; 0]);
    assert_eq!(
        found(&body.replace("ACCESS", "u32 %r2, [tile+4];"), 64),
        ["write-after-read Warps x1: thread 33 line 11, thread 0 line 13, 1 Shared tile+6"]
    );
}

#[test]
fn lanes_need_a_warp_barrier_since_volta() {
    let body = "st.shared.u32 [%r15], %t;\nSYNC\nxor.b32 %r1, %r15, 4;\n\
                ld.shared.u32 %r2, [%r1]; st.global.u32 [%at], %r2; ret;";
    let hazard = "read-after-write Lanes x32: thread 0 line 11, thread 1 line 8, 4 Shared tile+4";
    assert_eq!(found(&body.replace("SYNC", ""), 32), [hazard]);
    assert_eq!(found(&body.replace("SYNC", "bar.warp.sync 0xffffffff;"), 32), [""; 0]);
    // A vote is no barrier for memory, and a barrier of other lanes none for these.
    let vote = "setp.eq.u32 %p, %t, 0; vote.sync.any.pred %q, %p, 0xffffffff;";
    assert_eq!(found(&body.replace("SYNC", vote), 32), [hazard]);
    let half = "setp.lt.u32 %p, %t, 16; @%p bar.warp.sync 0xffff;";
    assert_eq!(
        found(&body.replace("SYNC", half), 32),
        ["read-after-write Lanes x16: thread 16 line 11, thread 17 line 8, 4 Shared tile+68"]
    );
    // Before compute capability 7.0 the lanes of a warp run in step.
    let old = kernel(&body.replace("SYNC", "")).replace("sm_90", "sm_60");
    assert_eq!(found_in(&old, &Shape::new(32)), [""; 0]);
}

#[test]
fn a_producer_that_arrives_and_a_consumer_that_waits_are_ordered() {
    // Warp 0 produces for warp 1; warp 2 reads without being asked to wait.
    let body = "shr.u32 %r1, %t, 5; setp.eq.u32 %p, %r1, 0; setp.eq.u32 %q, %r1, 1;\n\
         @%q bra CONSUME; @!%p bra END;\nst.shared.u32 [%r15], %t;\nARRIVE bra END;\n\
         CONSUME: bar.sync 1, 64;\nld.shared.u32 %r2, [%r15+-128];\nEND: ret;";
    assert_eq!(found(&body.replace("ARRIVE", "bar.arrive 1, 64;"), 64), [""; 0]);
    let wrong = body.replace(
        "st.shared.u32 [%r15], %t;\nARRIVE",
        "bar.arrive 1, 64;\nst.shared.u32 [%r15], %t;",
    );
    let found = found(&wrong, 64);
    assert_eq!(
        found[0],
        "read-after-write Warps x32: thread 32 line 13, thread 0 line 11, 4 Shared tile+0"
    );
}

#[test]
fn atomics_do_not_race_with_each_other_but_with_plain_accesses() {
    let body = "setp.eq.u32 %p, %t, 0; @%p st.shared.u32 [tile], 0;\nBARRIER\n\
                atom.shared.add.u32 %r1, [tile], 1;\n ret;";
    assert_eq!(found(&body.replace("BARRIER", "bar.sync 0;"), 64), [""; 0]);
    assert_eq!(
        found(&body.replace("BARRIER", ""), 64),
        [
            "write-after-write Lanes x31: thread 1 line 10, thread 0 line 8, 4 Shared tile+0",
            "write-after-write Warps x32: thread 32 line 10, thread 0 line 8, 4 Shared tile+0",
        ]
    );
}

#[test]
fn a_lock_orders_what_it_guards_if_it_fences() {
    // Thread 0 and thread 32 add to a counter under a lock.
    let body = "and.b32 %r1, %t, 31; setp.ne.u32 %p, %r1, 0; setp.eq.u32 %q, %t, 0;\n\
         @%q st.shared.u64 [tile], 0; bar.sync 0; @%p bra END;\n\
         LOCK: atom.shared.cas.b32 %r2, [tile], 0, 1; setp.ne.u32 %q, %r2, 0; @%q bra LOCK;\n\
         FENCE\nld.shared.u32 %r3, [tile+4]; add.u32 %r3, %r3, 1;\nst.shared.u32 [tile+4], %r3;\n\
         FENCE\natom.shared.exch.b32 %r2, [tile], 0;\nEND: ret;";
    assert_eq!(found(&body.replace("FENCE", "membar.cta;"), 64), [""; 0]);
    let without = found(&body.replace("FENCE", ""), 64);
    assert_eq!(
        without[0],
        "read-after-write Warps x1: thread 32 line 12, thread 0 line 13, 4 Shared tile+4"
    );
}

#[test]
fn a_copy_must_be_waited_for_before_the_barrier() {
    let body = "cp.async.ca.shared.global [%r15], [%at], 4;\nWAIT\n\
         xor.b32 %r1, %t, 32; shl.b32 %r1, %r1, 2; add.u32 %r1, %r1, %r14;\n\
         ld.shared.u32 %r2, [%r1]; cp.async.wait_all; st.global.u32 [%at], %r2; ret;";
    let with = |wait: &str| found(&body.replace("WAIT", wait), 64);
    assert_eq!(with("cp.async.wait_all; bar.sync 0;"), [""; 0]);
    assert_eq!(with("cp.async.commit_group; cp.async.wait_group 0; bar.sync 0;"), [""; 0]);
    let pending = "read-after-write PendingCopy x";
    for wrong in [
        "bar.sync 0;",
        "cp.async.commit_group; cp.async.wait_group 1; bar.sync 0;",
        "cp.async.wait_group 0; bar.sync 0;",
    ] {
        let found = with(wrong);
        assert!(found.iter().any(|line| line.starts_with(pending)), "{wrong}: {found:?}");
    }
    // The barrier before the wait: warp 1 reads what warp 0 has waited for, and others have not.
    let found = with("bar.sync 0; cp.async.wait_all;");
    assert!(found.iter().any(|line| line.starts_with("read-after-write Warps")), "{found:?}");
    // A thread's own copy needs a wait as well.
    let own = "cp.async.ca.shared.global [%r15], [%at], 4;\nld.shared.u32 %r2, [%r15]; ret;";
    assert_eq!(
        self::found(own, 1),
        [
            "read-after-write PendingCopy x1: thread 0 line 9, thread 0 line 8, 4 Shared tile+0",
            "uninitialised-read x1: thread 0 line 9, 4 Shared tile+0",
        ]
    );
}

#[test]
fn an_mbarrier_orders_those_who_arrive_before_those_who_wait() {
    // Warp 0 writes and arrives, all lanes or only the first; warp 1 waits and reads.
    let body = "setp.ne.u32 %p, %t, 0; @%p bra READY;\nmbarrier.init.shared.b64 [bar], COUNT;\n\
         READY: bar.sync 0; setp.ge.u32 %p, %t, 32; @%p bra WAIT;\n\
         st.shared.u32 [%r15], %t;\nGUARD mbarrier.arrive.shared.b64 %d0, [bar]; bra END;\n\
         WAIT: mbarrier.try_wait.parity.shared.b64 %q, [bar], 0; @!%q bra WAIT;\n\
         ld.shared.u32 %r2, [%r15+-128];\nEND: ret;";
    let all = body.replace("GUARD", "").replace("COUNT", "32");
    assert_eq!(found(&all, 64), [""; 0]);
    let first = "setp.eq.u32 %p, %t, 0; @%p";
    let one = body.replace("GUARD", first).replace("COUNT", "1");
    assert_eq!(
        found(&one, 64),
        ["read-after-write Warps x31: thread 33 line 14, thread 1 line 11, 4 Shared tile+4"],
        "an arrival publishes what its own thread did"
    );
    let synced =
        one.replace("setp.eq.u32 %p, %t, 0;", "bar.warp.sync 0xffffffff; setp.eq.u32 %p, %t, 0;");
    assert_eq!(found(&synced, 64), [""; 0]);
}

#[test]
fn a_bulk_copy_is_seen_by_who_waits_for_its_mbarrier() {
    let body = "setp.ne.u32 %p, %t, 0; @%p bra READY;\nmbarrier.init.shared.b64 [bar], 1;\n\
         mbarrier.arrive.expect_tx.shared.b64 %d0, [bar], 128;\n\
         cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%out], 128, [bar];\n\
         READY: bar.sync 0;\n\
         WAIT: mbarrier.try_wait.parity.shared.b64 %q, [bar], 0; @!%q bra WAIT;\n\
         ld.shared.u32 %r2, [%r15]; ret;";
    assert_eq!(found(body, 32), [""; 0]);
    let impatient = body.replace("@!%q bra WAIT;", "").replace("WAIT: mbarrier", "// mbarrier");
    assert_eq!(
        found(&impatient, 32),
        ["read-after-write BulkCopy x32: thread 0 line 14, thread 0 line 11, 4 Shared tile+0"]
    );
}

#[test]
fn blocks_of_a_cluster_need_its_barrier() {
    // Each block reads a word of the other's memory.
    let body = "st.shared.u32 [%r15], %t;\nBARRIER\n\
         mov.u32 %r1, %cluster_ctarank; xor.b32 %r1, %r1, 1; mapa.shared::cluster.u32 %r2, %r15, %r1;\n\
         ld.shared::cluster.u32 %r3, [%r2];\n\
         barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; ret;";
    let shape = Shape { grid: 2, cluster: Some([2, 1, 1]), ..Shape::new(32) };
    let meet = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;";
    assert_eq!(found_in(&kernel(&body.replace("BARRIER", meet)), &shape), [""; 0]);
    let found = found_in(&kernel(&body.replace("BARRIER", "bar.sync 0;")), &shape);
    assert_eq!(
        found,
        ["read-after-write Ctas x64: thread 0 line 11, cta 1 thread 0 line 8, 4 Shared tile+0"]
    );
}

/// Block 1 copies to block 0, which waits, and exits before the copy ends.
#[test]
fn a_copy_of_a_block_that_has_exited_tells_those_who_wait_for_it() {
    let body = "st.shared.u32 [%r15], %t; setp.ne.u32 %p, %t, 0; mov.u32 %r1, bar;\n\
         @!%p mbarrier.init.shared::cta.b64 [bar], 1;\n\
         fence.proxy.async; barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n\
         mov.u32 %r2, %cluster_ctarank; setp.eq.u32 %q, %r2, 0; @%q bra OWNER;\n\
         @%p bra DONE; mov.u32 %r3, 0; mapa.shared::cluster.u32 %r4, %r14, %r3;\n\
         mapa.shared::cluster.u32 %r5, %r1, %r3; add.u32 %r4, %r4, 256;\n\
         cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r4], [tile], 128, [%r5];\n\
         DONE: ret;\n\
         OWNER: @!%p mbarrier.arrive.expect_tx.shared::cta.b64 %d1, [bar], 128;\n\
         WAIT: WAITING ld.shared.u32 %r6, [%r15+256]; ret;";
    let shape = Shape { grid: 2, cluster: Some([2, 1, 1]), ..Shape::new(32) };
    let races = |waiting: &str| found_in(&kernel(&body.replace("WAITING", waiting)), &shape);
    let wait = "mbarrier.try_wait.parity.shared::cta.b64 %q, [bar], 0; @!%q bra WAIT;";
    assert_eq!(races(wait), [""; 0]);
    assert_ne!(races(""), [""; 0], "nobody waits");
}

#[test]
fn what_a_bulk_copy_reads_may_be_overwritten_when_its_group_was_waited_for() {
    let body = "st.shared.u32 [%r15], %t; fence.proxy.async; bar.sync 0;\n\
         setp.ne.u32 %p, %t, 0; @%p bra GO;\n\
         cp.async.bulk.global.shared::cta.bulk_group [%out], [tile], 128;\n\
         COMMIT\n cp.async.bulk.wait_group.read LEFT;\nGO: SYNC\nst.shared.u32 [%r15], 7; ret;";
    let text = |commit: &str, left: &str, sync: &str| {
        body.replace("COMMIT", commit).replace("LEFT", left).replace("SYNC", sync)
    };
    let commit = "cp.async.bulk.commit_group;";
    assert_eq!(found(&text(commit, "0", "bar.sync 0;"), 64), [""; 0]);
    let pending =
        ["write-after-read PendingRead x32: thread 0 line 14, thread 0 line 10, 4 Shared tile+0"];
    // The latest group may be left; what is in no group is not waited for.
    assert_eq!(found(&text(commit, "1", "bar.sync 0;"), 64), pending);
    assert_eq!(found(&text("", "0", "bar.sync 0;"), 64), pending);
    // Waiting orders the thread itself only, not even the lanes of its warp.
    assert_eq!(
        found(&text(commit, "0", ""), 64),
        ["write-after-read Lanes x31: thread 1 line 14, thread 0 line 10, 4 Shared tile+4"]
    );
}

/// A kernel of 128 threads that fill `tile` with zeros, multiply by it as a warpgroup, and
/// overwrite it.
fn warpgroup(before: &str, after: &str) -> String {
    // No swizzle; blocks of eight rows are 128 bytes apart along K and 256 along N.
    kernel(&format!(
        ".reg .b64 %b; .reg .b32 %sum<8>, %zero; mov.b32 %zero, 0; shl.b32 %r1, %t, 3; add.u32 %r15, %r1, %r14;\n\
         st.shared.v2.b32 [%r15], {{%zero, %zero}}; fence.proxy.async; {before}\n\
         shr.b32 %r14, %r14, 4; cvt.u64.u32 %b, %r14; or.b64 %b, %b, 0x0000001000080000;\n\
         setp.eq.u32 %p, 0, 1; wgmma.fence.sync.aligned;\n\
         wgmma.mma_async.sync.aligned.m64n32k16.f16.f16.f16 \
         {{%sum0, %sum1, %sum2, %sum3, %sum4, %sum5, %sum6, %sum7}}, {{%zero, %zero, %zero, %zero}}, %b, %p, 1, 1, 0;\n\
         {after}\nst.shared.v2.b32 [%r15], {{%t, %t}}; ret;"
    ))
    .replace(".target sm_90", ".target sm_90a")
}

#[test]
fn what_a_warpgroup_multiplies_may_be_overwritten_when_its_group_was_waited_for() {
    let shape = Shape::new(128);
    let found = |before: &str, after: &str| found_in(&warpgroup(before, after), &shape);
    let commit = "wgmma.commit_group.sync.aligned;";
    let wait = format!("{commit} wgmma.wait_group.sync.aligned 0; bar.sync 0;");
    assert_eq!(found("bar.sync 0;", &wait), [""; 0]);
    // Each warp knows from its own wait that the other warps' rows are done, too.
    let own_wait = format!("{commit} wgmma.wait_group.sync.aligned 0;");
    assert_eq!(found("bar.sync 0;", &own_wait), [""; 0]);
    let impatient = format!("{commit} bar.sync 0;");
    assert_eq!(
        found("bar.sync 0;", &impatient),
        ["write-after-read PendingRead x128: thread 0 line 14, thread 0 line 12, 8 Shared tile+0"]
    );
    // Each warp reads what the others have filled.
    let early = found("", &wait);
    assert!(early.iter().any(|line| line.starts_with("read-after-write Warps")), "{early:?}");
}
