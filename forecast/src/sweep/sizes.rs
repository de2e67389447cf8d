//! The sizes of a sweep: parameters that formulas are in, and those that are fixed within a family.

use std::collections::BTreeSet;

use super::axis::{Axis, Value};
use crate::failure::Report;
use crate::input::expression::Parameters;

/// The numbers of a combination by name.
///
/// # Errors
///
/// A value that is no number.
pub fn parameters(axes: &[Axis], values: &[&Value]) -> Result<Parameters, Report> {
    let number = |(axis, value): (&Axis, &&Value)| {
        let number = axis.parameter(value)?;
        Ok((axis.name.clone(), number))
    };
    axes.iter().zip(values).map(number).collect()
}

/// The names of the parameters that formulas are in, in order of the alphabet. Few values show no
/// formula: each of them has a family of its own.
pub fn varied(axes: &[Axis]) -> Vec<String> {
    const ENOUGH: usize = 16;
    let varied = axes.iter().filter(|axis| axis.values.len() >= ENOUGH);
    varied.map(|axis| axis.name.clone()).collect::<BTreeSet<_>>().into_iter().collect()
}

/// The axes of all other parameters.
pub fn fixed(axes: &[Axis]) -> Vec<Axis> {
    let varied = varied(axes);
    axes.iter().filter(|axis| !varied.contains(&axis.name)).cloned().collect()
}

/// The place of a combination of `axes` among those of `few` of them.
pub fn place_among(few: &[Axis], axes: &[Axis], values: &[&Value]) -> usize {
    few.iter().fold(0, |place, axis| {
        let mut all = axes.iter().zip(values);
        let value = all.find(|(other, _)| other.name == axis.name).map(|(_, &value)| value);
        let own = value.and_then(|value| axis.values.iter().position(|known| known == value));
        place * axis.values.len() + own.unwrap_or_default()
    })
}

/// The values of each of the named parameters.
///
/// # Errors
///
/// A value of any parameter that is no number.
pub fn numbers(names: &[String], axes: &[Axis]) -> Result<Vec<Vec<f64>>, Report> {
    let mut of_names: Vec<Vec<f64>> = vec![Vec::new(); names.len()];
    for axis in axes {
        let values = axis.values.iter().map(|value| axis.parameter(value));
        let values = values.collect::<Result<Vec<f64>, Report>>()?;
        let places = names.iter().zip(&mut of_names);
        for (_, place) in places.filter(|(name, _)| **name == axis.name) {
            place.clone_from(&values);
        }
    }
    Ok(of_names)
}
