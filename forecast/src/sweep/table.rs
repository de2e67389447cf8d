//! The result of a sweep: named columns and a row for each point.

use std::collections::BTreeMap;
use std::sync::Arc;

use gpucast_counters::{MetricValue, Number};
use serde::{Serialize, Serializer};

/// A value of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// There is none.
    Empty,
    /// Text.
    Text(Arc<str>),
    /// A number.
    Real(f64),
}

impl Cell {
    /// A cell with a copy of a text.
    pub fn text(text: &str) -> Self {
        Self::Text(text.into())
    }

    /// As CSV has it; numbers with all their digits.
    pub fn plain(&self) -> String {
        match self {
            Self::Empty => String::new(),
            Self::Text(text) => text.to_string(),
            Self::Real(real) => real.to_string(),
        }
    }
}

impl From<Option<&MetricValue>> for Cell {
    /// The figure with all its digits, which a double may not have.
    fn from(metric: Option<&MetricValue>) -> Self {
        /// Larger doubles are not all of the whole numbers.
        const LARGEST: u128 = 1 << 53;
        match metric.map(|metric| metric.value) {
            None => Self::Empty,
            Some(Number::Count(count)) if count > LARGEST => Self::text(&count.to_string()),
            Some(number) => Self::Real(number.as_f64()),
        }
    }
}

impl From<Option<f64>> for Cell {
    fn from(real: Option<f64>) -> Self {
        real.map_or(Self::Empty, Self::Real)
    }
}

impl Serialize for Cell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Empty => serializer.serialize_none(),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Real(real) if real.fract() == 0.0 && real.abs() < 9e15 => {
                serializer.serialize_i64(*real as i64)
            }
            Self::Real(real) => serializer.serialize_f64(*real),
        }
    }
}

/// Columns and rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Names of columns.
    pub columns: Vec<String>,
    /// Each has a cell for every column.
    pub rows: Vec<Vec<Cell>>,
}

impl Table {
    /// The position of a column.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column == name)
    }

    /// Returns true if a column has numbers and nothing else but empty cells.
    pub fn is_numeric(&self, column: usize) -> bool {
        let cells = || self.rows.iter().filter_map(|row| row.get(column));
        cells().any(|cell| matches!(cell, Cell::Real(_)))
            && cells().all(|cell| !matches!(cell, Cell::Text(_)))
    }

    /// Counts each text of a column.
    pub fn texts(&self, column: &str) -> BTreeMap<Arc<str>, usize> {
        let mut texts = BTreeMap::new();
        if let Some(at) = self.column(column) {
            for row in &self.rows {
                if let Some(Cell::Text(text)) = row.get(at) {
                    *texts.entry(Arc::clone(text)).or_insert(0) += 1;
                }
            }
        }
        texts
    }
}
