//! The classes of kernels as people write them.

use gpucast_interpreter::{ByClasses, Options};

use crate::slices::{Buffer, Case, Planned, Value};

const HEAD: &str = ".version 8.0\n.target sm_80\n.address_size 64\n";

/// The report of a kernel `k` on two buffers of `elements` words each and a number.
fn classes(
    body: &str,
    grid: [u32; 3],
    block: [u32; 3],
    elements: u64,
) -> Result<ByClasses, String> {
    let text = format!(
        "{HEAD}.visible .entry k(.param .u64 from, .param .u64 to, .param .u32 n) {{\n\
         .reg .b32 %r<20>; .reg .b64 %d<10>; .reg .pred %p<5>; .shared .align 16 .b32 tile[1024];\n\
         ld.param.u64 %d0, [from]; ld.param.u64 %d1, [to]; ld.param.u32 %r0, [n];\n\
         mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;\n{body}\nret; }}\n"
    );
    let module = gpucast_ptx_frontend::load(&text).unwrap();
    let buffer = |name: &str| Buffer {
        name: name.to_owned(),
        contents: Vec::new(),
        addresses: elements * 4,
    };
    let number = Value::Bytes((elements as u32).to_le_bytes().to_vec());
    let values = vec![Value::Pointer(0), Value::Pointer(1), number];
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

const COPY: &str = "mad.lo.u32 %r4, %r1, %r2, %r3; setp.ge.u32 %p0, %r4, %r0; @%p0 bra END;
    mul.wide.u32 %d2, %r4, 4; add.u64 %d3, %d0, %d2; ld.global.f32 %r5, [%d3];
    add.u64 %d4, %d1, %d2; st.global.f32 [%d4], %r5; END:";

#[test]
fn a_guarded_copy_has_a_class_inside_and_one_at_the_end() {
    let report = classes(COPY, [40, 1, 1], [256, 1, 1], 10_000).unwrap();
    assert_eq!((report.classes, report.executed), (2, 3));
    // An exact fit has no edge.
    let report = classes(COPY, [40, 1, 1], [256, 1, 1], 10_240).unwrap();
    assert_eq!(report.classes, 1);
}

#[test]
fn blocks_that_are_no_whole_lines_fall_into_classes_by_residue() {
    // 40 words are a line and a quarter: four places within the line.
    let report = classes(COPY, [64, 1, 1], [40, 1, 1], 64 * 40).unwrap();
    assert_eq!(report.classes, 4);
}

#[test]
fn a_stencil_has_classes_by_face_edge_and_corner() {
    let stencil = "mov.u32 %r6, %ctaid.y; mov.u32 %r7, %tid.y; mov.u32 %r8, %ntid.y;
        mad.lo.s32 %r4, %r1, %r2, %r3; mad.lo.s32 %r5, %r6, %r8, %r7;
        mov.u32 %r9, %nctaid.x; mul.lo.s32 %r9, %r9, %r2; mad.lo.s32 %r10, %r5, %r9, %r4;
        mul.wide.s32 %d2, %r10, 4; add.s64 %d3, %d0, %d2; mov.u32 %r12, 0;
        sub.s32 %r13, %r9, 1; mov.u32 %r14, %nctaid.y; mul.lo.s32 %r14, %r14, %r8;
        setp.gt.s32 %p0, %r4, 0; @%p0 ld.global.b32 %r12, [%d3+-4];
        setp.lt.s32 %p1, %r4, %r13; @%p1 ld.global.b32 %r12, [%d3+4];
        setp.gt.s32 %p2, %r5, 0; mul.wide.s32 %d5, %r9, 4; sub.s64 %d6, %d3, %d5;
        @%p2 ld.global.b32 %r12, [%d6];
        sub.s32 %r14, %r14, 1; setp.lt.s32 %p3, %r5, %r14; add.s64 %d7, %d3, %d5;
        @%p3 ld.global.b32 %r12, [%d7];
        add.s64 %d4, %d1, %d2; st.global.b32 [%d4], %r12;";
    let report = classes(stencil, [20, 30, 1], [32, 4, 1], 20 * 32 * 30 * 4).unwrap();
    assert_eq!(report.classes, 9);
}

#[test]
fn a_loop_in_strides_of_the_grid_has_few_classes() {
    let stride = "mad.lo.u32 %r4, %r1, %r2, %r3; mov.u32 %r6, %nctaid.x; mul.lo.u32 %r6, %r6, %r2;
        AGAIN: setp.ge.u32 %p0, %r4, %r0; @%p0 bra END;
        mul.wide.u32 %d2, %r4, 4; add.u64 %d3, %d0, %d2; ld.global.f32 %r5, [%d3];
        add.u32 %r4, %r4, %r6; bra AGAIN; END:";
    let report = classes(stride, [50, 1, 1], [64, 1, 1], 50_000).unwrap();
    assert!(report.classes <= 3, "{report:?}");
}

#[test]
fn places_that_are_divided_fall_into_classes() {
    // Column-major tiles: x / 8 and x % 8, the division by a multiplication.
    let tiles = "shr.u32 %r4, %r1, 3; and.b32 %r5, %r1, 7; mul.lo.u32 %r4, %r4, 4096;
        mad.lo.u32 %r4, %r5, 128, %r4; add.u32 %r4, %r4, %r3; mul.wide.u32 %d2, %r4, 4;
        add.u64 %d3, %d0, %d2; ld.global.b32 %r6, [%d3];";
    let report = classes(tiles, [256, 1, 1], [32, 1, 1], 1 << 20).unwrap();
    assert!(report.classes <= 32, "{report:?}");
    let thirds = "mul.wide.u32 %d2, %r1, -1431655765; shr.u64 %d2, %d2, 33; cvt.u32.u64 %r4, %d2;
        mul.lo.u32 %r4, %r4, 4096; add.u32 %r4, %r4, %r3; mul.wide.u32 %d2, %r4, 4; add.u64 %d3, %d0, %d2;
        ld.global.b32 %r6, [%d3];";
    let report = classes(thirds, [99, 1, 1], [32, 1, 1], 1 << 20).unwrap();
    assert!(report.classes <= 33, "{report:?}");
}

#[test]
fn what_contents_decide_is_not_counted_by_classes() {
    let indirect = "mad.lo.u32 %r4, %r1, %r2, %r3; mul.wide.u32 %d2, %r4, 4;
        add.u64 %d3, %d0, %d2; ld.global.u32 %r5, [%d3]; and.b32 %r5, %r5, 63;
        mul.wide.u32 %d4, %r5, 4; add.u64 %d5, %d1, %d4; st.global.u32 [%d5], %r3;";
    let report = classes(indirect, [64, 1, 1], [32, 1, 1], 2048).unwrap();
    assert_eq!(report.classes, 64, "an index of contents is the CTA's own");
    let square = "mul.wide.u32 %d2, %r1, %r1; add.u64 %d3, %d0, %d2; brev.b32 %r5, %r1;
        shr.u32 %r5, %r5, 30; mul.wide.u32 %d4, %r5, 4; add.u64 %d5, %d1, %d4;
        st.global.u32 [%d5], %r3;";
    let report = classes(square, [8, 1, 1], [32, 1, 1], 2048).unwrap();
    assert_eq!(report.classes, 8, "reversed bits are the CTA's own");
}

/// What is computed with a row's number in floating point keeps rows apart, and no columns.
#[test]
fn places_in_floating_point_are_kept_the_same() {
    let rows = "mov.u32 %r6, %ctaid.y; cvt.rn.f32.u32 %r7, %r6; mul.f32 %r7, %r7, 0f43000000;
        cvt.rzi.u32.f32 %r8, %r7; mad.lo.u32 %r4, %r1, %r2, %r3; mad.lo.u32 %r4, %r8, 64, %r4;
        mul.wide.u32 %d2, %r4, 4; add.u64 %d3, %d0, %d2; ld.global.b32 %r5, [%d3];";
    let report = classes(rows, [64, 12, 1], [128, 1, 1], 1 << 20).unwrap();
    assert_eq!(report.classes, 12);
}

#[test]
fn a_fault_anywhere_leaves_the_launch_to_others() {
    // The last CTA goes beyond the end.
    let beyond = COPY.replace("@%p0 bra END;", "");
    let because = classes(&beyond, [40, 1, 1], [256, 1, 1], 10_239).unwrap_err();
    assert!(because.contains("fault"), "{because}");
}
