//! Mixbench: multiply-adds on loaded elements, with a ratio (Konstantinidis 2017, section 3.2 and
//! appendix A.1).

use super::pattern;
use crate::Generator;
use crate::language::{Builder, Contents, Expression, Kernel, Type, Unroll};
use crate::variant::{Axis, Unfit, Variant};

/// Mixbench.
pub(super) const GENERATOR: Generator = Generator {
    name: "mixbench",
    tags: &["roofline", "gmem", "flops", "thesis"],
    summary: "Loads of elements and multiply-adds on each, as many as the ratio says",
    axes: &[
        Axis::words("dtype", "type of the elements", &["float32", "float64", "int32"]),
        Axis::numbers("granularity", "elements of a thread at a time", &[4, 8], &[8]),
        Axis::numbers("fusion", "times that a thread does so", &[1, 2, 4], &[4]),
        Axis::numbers("lsize_0", "threads of a block", &[128, 256], &[256]),
        Axis::size("nelements", "elements of the buffer", [8192, 8192], &[8_388_608]),
        Axis::size("m", "multiply-adds on each element", [0, 1], &[0, 1, 2, 4, 8, 16, 32, 64]),
    ],
    make: kernel,
};

fn kernel(variant: &Variant) -> Result<Kernel, Unfit> {
    let ty = pattern::dtype(variant)?;
    let (granularity, fusion) = (variant.number("granularity")?, variant.number("fusion")?);
    let (lsize, elements) = (variant.number("lsize_0")?, variant.number("nelements")?);
    let blocks = pattern::blocks(elements, lsize * granularity * fusion)?;
    let ratio = variant.number("m")?;
    let mut kernel = Builder::new(GENERATOR.name, GENERATOR.summary);
    let data = kernel.output("data", ty, elements);
    let seed = kernel.input("seed", ty, 1, Contents::Uniform(1));
    let added = kernel.load("added", &seed, Expression::number(0, Type::S32));
    let first = kernel.block(0) * (lsize * granularity) + kernel.thread(0);
    let first = kernel.name("first", first);
    for turn in 0..fusion {
        let begin = first.clone() + turn * blocks * lsize * granularity;
        let values: Vec<_> = (0..granularity)
            .map(|at| {
                let place = begin.clone() + at * lsize;
                let value = kernel.load(&format!("loaded{turn}_{at}"), &data, place);
                let value = kernel.variable(&format!("value{turn}_{at}"), value);
                if ratio > 0 {
                    kernel.repeat("at", ratio, Unroll::Whole, |kernel| {
                        let own = Expression::from(value);
                        kernel.assign(value, own.clone().multiply_add(own, added.clone()));
                    });
                }
                value
            })
            .collect();
        let sum = kernel.variable(&format!("sum{turn}"), Expression::number(0, ty));
        for pair in values.chunks(2) {
            if let [one, other] = *pair {
                let product = Expression::from(one).multiply_add(other.into(), sum.into());
                kernel.assign(sum, product);
            }
        }
        // Never so, which no compiler knows.
        let is_met = Expression::from(sum).equals(Expression::Integer(-1, ty));
        kernel.when(is_met, |kernel| kernel.store(&data, begin.clone(), sum.into()));
    }
    Ok(kernel.launched([blocks, 1, 1], [lsize, 1, 1]))
}
