//! Broken limits where other programs look for findings: each with the line that it belongs to.

use gpucast_counters::definitions::{Basis, definition};
use gpucast_forecast::difference::{Broken, Condition, LaunchChange};
use gpucast_forecast::number;

use super::lines::{Costs, LineChange};
use crate::marks::{Looked, Mark, Rule};

/// A condition, and what breaks it.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The condition.
    pub condition: Condition,
    /// What breaks it; nothing if it holds.
    pub broken: Vec<Broken>,
}

/// The launches of two runs that findings are looked for in.
pub(super) struct Launches<'a> {
    /// What changed of each.
    pub(super) changes: &'a [LaunchChange],
    /// The lines of each; those after alone if the run before is a document.
    pub(super) lines: &'a [Vec<LineChange>],
    /// The name of the run after.
    pub(super) after: &'a str,
}

/// A cost of lines.
#[derive(Clone, Copy, Debug)]
struct Kind {
    words: &'static str,
    of: fn(&Costs) -> u128,
}

/// The cost that a figure adds up, line by line; instructions where it is none of the others.
fn kind(figure: &str) -> Kind {
    match definition(figure).map(|metric| metric.basis) {
        Some(Basis::Banks) => {
            Kind { words: "passes over the banks", of: |costs| costs.shared_passes }
        }
        Some(Basis::AccessModel | Basis::CacheReplay) => {
            Kind { words: "sectors", of: |costs| costs.sectors }
        }
        Some(Basis::Branches) => {
            Kind { words: "divergent branches", of: |costs| costs.divergent_branches }
        }
        _ => Kind { words: "warp instructions", of: |costs| costs.warps },
    }
}

/// The costs of which a time has the one that grew most.
const OF_TIME: [Kind; 3] = [
    Kind { words: "warp instructions", of: |costs| costs.warps },
    Kind { words: "sectors", of: |costs| costs.sectors },
    Kind { words: "passes over the banks", of: |costs| costs.shared_passes },
];

/// A line that grew.
struct Grown<'a> {
    costs: &'a Costs,
    before: Option<u128>,
    growth: u128,
    kind: Kind,
}

/// The line whose cost grew most, or is largest where nothing is known of the run before.
fn most_grown(lines: &[LineChange], kind: Kind) -> Option<Grown<'_>> {
    let has_before = lines.iter().any(|line| line.before.is_some());
    let mut most: Option<Grown<'_>> = None;
    for line in lines {
        let Some(costs) = line.after.as_ref().filter(|costs| costs.line > 0) else { continue };
        let before = line.before.as_ref().map_or(0, kind.of);
        let growth = (kind.of)(costs).saturating_sub(before);
        // Of equal ones the first.
        if growth > most.as_ref().map_or(0, |most| most.growth) {
            most = Some(Grown { costs, before: has_before.then_some(before), growth, kind });
        }
    }
    most
}

impl Grown<'_> {
    /// `Line 12 has 65,536 passes over the banks, and had 2,048.`
    fn sentence(&self) -> String {
        let Self { costs, before, kind, .. } = self;
        let (line, now) = (costs.line, number::count((kind.of)(costs)));
        match before {
            Some(0) => format!("Line {line} has {now} {}, and had none.", kind.words),
            Some(before) => {
                format!("Line {line} has {now} {}, and had {}.", kind.words, number::count(*before))
            }
            None => format!("Line {line} has most {}: {now}.", kind.words),
        }
    }
}

/// Figures with limits: their names stay when limits move. Those whose limits hold are named, too.
pub(super) fn rules(checked: &[Checked]) -> Vec<Rule> {
    let mut rules: Vec<Rule> = Vec::new();
    for Checked { condition, .. } in checked {
        match rules.iter_mut().find(|rule| rule.id() == condition.figure()) {
            Some(rule) => rule.add(&format!(", {condition}")),
            None => {
                let figure = condition.figure().to_owned();
                rules.push(Rule::new(figure, format!("Limits: {condition}")));
            }
        }
    }
    rules
}

/// The findings of conditions, in their order.
pub(super) fn findings(checked: &[Checked], launches: &Launches<'_>) -> Vec<Mark> {
    let of_condition = |one: &Checked| {
        let condition = one.condition.to_string();
        let finding = |broken: &Broken| launches.finding(&condition, broken);
        one.broken.iter().map(finding).collect::<Vec<Mark>>()
    };
    checked.iter().flat_map(of_condition).collect()
}

/// Conditions as what was looked for. Some readers take a suite without a case for a run that broke
/// off, so that one without conditions has compared.
pub(super) fn looked(after: &str, checked: &[Checked], marks: Vec<Mark>) -> Looked {
    let mut titles: Vec<String> = checked.iter().map(|one| one.condition.to_string()).collect();
    if titles.is_empty() {
        titles.push("compared".to_owned());
    }
    Looked { at: after.to_owned(), titles, marks }
}

impl Launches<'_> {
    fn finding(&self, condition: &str, broken: &Broken) -> Mark {
        let launch = broken.launch.unwrap_or_else(|| self.slowest());
        let lines = self.lines.get(launch).map_or(&[][..], Vec::as_slice);
        let grown = match broken.launch {
            Some(_) => most_grown(lines, kind(&broken.figure)),
            None => {
                let of_kinds = OF_TIME.iter().filter_map(|&kind| most_grown(lines, kind));
                of_kinds.rev().max_by_key(|grown| grown.growth)
            }
        };
        let sentence = grown.as_ref().map(|grown| format!(". {}", grown.sentence()));
        let file = grown.as_ref().map_or(self.after, |grown| &grown.costs.file);
        Mark {
            rule: broken.figure.clone(),
            title: condition.to_owned(),
            message: format!("{}{}", broken.sentence, sentence.unwrap_or_default()),
            file: file.replace('\\', "/"),
            line: grown.as_ref().map(|grown| grown.costs.line),
        }
    }

    /// The launch whose time grew most.
    fn slowest(&self) -> usize {
        let growth = |launch: &LaunchChange| {
            let growths = launch.times.iter().map(|time| time.after_ms - time.before_ms);
            growths.fold(0.0, f64::max)
        };
        let all = self.changes.iter().enumerate().rev();
        let slowest = all.max_by(|(_, a), (_, b)| growth(a).total_cmp(&growth(b)));
        slowest.map_or(0, |(at, _)| at)
    }
}
