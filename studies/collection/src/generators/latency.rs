//! Operations that each wait for the last one: the latency of arithmetic.

use super::pattern;
use crate::Generator;
use crate::language::{Builder, Contents, Expression, Kernel, Type, Unroll};
use crate::variant::{Axis, Unfit, Variant};

/// Latency of arithmetic.
pub(super) const GENERATOR: Generator = Generator {
    name: "latency_chain",
    tags: &["latency", "arithmetic"],
    summary: "Operations of one warp, each of which waits for the last one",
    axes: &[
        Axis::words("operation", "operation", &["add", "mul", "madd"]),
        Axis::words("dtype", "type of the variable", &["float32", "float64", "int32"]),
        Axis::size("m", "operations", [64, 64], &[8192]),
    ],
    make: kernel,
};

fn kernel(variant: &Variant) -> Result<Kernel, Unfit> {
    const WARP: u64 = 32;
    let ty = pattern::dtype(variant)?;
    let operation = variant.word("operation")?;
    let mut kernel = Builder::new(GENERATOR.name, GENERATOR.summary);
    let source = kernel.input("in", ty, 2, Contents::Uniform(1));
    let result = kernel.output("result", ty, WARP);
    let one = kernel.load("one", &source, Expression::number(0, Type::S32));
    let other = kernel.load("other", &source, Expression::number(1, Type::S32));
    let value = kernel.variable("value", one.clone());
    kernel.repeat("pass", variant.number("m")?, Unroll::By(64), |kernel| {
        let old = Expression::from(value);
        let new = match operation {
            "add" => old + one.clone(),
            "mul" => old * one.clone(),
            _ => old.multiply_add(one.clone(), other.clone()),
        };
        kernel.assign(value, new);
    });
    let at = kernel.thread(0);
    kernel.store(&result, at, value.into());
    Ok(kernel.launched([1, 1, 1], [WARP, 1, 1]))
}
