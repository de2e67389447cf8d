//! Features of kernels whose strides, footprints and counts follow from their CUDA source.

use gpucast_interpreter::{Argument, DeviceMemory, Options, Schedule, Silent, run};
use gpucast_ptx_frontend::types::ScalarType;

use super::Stride::{Bytes, Unobserved};
use super::*;
use crate::{Counter, DeviceModel};

/// An argument of a kernel.
enum Given {
    /// A buffer of so many bytes, zeros.
    Bytes(&'static str, u64),
    Number(u32),
}
use Given::{Bytes as Zeros, Number};

fn features(
    text: &str,
    kernel: &str,
    grid: [u32; 3],
    block: [u32; 3],
    given: &[Given],
) -> Features {
    let module = gpucast_ptx_frontend::load(text).unwrap_or_else(|problems| {
        panic!("{:?}\n{text}", problems.iter().map(|problem| &problem.message).collect::<Vec<_>>())
    });
    let program = Program::new(&module, text, kernel).unwrap();
    let mut memory = DeviceMemory::new();
    let mut buffers = Vec::new();
    let arguments = given.iter().map(|argument| match *argument {
        Zeros(name, bytes) => {
            let address = memory.allocate(name, bytes).unwrap();
            buffers.push(Buffer { name: name.to_owned(), address, bytes });
            Argument::Address(address)
        }
        Number(number) => Argument::Scalar { ty: ScalarType::U32, bits: number.into() },
    });
    let arguments = arguments.collect();
    let launch = Launch { grid, block, cluster: None, dynamic_shared_bytes: 0, arguments };
    let shared = program.static_shared_bytes();
    let counter = Counter::new(&program, &launch, shared, DeviceModel::GTX_480);
    let mut both = (counter, FeatureCounter::new(&program, &launch));
    let options = Options { schedule: Schedule::Parallel, ..Options::default() };
    run(&program, &launch, &mut memory, &mut both, &options, &Silent).unwrap();
    let (profile, _) = both.0.finish();
    both.1.finish(&profile.table, &buffers)
}

fn corpus(
    name: &str,
    kernel: &str,
    grid: [u32; 3],
    block: [u32; 3],
    given: &[Given],
) -> [Features; 2] {
    let entry = gpucast_corpus::find(name).unwrap();
    ["sm_35", "sm_80"]
        .map(|target| features(entry.module(target).unwrap().ptx(), kernel, grid, block, given))
}

/// An access of `float32`: strides in elements, the count that costs are assessed by, and the
/// access-to-footprint ratio.
#[derive(Debug, PartialEq)]
struct Expected {
    what: &'static str,
    local: [f64; 2],
    global: [f64; 2],
    count: u64,
    ratio: f64,
}

#[track_caller]
fn check(features: &Features, expected: &[Expected]) {
    let global: Vec<String> = features
        .accesses
        .iter()
        .filter(|access| access.space == MemorySpace::Global)
        .map(|access| {
            let buffer = access.buffer.as_deref().unwrap_or("?");
            let name = format!("{buffer} {}", access.direction.name());
            let one = expected.iter().find(|argument| argument.what == name);
            let one = one.unwrap_or_else(|| panic!("{name}: {access:?}"));
            let strides = |of: fn(&MemoryAccess, usize) -> Option<f64>| {
                [of(access, 0).unwrap(), of(access, 1).unwrap()]
            };
            assert_eq!(strides(MemoryAccess::local_stride), one.local, "{name}");
            assert_eq!(strides(MemoryAccess::global_stride), one.global, "{name}");
            assert_eq!(access.element.to_string(), "float32");
            assert_eq!(access.count(), one.count.into(), "{name}");
            assert_eq!(access.access_to_footprint(), Some(one.ratio), "{name}");
            assert!(access.footprint.unwrap().exact);
            name
        })
        .collect();
    let mut names: Vec<&str> = expected.iter().map(|argument| argument.what).collect();
    let mut found: Vec<&str> = global.iter().map(String::as_str).collect();
    names.sort_unstable();
    found.sort_unstable();
    assert_eq!(found, names);
}

fn operations(features: &Features, name: &str) -> (u128, u128) {
    let is_one = |one: &&OperationCount| {
        one.operation == name && one.element == ElementType::parse("float32").unwrap()
    };
    features
        .operations
        .iter()
        .find(is_one)
        .map_or((0, 0), |operation| (operation.sub_groups, operation.work_items))
}

/// The paper's table 1: a has local strides {0: 1, 1: n} and global strides {0: 0, 1: 16 n}, b has
/// {0: 1, 1: n} and {0: 16, 1: 0}; the loop moves a by 16 and b by 16 n; the ratio of both is n/16.
#[test]
fn the_prefetching_matrix_product_has_the_patterns_of_table_1() {
    let n: u64 = 96;
    let blocks = n as u32 / 16;
    let matrix = |name| Zeros(name, n * n * 4);
    let given = [matrix("a"), matrix("b"), matrix("c"), Number(n as u32)];
    let all =
        corpus("matmul-prefetch", "matmul_prefetch", [blocks, blocks, 1], [16, 16, 1], &given);
    for features in &all {
        let (row, tile) = (n as f64, n as f64 / 16.0);
        let access =
            |what, local, global, count, ratio| Expected { what, local, global, count, ratio };
        check(
            features,
            &[
                access("a load", [1.0, row], [0.0, 16.0 * row], n.pow(3) / 16, tile),
                access("b load", [1.0, row], [16.0, 0.0], n.pow(3) / 16, tile),
                access("c store", [1.0, row], [16.0, 16.0 * row], n * n, 1.0),
            ],
        );
        let step = |buffer: &str| {
            let of = |one: &&MemoryAccess| one.buffer.as_deref() == Some(buffer);
            features.accesses.iter().find(of).unwrap().pattern.step_bytes
        };
        assert_eq!((step("a"), step("b")), (Some(16 * 4), Some(16 * n as i64 * 4)));
        let products = u128::from(n.pow(3));
        assert_eq!(operations(features, "madd"), (products / 32, products));
        // Section 8.3: 2 n^3 loads of shared memory and 2 n^3 / 16 stores, counted by sub-groups.
        let local = |direction| -> u128 {
            let is_one =
                |one: &&MemoryAccess| one.space == MemorySpace::Local && one.direction == direction;
            features.accesses.iter().filter(is_one).map(MemoryAccess::count).sum()
        };
        assert_eq!(local(AccessDirection::Load), 2 * products / 32);
        assert_eq!(local(AccessDirection::Store), 2 * products / 16 / 32);
        assert_eq!(features.barriers_per_work_item, 2.0 * tile);
        assert_eq!((features.groups, features.sub_groups), (36, 36 * 8));
        // A block's row of its tile of a: one element for threads of a row, 16 further for the
        // next.
        let uniform = features.accesses.iter().find(|access| {
            access.space == MemorySpace::Local
                && access.direction == AccessDirection::Load
                && access.is_uniform()
        });
        assert_eq!(uniform.unwrap().local_stride(1), Some(16.0));
        // Every element of the tile of a is read by 16 threads in each of the n/16 rounds.
        assert_eq!(uniform.unwrap().access_to_footprint(), Some(16.0 * tile));
    }
}

/// Section 8.3: without prefetching, the loads of a are uniform, so that they are counted by
/// sub-groups, and the ratios are n.
#[test]
fn the_direct_matrix_product_reads_a_uniformly() {
    let n: u64 = 64;
    let blocks = n as u32 / 16;
    let matrix = |name| Zeros(name, n * n * 4);
    let given = [matrix("a"), matrix("b"), matrix("c"), Number(n as u32)];
    for features in
        corpus("matmul-direct", "matmul_direct", [blocks, blocks, 1], [16, 16, 1], &given)
    {
        let row = n as f64;
        let access =
            |what, local, global, count, ratio| Expected { what, local, global, count, ratio };
        check(
            &features,
            &[
                access("a load", [0.0, row], [0.0, 16.0 * row], n.pow(3) / 32, row),
                access("b load", [1.0, 0.0], [16.0, 0.0], n.pow(3), row),
                access("c store", [1.0, row], [16.0, 16.0 * row], n * n, 1.0),
            ],
        );
        assert_eq!(features.barriers_per_work_item, 0.0);
    }
}

/// Section 8.4 with 3 matrices of 64 x 64 and 32 elements: strides of lid(0) are those of elements,
/// 64, but 1 for the transposed data.
#[test]
fn differentiation_has_the_patterns_of_its_four_variants() {
    let (elements, nodes) = (32_u64, 64_u64);
    let given = [
        Zeros("matrix", 3 * nodes * nodes * 4),
        Zeros("u", elements * nodes * 4),
        Zeros("result", 3 * elements * nodes * 4),
        Number(elements as u32),
        Number(nodes as u32),
    ];
    let grid = [elements as u32 / 16, nodes as u32 / 16, 1];
    let results = 3 * elements * nodes;
    let products = results * nodes;
    let all = |entry, kernel| corpus(entry, kernel, grid, [16, 16, 1], &given);
    let access = |what, local, global, count, ratio| Expected { what, local, global, count, ratio };
    let (e, n) = (elements as f64, nodes as f64);
    let result = || access("result store", [n, 1.0], [16.0 * n, 16.0], results, 1.0);
    // Each element of the matrices is used for each element, of u for each matrix and row.
    for features in all("dg-direct", "dg_direct") {
        check(
            &features,
            &[
                access("matrix load", [0.0, n], [0.0, 16.0 * n], products / 32, e),
                access("u load", [n, 0.0], [16.0 * n, 0.0], products, 3.0 * n),
                result(),
            ],
        );
        assert_eq!(operations(&features, "madd"), (u128::from(products) / 32, products.into()));
    }
    // A tile of u serves the 16 rows of the block: 4 blocks read it.
    for features in all("dg-prefetch-u", "dg_prefetch_u") {
        check(
            &features,
            &[
                access("matrix load", [0.0, n], [0.0, 16.0 * n], products / 32, e),
                access("u load", [1.0, n], [16.0 * n, 0.0], elements * nodes * 4, 4.0),
                result(),
            ],
        );
    }
    // A tile of the matrix serves the 16 elements of the block: 2 blocks read it.
    for features in all("dg-prefetch-matrix", "dg_prefetch_matrix") {
        check(
            &features,
            &[
                access("matrix load", [1.0, n], [0.0, 16.0 * n], 3 * nodes * nodes * 2, 2.0),
                access("u load", [n, 0.0], [16.0 * n, 0.0], products, 3.0 * n),
                result(),
            ],
        );
    }
    for features in all("dg-prefetch-matrix-transposed", "dg_prefetch_matrix_transposed") {
        check(
            &features,
            &[
                access("matrix load", [1.0, n], [0.0, 16.0 * n], 3 * nodes * nodes * 2, 2.0),
                access("u load", [1.0, 0.0], [16.0, 0.0], products, 3.0 * n),
                access("result store", [1.0, e], [16.0, 16.0 * e], results, 1.0),
            ],
        );
    }
}

/// Section 8.5: strides of gid(0) are 14 and 16; ratios are near one, since tiles overlap by 2.
#[test]
fn finite_differences_fetch_overlapping_tiles() {
    let n: u64 = 112;
    let given = [Zeros("u", (n + 2).pow(2) * 4), Zeros("result", n * n * 4), Number(n as u32)];
    for (tile, entry, kernel) in [
        (16, "finite-differences-16", "finite_differences_16"),
        (18, "finite-differences-18", "finite_differences_18"),
    ] {
        let inner = tile - 2;
        let blocks = n / inner;
        let grid = [blocks as u32, blocks as u32, 1];
        for features in corpus(entry, kernel, grid, [tile as u32, tile as u32, 1], &given) {
            let (n, inner) = (n as f64, inner as f64);
            let access =
                |what, local, global, count, ratio| Expected { what, local, global, count, ratio };
            let fetched = (blocks * tile).pow(2);
            let row = n + 2.0;
            check(
                &features,
                &[
                    access(
                        "u load",
                        [1.0, row],
                        [inner, inner * row],
                        fetched,
                        fetched as f64 / (row * row),
                    ),
                    access("result store", [1.0, n], [inner, inner * n], (n * n) as u64, 1.0),
                ],
            );
            assert_eq!(features.barriers_per_work_item, 1.0);
        }
    }
}

/// A kernel of these instructions, with `%r0` the thread, `%r1` the block and `%rd0` a buffer of
/// 64 KiB.
fn small(body: &str, grid: [u32; 3], block: [u32; 3]) -> Features {
    let text = format!(
        ".version 8.8\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 a) {{\n\
         .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .f32 %f<8>; .reg .f64 %d<4>; .reg .pred %p;\n\
         mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; ld.param.u64 %rd0, [a];\n{body}\nret; }}\n"
    );
    features(&text, "k", grid, block, &[Zeros("a", 1 << 16)])
}

#[test]
fn what_no_index_explains_is_irregular() {
    // The square of the thread's index.
    let of = small(
        "mul.lo.u32 %r2, %r0, %r0; mul.wide.u32 %rd1, %r2, 4; add.u64 %rd1, %rd0, %rd1;
         ld.global.f32 %f0, [%rd1];",
        [2, 1, 1],
        [64, 1, 1],
    );
    assert_eq!(of.accesses.len(), 1);
    let access = &of.accesses[0];
    assert_eq!(access.pattern.local, Strides::Irregular);
    assert_eq!(access.pattern.global, Strides::Irregular);
    // Both blocks read the same 64 squares.
    assert_eq!(access.access_to_footprint(), Some(2.0));
    assert_eq!(access.count(), 128);

    // Every second block goes back: affine within a block alone.
    let of = small(
        "and.b32 %r2, %r1, 1; shl.b32 %r2, %r2, 8; add.u32 %r2, %r2, %r0;
         mul.wide.u32 %rd1, %r2, 4; add.u64 %rd1, %rd0, %rd1; st.global.f32 [%rd1], 0f00000000;",
        [5, 1, 1],
        [64, 1, 1],
    );
    let pattern = of.accesses[0].pattern;
    assert_eq!(pattern.local, Strides::Affine([Bytes(4), Bytes(0), Bytes(0)]));
    assert_eq!(pattern.global, Strides::Irregular);

    // A loop in which each thread goes its own way from the second pass on.
    let of = small(
        "mov.u32 %r2, 0; mul.wide.u32 %rd1, %r0, 4;
         AGAIN: add.u64 %rd2, %rd0, %rd1; ld.global.f32 %f0, [%rd2];
         mad.wide.u32 %rd1, %r0, 4, %rd1; add.u32 %r2, %r2, 1; setp.lt.u32 %p, %r2, 4;
         @%p bra AGAIN;",
        [1, 1, 1],
        [32, 1, 1],
    );
    assert_eq!(of.accesses[0].pattern.local, Strides::Irregular);
    assert_eq!(of.accesses[0].pattern.step_bytes, None);
}

#[test]
fn threads_that_do_not_take_part_are_no_samples() {
    // Thread 3 of each block alone.
    let of = small(
        "setp.eq.u32 %p, %r0, 3; mad.lo.u32 %r2, %r1, 64, %r0; mul.wide.u32 %rd1, %r2, 8;
         add.u64 %rd1, %rd0, %rd1; @%p ld.global.f64 %d0, [%rd1];",
        [4, 1, 1],
        [64, 1, 1],
    );
    let access = &of.accesses[0];
    assert_eq!(access.pattern.local, Strides::Affine([Unobserved, Bytes(0), Bytes(0)]));
    assert_eq!(access.pattern.global, Strides::Affine([Bytes(512), Bytes(0), Bytes(0)]));
    assert_eq!((access.work_items, access.element.to_string()), (4, "float64".to_owned()));
    // Warps 1 and 2 of three, so that the block's first thread has no part in it.
    let of = small(
        "setp.ge.u32 %p, %r0, 32; mul.wide.u32 %rd1, %r0, 4; add.u64 %rd1, %rd0, %rd1;
         @%p ld.global.f32 %f0, [%rd1];",
        [4, 1, 1],
        [96, 1, 1],
    );
    let pattern = of.accesses[0].pattern;
    assert_eq!(pattern.local, Strides::Affine([Bytes(4), Bytes(0), Bytes(0)]));
    assert_eq!(pattern.global, Strides::Affine([Bytes(0); 3]));
}

#[test]
fn vectors_are_as_many_elements_as_they_have() {
    let of = small(
        "mad.lo.u32 %r2, %r1, 32, %r0; mul.wide.u32 %rd1, %r2, 16; add.u64 %rd1, %rd0, %rd1;
         ld.global.v4.f32 {%f0, %f1, %f2, %f3}, [%rd1];",
        [2, 1, 1],
        [32, 1, 1],
    );
    let access = &of.accesses[0];
    assert_eq!((access.local_stride(0), access.global_stride(0)), (Some(4.0), Some(128.0)));
    assert_eq!((access.work_items, access.sub_groups), (256, 8));
    assert_eq!(access.access_to_footprint(), Some(1.0));
}

#[test]
fn arithmetic_and_barriers_are_those_of_the_text() {
    // Half the threads of one of two warps wait at another barrier, too.
    let of = small(
        "add.f32 %f0, %f0, %f1; sub.f32 %f0, %f0, %f1; mul.f32 %f0, %f0, %f1;
         fma.rn.f32 %f0, %f0, %f1, %f1; div.rn.f32 %f0, %f0, %f1; add.f64 %d0, %d0, %d1;
         sqrt.approx.f32 %f0, %f0; bar.sync 0; setp.lt.u32 %p, %r0, 32; @%p bar.sync 1, 32;
         bar.arrive 2, 128;",
        [3, 1, 1],
        [64, 1, 1],
    );
    assert_eq!(operations(&of, "add"), (2 * 6, 2 * 192));
    assert_eq!(operations(&of, "mul"), (6, 192));
    assert_eq!(operations(&of, "madd"), (6, 192));
    assert_eq!(operations(&of, "div"), (6, 192));
    assert_eq!(operations(&of, "sqrt"), (6, 192));
    assert_eq!(of.barriers_per_work_item, 1.5);
    assert_eq!((of.groups, of.sub_groups, of.work_items), (3, 6, 192));
}
