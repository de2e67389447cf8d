//! Sizes beside the given one: those at which kernels fail that were written for one size.

use gpucast_forecast::input::expression::Parameters;

/// A size of the problem.
#[derive(Clone, Debug, PartialEq)]
pub struct Size {
    /// The values of all parameters.
    pub parameters: Parameters,
    /// The values that matter, as `n=1001`; empty for a problem without parameters.
    pub name: String,
}

impl Size {
    /// The size of these parameters, named by all of them.
    #[must_use]
    pub fn given(parameters: &Parameters) -> Self {
        let names: Vec<&str> = parameters.keys().map(String::as_str).collect();
        Self::named(parameters.clone(), &names)
    }

    fn named(parameters: Parameters, names: &[&str]) -> Self {
        let value = |name: &&str| Some(format!("{name}={}", parameters.get(*name)?));
        let values: Vec<String> = names.iter().filter_map(value).collect();
        Self { name: values.join(" "), parameters }
    }
}

/// Sizes so small that most warps have lanes without work: a prime for each parameter, so that
/// extents that were exchanged show.
const SMALL: [u32; 6] = [7, 11, 13, 17, 19, 23];

/// Odd sizes near a given one: one less and one more of each parameter, and of all of them at once
/// small primes and primes below the half. A problem of one parameter is tried with 1, too.
///
/// `names` are the parameters that may vary.
#[must_use]
pub fn odd(given: &Parameters, names: &[&str]) -> Vec<Size> {
    let mut sizes: Vec<Size> = Vec::new();
    let mut add = |changed: Vec<(&str, f64)>| {
        let mut parameters = given.clone();
        for (name, value) in changed {
            parameters.insert(name.to_owned(), value);
        }
        let size = Size::named(parameters, names);
        let is_new = size.parameters != *given && sizes.iter().all(|other| *other != size);
        if is_new {
            sizes.push(size);
        }
    };
    let value = |name: &str| given.get(name).copied().unwrap_or(1.0);
    for &name in names {
        add(vec![(name, value(name) + 1.0)]);
        if value(name) > 1.0 {
            add(vec![(name, value(name) - 1.0)]);
        }
    }
    let small = names.iter().zip(SMALL.iter().cycle());
    add(small.map(|(&name, &small)| (name, f64::from(small).min(value(name)))).collect());
    add(names.iter().map(|&name| (name, prime_below(value(name) / 2.0))).collect());
    if let [only] = names {
        add(vec![(only, 1.0)]);
    }
    sizes
}

/// Returns true if a value can be one more or less and mean a size.
#[must_use]
pub fn is_size(value: f64) -> bool {
    value >= 1.0 && value.fract() == 0.0 && value <= f64::from(u32::MAX)
}

/// The greatest prime that is no greater than a number; 1 if there is none.
fn prime_below(number: f64) -> f64 {
    let is_prime =
        |number: &u64| (2..).take_while(|d| d * d <= *number).all(|d| !number.is_multiple_of(d));
    let candidates = (2..=number.max(1.0) as u64).rev();
    candidates.into_iter().find(is_prime).unwrap_or(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(given: &[(&str, f64)], vary: &[&str]) -> Vec<String> {
        let given = given.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
        odd(&given, vary).into_iter().map(|size| size.name).collect()
    }

    #[test]
    fn odd_sizes_lie_beside_the_given_one_and_well_below_it() {
        assert_eq!(
            names(&[("n", 1000.0), ("tile", 16.0)], &["n"]),
            ["n=1001", "n=999", "n=7", "n=499", "n=1"]
        );
        assert_eq!(
            names(&[("m", 64.0), ("n", 64.0)], &["m", "n"]),
            ["m=65 n=64", "m=63 n=64", "m=64 n=65", "m=64 n=63", "m=7 n=11", "m=31 n=31"]
        );
        // A size of 1 has no smaller one, and what is already there is not repeated.
        assert_eq!(names(&[("n", 1.0)], &["n"]), ["n=2"]);
    }
}
