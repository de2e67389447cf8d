//! Broken limits where other programs look for findings: each with the line that it belongs to.

use gpucast_counters::definitions::{Basis, definition};
use gpucast_forecast::difference::{Broken, Condition};
use gpucast_forecast::{Report, number};

use super::lines::{Costs, LineChange};
use crate::marks::{self, Looked, Mark, MarkFormat, Rule};

/// A condition, and what breaks it.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The condition.
    pub condition: Condition,
    /// What breaks it; nothing if it holds.
    pub broken: Vec<Broken>,
}

/// A KERNEL that was held to conditions.
pub struct Held<'a> {
    /// Its name.
    pub name: &'a str,
    /// The conditions.
    pub checked: &'a [Checked],
    /// The lines of each launch; those after alone if nothing is known of those before.
    pub lines: &'a [Vec<LineChange>],
    /// The growth of each launch's time, in milliseconds; the time where there was none before.
    pub growths: Vec<f64>,
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

/// Conditions and what breaks them in a form for CI. Runs of `command` are named by it.
///
/// # Errors
///
/// If the result has a value that the form cannot hold, which no input brings about.
pub fn held(command: &str, kernels: &[Held<'_>], format: MarkFormat) -> Result<String, Report> {
    let marks = || kernels.iter().flat_map(Held::findings).collect::<Vec<Mark>>();
    match format {
        MarkFormat::Sarif => marks::sarif(rules(kernels), &marks()),
        MarkFormat::Github => Ok(marks::annotations(&marks())),
        MarkFormat::Junit => {
            let suite = match kernels {
                [one] => format!("gpucast {command} {}", one.name),
                _ => format!("gpucast {command}"),
            };
            Ok(marks::junit(&suite, &kernels.iter().map(Held::looked).collect::<Vec<Looked>>()))
        }
    }
}

/// Figures with limits: their names stay when limits move. Those whose limits hold are named, too.
fn rules(kernels: &[Held<'_>]) -> Vec<Rule> {
    let mut rules: Vec<Rule> = Vec::new();
    let mut known: Vec<String> = Vec::new();
    for Checked { condition, .. } in kernels.iter().flat_map(|kernel| kernel.checked) {
        // Each KERNEL is held to the same conditions.
        if known.contains(&condition.to_string()) {
            continue;
        }
        known.push(condition.to_string());
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

impl Held<'_> {
    /// The findings of conditions, in their order.
    fn findings(&self) -> Vec<Mark> {
        let of_condition = |one: &Checked| {
            let condition = one.condition.to_string();
            let finding = |broken: &Broken| self.finding(&condition, broken);
            one.broken.iter().map(finding).collect::<Vec<Mark>>()
        };
        self.checked.iter().flat_map(of_condition).collect()
    }

    /// Conditions as what was looked for. Some readers take a suite without a case for a run that
    /// broke off, so that one without conditions has compared.
    fn looked(&self) -> Looked {
        let titles = self.checked.iter().map(|condition| condition.condition.to_string());
        let mut titles: Vec<String> = titles.collect();
        if titles.is_empty() {
            titles.push("compared".to_owned());
        }
        Looked { at: self.name.to_owned(), titles, marks: self.findings() }
    }

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
        let file = grown.as_ref().map_or(self.name, |grown| &grown.costs.file);
        Mark {
            rule: broken.figure.clone(),
            title: condition.to_owned(),
            message: format!("{}{}", broken.sentence, sentence.unwrap_or_default()),
            file: file.replace('\\', "/"),
            line: grown.as_ref().map(|grown| grown.costs.line),
        }
    }

    /// The launch whose time grew most; of equal ones the first.
    fn slowest(&self) -> usize {
        let all = self.growths.iter().enumerate().rev();
        all.max_by(|(_, a), (_, b)| a.total_cmp(b)).map_or(0, |(at, _)| at)
    }
}
