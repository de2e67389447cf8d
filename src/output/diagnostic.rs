//! Reports and notes on the standard error.

use std::io::Write as _;

use gpucast_render::{control, diagnostic};

use super::manner;
use crate::cli::ErrorFormat;
use crate::failure::Report;

/// Greatest number of reports of one failure that are worth reading.
const MOST_REPORTS: usize = 20;

/// Writes reports to the standard error, in colour on a terminal.
pub(crate) fn print(reports: &[Report]) {
    let mut stderr = std::io::stderr().lock();
    let look = manner::look();
    for report in reports.iter().take(MOST_REPORTS) {
        let text = match (manner::errors(), look.framed) {
            (ErrorFormat::Json, _) => diagnostic::line_of_json(report),
            (ErrorFormat::Text, true) => diagnostic::drawn(report, look.coloured),
            (ErrorFormat::Text, false) => diagnostic::plain(report),
        };
        // A closed standard error leaves nobody to tell.
        let _ = stderr.write_all(text.as_bytes());
    }
    if reports.len() > MOST_REPORTS {
        let more = format!("and {} more errors\n", reports.len() - MOST_REPORTS);
        let _ = stderr.write_all(more.as_bytes());
    }
}

/// Writes a note that nobody asked for to the standard error, as one line.
pub(crate) fn note(text: &str) {
    let line = format!("note: {}\n", control::visible(text));
    let _ = std::io::stderr().write_all(line.as_bytes());
}

/// Writes a warning to the standard error, as one line.
pub(crate) fn warning(text: &str) {
    let line = format!("warning: {}\n", control::visible(text));
    let _ = std::io::stderr().write_all(line.as_bytes());
}

/// Writes a text to the standard error: the standard output belongs to a program that was run.
pub(crate) fn text(text: &str) {
    let _ = std::io::stderr().write_all(control::visible(text).as_bytes());
}
