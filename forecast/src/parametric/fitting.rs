//! A function of one parameter, from its values.

use num_bigint::BigInt;
use num_rational::BigRational;

use super::bases::products;
use super::expression::{Atom, Expression, Monomial};
use super::linear::{Sample, solve};

/// Formulas that hold from some size on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// One, or one for each residue of the parameter: `(modulus, residue)`.
    pub(super) formulas: Vec<(Option<(u64, u64)>, Expression)>,
}

impl Found {
    /// True if the formulas give this sample. `parameter` is the one with residues.
    pub(super) fn gives(&self, parameter: usize, sample: &Sample) -> bool {
        let is_of = |residue: &Option<(u64, u64)>| {
            residue.is_none_or(|(modulus, residue)| sample.sizes[parameter] % modulus == residue)
        };
        let formula = self.formulas.iter().find(|(residue, _)| is_of(residue));
        formula.is_some_and(|(_, formula)| formula.gives(&sample.sizes, sample.count))
    }
}

/// The simplest sum over one of `bases` that gives every sample.
pub(super) fn simplest<'b>(
    mut bases: impl Iterator<Item = &'b Vec<Monomial>>,
    samples: &[Sample],
) -> Option<Found> {
    let formula = bases.find_map(|basis| solve(basis, samples))?;
    Some(Found { formulas: vec![(None, formula)] })
}

/// The periods of polynomials that differ by the residue of the size.
const PERIODS: [u64; 6] = [2, 4, 8, 16, 32, 64];

/// A polynomial for each residue of the size, by the smallest period that does. `step` is that of
/// the parameter.
pub(super) fn by_residues(parameter: usize, step: u64, samples: &[Sample]) -> Option<Found> {
    let atom = [Atom::Parameter(parameter)];
    let polynomial =
        |samples: &[Sample]| (0..=3).find_map(|degree| solve(&products(&atom, degree), samples));
    let formulas_of = |modulus: u64| {
        let mut formulas = Vec::new();
        for residue in 0..modulus {
            let is_of = |sample: &&Sample| sample.sizes[parameter] % modulus == residue;
            let those: Vec<Sample> = samples.iter().filter(is_of).cloned().collect();
            // A step that leaves residues out has none of their sizes.
            if those.is_empty() {
                continue;
            }
            formulas.push((Some((modulus, residue)), polynomial(&those)?));
        }
        Some(Found { formulas })
    };
    PERIODS.iter().filter(|&&modulus| !step.is_multiple_of(modulus)).find_map(|&it| formulas_of(it))
}

/// Consecutive sizes with one formula.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) first: u64,
    pub(super) last: u64,
    pub(super) formula: Expression,
}

/// Straight lines and single values through consecutive samples, in their order.
pub(super) fn runs(parameter: usize, samples: &[Sample]) -> Vec<Run> {
    let mut runs = Vec::new();
    let mut rest = samples;
    while let Some(first) = rest.first() {
        let length = line_length(parameter, rest);
        let (those, after) = rest.split_at(length);
        let last = &those[length - 1];
        let formula = match through(parameter, first, last) {
            Some(line) if length > 1 => line,
            _ => Expression::constant(first.count),
        };
        let (first, last) = (first.sizes[parameter], last.sizes[parameter]);
        runs.push(Run { first, last, formula });
        rest = after;
    }
    runs
}

/// Samples at the beginning that lie on one line: at least three, or equal ones, or one.
fn line_length(parameter: usize, samples: &[Sample]) -> usize {
    let equal = samples.iter().take_while(|one| one.count == samples[0].count).count();
    let [first, second, ..] = samples else { return samples.len() };
    let Some(line) = through(parameter, first, second) else { return 1 };
    let on_it = |sample: &&Sample| line.gives(&sample.sizes, sample.count);
    match samples.iter().take_while(on_it).count() {
        length if length > 2 => length.max(equal),
        _ => equal,
    }
}

/// The line through two samples.
fn through(parameter: usize, one: &Sample, other: &Sample) -> Option<Expression> {
    let number = |value: u128| BigRational::from_integer(BigInt::from(value));
    let (from, to) = (one.sizes[parameter], other.sizes[parameter]);
    if from == to {
        return None;
    }
    let slope =
        (number(other.count) - number(one.count)) / (number(to.into()) - number(from.into()));
    let offset = number(one.count) - &slope * number(from.into());
    let size = Monomial(vec![(Atom::Parameter(parameter), 1)]);
    Some(Expression::new([(slope, size), (offset, Monomial::default())]))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::parametric::bases::{Bases, divisors};

    fn samples(sizes: impl Iterator<Item = u64>, count: impl Fn(u64) -> u64) -> Vec<Sample> {
        sizes.map(|size| Sample { sizes: vec![size], count: count(size).into() }).collect()
    }

    fn sizes() -> impl Iterator<Item = u64> {
        (40..160).chain((0..60).map(|at| 997 * at * at + 163))
    }

    fn written(found: &Found) -> String {
        let line = |(residue, formula): &(Option<(u64, u64)>, Expression)| {
            let formula = formula.with_names(&["n".into()]).to_string();
            residue.map_or(formula.clone(), |(by, residue)| format!("{by}:{residue} {formula}"))
        };
        found.formulas.iter().map(line).collect::<Vec<_>>().join("; ")
    }

    /// The counts of guards, warps, blocks, interiors and triangles, by their definitions.
    #[test]
    fn counts_of_ordinary_kernels_have_their_closed_forms() {
        let bases = Bases::of_one(0, divisors(1, &BTreeSet::new()));
        let form = |count: fn(u64) -> u64| {
            let found = simplest(bases.all(), &samples(sizes(), count));
            found.map_or("none".to_owned(), |found| written(&found))
        };
        assert_eq!(form(|n| n), "n");
        assert_eq!(
            form(|n| 12 * n.div_ceil(32) + 8 * 8 * n.div_ceil(256)),
            "12·⌈n/32⌉ + 64·⌈n/256⌉"
        );
        assert_eq!(form(|n| u64::from(n % 32 != 0)), "⌈n/32⌉ − ⌊n/32⌋");
        assert_eq!(form(|n| 3 * (n - 2).div_ceil(32) + n), "n + 3·⌈(n − 2)/32⌉");
        assert_eq!(form(|n| n * n.div_ceil(8)), "n·⌈n/8⌉");
        assert_eq!(
            form(|n| n.div_ceil(16) * n.div_ceil(16) * (7 + 5 * n.div_ceil(16))),
            "5·⌈n/16⌉³ + 7·⌈n/16⌉²"
        );
        assert_eq!(form(|n| n * (n + 1) / 2), "(1/2)·n² + (1/2)·n");
        assert_eq!(form(|n| n.ilog2().into()), "none");
    }

    #[test]
    fn residues_have_polynomials_of_their_own() {
        let dense = || 40..400;
        // Sectors of n rows of n words: a row begins where the one before ended.
        let sectors = |n: u64| (0..n).map(|row| (row * n + n).div_ceil(8) - row * n / 8).sum();
        let found = by_residues(0, 1, &samples(dense(), sectors)).unwrap();
        insta::assert_snapshot!(written(&found));
        for sample in samples(1..40, sectors) {
            assert!(found.gives(0, &sample), "{sample:?}");
        }
    }

    #[test]
    fn the_rest_is_in_runs() {
        let runs = runs(0, &samples(1..9, |n| [0, 4, 4, 4, 7, 9, 11, 13, 2][n as usize]));
        let shown: Vec<String> = runs
            .iter()
            .map(|run| {
                let formula = run.formula.with_names(&["n".into()]).to_string();
                format!("{}..{} {formula}", run.first, run.last)
            })
            .collect();
        assert_eq!(shown, ["1..3 4", "4..7 2·n − 1", "8..8 2"]);
    }
}
