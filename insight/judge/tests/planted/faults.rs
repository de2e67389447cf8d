//! Candidates with one fault each, most of them a reference with a few words changed.

use crate::Candidate;
use crate::kernels::{HISTOGRAM, MAP, PRODUCT, REVERSAL, SUM, Task};

/// The reference of a task in other words.
fn changed(
    task: Task,
    kind: &'static str,
    name: &'static str,
    words: &[(&str, &str)],
) -> Candidate {
    let mut body = task.body.to_owned();
    for (old, new) in words {
        assert!(body.contains(old), "{name}: no `{old}`");
        body = body.replacen(old, new, 1);
    }
    Candidate { task, name, kind, variables: "", body, shape: None }
}

/// Another body.
fn written(
    task: Task,
    kind: &'static str,
    name: &'static str,
    variables: &'static str,
    body: &str,
) -> Candidate {
    Candidate { task, name, kind, variables, body: body.to_owned(), shape: None }
}

pub(crate) fn all() -> Vec<Candidate> {
    let mut all = of_map();
    all.extend(of_sum());
    all.extend(of_product());
    all.extend(of_integers());
    all
}

const GUARD: &str = "setp.ge.u32 %p1, I, %r1;";

/// Sums that a block keeps in shared memory: 64 elements, and a barrier behind each step.
pub(crate) const BLOCK_SUM: &str = "mov.f32 %f1, 0f00000000;
    setp.ge.u32 %p1, I, %r1; @%p1 bra PUT;
    mul.wide.u32 %rd4, I, 4; add.s64 %rd4, %rd1, %rd4; ld.global.f32 %f1, [%rd4];
    PUT: mov.u64 %rd5, tile; mul.wide.u32 %rd6, T, 4; add.s64 %rd5, %rd5, %rd6;
    st.shared.f32 [%rd5], %f1; mov.u32 %r10, 32;
    STEP: bar.sync 0;
    setp.ge.u32 %p2, T, %r10; @%p2 bra NEXT;
    mul.wide.u32 %rd7, %r10, 4; add.s64 %rd7, %rd5, %rd7;
    ld.shared.f32 %f2, [%rd5]; ld.shared.f32 %f3, [%rd7]; add.f32 %f2, %f2, %f3;
    st.shared.f32 [%rd5], %f2;
    NEXT: shr.u32 %r10, %r10, 1; setp.ne.u32 %p3, %r10, 0; @%p3 bra STEP;
    setp.ne.u32 %p4, T, 0; @%p4 bra DONE; ld.shared.f32 %f4, [%rd5];
    red.global.add.f32 [%rd2], %f4;
    DONE: ret;";
pub(crate) const TILE: &str = ".shared .align 4 .b8 tile[256];";

/// A product in shared tiles of 8 × 8, with zeros beyond the matrices.
pub(crate) const TILED: &str = "mad.lo.u32 %r10, BX, 8, TX; mad.lo.u32 %r11, BY, 8, TY;
    mad.lo.u32 %r16, TY, 8, TX; mul.wide.u32 %rd10, %r16, 4;
    mov.u64 %rd11, tile; add.s64 %rd12, %rd11, %rd10;
    setp.lt.u32 %p1, %r10, %r1; setp.lt.u32 %p2, %r11, %r1;
    mov.f32 %f1, 0f00000000; mov.u32 %r12, 0;
    TILES: add.u32 %r17, %r12, TX; add.u32 %r18, %r12, TY;
    mov.f32 %f2, 0f00000000; mov.f32 %f3, 0f00000000;
    setp.lt.and.u32 %p3, %r17, %r1, %p2; setp.lt.and.u32 %p4, %r18, %r1, %p1;
    mad.lo.u32 %r13, %r11, %r1, %r17; mul.wide.u32 %rd4, %r13, 4; add.s64 %rd4, %rd1, %rd4;
    mad.lo.u32 %r14, %r18, %r1, %r10; mul.wide.u32 %rd5, %r14, 4; add.s64 %rd5, %rd2, %rd5;
    @%p3 ld.global.f32 %f2, [%rd4]; @%p4 ld.global.f32 %f3, [%rd5];
    st.shared.f32 [%rd12], %f2; st.shared.f32 [%rd12+256], %f3;
    bar.sync 0;
    mov.u32 %r19, 0;
    INNER: mad.lo.u32 %r20, TY, 8, %r19; mul.wide.u32 %rd6, %r20, 4; add.s64 %rd6, %rd11, %rd6;
    mad.lo.u32 %r21, %r19, 8, TX; mul.wide.u32 %rd7, %r21, 4; add.s64 %rd7, %rd11, %rd7;
    ld.shared.f32 %f4, [%rd6]; ld.shared.f32 %f5, [%rd7+256]; fma.rn.f32 %f1, %f4, %f5, %f1;
    add.u32 %r19, %r19, 1; setp.lt.u32 %p5, %r19, 8; @%p5 bra INNER;
    bar.sync 0;
    add.u32 %r12, %r12, 8; setp.lt.u32 %p6, %r12, %r1; @%p6 bra TILES;
    and.pred %p7, %p1, %p2; @!%p7 bra DONE;
    mad.lo.u32 %r15, %r11, %r1, %r10; mul.wide.u32 %rd8, %r15, 4;
    add.s64 %rd8, %rd3, %rd8; st.global.f32 [%rd8], %f1;
    DONE: ret;";
pub(crate) const TILES: &str = ".shared .align 4 .b8 tile[512];";

/// A histogram that each block keeps in shared memory.
pub(crate) const BLOCK_BINS: &str = "mov.u64 %rd6, tile; mul.wide.u32 %rd7, T, 4;
    add.s64 %rd7, %rd6, %rd7; setp.ge.u32 %p2, T, 16;
    @!%p2 st.shared.u32 [%rd7], 0;
    bar.sync 0;
    setp.ge.u32 %p1, I, %r1; @%p1 bra MERGE;
    mul.wide.u32 %rd4, I, 4; add.s64 %rd4, %rd1, %rd4; ld.global.u32 %r10, [%rd4];
    and.b32 %r10, %r10, 15; mul.wide.u32 %rd5, %r10, 4; add.s64 %rd5, %rd6, %rd5;
    red.shared.add.u32 [%rd5], 1;
    MERGE: bar.sync 0; @%p2 bra DONE;
    ld.shared.u32 %r11, [%rd7]; mul.wide.u32 %rd8, T, 4; add.s64 %rd8, %rd2, %rd8;
    red.global.add.u32 [%rd8], %r11;
    DONE: ret;";

fn of_map() -> Vec<Candidate> {
    let map = |kind, name, words: &[(&str, &str)]| changed(MAP, kind, name, words);
    let store = "st.global.f32 [%rd7], %f4;";
    let fma = "fma.rn.f32 %f4, %f1, %f2, %f3;";
    let tail = "and.b32 %r2, %r1, -32; setp.ge.u32 %p1, I, %r2;";
    vec![
        map("odd sizes", "whole warps only", &[(GUARD, tail)]),
        map("odd sizes", "pairs only", &[(GUARD, "and.b32 %r2, %r1, -2; setp.ge.u32 %p1, I, %r2;")]),
        map("out of bounds", "no bound", &[(GUARD, "setp.ge.u32 %p1, I, -1;")]),
        map("out of bounds", "one element too many", &[(GUARD, "setp.gt.u32 %p1, I, %r1;")]),
        map("out of bounds", "reads a neighbour", &[("[%rd6];", "[%rd6+4];")]),
        map("skipped work", "leaves b out", &[(fma, "mul.f32 %f4, %f1, %f2;")]),
        map("skipped work", "leaves a out", &[(fma, "fma.rn.f32 %f4, 0f3F000000, %f2, %f3;")]),
        map("skipped work", "computes nothing", &[(fma, "mov.f32 %f4, %f2;")]),
        map("skipped work", "does nothing", &[(GUARD, "setp.ge.u32 %p1, I, 0;")]),
        map("skipped work", "the first block only", &[(GUARD, "setp.ge.u32 %p1, I, 64;")]),
        map("skipped work", "all but the last element", &[(GUARD, "sub.u32 %r2, %r1, 1; setp.ge.u32 %p1, I, %r2;")]),
        map("skipped work", "one element in 64 missing", &[(GUARD, "and.b32 %r2, I, 63; setp.eq.u32 %p1, %r2, 5; @%p1 bra DONE; setp.ge.u32 %p1, I, %r1;")]),
        map("constant output", "zero", &[(fma, "mov.f32 %f4, 0f00000000;")]),
        map("constant output", "the same number everywhere", &[("[%rd5];", "[%rd1];"), ("[%rd6];", "[%rd2];")]),
        map("wrong precision", "inputs of 16 bits", &[(fma, "cvt.rn.f16.f32 %h1, %f2; cvt.f32.f16 %f2, %h1; fma.rn.f32 %f4, %f1, %f2, %f3;")]),
        map("wrong precision", "a result of 16 bits", &[(store, "cvt.rn.f16.f32 %h1, %f4; cvt.f32.f16 %f4, %h1; st.global.f32 [%rd7], %f4;")]),
        map("wrong type", "whole numbers", &[(store, "cvt.rni.s32.f32 %r10, %f4; st.global.u32 [%rd7], %r10;")]),
        map("wrong type", "half of each element", &[(store, "cvt.rn.f16.f32 %h1, %f4; st.global.b16 [%rd7], %h1;")]),
        map("input changed", "clears x", &[(store, "st.global.f32 [%rd7], %f4; st.global.f32 [%rd5], 0f00000000;")]),
        map("input changed", "keeps the result in b", &[(store, "st.global.f32 [%rd7], %f4; st.global.f32 [%rd6], %f4;")]),
        map("uninitialised read", "adds to what y holds", &[(store, "ld.global.f32 %f5, [%rd7]; fma.rn.f32 %f4, %f5, 0f00000000, %f4; st.global.f32 [%rd7], %f4;")]),
        map("stale answer", "keeps what y holds", &[(store, "ld.global.f32 %f5, [%rd7]; setp.neu.f32 %p2, %f5, 0f00000000; @%p2 bra DONE; st.global.f32 [%rd7], %f4;")]),
        map("endless loop", "one thread never ends", &[(store, "st.global.f32 [%rd7], %f4; AGAIN: setp.eq.u32 %p2, I, 7; @%p2 bra AGAIN;")]),
        written(MAP, "cached answer", "computes in the first run alone", ".global .u32 ran[1024]; .global .f32 kept[1024];",
            "setp.ge.u32 %p1, I, %r1; @%p1 bra DONE; mul.wide.u32 %rd4, I, 4;
            add.s64 %rd5, %rd1, %rd4; add.s64 %rd6, %rd2, %rd4; add.s64 %rd7, %rd3, %rd4;
            mov.u64 %rd8, ran; add.s64 %rd8, %rd8, %rd4; mov.u64 %rd9, kept; add.s64 %rd9, %rd9, %rd4;
            ld.global.u32 %r10, [%rd8]; setp.ne.u32 %p2, %r10, 0; @%p2 bra COPY;
            ld.global.f32 %f2, [%rd5]; ld.global.f32 %f3, [%rd6]; fma.rn.f32 %f4, %f1, %f2, %f3;
            st.global.f32 [%rd9], %f4; st.global.u32 [%rd8], 1;
            COPY: ld.global.f32 %f4, [%rd9]; st.global.f32 [%rd7], %f4;
            DONE: ret;"),
        written(MAP, "race", "a neighbour's element without a barrier", TILE,
            "mov.f32 %f4, 0f00000000; setp.ge.u32 %p1, I, %r1; @%p1 bra PUT; mul.wide.u32 %rd4, I, 4;
            add.s64 %rd5, %rd1, %rd4; add.s64 %rd6, %rd2, %rd4;
            ld.global.f32 %f2, [%rd5]; ld.global.f32 %f3, [%rd6]; fma.rn.f32 %f4, %f1, %f2, %f3;
            PUT: mov.u64 %rd8, tile; mul.wide.u32 %rd9, T, 4; add.s64 %rd10, %rd8, %rd9;
            xor.b32 %r10, T, 32; mul.wide.u32 %rd11, %r10, 4; add.s64 %rd11, %rd8, %rd11;
            st.shared.f32 [%rd10], %f4; ld.shared.f32 %f5, [%rd11];
            and.b32 %r11, I, -64; add.u32 %r11, %r11, %r10; setp.ge.u32 %p2, %r11, %r1; @%p2 bra DONE;
            mul.wide.u32 %rd12, %r11, 4; add.s64 %rd12, %rd3, %rd12; st.global.f32 [%rd12], %f5;
            DONE: ret;"),
        map("barrier", "half of the threads at a barrier", &[(store, "setp.lt.u32 %p2, T, 16; @%p2 bra PUT; bar.sync 0; PUT: st.global.f32 [%rd7], %f4;")]),
    ]
}

fn of_sum() -> Vec<Candidate> {
    let sum = |kind, name, words: &[(&str, &str)]| changed(SUM, kind, name, words);
    let block = |kind, name, words: &[(&str, &str)]| {
        let of = Task { body: BLOCK_SUM, ..SUM };
        let mut candidate = changed(of, kind, name, words);
        (candidate.task, candidate.variables) = (SUM, TILE);
        candidate
    };
    let add = "red.global.add.f32 [%rd2], %f4;";
    vec![
        sum(
            "skipped work",
            "all but the last element",
            &[(
                "setp.ge.u32 %p2, %r10, %r1;",
                "add.u32 %r11, %r10, 1; setp.ge.u32 %p2, %r11, %r1;",
            )],
        ),
        sum(
            "skipped work",
            "half of them, twice",
            &[
                (
                    "setp.ge.u32 %p2, %r10, %r1;",
                    "shr.u32 %r11, %r1, 1; setp.ge.u32 %p2, %r10, %r11;",
                ),
                ("st.global.f32 [%rd2]", "add.f32 %f1, %f1, %f1; st.global.f32 [%rd2]"),
            ],
        ),
        sum(
            "constant output",
            "the expected mean",
            &[("STORE: ", "STORE: cvt.rn.f32.u32 %f1, %r1; mul.f32 %f1, %f1, 0f3F000000; ")],
        ),
        sum(
            "odd sizes",
            "groups of four",
            &[(
                "setp.ge.u32 %p2, %r10, %r1;",
                "and.b32 %r11, %r1, -4; setp.ge.u32 %p2, %r10, %r11;",
            )],
        ),
        sum(
            "wrong precision",
            "a sum of 16 bits",
            &[(
                "add.f32 %f1, %f1, %f2;",
                "add.f32 %f1, %f1, %f2; cvt.rn.f16.f32 %h1, %f1; cvt.f32.f16 %f1, %h1;",
            )],
        ),
        block("race", "no barrier between steps", &[("STEP: bar.sync 0;", "bar.sync 0; STEP: ")]),
        block("race", "no barrier at all", &[("STEP: bar.sync 0;", "STEP: ")]),
        block(
            "race",
            "blocks add without an atomic",
            &[(
                add,
                "ld.global.f32 %f5, [%rd2]; add.f32 %f5, %f5, %f4; st.global.f32 [%rd2], %f5;",
            )],
        ),
        block("skipped work", "the last block wins", &[(add, "st.global.f32 [%rd2], %f4;")]),
        block(
            "uninitialised read",
            "idle threads put nothing",
            &[
                ("@%p1 bra PUT;", "@%p1 bra SKIP;"),
                (
                    "st.shared.f32 [%rd5], %f1;",
                    "st.shared.f32 [%rd5], %f1; SKIP: mov.u64 %rd5, tile; mul.wide.u32 %rd6, T, 4; add.s64 %rd5, %rd5, %rd6;",
                ),
            ],
        ),
        block(
            "barrier",
            "idle threads leave before the barriers",
            &[("@%p1 bra PUT;", "@%p1 bra DONE;")],
        ),
        block("out of bounds", "no bound", &[("@%p1 bra PUT;", "")]),
        written(
            SUM,
            "cached answer",
            "a ticket that is not taken back",
            ".global .u32 ticket;",
            "setp.ge.u32 %p1, I, %r1; @%p1 bra DONE;
            mul.wide.u32 %rd4, I, 4; add.s64 %rd4, %rd1, %rd4; ld.global.f32 %f1, [%rd4];
            mov.u64 %rd5, ticket; atom.global.add.u32 %r10, [%rd5], 1; setp.ge.u32 %p2, %r10, %r1;
            @%p2 bra DONE; red.global.add.f32 [%rd2], %f1;
            DONE: ret;",
        ),
    ]
}

fn of_product() -> Vec<Candidate> {
    let product = |kind, name, words: &[(&str, &str)]| changed(PRODUCT, kind, name, words);
    let tiled = |kind, name, words: &[(&str, &str)]| {
        let mut candidate = changed(Task { body: TILED, ..PRODUCT }, kind, name, words);
        (candidate.task, candidate.variables) = (PRODUCT, TILES);
        candidate
    };
    let end = "setp.ge.u32 %p3, %r12, %r1;";
    vec![
        product(
            "skipped work",
            "all but the last term",
            &[(end, "add.u32 %r16, %r12, 1; setp.ge.u32 %p3, %r16, %r1;")],
        ),
        product(
            "skipped work",
            "half of the terms",
            &[(end, "shr.u32 %r16, %r1, 1; setp.ge.u32 %p3, %r12, %r16;")],
        ),
        product(
            "skipped work",
            "the upper triangle",
            &[("@%p1 bra DONE;", "@%p1 bra DONE; setp.lt.u32 %p4, %r10, %r11; @%p4 bra DONE;")],
        ),
        product(
            "wrong results",
            "B A",
            &[
                (
                    "mad.lo.u32 %r13, %r11, %r1, %r12; mul.wide.u32 %rd4, %r13, 4; add.s64 %rd4, %rd1, %rd4;",
                    "mad.lo.u32 %r13, %r11, %r1, %r12; mul.wide.u32 %rd4, %r13, 4; add.s64 %rd4, %rd2, %rd4;",
                ),
                ("add.s64 %rd5, %rd2, %rd5;", "add.s64 %rd5, %rd1, %rd5;"),
            ],
        ),
        product(
            "wrong results",
            "a transposed result",
            &[("mad.lo.u32 %r15, %r11, %r1, %r10;", "mad.lo.u32 %r15, %r10, %r1, %r11;")],
        ),
        product(
            "wrong precision",
            "factors of 16 bits",
            &[("fma.rn.f32", "cvt.rn.f16.f32 %h1, %f2; cvt.f32.f16 %f2, %h1; fma.rn.f32")],
        ),
        product(
            "endless loop",
            "a step of none",
            &[("add.u32 %r12, %r12, 1;", "add.u32 %r12, %r12, 0;")],
        ),
        tiled("race", "no barrier behind the loads", &[("bar.sync 0;", "")]),
        tiled(
            "race",
            "no barrier behind the products",
            &[("@%p5 bra INNER;\n    bar.sync 0;", "@%p5 bra INNER;")],
        ),
        tiled(
            "odd sizes",
            "whole tiles only",
            &[(
                "@%p6 bra TILES;",
                "add.u32 %r22, %r12, 7; setp.lt.u32 %p6, %r22, %r1; @%p6 bra TILES;",
            )],
        ),
        tiled(
            "out of bounds",
            "loads beyond the matrices",
            &[("@%p3 ld", "ld"), ("@%p4 ld", "ld")],
        ),
        tiled(
            "uninitialised read",
            "no zeros beyond the matrices",
            &[("st.shared.f32 [%rd12], %f2;", "@%p3 st.shared.f32 [%rd12], %f2;")],
        ),
    ]
}

fn of_integers() -> Vec<Candidate> {
    let histogram = |kind, name, words: &[(&str, &str)]| changed(HISTOGRAM, kind, name, words);
    let bins = |kind, name, words: &[(&str, &str)]| {
        let mut candidate = changed(Task { body: BLOCK_BINS, ..HISTOGRAM }, kind, name, words);
        (candidate.task, candidate.variables) = (HISTOGRAM, TILE);
        candidate
    };
    let reversal = |kind, name, words: &[(&str, &str)]| changed(REVERSAL, kind, name, words);
    let add = "red.global.add.u32 [%rd5], 1;";
    vec![
        histogram(
            "race",
            "no atomic",
            &[(
                add,
                "ld.global.u32 %r11, [%rd5]; add.u32 %r11, %r11, 1; st.global.u32 [%rd5], %r11;",
            )],
        ),
        histogram(
            "wrong results",
            "eight bins",
            &[("and.b32 %r10, %r10, 15;", "and.b32 %r10, %r10, 7;")],
        ),
        histogram(
            "skipped work",
            "every second value, twice",
            &[
                (
                    GUARD,
                    "and.b32 %r12, I, 1; setp.ne.u32 %p2, %r12, 0; @%p2 bra DONE; setp.ge.u32 %p1, I, %r1;",
                ),
                (add, "red.global.add.u32 [%rd5], 2;"),
            ],
        ),
        histogram(
            "odd sizes",
            "whole warps only",
            &[(GUARD, "and.b32 %r2, %r1, -32; setp.ge.u32 %p1, I, %r2;")],
        ),
        bins(
            "uninitialised read",
            "bins that nobody clears",
            &[("@!%p2 st.shared.u32 [%rd7], 0;", "")],
        ),
        bins("race", "no barrier behind the clearing", &[("bar.sync 0;", "")]),
        bins("race", "no barrier before the merge", &[("MERGE: bar.sync 0;", "MERGE: ")]),
        reversal("wrong results", "one too far", &[("sub.u32 %r11, %r11, 1;", "")]),
        reversal(
            "odd sizes",
            "an even length",
            &[("sub.u32 %r11, %r1, I;", "and.b32 %r12, %r1, -2; sub.u32 %r11, %r12, I;")],
        ),
        reversal(
            "wrong results",
            "a copy",
            &[("sub.u32 %r11, %r1, I; sub.u32 %r11, %r11, 1;", "mov.u32 %r11, I;")],
        ),
        reversal(
            "skipped work",
            "the middle stays",
            &[(
                GUARD,
                "shr.u32 %r12, %r1, 1; setp.eq.u32 %p2, I, %r12; @%p2 bra DONE; setp.ge.u32 %p1, I, %r1;",
            )],
        ),
        reversal(
            "wrong type",
            "the low half of each value",
            &[("st.global.u32 [%rd5], %r10;", "cvt.u16.u32 %h1, %r10; st.global.u16 [%rd5], %h1;")],
        ),
    ]
}
