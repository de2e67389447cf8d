//! Kernels that do nothing, for the cost of launches and of blocks (Stevens and Klöckner 2020,
//! section 7.1.2, "Other features").

use super::pattern::{LSIZE_0, LSIZE_1};
use crate::Generator;
use crate::language::{Builder, Kernel};
use crate::variant::{Axis, Unfit, Variant};

/// Empty kernels.
pub(super) const GENERATOR: Generator = Generator {
    name: "empty_knl",
    tags: &["launch", "overhead"],
    summary: "Blocks that do nothing",
    axes: &[
        LSIZE_0,
        LSIZE_1,
        Axis::size("ngroups", "blocks of the grid", [1, 1], &[16, 1024, 16_384, 65_536, 262_144]),
    ],
    make: kernel,
};

fn kernel(variant: &Variant) -> Result<Kernel, Unfit> {
    let kernel = Builder::new(GENERATOR.name, GENERATOR.summary);
    let block = [variant.number("lsize_0")?, variant.number("lsize_1")?, 1];
    if block[0] * block[1] > 1024 {
        return Err(Unfit::new("a block has at most 1024 threads"));
    }
    Ok(kernel.launched([variant.number("ngroups")?, 1, 1], block))
}
