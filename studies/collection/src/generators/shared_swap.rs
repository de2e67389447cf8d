//! Swaps in shared memory (Konstantinidis 2017, appendices A.4 and B.2, shmembench).

use super::pattern;
use crate::Generator;
use crate::language::{Array, Builder, Caching, Expression, Kernel, Unroll};
use crate::variant::{Axis, Unfit, Variant};

/// Swaps.
pub(super) const GENERATOR: Generator = Generator {
    name: "shmembench",
    tags: &["lmem", "memory", "thesis"],
    summary: "Five swaps of six elements of each thread, again and again, in shared memory",
    axes: &[
        Axis::words("dtype", "type of the elements", &["float32", "float64"]),
        Axis::numbers("width", "elements of an access", &[1, 2, 4], &[1, 2, 4]),
        Axis::numbers("lsize_0", "threads of a block", &[64, 128, 256], &[256]),
        Axis::size("nelements", "threads of the grid", [256, 256], &[1_048_576]),
        Axis::size("m", "rounds of five swaps", [32, 32], &[1024]),
    ],
    make: kernel,
};

/// Elements of a thread, as in the thesis.
const PLACES: u64 = 6;

/// The swaps of a round: elements 0 and 1, 2 and 3, 4 and 5, 1 and 2, 3 and 4.
const SWAPS: [u64; 5] = [0, 2, 4, 1, 3];

fn kernel(variant: &Variant) -> Result<Kernel, Unfit> {
    let ty = pattern::dtype(variant)?;
    let (width, lsize) = (variant.number("width")?, variant.number("lsize_0")?);
    if width * ty.bytes() > 16 {
        return Err(Unfit::new("an access has at most 16 bytes"));
    }
    let len = lsize * PLACES * width;
    if len * ty.bytes() > 48 << 10 {
        return Err(Unfit::new("a block has at most 48 KiB of shared memory"));
    }
    let elements = variant.number("nelements")?;
    let mut kernel = Builder::new(GENERATOR.name, GENERATOR.summary);
    let result = kernel.output("result", ty, elements);
    let tile = kernel.shared("tile", ty, len);
    let own = kernel.name("own", kernel.thread(0) * width);
    let place = |number: u64| own.clone() + number * lsize * width;
    let value = kernel.name("value", kernel.thread(0).to(ty));
    for number in 0..PLACES {
        let values = (0..width).map(|part| value.clone() + (7 * number + 11 * part)).collect();
        kernel.store_vector(&tile, place(number), values);
    }
    kernel.repeat("round", variant.number("m")?, Unroll::By(32), |kernel| {
        for first in SWAPS {
            swap(kernel, &tile, place(first), place(first + 1), width);
        }
    });
    let sum = kernel.variable("sum", Expression::number(0, ty));
    for number in 0..PLACES {
        for value in kernel.load_vector(&format!("last{number}"), &tile, place(number), width) {
            kernel.assign(sum, Expression::from(sum) + value);
        }
    }
    let at = kernel.thread_of_grid();
    kernel.store(&result, at, sum.into());
    Ok(kernel.launched([pattern::blocks(elements, lsize)?, 1, 1], [lsize, 1, 1]))
}

fn swap(kernel: &mut Builder, tile: &Array, one: Expression, other: Expression, width: u64) {
    let volatile = Caching::Volatile;
    let first = kernel.load_vector_through(volatile, "first", tile, one.clone(), width);
    let second = kernel.load_vector_through(volatile, "second", tile, other.clone(), width);
    kernel.store_vector(tile, one, second);
    kernel.store_vector(tile, other, first);
}
