//! Loops of independent operations on many variables.
//!
//! The order is that of SHOC's MaxFlops, as in section 7.1.2 of Stevens and Klöckner 2020: an
//! assignment reads variables that were assigned long before, so that no thread waits for itself.

use crate::language::{Builder, Expression, Type, Unroll, Variable};

/// Variables of the paper's pattern.
pub(super) const VARIABLES: usize = 32;

/// Copies of the loop's body.
pub(super) const UNROLLED: u32 = 64;

/// Assignments between that of a variable and the first one that reads it: 19 of 32.
const NEXT: usize = 12;

/// Declares variables with values that differ by thread, so that no compiler computes them.
pub(super) fn variables(kernel: &mut Builder, ty: Type, number: usize) -> Vec<Variable> {
    let thread = kernel.name("thread", kernel.thread_of_grid());
    let first = kernel.name("first", thread.to(ty));
    (0..number).map(|at| kernel.variable(&format!("v{at}"), first.clone() + at as u64)).collect()
}

/// Assigns each variable once, from two others.
pub(super) fn pass(
    kernel: &mut Builder,
    variables: &[Variable],
    update: impl Fn(Expression, Expression) -> Expression,
) {
    let number = variables.len();
    let distance = NEXT * number / VARIABLES;
    for (one, &variable) in variables.iter().enumerate() {
        let read = |further: usize| variables[(one + distance + further) % number].into();
        kernel.assign(variable, update(read(0), read(1)));
    }
}

/// Repeats passes `times` times, in loops of 64 copies.
pub(super) fn passes(
    kernel: &mut Builder,
    variables: &[Variable],
    times: u64,
    update: impl Fn(Expression, Expression) -> Expression,
) {
    kernel.repeat("pass", times, Unroll::By(UNROLLED), |kernel| pass(kernel, variables, update));
}

/// The sum of all variables, so that none of them can be left out.
pub(super) fn sum(variables: &[Variable]) -> Expression {
    let mut values = variables.iter().map(|&variable| Expression::from(variable));
    let first = values.next().unwrap_or(Expression::Integer(0, Type::F32));
    values.fold(first, |sum, value| sum + value)
}
