//! Kernels that measure a parameter: those of the collection by their tags, and a few that only
//! have a meaning with the addresses of a device.

use gpucast_collection::language::{
    Array, Builder, Caching, Contents, Expression, Function, Kernel, Type, Unroll,
};
use gpucast_collection::{MatchCondition, Request, Unfit};

use crate::bench::MeasureError;

/// The first kernel that tags choose.
pub(crate) fn of_tags(tags: &str) -> Result<Kernel, MeasureError> {
    let words: Vec<&str> = tags.split_whitespace().collect();
    let choices = Request::parse(&words, MatchCondition::Superset)?.choices()?;
    let first = choices.first().ok_or_else(|| Unfit::new(format!("{tags} choose no kernel")))?;
    Ok((first.generator.make)(&first.variant)?)
}

/// Loads of one thread, each of the address that the last one loaded. The caller fills `next` with
/// addresses. `suffix` says which caches keep the loads: `.nc`, `.cg`. The
/// loop holds `copies` of the load.
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

/// Copies of a chase's load in its loop.
pub(crate) const CHASES: u32 = 64;

/// The same in shared memory: a word that holds its own address.
pub(crate) fn shared_chase(loads: u64) -> Kernel {
    let mut kernel = Builder::new("shared_chase", "Loads of the address that the last one loaded");
    let result = kernel.output("result", Type::U32, 1);
    let tile = kernel.shared("tile", Type::U32, 32);
    let zero = Expression::number(0, Type::S32);
    let at = kernel.variable("at", Expression::number(0, Type::U32));
    kernel.assembly("mov.u32 $0, tile", &[at], &[]);
    kernel.store(&tile, zero.clone(), at.into());
    kernel.repeat("pass", loads, Unroll::By(CHASES), |kernel| {
        kernel.assembly("ld.shared.u32 $0, [$0]", &[at], &[]);
    });
    kernel.store(&result, zero, at.into());
    kernel.launched([1, 1, 1], [1, 1, 1])
}

/// Threads of a block that reads vectors.
pub(crate) const READERS: u64 = 256;

/// Loads of a pass of [`vectors`].
pub(crate) const LOADS: u64 = 4;

/// Bytes of a vector.
pub(crate) const VECTOR_BYTES: u64 = 16;

/// Vectors of four words that blocks read round and round in `bytes` of global memory, a power of
/// two. Block *b* begins at its own vectors as far as the memory has them.
pub(crate) fn vectors(caching: Caching, bytes: u64, blocks: u64, passes: u64) -> Kernel {
    let mut kernel = Builder::new("vector_reads", "Vectors read round and round");
    let array = kernel.input("in", Type::F32, bytes / 4, Contents::Uniform(1));
    let result = kernel.output("result", Type::F32, blocks * READERS);
    let begin = kernel.block(0) * PASS_WORDS;
    read_round(&mut kernel, &array, caching, begin, passes, &result);
    kernel.launched([blocks, 1, 1], [READERS, 1, 1])
}

/// Vectors of four words, each of which one thread reads once.
pub(crate) fn stream(bytes: u64) -> Kernel {
    let mut kernel = Builder::new("vector_stream", "Vectors, each read once");
    let array = kernel.input("in", Type::F32, bytes / 4, Contents::Uniform(1));
    let blocks = array.len / PASS_WORDS;
    let result = kernel.output("result", Type::F32, blocks * READERS);
    let begin = kernel.block(0) * PASS_WORDS;
    read_round(&mut kernel, &array, Caching::Usual, begin, 1, &result);
    kernel.launched([blocks, 1, 1], [READERS, 1, 1])
}

/// Minima of numbers, in loops of 32 copies: 16 in a thread for each of `m`.
pub(crate) fn minima(blocks: u64, m: u64) -> Kernel {
    const VARIABLES: usize = 16;
    const MINIMUM: Function = Function::new("min.f32", "fminf($0, $1)", Type::F32);
    let mut kernel = Builder::new("minima", "Minima of numbers, none of which waits for the last");
    let result = kernel.output("result", Type::F32, blocks * READERS);
    let first = kernel.name("first", kernel.thread_of_grid().to(Type::F32));
    let variables: Vec<_> = (0..VARIABLES as u64)
        .map(|one| kernel.variable(&format!("v{one}"), first.clone() + one))
        .collect();
    kernel.repeat("pass", m, Unroll::By(32), |kernel| {
        for (one, &variable) in variables.iter().enumerate() {
            let read = |further: usize| variables[(one + further) % VARIABLES].into();
            kernel.assign(variable, Expression::Call(MINIMUM, vec![read(6), read(7)]));
        }
    });
    let zero = Expression::number(0, Type::F32);
    let total = variables.iter().fold(zero, |sum, &one| sum + Expression::from(one));
    let place = kernel.thread_of_grid();
    kernel.store(&result, place, total);
    kernel.launched([blocks, 1, 1], [READERS, 1, 1])
}

/// The same in shared memory.
pub(crate) fn shared_vectors(blocks: u64, passes: u64) -> Kernel {
    let mut kernel = Builder::new("shared_vector_reads", "Vectors of shared memory");
    let result = kernel.output("result", Type::F32, blocks * READERS);
    let tile = kernel.shared("tile", Type::F32, 2 * PASS_WORDS);
    let thread = kernel.name("thread", kernel.thread(0));
    let value = kernel.name("value", thread.clone().to(Type::F32));
    let last = Expression::number(2 * PASS_WORDS, Type::S32);
    kernel.count("place", last, READERS as i64, Unroll::No, |kernel, place| {
        kernel.store(&tile, place + thread.clone(), value.clone());
    });
    kernel.barrier();
    let begin = Expression::number(0, Type::S32);
    read_round(&mut kernel, &tile, Caching::Usual, begin, passes, &result);
    kernel.launched([blocks, 1, 1], [READERS, 1, 1])
}

/// Words that a block reads in a pass.
const PASS_WORDS: u64 = LOADS * READERS * VECTOR_BYTES / 4;

/// Reads passes of vectors from `begin` on, and stores their sum.
fn read_round(
    kernel: &mut Builder,
    array: &Array,
    caching: Caching,
    begin: Expression,
    passes: u64,
    result: &Array,
) {
    // Each pass begins at a multiple of its size, so it ends inside the array.
    let mask = (array.len - 1) & !(PASS_WORDS - 1);
    let own = kernel.name("own", kernel.thread(0) * (VECTOR_BYTES / 4));
    let at = kernel.variable("at", begin.masked(mask));
    let sums: Vec<_> = (0..VECTOR_BYTES / 4)
        .map(|one| kernel.variable(&format!("sum{one}"), Expression::number(0, Type::F32)))
        .collect();
    kernel.repeat("pass", passes, Unroll::No, |kernel| {
        let first = kernel.name("first", Expression::from(at) + own.clone());
        for load in 0..LOADS {
            let place = first.clone() + load * READERS * (VECTOR_BYTES / 4);
            let loaded = kernel.load_vector_through(caching, &format!("v{load}"), array, place, 4);
            for (&sum, loaded) in sums.iter().zip(loaded) {
                kernel.assign(sum, Expression::from(sum) + loaded);
            }
        }
        kernel.assign(at, (Expression::from(at) + PASS_WORDS).masked(mask));
    });
    let zero = Expression::number(0, Type::F32);
    let total = sums.iter().fold(zero, |sum, &one| sum + Expression::from(one));
    // No sum of positive numbers is -1; that nothing is stored, no compiler can know.
    let never = Expression::from(sums[0]).equals(Expression::number(0, Type::F32) - 1);
    let place = kernel.thread_of_grid();
    kernel.when(never, |kernel| kernel.store(result, place, total));
}

/// Fences of one warp, one after the other. `scope` is `cta`, `gl` or `sys`.
pub(crate) fn fences(scope: &str, fences: u64) -> Kernel {
    let mut kernel = Builder::new("fences", "Fences of one warp, one after the other");
    let result = kernel.output("result", Type::S32, READERS);
    let fence = format!("membar.{scope}");
    kernel.repeat("pass", fences, Unroll::By(8), |kernel| kernel.assembly(&fence, &[], &[]));
    let place = kernel.thread(0);
    kernel.store(&result, place.clone(), place);
    kernel.launched([1, 1, 1], [32, 1, 1])
}
