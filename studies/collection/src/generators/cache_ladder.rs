//! Repeated loads of a footprint that fits a cache or not (Konstantinidis 2017, appendix B.1,
//! cachebench).

use super::pattern;
use crate::Generator;
use crate::language::{Builder, Caching, Contents, Expression, Kernel, Unroll};
use crate::variant::{Axis, Unfit, Variant};

/// Cache ladder.
pub(super) const GENERATOR: Generator = Generator {
    name: "cachebench",
    tags: &["cache", "gmem", "memory", "thesis"],
    summary: "Loads of all blocks that walk round the same footprint",
    axes: &[
        Axis::words("dtype", "type of the elements", &["float32", "float64"]),
        Axis::words("caching", "caches that keep the loads", &["all", "l2"]),
        Axis::numbers("lsize_0", "threads of a block", &[128, 256], &[256]),
        Axis::numbers(
            "footprint",
            "bytes that are walked round",
            &[
                8192,
                16_384,
                32_768,
                65_536,
                131_072,
                262_144,
                524_288,
                1_048_576,
                2_097_152,
                4_194_304,
                8_388_608,
                16_777_216,
                33_554_432,
                67_108_864,
                134_217_728,
            ],
            &[16_384, 65_536, 262_144, 1_048_576, 16_777_216],
        ),
        Axis::size("ngroups", "blocks of the grid", [1, 1], &[1024]),
        Axis::size("m", "loads of a thread", [4, 4], &[512]),
    ],
    make: kernel,
};

/// Loads of a pass.
const LOADS: u64 = 4;

fn kernel(variant: &Variant) -> Result<Kernel, Unfit> {
    let ty = pattern::dtype(variant)?;
    let (lsize, groups) = (variant.number("lsize_0")?, variant.number("ngroups")?);
    let elements = variant.number("footprint")? / ty.bytes();
    if elements < LOADS * lsize {
        return Err(Unfit::new("the footprint is less than four accesses of a block"));
    }
    let caching = match variant.word("caching")? {
        "l2" => Caching::SecondLevel,
        _ => Caching::All,
    };
    let mut kernel = Builder::new(GENERATOR.name, GENERATOR.summary);
    let array = kernel.input("in", ty, elements, Contents::Uniform(1));
    let result = kernel.output("result", ty, groups * lsize);
    // Blocks begin at different places, as far as the footprint has them.
    let begin = (kernel.block(0) * (LOADS * lsize) + kernel.thread(0)).masked(elements - 1);
    let at = kernel.variable("at", begin);
    let sum = kernel.variable("sum", Expression::number(0, ty));
    kernel.repeat("pass", variant.number("m")? / LOADS, Unroll::No, |kernel| {
        for load in 0..LOADS {
            let place = Expression::from(at) + load * lsize;
            let value = kernel.load_through(caching, &format!("value{load}"), &array, place);
            kernel.assign(sum, Expression::from(sum) + value);
        }
        kernel.assign(at, (Expression::from(at) + LOADS * lsize).masked(elements - 1));
    });
    let place = kernel.thread_of_grid();
    kernel.store(&result, place, sum.into());
    Ok(kernel.launched([groups, 1, 1], [lsize, 1, 1]))
}
