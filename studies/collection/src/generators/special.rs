//! Special functions, one of which a row of the table names.

use super::pattern::{self, LSIZE_0};
use super::updates;
use crate::Generator;
use crate::language::{Builder, Expression, Function, Kernel, Type};
use crate::variant::{Axis, Unfit, Variant};

/// A function by the word of its tag.
struct Row {
    word: &'static str,
    function: Function,
    oldest_target: u32,
}

const fn row(word: &'static str, ptx: &'static str, cuda: &'static str) -> Row {
    Row { word, function: Function::new(ptx, cuda, Type::F32), oldest_target: 20 }
}

const FUNCTIONS: [Row; 8] = [
    row("rcp", "rcp.approx.f32", "__frcp_rn($0)"),
    row("sqrt", "sqrt.approx.f32", "__fsqrt_rn($0)"),
    row("rsqrt", "rsqrt.approx.f32", "rsqrtf($0)"),
    row("sin", "sin.approx.f32", "__sinf($0)"),
    row("cos", "cos.approx.f32", "__cosf($0)"),
    row("ex2", "ex2.approx.f32", "exp2f($0)"),
    row("lg2", "lg2.approx.f32", "__log2f($0)"),
    Row { oldest_target: 75, ..row("tanh", "tanh.approx.f32", "tanhf($0)") },
];

const WORDS: &[&str] = &["rcp", "sqrt", "rsqrt", "sin", "cos", "ex2", "lg2", "tanh"];

/// Special functions.
pub(super) const GENERATOR: Generator = Generator {
    name: "special_pattern",
    tags: &["flops", "special"],
    summary: "A special function on 32 variables, none of which waits for the last four",
    axes: &[
        Axis::words("function", "function that is computed", WORDS),
        LSIZE_0,
        Axis::size("nelements", "threads of the grid", [256, 256], &[262_144]),
        Axis::size("m", "operations on each of the 32 variables", [64, 64], &[256]),
    ],
    make: kernel,
};

fn kernel(variant: &Variant) -> Result<Kernel, Unfit> {
    let word = variant.word("function")?;
    let row = FUNCTIONS.iter().find(|row| row.word == word);
    let row = row.ok_or_else(|| Unfit::new(format!("there is no function {word}")))?;
    let (lsize, elements) = (variant.number("lsize_0")?, variant.number("nelements")?);
    let mut kernel = Builder::new(GENERATOR.name, GENERATOR.summary);
    kernel.needs_target(row.oldest_target);
    let result = kernel.output("result", Type::F32, elements);
    let variables = updates::variables(&mut kernel, Type::F32, updates::VARIABLES);
    updates::passes(&mut kernel, &variables, variant.number("m")?, |x, _| {
        Expression::Call(row.function, vec![x])
    });
    let at = kernel.thread_of_grid();
    kernel.store(&result, at, updates::sum(&variables));
    Ok(kernel.launched([pattern::blocks(elements, lsize)?, 1, 1], [lsize, 1, 1]))
}
