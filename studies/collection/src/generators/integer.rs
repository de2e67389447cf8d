//! Integer operations by class, one of which a row of the table names.

use super::pattern::{self, LSIZE_0};
use super::updates;
use crate::Generator;
use crate::language::{Builder, Expression, Function, Kernel, Type};
use crate::variant::{Axis, Unfit, Variant};

/// An operation by the word of its tag, with the arguments x and y in its order.
struct Row {
    word: &'static str,
    function: Function,
    operands: &'static [Operand],
    oldest_target: u32,
}

/// An argument: one of the two variables that an update reads.
#[derive(Clone, Copy)]
enum Operand {
    X,
    Y,
}

use Operand::{X, Y};

const fn row(
    word: &'static str,
    ptx: &'static str,
    cuda: &'static str,
    operands: &'static [Operand],
) -> Row {
    Row { word, function: Function::new(ptx, cuda, Type::U32), operands, oldest_target: 20 }
}

const OPERATIONS: [Row; 15] = [
    row("add", "add.u32", "$0 + $1", &[X, Y]),
    row("mul", "mul.lo.u32", "$0 * $1", &[X, Y]),
    row("madd", "mad.lo.u32", "$0 * $1 + $2", &[X, X, Y]),
    row("mul_hi", "mul.hi.u32", "__umulhi($0, $1)", &[X, Y]),
    row("shift", "shl.b32", "$0 << $1", &[X, Y]),
    row("and", "and.b32", "$0 & $1", &[X, Y]),
    row("xor", "xor.b32", "$0 ^ $1", &[X, Y]),
    row("min", "min.u32", "min($0, $1)", &[X, Y]),
    row("popc", "popc.b32", "__popc($0)", &[X]),
    row("clz", "clz.b32", "__clz($0)", &[X]),
    row("brev", "brev.b32", "__brev($0)", &[X]),
    row("permute", "prmt.b32", "__byte_perm($0, $1, $2)", &[X, Y, X]),
    row("sad", "sad.u32", "__usad($0, $1, $2)", &[X, Y, X]),
    Row {
        oldest_target: 32,
        ..row("funnel_shift", "shf.l.wrap.b32", "__funnelshift_l($0, $1, $2)", &[X, Y, X])
    },
    Row { oldest_target: 61, ..row("dp4a", "dp4a.u32.u32", "__dp4a($0, $1, $2)", &[X, Y, X]) },
];

const WORDS: &[&str] = &[
    "add",
    "mul",
    "madd",
    "mul_hi",
    "shift",
    "and",
    "xor",
    "min",
    "popc",
    "clz",
    "brev",
    "permute",
    "sad",
    "funnel_shift",
    "dp4a",
];

/// Integer operations.
pub(super) const GENERATOR: Generator = Generator {
    name: "iops_pattern",
    tags: &["iops", "arithmetic"],
    summary: "An integer operation on 32 variables, none of which waits for the last four",
    axes: &[
        Axis::words("operation", "operation that is computed", WORDS),
        LSIZE_0,
        Axis::size("nelements", "threads of the grid", [256, 256], &[262_144]),
        Axis::size("m", "operations on each of the 32 variables", [64, 64], &[256]),
    ],
    make: kernel,
};

fn kernel(variant: &Variant) -> Result<Kernel, Unfit> {
    let word = variant.word("operation")?;
    let row = OPERATIONS.iter().find(|row| row.word == word);
    let row = row.ok_or_else(|| Unfit::new(format!("there is no operation {word}")))?;
    let (lsize, elements) = (variant.number("lsize_0")?, variant.number("nelements")?);
    let mut kernel = Builder::new(GENERATOR.name, GENERATOR.summary);
    kernel.needs_target(row.oldest_target);
    let result = kernel.output("result", Type::U32, elements);
    let variables = updates::variables(&mut kernel, Type::U32, updates::VARIABLES);
    updates::passes(&mut kernel, &variables, variant.number("m")?, |x, y| {
        let operand = |one: &Operand| match one {
            X => x.clone(),
            Y => y.clone(),
        };
        Expression::Call(row.function, row.operands.iter().map(operand).collect())
    });
    let at = kernel.thread_of_grid();
    kernel.store(&result, at, updates::sum(&variables));
    Ok(kernel.launched([pattern::blocks(elements, lsize)?, 1, 1], [lsize, 1, 1]))
}
