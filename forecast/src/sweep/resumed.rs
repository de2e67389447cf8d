//! Rows that a stopped sweep has left, as its continuation finds them.

use super::KERNEL_COLUMNS;
use super::cases::Case;
use super::table::Cell;
use crate::failure::Report;

/// The rows that a stopped sweep has left.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Earlier {
    /// The rows, of whole cases.
    pub rows: Vec<Vec<Cell>>,
    /// The number of cases that they are all rows of.
    pub cases: usize,
}

impl Earlier {
    /// Reads the CSV that a sweep wrote under `name`. If it is cut, the sweep could not end in
    /// order: its last lines may be cut off, and its last case is left out.
    ///
    /// # Errors
    ///
    /// If the text is of another sweep, or if two cases cannot be told apart.
    pub fn read(
        name: &str,
        text: &str,
        is_cut: bool,
        columns: &[String],
        cases: &[Case],
    ) -> Result<Self, Report> {
        let other = || {
            let message = format!("{} is of another sweep", name);
            let hint = "give the options of the sweep that wrote it, or another file";
            Report::new(message).hint(hint)
        };
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        if reader.headers().map_err(|_| other())?.iter().ne(columns.iter().map(String::as_str)) {
            return Err(other());
        }
        let mut rows: Vec<Vec<Cell>> = Vec::new();
        for record in reader.records() {
            match record {
                Ok(record) => rows.push(record.iter().map(cell).collect()),
                Err(_) if is_cut => break,
                Err(_) => return Err(other()),
            }
        }
        let key = |case: &Case| {
            let labels = case.labels.iter().map(Cell::plain).collect::<Vec<_>>();
            (case.name.clone(), labels)
        };
        if cases.windows(2).any(|pair| key(&pair[0]) == key(&pair[1])) {
            let message = "a kernel stands twice in a row, so that its rows cannot be told apart";
            return Err(Report::new(message));
        }
        let mut begun = 0;
        let mut last_start = 0;
        for (at, row) in rows.iter().enumerate() {
            let first = KERNEL_COLUMNS.len();
            let is_of = |case: &Case| {
                let labels = row.get(first..first + case.labels.len()).unwrap_or_default();
                row.first().is_some_and(|cell| cell.plain() == *case.name)
                    && labels.iter().map(Cell::plain).eq(case.labels.iter().map(Cell::plain))
            };
            if begun > 0 && is_of(&cases[begun - 1]) {
                continue;
            }
            match cases.get(begun) {
                Some(case) if is_of(case) => (begun, last_start) = (begun + 1, at),
                _ => return Err(other()),
            }
        }
        if is_cut && begun > 0 {
            rows.truncate(last_start);
            begun -= 1;
        }
        Ok(Self { rows, cases: begun })
    }
}

/// A field of CSV as the cell that wrote it.
fn cell(text: &str) -> Cell {
    match text.parse::<f64>() {
        _ if text.is_empty() => Cell::Empty,
        // A text such as `1e3` would come back as another one.
        Ok(real) if real.to_string() == text => Cell::Real(real),
        _ => Cell::text(text),
    }
}
