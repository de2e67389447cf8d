//! Tensor memory: cells that nothing has written, transfers and products that nobody waited for,
//! columns that are left, and kernels in which nothing of this is wrong.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests are not inside the test functions that the lints spare"
)]

use std::path::Path;
use std::sync::Arc;

use gpucast_interpreter::{Argument, DeviceMemory, Launch, Options, Program, Silent, run};
use gpucast_ptx_frontend::ScalarType;
use gpucast_sanitizer::{Buffer, Checks, DeviceShadow, Sanitizer};

use crate::common::{Shape, found_in, launch_on};

/// The first line of a body.
const FIRST: usize = 13;

/// A kernel of four warps that allocates 64 columns before its body and frees them behind it. `%a`
/// is the address of the columns, `%m` that of the warp's quarter; `%p` is true in thread 0.
fn text(body: &str) -> String {
    let text = format!(
        ".version 8.8\n.target sm_100a\n.address_size 64\n\
         .visible .entry k(.param .u64 out) {{\n\
         .shared .align 1024 .b8 tile[8192]; .shared .align 8 .b64 bar; .shared .b32 where;\n\
         .reg .b32 %t, %w, %a, %m, %i, %r<4>, %v<8>; .reg .b64 %b, %out; .reg .pred %p, %first, %n, %ok; ld.param.u64 %out, [out];\n\
         mov.u32 %t, %tid.x; shr.u32 %w, %t, 5; setp.eq.u32 %p, %t, 0; setp.eq.u32 %first, %w, 0; setp.eq.u32 %n, 0, 1;\n\
         mov.b64 %b, tile; shr.u64 %b, %b, 4; and.b64 %b, %b, 16383; or.b64 %b, %b, 70373039669248; mov.b32 %i, {idesc};\n\
         @%p mbarrier.init.shared.b64 [bar], 1;\n\
         @%first tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [where], 64;\n\
         bar.sync 0;\n\
         ld.shared.b32 %a, [where]; shl.b32 %m, %w, 21; add.u32 %m, %m, %a;\n\
         {body}\n\
         bar.sync 0;\n\
         @%first tcgen05.dealloc.cta_group::1.sync.aligned.b32 %a, 64;\nret;\n}}\n",
        // 128 rows, 16 columns, .f16 and sums of .f32.
        idesc = 1 << 4 | 2 << 17 | 8 << 24,
    );
    assert_eq!(text.lines().nth(FIRST - 1), body.lines().next());
    text
}

#[track_caller]
fn check(lines: &[&str], expected: &[&str]) {
    assert_eq!(found_in(&text(&lines.join("\n")), &Shape::new(128)), expected);
}

const STORE: &str = "tcgen05.st.sync.aligned.32x32b.x1.b32 [%m], {%t};";
const STORED: &str = "tcgen05.wait::st.sync.aligned;";
const LOAD: &str = "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%v0}, [%m];";
const LOADED: &str = "tcgen05.wait::ld.sync.aligned;";
const BARRIER: &str = "bar.sync 0;";
const MULTIPLY: &str = "@%p tcgen05.mma.cta_group::1.kind::f16 [%a], %b, %b, %i, %n;";
const COMMIT: &str =
    "@%p tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bar];";
const AWAIT: &str = "wait: mbarrier.try_wait.parity.shared.b64 %ok, [bar], 0; @!%ok bra wait;";

#[test]
fn a_store_is_waited_for_before_its_cells_are_read() {
    let missing = "read-after-write PendingTransfer x4: thread 0 line 14, thread 0 line 13, \
        lane 0, column 0 of tensor memory";
    check(&[STORE, LOAD, LOADED], &[missing]);
    check(&[STORE, STORED, LOAD, LOADED], &[]);
}

#[test]
fn a_load_is_waited_for_before_its_cells_change() {
    let overwritten = "write-after-read PendingTransfer x4: thread 0 line 16, thread 0 line 15, \
        lane 0, column 0 of tensor memory";
    check(&[STORE, STORED, LOAD, STORE, LOADED, STORED], &[overwritten]);
    check(&[STORE, STORED, LOAD, LOADED, STORE, STORED], &[]);
    // It is the path that counts, not the text.
    let path = ["@%n bra around;", LOADED, "around:", STORE, STORED];
    let before = [STORE, STORED, LOAD];
    check(&[&before[..], &path].concat(), &[]);
    let around = ["@!%n bra around;", LOADED, "around:", STORE, STORED];
    let overwritten = overwritten.replace("line 16", "line 19");
    check(&[&before[..], &around].concat(), &[&overwritten]);
}

#[test]
fn a_tile_is_overwritten_when_the_commit_of_its_product_was_waited_for() {
    let store = "@%p st.shared.u32 [tile], %t;";
    let overwritten = "write-after-read TensorCores x1: thread 0 line 15, thread 0 line 13, \
        4 Shared tile+0";
    check(&[MULTIPLY, COMMIT, store, AWAIT], &[overwritten]);
    check(&[MULTIPLY, COMMIT, AWAIT, store], &[]);
    // A copy overwrites it, too.
    let copy = "@%p mbarrier.init.shared.b64 [tile + 8184], 1; @%p cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%out], 16, [tile + 8184];";
    let by_copy = overwritten.replace("4 Shared", "16 Shared");
    check(&[MULTIPLY, COMMIT, copy, AWAIT], &[&by_copy]);
    check(&[MULTIPLY, COMMIT, AWAIT, copy], &[]);
}

#[test]
fn cells_that_nothing_has_written_are_not_read() {
    let load = "tcgen05.ld.sync.aligned.32x32b.x2.b32 {%v0, %v1}, [%m];";
    let unwritten = "uninitialised-read x4: thread 0 line 15, lane 0, column 1 of tensor memory";
    check(&[STORE, STORED, load, LOADED], &[unwritten]);
    // What an earlier allocation has left is nobody's.
    let again = [
        STORE,
        STORED,
        BARRIER,
        "@%first tcgen05.dealloc.cta_group::1.sync.aligned.b32 %a, 64;",
        "@%first tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [where], 64;",
        BARRIER,
        LOAD,
        LOADED,
    ];
    let left = "uninitialised-read x4: thread 0 line 19, lane 0, column 0 of tensor memory";
    check(&again, &[left]);
    // A product that is added to D reads D.
    let add = MULTIPLY.replace("%n;", "%p;");
    let d = "uninitialised-read x1: thread 0 line 13, lane 0, column 0 of tensor memory";
    check(&[&add, COMMIT, AWAIT], &[d]);
}

#[test]
fn a_product_is_waited_for_before_its_sums_are_loaded() {
    let early = "read-after-write TensorCores x4: thread 0 line 14, thread 0 line 13, \
        lane 0, column 0 of tensor memory";
    check(&[MULTIPLY, LOAD, LOADED, COMMIT, AWAIT], &[early]);
    check(&[MULTIPLY, COMMIT, AWAIT, LOAD, LOADED], &[]);
    // One warp waits, and the others meet it.
    let alone = "@!%first bra others;";
    check(&[MULTIPLY, COMMIT, alone, AWAIT, "others:", BARRIER, LOAD, LOADED], &[]);
    let others = "read-after-write TensorCores x3: thread 32 line 18, thread 0 line 13, \
        lane 32, column 0 of tensor memory";
    check(&[MULTIPLY, COMMIT, alone, AWAIT, "others:", LOAD, LOADED], &[others]);
    // Nobody committed what comes behind the commit.
    let behind = "read-after-write TensorCores x4: thread 0 line 16, thread 0 line 15, \
        lane 0, column 0 of tensor memory";
    check(&[MULTIPLY, COMMIT, MULTIPLY, LOAD, LOADED, AWAIT], &[behind]);
}

#[test]
fn operations_of_the_tensor_cores_for_one_thread_take_their_turns() {
    let copy = "@%p tcgen05.cp.cta_group::1.128x256b [%a + 32], %b;";
    let multiply = MULTIPLY.replace(" %b, %b,", " [%a + 32], %b,");
    let shift = "@%p tcgen05.shift.cta_group::1.down [%a + 32];";
    check(&[copy, &multiply, shift, &multiply, &multiply, COMMIT, AWAIT], &[]);
    // Another thread's do not.
    let other = "setp.eq.u32 %ok, %t, 32; @%ok tcgen05.shift.cta_group::1.down [%a + 32];";
    let found = found_in(&text(&[copy, other, COMMIT, AWAIT].join("\n")), &Shape::new(128));
    assert_eq!(
        found,
        [
            "read-after-write TensorCores x1: thread 32 line 14, thread 0 line 13, \
             lane 0, column 32 of tensor memory",
            "write-after-write TensorCores x1: thread 32 line 14, thread 0 line 13, \
             lane 0, column 32 of tensor memory",
        ]
    );
}

#[test]
fn stores_of_all_warps_come_before_a_product_that_reads_them() {
    let store =
        "tcgen05.st.sync.aligned.32x32b.x8.b32 [%m + 32], {%t, %t, %t, %t, %t, %t, %t, %t};";
    let multiply = MULTIPLY.replace(" %b, %b,", " [%a + 32], %b,");
    check(&[store, STORED, BARRIER, &multiply, COMMIT, AWAIT], &[]);
    // Without a barrier, the warps that come later overwrite what the product reads.
    let found =
        found_in(&text(&[store, STORED, &multiply, COMMIT, AWAIT].join("\n")), &Shape::new(128));
    assert!(found.iter().any(|line| line.contains("tensor memory")), "{found:?}");
}

#[test]
fn columns_are_freed_and_not_used_afterwards() {
    let left = text(STORED).replace("@%first tcgen05.dealloc", "@%n tcgen05.dealloc");
    let found = found_in(&left, &Shape::new(128));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("columns-left x1"), "{found:?}");
    let free = "@%first tcgen05.dealloc.cta_group::1.sync.aligned.b32 %a, 64;";
    let found = found_in(&text(&[free, BARRIER, LOAD].join("\n")), &Shape::new(128));
    assert!(found[0].starts_with("out-of-bounds x1"), "{found:?}");
}

/// Checks that are not asked for find nothing.
#[test]
fn each_check_finds_its_own() {
    let wrong = text(&[STORE, LOAD].join("\n"));
    for (check, kinds) in
        [("race", &["read-after-write"][..]), ("init", &[]), ("memory", &[]), ("sync", &[])]
    {
        let shape = Shape { checks: check.parse::<Checks>().unwrap(), ..Shape::new(128) };
        let (findings, _) = launch_on(&wrong, &shape, 1);
        let found: Vec<_> = findings.findings.iter().map(|finding| finding.kind.name()).collect();
        assert_eq!(found, kinds, "{check}");
    }
}

/// Triton's products for sm_100 do all of it right.
#[test]
fn products_that_triton_compiles_are_silent() {
    for (file, element, grid, shared) in [
        ("matmul_sm_100", 2, [2, 2, 1], 36_880),
        ("matmul_tf32_sm_100", 4, [2, 2, 1], 36_880),
        ("matmul_e4m3_sm_100", 1, [2, 1, 1], 49_168),
    ] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join(format!("../../interpreter/tests/kernels/triton/{file}.ptx"));
        let text = std::fs::read_to_string(path).unwrap();
        let module = gpucast_ptx_frontend::load(&text).unwrap();
        let program = Program::new(&module, &text, "matmul").unwrap();
        let mut memory = DeviceMemory::new();
        let sizes = [200 * 128 * element, 112 * 96 * element, 200 * 80 * 4];
        let (mut buffers, mut arguments) = (Vec::new(), Vec::new());
        for (name, bytes) in ["a", "b", "c"].into_iter().zip(sizes) {
            let address = memory.allocate(name, bytes).unwrap();
            let name = name.to_owned();
            buffers.push(Buffer { name, address, bytes, initialised: true });
            arguments.push(Argument::Address(address));
        }
        for bits in [200, 80, 112, 128, 96, 80] {
            arguments.push(Argument::Scalar { ty: ScalarType::U32, bits });
        }
        arguments.extend([Argument::Address(0), Argument::Address(0)]);
        let launch = Launch {
            grid,
            block: [128, 1, 1],
            cluster: None,
            dynamic_shared_bytes: shared,
            arguments,
        };
        let checks = Checks::all();
        let options = Sanitizer::options(checks, Options::default());
        let device = Arc::new(DeviceShadow::new(buffers));
        let mut sanitizer = Sanitizer::new(&program, &launch, checks, &device);
        run(&program, &launch, &mut memory, &mut sanitizer, &options, &Silent)
            .unwrap_or_else(|error| panic!("{file}: {error}"));
        let found = sanitizer.finish(None).findings;
        let found: Vec<String> = found.iter().map(crate::common::line).collect();
        assert_eq!(found, [""; 0], "{file}");
    }
}
