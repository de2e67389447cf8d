//! Tables that other commands wrote, as CSV.

use gpucast_forecast::failure::{Report, SourceText, suggest};

/// A table.
pub(super) struct Table<'a> {
    pub(super) source: &'a SourceText,
    pub(super) columns: Vec<String>,
    pub(super) rows: Vec<Vec<String>>,
}

impl<'a> Table<'a> {
    pub(super) fn read(source: &'a SourceText) -> Result<Self, Report> {
        let wrong = |error: csv::Error| {
            let start = error.position().map_or(0, |position| position.byte() as usize);
            let end = source.text[start..].find('\n').map_or(source.text.len(), |at| start + at);
            source.report(start..end, format!("this is no table: {error}"))
        };
        let mut reader =
            csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(source.text.as_bytes());
        let columns = reader.headers().map_err(wrong)?.iter().map(str::to_owned).collect();
        let rows = reader
            .records()
            .map(|record| Ok(record.map_err(wrong)?.iter().map(str::to_owned).collect()))
            .collect::<Result<Vec<Vec<String>>, Report>>()?;
        Ok(Self { source, columns, rows })
    }

    /// The position of a column.
    pub(super) fn column(&self, name: &str) -> Result<usize, Report> {
        self.columns.iter().position(|column| column == name).ok_or_else(|| {
            let end = self.source.text.find('\n').unwrap_or(self.source.text.len());
            self.source
                .report(0..end, format!("there is no column `{name}`"))
                .maybe_hint(suggest(name, self.columns.iter().map(String::as_str)))
        })
    }

    /// The text of a cell.
    pub(super) fn cell(&self, row: usize, column: usize) -> &str {
        self.rows[row].get(column).map_or("", String::as_str)
    }

    /// The number of a cell, if it is a finite one.
    pub(super) fn number(&self, row: usize, column: usize) -> Option<f64> {
        self.cell(row, column).parse().ok().filter(|number: &f64| number.is_finite())
    }
}
