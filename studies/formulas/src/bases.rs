//! The sums that are tried, the simplest first.

use std::cell::LazyCell;
use std::collections::BTreeSet;

use crate::expression::{Atom, Monomial};

/// Powers of two up to the threads of the largest block: sectors, lines, warps, blocks and tiles
/// are of such sizes.
const POWERS_OF_TWO: [u64; 10] = [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];

/// The greatest degree of a product. Counts of products of matrices have the third.
const HIGHEST: u32 = 3;

/// Divisors of a parameter: powers of two and those that a launch suggests. What divides the step
/// of the parameter gives nothing new.
pub fn divisors(step: u64, of_launch: &BTreeSet<u64>) -> Vec<u64> {
    let all: BTreeSet<u64> = POWERS_OF_TWO.into_iter().chain(of_launch.iter().copied()).collect();
    all.into_iter().filter(|&by| by > 1 && !step.is_multiple_of(by)).collect()
}

/// All products of powers of `atoms` up to a degree, the simplest first.
pub fn products(atoms: &[Atom], degree: u32) -> Vec<Monomial> {
    let mut all = vec![Monomial::default()];
    let mut last = all.clone();
    for _ in 0..degree {
        let next: BTreeSet<Monomial> = last
            .iter()
            .flat_map(|product| atoms.iter().map(|&atom| product.times(&Monomial(vec![(atom, 1)]))))
            .collect();
        last = next.into_iter().collect();
        all.extend(last.iter().cloned());
    }
    all
}

/// Products whose sum is tried.
pub type Basis = Vec<Monomial>;

/// Made when it is first asked for.
type Later<T> = LazyCell<T, Box<dyn FnOnce() -> T>>;

/// The bases for a function of one parameter.
pub struct Bases {
    /// Those without shifts, triples and high degrees, the simplest first: enough for parts of a
    /// domain.
    simple: Vec<Basis>,
    /// All others. There are thousands, and most functions need none of them.
    others: Later<Vec<Basis>>,
    /// Those for sizes of one residue.
    of_residues: Later<[Vec<Basis>; 2]>,
}

impl Bases {
    /// `divisors` are those of the parameter, which is one of `parameters`.
    pub fn of_one(parameter: usize, parameters: usize, divisors: Vec<u64>) -> Self {
        let basis = |(atoms, degree): (Vec<Atom>, u32)| products(&atoms, degree);
        let simple = simple_atoms(parameter, &divisors).map(basis).collect();
        let of_others = divisors.clone();
        let others = move || other_atoms(parameter, &of_others).map(basis).collect();
        let of_residues = move || self::of_residues(parameter, parameters, &divisors);
        Self {
            simple,
            others: LazyCell::new(Box::new(others)),
            of_residues: LazyCell::new(Box::new(of_residues)),
        }
    }

    /// Those for sizes of one residue: see [`of_residues`].
    pub fn of_residues(&self) -> &[Vec<Basis>; 2] {
        LazyCell::force(&self.of_residues)
    }

    /// The simple ones, the simplest first.
    pub fn simple(&self) -> impl Iterator<Item = &Basis> {
        self.simple.iter()
    }

    /// All, the simplest first.
    pub fn all(&self) -> impl Iterator<Item = &Basis> {
        let others = || LazyCell::force(&self.others).iter();
        self.simple.iter().chain(std::iter::once_with(others).flatten())
    }
}

/// The divisors of products of two sizes: elements of a sector, of a line and of a row of banks.
const OF_PRODUCTS: [u64; 5] = [2, 4, 8, 16, 32];

/// The bases for sizes of one residue of a parameter, among so many parameters: those of lines and
/// polynomials, and those of products, the simplest first. Rows of a matrix that lie one behind the
/// other begin anywhere in a sector: what they have in common is the sector in which the last one
/// ends.
pub fn of_residues(parameter: usize, parameters: usize, divisors: &[u64]) -> [Vec<Basis>; 2] {
    let size = Atom::Parameter(parameter);
    let up = |by: u64| up(parameter, by);
    let polynomials = || (0..=HIGHEST).map(|degree| products(&[size], degree));
    let mut lines: Vec<Basis> = polynomials().collect();
    lines.extend(divisors.iter().map(|&by| products(&[size, up(by)], 1)));
    // Matrices of two sizes are the more frequent ones where there are two.
    let others = (0..parameters).filter(|&other| other != parameter);
    let ends: Vec<(u64, Atom)> = others
        .chain([parameter])
        .flat_map(|other| OF_PRODUCTS.map(|by| (by, Atom::product(parameter, other, by))))
        .collect();
    lines.extend(ends.iter().map(|&(_, end)| products(&[size, end], 1)));
    for &(_, end) in &ends {
        lines.extend(divisors.iter().map(|&tile| products(&[size, up(tile), end], 1)));
    }
    let mut squares: Vec<Basis> = polynomials().collect();
    squares.extend(divisors.iter().map(|&by| products(&[size, up(by)], 2)));
    for &(by, end) in &ends {
        for &tile in divisors.iter().filter(|&&tile| tile != by) {
            let mut basis = products(&[size, up(by), up(tile)], 2);
            let end = Monomial(vec![(end, 1)]);
            // Each column of tiles reads all rows.
            basis.push(end.times(&Monomial(vec![(up(tile), 1)])));
            basis.push(end);
            squares.push(basis);
        }
    }
    [lines, squares]
}

fn up(parameter: usize, by: u64) -> Atom {
    shifted(parameter, 0, by)
}

fn down(parameter: usize, by: u64) -> Atom {
    shifted(parameter, 1 - by as i64, by)
}

fn shifted(parameter: usize, plus: i64, by: u64) -> Atom {
    Atom::Ceiling { parameter, plus, by }
}

/// Pairs of different divisors.
fn pairs(divisors: &[u64]) -> impl Iterator<Item = (u64, u64)> + use<'_> {
    let others = |at: usize| divisors.iter().skip(at + 1);
    divisors.iter().enumerate().flat_map(move |(at, &one)| others(at).map(move |&it| (one, it)))
}

/// The atoms of simple bases, and their degrees.
fn simple_atoms(
    parameter: usize,
    divisors: &[u64],
) -> impl Iterator<Item = (Vec<Atom>, u32)> + use<'_> {
    let size = Atom::Parameter(parameter);
    let up = move |by: u64| up(parameter, by);
    let down = move |by: u64| down(parameter, by);
    let polynomials = (0..=HIGHEST).map(move |degree| (vec![size], degree));
    let ceilings = divisors.iter().map(move |&by| (vec![size, up(by)], 1));
    let both = divisors.iter().map(move |&by| (vec![size, up(by), down(by)], 1));
    let two = pairs(divisors).map(move |(one, other)| (vec![size, up(one), up(other)], 1));
    let squares = divisors.iter().map(move |&by| (vec![size, up(by)], 2));
    polynomials.chain(ceilings).chain(both).chain(two).chain(squares)
}

/// The atoms of all other bases, and their degrees.
fn other_atoms(
    parameter: usize,
    divisors: &[u64],
) -> impl Iterator<Item = (Vec<Atom>, u32)> + use<'_> {
    let size = Atom::Parameter(parameter);
    let up = move |by: u64| up(parameter, by);
    let down = move |by: u64| down(parameter, by);
    let shifted = move |plus: i64, by: u64| shifted(parameter, plus, by);
    let shifts = move |degree: u32| {
        // More shifts than a block has threads are none that a guard brings about.
        let of = |by: u64| (1 - by.min(1025) as i64)..=(by.min(1025) as i64 - 2);
        divisors.iter().flat_map(move |&by| {
            let shifts = of(by).filter(|&plus| plus != 0);
            shifts.map(move |plus| (vec![size, shifted(plus, by)], degree))
        })
    };
    let with_down = divisors.iter().flat_map(move |&by| {
        let others = divisors.iter().filter(move |&&other| other != by);
        others.map(move |&other| (vec![size, up(by), down(by), up(other)], 1))
    });
    let triples = divisors.iter().enumerate().flat_map(move |(first, &one)| {
        let others = pairs(&divisors[first + 1..]);
        others.map(move |(other, third)| (vec![size, up(one), up(other), up(third)], 1))
    });
    let squares_of_both = divisors.iter().map(move |&by| (vec![size, up(by), down(by)], 2));
    let two = move |degree: u32| {
        pairs(divisors).map(move |(one, other)| (vec![size, up(one), up(other)], degree))
    };
    let cubes = divisors.iter().map(move |&by| (vec![size, up(by)], HIGHEST));
    let shifted_pairs = (1..=8_i64).flat_map(|shift| [-shift, shift]).flat_map(move |plus| {
        pairs(divisors)
            .map(move |(one, other)| (vec![size, shifted(plus, one), shifted(plus, other)], 1))
    });
    shifts(1)
        .chain(with_down)
        .chain(triples)
        .chain(squares_of_both)
        .chain(two(2))
        .chain(cubes)
        .chain(shifted_pairs)
        .chain(shifts(2))
        .chain(two(HIGHEST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_all_of_a_degree_each_once() {
        let atoms = [Atom::Parameter(0), Atom::Parameter(1), Atom::Parameter(2)];
        // (n + d over d) for d = 0 to 3 of three atoms.
        assert_eq!([0, 1, 2, 3].map(|degree| products(&atoms, degree).len()), [1, 4, 10, 20]);
        let distinct: BTreeSet<Monomial> = products(&atoms, 3).into_iter().collect();
        assert_eq!(distinct.len(), 20);
    }

    #[test]
    fn divisors_of_the_step_are_left_out() {
        let of_launch = BTreeSet::from([1, 48, 96]);
        assert_eq!(divisors(32, &of_launch), [48, 64, 96, 128, 256, 512, 1024]);
    }
}
