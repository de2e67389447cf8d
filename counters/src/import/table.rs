//! CSV as profilers write it: quoted, one record a line, between lines that are not CSV.
//!
//! Banner lines (`==1234== …`) and the program's own output stand between the records, so a file is
//! read line by line. `csv` splits the line, and this module knows the place of each field.

use csv::ReaderBuilder;

use super::error::{ImportError, Position, Reason};

/// One line of a file, split into fields.
pub(super) struct Row {
    line: usize,
    fields: Vec<String>,
    columns: Vec<usize>,
}

impl Row {
    /// Splits a line; `line` counts from one.
    pub(super) fn split(line: usize, text: &str) -> Result<Self, ImportError> {
        if !text.bytes().filter(|&b| b == b'"').count().is_multiple_of(2) {
            let column = text.rfind('"').map_or(1, |at| Position::of(text, at).column);
            return Err(error(line, column, Reason::UnclosedQuote));
        }
        let mut reader =
            ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
        let mut record = csv::StringRecord::new();
        reader
            .read_record(&mut record)
            .map_err(|e| error(line, 1, Reason::Syntax { message: e.to_string() }))?;
        let fields = record.iter().map(str::to_owned).collect();
        Ok(Self { line, fields, columns: field_columns(text) })
    }

    /// The number of fields of the line.
    pub(super) fn len(&self) -> usize {
        self.fields.len()
    }

    /// A field, empty when the line is too short.
    pub(super) fn field(&self, index: usize) -> &str {
        self.fields.get(index).map_or("", String::as_str)
    }

    /// The fields in order.
    pub(super) fn fields(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(String::as_str)
    }

    /// The position of the field with this name, if this row is a header that has it.
    pub(super) fn find(&self, column: &str) -> Option<usize> {
        self.fields().position(|field| field == column)
    }

    /// The position of the field with this name.
    pub(super) fn require(&self, column: &'static str) -> Result<usize, ImportError> {
        self.find(column).ok_or_else(|| self.error(0, Reason::MissingColumn { column }))
    }

    /// Refuses a row whose length is not its header's.
    pub(super) fn expect_len(&self, expected: usize) -> Result<(), ImportError> {
        if self.len() == expected {
            Ok(())
        } else {
            let last = self.len().min(expected).saturating_sub(1);
            Err(self.error(last, Reason::FieldCount { found: self.len(), expected }))
        }
    }

    /// An error that points at a field of this row.
    pub(super) fn error(&self, index: usize, reason: Reason) -> ImportError {
        error(self.line, self.columns.get(index).copied().unwrap_or(1), reason)
    }
}

fn error(line: usize, column: usize, reason: Reason) -> ImportError {
    ImportError { position: Position { line, column }, reason }
}

/// The column, from one, at which each field of a line begins; a quote belongs to its field.
fn field_columns(text: &str) -> Vec<usize> {
    let mut columns = vec![1];
    let mut quoted = false;
    for (index, character) in text.chars().enumerate() {
        match character {
            '"' => quoted = !quoted,
            ',' if !quoted => columns.push(index + 2),
            _ => {}
        }
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_commas_do_not_shift_the_columns_of_errors() {
        let row = Row::split(4, r#""Tesla K20c (0)","f(float*, int)",3,"x""#).unwrap();
        assert_eq!(row.len(), 4);
        assert_eq!(row.field(1), "f(float*, int)");
        let position = row.error(2, Reason::Empty).position;
        assert_eq!(position, Position { line: 4, column: 35 });
    }

    #[test]
    fn an_open_quote_is_an_error_and_not_the_rest_of_the_file() {
        let error = Row::split(2, r#""a","b"#).err().unwrap();
        assert_eq!(error.reason, Reason::UnclosedQuote);
        assert_eq!(error.position, Position { line: 2, column: 5 });
    }
}
