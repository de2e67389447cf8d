//! Reads and writes of device memory (Konstantinidis 2017, appendix A.3).

use super::pattern;
use crate::Generator;
use crate::language::{Builder, Contents, Expression, Kernel, Type, Unroll};
use crate::variant::{Axis, Unfit, Variant};

/// Bandwidth.
pub(super) const GENERATOR: Generator = Generator {
    name: "membench",
    tags: &["gmem", "memory", "bandwidth", "thesis"],
    summary: "Reads, writes, or both, of several elements of each thread",
    axes: &[
        Axis::words("access", "direction", &["read", "write", "both"]),
        Axis::words("dtype", "type of the elements", &["float32", "float64", "int32"]),
        Axis::numbers("granularity", "elements of a thread", &[1, 2, 4, 8, 16], &[8]),
        Axis::numbers("lsize_0", "threads of a block", &[128, 256], &[256]),
        Axis::size("nelements", "elements", [4096, 4096], &[8_388_608]),
    ],
    make: kernel,
};

fn kernel(variant: &Variant) -> Result<Kernel, Unfit> {
    let ty = pattern::dtype(variant)?;
    let access = variant.word("access")?;
    let (granularity, lsize) = (variant.number("granularity")?, variant.number("lsize_0")?);
    let elements = variant.number("nelements")?;
    let blocks = pattern::blocks(elements, lsize * granularity)?;
    let mut kernel = Builder::new(GENERATOR.name, GENERATOR.summary);
    let reads = access != "write";
    let source = reads.then(|| kernel.input("in", ty, elements, Contents::Uniform(1)));
    let written = if access == "read" { blocks * lsize } else { elements };
    let result = kernel.output("result", ty, written);
    let first = kernel.block(0) * (lsize * granularity) + kernel.thread(0);
    let first = kernel.name("first", first);
    let sum = kernel.variable("sum", kernel.thread(0).to(ty));
    let last = Expression::number(granularity, Type::S32);
    kernel.count("one", last, 1, Unroll::Whole, |kernel, one| {
        let place = first.clone() + one * lsize;
        let value = match &source {
            Some(source) => kernel.load("value", source, place.clone()),
            None => sum.into(),
        };
        match access {
            "read" => kernel.assign(sum, Expression::from(sum) + value),
            _ => kernel.store(&result, place, value),
        }
    });
    if access == "read" {
        // A store in place of eight: what is measured is reading.
        let at = kernel.thread_of_grid();
        kernel.store(&result, at, sum.into());
    }
    Ok(kernel.launched([blocks, 1, 1], [lsize, 1, 1]))
}
