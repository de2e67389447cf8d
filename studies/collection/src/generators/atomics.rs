//! Atomic additions, by the number of threads that share an address.

use super::pattern;
use crate::Generator;
use crate::language::{Builder, Expression, Kernel, Type, Unroll};
use crate::variant::{Axis, Unfit, Variant};

/// Atomic operations.
pub(super) const GENERATOR: Generator = Generator {
    name: "atomic_pattern",
    tags: &["atomic", "memory"],
    summary: "Atomic operations on one address for all threads, a warp or a thread",
    axes: &[
        Axis::words("operation", "operation on the element", &["add", "max", "xor"]),
        Axis::words("dtype", "type of the elements", &["int32", "float32"]),
        Axis::words("space", "memory of the elements", &["global", "shared"]),
        Axis::words("address", "threads of an address", &["all", "warp", "thread"]),
        Axis::numbers("lsize_0", "threads of a block", &[32, 64, 128, 256], &[256]),
        Axis::size("nelements", "threads of the grid", [256, 256], &[65_536]),
        Axis::size("m", "operations of a thread", [4, 4], &[32]),
    ],
    make: kernel,
};

fn kernel(variant: &Variant) -> Result<Kernel, Unfit> {
    let ty = pattern::dtype(variant)?;
    let operation = variant.word("operation")?;
    if ty == Type::F32 && operation != "add" {
        return Err(Unfit::new(format!("{operation} has no form for float32")));
    }
    let (lsize, elements) = (variant.number("lsize_0")?, variant.number("nelements")?);
    let mut kernel = Builder::new(GENERATOR.name, GENERATOR.summary);
    let result = kernel.output("result", ty, elements);
    let is_shared = variant.word("space")? == "shared";
    let thread = if is_shared { kernel.thread(0) } else { kernel.thread_of_grid() };
    let thread = kernel.name("thread", thread);
    let place = match variant.word("address")? {
        "all" => Expression::number(0, Type::S32),
        "warp" => kernel.name("first", thread.clone() - thread.clone().masked(31)),
        _ => thread.clone(),
    };
    let array = match is_shared {
        true => kernel.shared("tile", ty, lsize),
        false => result.clone(),
    };
    if is_shared {
        kernel.store(&array, thread.clone(), Expression::number(0, ty));
        kernel.barrier();
    }
    let value = kernel.name("value", kernel.thread(0).to(ty));
    kernel.repeat("pass", variant.number("m")?, Unroll::By(4), |kernel| {
        kernel.reduce(operation, &array, place, value);
    });
    if is_shared {
        kernel.barrier();
        let last = kernel.load("last", &array, thread);
        let at = kernel.thread_of_grid();
        kernel.store(&result, at, last);
    }
    Ok(kernel.launched([pattern::blocks(elements, lsize)?, 1, 1], [lsize, 1, 1]))
}
