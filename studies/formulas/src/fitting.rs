//! A function of one parameter, from its values.

use num_bigint::BigInt;
use num_rational::BigRational;

use crate::bases::Basis;
use crate::expression::{Atom, Expression, Monomial};
use crate::linear::{Sample, solve};
use crate::residues::{self, Case};
use crate::sizes::Sizes;

/// Formulas that hold from some size on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// One, or several for sizes with different residues.
    pub cases: Vec<Case>,
}

impl Found {
    /// One formula for all sizes.
    pub fn of_all(formula: Expression) -> Self {
        Self { cases: vec![Case::of_all(formula)] }
    }

    /// True if the formulas give this sample.
    pub fn gives(&self, sample: &Sample) -> bool {
        let case = self.cases.iter().find(|case| case.covers(&sample.sizes));
        case.is_some_and(|case| case.formula.gives(&sample.sizes, sample.count))
    }
}

/// The simplest sum over one of `bases` that gives every sample.
pub fn simplest<'b>(bases: impl Iterator<Item = &'b Basis>, samples: &[Sample]) -> Option<Found> {
    first_sum(bases, samples).map(Found::of_all)
}

fn first_sum<'b>(
    mut bases: impl Iterator<Item = &'b Basis>,
    samples: &[Sample],
) -> Option<Expression> {
    bases.find_map(|basis| solve(basis, samples))
}

/// The greatest period of sums that differ by the residue of the size.
pub const GREATEST_PERIOD: u64 = 64;

/// Sums that differ by the residue of one parameter, over that of several sets of bases which needs
/// the fewest.
pub fn by_residues(
    parameter: usize,
    sizes: &[Sizes],
    sets: &[Vec<Basis>],
    samples: &[Sample],
) -> Option<Found> {
    /// So few are as good as any fewer, and the sets come in the order of their cost.
    const FEW_CASES: usize = 8;
    let mut moduli = vec![1; sizes.len()];
    moduli[parameter] = GREATEST_PERIOD;
    let mut best: Option<Vec<Case>> = None;
    for bases in sets {
        if best.as_ref().is_some_and(|best| best.len() <= FEW_CASES) {
            break;
        }
        let sum = |samples: &[Sample]| first_sum(bases.iter(), samples);
        let found = residues::cases(sizes, &moduli, samples, &sum);
        best = [best, found].into_iter().flatten().min_by_key(Vec::len);
    }
    Some(Found { cases: best? })
}

/// Consecutive sizes with one formula.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// The smallest size.
    pub first: u64,
    /// The largest one.
    pub last: u64,
    /// The formula of all sizes between.
    pub formula: Expression,
}

/// Straight lines and single values through consecutive samples, in their order.
pub fn runs(parameter: usize, samples: &[Sample]) -> Vec<Run> {
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
    let equal = samples.iter().take_while(|sample| sample.count == samples[0].count).count();
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
    use crate::bases::{self, Bases, divisors};

    fn samples(sizes: impl Iterator<Item = u64>, count: impl Fn(u64) -> u64) -> Vec<Sample> {
        sizes.map(|size| Sample { sizes: vec![size], count: count(size).into() }).collect()
    }

    fn sizes() -> impl Iterator<Item = u64> {
        (40..160).chain((0..60).map(|at| 997 * at * at + 163))
    }

    fn written(found: &Found) -> String {
        let line = |case: &Case| {
            let formula = case.formula.with_names(&["n".into()]).to_string();
            let residue = case.residues.first();
            residue.map_or(formula.clone(), |it| format!("{}:{} {formula}", it.modulus, it.residue))
        };
        found.cases.iter().map(line).collect::<Vec<_>>().join("; ")
    }

    /// The counts of guards, warps, blocks, interiors and triangles, by their definitions.
    #[test]
    fn counts_of_ordinary_kernels_have_their_closed_forms() {
        let bases = Bases::of_one(0, 1, divisors(1, &BTreeSet::new()));
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
    fn residues_have_sums_of_their_own() {
        let all = [Sizes { first: 1, step: 1, last: 1 << 20 }];
        let bases = bases::of_residues(0, 1, &divisors(1, &BTreeSet::new()));
        // Sectors of n rows of n words, and of their parts in tiles of 32: a row begins where the
        // one before ended.
        fn sectors(from: u64, to: u64) -> u64 {
            to.div_ceil(8) - from / 8
        }
        fn tile(n: u64, at: u64, row: u64) -> u64 {
            row * n + (32 * at).min(n)
        }
        let rows = |n: u64| (0..n).map(|row| sectors(row * n, row * n + n)).sum();
        let tiles = |n: u64| {
            let of_row =
                |row| (0..n.div_ceil(32)).map(move |at| (tile(n, at, row), tile(n, at + 1, row)));
            (0..n).flat_map(of_row).map(|(from, to)| sectors(from, to)).sum()
        };
        let counts: [fn(u64) -> u64; 2] = [rows, tiles];
        let found = counts.map(|count| {
            let found = by_residues(0, &all, &bases, &samples(40..400, count)).unwrap();
            for sample in samples((1..40).chain([1001, 1002, 1004, 1008]), count) {
                assert!(found.gives(&sample), "{sample:?}");
            }
            written(&found)
        });
        insta::assert_snapshot!(found.join("\n"));
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
