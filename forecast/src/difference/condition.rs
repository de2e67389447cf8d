//! What makes a difference a failure.

use std::fmt;
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
    /// As it was written.
    text: String,
    /// The metric; `None` for times.
    metric: Option<String>,
    /// The relative change that is still accepted; a negative one bounds a fall.
    limit: f64,
}

/// What breaks a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Broken {
    /// The figure: `slower`, or a metric.
    pub figure: String,
    /// The place of the launch among those compared; `None` for the time of all.
    pub launch: Option<usize>,
    /// What happened, as a sentence.
    pub sentence: String,
}

impl fmt::Display for Condition {
    /// As it was written.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
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
                Ok(Self { text: text.to_owned(), metric, limit: percent / 100.0 })
            }
            _ => Err("write it like slower:5% or inst_executed:1%".to_owned()),
        }
    }
}

impl Condition {
    /// The figure that it bounds: `slower`, or a metric.
    #[must_use]
    pub fn figure(&self) -> &str {
        self.metric.as_deref().unwrap_or(TIME)
    }

    /// What breaks the condition; nothing if it holds. A metric that only one side has breaks it,
    /// too: nobody knows how it changed.
    ///
    /// # Errors
    ///
    /// If no launch has the metric.
    pub fn broken_by(&self, difference: &Difference) -> Result<Vec<Broken>, Report> {
        let Some(metric) = &self.metric else { return Ok(self.slower(difference)) };
        let mut broken = Vec::new();
        let mut is_known = false;
        for (at, launch) in difference.launches.iter().enumerate() {
            let Some(count) = launch.counts.iter().find(|count| count.metric == *metric) else {
                continue;
            };
            is_known = true;
            let sentence = |words: String| {
                let limit = 100.0 * self.limit;
                format!("{metric} of {} {words}: the limit is {limit} %", launch.after)
            };
            broken.extend(self.changed(count).map(|words| Broken {
                figure: metric.clone(),
                launch: Some(at),
                sentence: sentence(words),
            }));
        }
        if is_known {
            return Ok(broken);
        }
        let counts = difference.launches.iter().flat_map(|launch| &launch.counts);
        let names = counts.map(|count| count.metric.as_str());
        let report = Report::new(format!("no launch has the metric {metric}"));
        Err(match suggest(metric, distinct(names)) {
            Some(near) => report.hint(near),
            None => report.hint("docs/metrics.md lists the metrics"),
        })
    }

    fn slower(&self, difference: &Difference) -> Vec<Broken> {
        let is_slower = |time: &&TimeChange| time.change > self.limit;
        let sentence = |time: &TimeChange| {
            let percent = 100.0 * time.change;
            let limit = 100.0 * self.limit;
            let (gpu, model) = (&time.gpu, &time.model);
            format!("{percent:.1} % slower on {gpu}, says {model}: the limit is {limit} %")
        };
        let broken = |time: &TimeChange| Broken {
            figure: TIME.to_owned(),
            launch: None,
            sentence: sentence(time),
        };
        difference.totals.iter().filter(is_slower).map(broken).collect()
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
