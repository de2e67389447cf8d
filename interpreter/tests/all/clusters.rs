//! Clusters: shapes, the barrier, distributed shared memory, and what goes wrong with them.
//!
//! Every launch runs with one and with two threads and must not differ.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests are not inside the test functions that the lints spare"
)]

use gpucast_interpreter::{LaunchError, RunError};

use crate::common::{Shape, kernel, launch, words};

fn shape(grid: [u32; 3], cluster: [u32; 3], threads: u32, words: usize) -> Shape {
    Shape { grid, cluster: Some(cluster), ..Shape::new(1, threads, words) }
}

#[test]
fn special_registers_tell_the_place_in_cluster_and_grid() {
    // Each CTA writes its registers to a place that follows from %ctaid alone.
    let names = [
        "%clusterid.x",
        "%clusterid.y",
        "%clusterid.z",
        "%nclusterid.x",
        "%nclusterid.y",
        "%nclusterid.z",
        "%cluster_ctaid.x",
        "%cluster_ctaid.y",
        "%cluster_ctaid.z",
        "%cluster_nctaid.x",
        "%cluster_nctaid.y",
        "%cluster_nctaid.z",
        "%cluster_ctarank",
        "%cluster_nctarank",
    ];
    for (grid, cluster) in [
        ([8, 1, 1], [4, 1, 1]),
        ([4, 6, 2], [2, 3, 1]),
        ([2, 4, 4], [1, 2, 4]),
        ([6, 5, 1], [1, 1, 1]),
    ] {
        let mut body = "mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ctaid.y; mov.u32 %r2, %ctaid.z;\n\
             mov.u32 %r3, %nctaid.x; mov.u32 %r4, %nctaid.y; mad.lo.u32 %r5, %r2, %r4, %r1;\n\
             mad.lo.u32 %r5, %r5, %r3, %r0; mad.wide.u32 %at, %r5, 60, %out;\n"
            .to_owned();
        for (index, name) in names.iter().enumerate() {
            body += &format!("mov.u32 %r6, {name}; st.global.u32 [%at+{}], %r6;\n", index * 4);
        }
        body += "mov.pred %p, %is_explicit_cluster; selp.u32 %r6, 1, 0, %p;\n\
                 st.global.u32 [%at+56], %r6; ret;";
        let ctas = grid.iter().product::<u32>() as usize;
        let got = words(&body, &shape(grid, cluster, 1, ctas * 15));
        for z in 0..grid[2] {
            for y in 0..grid[1] {
                for x in 0..grid[0] {
                    let cta = [x, y, z];
                    let id: Vec<u32> = (0..3).map(|a| cta[a] / cluster[a]).collect();
                    let clusters: Vec<u32> = (0..3).map(|a| grid[a] / cluster[a]).collect();
                    let within: Vec<u32> = (0..3).map(|a| cta[a] % cluster[a]).collect();
                    let rank = (within[2] * cluster[1] + within[1]) * cluster[0] + within[0];
                    let mut wanted = [id, clusters, within, cluster.to_vec()].concat();
                    wanted.extend([rank, cluster.iter().product(), 1]);
                    let at = ((z * grid[1] + y) * grid[0] + x) as usize * 15;
                    assert_eq!(got[at..at + 15], wanted, "{cta:?} of {grid:?}/{cluster:?}");
                }
            }
        }
    }
    let plain = "mov.pred %p, %is_explicit_cluster; selp.u32 %r6, 1, 2, %p;\n\
                 st.global.u32 [%at], %r6; ret;";
    assert_eq!(words(plain, &Shape::new(1, 1, 1)), [2]);
}

/// Each CTA adds its number to a word of every CTA of its cluster.
const ALL_TO_ALL: &str = ".shared .align 4 .b32 sum; mov.u32 %r9, 0; st.shared.u32 [sum], %r9;\n\
     mov.u32 %r1, %cluster_nctarank; mov.u32 %r2, %ctaid.x; mov.u32 %r3, sum;\n\
     barrier.cluster.arrive; barrier.cluster.wait;\n\
     setp.ge.u32 %p, %tid, %r1; @%p bra MET;\n\
     mapa.shared::cluster.u32 %r4, %r3, %tid; add.u32 %r5, %r2, 1;\n\
     atom.shared::cluster.add.u32 %r6, [%r4], %r5;\n\
     cvt.u64.u32 %d0, %r3; cvta.shared::cluster.u64 %d0, %d0; mapa.u64 %d0, %d0, %tid; red.add.u32 [%d0], 1000;\n\
     MET: barrier.cluster.arrive; barrier.cluster.wait;\n\
     setp.ne.u32 %p, %tid, 0; @%p ret;\n\
     mad.wide.u32 %at, %r2, 4, %out; ld.shared.u32 %r5, [sum]; st.global.u32 [%at], %r5; ret;";

#[test]
fn atomics_reach_every_cta_of_the_cluster_and_no_other() {
    for (ctas, size, threads) in [(16, 2, 40), (48, 16, 33), (12, 3, 128), (5, 1, 1), (160, 8, 32)]
    {
        let wanted: Vec<u32> = (0..ctas)
            .map(|cta| {
                let first = cta / size * size;
                (first..first + size).map(|other| other + 1 + 1000).sum()
            })
            .collect();
        let shape = shape([ctas, 1, 1], [size, 1, 1], threads, ctas as usize);
        assert_eq!(words(ALL_TO_ALL, &shape), wanted, "{ctas} in clusters of {size}");
    }
}

#[test]
fn one_cta_waits_for_the_mbarrier_that_another_one_signals() {
    // Rank 1 fills rank 0's box and arrives at rank 0's mbarrier, several times.
    let body = ".shared .align 8 .b64 bar[2]; .shared .align 4 .b32 box[32];\n\
         mov.u32 %r0, %cluster_ctarank; mov.u32 %r1, bar; mov.u32 %r2, box; mov.u32 %r3, 0;\n\
         mov.u32 %r5, 0; mov.u32 %r4, 0;\n\
         setp.ne.u32 %p, %tid, 0; @%p bra READY;\n\
         mbarrier.init.shared::cta.b64 [bar], 32; mbarrier.init.shared::cta.b64 [bar+8], 32;\n\
         fence.mbarrier_init.release.cluster;\n\
         READY: barrier.cluster.arrive.release; barrier.cluster.wait.acquire;\n\
         xor.b32 %r6, %r0, 1; mapa.shared::cluster.u32 %r7, %r1, %r6;\n\
         mad.lo.u32 %r2, %tid, 4, %r2; mapa.shared::cluster.u32 %r8, %r2, %r6;\n\
         setp.ne.u32 %p, %r0, 0; @%p bra SEND;\n\
         TAKE: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %q, [bar], %r4;\n\
         @!%q bra TAKE; ld.shared.u32 %r9, [%r2]; mad.lo.u32 %r5, %r5, 3, %r9;\n\
         mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r7+8]; xor.b32 %r4, %r4, 1;\n\
         add.u32 %r3, %r3, 1; setp.lt.u32 %p, %r3, 20; @%p bra TAKE;\n\
         st.global.u32 [%at], %r5; bra OUT;\n\
         SEND: mad.lo.u32 %r9, %r3, 7, %tid; st.shared::cluster.u32 [%r8], %r9;\n\
         mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r7];\n\
         GONE: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %q, [bar+8], %r4;\n\
         @!%q bra GONE; xor.b32 %r4, %r4, 1;\n\
         add.u32 %r3, %r3, 1; setp.lt.u32 %p, %r3, 20; @%p bra SEND;\n\
         OUT: barrier.cluster.arrive; barrier.cluster.wait; ret;";
    let wanted: Vec<u32> = (0..32)
        .map(|lane| (0..20).fold(0u32, |sum, i| sum.wrapping_mul(3).wrapping_add(i * 7 + lane)))
        .collect();
    assert_eq!(words(body, &shape([4, 1, 1], [2, 1, 1], 32, 32)), wanted);
}

/// As [`kernel`], for the target that has multicast mbarrier operations.
fn multicast_kernel(body: &str) -> String {
    kernel(body).replace(".version 8.8\n.target sm_100\n", ".version 9.4\n.target sm_107f\n")
}

#[test]
fn a_multicast_reaches_the_mbarriers_of_the_named_ranks_alone() {
    // Every CTA has an object that waits for 4 arrivals and no bytes. Thread 0 of rank 0 names
    // ranks in masks: rank 0 gets one arrival, rank 1 three (of which one drops out), rank 2 four,
    // and rank 3 four and eight bytes more than are completed.
    let body = ".shared .align 8 .b64 pad[3]; .shared .align 8 .b64 bar;\n\
         mov.u32 %r0, %cluster_ctarank; mov.u32 %r1, bar; mov.u32 %r2, %ctaid.x;\n\
         cvta.shared.u64 %d0, bar; mad.wide.u32 %at, %r2, 8, %out;\n\
         mbarrier.init.shared::cta.b64 [bar], 4; fence.mbarrier_init.release.cluster;\n\
         barrier.cluster.arrive; barrier.cluster.wait;\n\
         setp.ne.u32 %p, %r0, 0; @%p bra LOOK;\n\
         mbarrier.arrive.release.cluster.shared::cluster.multicast::cluster::32b.b64 _, [%r1], 0xf;\n\
         mbarrier.arrive.multicast::cluster::32b.b64 _, [%d0], 1, 0xe;\n\
         mbarrier.expect_tx.relaxed.cluster.shared::cluster.multicast::cluster::32b.b64 [%r1], 24, 0xc;\n\
         mbarrier.arrive.expect_tx.release.cluster.shared::cluster.multicast::cluster::32b.b64 \
         _, [%r1], 8, 0xc;\n\
         mbarrier.complete_tx.relaxed.cluster.shared::cluster.multicast::cluster::32b.b64 [%r1], 24, 12;\n\
         mov.u32 %r5, 4; mbarrier.complete_tx.multicast::cluster::32b.b64 [%d0], 8, %r5;\n\
         mbarrier.arrive_drop.release.cluster.shared::cluster.multicast::cluster::32b.b64 \
         _, [%r1], 1, 0xe;\n\
         LOOK: barrier.cluster.arrive; barrier.cluster.wait;\n\
         mbarrier.test_wait.parity.shared::cta.b64 %p, [bar], 0; selp.u32 %r3, 1, 0, %p;\n\
         st.global.u32 [%at], %r3;\n\
         setp.ne.u32 %p, %r0, 1; @%p bra DONE;\n\
         mbarrier.arrive.shared::cta.b64 _, [bar];\n\
         mbarrier.test_wait.parity.shared::cta.b64 %p, [bar], 0; selp.u32 %r3, 1, 0, %p;\n\
         st.global.u32 [%at+4], %r3;\n\
         DONE: ret;";
    let got = launch(&multicast_kernel(body), &shape([8, 1, 1], [4, 1, 1], 1, 16)).unwrap().0;
    assert_eq!(got, [0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0]);
}

#[test]
fn a_multicast_to_a_rank_that_the_cluster_lacks_is_a_fault() {
    let body = "mov.u32 %r4, 4;\n\
         .shared .align 8 .b64 bar; mov.u32 %r1, bar; mbarrier.init.shared::cta.b64 [bar], 1;\n\
         mbarrier.arrive.release.cluster.shared::cluster.multicast::cluster::32b.b64 _, [%r1], %r4;\n\
         ret;";
    match launch(&multicast_kernel(body), &shape([2, 1, 1], [2, 1, 1], 1, 2)) {
        Err(RunError::Fault(fault)) => {
            assert!(fault.to_string().starts_with("out-of-bounds"), "{fault}");
        }
        other => panic!("no fault but {other:?}"),
    }
}

/// The sentence of the fault of a body in one cluster of two CTAs of 32 threads.
fn fault(body: &str) -> String {
    match launch(&kernel(body), &shape([2, 1, 1], [2, 1, 1], 32, 64)) {
        Err(RunError::Fault(fault)) => fault.to_string(),
        other => panic!("no fault but {other:?}\n{body}"),
    }
}

const OTHER: &str = ".shared .align 8 .b64 box[4]; mov.u32 %r0, %cluster_ctarank;\n\
     xor.b32 %r1, %r0, 1; mov.u32 %r2, box; mapa.shared::cluster.u32 %r3, %r2, %r1;\n";
const MEET: &str = "barrier.cluster.arrive; barrier.cluster.wait;\n";

#[test]
fn memory_of_a_cta_that_has_exited_is_gone() {
    // Rank 1 leaves while rank 0 still reads from it.
    let body = format!(
        "{OTHER}{MEET}setp.eq.u32 %p, %r0, 1; @%p ret; mov.u32 %r4, 0;\n\
         LOOP: add.u32 %r4, %r4, 1; setp.lt.u32 %p, %r4, 100000; @%p bra LOOP;\n\
         ld.shared::cluster.u32 %r5, [%r3]; ret;"
    );
    assert_eq!(
        fault(&body),
        "shared address 0x1000000 belongs to the CTA with rank 1 of the cluster, which has exited \
         (kernel k, CTA 0,0,0, thread 0,0,0)"
    );
}

#[test]
fn accesses_beyond_the_memory_of_another_cta_are_faults() {
    for (rank, offset, address) in [("%r1", 32, 0x100_0020), ("%r6", 0, 0x200_0000)] {
        let body = format!(
            "{OTHER}mov.u32 %r6, 2; mapa.shared::cluster.u32 %r3, %r2, {rank};\n{MEET}\
             ld.shared::cluster.u32 %r5, [%r3+{offset}];\n{MEET}ret;"
        );
        let said = fault(&body);
        let wanted = format!("out-of-bounds load of 4 bytes at shared address {address:#x}");
        assert!(said.starts_with(&wanted), "{said}");
    }
    // A rank that no cluster has does not come round to the CTA itself.
    let body = format!(
        "{OTHER}mov.u32 %r6, 255; mapa.shared::cluster.u32 %r3, %r2, %r6;\n\
         ld.shared::cluster.u32 %r5, [%r3]; ret;"
    );
    assert!(fault(&body).starts_with("out-of-bounds load"));
}

#[test]
fn the_barrier_of_the_cluster_is_used_in_turns() {
    assert_eq!(
        fault("barrier.cluster.arrive; barrier.cluster.arrive; ret;"),
        "the thread arrives at the cluster's barrier again without having waited there (kernel k, \
         CTA 0,0,0, thread 0,0,0)"
    );
    assert_eq!(
        fault("setp.eq.u32 %p, %tid, 3; @%p barrier.cluster.wait; ret;"),
        "the thread waits at the cluster's barrier without having arrived there (kernel k, CTA \
         0,0,0, thread 3,0,0)"
    );
    let divergent = fault(
        "setp.ne.u32 %p, %tid, 3; @%p bra B;\n\
         barrier.cluster.arrive; barrier.cluster.wait.aligned; ret;\n\
         B: barrier.cluster.arrive; barrier.cluster.wait; ret;",
    );
    assert!(divergent.starts_with("divergent barrier: threads of one warp wait"), "{divergent}");
}

#[test]
fn threads_that_have_left_are_not_waited_for_and_others_are() {
    // Half of the threads leave at once, the others meet three times.
    let body = format!(
        "and.b32 %r0, %tid, 1; setp.eq.u32 %p, %r0, 0; @%p ret;\n{MEET}{MEET}{MEET}\
         mov.u32 %r1, 6; st.global.u32 [%at], %r1; ret;"
    );
    let got = words(&body, &shape([2, 1, 1], [2, 1, 1], 32, 32));
    assert!(got.iter().enumerate().all(|(i, &word)| i % 2 == 0 || word == 6));
    // Arriving long before waiting is what the two halves are for.
    let body = format!(
        "barrier.cluster.arrive; mov.u32 %r0, 0;\n\
         LOOP: add.u32 %r0, %r0, 1; setp.lt.u32 %p, %r0, 90000; @%p bra LOOP;\n\
         barrier.cluster.wait;\n{MEET}st.global.u32 [%at], %r0; ret;"
    );
    assert_eq!(words(&body, &shape([2, 1, 1], [2, 1, 1], 96, 96)), [90_000; 96]);
    // Rank 1 waits for an mbarrier, rank 0 for rank 1.
    let body = format!(
        "{OTHER}setp.eq.u32 %p, %r0, 0; @%p bra MEET;\n\
         setp.eq.u32 %p, %tid, 0; @%p mbarrier.init.shared.b64 [box], 1; bar.sync 0;\n\
         WAIT: mbarrier.try_wait.parity.shared.b64 %q, [box], 0; @!%q bra WAIT;\n\
         MEET: {MEET}ret;"
    );
    let said = fault(&body);
    assert!(said.starts_with("deadlock at the mbarrier at shared address 0x1000000"), "{said}");
    assert!(said.contains("CTA 1,0,0"), "{said}");
    // Rank 1 waits at a barrier of its own for threads that wait at the cluster's.
    let body = format!(
        "{OTHER}setp.eq.u32 %p, %r0, 0; @%p bra MEET; setp.lt.u32 %p, %tid, 9; @%p bra MEET;\n\
         barrier.sync 3; MEET: {MEET}ret;"
    );
    assert!(fault(&body).starts_with("deadlock at a barrier: 23 threads wait at barrier 3 for 32"));
}

#[test]
fn waiting_for_an_mbarrier_of_another_cta_is_refused() {
    for wrong in [
        "mbarrier.try_wait.parity.b64 %q, [%d0], 0;",
        "mbarrier.init.b64 [%d0], 1;",
        "mbarrier.inval.b64 [%d0];",
    ] {
        let body = format!(
            "{OTHER}mbarrier.init.shared.b64 [box], 32;\n{MEET} cvt.u64.u32 %d1, %r3; add.u64 %d0, %d1, 0x10000000;\n\
             {wrong}\n{MEET}ret;"
        );
        let said = fault(&body);
        let wanted = "the mbarrier object at shared address 0x1000000 belongs to another CTA";
        assert!(said.starts_with(wanted), "{wrong}: {said}");
    }
}

#[test]
fn impossible_clusters_are_refused_before_anything_runs() {
    let refused = |directives: &str, grid: [u32; 3], cluster: Option<[u32; 3]>| {
        let text =
            kernel("ret;").replace(".param .u64 out)", &format!(".param .u64 out){directives}"));
        let shape = Shape { grid, cluster, ..Shape::new(1, 1, 1) };
        match launch(&text, &shape) {
            Err(RunError::Launch(error)) => error,
            other => panic!("{directives}: {other:?}"),
        }
    };
    assert_eq!(
        refused("", [6, 1, 1], Some([4, 1, 1])),
        LaunchError::PartialCluster { grid: [6, 1, 1], cluster: [4, 1, 1] }
    );
    assert_eq!(
        refused(" .reqnctapercluster 2", [3, 1, 1], None).to_string(),
        "a grid of 3 x 1 x 1 blocks cannot be divided into clusters of 2 x 1 x 1"
    );
    assert_eq!(
        refused(" .reqnctapercluster 2, 2", [4, 4, 1], Some([4, 1, 1])).to_string(),
        "the kernel requires clusters of 2 x 2 x 1 blocks (.reqnctapercluster), not 4 x 1 x 1"
    );
    assert_eq!(refused(" .explicitcluster", [4, 1, 1], None), LaunchError::NoCluster);
    assert_eq!(
        refused(" .maxclusterrank 4", [8, 1, 1], Some([8, 1, 1])),
        LaunchError::ClusterSize { cluster: [8, 1, 1], ctas: 8, limit: 4 }
    );
    assert_eq!(
        refused("", [32, 1, 1], Some([32, 1, 1])),
        LaunchError::ClusterSize { cluster: [32, 1, 1], ctas: 32, limit: 16 }
    );
    assert!(matches!(refused("", [4, 1, 1], Some([4, 0, 1])), LaunchError::Extent { .. }));
}

/// The answer to one CTA's request reaches the shared memory and the mbarrier of each CTA.
#[test]
fn a_request_for_the_cluster_is_answered_to_all_its_ctas() {
    let text = ".version 8.8\n.target sm_100a\n.address_size 64\n\
        .visible .entry k(.param .u64 out) {\n\
        .shared .align 16 .b8 answer[16]; .shared .align 8 .b64 bar;\n\
        .reg .b32 %rank, %cta, %x; .reg .b64 %out, %at, %t; .reg .pred %p, %first;\n\
        ld.param.u64 %out, [out]; mov.u32 %rank, %cluster_ctarank; mov.u32 %cta, %ctaid.x;\n\
        mad.wide.u32 %at, %cta, 8, %out; setp.eq.u32 %first, %rank, 1;\n\
        mov.u32 %x, 7; st.shared.u32 [answer + 12], %x; mbarrier.init.shared::cta.b64 [bar], 1;\n\
        mbarrier.arrive.expect_tx.shared::cta.b64 %t, [bar], 16;\n\
        barrier.cluster.arrive; barrier.cluster.wait;\n\
        @%first clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all.b128 [answer], [bar];\n\
        wait: mbarrier.try_wait.shared::cta.b64 %p, [bar], %t; @!%p bra wait;\n\
        ld.shared.u32 %x, [answer + 12]; st.global.u32 [%at], %x; st.global.u32 [%at + 4], %rank;\n\
        barrier.cluster.arrive; barrier.cluster.wait; ret;\n}\n";
    let (got, ..) = launch(text, &shape([8, 1, 1], [4, 1, 1], 1, 16)).unwrap();
    assert_eq!(got, [0, 0, 0, 1, 0, 2, 0, 3, 0, 0, 0, 1, 0, 2, 0, 3]);
}
