//! Counts as functions of several parameters.
//!
//! The sums of one parameter, with the others fixed, name the functions of that parameter that a
//! count is made of. A count of several is taken to be a sum of products of these: its coefficients
//! follow from executed sizes, more than there are coefficients.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::executed::{At, Executed, Key};
use super::expression::{Expression, Monomial};
use super::linear::{Sample, solve};
use super::sizes::Sizes;
use super::slice::{Answer, FIRST_ANGLE, OTHER_ANGLE, spread};
use crate::failure::Failure;

/// A sum with more products needs more sizes than anyone waits for.
const MOST_PRODUCTS: usize = 160;

/// Sizes beyond as many as there are products.
const MORE_SIZES: usize = 24;

/// A count as a function of all parameters.
#[derive(Clone, Debug)]
pub(super) struct Function {
    pub(super) formula: Expression,
    /// The place of the smallest size of each parameter.
    pub(super) from: Vec<u64>,
    /// The place of the largest size of each parameter, where one was found at which the formula
    /// does not hold.
    pub(super) until: Vec<Option<u64>>,
}

/// The first place of each parameter, and the last where there is one.
type Range = (Vec<u64>, Vec<Option<u64>>);

/// The products that a count may be made of.
struct Basis {
    products: Vec<Monomial>,
    from: Vec<u64>,
    until: Vec<Option<u64>>,
}

/// The answer for all parameters from those for each one, of which there are several with
/// different sizes of the others.
pub(super) fn joined(
    sizes: &[Sizes],
    slices: &[Vec<Answer>],
    executed: &mut Executed<'_>,
) -> Result<BTreeMap<Key, Function>, Failure> {
    let mut bases: BTreeMap<Key, Basis> = BTreeMap::new();
    let Some(first) = slices.first().and_then(|answers| answers.first()) else {
        return Ok(BTreeMap::new());
    };
    for &key in first.functions.keys() {
        if let Some(basis) = basis(key, slices) {
            bases.insert(key, basis);
        }
    }
    // Counts that hold at the same sizes share points.
    let mut groups: BTreeMap<Range, Vec<(Key, Vec<Monomial>)>> = BTreeMap::new();
    for (key, Basis { products, from, until }) in bases {
        groups.entry((from, until)).or_default().push((key, products));
    }
    let largest = largest(slices);
    let mut functions = BTreeMap::new();
    for ((from, until), keys) in groups {
        let to: Vec<u64> = largest
            .iter()
            .zip(&until)
            .zip(&from)
            .map(|((&largest, until), &from)| {
                // A range that begins late is as wide as others.
                let to = largest.max(8 * from);
                until.map_or(to, |until| until.min(to))
            })
            .collect();
        let products = keys.iter().map(|(_, products)| products.len()).max().unwrap_or(0);
        let mut counts = Vec::new();
        for point in points(sizes, &from, &to, products + MORE_SIZES, FIRST_ANGLE) {
            if let Some(at) = executed.at(&point)? {
                counts.push((point, at));
            }
        }
        for (key, products) in keys {
            let sample = |(sizes, at): &(Vec<u64>, Rc<At>)| {
                Some(Sample { sizes: sizes.clone(), count: *at.counts.get(&key)? })
            };
            let samples: Option<Vec<Sample>> = counts.iter().map(sample).collect();
            if let Some(formula) = samples.and_then(|samples| solve(&products, &samples)) {
                let (from, until) = (from.clone(), until.clone());
                functions.insert(key, Function { formula, from, until });
            }
        }
    }
    Ok(functions)
}

/// The products of the functions of each parameter, and where they hold; `None` if a parameter has
/// none, or if they are too many.
fn basis(key: Key, slices: &[Vec<Answer>]) -> Option<Basis> {
    let mut basis =
        Basis { products: vec![Monomial::default()], from: Vec::new(), until: Vec::new() };
    for answers in slices {
        let mut own = BTreeSet::from([Monomial::default()]);
        let (mut from, mut until) = (0, None);
        for answer in answers {
            let function = answer.functions.get(&key)?;
            from = from.max(function.from);
            until = [until, function.until].into_iter().flatten().min();
            let [(None, formula)] = &function.found.formulas[..] else { return None };
            own.extend(formula.terms.iter().map(|(_, monomial)| monomial.clone()));
        }
        basis.from.push(from);
        basis.until.push(until);
        let all = basis.products.iter();
        basis.products = all.flat_map(|one| own.iter().map(|other| one.times(other))).collect();
        if basis.products.len() > MOST_PRODUCTS {
            return None;
        }
    }
    basis.products.sort_by_key(Monomial::degree);
    Some(basis)
}

/// The place of the largest size of each parameter when all of them grow together.
pub(super) fn largest(slices: &[Vec<Answer>]) -> Vec<u64> {
    // The cost of a launch grows with the product of its sizes.
    let share = 1.0 / slices.len() as f64;
    let of = |answers: &Vec<Answer>| {
        let alone = answers.iter().map(|answer| answer.largest).min().unwrap_or(0);
        (alone as f64).powf(share) as u64
    };
    slices.iter().map(|answers| of(answers).max(32)).collect()
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
