//! Code that no cache holds.

use gpucast_collection::language::{Builder, Contents, Expression, Kernel, Type, Unroll};

/// Multiply-adds of a segment of [`cold_code`]: several lines of machine code.
const SEGMENT: usize = 40;

/// Jumps of one warp over segments of code that is never executed, in a loop of `passes`.
pub(crate) fn cold_code(segments: u64, passes: u64) -> Kernel {
    const WARP: u64 = 32;
    let mut kernel = Builder::new("cold_code", "Jumps over code that is never executed");
    let source = kernel.input("in", Type::F32, 1, Contents::Zero);
    let result = kernel.output("result", Type::F32, WARP);
    let zero = kernel.load("zero", &source, Expression::number(0, Type::S32));
    // Memory is filled with zeros or ones.
    let two = Expression::number(2, Type::F32);
    let never = kernel.name("never", zero.clone().equals(two));
    let values: Vec<_> =
        (0..4).map(|one| kernel.variable(&format!("v{one}"), zero.clone() + one)).collect();
    kernel.repeat("pass", passes, Unroll::No, |kernel| {
        for _ in 0..segments {
            kernel.when(never.clone(), |kernel| {
                for one in 0..SEGMENT {
                    let value = values[one % values.len()];
                    let other = values[(one + 1) % values.len()];
                    let new = Expression::from(value).multiply_add(zero.clone(), other.into());
                    kernel.assign(value, new);
                }
            });
        }
    });
    let total = values.iter().fold(zero, |sum, &one| sum + Expression::from(one));
    let place = kernel.thread(0);
    kernel.store(&result, place, total);
    kernel.launched([1, 1, 1], [WARP, 1, 1])
}
