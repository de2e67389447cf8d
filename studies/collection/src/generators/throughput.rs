//! Throughput of arithmetic (Konstantinidis 2017, appendix A.2): 16 variables, each a function of
//! two others.

use super::{pattern, updates};
use crate::Generator;
use crate::language::{Builder, Contents, Expression, Kernel, Unroll};
use crate::variant::{Axis, Unfit, Variant};

/// Throughput of arithmetic.
pub(super) const GENERATOR: Generator = Generator {
    name: "compute_throughput",
    tags: &["arithmetic", "thesis"],
    summary: "Operations on 16 variables, as the thesis's parameters T are measured",
    axes: &[
        Axis::words("operation", "operation", &["madd", "add", "mul"]),
        Axis::words("dtype", "type of the variables", &["float32", "float64", "int32"]),
        Axis::numbers("lsize_0", "threads of a block", &[128, 256], &[256]),
        Axis::size("ngroups", "blocks of the grid", [1, 1], &[1024]),
        Axis::size("m", "operations on each variable", [32, 32], &[1024]),
    ],
    make: kernel,
};

/// Variables of a thread.
const VARIABLES: u64 = 16;

/// The thesis copies the body of its loop this often.
const UNROLLED: u32 = 32;

fn kernel(variant: &Variant) -> Result<Kernel, Unfit> {
    let ty = pattern::dtype(variant)?;
    let operation = variant.word("operation")?;
    let (lsize, groups) = (variant.number("lsize_0")?, variant.number("ngroups")?);
    let mut kernel = Builder::new(GENERATOR.name, GENERATOR.summary);
    let data = kernel.input("data", ty, groups * lsize, Contents::Uniform(1));
    let result = kernel.output("result", ty, groups * lsize);
    let at = kernel.name("at", kernel.thread_of_grid());
    let first = kernel.load("first", &data, at.clone());
    let variables: Vec<_> = (0..VARIABLES)
        .map(|at| kernel.variable(&format!("r{at}"), first.clone() + (31 + 4 * at)))
        .collect();
    kernel.repeat("j", variant.number("m")?, Unroll::By(UNROLLED), |kernel| {
        updates::pass(kernel, &variables, |x, y| match operation {
            "add" => x + y,
            "mul" => x * y,
            _ => x.clone().multiply_add(x, y),
        });
    });
    // The thesis stores what cannot happen; a store of every thread costs as little.
    let sum = updates::sum(&variables);
    kernel.when(Expression::from(variables[0]).equals(first), |kernel| {
        kernel.store(&result, at, sum);
    });
    Ok(kernel.launched([groups, 1, 1], [lsize, 1, 1]))
}
