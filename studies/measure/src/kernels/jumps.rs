//! Jumps over code that is never executed: the branch unit, and lines of code that no cache holds.

use gpucast_collection::language::{Builder, Contents, Expression, Kernel, Type, Unroll, Variable};

/// Multiply-adds that a jump skips: several lines of machine code, and more than compilers execute
/// under a guard.
const SKIPPED: usize = 40;

/// Jumps of one warp over as many segments of code, in a loop of `passes`.
pub(crate) fn cold_code(segments: u64, passes: u64) -> Kernel {
    const WARP: u64 = 32;
    let mut kernel = Builder::new("cold_code", "Jumps over code that is never executed");
    let source = kernel.input("in", Type::F32, 1, Contents::Zero);
    let result = kernel.output("result", Type::F32, WARP);
    let zero = kernel.load("zero", &source, Expression::number(0, Type::S32));
    // Memory is filled with zeros or ones.
    let two = Expression::number(2, Type::F32);
    let never = kernel.name("never", zero.clone().equals(two));
    let segments = Segments { number: segments, never, passes };
    let total = skipped(&mut kernel, segments, zero);
    let place = kernel.thread(0);
    kernel.store(&result, place, total);
    kernel.launched([1, 1, 1], [WARP, 1, 1])
}

/// Jumps of all warps: `copies` in the loop. Every thread of a block decides alike, so that no
/// lanes have to be brought together behind the code.
pub(crate) fn jumps(blocks: u64, threads: u64, copies: u64, passes: u64) -> Kernel {
    let mut kernel = Builder::new("jumps", "Jumps over code that is never executed");
    let result = kernel.output("result", Type::F32, blocks * threads);
    // The grid has fewer blocks, which no compiler knows.
    let never = kernel.block(0).equals(Expression::number(blocks, Type::S32));
    let never = kernel.name("never", never);
    let first = kernel.thread(0).to(Type::F32);
    let total = skipped(&mut kernel, Segments { number: copies, never, passes }, first);
    let place = kernel.thread_of_grid();
    kernel.store(&result, place, total);
    kernel.launched([blocks, 1, 1], [threads, 1, 1])
}

/// What each jump of [`awaited_jumps`] waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Awaited {
    /// The number of the warp in its SM, which compilers read anew behind each jump. It is a field
    /// of the special register's word.
    WarpNumber,
    /// The same field of a word that an instruction of logic makes.
    FieldOfWord,
}

/// Jumps of one warp that each wait for a number: `copies` in the loop. They are never taken, and
/// each would lead to another place behind the loop, so that compilers keep all of them in order.
pub(crate) fn awaited_jumps(awaited: Awaited, copies: u32, passes: u64) -> Kernel {
    const WARP: u64 = 32;
    /// No SM has so many warps.
    const TOO_MANY: u64 = 127;
    let mut kernel = Builder::new("awaited_jumps", "Jumps that each wait for a number");
    let result = kernel.output("result", Type::U32, WARP);
    let source = kernel.input("in", Type::U32, 1, Contents::Zero);
    // No compiler knows what is loaded.
    let zero = kernel.load("zero", &source, Expression::number(0, Type::S32));
    let thread = kernel.thread(0);
    let own = thread.clone().to(Type::U32);
    let word = kernel.variable("word", own.clone());
    // Threads look for different numbers, so that neither kernel's jumps are those of all threads.
    let wanted = kernel.name("wanted", own + TOO_MANY);
    let number = kernel.variable("number", Expression::number(0, Type::U32));
    kernel.repeat("pass", passes, Unroll::No, |kernel| {
        for copy in 0..copies {
            match awaited {
                Awaited::WarpNumber => kernel.assembly("mov.u32 $0, %warpid", &[number], &[]),
                Awaited::FieldOfWord => {
                    // The unit of shifts does this, too. Compilers leave additions to either unit.
                    kernel.assembly("xor.b32 $0, $0, $1", &[word], std::slice::from_ref(&zero));
                    kernel.assembly("bfe.u32 $0, $1, 8, 7", &[number], &[word.into()]);
                }
            }
            let jump = format!(
                "{{ .reg .pred found; setp.eq.u32 found, $0, $1; @found bra FOUND_{copy}; }}"
            );
            kernel.assembly(&jump, &[], &[number.into(), wanted.clone()]);
        }
    });
    let places = (0..copies).map(|copy| format!("FOUND_{copy}: mov.u32 $0, {copy}; bra END; "));
    let places = format!("bra END; {}END: add.u32 $0, $0, 1", places.collect::<String>());
    kernel.assembly(&places, &[number], &[]);
    kernel.store(&result, thread, Expression::from(number) + Expression::from(word));
    kernel.launched([1, 1, 1], [WARP, 1, 1])
}

/// Segments of code in a loop, each under a condition that never holds.
struct Segments {
    number: u64,
    never: Expression,
    passes: u64,
}

/// Writes the segments. Returns a sum that they would change; `first` is where it begins.
fn skipped(kernel: &mut Builder, segments: Segments, first: Expression) -> Expression {
    let Segments { number, never, passes } = segments;
    let values: Vec<Variable> =
        (0..4).map(|at| kernel.variable(&format!("v{at}"), first.clone() + at)).collect();
    kernel.repeat("pass", passes, Unroll::No, |kernel| {
        for _ in 0..number {
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
    values.iter().fold(first, |sum, &one| sum + Expression::from(one))
}
