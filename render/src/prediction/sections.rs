//! The shape that all sections of the text have.

/// Text is this wide.
pub(super) const WIDTH: usize = 96;

/// The title of a section.
pub(super) fn section(title: &str) -> String {
    format!("\n{title}\n")
}
