//! Findings at lines of a source, in the forms in which code hosts and editors show them.

mod annotations;
mod sarif;

pub(crate) use annotations::text as annotations;
pub(crate) use sarif::{Rule, text as sarif};

use gpucast_forecast::Report;

/// A finding at a place of a source.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// What was found, by a name that stays the same: a metric, a kind of fault.
    pub(crate) rule: String,
    /// What was looked for: a limit, a check.
    pub(crate) title: String,
    /// What is wrong, in sentences.
    pub(crate) message: String,
    /// The file, with `/` between folders.
    pub(crate) file: String,
    /// The line, from 1 on; `None` if only the file is known.
    pub(crate) line: Option<u32>,
}

/// A form of marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkFormat {
    /// SARIF 2.1.0, for code hosts and editors.
    Sarif,
    /// Annotations of a GitHub workflow.
    Github,
}

/// The marks of a run in a form. Their rules are those that found something.
///
/// # Errors
///
/// If the result has a value that the form cannot hold, which no input brings about.
pub fn document(marks: &[Mark], format: MarkFormat) -> Result<String, Report> {
    let mut rules: Vec<Rule> = Vec::new();
    for Mark { rule, title, .. } in marks {
        if rules.iter().all(|known| known.id() != rule) {
            rules.push(Rule::new(rule.clone(), title.clone()));
        }
    }
    match format {
        MarkFormat::Sarif => sarif(rules, marks),
        MarkFormat::Github => Ok(annotations(marks)),
    }
}
