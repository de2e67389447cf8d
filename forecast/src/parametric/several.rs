//! Counts as functions of several parameters.
//!
//! The sums of one parameter, with the others fixed, name the functions of that parameter that a
//! count is made of. A count of several is taken to be a sum of products of these: its coefficients
//! follow from executed sizes, more than there are coefficients.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use gpucast_formulas::expression::{Atom, Monomial};
use gpucast_formulas::linear::{Sample, solve};
use gpucast_formulas::residues::{self, Case, Residue};
use gpucast_formulas::sizes::Sizes;

use super::executed::{At, Executed, Key};
use super::slice::{Answer, FIRST_ANGLE, OTHER_ANGLE, spread};
use crate::failure::Failure;

/// A sum with more products needs more sizes than anyone waits for.
const MOST_PRODUCTS: usize = 160;

/// Sizes beyond as many as there are products.
const MORE_SIZES: usize = 24;

/// Sizes are looked at up to so many times the place from which a function holds, or the modulus by
/// which it tells sizes apart.
const WIDTH: u64 = 8;

/// The places of the other parameters while one varies. Their sizes are no multiples of anything.
pub(super) const PLACES: [u64; 2] = [10, 22];

/// A count as a function of all parameters.
#[derive(Clone, Debug)]
pub(super) struct Function {
    /// One formula, or several for sizes with different residues.
    pub(super) cases: Vec<Case>,
    /// The place of the smallest size of each parameter.
    pub(super) from: Vec<u64>,
    /// The place of the largest size of each parameter, where one was found at which the formulas
    /// do not hold.
    pub(super) until: Vec<Option<u64>>,
}

/// The first place of each parameter, and the last where there is one.
type Range = (Vec<u64>, Vec<Option<u64>>);

/// The products that a count may be made of.
struct Basis {
    products: Vec<Monomial>,
    from: Vec<u64>,
    until: Vec<Option<u64>>,
    /// The place that the sizes of each parameter have to reach, so that all that the products tell
    /// apart is seen.
    reach: Vec<u64>,
    /// The greatest modulus by which each parameter alone tells sums apart; 1 if it does not.
    moduli: Vec<u64>,
}

/// Counts with the same range, and the products that each may be made of.
#[derive(Default)]
struct Alike {
    reach: Vec<u64>,
    moduli: Vec<u64>,
    counts: Vec<Unsolved>,
}

/// A count, the products that it may be made of, and the moduli by which sums may differ.
struct Unsolved {
    key: Key,
    products: Vec<Monomial>,
    moduli: Vec<u64>,
}

/// What a count with these samples is, once it is known.
struct Known {
    products: Vec<Monomial>,
    moduli: Vec<u64>,
    samples: Vec<Sample>,
    cases: Option<Vec<Case>>,
}

/// The functions of all counts that have one.
pub(super) struct Joined {
    pub(super) functions: BTreeMap<Key, Function>,
    /// The place of the largest size of each parameter that held-back sizes should have.
    pub(super) to: Vec<u64>,
}

/// The answer for all parameters from those for each one, of which there are several with
/// different sizes of the others.
pub(super) fn joined(
    sizes: &[Sizes],
    slices: &[Vec<Answer>],
    executed: &mut Executed<'_>,
) -> Result<Joined, Failure> {
    let mut bases: BTreeMap<Key, Basis> = BTreeMap::new();
    let mut coupled: BTreeMap<Key, Basis> = BTreeMap::new();
    let Some(first) = slices.first().and_then(|answers| answers.first()) else {
        return Ok(Joined { functions: BTreeMap::new(), to: vec![0; sizes.len()] });
    };
    let others = slices.iter().flatten().flat_map(|answer| answer.functions.keys());
    let keys: BTreeSet<Key> = first.functions.keys().chain(others).copied().collect();
    for key in keys {
        if let Some(basis) = coupled_basis(key, sizes, slices) {
            coupled.insert(key, basis);
        }
        if let Some(basis) = basis(key, slices) {
            bases.insert(key, basis);
        }
    }
    // A formula for all sizes is better than one that begins where two parameters say.
    let mut moduli = vec![1; sizes.len()];
    for basis in coupled.values().chain(bases.values()) {
        moduli.iter_mut().zip(&basis.moduli).for_each(|(all, own)| *all = *own.max(all));
    }
    let largest = largest(sizes, slices, &moduli);
    let reached = coupled.values().fold(largest.clone(), |reached, basis| {
        reached.iter().zip(&basis.reach).map(|(&one, &other)| one.max(other)).collect()
    });
    let mut functions = solved(sizes, &largest, coupled, executed)?;
    let to = if functions.is_empty() { largest.clone() } else { reached };
    bases.retain(|key, _| !functions.contains_key(key));
    functions.extend(solved(sizes, &largest, bases, executed)?);
    Ok(Joined { functions, to })
}

/// The functions of all counts whose products suffice.
fn solved(
    sizes: &[Sizes],
    largest: &[u64],
    bases: BTreeMap<Key, Basis>,
    executed: &mut Executed<'_>,
) -> Result<BTreeMap<Key, Function>, Failure> {
    // Counts that hold at the same sizes share points.
    let mut groups: BTreeMap<Range, Alike> = BTreeMap::new();
    for (key, Basis { products, from, until, reach, moduli }) in bases {
        let alike = groups.entry((from, until)).or_default();
        alike.reach.resize(reach.len(), 0);
        alike.reach.iter_mut().zip(reach).for_each(|(all, own)| *all = own.max(*all));
        alike.moduli.resize(moduli.len(), 1);
        alike.moduli.iter_mut().zip(&moduli).for_each(|(all, own)| *all = *own.max(all));
        alike.counts.push(Unsolved { key, products, moduli });
    }
    let mut functions = BTreeMap::new();
    for ((from, until), Alike { reach, moduli, counts: keys }) in groups {
        let to: Vec<u64> = largest
            .iter()
            .zip(&until)
            .zip(&reach)
            .map(|((&largest, until), &reach)| {
                let to = largest.max(reach);
                until.map_or(to, |until| until.min(to))
            })
            .collect();
        let products = keys.iter().map(|key| key.products.len()).max().unwrap_or(0);
        let mut points = points(sizes, &from, &to, products + MORE_SIZES, FIRST_ANGLE);
        points.extend(aligned(sizes, &points, &moduli));
        points.sort_unstable();
        points.dedup();
        let mut counts = Vec::new();
        for point in points {
            if let Some(at) = executed.at(&point)? {
                counts.push((point, at));
            }
        }
        // Equal counts are common: they have one formula.
        let mut solved: Vec<Known> = Vec::new();
        for Unsolved { key, products, moduli } in keys {
            let sample = |(sizes, at): &(Vec<u64>, Rc<At>)| {
                Some(Sample { sizes: sizes.clone(), count: at.count(&key)? })
            };
            let samples: Option<Vec<Sample>> = counts.iter().map(sample).collect();
            let Some(samples) = samples else { continue };
            let is_same = |it: &&Known| {
                it.products == products && it.moduli == moduli && it.samples == samples
            };
            let cases = match solved.iter().find(is_same) {
                Some(known) => known.cases.clone(),
                None => {
                    let sum = |samples: &[Sample]| solve(&products, samples);
                    let cases = residues::cases(sizes, &moduli, &samples, &sum);
                    solved.push(Known { products, moduli, samples, cases: cases.clone() });
                    cases
                }
            };
            if let Some(cases) = cases {
                let (from, until) = (from.clone(), until.clone());
                functions.insert(key, Function { cases, from, until });
            }
        }
    }
    Ok(functions)
}

/// The points with each parameter's size replaced by one near it that is odd, or a multiple of a
/// power of two, for all powers up to its modulus. So each part of the sizes has as many.
fn aligned(sizes: &[Sizes], points: &[Vec<u64>], moduli: &[u64]) -> Vec<Vec<u64>> {
    let mut all = Vec::new();
    for (parameter, modulus) in moduli.iter().enumerate().filter(|(_, modulus)| **modulus > 1) {
        let most = modulus.ilog2();
        for bits in 0..=most {
            for point in points {
                let own = sizes[parameter];
                let place = (point[parameter] - own.first) / own.step;
                // All that is left are multiples of the modulus.
                if let Some(size) = own.aligned(place, bits, bits < most) {
                    let mut point = point.clone();
                    point[parameter] = size;
                    all.push(point);
                }
            }
        }
    }
    all
}

/// The edges that two slices along a parameter show: their functions begin where a quotient of this
/// parameter is the same multiple of another parameter.
fn edges(parameter: usize, sizes: &[Sizes], answers: &[Answer], key: Key) -> Vec<Atom> {
    /// Warps, sectors, lines, tiles and blocks.
    const DIVISORS: [u64; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];
    let begin = |answer: &Answer| answer.function(&key).map_or(0, |function| function.from);
    let places: Vec<u64> = answers.iter().map(begin).collect();
    let [first, second] = places[..] else { return Vec::new() };
    if first == 0 || second <= first {
        return Vec::new();
    }
    let begins = [sizes[parameter].at(first), sizes[parameter].at(second)];
    let mut atoms = Vec::new();
    for other in (0..sizes.len()).filter(|&other| other != parameter) {
        let of_other = PLACES.map(|place| sizes[other].at(place));
        for by in DIVISORS {
            let quotients = begins.map(|begin| begin.div_ceil(by));
            let factor = quotients[0] / of_other[0];
            let mut both = quotients.iter().zip(of_other);
            if factor > 0 && both.all(|(&quotient, other)| quotient == factor * other) {
                atoms.push(Atom::Least { parameter, by, factor, other });
            }
        }
    }
    atoms
}

/// The products of a count whose functions begin where another parameter says, on both sides of
/// these edges; `None` if it has none.
fn coupled_basis(key: Key, sizes: &[Sizes], slices: &[Vec<Answer>]) -> Option<Basis> {
    let mut basis = basis(key, slices)?;
    let products = basis.products.len();
    for (parameter, answers) in slices.iter().enumerate() {
        let atoms = edges(parameter, sizes, answers, key);
        if !atoms.is_empty() {
            basis.from[parameter] = 0;
        }
        basis.products.extend(atoms.into_iter().map(|atom| Monomial(vec![(atom, 1)])));
    }
    basis.products.sort_by_key(Monomial::degree);
    let is_coupled = basis.products.len() > products;
    (is_coupled && basis.products.len() <= MOST_PRODUCTS).then_some(basis)
}

/// The products of the functions of each parameter, and where they hold; `None` if a parameter has
/// none, or if they are too many.
fn basis(key: Key, slices: &[Vec<Answer>]) -> Option<Basis> {
    let (from, until, reach) = (Vec::new(), Vec::new(), Vec::new());
    let products = vec![Monomial::default()];
    let mut basis = Basis { products, from, until, reach, moduli: Vec::new() };
    let mut all = Vec::new();
    for answers in slices {
        let mut own = BTreeSet::from([Monomial::default()]);
        let (mut from, mut until, mut modulus) = (0, None, 1);
        for answer in answers {
            let function = answer.function(&key)?;
            from = from.max(function.from);
            until = [until, function.until].into_iter().flatten().min();
            for Case { residues, formula } in &function.found.cases {
                own.extend(formula.terms.iter().map(|(_, monomial)| monomial.clone()));
                modulus = residues.iter().map(|it| it.modulus).fold(modulus, u64::max);
            }
        }
        basis.from.push(from);
        // A range that begins late is as wide as others.
        basis.reach.push(WIDTH * from);
        basis.until.push(until);
        basis.moduli.push(modulus);
        all.push(own);
    }
    add_rows(&mut all, &mut basis.moduli);
    for own in all {
        let products: BTreeSet<Monomial> = basis
            .products
            .iter()
            .flat_map(|product| own.iter().map(|other| product.times(other)))
            .filter(|product| !has_square_of_rows(product))
            .collect();
        basis.products = products.into_iter().collect();
        if basis.products.len() > MOST_PRODUCTS {
            return None;
        }
    }
    basis.products.sort_by_key(Monomial::degree);
    Some(basis)
}

/// Rows of `n` elements begin at a sector's beginning at every eighth of them, or at every fourth
/// if `n` is even, and so on. So a count of rows that lie one behind the other tells `n` apart by
/// residues up to the sector's elements, and has all quotients of the other size up to them.
fn add_rows(all: &mut [BTreeSet<Monomial>], moduli: &mut [u64]) {
    let atoms = all.iter().flatten().flat_map(|monomial| monomial.0.iter().map(|(atom, _)| *atom));
    let mut rows: BTreeSet<(usize, usize, u64)> = BTreeSet::new();
    for atom in atoms {
        let Atom::Product { parameter, other, by } = atom else { continue };
        let both = [(parameter, other, by), (other, parameter, by)];
        rows.extend(both.into_iter().filter(|&(own, beside, _)| own != beside && moduli[own] > 1));
    }
    for (own, beside, by) in rows {
        moduli[own] = moduli[own].max(by);
        for bits in 1..=by.ilog2() {
            let atom = Atom::Ceiling { parameter: beside, plus: 0, by: 1 << bits };
            all[beside].insert(Monomial(vec![(atom, 1)]));
        }
    }
}

/// True if a product has the end of the last row twice, as no count has.
fn has_square_of_rows(product: &Monomial) -> bool {
    let is_end = |(atom, _): &&(Atom, u32)| matches!(atom, Atom::Product { .. });
    product.0.iter().filter(is_end).map(|(_, power)| power).sum::<u32>() > 1
}

/// The place of the largest size of each parameter when all of them grow together. Sizes that are
/// told apart by residues of these moduli need several sizes of each: fewer agree with wrong sums.
fn largest(sizes: &[Sizes], slices: &[Vec<Answer>], moduli: &[u64]) -> Vec<u64> {
    // The cost of a launch grows with the product of its sizes.
    let share = 1.0 / slices.len() as f64;
    let of = |((answers, sizes), &modulus): ((&Vec<Answer>, &Sizes), &u64)| {
        let alone = answers.iter().map(|answer| answer.largest).min().unwrap_or(0);
        let of_each_residue = match modulus {
            1 => 0,
            _ => (WIDTH * modulus).div_ceil(sizes.step).min(alone),
        };
        ((alone as f64).powf(share) as u64).max(32).max(of_each_residue)
    };
    slices.iter().zip(sizes).zip(moduli).map(of).collect()
}

/// Points between places: each parameter goes its own way through its sizes.
pub(super) fn points(
    sizes: &[Sizes],
    from: &[u64],
    to: &[u64],
    number: usize,
    angle: f64,
) -> Vec<Vec<u64>> {
    let mut points = Vec::new();
    for at in 1..=number as u32 {
        let mut point = Vec::new();
        for (parameter, sizes) in sizes.iter().enumerate() {
            // Powers of an irrational angle are independent of each other.
            let own = (f64::from(at) * angle.powi(parameter as i32 + 1)).fract();
            let low = from[parameter];
            let width = (to[parameter].min(sizes.places()).max(low) - low) as f64;
            // Small places are the more frequent ones, and the first is among them.
            point.push(sizes.at(low + (own * own * (width + 1.0)) as u64));
        }
        points.push(point);
    }
    points.sort_unstable();
    points.dedup();
    points
}

/// Points that no formula has seen.
pub(super) fn held_back(
    sizes: &[Sizes],
    from: &[u64],
    to: &[u64],
    number: usize,
    executed: &Executed<'_>,
) -> Vec<Vec<u64>> {
    let mut points: Vec<Vec<u64>> = match sizes {
        [_] => spread(from[0].max(1), to[0], number as u32, OTHER_ANGLE)
            .into_iter()
            .map(|place| vec![sizes[0].at(place)])
            .collect(),
        _ => self::points(sizes, from, to, number, OTHER_ANGLE),
    };
    if let [one] = sizes {
        // Small ranges have been executed nearly everywhere: the next one that was not.
        let mut all = BTreeSet::new();
        for point in &points {
            let mut own = point.clone();
            while executed.knows(&own) && own[0] < one.at(to[0]) {
                own[0] += one.step;
            }
            all.insert(own);
        }
        points = all.into_iter().collect();
    }
    points.retain(|point| !executed.knows(point));
    points
}

/// A point that no formula has seen, with these residues; `None` if there is none among the sizes.
pub(super) fn with_residues(
    sizes: &[Sizes],
    residues: &[Residue],
    to: &[u64],
    executed: &Executed<'_>,
) -> Option<Vec<u64>> {
    /// Points that are tried before it is given up.
    const TRIES: usize = 64;
    let from = vec![0; sizes.len()];
    points(sizes, &from, to, TRIES, OTHER_ANGLE).into_iter().rev().find_map(|mut point| {
        for residue in residues {
            let own = sizes[residue.parameter];
            let size = point[residue.parameter];
            let near = (0..residue.modulus).map(|place| size + place * own.step);
            let is_of =
                |size: &u64| *size <= own.largest() && size % residue.modulus == residue.residue;
            point[residue.parameter] = near.into_iter().find(is_of)?;
        }
        (!executed.knows(&point)).then_some(point)
    })
}
