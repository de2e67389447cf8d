//! Kernels that nvcc makes of libcu++'s pipelines and barriers, of cooperative groups and of
//! clusters: nothing is found in what is right, and what is wrong in one of them is.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests are not inside the test functions that the lints spare"
)]

use std::path::Path;
use std::sync::Arc;

use gpucast_interpreter::{
    Argument, Buffers, DeviceMemory, Launch, Options, Program, Silent, Slicer, run, run_cluster,
};
use gpucast_ptx_frontend::ScalarType;
use gpucast_sanitizer::{Buffer, Checks, DeviceShadow, HazardScan, Sanitizer};

use crate::common::kernel;

/// What is found in a kernel of a file; `words` are the lengths of its buffers, of which the host
/// fills the first `filled`, and `count` its last argument.
fn found(
    file: &str,
    kernel: &str,
    (grid, block): ([u32; 3], u32),
    shared: u32,
    words: &[u64],
    filled: usize,
    count: Option<u32>,
) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join(format!("../../interpreter/tests/kernels/{file}.ptx"));
    let text = std::fs::read_to_string(path).unwrap();
    let module = gpucast_ptx_frontend::load(&text).unwrap();
    let program = Program::new(&module, &text, kernel).unwrap_or_else(|error| panic!("{error}"));
    let mut memory = DeviceMemory::new();
    let (mut buffers, mut arguments) = (Vec::new(), Vec::new());
    for (index, &words) in words.iter().enumerate() {
        let name = format!("buffer {index}");
        let (bytes, initialised) = (4 * words, index < filled);
        let address = memory.allocate(&name, bytes).unwrap();
        buffers.push(Buffer { name, address, bytes, initialised });
        arguments.push(Argument::Address(address));
    }
    if let Some(count) = count {
        arguments.push(Argument::Scalar { ty: ScalarType::U32, bits: count.into() });
    }
    let launch = Launch {
        grid,
        block: [block, 1, 1],
        cluster: (file == "cluster_sm_90" && kernel == "histogram").then_some([4, 1, 1]),
        dynamic_shared_bytes: shared,
        arguments,
    };
    let checks = Checks::all();
    let options = Options { instruction_budget: 1 << 24, ..Options::default() };
    let options = Sanitizer::options(checks, options);
    let device = Arc::new(DeviceShadow::new(buffers));
    let mut sanitizer = Sanitizer::new(&program, &launch, checks, &device);
    run(&program, &launch, &mut memory, &mut sanitizer, &options, &Silent)
        .unwrap_or_else(|error| panic!("{file}, {kernel}: {error}"));
    sanitizer.finish(None).findings.iter().map(crate::common::line).collect()
}

const NOTHING: [&str; 0] = [];

#[test]
fn pipelines_and_barriers_of_the_library_are_silent() {
    for file in ["pipeline_sm_80", "pipeline_sm_90"] {
        for kernel in ["primitives", "block_pipeline", "specialised_pipeline"] {
            let shape = ([3, 1, 1], 128);
            let found = found(file, kernel, shape, 0, &[6528, 384], 1, Some(17));
            assert_eq!(found, NOTHING, "{file}, {kernel}");
        }
        let barriers = found(file, "barriers", ([2, 1, 1], 102), 0, &[576, 140], 1, Some(9));
        assert_eq!(barriers, NOTHING, "{file}");
        let copies = found(file, "group_copy", ([2, 1, 1], 96), 1000, &[500, 192], 1, Some(250));
        assert_eq!(copies, NOTHING, "{file}");
        assert_eq!(found(file, "dropping", ([2, 1, 1], 80), 0, &[160], 0, None), NOTHING, "{file}");
    }
}

/// A slice of a kernel shows its hazards on the memory of the launch, which stays as it is.
#[test]
fn a_short_look_finds_hazards_and_changes_no_memory() {
    let body = |barrier: &str| {
        format!(
            "ld.global.u32 %r3, [%at]; st.shared.u32 [%r15], %r3; st.global.u32 [%at], 9;\n{barrier}\n\
             xor.b32 %r1, %t, 32; shl.b32 %r1, %r1, 2; add.u32 %r1, %r1, %r14;\n\
             ld.shared.u32 %r2, [%r1]; st.global.u32 [%at], %r2; ret;"
        )
    };
    for (barrier, hazards) in [("", 2), ("bar.sync 0;", 0)] {
        let text = kernel(&body(barrier));
        let module = gpucast_ptx_frontend::load(&text).unwrap();
        let whole = Program::new(&module, &text, "k").unwrap();
        let mut memory = DeviceMemory::new();
        let address = memory.allocate("out", 1024).unwrap();
        memory.bytes_mut("out").unwrap().fill(3);
        let launch = Launch {
            grid: [1, 1, 1],
            block: [64, 1, 1],
            cluster: None,
            dynamic_shared_bytes: 0,
            arguments: vec![Argument::Address(address)],
        };
        let slicer = Slicer::new(&module, &whole);
        let slice = slicer.slice(&slicer.reach(&launch, &memory).unwrap(), &Buffers::default());
        let part = whole.sliced(&module, &text, &slice).unwrap();
        let mut scan = HazardScan::new(&part, &launch);
        let options = Options::default();
        let ended = run_cluster(&part, &launch, 0, &mut memory, &mut scan, &options);
        assert_eq!(ended, Ok(Ok(true)));
        assert_eq!(scan.finish().len(), hazards, "{barrier}");
        assert_eq!(memory.bytes("out").unwrap(), [3; 1024]);
    }
}

#[test]
fn clusters_and_bulk_copies_are_silent() {
    let file = "cluster_sm_90";
    let grid = |x, y| [x, y, 1];
    let histogram = found(file, "histogram", (grid(16, 1), 96), 256, &[5000, 256], 2, Some(5000));
    assert_eq!(histogram, NOTHING);
    assert_eq!(found(file, "ring", (grid(8, 1), 64), 0, &[512, 512], 1, Some(7)), NOTHING);
    assert_eq!(found(file, "bulk", (grid(3, 1), 96), 0, &[3456, 3456], 1, Some(9)), NOTHING);
    assert_eq!(found(file, "gather", (grid(6, 4), 32), 0, &[1536, 384], 1, None), NOTHING);
}

#[test]
fn a_copy_over_what_others_still_read_is_found() {
    // The kernel adds up what it has copied in reverse, and copies again without a barrier:
    // cooperative groups' memcpy_async does not wait for readers.
    let (file, kernel) = ("pipeline_sm_80", "group_copy_racing");
    let found = found(file, kernel, ([2, 1, 1], 96), 1000, &[500, 192], 1, Some(250));
    let kinds: Vec<&str> = found.iter().map(|line| line.split(" x").next().unwrap()).collect();
    let wanted = ["read-after-write Warps", "write-after-read Lanes", "write-after-read Warps"];
    assert_eq!(kinds, wanted, "{found:?}");
}
