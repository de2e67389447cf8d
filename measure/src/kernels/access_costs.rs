//! Accesses of a warp by the places of its lanes: conflicts of banks, lines and sectors.

use gpucast_collection::language::{
    Array, Builder, Caching, Contents, Expression, Kernel, Type, Unroll,
};

/// Threads of a warp.
const WARP: u64 = 32;

/// Words of a line.
const LINE_WORDS: u64 = 32;

/// Loads of a warp in a pass: many, so that the rest of the loop is short beside them.
pub(crate) const LOADS: u64 = 32;

/// The words that the lanes of a warp access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spread {
    /// Words that are this far apart.
    Stride(u64),
    /// As many lines, with equally many lanes in each. No two lanes share a bank.
    Lines(u64),
}

impl Spread {
    /// The word of each thread, by its place in the warp.
    fn word(self, kernel: &Builder) -> Expression {
        let lane = kernel.thread(0).masked(WARP - 1);
        match self {
            Self::Stride(words) => lane * words,
            Self::Lines(lines) => {
                // Lanes l to l + 32 / lines - 1 have a line; a lane's bank is its number.
                let first = lane.clone().masked(WARP - WARP / lines);
                lane + first * (LINE_WORDS * lines / WARP)
            }
        }
    }

    /// Words from the first lane's to behind the last one's.
    const fn words(self) -> u64 {
        match self {
            Self::Stride(words) => WARP * words + 1,
            Self::Lines(lines) => lines * LINE_WORDS,
        }
    }
}

/// Loads of warps that all access the same words.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Loads {
    pub(crate) spread: Spread,
    pub(crate) blocks: u64,
    pub(crate) threads: u64,
    /// Only every so many-th warp of a block loads: a power of two.
    pub(crate) warps_apart: u64,
    pub(crate) passes: u64,
}

/// Loads from the first-level cache: [`LOADS`] of a warp in a pass.
pub(crate) fn l1_loads(loads: Loads) -> Kernel {
    const WINDOW: u64 = 1024;
    let mut kernel = Builder::new("l1_loads", "Loads of few lines by all warps");
    let words = WINDOW + LINE_WORDS * LOADS + loads.spread.words();
    let array = kernel.input("in", Type::F32, words, Contents::Uniform(1));
    let own = loads.spread.word(&kernel);
    let body = Body { caching: Caching::ReadOnly, window: WINDOW, step: LINE_WORDS, loads };
    read(&mut kernel, &array, own, &body);
    kernel.launched([loads.blocks, 1, 1], [loads.threads, 1, 1])
}

/// Loads from the L2 that touch a sector for each lane, in 1 MiB.
pub(crate) fn l2_loads(blocks: u64, threads: u64, passes: u64) -> Kernel {
    const WINDOW: u64 = 1 << 18;
    const SECTOR_WORDS: u64 = 8;
    let mut kernel = Builder::new("l2_loads", "Loads of a sector for each thread");
    let step = SECTOR_WORDS * threads;
    let array = kernel.input("in", Type::F32, WINDOW + step * LOADS, Contents::Uniform(1));
    let own = kernel.thread(0) * SECTOR_WORDS;
    let spread = Spread::Stride(SECTOR_WORDS);
    let loads = Loads { spread, blocks, threads, warps_apart: 1, passes };
    let body = Body { caching: Caching::SecondLevel, window: WINDOW, step, loads };
    read(&mut kernel, &array, own, &body);
    kernel.launched([blocks, 1, 1], [threads, 1, 1])
}

/// Loads of one word by all lanes of a warp, each from a line of its own.
pub(crate) fn single_sectors(threads: u64, passes: u64) -> Kernel {
    let mut kernel = Builder::new("single_sectors", "Loads of one word by all threads of a warp");
    let step = threads * (LINE_WORDS / WARP);
    let window = (step * LOADS * passes).next_power_of_two();
    let array = kernel.input("in", Type::F32, window + step * LOADS, Contents::Uniform(1));
    // A line for each warp.
    let own = kernel.thread(0).masked(!(WARP - 1) & u64::from(u16::MAX));
    let loads = Loads { spread: Spread::Stride(0), blocks: 1, threads, warps_apart: 1, passes };
    let body = Body { caching: Caching::SecondLevel, window, step, loads };
    read(&mut kernel, &array, own, &body);
    kernel.launched([1, 1, 1], [threads, 1, 1])
}

/// What a warp reads in its passes.
struct Body {
    caching: Caching,
    /// Passes begin round and round in so many words, a power of two.
    window: u64,
    /// Words from a load to the next.
    step: u64,
    loads: Loads,
}

/// Reads from `own` on and keeps the sums.
fn read(kernel: &mut Builder, array: &Array, own: Expression, body: &Body) {
    let Body { caching, window, step, loads } = *body;
    let Loads { blocks, threads, warps_apart, passes, .. } = loads;
    let result = kernel.output("result", Type::F32, blocks * threads);
    let own = kernel.name("own", own);
    let begin = match warps_apart {
        // Blocks begin apart where each has words of its own.
        1 => kernel.block(0) * (step * LOADS),
        _ => Expression::number(0, Type::S32),
    };
    let at = kernel.variable("at", begin.masked(window - 1));
    // A sum for each load, so that no addition waits for another one of its pass.
    let sums: Vec<_> = (0..LOADS)
        .map(|one| kernel.variable(&format!("sum{one}"), Expression::number(0, Type::F32)))
        .collect();
    let warp = kernel.thread(0).masked(WARP * (warps_apart - 1));
    let takes_part = kernel.name("takes_part", warp.equals(Expression::number(0, Type::S32)));
    kernel.when(takes_part, |kernel| {
        kernel.repeat("pass", passes, Unroll::No, |kernel| {
            let first = kernel.name("place", Expression::from(at) + own.clone());
            for (load, &sum) in (0..LOADS).zip(&sums) {
                let place = first.clone() + load * step;
                let value = kernel.load_through(caching, &format!("v{load}"), array, place);
                kernel.assign(sum, Expression::from(sum) + value);
            }
            kernel.assign(at, (Expression::from(at) + step * LOADS).masked(window - 1));
        });
    });
    super::store_never(kernel, &sums, &result);
}

/// Loads of shared memory whose results nobody waits for: [`LOADS`] of a warp in a pass. `ty` is
/// the type that a lane loads: `u8`, `u32`.
pub(crate) fn volatile_shared_loads(ty: &str, loads: Loads) -> Kernel {
    let Loads { spread, blocks, threads, warps_apart, passes } = loads;
    let mut kernel = Builder::new("shared_loads", "Loads of few words by all warps");
    let result = kernel.output("result", Type::U32, blocks * threads);
    const REGISTERS: u64 = 8;
    const COPIES: u64 = LOADS / REGISTERS;
    let tile = kernel.shared("tile", Type::U32, spread.words() + REGISTERS);
    let own = kernel.name("own", spread.word(&kernel) * 4);
    let base = kernel.variable("base", Expression::number(0, Type::U32));
    kernel.assembly("mov.u32 $0, tile", &[base], &[]);
    let place = kernel.name("place", Expression::from(base) + own.to(Type::U32));
    let zero = Expression::number(0, Type::U32);
    kernel.store(&tile, Expression::number(0, Type::S32), zero.clone());
    let values: Vec<_> =
        (0..REGISTERS).map(|one| kernel.variable(&format!("v{one}"), zero.clone())).collect();
    let warp = kernel.thread(0).masked(WARP * (warps_apart - 1));
    let takes_part = kernel.name("takes_part", warp.equals(Expression::number(0, Type::S32)));
    kernel.when(takes_part, |kernel| {
        kernel.repeat("pass", passes * COPIES, Unroll::By(COPIES as u32), |kernel| {
            for (load, &value) in values.iter().enumerate() {
                let text = format!("ld.volatile.shared.{ty} $0, [$1+{}]", 4 * load);
                kernel.assembly(&text, &[value], std::slice::from_ref(&place));
            }
        });
    });
    let total = values.iter().fold(zero, |sum, &one| sum + Expression::from(one));
    let at = kernel.thread_of_grid();
    kernel.store(&result, at, total);
    kernel.launched([blocks, 1, 1], [threads, 1, 1])
}
