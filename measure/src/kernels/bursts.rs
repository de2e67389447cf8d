//! Instructions of one warp behind each other, and a chain that waits for none of them: what their
//! queue takes costs nothing beyond the issue.

use gpucast_collection::language::{Builder, Expression, Kernel, Type, Unroll, Variable};

/// Threads of a warp.
const WARP: u64 = 32;

/// Words between the lanes of a load, which so share a bank.
const STRIDE: u64 = 32;

/// Copies of the chain's link in its loop.
const LINKS: u32 = 64;

/// Loads of shared memory by one warp, all lanes in one bank, and a chain of `multiply_adds`.
pub(crate) fn load_burst(loads: u32, multiply_adds: u64, passes: u64) -> Kernel {
    let mut kernel = Builder::new("load_burst", "Loads that conflict, and a chain behind them");
    let result = kernel.output("result", Type::F32, WARP);
    kernel.shared("tile", Type::U32, WARP * STRIDE + u64::from(loads));
    let zero = Expression::number(0, Type::U32);
    let base = kernel.variable("base", zero.clone());
    kernel.assembly("mov.u32 $0, tile", &[base], &[]);
    let own = kernel.thread(0) * (4 * STRIDE);
    let place = kernel.name("place", Expression::from(base) + own.to(Type::U32));
    let values: Vec<Variable> =
        (0..loads).map(|one| kernel.variable(&format!("v{one}"), zero.clone())).collect();
    let number = kernel.thread(0).to(Type::F32);
    let sum = kernel.variable("sum", number);
    kernel.repeat("pass", passes, Unroll::No, |kernel| {
        for (load, &value) in values.iter().enumerate() {
            let text = format!("ld.volatile.shared.u32 $0, [$1+{}]", 4 * load);
            kernel.assembly(&text, &[value], std::slice::from_ref(&place));
        }
        // A loop of its own: no compiler issues a part of the chain among the loads.
        kernel.repeat("link", multiply_adds, Unroll::By(LINKS), |kernel| {
            kernel.assembly("fma.rn.f32 $0, $0, $0, $0", &[sum], &[]);
        });
    });
    let loaded = values.iter().fold(zero, |sum, &one| sum + Expression::from(one));
    let at = kernel.thread(0);
    kernel.store(&result, at, Expression::from(sum) + loaded.to(Type::F32));
    kernel.launched([1, 1, 1], [WARP, 1, 1])
}
