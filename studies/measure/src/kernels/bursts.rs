//! Accesses behind each other, and a chain that waits for none of them. What their queue takes
//! costs nothing beyond the issue.

use gpucast_collection::language::{Builder, Expression, Kernel, Type, Unroll, Variable};

/// Sectors of a warp's store of one word by each lane.
pub(crate) const STORED_SECTORS: f64 = 4.0;

/// Threads of a warp.
const WARP: u64 = 32;

/// Words between the lanes of a load, which so share a bank.
const STRIDE: u64 = 32;

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
        (0..loads).map(|at| kernel.variable(&format!("v{at}"), zero.clone())).collect();
    let number = kernel.thread(0).to(Type::F32);
    let sum = kernel.variable("sum", number);
    kernel.repeat("pass", passes, Unroll::No, |kernel| {
        for (load, &value) in values.iter().enumerate() {
            let text = format!("ld.volatile.shared.u32 $0, [$1+{}]", 4 * load);
            kernel.assembly(&text, &[value], std::slice::from_ref(&place));
        }
        super::chain_behind(kernel, sum, multiply_adds);
    });
    let loaded = values.iter().fold(zero, |sum, &one| sum + Expression::from(one));
    let at = kernel.thread(0);
    kernel.store(&result, at, Expression::from(sum) + loaded.to(Type::F32));
    kernel.launched([1, 1, 1], [WARP, 1, 1])
}

/// How blocks store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stores {
    pub(crate) blocks: u64,
    /// Warps of a block.
    pub(crate) warps: u64,
    /// Stores of a warp.
    pub(crate) number: u64,
    /// Words of a thread's store: 1, 2 or 4.
    pub(crate) width: u64,
    /// Multiply-adds of the chain behind them.
    pub(crate) multiply_adds: u64,
    pub(crate) passes: u64,
}

/// Stores of the warps of blocks, and a chain behind them. Warps begin each pass together; else one
/// would store while the others are in their chains.
pub(crate) fn store_burst(stores: Stores) -> Kernel {
    let Stores { blocks, warps, number, width, multiply_adds, passes } = stores;
    let threads = warps * WARP;
    let words = threads * width;
    let mut kernel = Builder::new("store_burst", "Stores, and a chain behind them");
    let result = kernel.output("result", Type::F32, blocks * number * words);
    let own = kernel.block(0) * (number * words) + kernel.thread(0) * width;
    let place = kernel.name("place", own);
    let value = kernel.thread(0).to(Type::F32);
    let sum = kernel.variable("sum", value);
    kernel.repeat("pass", passes, Unroll::No, |kernel| {
        kernel.barrier();
        for store in 0..number {
            let values = vec![sum.into(); width as usize];
            kernel.store_vector(&result, place.clone() + store * words, values);
        }
        super::chain_behind(kernel, sum, multiply_adds);
    });
    kernel.launched([blocks, 1, 1], [threads, 1, 1])
}
