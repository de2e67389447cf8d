//! Bad accesses: all of a run are found, and the run goes on.

use gpucast_sanitizer::{Check, Checks};

use crate::common::{Shape, found, kernel, launch_on};

#[test]
fn every_bad_access_of_a_run_is_found() {
    let body = "ld.global.u32 %r1, [%at+1016];\nld.shared.u32 %r2, [%r15+1030];\n\
                st.global.u32 [%out+2], %r2;\n\
                st.global.u32 [%at], %r1; ret;";
    assert_eq!(
        found(body, 4),
        [
            "out-of-bounds x2: thread 2 line 8, out-of-bounds load of 4 bytes at global address \
             0x700000400, 0 bytes past the end of buffer out (1024 bytes)",
            "misaligned x4: thread 0 line 9, misaligned access: address 0x406 is not a multiple of \
             4 bytes",
            "misaligned x4: thread 0 line 10, misaligned access: address 0x700000002 is not a \
             multiple of 4 bytes",
        ]
    );
    let (_, words) = launch_on(&kernel(body), &Shape::new(4), 1);
    assert_eq!(words.unwrap()[..4], [0, 0, 0, 0]);
}

#[test]
fn without_the_memory_check_the_first_bad_access_ends_the_run() {
    let body = "setp.eq.u32 %p, %t, 1; @%p st.shared.u32 [tile], 1;\n\
                setp.eq.u32 %p, %t, 2; @%p st.shared.u32 [tile], 2;\n\
                ld.global.u32 %r1, [%out+-4]; ret;";
    let checks: Checks = [Check::Race].into_iter().collect();
    let (findings, outcome) = launch_on(&kernel(body), &Shape { checks, ..Shape::new(4) }, 2);
    assert!(outcome.is_err() && !findings.explains_fault);
    let found: Vec<_> = findings.findings.iter().map(crate::common::line).collect();
    assert_eq!(
        found,
        ["write-after-write Lanes x1: thread 2 line 9, thread 1 line 8, 4 Shared tile+0"],
        "what was found before the fault is kept"
    );
}

#[test]
fn copies_out_of_bounds_are_left_out() {
    let body = "cp.async.ca.shared.global [%r15], [%at+1020], 4;\ncp.async.wait_all;\n\
                ld.shared.u32 %r1, [tile]; ret;";
    assert_eq!(
        found(body, 2),
        [
            "out-of-bounds x1: thread 1 line 8, out-of-bounds load of 4 bytes at global address \
             0x700000400, 0 bytes past the end of buffer out (1024 bytes)",
            "read-after-write Lanes x1: thread 1 line 10, thread 0 line 8, 4 Shared tile+0",
        ]
    );
}
