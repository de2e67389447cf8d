//! Branches that part the threads of a warp.

use super::pattern;
use crate::Generator;
use crate::language::{Builder, Expression, Kernel, Type, Unroll};
use crate::variant::{Axis, Unfit, Variant};

/// Divergent branches.
pub(super) const GENERATOR: Generator = Generator {
    name: "branch_pattern",
    tags: &["branch", "divergence"],
    summary: "Multiply-adds on as many ways through the code as the variant says",
    axes: &[
        Axis::numbers("ways", "ways of a warp's threads", &[1, 2, 4, 8, 16, 32], &[1, 2, 4, 8, 32]),
        Axis::numbers("lsize_0", "threads of a block", &[32, 128, 256], &[256]),
        Axis::size("nelements", "threads of the grid", [256, 256], &[262_144]),
        Axis::size("m", "passes", [4, 4], &[64]),
    ],
    make: kernel,
};

/// Multiply-adds of a way.
const OPERATIONS: u64 = 16;

fn kernel(variant: &Variant) -> Result<Kernel, Unfit> {
    let ways = variant.number("ways")?;
    let (lsize, elements) = (variant.number("lsize_0")?, variant.number("nelements")?);
    let mut kernel = Builder::new(GENERATOR.name, GENERATOR.summary);
    let result = kernel.output("result", Type::F32, elements);
    let own = kernel.name("own", kernel.thread(0).masked(ways - 1));
    let value = kernel.variable("value", kernel.thread(0).to(Type::F32));
    kernel.repeat("pass", variant.number("m")?, Unroll::No, |kernel| {
        for way in 0..ways {
            let is_own = own.clone().equals(Expression::number(way, Type::S32));
            kernel.when(is_own, |kernel| {
                kernel.repeat("one", OPERATIONS, Unroll::Whole, |kernel| {
                    // Each way has a number of its own, so that no compiler joins them.
                    let old = Expression::from(value);
                    let added = Expression::number(way + 1, Type::F32);
                    kernel.assign(value, old.clone().multiply_add(old, added));
                });
            });
        }
    });
    let at = kernel.thread_of_grid();
    kernel.store(&result, at, value.into());
    Ok(kernel.launched([pattern::blocks(elements, lsize)?, 1, 1], [lsize, 1, 1]))
}
