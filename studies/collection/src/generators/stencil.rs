//! A seven-point stencil in three dimensions, as the corpus's `stencil-7pt` computes it: a block
//! walks through a column of the domain.

use super::pattern;
use crate::Generator;
use crate::language::{Builder, Contents, Expression, Kernel, Unroll};
use crate::variant::{Axis, Unfit, Variant};

/// A stencil in three dimensions.
pub(super) const GENERATOR: Generator = Generator {
    name: "stencil_3d",
    tags: &["stencil", "application"],
    summary: "Differences with six neighbours; a block walks through all planes",
    axes: &[
        Axis::words("dtype", "type of the elements", &["float32", "float64"]),
        Axis::numbers("lsize_0", "threads of a block along x", &[16, 32, 64], &[32]),
        Axis::numbers("lsize_1", "threads of a block along y", &[1, 2, 4, 8, 16], &[4]),
        Axis::size("n", "points along a side of the result", [64, 64], &[256]),
    ],
    make: kernel,
};

/// The longest side whose points, with those around it, have indices of 31 bits.
const LONGEST: u64 = 1280;

fn kernel(variant: &Variant) -> Result<Kernel, Unfit> {
    let ty = pattern::dtype(variant)?;
    let size = [variant.number("lsize_0")?, variant.number("lsize_1")?];
    let n = variant.number("n")?;
    if n > LONGEST {
        return Err(Unfit::new(format!("more than {LONGEST} points a side need longer indices")));
    }
    let grid = [pattern::blocks(n, size[0])?, pattern::blocks(n, size[1])?, 1];
    let row = n + 2;
    let mut kernel = Builder::new(GENERATOR.name, GENERATOR.summary);
    let u = kernel.input("u", ty, row * row * row, Contents::Uniform(1));
    let result = kernel.output("result", ty, n * n * n);
    let side = kernel.scalar("n", n);
    let x = kernel.name("x", kernel.block(0) * size[0] + kernel.thread(0));
    let y = kernel.name("y", kernel.block(1) * size[1] + kernel.thread(1));
    let row = kernel.name("row", side.clone() + 2);
    let plane = kernel.name("plane", row.clone() * row.clone());
    // The point of the plane before the first one: that below the thread's first point.
    let below = kernel.variable("below", (y.clone() + 1) * row.clone() + (x.clone() + 1));
    let to = kernel.variable("to", y * side.clone() + x);
    kernel.count("z", side.clone(), 1, Unroll::No, |kernel, _| {
        let at = kernel.name("at", Expression::from(below) + plane.clone());
        let centre = kernel.load("centre", &u, at.clone());
        let west = kernel.load("west", &u, at.clone() - 1);
        let east = kernel.load("east", &u, at.clone() + 1);
        let north = kernel.load("north", &u, at.clone() - row.clone());
        let south = kernel.load("south", &u, at.clone() + row.clone());
        let under = kernel.load("under", &u, below.into());
        let over = kernel.load("over", &u, at.clone() + plane.clone());
        let sum = centre.multiply_add(Expression::Integer(-6, ty), west + east);
        kernel.store(&result, to.into(), sum + north + south + under + over);
        kernel.assign(below, at);
        kernel.assign(to, Expression::from(to) + side.clone() * side.clone());
    });
    Ok(kernel.launched(grid, [size[0], size[1], 1]))
}
