//! A field of a GPU, seen without its type, for writers, rules and overrides.

use super::quantity::{Quantity, Value};
use super::source::{Source, Sourced};

/// A field's value, unit and source.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure<'a> {
    /// The value in `unit`.
    pub value: Value,
    /// The unit in which figures of this kind are kept; none for names.
    pub unit: Option<&'static str>,
    /// The origin of the figure.
    pub source: &'a Source,
}

impl<'a> Figure<'a> {
    pub(super) fn of<T: Quantity>(sourced: &'a Sourced<T>) -> Self {
        Self {
            value: sourced.value.value(),
            unit: T::UNITS.first().map(|(unit, _)| *unit),
            source: &sourced.source,
        }
    }
}
