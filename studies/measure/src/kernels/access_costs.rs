//! Accesses of a warp by the places of its lanes: conflicts of banks, lines and sectors.

use gpucast_collection::language::{Builder, Caching, Contents, Expression, Kernel, Type, Unroll};

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

/// Loads from the first-level cache: `copies` of a warp in a pass.
pub(crate) fn l1_loads(loads: Loads, copies: u32) -> Kernel {
    let Loads { spread, blocks, threads, warps_apart, passes } = loads;
    let mut kernel = Builder::new("l1_loads", "Loads of few lines by all warps");
    let own = spread.word(&kernel);
    let begin = Expression::number(0, Type::S32);
    let (step, words) = (LINE_WORDS, spread.words());
    let places = Places { own, begin, step, words, window: Some(1024) };
    let body = Body { caching: Caching::ReadOnly, places, warps_apart, passes, copies };
    read(&mut kernel, blocks * threads, body);
    kernel.launched([blocks, 1, 1], [threads, 1, 1])
}

/// Loads from the L2 that touch a sector for each lane, in 1 MiB: `copies` of a thread in a pass.
pub(crate) fn l2_loads(blocks: u64, threads: u64, passes: u64, copies: u32) -> Kernel {
    let mut kernel = Builder::new("l2_loads", "Loads of a sector for each thread");
    let places = sectors(&kernel, threads);
    // Blocks begin apart.
    let begin = kernel.block(0) * (places.step * u64::from(copies));
    let places = Places { begin, window: Some(1 << 18), ..places };
    let body = Body { caching: Caching::SecondLevel, places, warps_apart: 1, passes, copies };
    read(&mut kernel, blocks * threads, body);
    kernel.launched([blocks, 1, 1], [threads, 1, 1])
}

/// Loads of one block, each of a sector of its own: `copies` of a thread in a pass.
pub(crate) fn single_sectors(threads: u64, passes: u64, copies: u32) -> Kernel {
    let mut kernel = Builder::new("single_sectors", "Loads of a sector for each thread, once");
    let places = sectors(&kernel, threads);
    let body = Body { caching: Caching::SecondLevel, places, warps_apart: 1, passes, copies };
    read(&mut kernel, threads, body);
    kernel.launched([1, 1, 1], [threads, 1, 1])
}

/// Sectors that a warp loads at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sectors {
    One,
    Two,
}

/// Loads of one block in which a warp loads one word of a line of its own: `copies` of a thread in
/// a pass.
pub(crate) fn shared_sectors(threads: u64, passes: u64, copies: u32) -> Kernel {
    let mut kernel = Builder::new("shared_sectors", "Loads of a sector for each warp, once");
    let own = kernel.thread(0).masked(!(WARP - 1) & u64::from(u16::MAX));
    let begin = Expression::number(0, Type::S32);
    let places = Places { own, begin, step: threads, words: threads, window: None };
    let body = Body { caching: Caching::SecondLevel, places, warps_apart: 1, passes, copies };
    read(&mut kernel, threads, body);
    kernel.launched([1, 1, 1], [threads, 1, 1])
}

/// The same, round and round in 256 KiB, which the L2 holds. A warp loads one sector of each line,
/// or two.
pub(crate) fn sectors_of_l2(sectors: Sectors, threads: u64, passes: u64, copies: u32) -> Kernel {
    let mut kernel = Builder::new("l2_line_loads", "Loads of a line's sectors for each warp");
    // The upper half of a warp may load the other half of the line.
    let half = if sectors == Sectors::Two { WARP / 2 } else { 0 };
    let own = kernel.thread(0).masked(!(WARP - 1) & u64::from(u16::MAX) | half);
    let begin = Expression::number(0, Type::S32);
    let places = Places { own, begin, step: threads, words: threads, window: Some(1 << 16) };
    let body = Body { caching: Caching::SecondLevel, places, warps_apart: 1, passes, copies };
    read(&mut kernel, threads, body);
    kernel.launched([1, 1, 1], [threads, 1, 1])
}

/// A sector for each thread.
fn sectors(kernel: &Builder, threads: u64) -> Places {
    const SECTOR_WORDS: u64 = 8;
    let words = SECTOR_WORDS * threads;
    let own = kernel.thread(0) * SECTOR_WORDS;
    let begin = Expression::number(0, Type::S32);
    Places { own, begin, step: words, words, window: None }
}

/// The words that threads read.
struct Places {
    /// The first word of a thread, from that of a pass on.
    own: Expression,
    /// The first word of a block's first pass.
    begin: Expression,
    /// Words from a load to the next.
    step: u64,
    /// Words from the first one that any thread reads with a load to behind the last one.
    words: u64,
    /// Passes begin round and round in so many words, a power of two. `None` if they go straight
    /// on.
    window: Option<u64>,
}

/// What a warp reads in its passes.
struct Body {
    caching: Caching,
    places: Places,
    warps_apart: u64,
    passes: u64,
    /// Loads of a thread in a pass.
    copies: u32,
}

/// Reads and keeps the sums of `readers` threads.
///
/// Schedulers prefer some warps. Without barriers these would end first, and for long the last ones
/// would be too few to keep the SM busy. So blocks wait for all of their warps behind each pass.
fn read(kernel: &mut Builder, readers: u64, body: Body) {
    let Body { caching, places, warps_apart, passes, copies } = body;
    let Places { own, begin, step, words, window } = places;
    let pass_words = step * u64::from(copies);
    let begins = window.unwrap_or(pass_words * passes);
    let array = kernel.input("in", Type::F32, begins + pass_words + words, Contents::Uniform(1));
    let result = kernel.output("result", Type::F32, readers);
    let own = kernel.name("own", own);
    let inside = |place: Expression| match window {
        Some(words) => place.masked(words - 1),
        None => place,
    };
    let at = kernel.variable("at", inside(begin));
    // A sum for each load, so that no addition waits for another one of its pass.
    let sums: Vec<_> = (0..copies)
        .map(|at| kernel.variable(&format!("sum{at}"), Expression::number(0, Type::F32)))
        .collect();
    let warp = kernel.thread(0).masked(WARP * (warps_apart - 1));
    let takes_part = kernel.name("takes_part", warp.equals(Expression::number(0, Type::S32)));
    kernel.repeat("pass", passes, Unroll::No, |kernel| {
        kernel.when(takes_part, |kernel| {
            let first = kernel.name("place", Expression::from(at) + own.clone());
            for (load, &sum) in (0..).zip(&sums) {
                let place = first.clone() + load * step;
                let value = kernel.load_through(caching, &format!("v{load}"), &array, place);
                kernel.assign(sum, Expression::from(sum) + value);
            }
            kernel.assign(at, inside(Expression::from(at) + pass_words));
        });
        kernel.barrier();
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
        (0..REGISTERS).map(|at| kernel.variable(&format!("v{at}"), zero.clone())).collect();
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
