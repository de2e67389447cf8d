//! Sums of products of sizes: `3n² + 8⌈n/256⌉`, with exact coefficients.
//!
//! With whole and rounded parts of a size divided by a constant, such sums are quasi-polynomials
//! (Stevens & Klöckner 2020, section 5, after Verdoolaege et al. 2007).

use std::fmt::{self, Write as _};

use num_rational::BigRational;
use num_traits::{One as _, Signed as _, Zero as _};
use serde::ser::{SerializeMap as _, SerializeSeq as _, Serializer};
use serde::{Deserialize, Serialize};

/// A whole number that follows from one parameter or two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Atom {
    /// The parameter at this place of the list of parameters.
    Parameter(usize),
    /// ⌈(parameter + `plus`) / `by`⌉.
    Ceiling {
        /// The place of the parameter.
        parameter: usize,
        /// Added before the division.
        plus: i64,
        /// The divisor, at least two.
        by: u64,
    },
    /// min(⌈parameter / `by`⌉, `factor` · `other`): where one of two parameters is what matters.
    Least {
        /// The place of the parameter.
        parameter: usize,
        /// The divisor, at least one.
        by: u64,
        /// The factor of the other parameter.
        factor: u64,
        /// The place of the other parameter.
        other: usize,
    },
    /// ⌈`parameter` · `other` / `by`⌉: where rows of so many elements end, one behind the other.
    Product {
        /// The place of a parameter, not behind the other one.
        parameter: usize,
        /// The place of the other parameter, which may be the same.
        other: usize,
        /// The divisor, at least two.
        by: u64,
    },
}

impl Atom {
    /// The value at these sizes.
    #[must_use]
    pub fn at(self, sizes: &[u64]) -> i128 {
        match self {
            Self::Parameter(parameter) => i128::from(sizes[parameter]),
            Self::Ceiling { parameter, plus, by } => {
                let by = i128::from(by);
                let number = i128::from(sizes[parameter]) + i128::from(plus);
                -(-number).div_euclid(by)
            }
            Self::Least { parameter, by, factor, other } => {
                let quotient = i128::from(sizes[parameter].div_ceil(by.max(1)));
                quotient.min(i128::from(factor) * i128::from(sizes[other]))
            }
            Self::Product { parameter, other, by } => {
                let by = i128::from(by);
                let product = i128::from(sizes[parameter]) * i128::from(sizes[other]);
                (product + by - 1).div_euclid(by)
            }
        }
    }

    /// ⌈one · other / by⌉, in one form of its two.
    #[must_use]
    pub fn product(one: usize, other: usize, by: u64) -> Self {
        Self::Product { parameter: one.min(other), other: one.max(other), by }
    }

    /// The atom in words of the parameters' names.
    fn write(self, names: &[String], power: u32, text: &mut String) {
        match self {
            Self::Parameter(parameter) => text.push_str(&names[parameter]),
            Self::Ceiling { parameter, plus, by } => {
                let name = &names[parameter];
                // ⌈(n + s)/M⌉ = ⌊(n + s + M − 1)/M⌋: whichever has the smaller number in it.
                let floor_plus = i128::from(plus) + i128::from(by) - 1;
                let is_floor = floor_plus.unsigned_abs() < u128::from(plus.unsigned_abs());
                let (open, plus, close) = match is_floor {
                    true => ('⌊', floor_plus, '⌋'),
                    false => ('⌈', i128::from(plus), '⌉'),
                };
                let sum = match plus {
                    0 => name.clone(),
                    plus if plus < 0 => format!("({name} − {})", -plus),
                    plus => format!("({name} + {plus})"),
                };
                let _ = write!(text, "{open}{sum}/{by}{close}");
            }
            Self::Least { parameter, by, factor, other } => {
                let (name, other) = (&names[parameter], &names[other]);
                let quotient = if by > 1 { format!("⌈{name}/{by}⌉") } else { name.clone() };
                let factor = if factor > 1 { format!("{factor}·") } else { String::new() };
                let _ = write!(text, "min({quotient}, {factor}{other})");
            }
            Self::Product { parameter, other, by } => {
                let (name, other_name) = (&names[parameter], &names[other]);
                let _ = match parameter == other {
                    true => write!(text, "⌈{name}²/{by}⌉"),
                    false => write!(text, "⌈{name}·{other_name}/{by}⌉"),
                };
            }
        }
        text.push_str(superscript(power));
    }
}

fn superscript(power: u32) -> &'static str {
    match power {
        0 | 1 => "",
        2 => "²",
        3 => "³",
        4 => "⁴",
        5 => "⁵",
        6 => "⁶",
        // Bases end at the third power of each parameter.
        _ => "^…",
    }
}

/// A product of powers; the empty one is 1.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Monomial(pub Vec<(Atom, u32)>);

impl Monomial {
    /// The product of two, as a product of powers in the order of atoms.
    #[must_use]
    pub fn times(&self, other: &Self) -> Self {
        let mut factors = self.0.clone();
        for &(atom, power) in &other.0 {
            match factors.iter_mut().find(|(own, _)| *own == atom) {
                Some((_, own)) => *own += power,
                None => factors.push((atom, power)),
            }
        }
        factors.sort_unstable();
        Self(factors)
    }

    /// The sum of the powers of sizes.
    #[must_use]
    pub fn degree(&self) -> u32 {
        let of_atom = |atom: &Atom| if matches!(atom, Atom::Product { .. }) { 2 } else { 1 };
        self.0.iter().map(|(atom, power)| of_atom(atom) * power).sum()
    }

    /// The value at these sizes.
    #[must_use]
    pub fn at(&self, sizes: &[u64]) -> BigRational {
        let mut product = BigRational::one();
        for &(atom, power) in &self.0 {
            for _ in 0..power {
                product *= BigRational::from_integer(atom.at(sizes).into());
            }
        }
        product
    }
}

/// A sum of products, each with a coefficient that is not zero.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expression {
    /// In the order in which they are written.
    pub terms: Vec<(BigRational, Monomial)>,
}

impl Expression {
    /// The sum of these terms: the highest powers come first, sums before differences; zeros
    /// go.
    #[must_use]
    pub fn new(terms: impl IntoIterator<Item = (BigRational, Monomial)>) -> Self {
        let mut terms: Vec<_> = terms.into_iter().filter(|(factor, _)| !factor.is_zero()).collect();
        terms.sort_by(|(factor, one), (other_factor, other)| {
            let signs = factor.is_negative().cmp(&other_factor.is_negative());
            other.degree().cmp(&one.degree()).then(signs).then_with(|| one.cmp(other))
        });
        Self { terms }
    }

    /// A constant.
    #[must_use]
    pub fn constant(value: u128) -> Self {
        Self::new([(BigRational::from_integer(value.into()), Monomial::default())])
    }

    /// The exact value at these sizes.
    #[must_use]
    pub fn at(&self, sizes: &[u64]) -> BigRational {
        let value = |(factor, monomial): &(BigRational, Monomial)| factor * monomial.at(sizes);
        self.terms.iter().map(value).sum()
    }

    /// True if the value at these sizes is this count.
    #[must_use]
    pub fn gives(&self, sizes: &[u64], count: u128) -> bool {
        self.at(sizes) == BigRational::from_integer(count.into())
    }

    /// The sum as text, with the names of the parameters.
    #[must_use]
    pub fn with_names<'a>(&'a self, names: &'a [String]) -> Written<'a> {
        Written { expression: self, names }
    }

    /// The sum as data, with the names of the parameters.
    #[must_use]
    pub fn as_data<'a>(&'a self, names: &'a [String]) -> Terms<'a> {
        Terms { expression: self, names }
    }
}

/// An expression as text.
pub struct Written<'a> {
    expression: &'a Expression,
    names: &'a [String],
}

impl fmt::Display for Written<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let terms = &self.expression.terms;
        if terms.is_empty() {
            return f.write_str("0");
        }
        for (place, (factor, monomial)) in terms.iter().enumerate() {
            match (place, factor.is_negative()) {
                (0, false) => {}
                (0, true) => f.write_str("−")?,
                (_, false) => f.write_str(" + ")?,
                (_, true) => f.write_str(" − ")?,
            }
            let mut text = String::new();
            for (place, &(atom, power)) in monomial.0.iter().enumerate() {
                if place > 0 {
                    text.push('·');
                }
                atom.write(self.names, power, &mut text);
            }
            let size = factor.abs();
            match (size.is_one(), text.is_empty()) {
                (true, false) => f.write_str(&text)?,
                (_, true) => write!(f, "{size}")?,
                (false, false) if size.is_integer() => write!(f, "{size}·{text}")?,
                (false, false) => write!(f, "({size})·{text}")?,
            }
        }
        Ok(())
    }
}

/// An expression as a list of terms: each has a coefficient, which is a text, and factors.
pub struct Terms<'a> {
    expression: &'a Expression,
    names: &'a [String],
}

impl Serialize for Terms<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.expression.terms.len()))?;
        for (factor, monomial) in &self.expression.terms {
            list.serialize_element(&Term { factor, monomial, names: self.names })?;
        }
        list.end()
    }
}

struct Term<'a> {
    factor: &'a BigRational,
    monomial: &'a Monomial,
    names: &'a [String],
}

impl Serialize for Term<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let factors: Vec<Factor<'_>> = self
            .monomial
            .0
            .iter()
            .map(|&(atom, power)| Factor { atom, power, names: self.names })
            .collect();
        let mut map = serializer.serialize_map(Some(2))?;
        // A fraction has no exact JSON number.
        map.serialize_entry("coefficient", &self.factor.to_string())?;
        map.serialize_entry("factors", &factors)?;
        map.end()
    }
}

struct Factor<'a> {
    atom: Atom,
    power: u32,
    names: &'a [String],
}

impl Serialize for Factor<'_> {
    /// `{"parameter": "n", "plus": 0, "divided_by": 32, "power": 1}`: the quotient is rounded up.
    /// With `"at_most": {"factor": 8, "parameter": "m"}` it is 8·m if that is less. With
    /// `"times": "m"` it is n·m that is divided.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (parameter, plus, by) = match self.atom {
            Atom::Parameter(parameter) => (parameter, 0, 1),
            Atom::Ceiling { parameter, plus, by } => (parameter, plus, by),
            Atom::Least { parameter, by, .. } | Atom::Product { parameter, by, .. } => {
                (parameter, 0, by)
            }
        };
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("parameter", &self.names[parameter])?;
        map.serialize_entry("plus", &plus)?;
        map.serialize_entry("divided_by", &by)?;
        map.serialize_entry("power", &self.power)?;
        if let Atom::Least { factor, other, .. } = self.atom {
            let at_most = AtMost { factor, parameter: &self.names[other] };
            map.serialize_entry("at_most", &at_most)?;
        }
        if let Atom::Product { other, .. } = self.atom {
            map.serialize_entry("times", &self.names[other])?;
        }
        map.end()
    }
}

/// The product that a factor is, if that is less than its quotient.
#[derive(Serialize)]
struct AtMost<'a> {
    factor: u64,
    parameter: &'a str,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ceiling(plus: i64, by: u64) -> Atom {
        Atom::Ceiling { parameter: 0, plus, by }
    }

    #[test]
    fn quotients_are_rounded_up_on_both_sides_of_zero() {
        for size in 0..200_u64 {
            for plus in -70..70 {
                let number = size as i64 + plus;
                let value = i128::from((number as f64 / 32.0).ceil() as i64);
                assert_eq!(ceiling(plus, 32).at(&[size]), value, "{size} + {plus}");
            }
        }
    }

    #[test]
    fn the_least_of_two_is_that_of_sizes() {
        let least = |by, factor| Atom::Least { parameter: 0, by, factor, other: 1 };
        for size in 1..100_u64 {
            for other in 1..20_u64 {
                let value = i128::from(size.min(4 * other));
                assert_eq!(least(1, 4).at(&[size, other]), value, "{size} {other}");
                let value = i128::from(size.div_ceil(32).min(other));
                assert_eq!(least(32, 1).at(&[size, other]), value, "{size} {other}");
            }
        }
        let names = ["n".to_owned(), "m".to_owned()];
        let sum = [least(1, 256), least(32, 8), least(8, 1)]
            .map(|atom| (BigRational::one(), Monomial(vec![(atom, 1)])));
        insta::assert_snapshot!(
            Expression::new(sum).with_names(&names),
            @"min(n, 256·m) + min(⌈n/8⌉, m) + min(⌈n/32⌉, 8·m)"
        );
    }

    #[test]
    fn products_are_divided_and_rounded_up() {
        let product = |other, by| Atom::Product { parameter: 0, other, by };
        for size in 0..40_u64 {
            for other in 0..40_u64 {
                let value = i128::from((size * other).div_ceil(8));
                assert_eq!(product(1, 8).at(&[size, other]), value, "{size} {other}");
            }
        }
        assert_eq!(product(1, 2).at(&[1 << 40, 1 << 40]), 1 << 79);
        let names = ["n".to_owned(), "m".to_owned()];
        let sum = [product(0, 4), product(1, 8)]
            .map(|atom| (BigRational::one(), Monomial(vec![(atom, 1)])));
        insta::assert_snapshot!(Expression::new(sum).with_names(&names), @"⌈n²/4⌉ + ⌈n·m/8⌉");
    }

    #[test]
    fn sums_are_written_as_on_paper() {
        let names = ["n".to_owned(), "m".to_owned()];
        let number = |up: i64, down: i64| BigRational::new(up.into(), down.into());
        let of = |factors: &[(Atom, u32)]| Monomial(factors.to_vec());
        let expression = Expression::new([
            (number(-7, 1), of(&[])),
            (number(3, 2), of(&[(Atom::Parameter(0), 2)])),
            (number(1, 1), of(&[(Atom::Parameter(0), 1), (Atom::Parameter(1), 1)])),
            (number(-8, 1), of(&[(ceiling(0, 256), 1)])),
            (number(2, 1), of(&[(ceiling(-31, 32), 1)])),
            (number(5, 1), of(&[(ceiling(-2, 32), 3)])),
            (number(0, 1), of(&[(Atom::Parameter(1), 3)])),
        ]);
        insta::assert_snapshot!(
            expression.with_names(&names),
            @"5·⌈(n − 2)/32⌉³ + n·m + (3/2)·n² + 2·⌊n/32⌋ − 8·⌈n/256⌉ − 7"
        );
        assert_eq!(Expression::default().with_names(&names).to_string(), "0");
        let value = expression.at(&[100, 3]);
        assert_eq!(value, number(5 * 64 + 15_000 + 300 - 8 + 6 - 7, 1));
    }
}
