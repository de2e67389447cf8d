//! A judgement, as text and JSON: the verdict first, then what it rests on.

mod cost;
mod document;
pub(crate) mod evidence;
pub(crate) mod text;

use gpucast_forecast::Report;
use gpucast_judge::Judgement;

use crate::TextOrJson;

/// Text is this wide.
const WIDTH: usize = 96;

/// The name and version of the document.
pub const SCHEMA: &str = "gpucast.judgement/1";

/// A judgement in the form asked for.
///
/// # Errors
///
/// If the result has a value that the form cannot hold, which no input brings about.
pub fn document(judgement: &Judgement, format: TextOrJson) -> Result<String, Report> {
    match format {
        TextOrJson::Text => Ok(text::text(judgement)),
        TextOrJson::Json => super::json::document(&document::value(judgement)),
    }
}
