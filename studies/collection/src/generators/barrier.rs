//! Barriers of a block (Stevens and Klöckner 2020, section 7.1.2, "Other features").

use super::pattern::{self, LSIZE_0, LSIZE_1};
use crate::Generator;
use crate::language::{Builder, Kernel, Type, Unroll};
use crate::variant::{Axis, Unfit, Variant};

/// Barriers.
pub(super) const GENERATOR: Generator = Generator {
    name: "barrier_pattern",
    tags: &["barrier", "overhead"],
    summary: "Barriers, one after the other",
    axes: &[
        LSIZE_0,
        LSIZE_1,
        Axis::size("nelements", "threads of the grid", [1024, 1024], &[1_048_576]),
        Axis::size("m", "barriers of a block", [8, 8], &[128, 256, 512]),
    ],
    make: kernel,
};

fn kernel(variant: &Variant) -> Result<Kernel, Unfit> {
    let block = [variant.number("lsize_0")?, variant.number("lsize_1")?, 1];
    let threads = block[0] * block[1];
    if threads > 1024 {
        return Err(Unfit::new("a block has at most 1024 threads"));
    }
    let elements = variant.number("nelements")?;
    let mut kernel = Builder::new(GENERATOR.name, GENERATOR.summary);
    let result = kernel.output("result", Type::F32, elements);
    kernel.repeat("pass", variant.number("m")?, Unroll::By(8), Builder::barrier);
    let at = kernel.block(0) * threads + kernel.thread(1) * block[0] + kernel.thread(0);
    let value = kernel.thread(0).to(Type::F32);
    kernel.store(&result, at, value);
    Ok(kernel.launched([pattern::blocks(elements, threads)?, 1, 1], block))
}
