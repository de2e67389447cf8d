//! What makes a difference a failure.

use std::str::FromStr;

use super::{CountChange, Difference, TimeChange};
use crate::comparison::distinct;
use crate::failure::{Report, suggest};
use crate::number;

/// The name under which conditions know the time of all launches.
const TIME: &str = "slower";

/// A figure and how far it may change: `slower:5%`, `inst_executed:1%`, `branch_efficiency:-2%`.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// The metric; `None` for times.
    metric: Option<String>,
    /// The relative change that is still accepted; a negative one bounds a fall.
    limit: f64,
}

impl FromStr for Condition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, limit) = text.split_once(':').unwrap_or((text, "0%"));
        let number = limit.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
        let is_name = |name: &str| {
            !name.is_empty()
                && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
        };
        match number {
            Some(percent) if percent.is_finite() && is_name(name) => {
                let metric = (name != TIME).then(|| name.to_owned());
                if metric.is_none() && percent.is_sign_negative() {
                    return Err("a time that falls is no failure".to_owned());
                }
                Ok(Self { metric, limit: percent / 100.0 })
            }
            _ => Err("write it like slower:5% or inst_executed:1%".to_owned()),
        }
    }
}

impl Condition {
    /// What breaks the condition, each as a sentence; none if it holds. A metric that only one side
    /// has breaks it, too: nobody knows how it changed.
    ///
    /// # Errors
    ///
    /// If no launch has the metric.
    pub fn broken_by(&self, difference: &Difference) -> Result<Vec<String>, Report> {
        let Some(metric) = &self.metric else { return Ok(self.slower(difference)) };
        let mut sentences = Vec::new();
        let mut is_known = false;
        for launch in &difference.launches {
            let Some(count) = launch.counts.iter().find(|count| count.metric == *metric) else {
                continue;
            };
            is_known = true;
            sentences.extend(self.changed(count).map(|words| {
                format!(
                    "{metric} of {} {words}: the limit is {} %",
                    launch.after,
                    100.0 * self.limit
                )
            }));
        }
        if is_known {
            return Ok(sentences);
        }
        let counts = difference.launches.iter().flat_map(|launch| &launch.counts);
        let names = counts.map(|count| count.metric.as_str());
        let report = Report::new(format!("no launch has the metric {metric}"));
        Err(match suggest(metric, distinct(names)) {
            Some(near) => report.hint(near),
            None => report.hint("docs/metrics.md lists the metrics"),
        })
    }

    fn slower(&self, difference: &Difference) -> Vec<String> {
        let is_slower = |time: &&TimeChange| time.change > self.limit;
        let sentence = |time: &TimeChange| {
            let percent = 100.0 * time.change;
            let limit = 100.0 * self.limit;
            let (gpu, model) = (&time.gpu, &time.model);
            format!("{percent:.1} % slower on {gpu}, says {model}: the limit is {limit} %")
        };
        difference.totals.iter().filter(is_slower).map(sentence).collect()
    }

    /// How a count broke the condition.
    fn changed(&self, count: &CountChange) -> Option<String> {
        let is_fall = self.limit.is_sign_negative();
        match (count.before, count.after) {
            (Some(before), Some(after)) => {
                let grows = after > before * (1.0 + self.limit);
                let falls = after < before * (1.0 + self.limit);
                let is_broken = if is_fall { falls } else { grows };
                is_broken.then(|| match count.change() {
                    Some(change) => {
                        let word = if is_fall { "falls" } else { "grows" };
                        let (before, after) =
                            (number::whole_or_real(before), number::whole_or_real(after));
                        format!("{word} by {:.2} %, from {before} to {after}", 100.0 * change.abs())
                    }
                    None => format!("grows from 0 to {}", number::whole_or_real(after)),
                })
            }
            (Some(_), None) => Some("is not counted any more".to_owned()),
            (None, _) => Some("was not counted before".to_owned()),
        }
    }
}
