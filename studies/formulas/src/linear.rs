//! Linear equations between products of sizes and counts.
//!
//! Thousands of candidate sums are tried on each metric. A trial is made modulo a prime, which
//! rejects a wrong candidate after a few rows. What passes is solved over the rationals, and
//! compared with every row exactly: the prime decides nothing that is reported.

use num_rational::BigRational;
use num_traits::Zero as _;

use crate::expression::{Expression, Monomial};

/// The Mersenne prime 2⁶¹ − 1: products of two residues fit 128 bits.
const PRIME: u64 = (1 << 61) - 1;

/// 2⁶¹ is 1 modulo the prime: the upper bits of a product are added to the lower ones.
fn times(one: u64, other: u64) -> u64 {
    let product = u128::from(one) * u128::from(other);
    let sum = (product as u64 & PRIME) + (product >> 61) as u64;
    if sum >= PRIME { sum - PRIME } else { sum }
}

fn minus(one: u64, other: u64) -> u64 {
    if one >= other { one - other } else { one + PRIME - other }
}

/// The inverse by Fermat's little theorem.
fn inverse(number: u64) -> u64 {
    let (mut base, mut exponent, mut product) = (number, PRIME - 2, 1);
    while exponent > 0 {
        if exponent & 1 == 1 {
            product = times(product, base);
        }
        base = times(base, base);
        exponent >>= 1;
    }
    product
}

/// The residue of a whole number: 2⁶¹ and 2¹²² are 1 modulo the prime.
fn residue_of(number: i128) -> u64 {
    let wide = number.unsigned_abs();
    let part = |from: u32| (wide >> from) as u64 & PRIME;
    let sum = part(0) + part(61) + part(122);
    let sum = (sum & PRIME) + (sum >> 61);
    let residue = if sum >= PRIME { sum - PRIME } else { sum };
    if number < 0 { minus(0, residue) } else { residue }
}

fn residue(monomial: &Monomial, sizes: &[u64]) -> u64 {
    let mut product = 1;
    for &(atom, power) in &monomial.0 {
        let value = residue_of(atom.at(sizes));
        for _ in 0..power {
            product = times(product, value);
        }
    }
    product
}

/// A count at some sizes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The size of each parameter.
    pub sizes: Vec<u64>,
    /// The count at these sizes.
    pub count: u128,
}

/// The equations of a basis modulo the prime. Each is made when it is first looked at: most bases
/// are wrong, and a few equations tell.
struct Equations<'a> {
    basis: &'a [Monomial],
    samples: &'a [Sample],
    /// For each of the first samples the products' values, then the count.
    rows: Vec<Vec<u64>>,
}

impl<'a> Equations<'a> {
    fn new(basis: &'a [Monomial], samples: &'a [Sample]) -> Self {
        Self { basis, samples, rows: Vec::new() }
    }

    fn row(&mut self, at: usize) -> &[u64] {
        while self.rows.len() <= at {
            let Sample { sizes, count } = &self.samples[self.rows.len()];
            let products = self.basis.iter().map(|monomial| residue(monomial, sizes));
            let count = (count % u128::from(PRIME)) as u64;
            self.rows.push(products.chain([count]).collect());
        }
        &self.rows[at]
    }

    /// The samples that determine the coefficients of the products in `columns`, unless some
    /// samples contradict each other.
    fn pivots(&mut self, columns: &[usize]) -> Option<Vec<usize>> {
        let width = columns.len();
        let count = self.basis.len();
        // Each with the place of its leading one.
        let mut echelon: Vec<(usize, Vec<u64>)> = Vec::with_capacity(width);
        let mut pivots = Vec::with_capacity(width);
        let mut row: Vec<u64> = Vec::with_capacity(width + 1);
        for at in 0..self.samples.len() {
            let values = self.row(at);
            row.clear();
            row.extend(columns.iter().chain([&count]).map(|&column| values[column]));
            for (lead, earlier) in &echelon {
                let factor = row[*lead];
                if factor != 0 {
                    for (own, other) in row[*lead..].iter_mut().zip(&earlier[*lead..]) {
                        *own = minus(*own, times(factor, *other));
                    }
                }
            }
            match row[..width].iter().position(|&number| number != 0) {
                None if row[width] != 0 => return None,
                None => {}
                Some(lead) => {
                    let inverse = inverse(row[lead]);
                    let leading = row.iter().map(|&number| times(number, inverse)).collect();
                    let place = echelon.partition_point(|(earlier, _)| *earlier < lead);
                    echelon.insert(place, (lead, leading));
                    pivots.push(at);
                }
            }
        }
        Some(pivots)
    }
}

/// Samples beyond those that determine the coefficients: fewer could agree by chance.
pub const MORE_SAMPLES: usize = 8;

/// The sum over `basis` that gives every sample, with as few terms as dropping one after the other
/// leaves. `None` if there is no such sum, or if too few samples would contradict a wrong one.
#[must_use]
pub fn solve(basis: &[Monomial], samples: &[Sample]) -> Option<Expression> {
    let mut equations = Equations::new(basis, samples);
    let mut columns: Vec<usize> = (0..basis.len()).collect();
    let mut rows = equations.pivots(&columns)?;
    if samples.len() < rows.len() + MORE_SAMPLES {
        return None;
    }
    // The last ones of a basis are the least simple.
    for column in (0..basis.len()).rev() {
        let fewer: Vec<usize> = columns.iter().copied().filter(|&own| own != column).collect();
        if let Some(pivots) = equations.pivots(&fewer) {
            (columns, rows) = (fewer, pivots);
        }
    }
    let basis: Vec<Monomial> = columns.into_iter().map(|column| basis[column].clone()).collect();
    let chosen: Vec<&Sample> = rows.into_iter().map(|at| &samples[at]).collect();
    let coefficients = solution(&basis, &chosen)?;
    let expression = Expression::new(coefficients.into_iter().zip(basis));
    let agrees = |sample: &Sample| expression.gives(&sample.sizes, sample.count);
    samples.iter().all(agrees).then_some(expression)
}

/// The coefficients over the rationals, by Gauss and Jordan; as many rows as unknowns.
fn solution(basis: &[Monomial], samples: &[&Sample]) -> Option<Vec<BigRational>> {
    let unknowns = basis.len();
    if samples.len() != unknowns {
        return None;
    }
    let row = |sample: &&Sample| {
        let mut row: Vec<BigRational> =
            basis.iter().map(|monomial| monomial.at(&sample.sizes)).collect();
        row.push(BigRational::from_integer(sample.count.into()));
        row
    };
    let mut rows: Vec<Vec<BigRational>> = samples.iter().map(row).collect();
    for column in 0..unknowns {
        let pivot = (column..unknowns).find(|&at| !rows[at][column].is_zero())?;
        rows.swap(column, pivot);
        let lead = rows[column][column].clone();
        rows[column].iter_mut().for_each(|number| *number /= &lead);
        let pivot = rows[column].clone();
        for (at, row) in rows.iter_mut().enumerate() {
            if at == column || row[column].is_zero() {
                continue;
            }
            let factor = row[column].clone();
            for (number, other) in row.iter_mut().zip(&pivot).skip(column) {
                *number -= &factor * other;
            }
        }
    }
    rows.into_iter().map(|mut row| row.pop()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expression::Atom;

    fn power(power: u32) -> Monomial {
        match power {
            0 => Monomial::default(),
            power => Monomial(vec![(Atom::Parameter(0), power)]),
        }
    }

    fn samples(count: impl Fn(u64) -> u64) -> Vec<Sample> {
        let sample = |size: u64| Sample { sizes: vec![size], count: count(size).into() };
        (1..40).map(sample).chain([sample(1_000_003), sample(1 << 21)]).collect()
    }

    #[test]
    fn products_are_those_of_wide_numbers() {
        let numbers = [0, 1, 2, 12_345, 1 << 60, PRIME - 2, PRIME - 1];
        for one in numbers {
            for other in numbers {
                let wide = u128::from(one) * u128::from(other) % u128::from(PRIME);
                assert_eq!(u128::from(times(one, other)), wide, "{one} · {other}");
            }
            assert!(one == 0 || times(one, inverse(one)) == 1, "{one}");
        }
    }

    #[test]
    fn residues_are_those_of_division() {
        let numbers = [0, 1, 1 << 60, (1 << 61) - 1, 1 << 61, 1 << 122, 12_345 << 100, i128::MAX];
        for number in numbers.into_iter().flat_map(|it| [it, -it]).chain([i128::MIN]) {
            let divided = number.rem_euclid(i128::from(PRIME)) as u64;
            assert_eq!(residue_of(number), divided, "{number}");
        }
    }

    #[test]
    fn sums_of_squares_have_their_closed_form() {
        let basis: Vec<Monomial> = (0..=3).map(power).collect();
        let squares = samples(|size| (1..=size % (1 << 20)).map(|it| it * it).sum());
        assert_eq!(solve(&basis, &squares), None, "two samples are of another function");
        let squares = samples(|size| {
            let size = u128::from(size);
            (size * (size + 1) * (2 * size + 1) / 6) as u64
        });
        let found = solve(&basis, &squares).unwrap();
        assert_eq!(found.with_names(&["n".into()]).to_string(), "(1/3)·n³ + (1/2)·n² + (1/6)·n");
    }

    #[test]
    fn terms_that_nothing_needs_are_dropped() {
        let basis: Vec<Monomial> = (0..=3).map(power).collect();
        let found = solve(&basis, &samples(|size| 5 * size)).unwrap();
        assert_eq!(found.with_names(&["n".into()]).to_string(), "5·n");
        let found = solve(&basis, &samples(|_| 0)).unwrap();
        assert_eq!(found, Expression::default());
    }

    #[test]
    fn too_few_samples_prove_nothing() {
        let basis: Vec<Monomial> = (0..=3).map(power).collect();
        assert!(solve(&basis, &samples(|size| size)[..5]).is_none());
    }
}
