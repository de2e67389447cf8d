//! Fetches of texels that do not wait for each other: the rate of the texture unit.

use gpucast_collection::language::{Builder, Contents, Expression, Kernel, Type, Unroll, Variable};

/// Threads of a warp.
const WARP: u64 = 32;

/// Texels of the texture, a power of two.
const TEXELS: u64 = 1024;

/// Fetches of one block: `fetches` of a thread in a pass, none of which waits for another one of
/// its pass. Each decides where that of the next pass is.
///
/// Schedulers prefer some warps, and the last ones would be too few to keep the unit busy. So the
/// block waits for all of its warps behind each pass.
pub(crate) fn texels(warps: u64, fetches: u64, passes: u64) -> Kernel {
    let mut kernel = Builder::new("texel_reads", "Fetches that do not wait for each other");
    let threads = warps * WARP;
    // A texel holds the place of the one that is a warp further on.
    let picture = kernel.texture("picture", Type::S32, TEXELS, Contents::Chain(WARP));
    let result = kernel.output("result", Type::S32, threads);
    let thread = kernel.thread(0);
    // A fetch returns four channels. Their registers differ, so that no fetch waits for another's.
    let fetched: Vec<[Variable; 4]> = (0..fetches)
        .map(|at| {
            let first = (thread.clone() + at * WARP).masked(TEXELS - 1);
            ["x", "y", "z", "w"].map(|name| kernel.variable(&format!("{name}{at}"), first.clone()))
        })
        .collect();
    kernel.repeat("pass", passes, Unroll::No, |kernel| {
        for [x, y, z, w] in &fetched {
            let fetch = "tex.1d.v4.s32.s32 {$0, $1, $2, $3}, [$4, {$0}]";
            kernel.assembly(fetch, &[*x, *y, *z, *w], std::slice::from_ref(&picture));
        }
        kernel.barrier();
    });
    let zero = Expression::number(0, Type::S32);
    let total = fetched.iter().fold(zero, |sum, &[x, ..]| sum + Expression::from(x));
    kernel.store(&result, thread, total);
    kernel.launched([1, 1, 1], [threads, 1, 1])
}
