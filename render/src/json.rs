//! JSON results: an object with its schema's name and version first.

use gpucast_forecast::Report;
use serde::Serialize;

/// Pretty-printed, with a newline at the end.
///
/// # Errors
///
/// If the result has a value that the form cannot hold, which no input brings about.
pub fn document(value: &impl Serialize) -> Result<String, Report> {
    let mut text = serde_json::to_string_pretty(value)
        .map_err(|error| Report::new(format!("cannot write the result as JSON: {error}")))?;
    text.push('\n');
    Ok(text)
}
