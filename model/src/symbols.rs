//! Values by the symbols of papers.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

/// A value under the name that the paper gives it.
#[derive(Clone, Debug, PartialEq)]
pub struct Symbol {
    /// The symbol, with `_` for a subscript.
    pub name: &'static str,
    /// Its value.
    pub value: SymbolValue,
    /// Its unit; empty for fractions, weights and names.
    pub unit: &'static str,
}

/// The value of a symbol.
#[derive(Clone, Debug, PartialEq)]
pub enum SymbolValue {
    /// A whole number of operations or bytes.
    Count(u64),
    /// A real.
    Real(f64),
    /// A name from a fixed set.
    Name(&'static str),
    /// A quotient by zero; `null` in JSON.
    Undefined,
}

impl SymbolValue {
    /// The value as a real, if it is one.
    #[must_use]
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Count(count) => Some(*count as f64),
            Self::Real(real) => Some(*real),
            Self::Name(_) | Self::Undefined => None,
        }
    }
}

impl From<f64> for SymbolValue {
    /// JSON has no infinity, so a number that is not finite is undefined.
    fn from(real: f64) -> Self {
        if real.is_finite() { Self::Real(real) } else { Self::Undefined }
    }
}

impl Serialize for SymbolValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Self::Count(count) => serializer.serialize_u64(count),
            Self::Real(real) => serializer.serialize_f64(real),
            Self::Name(name) => serializer.serialize_str(name),
            Self::Undefined => serializer.serialize_none(),
        }
    }
}

/// Symbols in the order in which the paper computes them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Symbols(Vec<Symbol>);

impl Symbols {
    /// Appends a symbol.
    pub(crate) fn push(
        &mut self,
        name: &'static str,
        value: impl Into<SymbolValue>,
        unit: &'static str,
    ) {
        self.0.push(Symbol { name, value: value.into(), unit });
    }

    /// Appends a total: a count if it is whole, which a mean over invocations may not be.
    pub(crate) fn push_total(&mut self, name: &'static str, total: f64, unit: &'static str) {
        const EXACT: f64 = (1_u64 << 53) as f64;
        let whole = total.fract() == 0.0 && (0.0..EXACT).contains(&total);
        let value = if whole { SymbolValue::Count(total as u64) } else { total.into() };
        self.0.push(Symbol { name, value, unit });
    }

    /// Appends a name.
    pub(crate) fn push_name(&mut self, name: &'static str, value: &'static str) {
        self.0.push(Symbol { name, value: SymbolValue::Name(value), unit: "" });
    }

    /// The value of a symbol.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&SymbolValue> {
        self.find(name).map(|symbol| &symbol.value)
    }

    /// A symbol with its unit.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Symbol> {
        self.0.iter().find(|symbol| symbol.name == name)
    }

    /// All symbols.
    pub fn iter(&self) -> impl Iterator<Item = &Symbol> {
        self.0.iter()
    }
}

impl Serialize for Symbols {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for symbol in &self.0 {
            map.serialize_entry(symbol.name, &symbol.value)?;
        }
        map.end()
    }
}
