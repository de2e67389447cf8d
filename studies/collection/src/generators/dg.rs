//! Element-wise differentiation of a discontinuous Galerkin method (Stevens and Klöckner 2020,
//! section 8.4): result[m, k, i] = sum over j of diff_mat[m, i, j] · u[k, j].

use super::pattern;
use crate::Generator;
use crate::language::{Array, Builder, Contents, Expression, Kernel, Type, Unroll};
use crate::variant::{Axis, Unfit, Variant};

/// DG differentiation.
pub(super) const GENERATOR: Generator = Generator {
    name: "dg_diff",
    tags: &["dg", "application"],
    summary: "Derivatives of polynomials on many elements, by a few small matrices",
    axes: &[
        Axis::words("dtype", "type of the elements", &["float32", "float64"]),
        Axis::words("prefetch", "array that is tiled in shared memory", &["no", "u", "diff_mat"]),
        Axis::words("transposed", "whether elements lie side by side in u", &["False", "True"]),
        Axis::size("nmatrices", "matrices", [1, 1], &[3]),
        Axis::size("nunit_nodes", "nodes of an element", [16, 16], &[64]),
        Axis::size("nelements", "elements", [16, 16], &[16_384, 65_536]),
    ],
    make: kernel,
};

/// Threads of a block in both directions, as in the paper.
const TILE: u64 = 16;

/// The names that all algorithms use.
struct Operation {
    matrix: Array,
    u: Array,
    result: Array,
    nodes: Expression,
    /// Matrices.
    matrices: u64,
    /// Elements of `matrix` and `result` from one matrix to the next.
    matrix_size: Expression,
    result_size: Expression,
    /// Elements of `u` and `result` from one k, and from one i or j, to the next.
    stride: [Expression; 2],
    /// The thread's k and i.
    k: Expression,
    i: Expression,
}

fn kernel(variant: &Variant) -> Result<Kernel, Unfit> {
    let ty = pattern::dtype(variant)?;
    let (matrices, nodes) = (variant.number("nmatrices")?, variant.number("nunit_nodes")?);
    let (elements, is_transposed) = (variant.number("nelements")?, variant.is("transposed")?);
    let prefetch = variant.word("prefetch")?;
    if is_transposed && prefetch != "diff_mat" {
        return Err(Unfit::new("the paper transposes u only where diff_mat is tiled"));
    }
    let mut kernel = Builder::new(GENERATOR.name, GENERATOR.summary);
    let matrix = kernel.input("diff_mat", ty, matrices * nodes * nodes, Contents::Uniform(1));
    let u = kernel.input("u", ty, elements * nodes, Contents::Uniform(2));
    let result = kernel.output("result", ty, matrices * elements * nodes);
    let element_count = kernel.scalar("nelements", elements);
    let node_count = kernel.scalar("nunit_nodes", nodes);
    let k = kernel.name("k", kernel.block(0) * TILE + kernel.thread(0));
    let i = kernel.name("i", kernel.block(1) * TILE + kernel.thread(1));
    let one = Expression::number(1, Type::S32);
    let operation = Operation {
        matrix,
        u,
        result,
        matrices,
        matrix_size: kernel.name("matrix_size", node_count.clone() * node_count.clone()),
        result_size: kernel.name("result_size", element_count.clone() * node_count.clone()),
        stride: match is_transposed {
            true => [one, element_count],
            false => [node_count.clone(), one],
        },
        nodes: node_count,
        k,
        i,
    };
    match prefetch {
        "u" => prefetch_u(&mut kernel, &operation),
        "diff_mat" => prefetch_matrix(&mut kernel, &operation),
        _ => direct(&mut kernel, &operation),
    }
    Ok(kernel.launched([elements / TILE, nodes / TILE, 1], [TILE, TILE, 1]))
}

/// Everything from global memory.
fn direct(kernel: &mut Builder, operation: &Operation) {
    let Operation { matrix, u, k, i, nodes, .. } = operation;
    let u_row = kernel.name("u_row", k.clone() * nodes.clone());
    let times = Expression::number(operation.matrices, Type::S32);
    kernel.count("m", times, 1, Unroll::No, |kernel, m| {
        let size = operation.matrix_size.clone();
        let row = kernel.name("row", m.clone() * size + i.clone() * nodes.clone());
        let sum = kernel.variable("sum", Expression::number(0, u.ty));
        kernel.count("j", nodes.clone(), 1, Unroll::No, |kernel, j| {
            let one = kernel.load("one", matrix, row.clone() + j.clone());
            let other = kernel.load("other", u, u_row.clone() + j);
            kernel.assign(sum, one.multiply_add(other, sum.into()));
        });
        kernel.store(&operation.result, operation.place(m), sum.into());
    });
}

/// A tile of u in shared memory, and sums of all matrices at a time.
fn prefetch_u(kernel: &mut Builder, operation: &Operation) {
    let Operation { matrix, u, i, nodes, .. } = operation;
    let tile = kernel.shared("u_tile", u.ty, TILE * TILE);
    let own = kernel.name("own", kernel.thread(1) * TILE + kernel.thread(0));
    let fetched = kernel.block(0) * TILE + kernel.thread(1);
    let u_row = kernel.name("u_row", fetched * nodes.clone() + kernel.thread(0));
    let tile_row = kernel.name("tile_row", kernel.thread(0) * TILE);
    let rows: Vec<Expression> = (0..operation.matrices)
        .map(|m| {
            let row = operation.matrix_size.clone() * m + i.clone() * nodes.clone();
            kernel.name(&format!("row{m}"), row)
        })
        .collect();
    let sums: Vec<_> = (0..operation.matrices)
        .map(|m| kernel.variable(&format!("sum{m}"), Expression::number(0, u.ty)))
        .collect();
    kernel.count("j", nodes.clone(), TILE as i64, Unroll::No, |kernel, j| {
        kernel.barrier();
        let value = kernel.load("value", u, u_row.clone() + j.clone());
        kernel.store(&tile, own.clone(), value);
        kernel.barrier();
        let last = Expression::number(TILE, Type::S32);
        kernel.count("j_in", last, 1, Unroll::Whole, |kernel, j_in| {
            let other = kernel.load("other", &tile, tile_row.clone() + j_in.clone());
            for (m, (row, &sum)) in rows.iter().zip(&sums).enumerate() {
                let at = row.clone() + j.clone() + j_in.clone();
                let one = kernel.load(&format!("one{m}"), matrix, at);
                kernel.assign(sum, one.multiply_add(other.clone(), sum.into()));
            }
        });
    });
    for (m, &sum) in sums.iter().enumerate() {
        let place = operation.place(Expression::number(m as u64, Type::S32));
        kernel.store(&operation.result, place, sum.into());
    }
}

/// A tile of a matrix in shared memory.
fn prefetch_matrix(kernel: &mut Builder, operation: &Operation) {
    let Operation { matrix, u, k, i, nodes, stride: [element, node], .. } = operation;
    let tile = kernel.shared("diff_mat_tile", u.ty, TILE * TILE);
    let own = kernel.name("own", kernel.thread(1) * TILE + kernel.thread(0));
    let tile_row = kernel.name("tile_row", kernel.thread(1) * TILE);
    let u_row = kernel.name("u_row", k.clone() * element.clone());
    let times = Expression::number(operation.matrices, Type::S32);
    kernel.count("m", times, 1, Unroll::No, |kernel, m| {
        let size = operation.matrix_size.clone();
        let row = m.clone() * size + i.clone() * nodes.clone() + kernel.thread(0);
        let row = kernel.name("row", row);
        let sum = kernel.variable("sum", Expression::number(0, u.ty));
        kernel.count("j", nodes.clone(), TILE as i64, Unroll::No, |kernel, j| {
            kernel.barrier();
            let value = kernel.load("value", matrix, row.clone() + j.clone());
            kernel.store(&tile, own.clone(), value);
            kernel.barrier();
            let u_at = kernel.variable("u_at", u_row.clone() + j * node.clone());
            let last = Expression::number(TILE, Type::S32);
            kernel.count("j_in", last, 1, Unroll::Whole, |kernel, j_in| {
                let one = kernel.load("one", &tile, tile_row.clone() + j_in);
                let other = kernel.load("other", u, u_at.into());
                kernel.assign(sum, one.multiply_add(other, sum.into()));
                kernel.assign(u_at, Expression::from(u_at) + node.clone());
            });
        });
        kernel.store(&operation.result, operation.place(m), sum.into());
    });
}

impl Operation {
    /// The index of the thread's result for the matrix `m`.
    fn place(&self, m: Expression) -> Expression {
        let [element, node] = self.stride.clone();
        m * self.result_size.clone() + self.k.clone() * element + self.i.clone() * node
    }
}
