//! Counts that differ by the residues of the sizes.
//!
//! ```text
//!                  all sizes
//!              no sum gives them all
//!               ┌───────┴────────┐
//!        n mod 2 = 0        n mod 2 = 1 : a sum
//!        ┌──────┴───────┐
//!   n mod 4 = 0 : …   n mod 4 = 2 : …
//! ```
//!
//! Sizes are cut in two by one parameter's next bit until a sum gives every sample of a part. So
//! residues that need no formula of their own share one, and moduli are no larger than they must
//! be.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::expression::Expression;
use crate::linear::{MORE_SAMPLES, Sample};
use crate::sizes::Sizes;

/// The sizes of one parameter that leave a residue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Residue {
    /// The place of the parameter.
    pub parameter: usize,
    /// A power of two, at least two.
    pub modulus: u64,
    /// What is left when the size is divided by the modulus.
    pub residue: u64,
}

impl Residue {
    /// True if these sizes leave it.
    #[must_use]
    pub fn covers(&self, sizes: &[u64]) -> bool {
        sizes[self.parameter] % self.modulus == self.residue
    }
}

/// A formula, and the residues of the sizes for which it holds: all of them together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// What the sizes leave, where they are told apart.
    pub residues: Vec<Residue>,
    /// The formula for these sizes.
    pub formula: Expression,
}

impl Case {
    /// A formula for all sizes.
    pub fn of_all(formula: Expression) -> Self {
        Self { residues: Vec::new(), formula }
    }

    /// True if these sizes belong to it.
    pub fn covers(&self, sizes: &[u64]) -> bool {
        self.residues.iter().all(|residue| residue.covers(sizes))
    }
}

/// A table with more lines is no formula.
const MOST_CASES: usize = 64;

/// Finds the sum that gives all samples of a part.
pub type Solve<'a> = &'a dyn Fn(&[Sample]) -> Option<Expression>;

/// The fewest cases that give all samples, with moduli up to those of each parameter: powers of
/// two, and 1 where it is not told apart. `None` if there are none, or if some sizes have too few
/// samples.
pub fn cases(
    sizes: &[Sizes],
    moduli: &[u64],
    samples: &[Sample],
    solve: Solve<'_>,
) -> Option<Vec<Case>> {
    let all = vec![Bits { modulus: 1, residue: 0 }; sizes.len()];
    let samples: Vec<&Sample> = samples.iter().collect();
    Search { sizes, moduli, solve, known: HashMap::new() }.cases(&all, &samples, true)
}

/// What is fixed of one parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Bits {
    modulus: u64,
    residue: u64,
}

impl Bits {
    /// One of the two halves by the next bit.
    fn half(self, upper: bool) -> Self {
        let residue = self.residue + if upper { self.modulus } else { 0 };
        Self { modulus: 2 * self.modulus, residue }
    }

    /// True if some size leaves the residue.
    fn is_reached(self, sizes: Sizes) -> bool {
        // The step's common divisor with a power of two is its own power of two.
        let common = (1 << sizes.step.trailing_zeros().min(63)).min(self.modulus);
        sizes.first.abs_diff(self.residue).is_multiple_of(common)
    }
}

struct Search<'a> {
    sizes: &'a [Sizes],
    moduli: &'a [u64],
    solve: Solve<'a>,
    known: HashMap<Vec<Bits>, Option<Vec<Case>>>,
}

impl Search<'_> {
    /// The cases of a part; `is_new` says that its samples are not those of the part around it.
    fn cases(&mut self, part: &[Bits], samples: &[&Sample], is_new: bool) -> Option<Vec<Case>> {
        if let Some(known) = self.known.get(part) {
            return known.clone();
        }
        let found = self.find(part, samples, is_new);
        self.known.insert(part.to_vec(), found.clone());
        found
    }

    fn find(&mut self, part: &[Bits], samples: &[&Sample], is_new: bool) -> Option<Vec<Case>> {
        if samples.len() <= MORE_SAMPLES {
            return None;
        }
        if is_new && self.has_all_halves(part, samples) {
            let own: Vec<Sample> = samples.iter().map(|&sample| sample.clone()).collect();
            if let Some(formula) = (self.solve)(&own) {
                return Some(vec![Case { residues: residues(part), formula }]);
            }
        }
        let mut best: Option<Vec<Case>> = None;
        for parameter in 0..part.len() {
            if 2 * part[parameter].modulus > self.moduli[parameter] {
                continue;
            }
            if let Some(cases) = self.halves(part, samples, parameter)
                && best.as_ref().is_none_or(|best| cases.len() < best.len())
            {
                best = Some(cases);
            }
        }
        best.filter(|cases| cases.len() <= MOST_CASES)
    }

    /// True if samples show both halves of each parameter's next bit: a sum that no sample of one
    /// half could contradict is not known to hold there.
    fn has_all_halves(&self, part: &[Bits], samples: &[&Sample]) -> bool {
        let mut halves = (0..part.len())
            .filter(|&parameter| 2 * part[parameter].modulus <= self.moduli[parameter])
            .flat_map(|parameter| {
                [false, true].map(|upper| (parameter, part[parameter].half(upper)))
            });
        halves.all(|(parameter, half)| {
            let is_of = |sample: &&Sample| sample.sizes[parameter] % half.modulus == half.residue;
            !half.is_reached(self.sizes[parameter]) || samples.iter().any(is_of)
        })
    }

    fn halves(
        &mut self,
        part: &[Bits],
        samples: &[&Sample],
        parameter: usize,
    ) -> Option<Vec<Case>> {
        let mut cases = Vec::new();
        for upper in [false, true] {
            let mut half = part.to_vec();
            half[parameter] = part[parameter].half(upper);
            let Bits { modulus, residue } = half[parameter];
            if !half[parameter].is_reached(self.sizes[parameter]) {
                continue;
            }
            let is_of = |sample: &&&Sample| sample.sizes[parameter] % modulus == residue;
            let own: Vec<&Sample> = samples.iter().filter(is_of).copied().collect();
            cases.extend(self.cases(&half, &own, own.len() < samples.len())?);
        }
        Some(cases)
    }
}

fn residues(part: &[Bits]) -> Vec<Residue> {
    let residue = |(parameter, bits): (usize, &Bits)| Residue {
        parameter,
        modulus: bits.modulus,
        residue: bits.residue,
    };
    part.iter().enumerate().filter(|(_, bits)| bits.modulus > 1).map(residue).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bases::products;
    use crate::expression::Atom;
    use crate::linear::solve;

    const ALL: Sizes = Sizes { first: 1, step: 1, last: 1 << 20 };

    fn written(cases: &[Case]) -> Vec<String> {
        let names = ["n".to_owned(), "m".to_owned()];
        let line = |case: &Case| {
            let residue = |it: &Residue| {
                format!("{} mod {} = {}, ", names[it.parameter], it.modulus, it.residue)
            };
            let residues: String = case.residues.iter().map(residue).collect();
            format!("{residues}{}", case.formula.with_names(&names))
        };
        cases.iter().map(line).collect()
    }

    /// Sizes and residues are all told apart that must be, and no others.
    #[test]
    fn parts_are_as_large_as_can_be() {
        let count = |n: u64, m: u64| match (n % 4, m % 2) {
            (0, _) => n + m,
            (2, 1) => 3 * n,
            (2, _) => 5 * m,
            _ => 7 * n * m,
        };
        let samples: Vec<Sample> = (1..40)
            .flat_map(|n| (1..40).map(move |m| (n, m)))
            .map(|(n, m)| Sample { sizes: vec![n, m], count: count(n, m).into() })
            .collect();
        let basis = products(&[Atom::Parameter(0), Atom::Parameter(1)], 2);
        let solve = |samples: &[Sample]| solve(&basis, samples);
        let found = cases(&[ALL, ALL], &[8, 8], &samples, &solve).unwrap();
        insta::assert_snapshot!(written(&found).join("\n"), @r"
        n mod 4 = 0, n + m
        n mod 4 = 2, m mod 2 = 0, 5·m
        n mod 4 = 2, m mod 2 = 1, 3·n
        n mod 2 = 1, 7·n·m
        ");
        for sample in &samples {
            let those: Vec<&Case> = found.iter().filter(|it| it.covers(&sample.sizes)).collect();
            assert_eq!(those.len(), 1, "{sample:?}");
            assert!(those[0].formula.gives(&sample.sizes, sample.count), "{sample:?}");
        }
        assert_eq!(cases(&[ALL, ALL], &[2, 8], &samples, &solve), None, "n mod 4 decides");
        let few: Vec<Sample> = samples.into_iter().filter(|it| it.sizes[0] % 4 != 2).collect();
        assert_eq!(cases(&[ALL, ALL], &[8, 8], &few, &solve), None, "some have no samples");
    }

    #[test]
    fn residues_that_no_size_leaves_need_no_samples() {
        let even = Sizes { first: 6, step: 4, last: 1 << 20 };
        let sample =
            |n: u64| Sample { sizes: vec![n], count: (n * (1 + u64::from(n % 8 == 2))).into() };
        let samples: Vec<Sample> = (0..60).map(|place| sample(even.at(place))).collect();
        let basis = products(&[Atom::Parameter(0)], 1);
        let found = cases(&[even], &[64], &samples, &|samples| solve(&basis, samples)).unwrap();
        assert_eq!(written(&found), ["n mod 8 = 2, 2·n", "n mod 8 = 6, n"]);
    }
}
