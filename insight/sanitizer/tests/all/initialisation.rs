//! Reads of memory that nothing has written.

use crate::common::{Shape, found, found_in, kernel, launch_on, module};

#[test]
fn shared_memory_is_uninitialised_byte_by_byte() {
    let body = "st.shared.u16 [tile+4], 1;\nld.shared.u32 %r1, [tile+4];\nld.shared.u16 %r2, [tile+4];\n\
                atom.shared.add.u32 %r3, [tile+8], 1;\nld.shared.u32 %r4, [tile+8]; ret;";
    assert_eq!(
        found(body, 1),
        [
            "uninitialised-read x1: thread 0 line 9, 4 Shared tile+6",
            "uninitialised-read x1: thread 0 line 11, 4 Shared tile+8",
        ]
    );
}

#[test]
fn each_thread_has_local_memory_of_its_own() {
    let body = ".local .align 8 .b8 depot[16];\nsetp.eq.u32 %p, %t, 1;\n\
                @%p st.local.u64 [depot+8], 5;\nld.local.u32 %r1, [depot+12]; ret;";
    assert_eq!(found(body, 3), ["uninitialised-read x2: thread 0 line 11, 4 Local depot+12"]);
}

#[test]
fn buffers_that_the_host_has_not_filled_are_watched_across_blocks() {
    // Each block writes a word and reads it, and block 1 reads the word of block 0 too.
    let body = "mov.u32 %r1, %ctaid.x; mad.wide.u32 %d0, %r1, 4, %out; st.global.u32 [%d0], 1;\n\
                ld.global.u32 %r2, [%d0];\nld.global.u32 %r2, [%out]; ret;";
    let shape = Shape { grid: 2, filled: false, ..Shape::new(1) };
    assert_eq!(
        found_in(&kernel(body), &shape),
        ["uninitialised-read x1: cta 1 thread 0 line 10, 4 Global out+0"],
        "nothing says that block 0 writes before block 1 reads"
    );
    assert_eq!(found_in(&kernel(body), &Shape { filled: true, ..shape }), [""; 0]);
}

#[test]
fn blocks_in_order_see_what_earlier_ones_wrote() {
    // The last block to count reads what all have written.
    let body = "mov.u32 %r1, %ctaid.x; mad.wide.u32 %d0, %r1, 4, %out; st.global.u32 [%d0+16], 1;\n\
                setp.eq.u32 %p, %r1, 0; @%p st.global.u32 [%out], 0;\n\
                membar.gl; atom.global.add.u32 %r2, [%out], 1; setp.ne.u32 %p, %r2, 2; @%p exit;\n\
                ld.global.u32 %r3, [%out+16]; ld.global.u32 %r3, [%out+24];\n\
                ld.global.u32 %r3, [%out+28]; ret;";
    let shape = Shape { grid: 3, filled: false, ..Shape::new(1) };
    assert_eq!(
        found_in(&kernel(body), &shape),
        ["uninitialised-read x1: cta 2 thread 0 line 12, 4 Global out+28"]
    );
}

#[test]
fn heap_blocks_are_uninitialised_and_end_where_they_end() {
    let text = module(
        ".extern .func (.param .b64 r) malloc (.param .b64 n);\n\
         .extern .func free (.param .b64 p);\n\
         .visible .entry k(.param .u64 out) { .reg .b64 %d<4>; .reg .b32 %r<4>;\n\
         { .param .b64 n; st.param.b64 [n], 24; .param .b64 r; call (r), malloc, (n);\n\
         ld.param.b64 %d1, [r]; }\n\
         st.u32 [%d1], 1;\nld.u32 %r1, [%d1];\nld.u32 %r1, [%d1+4];\nst.u64 [%d1+24], 1;\n\
         { .param .b64 p; st.param.b64 [p], %d1; call free, (p); }\nld.u32 %r1, [%d1]; ret; }",
    );
    assert_eq!(
        found_in(&text, &Shape::new(1)),
        [
            "heap-out-of-bounds x1: thread 0 line 12, 8 Global block of 24 bytes of the device heap+24",
            "heap-out-of-bounds x1: thread 0 line 14, 4 Global",
            "uninitialised-read x1: thread 0 line 11, 4 Global block of 24 bytes of the device heap+4",
        ]
    );
}

#[test]
fn a_launch_that_is_executed_again_in_order_is_reported_once_and_its_attempt_never() {
    // Each CTA loops as often as the one before has left in `out`; only some loops write what the
    // last lines read.
    let text = kernel(
        "ld.global.u32 %r1, [%out]; add.u32 %r2, %r1, 1; mov.u32 %r3, 0;\n\
         W: add.u32 %r3, %r3, 1; setp.lt.u32 %p, %r3, %r1; @%p bra W;\n\
         and.b32 %r4, %r3, 63; mad.wide.u32 %d0, %r4, 4, %out; st.global.u32 [%d0+256], %r3;\n\
         st.global.u32 [%out], %r2; ld.global.u32 %r5, [%d0+260]; ret;",
    );
    let mut shape = Shape::new(1);
    (shape.grid, shape.filled) = (30, false);
    let (one, words) = launch_on(&text, &shape, 1);
    let words = words.unwrap();
    assert_eq!(words[0], 30, "in order, each CTA adds one");
    for threads in [2, 7] {
        let (findings, others) = launch_on(&text, &shape, threads);
        assert_eq!((&one, &words), (&findings, &others.unwrap()), "{threads} threads");
    }
    // Each CTA reads two words that it has not written.
    let counts: Vec<u64> = one.findings.iter().map(|finding| finding.count).collect();
    assert_eq!(counts, [30, 30]);
}
