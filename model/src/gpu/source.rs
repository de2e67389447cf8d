//! The origin of a figure.

use std::sync::Arc;

use serde::ser::{SerializeMap, SerializeStruct};
use serde::{Serialize, Serializer};

use super::quantity::Quantity;

/// The origin of a figure; the text says where to look.
///
/// Copies share the text: sweeps hold hundreds of thousands of GPUs that differ in a few fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The vendor or a paper states it.
    Datasheet(Arc<str>),
    /// Somebody measured it.
    Benchmark(Arc<str>),
    /// It follows from other fields by the rule named here.
    Derived(Arc<str>),
    /// A guess, with its reason.
    Assumed(Arc<str>),
}

impl Source {
    /// The kinds of source, as a file writes them.
    pub const KINDS: [&'static str; 4] = ["datasheet", "benchmark", "derived", "assumed"];

    /// Its kind, as a file writes it.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Datasheet(_) => "datasheet",
            Self::Benchmark(_) => "benchmark",
            Self::Derived(_) => "derived",
            Self::Assumed(_) => "assumed",
        }
    }

    /// The text that says where to look.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::Datasheet(text)
            | Self::Benchmark(text)
            | Self::Derived(text)
            | Self::Assumed(text) => text,
        }
    }

    /// The source of a kind; `None` if there is no such kind.
    pub(super) fn of_kind(kind: &str, text: &str) -> Option<Self> {
        let text = text.into();
        match kind {
            "datasheet" => Some(Self::Datasheet(text)),
            "benchmark" => Some(Self::Benchmark(text)),
            "derived" => Some(Self::Derived(text)),
            "assumed" => Some(Self::Assumed(text)),
            _ => None,
        }
    }
}

impl Serialize for Source {
    /// `{ kind: text }`.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut source = serializer.serialize_map(Some(1))?;
        source.serialize_entry(self.kind(), self.text())?;
        source.end()
    }
}

/// A figure and its origin.
#[derive(Clone, Debug, PartialEq)]
pub struct Sourced<T> {
    /// The figure.
    pub value: T,
    /// The origin of the figure.
    pub source: Source,
}

impl<T: Quantity> Serialize for Sourced<T> {
    /// `{ value, unit, source }`; the unit is left out if the quantity has none.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Sourced", 3)?;
        fields.serialize_field("value", &self.value)?;
        match T::UNITS.first() {
            Some((unit, _)) => fields.serialize_field("unit", unit)?,
            None => fields.skip_field("unit")?,
        }
        fields.serialize_field("source", &self.source)?;
        fields.end()
    }
}
