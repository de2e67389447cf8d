//! The classes of kernels that call functions, and of those that keep values in the threads'
//! memory.

use gpucast_interpreter::{ByClasses, Options};

use crate::slices::{Buffer, Case, Planned, Value};

const HEAD: &str = ".version 8.0\n.target sm_80\n.address_size 64\n";

/// The report of a kernel `k` with functions, on two buffers of `elements` words each and a number.
/// `%r4` is the index of the thread in the grid, `%d0` and `%d1` are the buffers.
fn classes(
    functions: &str,
    body: &str,
    grid: [u32; 3],
    elements: u64,
) -> Result<ByClasses, String> {
    let text = format!(
        "{HEAD}{functions}\n.visible .entry k(.param .u64 from, .param .u64 to, .param .u32 n) {{\n\
         .reg .b32 %r<20>; .reg .b64 %d<10>; .reg .pred %p<5>; .reg .b16 %h<2>;\n\
         .local .align 8 .b8 own[64];\n\
         ld.param.u64 %d0, [from]; ld.param.u64 %d1, [to]; ld.param.u32 %r0, [n];\n\
         mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;\n\
         mad.lo.u32 %r4, %r1, %r2, %r3;\n{body}\nret; }}\n"
    );
    let module = gpucast_ptx_frontend::load(&text).unwrap();
    let buffer = |name: &str| Buffer {
        name: name.to_owned(),
        contents: Vec::new(),
        addresses: elements * 4,
    };
    let number = Value::Bytes((elements as u32).to_le_bytes().to_vec());
    let values = vec![Value::Pointer(0), Value::Pointer(1), number];
    let block = [128, 1, 1];
    let planned = Planned { kernel: "k".to_owned(), grid, block, shared: 0, values };
    let case = Case {
        text: &text,
        module: &module,
        buffers: vec![buffer("from"), buffer("to")],
        launches: vec![planned],
        options: Options::default(),
    };
    case.compare_classes().pop().unwrap()
}

/// A helper as nvcc writes one that it does not inline: it copies an element, unless the index is
/// too large, and returns the next index.
const MOVE: &str =
    ".func (.param .b32 next) move(.param .b64 from, .param .b64 to, .param .b32 index,
    .param .b32 end) {
    .reg .b32 %r<6>; .reg .b64 %d<6>; .reg .pred %p<2>;
    ld.param.u64 %d0, [from]; ld.param.u64 %d3, [to]; ld.param.u32 %r0, [index];
    ld.param.u32 %r1, [end]; setp.ge.u32 %p0, %r0, %r1; @%p0 bra END;
    mul.wide.u32 %d1, %r0, 4; add.u64 %d2, %d0, %d1; ld.global.b32 %r2, [%d2];
    add.u64 %d4, %d3, %d1; st.global.b32 [%d4], %r2;
    END: add.u32 %r3, %r0, 32; st.param.b32 [next], %r3; ret; }";

const CALLS: &str = "{ .param .b64 a; .param .b64 b; .param .b32 c; .param .b32 d; .param .b32 e;
    st.param.b64 [a], %d0; st.param.b64 [b], %d1; st.param.b32 [c], %r4; st.param.b32 [d], %r0;
    call (e), move, (a, b, c, d); ld.param.b32 %r5, [e]; }
    mul.wide.u32 %d2, %r5, 4; add.u64 %d4, %d0, %d2; setp.lt.u32 %p0, %r5, %r0;
    @%p0 ld.global.b32 %r6, [%d4];";

#[test]
fn a_function_with_an_index_has_classes_inside_and_at_the_end() {
    let report = classes(MOVE, CALLS, [40, 1, 1], 5_000).unwrap();
    // The next index lies beyond the end in the last CTA but one, too.
    assert_eq!((report.classes, report.executed), (3, 4));
    // The next index lies beyond the end in the last CTA alone.
    let report = classes(MOVE, CALLS, [40, 1, 1], 5_120).unwrap();
    assert_eq!(report.classes, 2);
}

#[test]
fn registers_are_arguments_and_results() {
    let twice = ".func (.reg .b32 %s) twice(.reg .b32 %a) { shl.b32 %s, %a, 1; ret; }";
    let calls = "call (%r5), twice, (%r4); call (%r6), twice, (%r5);
        mul.wide.u32 %d2, %r6, 4; add.u64 %d3, %d0, %d2; ld.global.b32 %r7, [%d3];";
    assert_eq!(classes(twice, calls, [40, 1, 1], 4 * 5_120).unwrap().classes, 1);
}

/// Lanes that do not call go on behind the results, which lie behind operations that are followed.
#[test]
fn some_lanes_call() {
    let calls = CALLS.replace(
        "call (e)",
        "st.param.b32 [e], %r4; and.b32 %r8, %r3, 3; setp.eq.u32 %p1, %r8, 1;\n@%p1 call (e)",
    );
    assert_eq!(classes(MOVE, &calls, [40, 1, 1], 5_120).unwrap().classes, 2);
    let calls = "mov.b32 %r5, %r4; and.b32 %r8, %r3, 3; setp.eq.u32 %p1, %r8, 1;
        @%p1 call (%r5), next, (%r4);
        mul.wide.u32 %d2, %r5, 4; add.u64 %d3, %d0, %d2; ld.global.b32 %r7, [%d3];";
    let own = |operation: &str| {
        format!(".func (.reg .b32 %s) next(.reg .b32 %a) {{ {operation} %s, %a, 1; ret; }}")
    };
    // Lanes that call come back to the others, and all of them make one access.
    let next = own("add.u32");
    assert_eq!(classes(&next, calls, [40, 1, 1], 5_121).unwrap().classes, 1);
    // Their elements move twice as far: the access as a whole is another one in each CTA.
    let twice = own("shl.b32");
    assert_eq!(classes(&twice, calls, [40, 1, 1], 2 * 5_120).unwrap().classes, 40);
}

#[test]
fn a_recursive_function_saves_registers_that_move() {
    let sum = ".func (.param .b64 result) sum(.param .b64 at, .param .b32 depth) {
        .reg .b32 %r<6>; .reg .b64 %d<6>; .reg .pred %p<2>;
        ld.param.u64 %d0, [at]; ld.param.u32 %r0, [depth]; mov.u64 %d1, %d0;
        setp.eq.u32 %p0, %r0, 0; @%p0 bra END; sub.u32 %r1, %r0, 1; add.u64 %d2, %d0, 512;
        { .param .b64 a; .param .b32 b; .param .b64 c; st.param.b64 [a], %d2; st.param.b32 [b], %r1;
          call (c), sum, (a, b); ld.param.b64 %d1, [c]; }
        ld.global.b32 %r2, [%d0]; ld.global.b32 %r3, [%d1];
        END: st.param.b64 [result], %d1; ret; }";
    let calls = "mul.wide.u32 %d2, %r4, 4; add.u64 %d3, %d0, %d2;
        { .param .b64 a; .param .b32 b; .param .b64 c; st.param.b64 [a], %d3; st.param.b32 [b], 3;
          call (c), sum, (a, b); ld.param.b64 %d4, [c]; }
        ld.global.b32 %r5, [%d4];";
    let report = classes(sum, calls, [40, 1, 1], 5_120 + 3 * 128).unwrap();
    assert_eq!(report.classes, 1);
}

#[test]
fn functions_are_called_through_pointers() {
    let calls = CALLS.replace(
        "call (e), move, (a, b, c, d);",
        "mov.u64 %d5, move;
        way: .callprototype (.param .b32 _) _ (.param .b64 _, .param .b64 _, .param .b32 _,
        .param .b32 _);
        call (e), %d5, (a, b, c, d), way;",
    );
    assert_eq!(classes(MOVE, &calls, [40, 1, 1], 5_120).unwrap().classes, 2);
}

/// Registers that are spilled, whole and in parts.
#[test]
fn values_in_the_threads_memory_move() {
    let check = |spill: &str, expected: usize| {
        let body = format!(
            "mul.wide.u32 %d2, %r4, 4; add.u64 %d3, %d0, %d2; {spill} ld.global.b32 %r7, [%d6];"
        );
        let report = classes("", &body, [40, 1, 1], 5_120).unwrap();
        assert_eq!(report.classes, expected, "{spill}");
    };
    check("st.local.b64 [own+8], %d3; ld.local.b64 %d6, [own+8];", 1);
    check(
        "mov.u64 %d4, own; cvta.local.u64 %d4, %d4; st.b64 [%d4+8], %d3; ld.local.b64 %d6, [own+8];",
        1,
    );
    check("st.local.v2.b64 [own], {%d1, %d3}; ld.local.v2.b64 {%d5, %d6}, [own];", 1);
    check("st.local.b32 [own], %r4; ld.local.b32 %r6, [own]; mad.wide.u32 %d6, %r6, 4, %d0;", 1);
    // What was there before is covered.
    check("st.local.b64 [own], %d3; st.local.b64 [own], %d0; ld.local.b64 %d6, [own];", 1);
    // Halves of a value are not followed, and nor are shorter ones.
    check(
        "st.local.b64 [own], %d3; ld.local.u32 %r6, [own]; and.b32 %r6, %r6, 4; \
         mad.wide.u32 %d6, %r6, 4, %d0;",
        40,
    );
    check(
        "st.local.b64 [own], %d3; st.local.b32 [own+4], 0; ld.local.b64 %d6, [own]; \
         and.b64 %d6, %d6, 4; add.u64 %d6, %d6, %d0;",
        40,
    );
    check(
        "cvt.u16.u32 %h0, %r4; st.local.b16 [own], %h0; ld.local.u16 %h1, [own]; cvt.u32.u16 %r6, %h1; mad.wide.u32 %d6, %r6, 4, %d0;",
        40,
    );
    // Another lane's way through the memory is not this one's.
    check(
        "st.local.b64 [own], %d0; setp.lt.u32 %p0, %r3, 64; @%p0 st.local.b64 [own], %d3; ld.local.b64 %d6, [own];",
        1,
    );
}
