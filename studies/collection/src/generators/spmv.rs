//! A product of a sparse matrix and a vector, in the format ELLPACK, as the corpus's `spmv-ell`
//! computes it. Columns are random: the vector's length says which cache holds it.

use super::pattern;
use crate::Generator;
use crate::language::{Builder, Contents, Expression, Kernel, Type, Unroll};
use crate::variant::{Axis, MOST, Unfit, Variant};

/// A product of a sparse matrix and a vector.
pub(super) const GENERATOR: Generator = Generator {
    name: "spmv_ell",
    tags: &["sparse", "gmem", "application"],
    summary: "A product of a sparse matrix in ELLPACK form, with random columns, and a vector",
    axes: &[
        Axis::words("dtype", "type of the elements", &["float32", "float64"]),
        Axis::numbers("lsize_0", "threads of a block", &[64, 128, 256], &[128]),
        Axis::size("nrows", "rows of the matrix", [256, 256], &[262_144]),
        Axis::size("ncolumns", "columns of the matrix", [1, 1], &[4096, 1_048_576]),
        Axis::size("entries", "elements of a row that are stored", [1, 1], &[16]),
    ],
    make: kernel,
};

fn kernel(variant: &Variant) -> Result<Kernel, Unfit> {
    let ty = pattern::dtype(variant)?;
    let (size, rows) = (variant.number("lsize_0")?, variant.number("nrows")?);
    let (columns, entries) = (variant.number("ncolumns")?, variant.number("entries")?);
    let len = rows * entries;
    if len > MOST {
        return Err(Unfit::new(format!("{len} stored elements need longer indices")));
    }
    let blocks = pattern::blocks(rows, size)?;
    let mut kernel = Builder::new(GENERATOR.name, GENERATOR.summary);
    let values = kernel.input("values", ty, len, Contents::Uniform(1));
    let places = Contents::Below { limit: columns, seed: 2 };
    let places = kernel.input("columns", Type::S32, len, places);
    let vector = kernel.input("x", ty, columns, Contents::Uniform(3));
    let result = kernel.output("y", ty, rows);
    let all = kernel.scalar("nrows", rows);
    let last = kernel.scalar("entries", entries);
    let row = kernel.name("row", kernel.thread_of_grid());
    let at = kernel.variable("at", row.clone());
    let sum = kernel.variable("sum", Expression::number(0, ty));
    kernel.count("entry", last, 1, Unroll::No, |kernel, _| {
        let column = kernel.load("column", &places, at.into());
        let value = kernel.load("value", &values, at.into());
        let factor = kernel.load("factor", &vector, column);
        kernel.assign(sum, value.multiply_add(factor, sum.into()));
        kernel.assign(at, Expression::from(at) + all.clone());
    });
    kernel.store(&result, row, sum.into());
    Ok(kernel.launched([blocks, 1, 1], [size, 1, 1]))
}
