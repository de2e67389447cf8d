//! A task's texts in another language: a file `task.de.toml` beside its `task.toml`.

use std::collections::{BTreeMap, BTreeSet};

use gpucast_forecast::input::toml_report::toml_report;
use gpucast_forecast::{Report, SourceText};
use serde::Deserialize;

use crate::task::Target;

/// The file as written.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Translation {
    pub(crate) title: String,
    pub(crate) lesson: String,
    #[serde(default)]
    pub(crate) hints: Vec<String>,
    /// Why a metric's limit can be kept, by metric.
    #[serde(default)]
    why: BTreeMap<String, String>,
}

impl Translation {
    /// The translation of a task with these hints and targets.
    ///
    /// # Errors
    ///
    /// If it cannot be read, or says more or less than the task.
    pub(crate) fn of(
        source: &SourceText,
        hints: &[String],
        targets: &[Target],
    ) -> Result<Self, Report> {
        let own: Self =
            toml::from_str(&source.text).map_err(|error| toml_report(source, &error))?;
        let differs = |message: String| {
            Report::new(format!("{}: {message}", source.name))
                .hint("a translation has the hints of its task, and a reason for the same metrics")
        };
        if own.hints.len() != hints.len() {
            let (own, all) = (own.hints.len(), hints.len());
            return Err(differs(format!("its number of hints is {own}, and the task's is {all}")));
        }
        let told: BTreeSet<&str> = own.why.keys().map(String::as_str).collect();
        let asked: BTreeSet<&str> = targets.iter().filter_map(with_reason).collect();
        if let Some(metric) = asked.difference(&told).next() {
            return Err(differs(format!("[why] has no reason for `{metric}`")));
        }
        if let Some(metric) = told.difference(&asked).next() {
            return Err(differs(format!("[why] has `{metric}`, which the task has no reason for")));
        }
        Ok(own)
    }

    /// The target with its reason in this language.
    pub(crate) fn target(&self, target: &Target) -> Target {
        let mut target = target.clone();
        if let Target::Metric { metric, why, .. } = &mut target
            && let Some(own) = self.why.get(metric)
        {
            own.clone_into(why);
        }
        target
    }
}

/// The metric of a target that has a reason.
fn with_reason(target: &Target) -> Option<&str> {
    match target {
        Target::Metric { metric, why, .. } => Some(metric.as_str()).filter(|_| !why.is_empty()),
        Target::Time { .. } => None,
    }
}
