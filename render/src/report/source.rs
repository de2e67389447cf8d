//! The annotated source of the report.

use gpucast_forecast::run::counting::Counted;

use crate::profile::{View, listing as lines};

/// The source with the cost of each line.
pub(super) struct Listing {
    pub(super) words: String,
    /// The number of the line, its text, and the counts.
    pub(super) titles: Vec<String>,
    pub(super) rows: Vec<Row>,
}

/// A line.
pub(super) struct Row {
    pub(super) line: String,
    pub(super) text: String,
    pub(super) cells: Vec<Cell>,
    /// True if nothing was counted for it.
    pub(super) idle: bool,
}

/// A number beside a line.
pub(super) struct Cell {
    pub(super) text: String,
    /// Percent of the launch, if it is a share.
    pub(super) part: Option<String>,
}

/// The lines of a launch with their counts.
pub(super) fn listing(profile: &View<'_>, counted: &Counted) -> Listing {
    let (mut lines, words) = lines(profile, counted);
    let mut titles = if lines.is_empty() { Vec::new() } else { lines.remove(0) };
    let columns = titles.len();
    // The text comes last in a terminal, where it is cut; here it comes first.
    if columns > 1 {
        titles[1..].rotate_right(1);
    }
    let row = |mut cells: Vec<String>| {
        // Lines without counts are shorter: the text is the last cell, wherever it stands.
        let text = cells.pop().unwrap_or_default();
        cells.resize(columns.saturating_sub(1), String::new());
        let idle = cells.iter().skip(1).all(String::is_empty);
        let mut cells = cells.into_iter();
        let line = cells.next().unwrap_or_default();
        let counts = cells.zip(titles.iter().skip(2)).map(|(text, title)| {
            let is_share = title.ends_with('%') && !text.is_empty();
            Cell { part: is_share.then(|| text.clone()), text }
        });
        Row { line, text, cells: counts.collect(), idle }
    };
    let rows = lines.into_iter().map(row).collect();
    Listing { words, titles, rows }
}
