//! Atomics, by the lanes that share an address.

use gpucast_collection::language::{Array, Builder, Contents, Expression, Kernel, Type, Unroll};

use super::READERS;

/// Additions of one warp or less at one address, each of the address that the last one returned.
/// The caller fills `next` with addresses, and zeros are added to them. So the chain walks through
/// lines of both halves of an L2.
pub(crate) fn atomic_chain(lanes: u64, copies: u32, bytes: u64, passes: u64) -> Kernel {
    let mut kernel = Builder::new("atomic_chain", "Additions that each wait for the last one");
    let spread = kernel.input("in", Type::S32, 1, Contents::Zero);
    let next = kernel.input("next", Type::U64, bytes / 8, Contents::Zero);
    let result = kernel.output("result", Type::U64, lanes);
    let zero = kernel.load("zero", &spread, Expression::number(0, Type::S32));
    let own = kernel.thread(0) * zero.clone();
    let addend = kernel.name("addend", zero.to(Type::U64));
    let first = kernel.load("first", &next, own);
    let at = kernel.variable("at", first);
    let times = passes * u64::from(copies);
    kernel.repeat("pass", times, Unroll::By(copies), |kernel| {
        let text = "atom.global.add.u64 $0, [$0], $1";
        kernel.assembly(text, &[at], std::slice::from_ref(&addend));
    });
    let end = kernel.thread(0);
    kernel.store(&result, end, at.into());
    kernel.launched([1, 1, 1], [lanes, 1, 1])
}

/// Exchanges in shared memory by blocks that fill SMs: four of a thread in a pass.
pub(crate) fn shared_exchanges(is_shared: bool, blocks: u64, passes: u64) -> Kernel {
    let mut kernel = Builder::new("shared_exchanges", "Exchanges in shared memory");
    let spread = kernel.input("in", Type::S32, 1, Contents::Zero);
    let result = kernel.output("result", Type::U32, blocks * READERS);
    let tile = kernel.shared("tile", Type::U32, READERS);
    let own = place(&mut kernel, &spread, is_shared);
    let thread = kernel.thread(0);
    kernel.store(&tile, thread.clone(), thread.clone().to(Type::U32));
    kernel.barrier();
    let base = kernel.variable("base", Expression::number(0, Type::U32));
    kernel.assembly("mov.u32 $0, tile", &[base], &[]);
    let address = kernel.name("address", Expression::from(base) + (own * 4).to(Type::U32));
    let values: Vec<_> = (0..EXCHANGES)
        .map(|at| kernel.variable(&format!("v{at}"), thread.clone().to(Type::U32) + at))
        .collect();
    kernel.repeat("pass", passes, Unroll::No, |kernel| {
        for &value in &values {
            let text = "atom.shared.exch.b32 $0, [$1], $0";
            kernel.assembly(text, &[value], std::slice::from_ref(&address));
        }
    });
    let zero = Expression::number(0, Type::U32);
    let total = values.iter().fold(zero, |sum, &one| sum + Expression::from(one));
    let end = kernel.thread_of_grid();
    kernel.store(&result, end, total);
    kernel.launched([blocks, 1, 1], [READERS, 1, 1])
}

/// Exchanges of a thread in a pass of [`shared_exchanges`].
pub(crate) const EXCHANGES: u64 = 4;

/// Additions to words of 1 MiB by blocks that fill the device, each lane at an address of its own:
/// four of a thread in a pass.
pub(crate) fn global_reductions(blocks: u64, passes: u64) -> Kernel {
    const WORDS: u64 = 1 << 18;
    let mut kernel = Builder::new("global_reductions", "Additions, each to a word of its own");
    let result = kernel.output("result", Type::U32, WORDS + EXCHANGES * READERS);
    let at = kernel.variable("at", kernel.thread_of_grid().masked(WORDS - 1));
    let value = kernel.name("value", kernel.thread(0).to(Type::U32));
    kernel.repeat("pass", passes, Unroll::No, |kernel| {
        for one in 0..EXCHANGES {
            let place = Expression::from(at) + one * READERS;
            kernel.reduce("add", &result, place, value.clone());
        }
        let next = Expression::from(at) + EXCHANGES * READERS;
        kernel.assign(at, next.masked(WORDS - 1));
    });
    kernel.launched([blocks, 1, 1], [READERS, 1, 1])
}

/// The element of a thread: the first one for all, or one for each. No compiler knows which, since
/// a zero of memory decides.
fn place(kernel: &mut Builder, spread: &Array, is_shared: bool) -> Expression {
    let zero = kernel.load("zero", spread, Expression::number(0, Type::S32));
    let thread = kernel.thread(0);
    let own = if is_shared { thread * zero } else { thread + zero };
    kernel.name("own", own)
}
