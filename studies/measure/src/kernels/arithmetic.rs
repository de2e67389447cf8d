//! Arithmetic: operations that wait for each other, and operations that do not.

use gpucast_collection::language::{
    Builder, Contents, Expression, Function, Kernel, Type, Unroll, Variable,
};

use super::READERS;

/// Threads of a warp.
const WARP: u64 = 32;

/// Variables of a thread, none of whose operations waits for the last ones.
pub(crate) const VARIABLES: usize = 16;

/// Copies of the loop's body.
const COPIES: u32 = 32;

/// Links of a chain in two loops, both short. On an H200, a loop of 128 links takes 9 clocks more
/// than its links, and one of 64 takes 1.
pub(crate) const LINKS: [u32; 2] = [16, 48];

/// An instruction of one warp that waits for the last one. `ptx` names its operand `$0`; the loop
/// holds `copies` of it.
pub(crate) fn chain(ptx: &str, ty: Type, copies: u32, passes: u64) -> Kernel {
    let summary = "An instruction that waits for the last one, again and again";
    let mut kernel = Builder::new("instruction_chain", summary);
    let result = kernel.output("result", ty, WARP);
    let at = kernel.thread(0);
    let value = kernel.variable("value", at.clone().to(ty));
    let times = passes * u64::from(copies);
    kernel.repeat("pass", times, Unroll::By(copies), |kernel| {
        kernel.assembly(ptx, &[value], &[]);
    });
    kernel.store(&result, at, value.into());
    kernel.launched([1, 1, 1], [WARP, 1, 1])
}

/// An instruction without operands, one after the other, by one block: a barrier or a fence. The
/// block does nothing else.
pub(crate) fn repeated(instruction: &str, warps: u64, copies: u32, passes: u64) -> Kernel {
    let mut kernel = Builder::new("repeated", "An instruction without operands, again and again");
    let times = passes * u64::from(copies);
    // A single pass needs no loop.
    let unroll = if passes == 1 { Unroll::Whole } else { Unroll::By(copies) };
    kernel.repeat("pass", times, unroll, |kernel| kernel.assembly(instruction, &[], &[]));
    kernel.launched([1, 1, 1], [WARP * warps, 1, 1])
}

/// Minima of numbers: [`VARIABLES`] in a thread for each of `m`.
pub(crate) fn minima(blocks: u64, m: u64) -> Kernel {
    const MINIMUM: Function = Function::new("min.f32", "fminf($0, $1)", Type::F32);
    let mut kernel = Builder::new("minima", "Minima of numbers, none of which waits for the last");
    let result = kernel.output("result", Type::F32, blocks * READERS);
    let variables = variables(&mut kernel, "v", Type::F32);
    kernel.repeat("pass", m, Unroll::By(COPIES), |kernel| {
        for (one, &variable) in variables.iter().enumerate() {
            let [x, y] = others(&variables, one);
            kernel.assign(variable, Expression::Call(MINIMUM, vec![x, y]));
        }
    });
    let total = total(&variables, Type::F32);
    let place = kernel.thread_of_grid();
    kernel.store(&result, place, total);
    kernel.launched([blocks, 1, 1], [READERS, 1, 1])
}

/// Multiply-adds of pairs of halves: [`VARIABLES`] pairs in a thread for each of `m`.
pub(crate) fn paired_halves(blocks: u64, m: u64) -> Kernel {
    let mut kernel = Builder::new("paired_halves", "Multiply-adds of pairs of halves");
    kernel.needs_target(53);
    let result = kernel.output("result", Type::U32, blocks * READERS);
    let variables = variables(&mut kernel, "v", Type::U32);
    kernel.repeat("pass", m, Unroll::By(COPIES), |kernel| {
        for (one, &variable) in variables.iter().enumerate() {
            kernel.assembly("fma.rn.f16x2 $0, $1, $2, $1", &[variable], &others(&variables, one));
        }
    });
    let total = total(&variables, Type::U32);
    let place = kernel.thread_of_grid();
    kernel.store(&result, place, total);
    kernel.launched([blocks, 1, 1], [READERS, 1, 1])
}

/// Products of two words that are added to 64 bits: [`VARIABLES`] in a thread for each of `m`.
pub(crate) fn wide_products(blocks: u64, m: u64) -> Kernel {
    let mut kernel = Builder::new("wide_products", "Products of words, added to sums of 64 bits");
    let result = kernel.output("result", Type::U64, blocks * READERS);
    let factor = kernel.name("factor", kernel.thread_of_grid().to(Type::U32));
    let sums = variables(&mut kernel, "sum", Type::U64);
    kernel.repeat("pass", m, Unroll::By(COPIES), |kernel| {
        for (one, &sum) in sums.iter().enumerate() {
            let [x, _] = others(&sums, one);
            let factors = [x.to(Type::U32), factor.clone()];
            kernel.assembly("mad.wide.u32 $0, $1, $2, $0", &[sum], &factors);
        }
    });
    let total = total(&sums, Type::U64);
    let place = kernel.thread_of_grid();
    kernel.store(&result, place, total);
    kernel.launched([blocks, 1, 1], [READERS, 1, 1])
}

/// Multiply-adds and logic in turn: [`VARIABLES`] of each in a thread for each of `m`. Two units
/// execute them, so that the issue of instructions is the limit.
pub(crate) fn issue_mix(blocks: u64, m: u64) -> Kernel {
    let mut kernel = Builder::new("issue_mix", "Multiply-adds and logic in turn");
    let source = kernel.input("in", Type::F32, 1, Contents::Uniform(1));
    let result = kernel.output("result", Type::F32, blocks * READERS);
    let factor = kernel.load("factor", &source, Expression::number(0, Type::S32));
    let numbers = variables(&mut kernel, "v", Type::F32);
    let words = variables(&mut kernel, "w", Type::U32);
    kernel.repeat("pass", m, Unroll::By(COPIES), |kernel| {
        for (one, (&number, &word)) in numbers.iter().zip(&words).enumerate() {
            let [x, y] = others(&numbers, one);
            kernel.assign(number, x.multiply_add(factor.clone(), y));
            kernel.assembly("xor.b32 $0, $1, $2", &[word], &others(&words, one));
        }
    });
    let total = total(&numbers, Type::F32) + total(&words, Type::U32).to(Type::F32);
    let place = kernel.thread_of_grid();
    kernel.store(&result, place, total);
    kernel.launched([blocks, 1, 1], [READERS, 1, 1])
}

/// Variables whose values differ by thread.
fn variables(kernel: &mut Builder, name: &str, ty: Type) -> Vec<Variable> {
    let first = kernel.name("first", kernel.thread_of_grid().to(ty));
    (0..VARIABLES as u64)
        .map(|at| kernel.variable(&format!("{name}{at}"), first.clone() + at))
        .collect()
}

/// Two variables that were assigned long before the one at a place.
fn others(variables: &[Variable], place: usize) -> [Expression; 2] {
    [6, 7].map(|further| variables[(place + further) % variables.len()].into())
}

fn total(variables: &[Variable], ty: Type) -> Expression {
    let zero = Expression::Integer(0, ty);
    variables.iter().fold(zero, |sum, &one| sum + Expression::from(one))
}
