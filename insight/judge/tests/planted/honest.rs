//! Honest candidates: other shapes, orders and memories, with the same results.

use crate::Candidate;
use crate::faults::{BLOCK_BINS, BLOCK_SUM, TILE, TILED, TILES};
use crate::kernels::{HISTOGRAM, MAP, PRODUCT, REVERSAL, SUM, Task};

type Shape = Option<(&'static str, &'static str)>;

fn written(
    task: Task,
    kind: &'static str,
    name: &'static str,
    variables: &'static str,
    shape: Shape,
    body: &str,
) -> Candidate {
    Candidate { task, name, kind, variables, body: body.to_owned(), shape }
}

/// The reference's body in another shape.
fn shaped(task: Task, name: &'static str, grid: &'static str, block: &'static str) -> Candidate {
    written(task, "other block size", name, "", Some((grid, block)), task.body)
}

/// A body with a few words changed.
fn changed(
    task: Task,
    kind: &'static str,
    name: &'static str,
    variables: &'static str,
    (body, words): (&str, &[(&str, &str)]),
) -> Candidate {
    let mut body = body.to_owned();
    for (old, new) in words {
        assert!(body.contains(old), "{name}: no `{old}`");
        body = body.replacen(old, new, 1);
    }
    written(task, kind, name, variables, None, &body)
}

pub(crate) fn all() -> Vec<Candidate> {
    let mut all = of_map();
    all.extend(of_sum());
    all.extend(of_product());
    all.extend(of_histogram());
    all.extend(of_reversal());
    all
}

/// y = a x + b at element `%r10`, which is below n.
const MAP_ONE: &str = "mul.wide.u32 %rd4, %r10, 4;
    add.s64 %rd5, %rd1, %rd4; add.s64 %rd6, %rd2, %rd4; add.s64 %rd7, %rd3, %rd4;
    ld.global.f32 %f2, [%rd5]; ld.global.f32 %f3, [%rd6];
    fma.rn.f32 %f4, %f1, %f2, %f3; st.global.f32 [%rd7], %f4;";

fn of_map() -> Vec<Candidate> {
    let map = |kind, name, words: &[(&str, &str)]| changed(MAP, kind, name, "", (MAP.body, words));
    let fma = "fma.rn.f32 %f4, %f1, %f2, %f3;";
    let stride = format!(
        "mov.u32 %r10, I; NEXT: setp.ge.u32 %p1, %r10, %r1; @%p1 bra DONE; {MAP_ONE}
         add.u32 %r10, %r10, G; bra NEXT; DONE: ret;"
    );
    let coarse = format!(
        "mul.lo.u32 %r10, I, 4; add.u32 %r11, %r10, 4; NEXT: setp.ge.u32 %p1, %r10, %r1;
         @%p1 bra DONE; {MAP_ONE} add.u32 %r10, %r10, 1; setp.lt.u32 %p2, %r10, %r11;
         @%p2 bra NEXT; DONE: ret;"
    );
    let vector = format!(
        "mul.lo.u32 %r10, I, 4; add.u32 %r11, %r10, 4; setp.gt.u32 %p1, %r11, %r1; @%p1 bra TAIL;
         mul.wide.u32 %rd4, %r10, 4;
         add.s64 %rd5, %rd1, %rd4; add.s64 %rd6, %rd2, %rd4; add.s64 %rd7, %rd3, %rd4;
         ld.global.v4.f32 {{%f10, %f11, %f12, %f13}}, [%rd5];
         ld.global.v4.f32 {{%f14, %f15, %f16, %f17}}, [%rd6];
         fma.rn.f32 %f10, %f1, %f10, %f14; fma.rn.f32 %f11, %f1, %f11, %f15;
         fma.rn.f32 %f12, %f1, %f12, %f16; fma.rn.f32 %f13, %f1, %f13, %f17;
         st.global.v4.f32 [%rd7], {{%f10, %f11, %f12, %f13}}; bra DONE;
         TAIL: setp.ge.u32 %p2, %r10, %r1; @%p2 bra DONE; {MAP_ONE}
         add.u32 %r10, %r10, 1; bra TAIL; DONE: ret;"
    );
    let staged = "mov.f32 %f2, 0f00000000; setp.ge.u32 %p1, I, %r1; mul.wide.u32 %rd4, I, 4;
        add.s64 %rd5, %rd1, %rd4; add.s64 %rd6, %rd2, %rd4; add.s64 %rd7, %rd3, %rd4;
        @!%p1 ld.global.f32 %f2, [%rd5]; mov.u64 %rd8, tile; mul.wide.u32 %rd9, T, 4;
        add.s64 %rd8, %rd8, %rd9; st.shared.f32 [%rd8], %f2; bar.sync 0;
        ld.shared.f32 %f2, [%rd8]; @%p1 bra DONE;
        ld.global.f32 %f3, [%rd6]; fma.rn.f32 %f4, %f1, %f2, %f3; st.global.f32 [%rd7], %f4;
        DONE: ret;";
    let again = format!(
        "mov.u32 %r10, I; setp.ge.u32 %p1, %r10, %r1; @%p1 bra DONE; {MAP_ONE}
         setp.ne.u32 %p2, T, 0; @%p2 bra DONE; mov.u32 %r10, 0; {MAP_ONE} DONE: ret;"
    );
    let four = Some(("${ceil(n / 256)}", "64"));
    vec![
        shaped(MAP, "32 threads", "${ceil(n / 32)}", "32"),
        shaped(MAP, "256 threads", "${ceil(n / 256)}", "256"),
        shaped(MAP, "96 threads", "${ceil(n / 96)}", "96"),
        shaped(MAP, "spare blocks", "${ceil(n / 64) + 3}", "64"),
        written(MAP, "grid-stride loop", "two blocks", "", Some(("2", "64")), &stride),
        written(MAP, "grid-stride loop", "one thread", "", Some(("1", "1")), &stride),
        written(MAP, "more work per thread", "four neighbours", "", four, &coarse),
        written(MAP, "vector loads", "four floats, with a tail", "", four, &vector),
        written(
            MAP,
            "more work per thread",
            "each block writes the first element, too",
            "",
            None,
            &again,
        ),
        written(MAP, "shared tile", "x by way of shared memory", TILE, None, staged),
        map(
            "other instructions",
            "a product and a sum",
            &[(fma, "mul.f32 %f4, %f1, %f2; add.f32 %f4, %f4, %f3;")],
        ),
        map(
            "other instructions",
            "double precision",
            &[(
                fma,
                "cvt.f64.f32 %d1, %f1; cvt.f64.f32 %d2, %f2; cvt.f64.f32 %d3, %f3; fma.rn.f64 %d4, %d1, %d2, %d3; cvt.rn.f32.f64 %f4, %d4;",
            )],
        ),
        map(
            "other instructions",
            "loads for reading alone",
            &[
                ("ld.global.f32 %f2", "ld.global.nc.f32 %f2"),
                ("ld.global.f32 %f3", "ld.global.nc.f32 %f3"),
            ],
        ),
        map(
            "other order",
            "from the end",
            &[(
                "mul.wide.u32 %rd4, I, 4;",
                "sub.u32 %r10, %r1, I; sub.u32 %r10, %r10, 1; mul.wide.u32 %rd4, %r10, 4;",
            )],
        ),
        map(
            "other order",
            "a store before the last one",
            &[(
                "st.global.f32 [%rd7], %f4;",
                "st.global.f32 [%rd7], %f2; st.global.f32 [%rd7], %f4; ld.global.f32 %f5, [%rd7];",
            )],
        ),
    ]
}

fn of_sum() -> Vec<Candidate> {
    let block =
        |kind, name, words: &[(&str, &str)]| changed(SUM, kind, name, TILE, (BLOCK_SUM, words));
    let load = "mul.wide.u32 %rd4, %r10, 4; add.s64 %rd4, %rd1, %rd4; ld.global.f32 %f2, [%rd4];
        add.f32 %f1, %f1, %f2;";
    let strided = |add: &str| {
        format!(
            "mov.f32 %f1, 0f00000000; mov.u32 %r10, I;
             NEXT: setp.ge.u32 %p1, %r10, %r1; @%p1 bra ADD; {load}
             add.u32 %r10, %r10, G; bra NEXT; ADD: {add} DONE: ret;"
        )
    };
    let atomic = strided("red.global.add.f32 [%rd2], %f1;");
    let shuffle = |offset: u32| {
        format!(
            "shfl.sync.down.b32 %r11, %r12, {offset}, 31, -1; mov.b32 %f3, %r11;
             add.f32 %f1, %f1, %f3; mov.b32 %r12, %f1; "
        )
    };
    let shuffles: String = [16, 8, 4, 2, 1].map(shuffle).concat();
    let warp = strided(&format!(
        "mov.b32 %r12, %f1; {shuffles} and.b32 %r13, T, 31; setp.ne.u32 %p2, %r13, 0;
         @%p2 bra DONE; red.global.add.f32 [%rd2], %f1;"
    ));
    // The last block adds what all blocks have put down, and takes the ticket back.
    let ticket = "mov.f32 %f1, 0f00000000; setp.ne.u32 %p1, T, 0; @%p1 bra DONE;
        mul.lo.u32 %r10, B, 64; add.u32 %r14, %r10, 64; min.u32 %r14, %r14, %r1;
        NEXT: setp.ge.u32 %p2, %r10, %r14; @%p2 bra PUT;
        mul.wide.u32 %rd4, %r10, 4; add.s64 %rd4, %rd1, %rd4; ld.global.f32 %f2, [%rd4];
        add.f32 %f1, %f1, %f2; add.u32 %r10, %r10, 1; bra NEXT;
        PUT: mov.u64 %rd5, partial; mul.wide.u32 %rd6, B, 4; add.s64 %rd6, %rd5, %rd6;
        st.global.f32 [%rd6], %f1; membar.gl; mov.u64 %rd7, ticket;
        atom.global.add.u32 %r11, [%rd7], 1; sub.u32 %r12, %r37, 1;
        setp.ne.u32 %p3, %r11, %r12; @%p3 bra DONE; membar.gl;
        mov.f32 %f1, 0f00000000; mov.u32 %r10, 0;
        MORE: mul.wide.u32 %rd6, %r10, 4; add.s64 %rd6, %rd5, %rd6; ld.global.f32 %f2, [%rd6];
        add.f32 %f1, %f1, %f2; add.u32 %r10, %r10, 1; setp.lt.u32 %p4, %r10, %r37; @%p4 bra MORE;
        st.global.f32 [%rd2], %f1; st.global.u32 [%rd7], 0;
        DONE: ret;";
    let backwards: &[(&str, &str)] = &[
        ("mov.u64 %rd4, %rd1;", "mul.wide.u32 %rd5, %r1, 4; add.s64 %rd4, %rd1, %rd5;"),
        ("ld.global.f32 %f2, [%rd4];", "ld.global.f32 %f2, [%rd4+-4];"),
        ("add.s64 %rd4, %rd4, 4;", "sub.s64 %rd4, %rd4, 4;"),
    ];
    let double: &[(&str, &str)] = &[
        ("mov.f32 %f1, 0f00000000;", "mov.f64 %d1, 0d0000000000000000;"),
        ("add.f32 %f1, %f1, %f2;", "cvt.f64.f32 %d2, %f2; add.f64 %d1, %d1, %d2;"),
        ("STORE: ", "STORE: cvt.rn.f32.f64 %f1, %d1; "),
    ];
    vec![
        block("shared tile", "a tree in each block, then atomics", &[]),
        block(
            "atomics",
            "an atomic whose value is dropped",
            &[("red.global.add.f32 [%rd2], %f4;", "atom.global.add.f32 %f5, [%rd2], %f4;")],
        ),
        block("other order", "atomics of another scope", &[("red.global", "red.sys.global")]),
        written(SUM, "atomics", "each thread one", "", None, &atomic),
        written(SUM, "grid-stride loop", "32 threads", "", Some(("1", "32")), &atomic),
        written(SUM, "grid-stride loop", "two blocks of 96", "", Some(("2", "96")), &atomic),
        written(SUM, "shuffles", "a tree in each warp", "", None, &warp),
        written(SUM, "shuffles", "one warp", "", Some(("1", "32")), &warp),
        written(
            SUM,
            "last block",
            "counted by a ticket",
            ".global .u32 ticket; .global .f32 partial[1024];",
            None,
            ticket,
        ),
        changed(SUM, "other order", "from the end", "", (SUM.body, backwards)),
        changed(SUM, "other instructions", "double precision", "", (SUM.body, double)),
        shaped(SUM, "one thread", "1", "1"),
    ]
}

fn of_product() -> Vec<Candidate> {
    let product = |kind, name, words: &[(&str, &str)]| {
        changed(PRODUCT, kind, name, "", (PRODUCT.body, words))
    };
    let tiled =
        |kind, name, words: &[(&str, &str)]| changed(PRODUCT, kind, name, TILES, (TILED, words));
    let flat = PRODUCT.body.replacen(
        "mad.lo.u32 %r10, BX, 8, TX; mad.lo.u32 %r11, BY, 8, TY;",
        "rem.u32 %r10, I, %r1; div.u32 %r11, I, %r1;",
        1,
    );
    let rows =
        PRODUCT.body.replacen("mad.lo.u32 %r11, BY, 8, TY;", "mad.lo.u32 %r11, BY, 4, TY;", 1);
    let two = PRODUCT
        .body
        .replacen("mad.lo.u32 %r11, BY, 8, TY;", "mad.lo.u32 %r11, BY, 8, TY; mov.u32 %r16, 0;", 1)
        .replacen("setp.ge.u32 %p1, %r10, %r1;", "AGAIN: setp.ge.u32 %p1, %r10, %r1;", 1)
        .replacen("DONE: ret;", "add.u32 %r11, %r11, 4; add.u32 %r16, %r16, 1; setp.lt.u32 %p4, %r16, 2; @%p4 bra AGAIN; DONE: ret;", 1);
    let back: &[(&str, &str)] = &[
        ("mov.u32 %r12, 0;", "sub.u32 %r12, %r1, 1;"),
        ("setp.ge.u32 %p3, %r12, %r1;", "setp.lt.s32 %p3, %r12, 0;"),
        ("add.u32 %r12, %r12, 1;", "sub.u32 %r12, %r12, 1;"),
    ];
    vec![
        tiled("shared tile", "tiles of 8 × 8", &[]),
        tiled(
            "shared tile",
            "stores behind another guard",
            &[("@!%p7 bra DONE;", "not.pred %p8, %p7; @%p8 bra DONE;")],
        ),
        tiled(
            "other order",
            "terms of a tile from its end",
            &[
                ("mov.u32 %r19, 0;", "mov.u32 %r19, 7;"),
                (
                    "add.u32 %r19, %r19, 1; setp.lt.u32 %p5, %r19, 8;",
                    "sub.u32 %r19, %r19, 1; setp.ge.s32 %p5, %r19, 0;",
                ),
            ],
        ),
        product("other order", "terms from the last one", back),
        product(
            "other instructions",
            "a product and a sum",
            &[("fma.rn.f32 %f1, %f2, %f3, %f1;", "mul.f32 %f4, %f2, %f3; add.f32 %f1, %f1, %f4;")],
        ),
        product(
            "other instructions",
            "double precision",
            &[
                ("mov.f32 %f1, 0f00000000;", "mov.f64 %d1, 0d0000000000000000;"),
                (
                    "fma.rn.f32 %f1, %f2, %f3, %f1;",
                    "cvt.f64.f32 %d2, %f2; cvt.f64.f32 %d3, %f3; fma.rn.f64 %d1, %d2, %d3, %d1;",
                ),
                ("STORE: ", "STORE: cvt.rn.f32.f64 %f1, %d1; "),
            ],
        ),
        product(
            "other instructions",
            "loads for reading alone",
            &[("ld.global.f32 %f2", "ld.global.nc.f32 %f2")],
        ),
        written(
            PRODUCT,
            "other block size",
            "one dimension",
            "",
            Some(("${ceil(n * n / 64)}", "64")),
            &flat,
        ),
        written(
            PRODUCT,
            "other block size",
            "8 × 4 threads",
            "",
            Some(("${ceil(n / 8)},${ceil(n / 4)}", "8,4")),
            &rows,
        ),
        written(
            PRODUCT,
            "more work per thread",
            "two rows",
            "",
            Some(("${ceil(n / 8)},${ceil(n / 8)}", "8,4")),
            &two,
        ),
    ]
}

fn of_histogram() -> Vec<Candidate> {
    let bins = |kind, name, words: &[(&str, &str)]| {
        changed(HISTOGRAM, kind, name, TILE, (BLOCK_BINS, words))
    };
    let stride = "mov.u32 %r11, I; NEXT: setp.ge.u32 %p1, %r11, %r1; @%p1 bra DONE;
        mul.wide.u32 %rd4, %r11, 4; add.s64 %rd4, %rd1, %rd4; ld.global.u32 %r10, [%rd4];
        and.b32 %r10, %r10, 15; mul.wide.u32 %rd5, %r10, 4; add.s64 %rd5, %rd2, %rd5;
        red.global.add.u32 [%rd5], 1; add.u32 %r11, %r11, G; bra NEXT; DONE: ret;";
    // Each of 16 threads counts one bin, and nobody else writes it.
    let owned = "setp.ge.u32 %p1, I, 16; @%p1 bra DONE; mov.u32 %r10, 0; mov.u32 %r11, 0;
        NEXT: setp.ge.u32 %p2, %r10, %r1; @%p2 bra STORE;
        mul.wide.u32 %rd4, %r10, 4; add.s64 %rd4, %rd1, %rd4; ld.global.u32 %r12, [%rd4];
        and.b32 %r12, %r12, 15; setp.eq.u32 %p3, %r12, I; @%p3 add.u32 %r11, %r11, 1;
        add.u32 %r10, %r10, 1; bra NEXT;
        STORE: mul.wide.u32 %rd5, I, 4; add.s64 %rd5, %rd2, %rd5; st.global.u32 [%rd5], %r11;
        DONE: ret;";
    vec![
        bins("shared tile", "bins of each block", &[]),
        bins(
            "atomics",
            "no merge of empty bins",
            &[(
                "red.global.add.u32 [%rd8], %r11;",
                "setp.eq.u32 %p3, %r11, 0; @%p3 bra DONE; red.global.add.u32 [%rd8], %r11;",
            )],
        ),
        changed(
            HISTOGRAM,
            "atomics",
            "an atomic whose value is dropped",
            "",
            (
                HISTOGRAM.body,
                &[("red.global.add.u32 [%rd5], 1;", "atom.global.add.u32 %r11, [%rd5], 1;")],
            ),
        ),
        written(HISTOGRAM, "grid-stride loop", "one block", "", Some(("1", "64")), stride),
        written(
            HISTOGRAM,
            "more work per thread",
            "a bin for each thread",
            "",
            Some(("1", "16")),
            owned,
        ),
        shaped(HISTOGRAM, "128 threads", "${ceil(n / 128)}", "128"),
    ]
}

fn of_reversal() -> Vec<Candidate> {
    let one = "mul.wide.u32 %rd4, %r12, 4; add.s64 %rd4, %rd1, %rd4; ld.global.u32 %r10, [%rd4];
        sub.u32 %r11, %r1, %r12; sub.u32 %r11, %r11, 1;
        mul.wide.u32 %rd5, %r11, 4; add.s64 %rd5, %rd2, %rd5; st.global.u32 [%rd5], %r10;";
    let coarse = format!(
        "mul.lo.u32 %r12, I, 2; setp.ge.u32 %p1, %r12, %r1; @%p1 bra DONE; {one}
         add.u32 %r12, %r12, 1; setp.ge.u32 %p2, %r12, %r1; @%p2 bra DONE; {one} DONE: ret;"
    );
    let stride = format!(
        "mov.u32 %r12, I; NEXT: setp.ge.u32 %p1, %r12, %r1; @%p1 bra DONE; {one}
         add.u32 %r12, %r12, G; bra NEXT; DONE: ret;"
    );
    // A block reverses its elements in shared memory, and writes them in order.
    let shared = "setp.ge.u32 %p1, I, %r1; mov.u64 %rd6, tile; sub.u32 %r12, 63, T;
        mul.wide.u32 %rd7, %r12, 4; add.s64 %rd7, %rd6, %rd7;
        mul.wide.u32 %rd4, I, 4; add.s64 %rd4, %rd1, %rd4; mov.u32 %r10, 0;
        @!%p1 ld.global.u32 %r10, [%rd4]; st.shared.u32 [%rd7], %r10; bar.sync 0;
        mul.wide.u32 %rd8, T, 4; add.s64 %rd8, %rd6, %rd8; ld.shared.u32 %r13, [%rd8];
        mul.lo.u32 %r14, B, 64; add.u32 %r14, %r14, %r12; setp.ge.u32 %p2, %r14, %r1; @%p2 bra DONE;
        sub.u32 %r11, %r1, %r14; sub.u32 %r11, %r11, 1;
        mul.wide.u32 %rd5, %r11, 4; add.s64 %rd5, %rd2, %rd5; st.global.u32 [%rd5], %r13;
        DONE: ret;";
    let gathered: &[(&str, &str)] = &[
        ("[%rd4];", "[%rd6];"),
        (
            "mul.wide.u32 %rd4, I, 4; add.s64 %rd4, %rd1, %rd4;",
            "sub.u32 %r12, %r1, I; sub.u32 %r12, %r12, 1; mul.wide.u32 %rd6, %r12, 4; add.s64 %rd6, %rd1, %rd6;",
        ),
        ("sub.u32 %r11, %r1, I; sub.u32 %r11, %r11, 1;", "mov.u32 %r11, I;"),
    ];
    let bytes: &[(&str, &str)] = &[
        ("ld.global.u32 %r10, [%rd4];", "ld.global.v2.u16 {%h1, %h2}, [%rd4];"),
        ("st.global.u32 [%rd5], %r10;", "st.global.u16 [%rd5+2], %h2; st.global.u16 [%rd5], %h1;"),
    ];
    vec![
        shaped(REVERSAL, "128 threads", "${ceil(n / 128)}", "128"),
        shaped(REVERSAL, "17 threads", "${ceil(n / 17)}", "17"),
        written(REVERSAL, "more work per thread", "two neighbours", "", None, &coarse),
        written(REVERSAL, "grid-stride loop", "one warp", "", Some(("1", "32")), &stride),
        written(REVERSAL, "shared tile", "reversed in shared memory", TILE, None, shared),
        changed(REVERSAL, "other order", "loads from the end", "", (REVERSAL.body, gathered)),
        changed(REVERSAL, "vector loads", "halves of each value", "", (REVERSAL.body, bytes)),
        changed(
            REVERSAL,
            "other instructions",
            "signed values",
            "",
            (
                REVERSAL.body,
                &[("ld.global.u32", "ld.global.s32"), ("st.global.u32", "st.global.s32")],
            ),
        ),
    ]
}
