//! The table of all entries.

use std::sync::LazyLock;

use crate::entry::{Entry, Module};
use crate::{gpp, mixbench, published};

/// An entry, without published metrics, whose launch files are `<launch>.toml` and
/// `<launch>-small.toml` in its folder.
macro_rules! entry {
    ($name:literal in $family:literal, $launch:literal, reference: $reference:literal, $summary:literal) => {
        entry!($name in $family, $launch, targets: ["sm_35", "sm_80"], reference: $reference, $summary)
    };
    ($name:literal in $family:literal, $launch:literal, targets: [$($target:literal),+],
     reference: $reference:literal, $summary:literal) => {
        Entry {
            name: $name,
            family: $family,
            summary: $summary,
            source: include_str!(concat!("../kernels/", $family, "/kernel.cu")),
            modules: &[$(Module {
                target: $target,
                file: concat!($target, ".ptx"),
                ptx: include_str!(concat!("../kernels/", $family, "/", $target, ".ptx")),
            }),+],
            launch: include_str!(concat!("../kernels/", $family, "/", $launch, ".toml")),
            launch_small: include_str!(concat!(
                "../kernels/",
                $family,
                "/",
                $launch,
                "-small.toml"
            )),
            references: &[$reference],
            published: None,
        }
    };
}

/// The entries with launch files of their own.
const SINGLE: &[Entry] = &[
    entry!("sgemm" in "sgemm", "launch", targets: ["sm_35", "sm_80", "sm_30"], reference: "sgemm",
        "single-precision matrix product, tiled in shared memory, 32 x 32 blocks"),
    entry!("sgemm-16" in "sgemm-16", "launch", targets: ["sm_35", "sm_80", "sm_30"], reference: "sgemm",
        "the same matrix product with 16 x 16 blocks"),
    entry!("sor-red-black" in "sor-red-black", "launch", targets: ["sm_35", "sm_80", "sm_30"], reference: "sor-red-black",
        "red pass of a red/black SOR stencil in double precision, reordered by colour"),
    entry!("lmsor" in "lmsor", "launch", targets: ["sm_35", "sm_80", "sm_30"], reference: "lmsor",
        "red pass of the local modified SOR stencil, coefficients recomputed"),
    entry!("shmem-swap-float" in "shmem-swap", "float", reference: "shmem-swap",
        "5120 swaps a thread in shared memory, 4 bytes each"),
    entry!("shmem-swap-float2" in "shmem-swap", "float2", reference: "shmem-swap",
        "5120 swaps a thread in shared memory, 8 bytes each"),
    entry!("shmem-swap-float4" in "shmem-swap", "float4", reference: "shmem-swap",
        "5120 swaps a thread in shared memory, 16 bytes each"),
    entry!("vector-add" in "vector-add", "launch", reference: "vector-add",
        "c = a + b in single precision"),
    entry!("reduction-f32" in "reduction", "f32", reference: "reduction",
        "sum of an array of f32 by warp shuffles and one atomic addition a block"),
    entry!("reduction-u32" in "reduction", "u32", reference: "reduction",
        "sum of an array of u32 by warp shuffles and one atomic addition a block"),
    entry!("histogram" in "histogram", "launch", reference: "histogram",
        "256 bins, counted by atomics in shared and then in global memory"),
    entry!("transpose" in "transpose", "padded", reference: "transpose",
        "matrix transpose through a padded tile, free of bank conflicts"),
    entry!("transpose-unpadded" in "transpose", "unpadded", reference: "transpose",
        "matrix transpose through a tile without padding, 32-way bank conflicts"),
    entry!("matmul-volkov-8" in "matmul-volkov", "8", reference: "matmul-by-columns",
        "matrix product with one matrix in registers, 64 threads for 64 x 8 elements"),
    entry!("matmul-volkov-16" in "matmul-volkov", "16", reference: "matmul-by-columns",
        "matrix product with one matrix in registers, 64 threads for 64 x 16 elements"),
    entry!("matmul-volkov-32" in "matmul-volkov", "32", reference: "matmul-by-columns",
        "matrix product with one matrix in registers, 64 threads for 64 x 32 elements"),
    entry!("cyclic-reduction" in "cyclic-reduction", "plain", reference: "tridiagonal",
        "cyclic reduction of tridiagonal systems, forward phase, with bank conflicts"),
    entry!("cyclic-reduction-nbc" in "cyclic-reduction", "padded-16", reference: "tridiagonal",
        "the same, padded for 16 banks"),
    entry!("cyclic-reduction-nbc-32" in "cyclic-reduction", "padded-32", reference: "tridiagonal",
        "the same, padded for 32 banks"),
    entry!("cyclic-reduction-regrouped" in "cyclic-reduction", "regrouped-16",
        reference: "tridiagonal",
        "the same, equations regrouped at each step: no conflicts of 16 banks"),
    entry!("cyclic-reduction-regrouped-32" in "cyclic-reduction", "regrouped-32",
        reference: "tridiagonal",
        "the same, equations regrouped at each step: no conflicts of 32 banks"),
    entry!("spmv-ell" in "spmv", "ell", reference: "spmv",
        "sparse matrix of lattice QCD times vector, ELL"),
    entry!("spmv-bell-im" in "spmv", "bell-im", reference: "spmv",
        "the same matrix in 3 x 3 blocks, interleaved"),
    entry!("spmv-bell-imiv" in "spmv", "bell-imiv", reference: "spmv",
        "the same matrix in 3 x 3 blocks, matrix and vectors interleaved"),
    entry!("matmul-prefetch" in "matmul-loopy", "prefetch", reference: "sgemm",
        "matrix product by 16 x 16 tiles in shared memory"),
    entry!("matmul-direct" in "matmul-loopy", "direct", reference: "sgemm",
        "matrix product without shared memory"),
    entry!("dg-direct" in "dg-differentiation", "direct", reference: "dg-differentiation",
        "element-wise differentiation, without shared memory"),
    entry!("dg-prefetch-u" in "dg-differentiation", "prefetch-u", reference: "dg-differentiation",
        "element-wise differentiation, values in shared memory"),
    entry!("dg-prefetch-matrix" in "dg-differentiation", "prefetch-matrix",
        reference: "dg-differentiation",
        "element-wise differentiation, matrix in shared memory"),
    entry!("dg-prefetch-matrix-transposed" in "dg-differentiation", "prefetch-matrix-transposed",
        reference: "dg-differentiation",
        "element-wise differentiation, matrix in shared memory, values transposed"),
    entry!("finite-differences-16" in "finite-differences", "16", reference: "finite-differences",
        "five-point stencil by 16 x 16 tiles, 14 x 14 results"),
    entry!("finite-differences-18" in "finite-differences", "18", reference: "finite-differences",
        "five-point stencil by 18 x 18 tiles, 16 x 16 results"),
    entry!("stencil-7pt" in "stencil-7pt", "launch", reference: "stencil-7pt",
        "7-point stencil in double precision, straight from global memory"),
    entry!("gsrb-fp" in "gsrb", "fp", reference: "gsrb",
        "red-black smoother, every point computed and masked"),
    entry!("gsrb-branch" in "gsrb", "branch", reference: "gsrb",
        "red-black smoother, every other thread computes"),
    entry!("gsrb-stride2" in "gsrb", "stride2", reference: "gsrb",
        "red-black smoother, every thread copies one point and computes the next"),
    entry!("copy-16" in "transpose-16", "copy", reference: "copy",
        "matrix copy, one element a thread in 16 x 16 blocks"),
    entry!("copy-shared-16" in "transpose-16", "copy-shared", reference: "copy",
        "the same copy through a tile in shared memory"),
    entry!("transpose-direct-16" in "transpose-16", "direct", reference: "transpose",
        "matrix transpose without shared memory, written down columns"),
    entry!("transpose-unpadded-16" in "transpose-16", "unpadded", reference: "transpose",
        "matrix transpose through a 16 x 16 tile with 8-way bank conflicts"),
    entry!("transpose-padded-16" in "transpose-16", "padded", reference: "transpose",
        "matrix transpose through a padded 16 x 16 tile, free of bank conflicts"),
    entry!("stream-copy" in "stream", "copy", reference: "copy",
        "c = a in double precision"),
    entry!("stream-triad" in "stream", "triad", reference: "stream-triad",
        "a = b + scalar c in double precision"),
    entry!("sgemm-320" in "sgemm-320", "launch", reference: "gemm",
        "single-precision product of 320 x 320 and 320 x 640, 32 x 32 tiles"),
    entry!("sgemm-uncoalesced" in "sgemm-steps", "uncoalesced", reference: "gemm",
        "matrix product without shared memory, lanes along the rows of C"),
    entry!("sgemm-coalesced" in "sgemm-steps", "coalesced", reference: "gemm",
        "matrix product without shared memory, lanes along the columns of C"),
    entry!("sgemm-column" in "sgemm-steps", "column", reference: "gemm",
        "matrix product by 64 x 64 tiles, eight elements of a column a thread"),
    entry!("sgemm-patch" in "sgemm-steps", "patch", reference: "gemm",
        "matrix product by 128 x 128 tiles, 8 x 8 elements a thread"),
    entry!("block-sums-divergent" in "reduction-steps", "divergent", reference: "block-sums",
        "sum of each block, every 2nd, 4th, … thread adding"),
    entry!("block-sums-strided" in "reduction-steps", "strided", reference: "block-sums",
        "sum of each block, the first threads adding at conflicting strides"),
    entry!("block-sums-sequential" in "reduction-steps", "sequential", reference: "block-sums",
        "sum of each block, the first threads adding without conflicts"),
    entry!("block-sums-many" in "reduction-steps", "many", reference: "block-sums",
        "sum of each block, 128 elements a thread first"),
    entry!("n-body" in "n-body", "launch", reference: "n-body",
        "one step of all-pairs gravity, tiles of 256 bodies in shared memory"),
    entry!("copy-few-blocks" in "copy-few-blocks", "launch", reference: "copy",
        "copy by 64 blocks in strides of the grid: too few to hide latency"),
    entry!("hotspot3d" in "hotspot3d", "launch", targets: ["sm_35", "sm_80", "sm_30"],
        reference: "hotspot3d",
        "a step of heat conduction in a chip, a thread for a column of layers"),
    entry!("kmeans-invert-mapping" in "kmeans", "invert-mapping", targets: ["sm_35", "sm_80", "sm_30"],
        reference: "kmeans-invert-mapping",
        "transpose of points and features without tiles, read a row a thread"),
    entry!("kmeans-point" in "kmeans", "point", targets: ["sm_35", "sm_80", "sm_30"],
        reference: "kmeans-point",
        "the nearest of five centres to each point, centres in constant memory"),
    entry!("cfd-time-step" in "cfd-time-step", "launch", targets: ["sm_35", "sm_80", "sm_30"],
        reference: "cfd-time-step",
        "a Runge-Kutta stage for five variables of each element"),
    entry!("srad-1" in "srad-1", "launch", targets: ["sm_35", "sm_80", "sm_30"],
        reference: "srad-1",
        "coefficients of anisotropic diffusion of an image, with six tiles in shared memory"),
    entry!("merge-sort-first" in "merge-sort-first", "launch", targets: ["sm_35", "sm_80", "sm_30"],
        reference: "merge-sort-first",
        "every four numbers sorted, a thread for four"),
    entry!("nearest-neighbour" in "nearest-neighbour", "launch", targets: ["sm_35", "sm_80", "sm_30"],
        reference: "nearest-neighbour",
        "distances of records from one place"),
    entry!("leukocyte-dilate" in "leukocyte-dilate", "launch", targets: ["sm_35", "sm_80", "sm_30"],
        reference: "leukocyte-dilate",
        "dilation of an image by a disc in constant memory, stored down columns"),
];

/// All entries: first the thesis's case studies and small kernels, then those of other papers, of
/// published measurements and of Rodinia, then GPP and mixbench.
pub fn entries() -> &'static [Entry] {
    static ENTRIES: LazyLock<Vec<Entry>> = LazyLock::new(|| {
        [SINGLE, gpp::FAMILY, mixbench::FAMILY]
            .concat()
            .into_iter()
            .map(|entry| Entry { published: published::metrics(entry.name), ..entry })
            .collect()
    });
    &ENTRIES
}

/// The entry of this name.
pub fn find(name: &str) -> Option<&'static Entry> {
    entries().iter().find(|entry| entry.name == name)
}
