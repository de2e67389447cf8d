//! One sum for each block, as three steps of Harris, "Optimizing parallel reduction in CUDA"
//! (2007), compute it: the corpus's `reduction-steps`.

use super::pattern;
use crate::Generator;
use crate::language::{Array, Builder, Contents, Expression, Kernel, Type, Unroll};
use crate::variant::{Axis, Unfit, Variant};

/// Sums of blocks.
pub(super) const GENERATOR: Generator = Generator {
    name: "block_sum",
    tags: &["reduction", "lmem", "application"],
    summary: "A sum for each block, by halves, by neighbours, or by neighbours in divergent warps",
    axes: &[
        Axis::words("dtype", "type of the elements", &["float32", "float64", "int32"]),
        Axis::words("order", "who adds to whom", &["halves", "neighbours", "divergent"]),
        Axis::numbers("lsize_0", "threads of a block", &[64, 128, 256, 512], &[256]),
        Axis::numbers("each", "elements that a thread adds first", &[1, 2, 4, 8, 16, 32], &[1, 8]),
        Axis::size("nelements", "elements", [16_384, 16_384], &[4_194_304]),
    ],
    make: kernel,
};

fn kernel(variant: &Variant) -> Result<Kernel, Unfit> {
    let ty = pattern::dtype(variant)?;
    let (size, each) = (variant.number("lsize_0")?, variant.number("each")?);
    let elements = variant.number("nelements")?;
    let blocks = pattern::blocks(elements, size * each)?;
    let mut kernel = Builder::new(GENERATOR.name, GENERATOR.summary);
    let contents = if ty.is_float() {
        Contents::Uniform(1)
    } else {
        Contents::Below { limit: 1 << 10, seed: 1 }
    };
    let source = kernel.input("in", ty, elements, contents);
    let result = kernel.output("result", ty, blocks);
    let partial = kernel.shared("partial", ty, size);
    let thread = kernel.name("thread", kernel.thread(0));
    let first = kernel.name("first", kernel.block(0) * (size * each) + thread.clone());
    if each == 1 {
        let value = kernel.load("value", &source, first);
        kernel.store(&partial, thread.clone(), value);
    } else {
        let sum = kernel.variable("sum", Expression::number(0, ty));
        let last = Expression::number(each, Type::S32);
        kernel.count("one", last, 1, Unroll::Whole, |kernel, one| {
            let value = kernel.load("value", &source, first.clone() + one * size);
            kernel.assign(sum, Expression::from(sum) + value);
        });
        kernel.store(&partial, thread.clone(), sum.into());
    }
    kernel.barrier();
    let order = variant.word("order")?;
    let steps = size.ilog2();
    for step in 0..steps {
        let distance = 1 << if order == "halves" { steps - 1 - step } else { step };
        let number = |value| Expression::number(value, Type::S32);
        match order {
            "halves" => kernel.when(thread.clone().less(number(distance)), |kernel| {
                add(kernel, &partial, &thread, distance);
            }),
            "neighbours" => {
                let adds = thread.clone().less(number(size / (2 * distance)));
                kernel.when(adds, |kernel| {
                    let own = kernel.name("own", thread.clone() * (2 * distance));
                    add(kernel, &partial, &own, distance);
                });
            }
            _ => {
                let adds = thread.clone().masked(2 * distance - 1).equals(number(0));
                kernel.when(adds, |kernel| add(kernel, &partial, &thread, distance));
            }
        }
        kernel.barrier();
    }
    kernel.when(thread.equals(Expression::number(0, Type::S32)), |kernel| {
        let sum = kernel.load("all", &partial, Expression::number(0, Type::S32));
        kernel.store(&result, kernel.block(0), sum);
    });
    Ok(kernel.launched([blocks, 1, 1], [size, 1, 1]))
}

/// Adds the element `distance` behind `own` to it.
fn add(kernel: &mut Builder, partial: &Array, own: &Expression, distance: u64) {
    let mine = kernel.load("mine", partial, own.clone());
    let other = kernel.load("other", partial, own.clone() + distance);
    kernel.store(partial, own.clone(), mine + other);
}
