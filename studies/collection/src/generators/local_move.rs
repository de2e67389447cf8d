//! Elements moved about in shared memory (Stevens and Klöckner 2020, section 7.1.2, "Local memory
//! access"; OpenCL's local memory is CUDA's shared memory).

use super::pattern::{
    self, GROUPS_FIT, LID_STRIDE_0, LID_STRIDE_1, LSIZE_0, LSIZE_1, NELEMENTS, Pattern,
};
use crate::Generator;
use crate::language::{Builder, Caching, Expression, Kernel, Type, Unroll};
use crate::variant::{Axis, Unfit, Variant};

/// Moves in shared memory.
pub(super) const GENERATOR: Generator = Generator {
    name: "lmem_move_pattern",
    tags: &["lmem", "memory"],
    summary: "Elements moved from place to place in shared memory, without bank conflicts",
    axes: &[
        Axis::words("dtype", "type of the elements", &["float32", "float64"]),
        LSIZE_0,
        LSIZE_1,
        GROUPS_FIT,
        LID_STRIDE_0,
        LID_STRIDE_1,
        NELEMENTS,
        Axis::size("m", "moves of a thread", [8, 8], &[512, 1024]),
    ],
    make: kernel,
};

/// Elements of a thread. A move goes half way round, so that it waits for none of the last four.
const PLACES: u64 = 8;

fn kernel(variant: &Variant) -> Result<Kernel, Unfit> {
    let ty = pattern::dtype(variant)?;
    let pattern = Pattern::of(variant)?;
    let threads = pattern.block[0] * pattern.block[1];
    if threads * PLACES * ty.bytes() > 48 << 10 {
        return Err(Unfit::new("a block has at most 48 KiB of shared memory"));
    }
    let mut kernel = Builder::new(GENERATOR.name, GENERATOR.summary);
    let result = kernel.output("result", ty, pattern.len);
    let tile = kernel.shared("tile", ty, threads * PLACES);
    let at = pattern.index(&mut kernel);
    let own = kernel.name("own", kernel.thread(1) * pattern.block[0] + kernel.thread(0));
    let value = kernel.name("value", own.clone().to(ty));
    let places = Expression::number(PLACES, Type::S32);
    kernel.count("place", places.clone(), 1, Unroll::Whole, |kernel, place| {
        kernel.store(&tile, place * threads + own.clone(), value.clone());
    });
    kernel.barrier();
    kernel.repeat("pass", variant.number("m")? / PLACES, Unroll::No, |kernel| {
        kernel.count("place", places, 1, Unroll::Whole, |kernel, place| {
            let there = (place.clone() + PLACES / 2).masked(PLACES - 1);
            let from = place * threads + own.clone();
            let moved = kernel.load_through(Caching::Volatile, "moved", &tile, from);
            kernel.store(&tile, there * threads + own.clone(), moved);
        });
    });
    let last = kernel.load("last", &tile, own);
    kernel.store(&result, at, last);
    Ok(kernel.launched(pattern.grid, pattern.block))
}
