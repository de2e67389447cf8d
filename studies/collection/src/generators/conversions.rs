//! Conversions between two types, there and back.

use super::pattern::{self, LSIZE_0};
use super::updates;
use crate::Generator;
use crate::language::{Builder, Expression, Kernel, Type, Unroll};
use crate::variant::{Axis, Unfit, Variant};

const TYPES: &[&str] = &["float16", "float32", "float64", "int32", "int64"];

/// Conversions.
pub(super) const GENERATOR: Generator = Generator {
    name: "conversion_pattern",
    tags: &["conversion", "arithmetic"],
    summary: "Conversions of 16 variables of a type to 16 of another, and back",
    axes: &[
        Axis::words("from", "type of the first 16 variables", &["float32", "float64", "int32"]),
        Axis::words("to", "type of the others", TYPES),
        LSIZE_0,
        Axis::size("nelements", "threads of the grid", [256, 256], &[262_144]),
        Axis::size("m", "conversions of each variable", [64, 64], &[256]),
    ],
    make: kernel,
};

fn kernel(variant: &Variant) -> Result<Kernel, Unfit> {
    let ty = |axis: &str| {
        let word = variant.word(axis)?;
        Type::named(word).ok_or_else(|| Unfit::new(format!("{word} is no type")))
    };
    let (from, to) = (ty("from")?, ty("to")?);
    if from == to {
        return Err(Unfit::new("a conversion is between two types"));
    }
    let (lsize, elements) = (variant.number("lsize_0")?, variant.number("nelements")?);
    let mut kernel = Builder::new(GENERATOR.name, GENERATOR.summary);
    if to == Type::F16 {
        kernel.needs_target(53);
    }
    let result = kernel.output("result", from, elements);
    let sources = updates::variables(&mut kernel, from, updates::VARIABLES / 2);
    let results: Vec<_> = (0..sources.len())
        .map(|at| kernel.variable(&format!("c{at}"), Expression::Integer(0, to)))
        .collect();
    kernel.repeat("pass", variant.number("m")?, Unroll::By(updates::UNROLLED), |kernel| {
        for (&source, &result) in sources.iter().zip(&results) {
            kernel.assign(result, Expression::from(source).to(to));
        }
        for (&source, &result) in sources.iter().zip(&results) {
            kernel.assign(source, Expression::from(result).to(from));
        }
    });
    let at = kernel.thread_of_grid();
    kernel.store(&result, at, updates::sum(&sources));
    Ok(kernel.launched([pattern::blocks(elements, lsize)?, 1, 1], [lsize, 1, 1]))
}
