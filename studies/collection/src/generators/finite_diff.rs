//! A five-point stencil in two dimensions (Stevens and Klöckner 2020, section 8.5).

use super::pattern;
use crate::Generator;
use crate::language::{Builder, Contents, Expression, Kernel, Type};
use crate::variant::{Axis, Unfit, Variant};

/// Finite differences.
pub(super) const GENERATOR: Generator = Generator {
    name: "finite_diff",
    tags: &["stencil", "application"],
    summary: "Differences with four neighbours, by tiles that overlap",
    axes: &[
        Axis::words("dtype", "type of the elements", &["float32", "float64"]),
        Axis::numbers("lsize", "threads of a block along x and along y", &[10, 16, 18], &[16, 18]),
        Axis::size("n", "rows of the result", [112, 112], &[1792, 3584]),
    ],
    make: kernel,
};

fn kernel(variant: &Variant) -> Result<Kernel, Unfit> {
    let ty = pattern::dtype(variant)?;
    let (size, n) = (variant.number("lsize")?, variant.number("n")?);
    let inner = size - 2;
    let blocks = pattern::blocks(n, inner)?;
    let mut kernel = Builder::new(GENERATOR.name, GENERATOR.summary);
    let u = kernel.input("u", ty, (n + 2) * (n + 2), Contents::Uniform(1));
    let result = kernel.output("result", ty, n * n);
    let rows = kernel.scalar("n", n);
    let tile = kernel.shared("tile", ty, size * size);
    let (i_in, j_in) = (kernel.thread(1), kernel.thread(0));
    let i = kernel.name("i", kernel.block(1) * inner + i_in.clone());
    let j = kernel.name("j", kernel.block(0) * inner + j_in.clone());
    let own = kernel.name("own", i_in.clone() * size + j_in.clone());
    let value = kernel.load("value", &u, i.clone() * (rows.clone() + 2) + j.clone());
    kernel.store(&tile, own.clone(), value);
    kernel.barrier();
    let limit = Expression::number(inner, Type::S32);
    kernel.when(i_in.less(limit.clone()), |kernel| {
        kernel.when(j_in.less(limit), |kernel| {
            let at = |down: u64, right: u64| own.clone() + (down * size + right);
            let north = kernel.load("north", &tile, at(0, 1));
            let west = kernel.load("west", &tile, at(1, 0));
            let centre = kernel.load("centre", &tile, at(1, 1));
            let east = kernel.load("east", &tile, at(1, 2));
            let south = kernel.load("south", &tile, at(2, 1));
            let sum = centre.multiply_add(Expression::Integer(-4, ty), north + west);
            kernel.store(&result, i * rows + j, sum + east + south);
        });
    });
    Ok(kernel.launched([blocks, blocks, 1], [size, size, 1]))
}
