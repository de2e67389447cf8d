//! The sections and metrics that are collected.

use std::collections::BTreeSet;

use gpucast_forecast::failure::{Failure, Report, suggest};
use gpucast_forecast::nsight::{self, ROLLUPS};
use gpucast_host::collection::Pattern;

use super::sections::{DEFAULT_SET, OTHERS, SECTIONS, SETS, section, set};

/// What is collected of each launch.
#[derive(Clone, Debug, Default)]
pub struct Collection {
    /// Identifiers of sections.
    pub sections: Vec<String>,
    /// Metrics that are asked for by name.
    pub metrics: Vec<String>,
    /// All metrics: those of the sections, too.
    pub names: Vec<String>,
    /// Words that mean nothing here, and why.
    pub notes: Vec<String>,
}

impl Collection {
    /// Reads words for sets, sections and metrics. Without any, it is the usual set.
    ///
    /// # Errors
    ///
    /// [`Failure::Usage`] names a set or a section that there is not.
    pub fn read(
        set_words: &[String],
        section_words: &[String],
        metric_words: &[String],
    ) -> Result<Self, Failure> {
        let mut notes = Vec::new();
        let mut sections = BTreeSet::new();
        for name in set_words {
            let set = set(name).ok_or_else(|| unknown_set(name))?;
            sections.extend(set.sections.iter().map(ToString::to_string));
        }
        for name in section_words {
            sections.extend(sections_of(name, &mut notes)?);
        }
        let mut metrics: Vec<String> = Vec::new();
        for name in metric_words.iter().filter(|name| !name.is_empty()) {
            for metric in metrics_of(name, &mut notes)? {
                if !metrics.contains(&metric) {
                    metrics.push(metric);
                }
            }
        }
        let is_default =
            set_words.is_empty() && section_words.is_empty() && metric_words.is_empty();
        if is_default && let Some(set) = set(DEFAULT_SET) {
            sections.extend(set.sections.iter().map(ToString::to_string));
        }
        let of_sections = SECTIONS.iter().filter(|section| sections.contains(section.identifier));
        let of_sections = of_sections.flat_map(|section| section.metrics().map(str::to_owned));
        let names: BTreeSet<String> = of_sections.chain(metrics.iter().cloned()).collect();
        Ok(Self {
            sections: sections.into_iter().collect(),
            metrics,
            names: names.into_iter().collect(),
            notes,
        })
    }
}

/// The sections that a word means.
fn sections_of(word: &str, notes: &mut Vec<String>) -> Result<Vec<String>, Failure> {
    if word.starts_with("regex:") {
        let pattern = Pattern::parse(word)?;
        let fits = SECTIONS.iter().filter(|section| pattern.matches(section.identifier));
        return Ok(fits.map(|section| section.identifier.to_owned()).collect());
    }
    if let Some(section) = section(word) {
        return Ok(vec![section.identifier.to_owned()]);
    }
    if OTHERS.contains(&word) {
        notes.push(format!("--section {word}: nothing is known of it here"));
        return Ok(Vec::new());
    }
    let known = SECTIONS.iter().map(|section| section.identifier);
    let report = Report::new(format!("there is no section `{word}`"));
    let report = report.maybe_hint(suggest(word, known));
    Err(Failure::Usage(report.fact("gpucast ncu --list-sections lists them")))
}

fn unknown_set(name: &str) -> Failure {
    let names: Vec<&str> = SETS.iter().map(|set| set.name).collect();
    let report = Report::new(format!("there is no set `{name}`"));
    Failure::Usage(report.hint(format!("the sets are {}", names.join(", "))))
}

/// The metrics that a word means. Names that nobody knows stay: their value is `n/a`.
fn metrics_of(word: &str, notes: &mut Vec<String>) -> Result<Vec<String>, Failure> {
    if word.starts_with("regex:") {
        let pattern = Pattern::parse(word)?;
        let mut names = nsight::names();
        names.retain(|name| pattern.matches(name));
        if names.is_empty() {
            notes.push(format!("--metrics {word}: no metric fits"));
        }
        return Ok(names);
    }
    for prefix in ["breakdown:", "group:", "pmsampling:"] {
        if word.starts_with(prefix) {
            notes.push(format!("--metrics {word}: {prefix} is left out"));
            return Ok(Vec::new());
        }
    }
    match !word.contains('.') && nsight::is_counter(word) {
        true => Ok(ROLLUPS.iter().map(|rollup| format!("{word}.{rollup}")).collect()),
        false => Ok(vec![word.to_owned()]),
    }
}
