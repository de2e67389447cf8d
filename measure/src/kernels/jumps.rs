//! Jumps that all lanes take together: the rate of the branch unit.

use gpucast_collection::language::{Builder, Expression, Kernel, Type, Unroll};

/// Multiply-adds that a jump skips: more than compilers execute under a guard.
const SKIPPED: usize = 40;

/// Jumps of each warp over code that is never executed: `copies` in the loop. Every thread of a
/// block decides alike, so that no lanes have to be brought together behind the code.
pub(crate) fn jumps(blocks: u64, threads: u64, copies: u64, passes: u64) -> Kernel {
    let mut kernel = Builder::new("jumps", "Jumps over code that is never executed");
    let result = kernel.output("result", Type::F32, blocks * threads);
    // The grid has fewer blocks, which no compiler knows.
    let never = kernel.block(0).equals(Expression::number(blocks, Type::S32));
    let never = kernel.name("never", never);
    let first = kernel.thread(0).to(Type::F32);
    let values: Vec<_> =
        (0..4).map(|one| kernel.variable(&format!("v{one}"), first.clone() + one)).collect();
    kernel.repeat("pass", passes, Unroll::No, |kernel| {
        for _ in 0..copies {
            kernel.when(never.clone(), |kernel| {
                for one in 0..SKIPPED {
                    let value = values[one % values.len()];
                    let other = values[(one + 1) % values.len()];
                    let new = Expression::from(value).multiply_add(first.clone(), other.into());
                    kernel.assign(value, new);
                }
            });
        }
    });
    let zero = Expression::number(0, Type::F32);
    let total = values.iter().fold(zero, |sum, &one| sum + Expression::from(one));
    let place = kernel.thread_of_grid();
    kernel.store(&result, place, total);
    kernel.launched([blocks, 1, 1], [threads, 1, 1])
}
