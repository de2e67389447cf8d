//! The four operations of McCalpin's STREAM.

use super::pattern;
use crate::Generator;
use crate::language::{Builder, Contents, Expression, Kernel};
use crate::variant::{Axis, Unfit, Variant};

/// STREAM.
pub(super) const GENERATOR: Generator = Generator {
    name: "stream",
    tags: &["gmem", "memory", "bandwidth"],
    summary: "A copy, a multiple, a sum, or a sum with a multiple",
    axes: &[
        Axis::words("operation", "operation", &["copy", "scale", "add", "triad"]),
        Axis::words("dtype", "type of the elements", &["float32", "float64"]),
        Axis::numbers("width", "elements of an access", &[1, 2, 4], &[1, 4]),
        Axis::numbers("lsize_0", "threads of a block", &[128, 256, 512], &[256]),
        Axis::size("nelements", "elements of an array", [4096, 4096], &[4_194_304]),
    ],
    make: kernel,
};

fn kernel(variant: &Variant) -> Result<Kernel, Unfit> {
    let ty = pattern::dtype(variant)?;
    let (width, lsize) = (variant.number("width")?, variant.number("lsize_0")?);
    if width * ty.bytes() > 16 {
        return Err(Unfit::new("an access has at most 16 bytes"));
    }
    let elements = variant.number("nelements")?;
    let operation = variant.word("operation")?;
    let mut kernel = Builder::new(GENERATOR.name, GENERATOR.summary);
    let one = kernel.input("one", ty, elements, Contents::Uniform(1));
    let has_two = matches!(operation, "add" | "triad");
    let other = has_two.then(|| kernel.input("other", ty, elements, Contents::Uniform(2)));
    let result = kernel.output("result", ty, elements);
    let at = kernel.name("at", kernel.thread_of_grid() * width);
    let ones = kernel.load_vector("x", &one, at.clone(), width);
    let others = other.map(|other| kernel.load_vector("y", &other, at.clone(), width));
    let factor = Expression::number(3, ty);
    let values = match (operation, others) {
        ("add", Some(others)) => ones.into_iter().zip(others).map(|(x, y)| x + y).collect(),
        (_, Some(others)) => {
            ones.into_iter().zip(others).map(|(x, y)| y.multiply_add(factor.clone(), x)).collect()
        }
        ("scale", None) => ones.into_iter().map(|x| x * factor.clone()).collect(),
        _ => ones,
    };
    kernel.store_vector(&result, at, values);
    Ok(kernel.launched([pattern::blocks(elements, lsize * width)?, 1, 1], [lsize, 1, 1]))
}
