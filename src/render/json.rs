//! JSON results: an object with its schema's name and version first.

use serde::Serialize;

use crate::failure::{Failure, Report};

/// Pretty-printed, with a newline at the end.
pub(crate) fn document(value: &impl Serialize) -> Result<String, Failure> {
    let mut text = serde_json::to_string_pretty(value)
        .map_err(|error| Report::new(format!("cannot write the result as JSON: {error}")))?;
    text.push('\n');
    Ok(text)
}
