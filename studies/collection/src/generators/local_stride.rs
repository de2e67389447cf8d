//! Loads of shared memory by stride and width: bank conflicts and vectors.

use super::pattern;
use crate::Generator;
use crate::language::{Builder, Expression, Kernel, Type, Unroll};
use crate::variant::{Axis, Unfit, Variant};

/// Loads by stride and width.
pub(super) const GENERATOR: Generator = Generator {
    name: "lmem_stride_pattern",
    tags: &["lmem", "memory", "conflicts"],
    summary: "Loads of shared memory with a stride between threads, alone or as vectors",
    axes: &[
        Axis::words("dtype", "type of the elements", &["float32", "float64"]),
        Axis::numbers(
            "lid_stride_0",
            "accesses from a thread to the next",
            &[0, 1, 2, 3, 4, 8, 16, 32, 33],
            &[1, 2, 4, 8, 16, 32, 33],
        ),
        Axis::numbers("width", "elements of an access", &[1, 2, 4], &[1, 2, 4]),
        Axis::numbers("lsize_0", "threads of a block", &[32, 64, 128, 256], &[256]),
        Axis::size("ngroups", "blocks of the grid", [1, 1], &[1024]),
        Axis::size("m", "loads of a thread", [8, 8], &[1024]),
    ],
    make: kernel,
};

/// Bytes of the array that all blocks have.
const BYTES: u64 = 32 << 10;

fn kernel(variant: &Variant) -> Result<Kernel, Unfit> {
    let ty = pattern::dtype(variant)?;
    let (stride, width) = (variant.number("lid_stride_0")?, variant.number("width")?);
    let (lsize, groups) = (variant.number("lsize_0")?, variant.number("ngroups")?);
    if width * ty.bytes() > 16 {
        return Err(Unfit::new("an access has at most 16 bytes"));
    }
    let elements = BYTES / ty.bytes();
    let mut kernel = Builder::new(GENERATOR.name, GENERATOR.summary);
    let result = kernel.output("result", ty, groups * lsize);
    let tile = kernel.shared("tile", ty, elements);
    let thread = kernel.name("thread", kernel.thread(0));
    let value = kernel.name("value", thread.clone().to(ty));
    let last = Expression::number(elements, Type::S32);
    kernel.count("place", last, lsize as i64, Unroll::No, |kernel, place| {
        kernel.store(&tile, place + thread.clone(), value.clone());
    });
    kernel.barrier();
    // The place moves with each load, so that no load can be left out.
    let at = kernel.variable("at", (thread * (stride * width)).masked(elements - 1));
    let sums: Vec<_> = (0..width)
        .map(|at| kernel.variable(&format!("sum{at}"), Expression::number(0, ty)))
        .collect();
    kernel.repeat("pass", variant.number("m")?, Unroll::By(8), |kernel| {
        let loaded = kernel.load_vector("loaded", &tile, at.into(), width);
        for (&sum, loaded) in sums.iter().zip(loaded) {
            kernel.assign(sum, Expression::from(sum) + loaded);
        }
        kernel.assign(at, (Expression::from(at) + width).masked(elements - 1));
    });
    let sum = super::updates::sum(&sums);
    let place = kernel.thread_of_grid();
    kernel.store(&result, place, sum);
    Ok(kernel.launched([groups, 1, 1], [lsize, 1, 1]))
}
