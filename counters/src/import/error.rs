//! The reasons why a file of counts could not be read, and where.

use std::fmt;

use thiserror::Error;

/// A place in a text, counted from one; columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The character within the line.
    pub column: usize,
}

impl Position {
    /// The beginning of a text, for a complaint about the whole of it.
    pub const START: Self = Self { line: 1, column: 1 };

    /// The place of a byte offset in `text`; an offset past the end means the end.
    #[must_use]
    pub fn of(text: &str, offset: usize) -> Self {
        let (mut line, mut column) = (1, 1);
        for (_, character) in text.char_indices().take_while(|&(at, _)| at < offset) {
            if character == '\n' {
                line += 1;
                column = 1;
            } else {
                column += 1;
            }
        }
        Self { line, column }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// A file of counts that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{position}: {reason}")]
pub struct ImportError {
    /// The position in the file.
    pub position: Position,
    /// The fault there.
    pub reason: Reason,
}

impl ImportError {
    /// A remedy for the user, if there is one.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match &self.reason {
            Reason::UnknownKey { suggestion: Some(name), .. }
            | Reason::UnknownMetric { suggestion: Some(name), .. } => {
                Some(format!("did you mean `{name}`?"))
            }
            Reason::UnknownKey { suggestion: None, .. } => Some(
                "a metrics file has `kernel`, `invocations`, `measured_on` and `[metrics]`".into(),
            ),
            Reason::UnknownMetric { suggestion: None, .. } => {
                Some("metrics carry nvprof's names, such as `inst_executed`".into())
            }
            Reason::MissingKey { key: "kernel" } => {
                Some("begin the file with `kernel = \"name\"`".into())
            }
            Reason::MissingKey { .. } => {
                Some("list the metrics as `name = number` under `[metrics]`".into())
            }
            Reason::DecimalComma { .. } => {
                Some("run the profiler again with the environment variable LC_ALL=C".into())
            }
            Reason::Overflowed { .. } => {
                Some("profile fewer iterations, or this metric in a run of its own".into())
            }
            Reason::MissingColumn { .. } | Reason::NoHeader => Some(
                "pass the CSV of `nvprof --csv --metrics …`, `ncu --csv` or \
                 `ncu --csv --page raw`"
                    .into(),
            ),
            Reason::NoProfile { .. } => {
                Some("`gpucast profile --by launch` writes one, with --format json or csv".into())
            }
            Reason::UnknownUnit { .. } => Some("run ncu with `--print-units base`".into()),
            Reason::Syntax { .. }
            | Reason::WrongType { .. }
            | Reason::NotANumber { .. }
            | Reason::Impossible { .. }
            | Reason::UnclosedQuote
            | Reason::FieldCount { .. }
            | Reason::Conflict { .. }
            | Reason::Empty => None,
        }
    }
}

/// A fault of a file of counts.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Reason {
    /// Not TOML at all.
    #[error("this is not valid TOML: {message}")]
    Syntax {
        /// The TOML parser's words.
        message: String,
    },
    /// No profile that this program wrote.
    #[error("this is no profile that predictions can be made from: {message}")]
    NoProfile {
        /// The fault.
        message: String,
    },
    /// A key that a metrics file does not have.
    #[error("a metrics file has no key `{key}`")]
    UnknownKey {
        /// The key.
        key: String,
        /// The nearest key that exists.
        suggestion: Option<&'static str>,
    },
    /// A metric name that is not in the table.
    #[error("there is no metric named `{name}`")]
    UnknownMetric {
        /// The name.
        name: String,
        /// The nearest metric that exists.
        suggestion: Option<&'static str>,
    },
    /// A key that a metrics file must have.
    #[error("the key `{key}` is missing")]
    MissingKey {
        /// The key.
        key: &'static str,
    },
    /// A value of the wrong type.
    #[error("`{key}` must be {expected}, but this is {found}")]
    WrongType {
        /// The key.
        key: String,
        /// The type it must have.
        expected: &'static str,
        /// The type it has.
        found: &'static str,
    },
    /// Text where a number must be.
    #[error("`{name}` needs a number, but this is `{text}`")]
    NotANumber {
        /// The metric or column.
        name: String,
        /// The text.
        text: String,
    },
    /// A number written with a decimal comma, which cannot be told from a thousands separator.
    #[error("the number `{text}` has a comma that does not separate thousands")]
    DecimalComma {
        /// The number.
        text: String,
    },
    /// The profiler's own counter overflowed.
    #[error("the profiler's counter for `{name}` overflowed, so there is no figure")]
    Overflowed {
        /// The metric.
        name: String,
    },
    /// A number that no count can be.
    #[error("`{name}` cannot be {value}: {why}")]
    Impossible {
        /// The metric or key.
        name: String,
        /// The value as written.
        value: String,
        /// The fault.
        why: &'static str,
    },
    /// A quoted field that does not end on its line.
    #[error("a quoted field is not closed on its line")]
    UnclosedQuote,
    /// A row that is shorter or longer than its header.
    #[error("this row has {found} fields, but its header has {expected}")]
    FieldCount {
        /// Fields of the row.
        found: usize,
        /// Fields of the header.
        expected: usize,
    },
    /// A header without a column that is needed.
    #[error("the table has no column \"{column}\"")]
    MissingColumn {
        /// The column.
        column: &'static str,
    },
    /// A unit that the reader cannot convert.
    #[error("the unit `{unit}` of `{name}` is not known")]
    UnknownUnit {
        /// The metric.
        name: String,
        /// The unit as written.
        unit: String,
    },
    /// Two rows that say different things of the same metric.
    #[error("`{name}` of kernel `{kernel}` is given twice with different values")]
    Conflict {
        /// The metric or column.
        name: String,
        /// The kernel.
        kernel: String,
    },
    /// No header line of a known profiler.
    #[error("no header line of nvprof or Nsight Compute was found")]
    NoHeader,
    /// A file without a single metric.
    #[error("there is not one metric in this file")]
    Empty,
}

/// The candidate nearest to a misspelt name, if any is near.
pub(super) fn nearest(
    name: &str,
    candidates: impl IntoIterator<Item = &'static str>,
) -> Option<&'static str> {
    // Jaro-Winkler rewards a common prefix, which vendor names have in plenty. Below 0.85 the
    // suggestions no longer resemble the typed name.
    const RESEMBLES: f64 = 0.85;
    candidates
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(name, candidate), candidate))
        .filter(|&(score, _)| score >= RESEMBLES)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, candidate)| candidate)
}
