//! Sums, products and multiply-adds in the paper's pattern (Stevens and Klöckner 2020, section
//! 7.1.2, "Arithmetic operations").

use super::pattern::{
    self, GROUPS_FIT, LID_STRIDE_0, LID_STRIDE_1, LSIZE_0, LSIZE_1, NELEMENTS, Pattern,
};
use super::updates;
use crate::Generator;
use crate::language::{Builder, Expression, Kernel};
use crate::variant::{Axis, Unfit, Variant};

const AXES: &[Axis] = &[
    Axis::words("dtype", "type of the variables", &["float32", "float64", "float16"]),
    LSIZE_0,
    LSIZE_1,
    GROUPS_FIT,
    LID_STRIDE_0,
    LID_STRIDE_1,
    NELEMENTS,
    Axis::size("m", "operations on each of the 32 variables", [64, 64], &[512, 1024]),
];

/// Additions.
pub(super) const ADD: Generator = Generator {
    name: "flops_add_pattern",
    tags: &["flops", "arithmetic"],
    summary: "Additions on 32 variables, none of which waits for the last four",
    axes: AXES,
    make: |variant| kernel(ADD, variant, |x, y| x + y),
};

/// Multiplications.
pub(super) const MULTIPLY: Generator = Generator {
    name: "flops_mul_pattern",
    tags: &["flops", "arithmetic"],
    summary: "Multiplications on 32 variables, none of which waits for the last four",
    axes: AXES,
    make: |variant| kernel(MULTIPLY, variant, |x, y| x * y),
};

/// Multiply-adds.
pub(super) const MULTIPLY_ADD: Generator = Generator {
    name: "flops_madd_pattern",
    tags: &["flops", "arithmetic"],
    summary: "Multiply-adds on 32 variables, none of which waits for the last four",
    axes: AXES,
    make: |variant| kernel(MULTIPLY_ADD, variant, |x, y| x.clone().multiply_add(x, y)),
};

fn kernel(
    generator: Generator,
    variant: &Variant,
    update: fn(Expression, Expression) -> Expression,
) -> Result<Kernel, Unfit> {
    let ty = pattern::dtype(variant)?;
    let pattern = Pattern::of(variant)?;
    let mut kernel = Builder::new(generator.name, generator.summary);
    let result = kernel.output("result", ty, pattern.len);
    let at = pattern.index(&mut kernel);
    let variables = updates::variables(&mut kernel, ty, updates::VARIABLES);
    updates::passes(&mut kernel, &variables, variant.number("m")?, update);
    kernel.store(&result, at, updates::sum(&variables));
    Ok(kernel.launched(pattern.grid, pattern.block))
}
