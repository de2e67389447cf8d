//! Loads of constants, each from an address that the last one gave.

use gpucast_collection::language::{Builder, Contents, Expression, Kernel, Type, Unroll};

/// Bytes of constant memory that a module may have.
const BYTES: u64 = 64 << 10;

/// Copies of the load in its loop.
pub(crate) const COPIES: u32 = 16;

/// Loads of one warp in which the lanes have as many addresses, `stride` bytes from load to load.
/// A zero is loaded and added to the address.
pub(crate) fn constant_chase(addresses: u64, stride: u64, loads: u64) -> Kernel {
    const WARP: u64 = 32;
    let mut kernel = Builder::new("constant_chase", "Loads of constants that wait for each other");
    let result = kernel.output("result", Type::U32, WARP);
    kernel.constant("table", Type::U32, BYTES / 4, Contents::Zero);
    let at = kernel.variable("at", Expression::number(0, Type::U64));
    let zero = kernel.variable("zero", Expression::number(0, Type::U32));
    kernel.assembly("mov.u64 $0, table", &[at], &[]);
    let lane = kernel.thread(0).masked(addresses - 1) * 4;
    kernel.assign(at, Expression::from(at) + lane.to(Type::U64));
    kernel.repeat("pass", loads, Unroll::By(COPIES), |kernel| {
        kernel.assembly("ld.const.u32 $0, [$1]", &[zero], &[at.into()]);
        if stride > 0 {
            kernel.assign(at, Expression::from(at) + stride);
        }
        kernel.assign(at, Expression::from(at) + Expression::from(zero).to(Type::U64));
    });
    let place = kernel.thread(0);
    kernel.store(&result, place, zero.into());
    kernel.launched([1, 1, 1], [WARP, 1, 1])
}
