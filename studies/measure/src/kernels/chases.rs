//! Loads of one thread, each of the address that the last one loaded: the latency of a memory.

use gpucast_collection::language::{Builder, Contents, Expression, Kernel, Type, Unroll, Variable};

/// Copies of a chase's load in its loop.
pub(crate) const CHASES: u32 = 64;

/// A chase in global memory. The caller fills `next` with addresses. `suffix` says which caches
/// keep the loads: `.nc`, `.cg`. The loop holds `copies` of the load.
pub(crate) fn chase(suffix: &str, bytes: u64, loads: u64, copies: u32) -> Kernel {
    let mut kernel = Builder::new("address_chase", "Loads of the address that the last one loaded");
    let next = kernel.input("next", Type::U64, bytes / 8, Contents::Zero);
    let result = kernel.output("result", Type::U64, 1);
    let zero = Expression::number(0, Type::S32);
    let first = kernel.load("first", &next, zero.clone());
    let at = kernel.variable("at", first);
    let load = format!("ld.global{suffix}.u64 $0, [$0]");
    kernel.repeat("pass", loads, Unroll::By(copies), |kernel| {
        kernel.assembly(&load, &[at], &[]);
    });
    kernel.store(&result, zero, at.into());
    kernel.launched([1, 1, 1], [1, 1, 1])
}

/// Loads of one line from the L2 again and again: the one that begins at a byte. The caller fills
/// `next` so that each element holds its own address.
pub(crate) fn line_chase(byte: u64, bytes: u64, loads: u64) -> Kernel {
    let mut kernel = Builder::new("line_chase", "Loads of one line from the L2");
    let next = kernel.input("next", Type::U64, bytes / 8, Contents::Zero);
    let result = kernel.output("result", Type::U64, 1);
    let first = kernel.load("first", &next, Expression::number(byte / 8, Type::S32));
    let at = kernel.variable("at", first);
    kernel.repeat("pass", loads, Unroll::By(CHASES), |kernel| {
        kernel.assembly("ld.global.cg.u64 $0, [$0]", &[at], &[]);
    });
    kernel.store(&result, Expression::number(0, Type::S32), at.into());
    kernel.launched([1, 1, 1], [1, 1, 1])
}

/// The same in shared memory: a word that holds its own address.
pub(crate) fn shared_chase(loads: u64) -> Kernel {
    shared("shared_chase", loads, |kernel, at, _| {
        kernel.assembly("ld.shared.u32 $0, [$0]", &[at], &[]);
    })
}

/// The same with a sum between loads: a zero is loaded and added to the address.
pub(crate) fn shared_chase_with_sum(loads: u64) -> Kernel {
    shared("shared_chase_with_sum", loads, |kernel, at, zero| {
        kernel.assembly("ld.shared.u32 $0, [$1+4]", &[zero], &[at.into()]);
        kernel.assembly("add.u32 $0, $0, $1", &[at], &[zero.into()]);
    })
}

fn shared(name: &str, loads: u64, step: impl Fn(&mut Builder, Variable, Variable)) -> Kernel {
    let mut kernel = Builder::new(name, "Loads of the address that the last one loaded");
    let result = kernel.output("result", Type::U32, 1);
    let tile = kernel.shared("tile", Type::U32, 32);
    let first = Expression::number(0, Type::S32);
    let second = Expression::number(1, Type::S32);
    let at = kernel.variable("at", Expression::number(0, Type::U32));
    let zero = kernel.variable("zero", Expression::number(0, Type::U32));
    kernel.assembly("mov.u32 $0, tile", &[at], &[]);
    kernel.store(&tile, first.clone(), at.into());
    kernel.store(&tile, second, zero.into());
    kernel.repeat("pass", loads, Unroll::By(CHASES), |kernel| step(kernel, at, zero));
    kernel.store(&result, first, at.into());
    kernel.launched([1, 1, 1], [1, 1, 1])
}
