//! CSV results: a header and a row for each thing.
//!
//! Names come from files of unknown origin. A spreadsheet takes a cell that begins with `=` for a
//! formula, so such texts get an apostrophe in front (OWASP, CSV injection). Numbers stay as they
//! are.

use std::borrow::Cow;

use gpucast_forecast::Report;

/// A whole table.
///
/// # Errors
///
/// If the result has a value that the form cannot hold, which no input brings about.
pub fn document(header: &[&str], rows: &[Vec<String>]) -> Result<String, Report> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let failed = |error: &dyn std::fmt::Display| {
        Report::new(format!("cannot write the result as CSV: {error}"))
    };
    writer.write_record(header).map_err(|error| failed(&error))?;
    for row in rows {
        writer
            .write_record(row.iter().map(|cell| inert(cell).into_owned()))
            .map_err(|error| failed(&error))?;
    }
    let bytes = writer.into_inner().map_err(|error| failed(&error))?;
    String::from_utf8(bytes).map_err(|error| failed(&error))
}

/// A cell that no spreadsheet takes for a formula.
fn inert(cell: &str) -> Cow<'_, str> {
    let begins = cell.starts_with(['=', '+', '-', '@', '\t', '\r']);
    if begins && cell.parse::<f64>().is_err() {
        return Cow::Owned(format!("'{cell}"));
    }
    Cow::Borrowed(cell)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_are_texts_and_numbers_stay() {
        for formula in ["=cmd|' /C calc'!A0", "+1+cmd", "-2+3", "@SUM(A1)", "\t=1"] {
            assert_eq!(inert(formula), format!("'{formula}"));
        }
        for other in ["-1.5", "+3", "-1e-7", "-inf", "kernel", "a=b", ""] {
            assert_eq!(inert(other), other);
        }
    }
}
