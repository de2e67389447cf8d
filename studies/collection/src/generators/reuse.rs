//! Loads of a footprint that many blocks share: accesses per distinct element.

use super::pattern::{self, LSIZE_0};
use crate::Generator;
use crate::language::{Builder, Contents, Expression, Kernel, Type, Unroll};
use crate::variant::{Axis, Unfit, Variant};

/// Accesses of a shared footprint.
pub(super) const GENERATOR: Generator = Generator {
    name: "gmem_reuse_pattern",
    tags: &["gmem", "memory", "footprint"],
    summary: "Loads of a footprint, each element by as many blocks as the ratio says",
    axes: &[
        Axis::words("dtype", "type of the elements", &["float32", "float64"]),
        LSIZE_0,
        Axis::size("footprint", "distinct elements", [2048, 2048], &[262_144, 4_194_304]),
        Axis::size("afr", "accesses per distinct element", [1, 1], &[2, 8]),
    ],
    make: kernel,
};

/// Elements that a thread loads.
const PER_THREAD: u64 = 8;

fn kernel(variant: &Variant) -> Result<Kernel, Unfit> {
    let ty = pattern::dtype(variant)?;
    let (lsize, footprint) = (variant.number("lsize_0")?, variant.number("footprint")?);
    let (once, ratio) = (pattern::blocks(footprint, lsize * PER_THREAD)?, variant.number("afr")?);
    let mut kernel = Builder::new(GENERATOR.name, GENERATOR.summary);
    let array = kernel.input("in", ty, footprint, Contents::Uniform(1));
    let result = kernel.output("result", ty, once * ratio * lsize);
    // Blocks that read the same elements differ in the grid's y.
    let begin = kernel.block(0) * (lsize * PER_THREAD) + kernel.thread(0);
    let begin = kernel.name("begin", begin);
    let sum = kernel.variable("sum", Expression::number(0, ty));
    let times = Expression::number(PER_THREAD, Type::S32);
    kernel.count("one", times, 1, Unroll::Whole, |kernel, one| {
        let value = kernel.load("value", &array, begin.clone() + one * lsize);
        kernel.assign(sum, Expression::from(sum) + value);
    });
    let row = kernel.block(1) * (once * lsize);
    let at = row + kernel.block(0) * lsize + kernel.thread(0);
    kernel.store(&result, at, sum.into());
    Ok(kernel.launched([once, ratio, 1], [lsize, 1, 1]))
}
