//! Work on the chip beside traffic with global memory, with a ratio (Stevens and Klöckner 2020,
//! section 7.4).

use super::pattern::{
    self, GROUPS_FIT, LID_STRIDE_0, LID_STRIDE_1, LSIZE_0, LSIZE_1, NELEMENTS, Pattern,
};
use crate::Generator;
use crate::language::{Builder, Caching, Contents, Expression, Kernel, Type, Unroll};
use crate::variant::{Axis, Unfit, Variant};

/// Overlap.
pub(super) const GENERATOR: Generator = Generator {
    name: "overlap_pattern",
    tags: &["overlap", "gmem", "lmem", "memory"],
    summary: "A load, moves in shared memory as many as the ratio says, and a store",
    axes: &[
        Axis::words("dtype", "type of the elements", &["float32", "float64"]),
        LSIZE_0,
        LSIZE_1,
        GROUPS_FIT,
        LID_STRIDE_0,
        LID_STRIDE_1,
        NELEMENTS,
        Axis::size(
            "m",
            "loads and stores of shared memory for each load of global memory",
            [0, 1],
            &[0, 1, 2, 4, 8, 16, 32],
        ),
    ],
    make: kernel,
};

fn kernel(variant: &Variant) -> Result<Kernel, Unfit> {
    let ty = pattern::dtype(variant)?;
    let pattern = Pattern::of(variant)?;
    let threads = pattern.block[0] * pattern.block[1];
    let ratio = variant.number("m")?;
    let mut kernel = Builder::new(GENERATOR.name, GENERATOR.summary);
    let source = kernel.input("in", ty, pattern.len, Contents::Uniform(1));
    let result = kernel.output("result", ty, pattern.len);
    let at = pattern.index(&mut kernel);
    let value = kernel.load("value", &source, at.clone());
    if ratio == 0 {
        kernel.store(&result, at, value);
        return Ok(kernel.launched(pattern.grid, pattern.block));
    }
    let tile = kernel.shared("tile", ty, 2 * threads);
    let own = kernel.name("own", kernel.thread(1) * pattern.block[0] + kernel.thread(0));
    let moved = kernel.variable("moved", value);
    let times = Expression::number(ratio, Type::S32);
    kernel.count("one", times, 1, Unroll::Whole, |kernel, one| {
        let place = one.masked(1) * threads + own.clone();
        kernel.store(&tile, place.clone(), moved.into());
        kernel.load_into(moved, &tile, place, Caching::Volatile);
    });
    kernel.store(&result, at, moved.into());
    Ok(kernel.launched(pattern.grid, pattern.block))
}
