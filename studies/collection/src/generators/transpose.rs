//! Matrix transposition, which the paper names among its applications (Stevens and Klöckner 2020,
//! section 7.1).

use super::pattern;
use crate::Generator;
use crate::language::{Builder, Contents, Kernel};
use crate::variant::{Axis, Unfit, Variant};

/// Transposition.
pub(super) const GENERATOR: Generator = Generator {
    name: "transpose",
    tags: &["application", "gmem"],
    summary: "A transposed matrix, directly or by tiles, with or without bank conflicts",
    axes: &[
        Axis::words("dtype", "type of the elements", &["float32", "float64"]),
        Axis::words("prefetch", "tiles in shared memory", &["True", "False"]),
        Axis::words("padded", "tiles have a column that nobody reads", &["True", "False"]),
        Axis::numbers("lsize", "threads of a block along x and along y", &[8, 16, 32], &[32]),
        Axis::size("n", "rows of the matrix", [32, 32], &[2048]),
    ],
    make: kernel,
};

fn kernel(variant: &Variant) -> Result<Kernel, Unfit> {
    let ty = pattern::dtype(variant)?;
    let (size, n) = (variant.number("lsize")?, variant.number("n")?);
    let (has_tiles, is_padded) = (variant.is("prefetch")?, variant.is("padded")?);
    if is_padded && !has_tiles {
        return Err(Unfit::new("only tiles are padded"));
    }
    let blocks = pattern::blocks(n, size)?;
    let mut kernel = Builder::new(GENERATOR.name, GENERATOR.summary);
    let source = kernel.input("in", ty, n * n, Contents::Uniform(1));
    let result = kernel.output("result", ty, n * n);
    let rows = kernel.scalar("n", n);
    let (x_in, y_in) = (kernel.thread(0), kernel.thread(1));
    let x = kernel.name("x", kernel.block(0) * size + x_in.clone());
    let y = kernel.name("y", kernel.block(1) * size + y_in.clone());
    let value = kernel.load("value", &source, y.clone() * rows.clone() + x.clone());
    if has_tiles {
        let pitch = size + u64::from(is_padded);
        let tile = kernel.shared("tile", ty, size * pitch);
        kernel.store(&tile, y_in.clone() * pitch + x_in.clone(), value);
        kernel.barrier();
        let turned = kernel.load("turned", &tile, x_in.clone() * pitch + y_in.clone());
        let column = kernel.name("column", kernel.block(1) * size + x_in);
        let row = kernel.name("row", kernel.block(0) * size + y_in);
        kernel.store(&result, row * rows + column, turned);
    } else {
        kernel.store(&result, x * rows + y, value);
    }
    Ok(kernel.launched([blocks, blocks, 1], [size, size, 1]))
}
