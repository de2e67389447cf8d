//! Exchanges between the threads of a warp.

use super::pattern;
use crate::Generator;
use crate::language::{Builder, Kernel, Type, Unroll};
use crate::variant::{Axis, Unfit, Variant};

/// Shuffles.
pub(super) const GENERATOR: Generator = Generator {
    name: "shuffle_pattern",
    tags: &["warp", "shuffle"],
    summary: "Exchanges of eight variables between the threads of a warp",
    axes: &[
        Axis::words("mode", "thread whose value a thread gets", &["bfly", "up", "down", "idx"]),
        Axis::numbers("distance", "threads between both", &[1, 2, 4, 8, 16], &[1, 16]),
        Axis::numbers("lsize_0", "threads of a block", &[32, 128, 256], &[256]),
        Axis::size("nelements", "threads of the grid", [256, 256], &[262_144]),
        Axis::size("m", "exchanges of each variable", [8, 8], &[512]),
    ],
    make: kernel,
};

/// Variables, so that exchanges need not wait for each other.
const VARIABLES: usize = 8;

fn kernel(variant: &Variant) -> Result<Kernel, Unfit> {
    let (mode, distance) = (variant.word("mode")?, variant.number("distance")?);
    let (lsize, elements) = (variant.number("lsize_0")?, variant.number("nelements")?);
    let mut kernel = Builder::new(GENERATOR.name, GENERATOR.summary);
    kernel.needs_target(30);
    let result = kernel.output("result", Type::U32, elements);
    let variables = super::updates::variables(&mut kernel, Type::U32, VARIABLES);
    // Lanes from 0 on take part in `up`, lanes up to 31 in the others.
    let limit = if mode == "up" { 0 } else { 31 };
    let exchange = format!("shfl.sync.{mode}.b32 $0, $0, {distance}, {limit}, 0xffffffff");
    kernel.repeat("pass", variant.number("m")?, Unroll::By(8), |kernel| {
        for &variable in &variables {
            kernel.assembly(&exchange, &[variable], &[]);
        }
    });
    let at = kernel.thread_of_grid();
    kernel.store(&result, at, super::updates::sum(&variables));
    Ok(kernel.launched([pattern::blocks(elements, lsize)?, 1, 1], [lsize, 1, 1]))
}
