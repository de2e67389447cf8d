//! A field of a GPU, seen without its type, for readers, writers, rules and overrides.

use std::any::Any;

use super::quantity::{Quantity, Raw, Value};
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

/// The place of a field's value in a [`Gpu`]. What is done to any field is written once, and
/// compiled once, against this.
pub(super) trait Slot: Any {
    /// The value with its unit and source, if it is known.
    fn figure(&self) -> Option<Figure<'_>>;

    /// Puts a value in the first unit.
    ///
    /// # Errors
    ///
    /// The reason why no GPU can have this value.
    fn put(&mut self, raw: Raw<'_>, source: Source) -> Result<(), &'static str>;

    /// Takes the value away.
    fn clear(&mut self);

    /// Takes over what another slot of the same type holds, known or not.
    fn take_from(&mut self, other: &dyn Slot);

    /// Returns true if the other slot has the same type, value and source.
    fn equals(&self, other: &dyn Slot) -> bool;
}

impl<T: Quantity + Clone + PartialEq + 'static> Slot for Option<Sourced<T>> {
    fn figure(&self) -> Option<Figure<'_>> {
        self.as_ref().map(|sourced| Figure {
            value: sourced.value.value(),
            unit: T::UNITS.first().map(|(unit, _)| *unit),
            source: &sourced.source,
        })
    }

    fn put(&mut self, raw: Raw<'_>, source: Source) -> Result<(), &'static str> {
        *self = Some(Sourced { value: T::from_raw(raw)?, source });
        Ok(())
    }

    fn clear(&mut self) {
        *self = None;
    }

    fn take_from(&mut self, other: &dyn Slot) {
        let other: &dyn Any = other;
        if let Some(other) = other.downcast_ref::<Self>() {
            self.clone_from(other);
        }
    }

    fn equals(&self, other: &dyn Slot) -> bool {
        let other: &dyn Any = other;
        other.downcast_ref::<Self>() == Some(self)
    }
}
