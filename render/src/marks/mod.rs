//! Findings at lines of a source, in the forms in which code hosts and editors show them.

mod annotations;
mod junit;
mod sarif;

pub(crate) use annotations::text as annotations;
pub(crate) use junit::text as junit;
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
    /// Test cases, as JUnit's XML.
    Junit,
}

/// What was looked for in one place, and found.
#[derive(Clone, Debug)]
pub struct Looked {
    /// The kernel, or a file of one.
    pub at: String,
    /// What was looked for. The title of each mark is one of them.
    pub titles: Vec<String>,
    /// What was found.
    pub marks: Vec<Mark>,
}

/// What a run looked for and found, in a form. Its rules are those that found something.
///
/// # Errors
///
/// If the result has a value that the form cannot hold, which no input brings about.
pub fn document(looked: &[Looked], format: MarkFormat) -> Result<String, Report> {
    let marks: Vec<Mark> = looked.iter().flat_map(|operation| operation.marks.clone()).collect();
    let mut rules: Vec<Rule> = Vec::new();
    for Mark { rule, title, .. } in &marks {
        if rules.iter().all(|known| known.id() != rule) {
            rules.push(Rule::new(rule.clone(), title.clone()));
        }
    }
    match format {
        MarkFormat::Sarif => sarif(rules, &marks),
        MarkFormat::Github => Ok(annotations(&marks)),
        MarkFormat::Junit => Ok(junit("gpucast run", looked)),
    }
}
