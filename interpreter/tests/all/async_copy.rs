//! `cp.async`: pipelines, forgotten waits, events and faults.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests are not inside the test functions that the lints spare"
)]

use gpucast_interpreter::{
    AccessKind, Argument, DeviceMemory, FaultKind, Launch, Options, Program, RunError, run,
};
use gpucast_ptx_frontend::types::StateSpace;

use crate::common::log::{Accessed, logged};
use crate::common::{Shape, kernel, launch, module, words};

/// Sums tiles of `threads` words with `stages` tiles under way; every thread reads the words that
/// its neighbour has copied, so that waits and barriers both matter. `in` comes first in `out`.
fn pipeline(threads: u32, tiles: u32, stages: u32, left_open: u32) -> String {
    let bytes = threads * 4;
    let issue = |tile: &str, skip: &str| {
        format!(
            "rem.u32 %r1, {tile}, {stages}; mad.lo.u32 %r1, %r1, {bytes}, %r9;\n\
             mul.wide.u32 %d0, {tile}, {bytes}; add.u64 %d0, %d0, %d7;\n\
             setp.lt.u32 %p, {tile}, {tiles};\n\
             @%p cp.async.ca.shared.global [%r1], [%d0], 4;\n\
             cp.async.commit_group; {skip}\n"
        )
    };
    let mut prologue = String::new();
    for tile in 0..stages - 1 {
        prologue += &format!("mov.u32 %r8, {tile};\n{}", issue("%r8", ""));
    }
    module(&format!(
        ".visible .entry k(.param .u64 out) {{\n\
         .reg .b32 %tid, %r<16>; .reg .b64 %out, %d<8>; .reg .pred %p, %q;\n\
         .shared .align 16 .b8 ring[{}];\n\
         ld.param.u64 %out, [out]; mov.u32 %tid, %tid.x;\n\
         mov.u32 %r10, ring; mad.lo.u32 %r9, %tid, 4, %r10; mad.wide.u32 %d7, %tid, 4, %out;\n\
         xor.b32 %r2, %tid, 1; mad.lo.u32 %r11, %r2, 4, %r10;\n\
         mov.u32 %r3, 0; mov.u32 %r4, 0;\n\
         {prologue}\
         LOOP: cp.async.wait_group {}; bar.sync 0;\n\
         rem.u32 %r5, %r4, {stages}; mad.lo.u32 %r5, %r5, {bytes}, %r11;\n\
         ld.shared.u32 %r6, [%r5]; add.u32 %r3, %r3, %r6; bar.sync 0;\n\
         add.u32 %r8, %r4, {};\n{}\
         add.u32 %r4, %r4, 1; setp.lt.u32 %q, %r4, {tiles}; @%q bra LOOP;\n\
         st.global.u32 [%d7], %r3; ret; }}\n",
        stages * bytes,
        left_open,
        stages - 1,
        issue("%r8", ""),
    ))
}

/// The sums that [`pipeline`] leaves, or the fault.
fn run_pipeline(text: &str, threads: u32, tiles: u32) -> Result<(Vec<u32>, Vec<u32>), RunError> {
    let module = gpucast_ptx_frontend::load(text).unwrap();
    let program = Program::new(&module, text, "k").unwrap_or_else(|error| panic!("{error}"));
    let mut results = Vec::new();
    let count = (threads * tiles) as usize;
    let input: Vec<u32> = (0..count as u32).map(|i| i.wrapping_mul(2_654_435_761) >> 7).collect();
    for cpu_threads in [1, 2] {
        let mut memory = DeviceMemory::new();
        let address = memory.allocate("out", count as u64 * 4).unwrap();
        let bytes: Vec<u8> = input.iter().flat_map(|word| word.to_le_bytes()).collect();
        memory.bytes_mut("out").unwrap().copy_from_slice(&bytes);
        let launch = Launch {
            grid: [1; 3],
            block: [threads, 1, 1],
            cluster: None,
            dynamic_shared_bytes: 0,
            arguments: vec![Argument::Address(address)],
        };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(cpu_threads).build().unwrap();
        let options = Options::default();
        let mut count = crate::common::Count::default();
        pool.install(|| {
            run(&program, &launch, &mut memory, &mut count, &options, &gpucast_interpreter::Silent)
        })?;
        let words = memory.bytes("out").unwrap().chunks_exact(4);
        let words = words.map(|word| u32::from_le_bytes(word.try_into().unwrap()));
        results.push((words.take(threads as usize).collect::<Vec<_>>(), count.0));
    }
    assert_eq!(results[0], results[1], "the outcome depends on the number of threads");
    let wanted = (0..threads).map(|thread| {
        let neighbour = thread ^ 1;
        let tile = |tile: u32| input[(tile * threads + neighbour) as usize];
        (0..tiles).map(tile).fold(0, u32::wrapping_add)
    });
    Ok((results.swap_remove(0).0, wanted.collect()))
}

#[test]
fn pipelines_of_any_depth_sum_what_was_copied() {
    for stages in 2..=5 {
        for threads in [2, 32, 96] {
            let text = pipeline(threads, 11, stages, stages - 2);
            let (got, wanted) = run_pipeline(&text, threads, 11).unwrap();
            assert_eq!(got, wanted, "{stages} stages, {threads} threads");
        }
    }
}

#[test]
fn a_pipeline_that_waits_for_too_few_groups_is_found_out() {
    for stages in 2..=4 {
        let text = pipeline(64, 11, stages, stages - 1);
        let (got, wanted) = run_pipeline(&text, 64, 11).unwrap();
        assert_ne!(got, wanted, "{stages} stages");
    }
}

#[test]
fn a_barrier_does_not_wait_for_copies() {
    let body = ".shared .align 4 .b32 box[64]; mov.u32 %r0, 77; st.global.u32 [%at], %r0;\n\
         mov.u32 %r1, box; mad.lo.u32 %r1, %tid, 4, %r1;\n\
         cp.async.ca.shared.global [%r1], [%at], 4; bar.sync 0;\n\
         ld.shared.u32 %r2, [%r1]; st.global.u32 [%at], %r2; ret;";
    assert_eq!(words(body, &Shape::new(1, 64, 64)), [0; 64]);
}

#[test]
fn copies_of_threads_that_have_left_arrive() {
    // The first warp copies and leaves; the second one reads what it copied.
    let body = ".shared .align 4 .b32 box[32];\n\
         mov.u32 %r3, 0; mad.lo.u32 %r0, %tid, 3, 5; st.global.u32 [%at], %r0;\n\
         and.b32 %r2, %tid, 31; mov.u32 %r1, box; mad.lo.u32 %r1, %r2, 4, %r1;\n\
         setp.ge.u32 %p, %tid, 32; @%p bra READ;\n\
         cp.async.ca.shared.global [%r1], [%at], 4; ret;\n\
         READ: bar.sync 0; ld.shared.u32 %r2, [%r1]; st.global.u32 [%at], %r2; ret;";
    let wanted: Vec<u32> = (0..64).map(|i| i % 32 * 3 + 5).collect();
    assert_eq!(words(body, &Shape::new(1, 64, 64)), wanted);
}

#[test]
fn the_source_is_read_when_the_copy_is_issued() {
    // A bad address is the fault of the copy, not of the wait.
    let text = kernel(
        ".shared .align 16 .b32 box[4];\n\
         cp.async.cg.shared.global [box], [%out+4080], 16;\ncp.async.wait_all; ret;",
    );
    let Err(RunError::Fault(fault)) = launch(&text, &Shape::new(1, 1, 4)) else { panic!() };
    let span = fault.instruction.as_ref().unwrap().span;
    assert!(text[span.start as usize..span.end as usize].starts_with("cp.async.cg"));
    assert_eq!(
        fault.to_string(),
        "out-of-bounds load of 16 bytes at global address 0x700000ff0, 4064 bytes past the end of \
         buffer out (16 bytes) (kernel k, CTA 0,0,0, thread 0,0,0)"
    );
}

#[test]
fn wrong_operands_are_faults() {
    for (copy, said) in [
        ("cp.async.cg.shared.global [%r1+8], [%out], 16;", "misaligned access: address 0x8 is not"),
        ("cp.async.cg.shared.global [%r1], [%out+8], 16;", "misaligned access: address 0x70000"),
        ("cp.async.ca.shared.global [%r1+256], [%out], 4;", "out-of-bounds store of 4 bytes at sh"),
        ("cp.async.ca.shared.global [%r1], [%out+-4], 4;", "out-of-bounds load of 4 bytes at glo"),
        (
            "mov.u32 %r3, 5; cp.async.ca.shared.global [%r1], [%out], 4, %r3;",
            "cp.async's source size is 5, but must be at most the size of the copy (kernel k",
        ),
        (
            "mov.u32 %r3, 8; cp.async.cg.shared.global [%r1], [%out+160], 16, %r3;",
            "out-of-bounds load of 8 bytes at global address 0x7000000a0, 96 bytes past",
        ),
    ] {
        let body = format!(".shared .align 16 .b32 box[64]; mov.u32 %r1, box;\n{copy}\nret;");
        let Err(RunError::Fault(fault)) = launch(&kernel(&body), &Shape::new(1, 32, 16)) else {
            panic!("{copy} did not fail")
        };
        assert!(fault.to_string().starts_with(said), "{copy}: {fault}");
    }
    // Nothing is read, so nothing is wrong.
    for copy in [
        "mov.u32 %r3, 0; cp.async.cg.shared.global [%r1], [%out+3], 16, %r3;",
        "setp.eq.u32 %p, 0, 0; mov.u64 %d5, 0; cp.async.cg.shared.global [%r1], [%d5], 16, %p;",
    ] {
        let body = format!(".shared .align 16 .b32 box[64]; mov.u32 %r1, box;\n{copy}\nret;");
        launch(&kernel(&body), &Shape::new(1, 32, 16)).unwrap();
    }
}

#[test]
fn an_observer_sees_the_global_load_and_the_shared_store() {
    // Even lanes copy everything, lanes 1 and 5 a half, the others nothing.
    let text = kernel(
        ".shared .align 16 .b32 box[32]; mov.u32 %r1, box; mad.lo.u32 %r1, %tid, 16, %r1;\n\
         mad.wide.u32 %d0, %tid, 16, %out; and.b32 %r2, %tid, 1; setp.eq.u32 %p, %r2, 0;\n\
         and.b32 %r3, %tid, 3; setp.eq.u32 %q, %r3, 1;\n\
         selp.u32 %r2, 8, 0, %q; selp.u32 %r2, 16, %r2, %p;\n\
         cp.async.cg.shared.global [%r1], [%d0], 16, %r2; cp.async.wait_all; ret;",
    );
    let (log, out) = logged(&text, 8, 128);
    let load = |bytes_per_lane, mask, first| Accessed {
        space: StateSpace::Global,
        kind: AccessKind::Load,
        bytes_per_lane,
        mask,
        first,
    };
    let store = Accessed {
        space: StateSpace::Shared,
        kind: AccessKind::Store,
        bytes_per_lane: 16,
        mask: 0xff,
        first: 0,
    };
    assert_eq!(log.accesses, [load(16, 0x55, out), load(8, 0x22, out + 16), store]);
}

/// A loop of `rounds` copies to the same 32 words that nobody waits for; `group` follows each.
fn flood(rounds: u32, group: &str) -> String {
    module(&format!(
        ".visible .entry k(.param .u64 out) {{\n\
         .reg .b32 %tid, %r<4>; .reg .b64 %out, %at; .reg .pred %p;\n\
         .shared .align 16 .b8 tile[128];\n\
         ld.param.u64 %out, [out]; mov.u32 %tid, %tid.x; mad.wide.u32 %at, %tid, 4, %out;\n\
         mov.u32 %r0, tile; mad.lo.u32 %r0, %tid, 4, %r0; mov.u32 %r1, 0;\n\
         AGAIN: cp.async.ca.shared.global [%r0], [%at], 4; {group}\n\
         add.u32 %r1, %r1, 1; setp.lt.u32 %p, %r1, {rounds}; @%p bra AGAIN;\n\
         cp.async.wait_all; ld.shared.u32 %r2, [%r0]; add.u32 %r2, %r2, 1;\n\
         st.global.u32 [%at], %r2; ret; }}\n"
    ))
}

#[test]
fn copies_that_overwrite_each_other_do_not_pile_up() {
    let (words, ..) = launch(&flood(100_000, ""), &Shape::new(1, 32, 32)).unwrap();
    assert_eq!(words, [1; 32]);
}

#[test]
fn groups_without_a_wait_end_in_a_fault() {
    let shape = Shape::new(1, 32, 32);
    let Err(RunError::Fault(fault)) = launch(&flood(100_000, "cp.async.commit_group;"), &shape)
    else {
        panic!("no fault")
    };
    assert!(matches!(fault.kind, FaultKind::TooManyCopies { copies: 16_384 }), "{fault}");
}
