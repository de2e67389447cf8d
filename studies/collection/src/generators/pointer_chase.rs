//! Loads whose address is what the last one loaded: the latency of a level.

use crate::Generator;
use crate::language::{ArrayMemory, Builder, Caching, Contents, Expression, Kernel, Type, Unroll};
use crate::variant::{Axis, Unfit, Variant};

/// Pointer chase.
pub(super) const GENERATOR: Generator = Generator {
    name: "pointer_chase",
    tags: &["latency", "cache", "memory"],
    summary: "Loads of one thread, each of which waits for the last one",
    axes: &[
        Axis::words("space", "memory that is read", &["global", "shared", "constant"]),
        Axis::words("caching", "caches that keep the loads", &["all", "l2"]),
        Axis::numbers(
            "footprint",
            "bytes that are walked round",
            &[4096, 16_384, 32_768, 65_536, 262_144, 1_048_576, 16_777_216, 134_217_728],
            &[16_384, 1_048_576, 134_217_728],
        ),
        Axis::numbers("stride", "bytes from a load to the next", &[4, 32, 64, 128, 256], &[128]),
        Axis::size("m", "loads", [16, 16], &[4096]),
    ],
    make: kernel,
};

fn kernel(variant: &Variant) -> Result<Kernel, Unfit> {
    let (bytes, stride) = (variant.number("footprint")?, variant.number("stride")?);
    let (elements, distance) = (bytes / 4, stride / 4);
    let space = variant.word("space")?;
    let is_whole = variant.word("caching")? == "all";
    match space {
        "shared" if bytes > 32 << 10 => {
            return Err(Unfit::new("shared memory of this kernel has 32 KiB"));
        }
        "constant" if bytes > 64 << 10 => return Err(Unfit::new("constant memory has 64 KiB")),
        "shared" | "constant" if !is_whole => {
            return Err(Unfit::new(format!("{space} memory is cached in one way")));
        }
        _ => {}
    }
    let mut kernel = Builder::new(GENERATOR.name, GENERATOR.summary);
    let result = kernel.output("result", Type::S32, 1);
    let chain = Contents::Chain(distance);
    let next = match space {
        "shared" => kernel.shared("next", Type::S32, elements),
        "constant" => kernel.constant("next", Type::S32, elements, chain),
        _ => kernel.input("next", Type::S32, elements, chain),
    };
    if next.place == ArrayMemory::Shared {
        let last = Expression::number(elements, Type::S32);
        kernel.count("place", last, 1, Unroll::No, |kernel, place| {
            let target = (place.clone() + distance).masked(elements - 1);
            kernel.store(&next, place, target);
        });
    }
    let caching = match (space, is_whole) {
        ("global", true) => Caching::All,
        ("global", false) => Caching::SecondLevel,
        _ => Caching::Usual,
    };
    let at = kernel.variable("at", Expression::number(0, Type::S32));
    kernel.repeat("pass", variant.number("m")?, Unroll::By(16), |kernel| {
        kernel.load_into(at, &next, at.into(), caching);
    });
    kernel.store(&result, Expression::number(0, Type::S32), at.into());
    Ok(kernel.launched([1, 1, 1], [1, 1, 1]))
}
