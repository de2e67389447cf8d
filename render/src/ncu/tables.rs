//! Tables as Nsight Compute draws them, and its lines of CSV.

use std::fmt::Write as _;

/// A column of a table of text.
pub(super) struct Column {
    pub(super) title: &'static str,
    /// The least width.
    pub(super) least: usize,
    pub(super) is_left: bool,
}

/// The columns of metrics.
pub(super) const METRICS: [Column; 3] = [
    Column { title: "Metric Name", least: 11, is_left: true },
    Column { title: "Metric Unit", least: 11, is_left: false },
    Column { title: "Metric Value", least: 12, is_left: false },
];

/// The columns of metrics of several launches.
pub(super) const SUMMARY: [Column; 5] = [
    Column { title: "Metric Name", least: 11, is_left: true },
    Column { title: "Metric Unit", least: 11, is_left: false },
    Column { title: "Minimum", least: 12, is_left: false },
    Column { title: "Maximum", least: 12, is_left: false },
    Column { title: "Average", least: 12, is_left: false },
];

/// Spaces before each line of a table.
const INDENT: &str = "    ";

/// Draws a table.
pub(super) fn draw(columns: &[Column], rows: &[Vec<String>]) -> String {
    let letters = |text: &str| text.chars().count();
    let width = |at: usize| {
        let widest = rows.iter().filter_map(|row| row.get(at)).map(|cell| letters(cell)).max();
        widest.unwrap_or(0).max(columns[at].least)
    };
    let widths: Vec<usize> = (0..columns.len()).map(width).collect();
    let line = |cells: &[&str]| {
        let mut text = INDENT.to_owned();
        for (at, cell) in cells.iter().enumerate() {
            let width = widths[at];
            let space = if at + 1 < cells.len() { " " } else { "" };
            // Writing to a string cannot fail.
            let _ = match columns[at].is_left {
                true => write!(text, "{cell:<width$}{space}"),
                false => write!(text, "{cell:>width$}{space}"),
            };
        }
        text.push('\n');
        text
    };
    let rule: Vec<String> = widths.iter().map(|&width| "-".repeat(width)).collect();
    let rule = line(&rule.iter().map(String::as_str).collect::<Vec<_>>());
    let titles = line(&columns.iter().map(|column| column.title).collect::<Vec<_>>());
    let mut text = format!("{rule}{titles}{rule}");
    for row in rows {
        text.push_str(&line(&row.iter().map(String::as_str).collect::<Vec<_>>()));
    }
    text + &rule
}

/// A line of CSV, every field in quotes.
pub(super) fn csv<T: AsRef<str>>(fields: impl IntoIterator<Item = T>) -> String {
    let quoted = |field: T| format!("\"{}\"", field.as_ref().replace('"', "\"\""));
    let fields: Vec<String> = fields.into_iter().map(quoted).collect();
    fields.join(",") + "\n"
}
