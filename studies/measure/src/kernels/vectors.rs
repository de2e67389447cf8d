//! Vectors of 16 bytes that many threads read or write: the bandwidth of a memory.

use gpucast_collection::language::{
    Array, Builder, Caching, Contents, Expression, Kernel, Type, Unroll,
};

/// Threads of a block that reads vectors.
pub(crate) const READERS: u64 = 256;

/// Loads or stores of a thread in a pass.
pub(crate) const LOADS: u64 = 4;

/// Bytes of a vector.
pub(crate) const VECTOR_BYTES: u64 = 16;

/// Words of a vector.
const VECTOR_WORDS: u64 = VECTOR_BYTES / 4;

/// Words that a block of `threads` reads in a pass.
const fn pass_words(threads: u64) -> u64 {
    LOADS * threads * VECTOR_WORDS
}

/// Reads of global memory round and round.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    pub(crate) caching: Caching,
    /// Bytes that are read, a power of two.
    pub(crate) bytes: u64,
    pub(crate) blocks: u64,
    pub(crate) threads: u64,
    pub(crate) passes: u64,
}

/// Vectors that blocks read round and round. Block *b* begins at its own vectors as far as the
/// memory has them.
pub(crate) fn vectors(reading: Reading) -> Kernel {
    let Reading { caching, bytes, blocks, threads, passes } = reading;
    let mut kernel = Builder::new("vector_reads", "Vectors read round and round");
    let array = kernel.input("in", Type::F32, bytes / 4, Contents::Uniform(1));
    let result = kernel.output("result", Type::F32, blocks * threads);
    let begin = kernel.block(0) * pass_words(threads);
    let window = Some(array.len);
    read_round(&mut kernel, &array, Round { caching, begin, window, threads, passes }, &result);
    kernel.launched([blocks, 1, 1], [threads, 1, 1])
}

/// Vectors of four words, each of which one thread reads once.
pub(crate) fn stream(bytes: u64) -> Kernel {
    let mut kernel = Builder::new("vector_stream", "Vectors, each read once");
    let array = kernel.input("in", Type::F32, bytes / 4, Contents::Uniform(1));
    let blocks = array.len / pass_words(READERS);
    let result = kernel.output("result", Type::F32, blocks * READERS);
    let begin = kernel.block(0) * pass_words(READERS);
    // No block comes back, so the words may be any number of passes.
    let (caching, window) = (Caching::Usual, None);
    let round = Round { caching, begin, window, threads: READERS, passes: 1 };
    read_round(&mut kernel, &array, round, &result);
    kernel.launched([blocks, 1, 1], [READERS, 1, 1])
}

/// Vectors, each of which one thread reads once and writes elsewhere. `bytes` are read.
pub(crate) fn copy_stream(bytes: u64) -> Kernel {
    let mut kernel = Builder::new("vector_copy", "Vectors, each read once and written elsewhere");
    let from = kernel.input("in", Type::F32, bytes / 4, Contents::Uniform(1));
    let to = kernel.output("out", Type::F32, from.len);
    let blocks = from.len / pass_words(READERS);
    let own = kernel.thread(0) * VECTOR_WORDS;
    let first = kernel.name("first", kernel.block(0) * pass_words(READERS) + own);
    let places: Vec<Expression> =
        (0..LOADS).map(|load| first.clone() + load * READERS * VECTOR_WORDS).collect();
    let loaded: Vec<Vec<Expression>> = (0..LOADS)
        .zip(&places)
        .map(|(load, place)| kernel.load_vector(&format!("v{load}"), &from, place.clone(), 4))
        .collect();
    for (place, values) in places.into_iter().zip(loaded) {
        kernel.store_vector(&to, place, values);
    }
    kernel.launched([blocks, 1, 1], [READERS, 1, 1])
}

/// Vectors that blocks write round and round in `bytes`, a power of two.
pub(crate) fn stores(bytes: u64, blocks: u64, threads: u64, passes: u64) -> Kernel {
    let mut kernel = Builder::new("vector_writes", "Vectors written round and round");
    let array = kernel.output("out", Type::F32, bytes / 4);
    let pass = pass_words(threads);
    let mask = (array.len - 1) & !(pass - 1);
    let own = kernel.name("own", kernel.thread(0) * VECTOR_WORDS);
    let begin = kernel.block(0) * pass;
    let at = kernel.variable("at", begin.masked(mask));
    let value = kernel.name("value", kernel.thread(0).to(Type::F32));
    kernel.repeat("pass", passes, Unroll::No, |kernel| {
        let first = kernel.name("first", Expression::from(at) + own.clone());
        for store in 0..LOADS {
            let place = first.clone() + store * threads * VECTOR_WORDS;
            kernel.store_vector(&array, place, vec![value.clone(); VECTOR_WORDS as usize]);
        }
        kernel.assign(at, (Expression::from(at) + pass).masked(mask));
    });
    kernel.launched([blocks, 1, 1], [threads, 1, 1])
}

/// Vectors of shared memory that blocks read round and round.
pub(crate) fn shared_vectors(blocks: u64, passes: u64) -> Kernel {
    let mut kernel = Builder::new("shared_vector_reads", "Vectors of shared memory");
    let result = kernel.output("result", Type::F32, blocks * READERS);
    let tile = kernel.shared("tile", Type::F32, 2 * pass_words(READERS));
    let thread = kernel.name("thread", kernel.thread(0));
    let value = kernel.name("value", thread.clone().to(Type::F32));
    let last = Expression::number(tile.len, Type::S32);
    kernel.count("place", last, READERS as i64, Unroll::No, |kernel, place| {
        kernel.store(&tile, place + thread.clone(), value.clone());
    });
    kernel.barrier();
    let begin = Expression::number(0, Type::S32);
    let (caching, window) = (Caching::Usual, Some(tile.len));
    let round = Round { caching, begin, window, threads: READERS, passes };
    read_round(&mut kernel, &tile, round, &result);
    kernel.launched([blocks, 1, 1], [READERS, 1, 1])
}

/// Reads from an element on, pass after pass.
struct Round {
    caching: Caching,
    begin: Expression,
    /// Words in which passes go round and round, a power of two. `None` if they go straight on.
    window: Option<u64>,
    threads: u64,
    passes: u64,
}

/// Reads passes of vectors and stores their sum.
fn read_round(kernel: &mut Builder, array: &Array, round: Round, result: &Array) {
    let Round { caching, begin, window, threads, passes } = round;
    let pass = pass_words(threads);
    // Each pass begins at a multiple of its size, so it ends inside the window.
    let inside = |place: Expression| match window {
        Some(words) => place.masked((words - 1) & !(pass - 1)),
        None => place,
    };
    let own = kernel.name("own", kernel.thread(0) * VECTOR_WORDS);
    let at = kernel.variable("at", inside(begin));
    let sums: Vec<_> = (0..VECTOR_WORDS)
        .map(|at| kernel.variable(&format!("sum{at}"), Expression::number(0, Type::F32)))
        .collect();
    kernel.repeat("pass", passes, Unroll::No, |kernel| {
        let first = kernel.name("first", Expression::from(at) + own.clone());
        for load in 0..LOADS {
            let place = first.clone() + load * threads * VECTOR_WORDS;
            let loaded = kernel.load_vector_through(caching, &format!("v{load}"), array, place, 4);
            for (&sum, loaded) in sums.iter().zip(loaded) {
                kernel.assign(sum, Expression::from(sum) + loaded);
            }
        }
        kernel.assign(at, inside(Expression::from(at) + pass));
    });
    super::store_never(kernel, &sums, result);
}
