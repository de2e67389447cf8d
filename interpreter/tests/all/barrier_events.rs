//! What recorders are told of barriers, exits and warp-level synchronisation.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests are not inside the test functions that the lints spare"
)]

use gpucast_interpreter::{
    Argument, DeviceMemory, Launch, MbarrierStep, Options, Program, Silent, run,
};

use crate::common::kernel;
use crate::common::log::{Event, Log};

/// The events of kernel `k` of `text` on one CTA of `threads` threads, the words of `out`, and
/// whether it failed.
fn events_of(text: &str, threads: u32, options: Options) -> (Vec<Event>, Vec<u32>, bool) {
    let module = gpucast_ptx_frontend::load(text)
        .unwrap_or_else(|problems| panic!("{:?}\n{text}", problems[0].message));
    let program = Program::new(&module, text, "k").unwrap_or_else(|error| panic!("{error}"));
    let mut memory = DeviceMemory::new();
    let out = memory.allocate("out", 256).unwrap();
    for (at, byte) in memory.bytes_mut("out").unwrap().iter_mut().enumerate() {
        *byte = u8::from(at % 4 == 0) * (at / 4 + 1) as u8;
    }
    let launch = Launch {
        grid: [1; 3],
        block: [threads, 1, 1],
        cluster: None,
        dynamic_shared_bytes: 64,
        arguments: vec![Argument::Address(out)],
    };
    let mut log = Log::default();
    let outcome = run(&program, &launch, &mut memory, &mut log, &options, &Silent);
    assert_eq!(outcome.is_err(), log.failed, "{outcome:?}");
    let words = memory.bytes("out").unwrap().chunks_exact(4);
    let words = words.map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect();
    (log.events, words, log.failed)
}

fn events(body: &str, threads: u32) -> Vec<Event> {
    let options = Options { instruction_budget: 1 << 16, ..Options::default() };
    let (events, _, failed) = events_of(&kernel(body), threads, options);
    assert!(!failed);
    assert_eq!(events[0], Event::Start { cta: 0 });
    events
}

fn releases(events: &[Event]) -> Vec<Event> {
    events.iter().filter(|event| matches!(event, Event::Release { .. })).cloned().collect()
}

#[test]
fn a_full_barrier_is_whole_and_counts_guarded_lanes_up_to_it() {
    // 40 threads: a full warp and 8 lanes. Seven lanes of each warp store before, three after.
    let body = "and.b32 %r1, %tid, 31; setp.lt.u32 %p, %r1, 7; setp.lt.u32 %q, %r1, 3;\n\
         @%p st.global.u32 [%at], %r1; bar.sync 0; @%q st.global.u32 [%at], %r1;\n\
         bar.sync 0; ret;";
    let waited = vec![(0, u32::MAX), (1, 0xff)];
    let release =
        |guarded| Event::Release { barrier: 0, waited: waited.clone(), whole: true, guarded };
    assert_eq!(releases(&events(body, 40)), [release(vec![14, 0]), release(vec![14, 6])]);
}

#[test]
fn a_counted_barrier_with_arrivals_is_not_whole() {
    // Warp 0 arrives and goes on; warp 1 waits for both; warp 2 has nothing to do with it.
    let body = "shr.u32 %r1, %tid, 5; setp.eq.u32 %p, %r1, 0; setp.eq.u32 %q, %r1, 1;\n\
         @%q bra WAIT; @!%p bra END; bar.arrive 3, 64; bra END;\n\
         WAIT: bar.sync 3, 64;\nEND: bar.sync 0; ret;";
    let events = events(body, 96);
    let arrivals: Vec<_> = events
        .iter()
        .filter(|event| matches!(event, Event::Arrive { barrier: 3, .. }))
        .cloned()
        .collect();
    let arrive = |warp, waits| Event::Arrive { barrier: 3, warp, mask: u32::MAX, waits };
    assert_eq!(arrivals, [arrive(0, false), arrive(1, true)]);
    let all = vec![(0, u32::MAX), (1, u32::MAX), (2, u32::MAX)];
    assert_eq!(
        releases(&events),
        [
            Event::Release {
                barrier: 3,
                waited: vec![(1, u32::MAX)],
                whole: false,
                guarded: vec![32, 32],
            },
            Event::Release { barrier: 0, waited: all, whole: true, guarded: vec![32, 32] },
        ]
    );
}

#[test]
fn warps_meet_at_different_instructions_of_one_barrier() {
    // The number of warp 1's barrier stands in a register. The second barrier reduces.
    let body = "setp.lt.u32 %p, %tid, 32; mov.u32 %r1, 0; @%p bra A; bar.sync %r1; bra B;\n\
         A: bar.sync 0;\nB: bar.red.and.pred %q, 0, %p; bar.sync 5; ret;";
    let events = events(body, 64);
    let waited = vec![(0, u32::MAX), (1, u32::MAX)];
    let release = |barrier| {
        let (waited, guarded) = (waited.clone(), vec![32]);
        Event::Release { barrier, waited, whole: true, guarded }
    };
    assert_eq!(releases(&events), [release(0), release(0), release(5)]);
}

#[test]
fn exited_warps_and_lanes_do_not_keep_a_barrier_from_being_whole() {
    let body = "setp.lt.u32 %p, %tid, 35; @%p exit; bar.sync 0; ret;";
    let events = events(body, 64);
    let left = !0b111;
    assert_eq!(
        events[1..],
        [
            Event::Exit { warp: 0, mask: u32::MAX },
            Event::Exit { warp: 1, mask: 0b111 },
            Event::Arrive { barrier: 0, warp: 1, mask: left, waits: true },
            Event::Release { barrier: 0, waited: vec![(1, left)], whole: true, guarded: vec![35] },
            Event::Exit { warp: 1, mask: left },
        ]
    );
}

#[test]
fn lanes_that_meet_at_a_warp_barrier_are_released_together() {
    // The halves go through different warp barriers with the same members, then a shuffle.
    let body = "setp.lt.u32 %p, %tid, 16; @%p bra LOW;\n\
         bar.warp.sync 0xffffffff; bra BOTH;\nLOW: bar.warp.sync 0xffffffff;\n\
         BOTH: shfl.sync.idx.b32 %r1, %tid, 0, 31, 0xffffffff; ret;";
    let events = events(body, 32);
    let arrive = |mask| Event::WarpArrive { mask, members: u32::MAX };
    assert_eq!(
        events[1..],
        [
            arrive(0xffff_0000),
            arrive(0xffff),
            Event::WarpRelease { warp: 0, lanes: u32::MAX },
            arrive(u32::MAX),
            Event::Exit { warp: 0, mask: u32::MAX },
        ]
    );
    // Two groups of one instruction with members of their own.
    let body = "setp.lt.u32 %p, %tid, 8; selp.b32 %r1, 0xff, 0xffffff00, %p;\n\
         bar.warp.sync %r1; ret;";
    let releases: Vec<_> = self::events(body, 32)
        .into_iter()
        .filter(|event| matches!(event, Event::WarpRelease { .. }))
        .collect();
    assert_eq!(
        releases,
        [
            Event::WarpRelease { warp: 0, lanes: 0xff },
            Event::WarpRelease { warp: 0, lanes: 0xffff_ff00 },
        ]
    );
}

#[test]
fn asynchronous_copies_are_told_when_they_arrive() {
    let head = ".shared .align 16 .b8 tile[64]; cvta.to.shared.u64 %d0, 0;\n";
    let copy = "shl.b32 %r1, %tid, 2; mov.u32 %r2, tile; add.u32 %r1, %r1, %r2;\n\
         cp.async.ca.shared.global [%r1], [%at], 4;\n";
    let head = head.split(" cvta").next().unwrap();
    let done = |waited| Event::CopyDone { mask: 0xf, bytes: 4, first: 0, waited };
    let waiting = format!("{head}\n{copy} cp.async.wait_all; ret;");
    assert!(events(&waiting, 4).contains(&done(true)));
    let leaving = format!("{head}\n{copy} ret;");
    assert!(events(&leaving, 4).contains(&done(false)));
}

#[test]
fn the_lane_that_completes_an_mbarrier_phase_is_named() {
    let body = ".shared .align 8 .b64 bar;\n\
         setp.ne.u32 %p, %tid, 0; @%p bra INIT;\nmbarrier.init.shared.b64 [bar], 4;\n\
         INIT: bar.sync 0; mbarrier.arrive.shared.b64 %d0, [bar];\n\
         WAIT: mbarrier.try_wait.shared.b64 %q, [bar], %d0; @!%q bra WAIT; ret;";
    let steps: Vec<_> = events(body, 4)
        .into_iter()
        .filter(|event| matches!(event, Event::Mbarrier { .. }))
        .collect();
    let step = |step, mask, completes| Event::Mbarrier { step, mask, completes };
    assert_eq!(
        steps,
        [
            step(MbarrierStep::Define, 1, 0),
            step(MbarrierStep::Arrive, 0xf, 0b1000),
            step(MbarrierStep::Passed, 0xf, 0),
        ]
    );
}

#[test]
fn bad_accesses_are_left_out_lane_by_lane_where_asked() {
    // Lane 2 loads at a bad address, lane 3 at a misaligned one; every lane stores what it got.
    let body = "setp.eq.u32 %p, %tid, 2; selp.b64 %d0, 0, %at, %p;\n\
         setp.eq.u32 %p, %tid, 3; selp.b64 %d1, 2, 0, %p; add.u64 %d0, %d0, %d1;\n\
         mov.u32 %r0, 77; ld.global.u32 %r0, [%d0]; st.global.u32 [%at+128], %r0; ret;";
    let skip = Options { skip_bad_accesses: true, ..Options::default() };
    let (events, words, failed) = events_of(&kernel(body), 5, skip);
    assert!(!failed);
    assert_eq!(words[32..38], [1, 2, 0, 0, 5, 38]);
    let bad: Vec<_> = events.iter().filter(|event| matches!(event, Event::Bad { .. })).collect();
    let [Event::Bad { lane: 3, what: misaligned, .. }, Event::Bad { lane: 2, what: outside, .. }] =
        bad[..]
    else {
        panic!("{bad:?}")
    };
    assert!(misaligned.starts_with("misaligned access"), "{misaligned}");
    assert!(
        outside.starts_with("out-of-bounds load of 4 bytes at global address 0x0"),
        "{outside}"
    );
    // Otherwise the launch ends there, and the observer gets what was recorded.
    let (events, words, failed) = events_of(&kernel(body), 5, Options::default());
    assert!(failed);
    assert_eq!(words[32..38], [33, 34, 35, 36, 37, 38]);
    assert_eq!(events, [Event::Start { cta: 0 }]);
}

#[test]
fn heap_blocks_are_told_when_they_come_and_go() {
    let text = crate::common::module(
        ".extern .func (.param .b64 r) malloc (.param .b64 n);\n\
         .extern .func free (.param .b64 p);\n\
         .visible .entry k(.param .u64 out) { .reg .b64 %d<4>;\n\
         { .param .b64 n; st.param.b64 [n], 24; .param .b64 r; call (r), malloc, (n);\n\
         ld.param.b64 %d1, [r]; }\n\
         { .param .b64 p; st.param.b64 [p], %d1; call free, (p); } ret; }",
    );
    let (events, _, _) = events_of(&text, 1, Options::default());
    assert_eq!(events[1..3], [Event::Heap { bytes: Some(24) }, Event::Heap { bytes: None }]);
}
