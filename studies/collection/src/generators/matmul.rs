//! Products of square matrices (Stevens and Klöckner 2020, sections 2.1 and 8.3).

use super::pattern::{self, LSIZE_0, LSIZE_1};
use crate::Generator;
use crate::language::{Array, Builder, Contents, Expression, Kernel, Type, Unroll};
use crate::variant::{Axis, Unfit, Variant};

/// Products of square matrices.
pub(super) const GENERATOR: Generator = Generator {
    name: "matmul_sq",
    tags: &["matmul", "application"],
    summary: "A product of square matrices, with or without tiles in shared memory",
    axes: &[
        Axis::words("dtype", "type of the elements", &["float32", "float64"]),
        Axis::words("prefetch", "tiles of both matrices in shared memory", &["True", "False"]),
        LSIZE_0,
        LSIZE_1,
        Axis::words("groups_fit", "whether blocks cover the matrix exactly", &["True", "False"]),
        Axis::size("n", "rows of a matrix", [16, 1], &[512, 1024]),
    ],
    make: kernel,
};

/// The names that both algorithms use.
struct Product {
    a: Array,
    b: Array,
    c: Array,
    n: Expression,
    /// Threads of a block along x and y.
    size: [u64; 2],
    fits: bool,
}

fn kernel(variant: &Variant) -> Result<Kernel, Unfit> {
    let ty = pattern::dtype(variant)?;
    let (n, fits) = (variant.number("n")?, variant.is("groups_fit")?);
    let size = [variant.number("lsize_0")?, variant.number("lsize_1")?];
    if size[0] * size[1] > 1024 {
        return Err(Unfit::new("a block has at most 1024 threads"));
    }
    if fits && size.iter().any(|size| !n.is_multiple_of(*size)) {
        let [x, y] = size;
        return Err(Unfit::new(format!("blocks of {x} x {y} do not fit {n} rows")));
    }
    let mut kernel = Builder::new(GENERATOR.name, GENERATOR.summary);
    let product = Product {
        a: kernel.input("a", ty, n * n, Contents::Uniform(1)),
        b: kernel.input("b", ty, n * n, Contents::Uniform(2)),
        c: kernel.output("c", ty, n * n),
        n: kernel.scalar("n", n),
        size,
        fits,
    };
    match variant.is("prefetch")? {
        true if size[0] != size[1] => {
            return Err(Unfit::new("tiles are square, so lsize_0 is lsize_1"));
        }
        true => prefetch(&mut kernel, &product),
        false => direct(&mut kernel, &product),
    }
    let grid = [n.div_ceil(size[0]), n.div_ceil(size[1]), 1];
    Ok(kernel.launched(grid, [size[0], size[1], 1]))
}

/// Reads both matrices from global memory.
fn direct(kernel: &mut Builder, product: &Product) {
    let Product { a, b, c, n, size, fits } = product;
    let row = kernel.name("i", kernel.block(1) * size[1] + kernel.thread(1));
    let column = kernel.name("j", kernel.block(0) * size[0] + kernel.thread(0));
    let result = kernel.name("at", row.clone() * n.clone() + column.clone());
    let body = |kernel: &mut Builder| {
        let begin = kernel.name("a_row", row.clone() * n.clone());
        let b_at = kernel.variable("b_at", column.clone());
        let sum = kernel.variable("sum", Expression::number(0, a.ty));
        kernel.count("k", n.clone(), 1, Unroll::No, |kernel, k| {
            let one = kernel.load("one", a, begin.clone() + k);
            let other = kernel.load("other", b, b_at.into());
            kernel.assign(sum, one.multiply_add(other, sum.into()));
            kernel.assign(b_at, Expression::from(b_at) + n.clone());
        });
        kernel.store(c, result.clone(), sum.into());
    };
    if *fits {
        return body(kernel);
    }
    kernel.when(row.clone().less(n.clone()), |kernel| {
        kernel.when(column.clone().less(n.clone()), body);
    });
}

/// Fetches tiles of both matrices into shared memory before it multiplies them.
fn prefetch(kernel: &mut Builder, product: &Product) {
    let Product { a, b, c, n, size: [tile, _], fits } = product;
    let a_tile = kernel.shared("a_tile", a.ty, tile * tile);
    let b_tile = kernel.shared("b_tile", a.ty, tile * tile);
    let (row_in, column_in) = (kernel.thread(1), kernel.thread(0));
    let row = kernel.name("i", kernel.block(1) * *tile + row_in.clone());
    let column = kernel.name("j", kernel.block(0) * *tile + column_in.clone());
    let own = kernel.name("own", row_in.clone() * *tile + column_in.clone());
    let begin = kernel.name("a_row", row.clone() * n.clone() + column_in.clone());
    let sum = kernel.variable("sum", Expression::number(0, a.ty));
    kernel.count("k", n.clone(), *tile as i64, Unroll::No, |kernel, k| {
        kernel.barrier();
        let k_row = kernel.name("k_row", k.clone() + row_in.clone());
        let a_at = begin.clone() + k.clone();
        let b_at = k_row.clone() * n.clone() + column.clone();
        let k_column = k + column_in.clone();
        let a_is_inside = [row.clone().less(n.clone()), k_column.less(n.clone())];
        let b_is_inside = [k_row.less(n.clone()), column.clone().less(n.clone())];
        let inside = |conditions| if *fits { None } else { Some(conditions) };
        fetch(
            kernel,
            "a_value",
            Move { from: a, at: a_at, to: &a_tile },
            &own,
            inside(a_is_inside),
        );
        fetch(
            kernel,
            "b_value",
            Move { from: b, at: b_at, to: &b_tile },
            &own,
            inside(b_is_inside),
        );
        kernel.barrier();
        let last = Expression::number(*tile, Type::S32);
        kernel.count("k_in", last, 1, Unroll::Whole, |kernel, k_in| {
            let one = kernel.load("one", &a_tile, row_in.clone() * *tile + k_in.clone());
            let other = kernel.load("other", &b_tile, column_in.clone() + k_in * *tile);
            kernel.assign(sum, one.multiply_add(other, sum.into()));
        });
    });
    let result = row.clone() * n.clone() + column.clone();
    if *fits {
        return kernel.store(c, result, sum.into());
    }
    kernel.when(row.less(n.clone()), |kernel| {
        kernel.when(column.less(n.clone()), |kernel| kernel.store(c, result, sum.into()));
    });
}

/// An element of a matrix, and the tile that gets it.
struct Move<'m> {
    from: &'m Array,
    at: Expression,
    to: &'m Array,
}

/// Copies an element into a tile, or zero where the matrix has none.
fn fetch(
    kernel: &mut Builder,
    name: &str,
    element: Move<'_>,
    own: &Expression,
    inside: Option<[Expression; 2]>,
) {
    let Move { from, at, to } = element;
    let Some([row_is_inside, column_is_inside]) = inside else {
        let value = kernel.load(name, from, at);
        return kernel.store(to, own.clone(), value);
    };
    kernel.store(to, own.clone(), Expression::number(0, from.ty));
    kernel.when(row_is_inside, |kernel| {
        kernel.when(column_is_inside, |kernel| {
            let value = kernel.load(name, from, at);
            kernel.store(to, own.clone(), value);
        });
    });
}
