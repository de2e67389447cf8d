//! CSV results: a header and a row for each thing.

use crate::failure::{Failure, Report};

/// A whole table.
pub(crate) fn document(header: &[&str], rows: &[Vec<String>]) -> Result<String, Failure> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let failed = |error: &dyn std::fmt::Display| {
        Failure::from(Report::new(format!("cannot write the result as CSV: {error}")))
    };
    writer.write_record(header).map_err(|error| failed(&error))?;
    for row in rows {
        writer.write_record(row).map_err(|error| failed(&error))?;
    }
    let bytes = writer.into_inner().map_err(|error| failed(&error))?;
    String::from_utf8(bytes).map_err(|error| failed(&error))
}
