//! The reason why a run stops early: what was wrong, where, and what to do about it.

use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A text that a report can quote: a file, or an argument of the command line.
#[derive(Clone, PartialEq, Eq)]
pub struct SourceText {
    /// The file's path as the user wrote it, or `command line`.
    pub name: Arc<str>,
    /// The whole text.
    pub text: Arc<str>,
}

impl fmt::Debug for SourceText {
    /// The name: the text may be megabytes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SourceText({})", self.name)
    }
}

impl SourceText {
    /// A text of this name.
    pub fn new(name: impl Into<Arc<str>>, text: impl Into<Arc<str>>) -> Self {
        Self { name: name.into(), text: text.into() }
    }

    /// A report about a range of this text.
    pub fn report(&self, range: Range<usize>, message: impl Into<String>) -> Report {
        Report::new(message).at(&Anchor { source: self.clone(), range })
    }
}

impl Serialize for SourceText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (&*self.name, &*self.text).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for SourceText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (name, text) = <(String, String)>::deserialize(deserializer)?;
        Ok(Self::new(name, text))
    }
}

/// A place in a text, kept so that a later stage can point back at it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Anchor {
    /// The text.
    pub source: SourceText,
    /// Bytes of the text.
    pub range: Range<usize>,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Report {
    /// The fault, as a sentence without a full stop.
    pub message: String,
    /// Place of the fault, if there is a text to point at.
    pub anchor: Option<Box<Anchor>>,
    /// Further facts, one line each.
    pub facts: Vec<String>,
    /// Advice on what to do about it.
    pub hint: Option<String>,
    /// A command to copy: one line, however long.
    pub command: Option<String>,
}

impl Report {
    /// A sentence without a place.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), anchor: None, facts: Vec::new(), hint: None, command: None }
    }

    /// Points at a place.
    pub fn at(mut self, anchor: &Anchor) -> Self {
        self.anchor = Some(Box::new(anchor.clone()));
        self
    }

    /// Adds a line of facts.
    pub fn fact(mut self, fact: impl Into<String>) -> Self {
        self.facts.push(fact.into());
        self
    }

    /// Adds advice on what to do.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds a command to copy.
    pub fn command(mut self, command: impl Into<String>) -> Self {
        self.command = Some(command.into());
        self
    }

    /// As [`Report::hint`], where there may be nothing to say.
    pub fn maybe_hint(mut self, hint: Option<String>) -> Self {
        self.hint = hint.or(self.hint);
        self
    }

    /// A file that could not be read or written: `what` is the verb.
    pub fn file(what: &str, path: &Path, error: &std::io::Error) -> Self {
        // `std::io::Error` adds "(os error 2)", which tells a user nothing.
        let text = error.to_string();
        let text = text.split(" (os error").next().unwrap_or_default();
        Self::new(format!("cannot {what} {}: {text}", path.display()))
    }
}

/// Reason why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The input is at fault.
    #[error("{}", paragraphs(.0))]
    Input(Vec<Report>),
    /// The request makes no sense, whatever the input.
    #[error("{0}")]
    Usage(Report),
    /// The run came to a fault that its [`Watch`](crate::run::execute::Watch) explains.
    #[error("the kernel came to a fault")]
    Explained,
    /// The [`Supervisor`](crate::Supervisor) stopped the run.
    #[error("the run was stopped")]
    Stopped,
}

impl Failure {
    /// The reports and their places in one line: a reason in a table.
    ///
    /// # Errors
    ///
    /// The failure itself if it is no fault of an input, so that nothing else would go better.
    pub fn in_one_line(self) -> Result<String, Self> {
        match self {
            Self::Input(reports) => Ok(in_one_line(&reports)),
            Self::Usage(report) => Ok(in_one_line(&[report])),
            failure @ (Self::Explained | Self::Stopped) => Err(failure),
        }
    }
}

/// Joins reports with the lines of their places.
#[must_use]
pub fn in_one_line(reports: &[Report]) -> String {
    let line = |report: &Report| match &report.anchor {
        Some(anchor) => {
            let (line, _) = anchor.position();
            format!("{}:{line}: {}", anchor.source.name, report.message)
        }
        None => report.message.clone(),
    };
    let lines: Vec<String> = reports.iter().map(line).collect();
    lines.join("; ")
}

fn paragraphs(reports: &[Report]) -> String {
    let paragraphs: Vec<String> = reports.iter().map(Report::to_string).collect();
    paragraphs.join("\n")
}

impl Anchor {
    /// Line and column of the place, from 1 on.
    pub fn position(&self) -> (usize, usize) {
        let text: &str = &self.source.text;
        let mut start = self.range.start.min(text.len());
        while !text.is_char_boundary(start) {
            start -= 1;
        }
        let before = &text[..start];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
    }
}

impl fmt::Display for Report {
    /// The sentence with its place, then facts and the hint, a line each.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(anchor) = &self.anchor {
            let (line, column) = anchor.position();
            write!(f, "{}:{line}:{column}: ", anchor.source.name)?;
        }
        write!(f, "{}", self.message)?;
        for fact in &self.facts {
            write!(f, "\n  {fact}")?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\n  help: {hint}")?;
        }
        match &self.command {
            Some(command) => write!(f, "\n  {command}"),
            None => Ok(()),
        }
    }
}

impl From<Report> for Failure {
    fn from(report: Report) -> Self {
        Self::Input(vec![report])
    }
}

impl From<Vec<Report>> for Failure {
    fn from(reports: Vec<Report>) -> Self {
        Self::Input(reports)
    }
}

/// `did you mean …?` for a misspelt name, or the list of names if there are few.
pub fn suggest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    const RESEMBLES: f64 = 0.7;
    const MOST: usize = 3;
    let known: Vec<&str> = known.into_iter().collect();
    let mut near: Vec<(f64, &str)> = known
        .iter()
        .map(|&candidate| (strsim::normalized_damerau_levenshtein(name, candidate), candidate))
        .map(|(score, candidate)| {
            let contained = name.len() >= 3 && candidate.contains(name);
            (if contained { score.max(RESEMBLES) } else { score }, candidate)
        })
        .filter(|&(score, _)| score >= RESEMBLES)
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    if !near.is_empty() {
        let names: Vec<String> =
            near.iter().take(MOST).map(|(_, name)| format!("`{name}`")).collect();
        return Some(format!("did you mean {}?", names.join(" or ")));
    }
    (!known.is_empty() && known.len() <= 24).then(|| format!("known are {}", known.join(", ")))
}

/// A report with the text that it marks, for snapshots.
#[cfg(test)]
pub(crate) fn shown(report: &Report) -> String {
    let marked = report.anchor.as_ref().map(|anchor| {
        let marked = anchor.source.text.get(anchor.range.clone()).unwrap_or("no text at all");
        format!("\n  marked: {}", marked.lines().next().unwrap_or_default())
    });
    format!("{report}{}\n", marked.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_name_is_suggested_and_a_far_one_gets_the_list() {
        let known = ["gtx-480", "gtx-660", "h100-sxm"];
        assert_eq!(suggest("gtx-66", known).as_deref(), Some("did you mean `gtx-660`?"));
        assert_eq!(suggest("h100", known).as_deref(), Some("did you mean `h100-sxm`?"));
        assert_eq!(
            suggest("abacus", known).as_deref(),
            Some("known are gtx-480, gtx-660, h100-sxm")
        );
    }
}
