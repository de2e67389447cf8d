//! The sections and metrics that are collected.

use std::collections::BTreeSet;

use gpucast_forecast::nsight::{self, ROLLUPS};
use gpucast_host::collection::Pattern;
use gpucast_render::ncu::{self, DEFAULT_SET, OTHERS, SECTIONS, SETS};

use crate::cli::ncu::Ncu;
use crate::failure::{Failure, Report, suggest};
use crate::output::diagnostic;

/// What is collected of each launch.
#[derive(Debug, Default)]
pub(super) struct Collection {
    /// Identifiers of sections.
    pub(super) sections: Vec<String>,
    /// Metrics that are asked for by name.
    pub(super) metrics: Vec<String>,
    /// All metrics: those of the sections, too.
    pub(super) names: Vec<String>,
}

impl Collection {
    /// Reads `--metrics`, `--section` and `--set`.
    pub(super) fn read(arguments: &Ncu) -> Result<Self, Failure> {
        let mut sections = BTreeSet::new();
        for name in &arguments.set {
            let set = ncu::set(name).ok_or_else(|| unknown_set(name))?;
            sections.extend(set.sections.iter().map(ToString::to_string));
        }
        for name in &arguments.section {
            sections.extend(sections_of(name)?);
        }
        let mut metrics: Vec<String> = Vec::new();
        for name in arguments.metrics.iter().filter(|name| !name.is_empty()) {
            for metric in metrics_of(name)? {
                if !metrics.contains(&metric) {
                    metrics.push(metric);
                }
            }
        }
        let is_default = arguments.set.is_empty()
            && arguments.section.is_empty()
            && arguments.metrics.is_empty();
        if is_default && let Some(set) = ncu::set(DEFAULT_SET) {
            sections.extend(set.sections.iter().map(ToString::to_string));
        }
        let of_sections = SECTIONS.iter().filter(|one| sections.contains(one.identifier));
        let of_sections = of_sections.flat_map(|section| section.metrics().map(str::to_owned));
        let names: BTreeSet<String> = of_sections.chain(metrics.iter().cloned()).collect();
        Ok(Self {
            sections: sections.into_iter().collect(),
            metrics,
            names: names.into_iter().collect(),
        })
    }
}

/// The sections that a word means.
fn sections_of(word: &str) -> Result<Vec<String>, Failure> {
    if word.starts_with("regex:") {
        let pattern = Pattern::parse(word)?;
        let fits = SECTIONS.iter().filter(|section| pattern.matches(section.identifier));
        return Ok(fits.map(|section| section.identifier.to_owned()).collect());
    }
    if let Some(section) = ncu::section(word) {
        return Ok(vec![section.identifier.to_owned()]);
    }
    if OTHERS.contains(&word) {
        diagnostic::note(&format!("--section {word}: nothing is known of it here"));
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
fn metrics_of(word: &str) -> Result<Vec<String>, Failure> {
    if word.starts_with("regex:") {
        let pattern = Pattern::parse(word)?;
        let mut names = nsight::names();
        names.retain(|name| pattern.matches(name));
        if names.is_empty() {
            diagnostic::note(&format!("--metrics {word}: no metric fits"));
        }
        return Ok(names);
    }
    for prefix in ["breakdown:", "group:", "pmsampling:"] {
        if word.starts_with(prefix) {
            diagnostic::note(&format!("--metrics {word}: {prefix} is left out"));
            return Ok(Vec::new());
        }
    }
    match !word.contains('.') && nsight::is_counter(word) {
        true => Ok(ROLLUPS.iter().map(|rollup| format!("{word}.{rollup}")).collect()),
        false => Ok(vec![word.to_owned()]),
    }
}
