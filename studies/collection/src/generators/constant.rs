//! Loads of constant memory (Konstantinidis 2017, appendix B.3, constbench).

use super::pattern;
use crate::Generator;
use crate::language::{Builder, Contents, Expression, Kernel, Type, Unroll};
use crate::variant::{Axis, Unfit, Variant};

/// Constant memory.
pub(super) const GENERATOR: Generator = Generator {
    name: "constbench",
    tags: &["constant", "cache", "memory", "thesis"],
    summary: "Sums of constant memory, by all threads alike or by each from its own place",
    axes: &[
        Axis::words("dtype", "type of the elements", &["float32", "int32"]),
        Axis::numbers(
            "lid_stride_0",
            "elements from a thread to the next; 0 for all alike",
            &[0, 1, 2, 4],
            &[0, 1],
        ),
        Axis::numbers("footprint", "elements", &[256, 1024, 4096, 16_384], &[1024]),
        Axis::numbers("lsize_0", "threads of a block", &[128, 256], &[256]),
        Axis::size("nelements", "threads of the grid", [256, 256], &[262_144]),
        Axis::size("m", "loads of a thread", [16, 16], &[1024]),
    ],
    make: kernel,
};

fn kernel(variant: &Variant) -> Result<Kernel, Unfit> {
    let ty = pattern::dtype(variant)?;
    let (lsize, elements) = (variant.number("lsize_0")?, variant.number("nelements")?);
    let (stride, footprint) = (variant.number("lid_stride_0")?, variant.number("footprint")?);
    let mut kernel = Builder::new(GENERATOR.name, GENERATOR.summary);
    let result = kernel.output("result", ty, elements);
    let contents = match ty {
        Type::F32 => Contents::Uniform(1),
        _ => Contents::Chain(1),
    };
    let table = kernel.constant("table", ty, footprint, contents);
    let at = kernel.variable("at", (kernel.thread(0) * stride).masked(footprint - 1));
    let sum = kernel.variable("sum", Expression::number(0, ty));
    kernel.repeat("pass", variant.number("m")?, Unroll::By(16), |kernel| {
        let value = kernel.load("value", &table, at.into());
        kernel.assign(sum, Expression::from(sum) + value);
        kernel.assign(at, (Expression::from(at) + 1).masked(footprint - 1));
    });
    let place = kernel.thread_of_grid();
    kernel.store(&result, place, sum.into());
    Ok(kernel.launched([pattern::blocks(elements, lsize)?, 1, 1], [lsize, 1, 1]))
}
