//! Fetches of texels: the latency and the rate of the texture unit.

use crate::Generator;
use crate::language::{Builder, Contents, Expression, Kernel, Type, Unroll, Variable};
use crate::variant::{Axis, Unfit, Variant};

/// Threads of a warp.
const WARP: u64 = 32;

/// Fetches of texels of linear memory.
pub(super) const GENERATOR: Generator = Generator {
    name: "texture_pattern",
    tags: &["texture", "memory"],
    summary: "Fetches of texels by chains, in which each waits for the last one",
    axes: &[
        Axis::numbers("chains", "chains, which do not wait for each other", &[1, 8], &[1, 8]),
        Axis::numbers("texels", "texels of the texture", &[1024, 4096, 65_536, 1_048_576], &[4096]),
        Axis::numbers("lsize_0", "threads of a block", &[32, 64, 128, 256, 512, 1024], &[256]),
        Axis::size("ngroups", "blocks of the grid", [1, 1], &[1024]),
        Axis::size("m", "fetches of a thread", [32, 32], &[512]),
    ],
    make: kernel,
};

fn kernel(variant: &Variant) -> Result<Kernel, Unfit> {
    let (lsize, groups) = (variant.number("lsize_0")?, variant.number("ngroups")?);
    let (texels, chains) = (variant.number("texels")?, variant.number("chains")?);
    let mut kernel = Builder::new(GENERATOR.name, GENERATOR.summary);
    // A texel holds the place of the one that is a warp further on.
    let picture = kernel.texture("picture", Type::S32, texels, Contents::Chain(WARP));
    let result = kernel.output("result", Type::S32, groups * lsize);
    let zero = Expression::number(0, Type::S32);
    let first = kernel.name("first", kernel.thread_of_grid());
    let places: Vec<Variable> = (0..chains)
        .map(|chain| {
            let place = (first.clone() + chain * lsize).masked(texels - 1);
            kernel.variable(&format!("at{chain}"), place)
        })
        .collect();
    // Texels of one channel have three others, which nobody needs and no chain shares.
    let others: Vec<[Variable; 3]> = (0..chains)
        .map(|chain| {
            ["y", "z", "w"].map(|name| kernel.variable(&format!("{name}{chain}"), zero.clone()))
        })
        .collect();
    kernel.repeat("pass", variant.number("m")? / chains, Unroll::By(4), |kernel| {
        for (&at, &[y, z, w]) in places.iter().zip(&others) {
            let fetch = "tex.1d.v4.s32.s32 {$0, $1, $2, $3}, [$4, {$0}]";
            kernel.assembly(fetch, &[at, y, z, w], std::slice::from_ref(&picture));
        }
    });
    let place = kernel.thread_of_grid();
    kernel.store(&result, place, super::updates::sum(&places));
    Ok(kernel.launched([groups, 1, 1], [lsize, 1, 1]))
}
