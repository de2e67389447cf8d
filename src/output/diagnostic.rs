//! Reports and notes on the standard error.

use std::io::{IsTerminal as _, Write as _};

use gpucast_render::{control, diagnostic};

use crate::failure::Report;

/// Greatest number of reports of one failure that are worth reading.
const MOST_REPORTS: usize = 20;

/// Writes reports to the standard error, in colour on a terminal.
pub(crate) fn print(reports: &[Report]) {
    let mut stderr = std::io::stderr().lock();
    let terminal = stderr.is_terminal();
    for report in reports.iter().take(MOST_REPORTS) {
        let text = match terminal {
            true => diagnostic::drawn(report, std::env::var_os("NO_COLOR").is_none()),
            false => diagnostic::plain(report),
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
