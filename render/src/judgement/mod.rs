//! A judgement, as text, JSON and a page: the verdict first, then what it rests on.

mod cost;
mod document;
pub(crate) mod evidence;
mod page;
pub(crate) mod text;

use gpucast_forecast::Report;
use gpucast_judge::Judgement;

/// Text is this wide.
const WIDTH: usize = 96;

/// The form of a judgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JudgementFormat {
    /// For people.
    Text,
    /// For programs, versioned.
    Json,
    /// For a browser: one file that refers to nothing outside.
    Html,
}

/// The name and version of the document.
pub const SCHEMA: &str = "gpucast.judgement/1";

/// A judgement in the form asked for.
///
/// # Errors
///
/// If the result has a value that the form cannot hold, which no input brings about.
pub fn document(judgement: &Judgement, format: JudgementFormat) -> Result<String, Report> {
    match format {
        JudgementFormat::Text => Ok(text::text(judgement)),
        JudgementFormat::Json => super::json::document(&document::value(judgement)),
        JudgementFormat::Html => Ok(page::page(judgement)),
    }
}
