//! The table of all entries.

use std::sync::LazyLock;

use crate::entry::{Entry, Module};
use crate::{mixbench, published};

/// An entry, without published metrics, whose launch files are `<launch>.toml` and `<launch>-small.toml` in its folder.
macro_rules! entry {
    ($name:literal in $family:literal, $launch:literal, reference: $reference:literal, $summary:literal) => {
        Entry {
            name: $name,
            family: $family,
            summary: $summary,
            source: include_str!(concat!("../kernels/", $family, "/kernel.cu")),
            modules: &[
                Module {
                    target: "sm_35",
                    file: "sm_35.ptx",
                    ptx: include_str!(concat!("../kernels/", $family, "/sm_35.ptx")),
                },
                Module {
                    target: "sm_80",
                    file: "sm_80.ptx",
                    ptx: include_str!(concat!("../kernels/", $family, "/sm_80.ptx")),
                },
            ],
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
    entry!("sgemm" in "sgemm", "launch", reference: "sgemm",
        "single-precision matrix product, tiled in shared memory, 32 x 32 blocks"),
    entry!("sgemm-16" in "sgemm-16", "launch", reference: "sgemm",
        "the same matrix product with 16 x 16 blocks"),
    entry!("sor-red-black" in "sor-red-black", "launch", reference: "sor-red-black",
        "red pass of a red/black SOR stencil in double precision, reordered by colour"),
    entry!("lmsor" in "lmsor", "launch", reference: "lmsor",
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
];

/// All entries: first the published case studies, then the small kernels, then mixbench.
pub fn entries() -> &'static [Entry] {
    static ENTRIES: LazyLock<Vec<Entry>> = LazyLock::new(|| {
        [SINGLE, mixbench::FAMILY]
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
