//! What makes a prediction or a difference a failure.

use std::fmt;
use std::str::FromStr;

use gpucast_model::duration;

use super::bound::Bound;
use super::{CountChange, Difference, Figures, Time, TimeChange};
use crate::comparison::distinct;
use crate::failure::{Report, suggest};
use crate::number;

/// The name of the time of all launches.
const TIME: &str = "time";

/// The same, for a change alone.
const SLOWER: &str = "slower";

/// A figure and its limit: a change against a baseline, as `time:5%`, `inst_executed:1%` and
/// `branch_efficiency:-2%`, or a value, as `time>120us` and `gld_efficiency<50`.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// As it was written.
    text: String,
    /// `time`, `slower`, or a metric.
    figure: String,
    bound: Bound,
}

/// What breaks a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Broken {
    /// The figure: `time`, `slower`, or a metric.
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
        let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let (figure, limit) = text.split_at(text.find(|it| !is_name(it)).unwrap_or(text.len()));
        let is_time = [TIME, SLOWER].contains(&figure);
        let bound = Bound::read(limit, is_time).filter(|_| !figure.is_empty());
        let bound = bound.ok_or("write it like slower:5%, inst_executed:1%, or 'time>120us'")?;
        match bound {
            Bound::Change(change) if is_time && change.is_sign_negative() => {
                Err("a time that falls is no failure".to_owned())
            }
            Bound::Above(_) | Bound::Below(_) if figure == SLOWER => {
                Err("slower is about a change; write it like 'time>120us'".to_owned())
            }
            _ => Ok(Self { text: text.to_owned(), figure: figure.to_owned(), bound }),
        }
    }
}

impl Condition {
    /// The condition that a limit states, as tests have it: `time <= 120us` is broken where
    /// `time>120us` holds.
    ///
    /// # Errors
    ///
    /// If the text is neither `FIGURE <= VALUE` nor `FIGURE >= VALUE`.
    pub fn holding(limit: &str) -> Result<Self, Report> {
        let parts = |holds, breaks| {
            let (figure, value) = limit.split_once(holds)?;
            Some(format!("{}{breaks}{value}", figure.trim()))
        };
        let broken = parts("<=", '>').or_else(|| parts(">=", '<'));
        let condition = broken.and_then(|broken| broken.parse::<Self>().ok());
        let condition = condition.ok_or_else(|| {
            Report::new(format!("`{limit}` is no limit"))
                .hint("write it like 'time <= 120us' or 'inst_executed <= 4096'")
        })?;
        Ok(Self { text: limit.to_owned(), ..condition })
    }

    /// The figure that it bounds: `time`, `slower`, or a metric.
    #[must_use]
    pub fn figure(&self) -> &str {
        &self.figure
    }

    /// Returns true if it bounds a change, which takes a run before.
    #[must_use]
    pub fn is_of_change(&self) -> bool {
        matches!(self.bound, Bound::Change(_))
    }

    /// What breaks the condition; nothing if it holds. A metric that only one side has breaks it,
    /// too: nobody knows how it changed.
    ///
    /// # Errors
    ///
    /// If no launch has the metric, no model the time of all launches, and if it bounds a change
    /// and there is no `difference` to a run before.
    pub fn broken_by(
        &self,
        after: &Figures,
        difference: Option<&Difference>,
    ) -> Result<Vec<Broken>, Report> {
        let is_time = [TIME, SLOWER].contains(&self.figure());
        match (self.bound, difference) {
            (Bound::Change(limit), Some(difference)) if is_time => {
                Ok(self.slower(after, difference, limit))
            }
            (Bound::Change(limit), Some(difference)) => self.changed(difference, limit),
            (Bound::Change(_), None) => Err(self.without_baseline()),
            (Bound::Above(_) | Bound::Below(_), _) if is_time => self.times_beyond(after),
            (Bound::Above(_) | Bound::Below(_), _) => self.values_beyond(after),
        }
    }

    /// Says that a change takes a run before.
    #[must_use]
    pub fn without_baseline(&self) -> Report {
        let hint = "give --baseline FILE, which `gpucast predict … -o FILE` wrote, or bound the \
                    value, as 'time>120us'";
        Report::new(format!("{self} bounds a change, and there is no baseline")).hint(hint)
    }

    fn broken(&self, launch: Option<usize>, sentence: String) -> Broken {
        Broken { figure: self.figure.clone(), launch, sentence }
    }

    /// A GPU whose time no model predicts on both sides breaks it, too.
    fn slower(&self, after: &Figures, difference: &Difference, limit: f64) -> Vec<Broken> {
        let is_slower = |time: &&TimeChange| time.change > limit;
        let broken = |time: &TimeChange| {
            let (percent, limit) = (100.0 * time.change, 100.0 * limit);
            let (gpu, model) = (&time.gpu, &time.model);
            let sentence =
                format!("{percent:.1} % slower on {gpu}, says {model}: the limit is {limit} %");
            self.broken(None, sentence)
        };
        let known: Vec<&str> = difference.totals.iter().map(|time| time.gpu.as_str()).collect();
        let unknown = after.gpus_without(&known).into_iter().map(|gpu| {
            self.broken(None, format!("no model predicts the time on {gpu} before and after"))
        });
        difference.totals.iter().filter(is_slower).map(broken).chain(unknown).collect()
    }

    fn changed(&self, difference: &Difference, limit: f64) -> Result<Vec<Broken>, Report> {
        let metric = &self.figure;
        let mut broken = Vec::new();
        let mut is_known = false;
        for (at, launch) in difference.launches.iter().enumerate() {
            let Some(count) = launch.counts.iter().find(|count| count.metric == *metric) else {
                continue;
            };
            is_known = true;
            let sentence = |words: String| {
                let limit = 100.0 * limit;
                format!("{metric} of {} {words}: the limit is {limit} %", launch.after)
            };
            let words = how_changed(count, limit);
            broken.extend(words.map(|words| self.broken(Some(at), sentence(words))));
        }
        let counts = difference.launches.iter().flat_map(|launch| &launch.counts);
        let names = counts.map(|count| count.metric.as_str());
        if is_known { Ok(broken) } else { Err(self.unknown(names)) }
    }

    /// A GPU on which no model predicts all launches breaks it, too.
    fn times_beyond(&self, after: &Figures) -> Result<Vec<Broken>, Report> {
        let totals = after.totals();
        if totals.is_empty() {
            return Err(Report::new("no model predicts the time of all launches"));
        }
        let beyond = |time: &Time| {
            let limit = self.bound.passed_by(time.ms)?;
            let (gpu, model, text) = (&time.gpu, &time.model, &time.text);
            let limit = duration(limit);
            let sentence = format!("{text} on {gpu}, says {model}: the limit is {limit}");
            Some(self.broken(None, sentence))
        };
        let known: Vec<&str> = totals.iter().map(|time| time.gpu.as_str()).collect();
        let unknown = after.gpus_without(&known).into_iter().map(|gpu| {
            self.broken(None, format!("no model predicts the time of all launches on {gpu}"))
        });
        Ok(totals.iter().filter_map(beyond).chain(unknown).collect())
    }

    fn values_beyond(&self, after: &Figures) -> Result<Vec<Broken>, Report> {
        let metric = &self.figure;
        let values = |(at, launch): (usize, &super::LaunchFigures)| {
            let (value, _) = launch.metrics.get(metric)?;
            let beyond = self.bound.passed_by(*value).map(|limit| {
                let (value, limit) = (number::whole_or_real(*value), number::whole_or_real(limit));
                let kernel = &launch.kernel;
                let sentence = format!("{metric} of {kernel} is {value}: the limit is {limit}");
                self.broken(Some(at), sentence)
            });
            Some(beyond)
        };
        let known: Vec<Option<Broken>> =
            after.launches.iter().enumerate().filter_map(values).collect();
        if known.is_empty() {
            let names = after.launches.iter().flat_map(|launch| launch.metrics.keys());
            return Err(self.unknown(names.map(String::as_str)));
        }
        Ok(known.into_iter().flatten().collect())
    }

    /// Says that no launch has the metric, and which of `names` is near.
    fn unknown<'a>(&self, names: impl Iterator<Item = &'a str>) -> Report {
        let metric = &self.figure;
        let report = Report::new(format!("no launch has the metric {metric}"));
        match suggest(metric, distinct(names)) {
            Some(near) => report.hint(near),
            None => report.hint("docs/metrics.md lists the metrics"),
        }
    }
}

/// How a count goes beyond the change that is accepted; a negative one bounds a fall.
fn how_changed(count: &CountChange, limit: f64) -> Option<String> {
    let is_fall = limit.is_sign_negative();
    match (count.before, count.after) {
        (Some(before), Some(after)) => {
            let grows = after > before * (1.0 + limit);
            let falls = after < before * (1.0 + limit);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_holds_where_its_condition_does_not() {
        for (limit, condition) in [
            ("time <= 120us", "time>120us"),
            ("time<=7.5ms", "time>7.5ms"),
            (" branch_efficiency >= 90 ", "branch_efficiency<90"),
            ("inst_executed <= 4096", "inst_executed>4096"),
        ] {
            let (limit, condition) =
                (Condition::holding(limit).unwrap(), condition.parse::<Condition>().unwrap());
            assert_eq!((&limit.figure, limit.bound), (&condition.figure, condition.bound));
        }
        assert_eq!(Condition::holding("time <= 1ms").unwrap().to_string(), "time <= 1ms");
        let wrong = ["time", "time < 1ms", "time <= 120", "time == 1ms", "<= 4", "a b <= 4"];
        for wrong in wrong.into_iter().chain(["slower <= 1ms", "inst_executed <= 1ms"]) {
            assert!(Condition::holding(wrong).is_err(), "{wrong}");
        }
    }
}
