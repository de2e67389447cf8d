//! Least, greatest and mean values of the launches of a kernel, or of all.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use gpucast_counters::metric::Kind;
use gpucast_forecast::nsight::{Figure, Value};

use super::form::PageForm;
use super::launches::{HOST, extent, program};
use super::number::{NumberForm, UNKNOWN};
use super::page::{COMMAND_LINE, sections};
use super::report::{Action, ProfileReport};
use super::tables::{SUMMARY, csv, draw};

/// The launches that are summed up together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Summary {
    /// All of the GPU.
    Gpu,
    /// Those of a kernel with the same grid and block.
    Kernel,
}

/// Launches that belong together.
struct Group<'a> {
    title: String,
    first: &'a Action,
    actions: Vec<&'a Action>,
}

/// The page of a summary.
#[must_use]
pub fn summary(report: &ProfileReport, by: Summary, form: &PageForm) -> String {
    let groups = groups(report, by, form);
    if form.csv { comma_separated(report, &groups, form) } else { text(report, &groups, form) }
}

fn groups<'a>(report: &'a ProfileReport, by: Summary, form: &PageForm) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for action in &report.actions {
        let title = match by {
            Summary::Gpu => format!("Device 0, {}", report.device.display_name),
            Summary::Kernel => format!(
                "{} {}x{}",
                report.profile(action).kernel(form.kernel_names),
                extent(action.grid),
                extent(action.block)
            ),
        };
        let place = *places.entry(title.clone()).or_insert(groups.len());
        match groups.get_mut(place) {
            Some(group) => group.actions.push(action),
            None => groups.push(Group { title, first: action, actions: vec![action] }),
        }
    }
    groups
}

/// A metric of several launches.
struct Line {
    section: &'static str,
    /// Name, unit, least, greatest and mean value.
    cells: [String; 5],
}

fn lines(report: &ProfileReport, group: &Group<'_>, form: &PageForm) -> Vec<Line> {
    let metrics = report.metrics.iter().map(|name| (COMMAND_LINE, name.clone(), name.as_str()));
    let of_sections = sections(report).flat_map(|section| {
        let rows = form.tables(section).into_iter().flat_map(|(_, rows)| rows);
        rows.map(|row| (section.name, form.label(row), row.metric)).collect::<Vec<_>>()
    });
    let line = |(section, label, metric): (&'static str, String, &str)| {
        let figures: Vec<&Figure> = group
            .actions
            .iter()
            .filter_map(|action| report.profile(action).figure(metric))
            .collect();
        let [unit, least, greatest, mean] = values(&figures, form);
        Line { section, cells: [label, unit, least, greatest, mean] }
    };
    metrics.chain(of_sections).map(line).collect()
}

/// Unit, least, greatest and mean of figures; words are their first.
fn values(figures: &[&Figure], form: &PageForm) -> [String; 4] {
    let numbers: Vec<f64> = figures.iter().filter_map(|figure| figure.value.as_f64()).collect();
    let Some(first) = figures.first() else {
        return [String::new(), UNKNOWN.to_owned(), UNKNOWN.to_owned(), UNKNOWN.to_owned()];
    };
    if numbers.is_empty() {
        let word = form.numbers.details(Some(first)).value;
        return [first.unit.clone(), word.clone(), word.clone(), word];
    }
    let least = numbers.iter().copied().fold(f64::INFINITY, f64::min);
    let greatest = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
    let all = |numbers: NumberForm| {
        [least, greatest, mean].map(|value| {
            let (value, unit) = (Value::Real(value), first.unit.clone());
            numbers.details(Some(&Figure { value, unit, kind: Kind::Modelled }))
        })
    };
    let mut printed = all(form.numbers);
    // One unit stands beside all three.
    if printed.iter().any(|metric| metric.unit != printed[0].unit) {
        printed = all(NumberForm { base_units: true, ..form.numbers });
    }
    let [least, greatest, mean] = printed;
    [mean.unit, least.value, greatest.value, mean.value]
}

fn text(report: &ProfileReport, groups: &[Group<'_>], form: &PageForm) -> String {
    let mut text = String::new();
    for group in groups {
        let count = group.actions.len();
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "  {}, Device 0, CC {}, Invocations {count}",
            group.title, report.device.compute_capability
        );
        let lines = lines(report, group, form);
        for same in lines.chunk_by(|one, other| one.section == other.section) {
            let rows: Vec<Vec<String>> = same.iter().map(|line| line.cells.to_vec()).collect();
            let _ = writeln!(text, "    Section: {}\n{}", same[0].section, draw(&SUMMARY, &rows));
        }
    }
    text
}

fn comma_separated(report: &ProfileReport, groups: &[Group<'_>], form: &PageForm) -> String {
    let mut text = csv([
        "Process ID",
        "Process Name",
        "Host Name",
        "Kernel Name",
        "Block Size",
        "Grid Size",
        "Device",
        "CC",
        "Invocations",
        "Section Name",
        "Metric Name",
        "Metric Unit",
        "Minimum",
        "Maximum",
        "Average",
    ]);
    for group in groups {
        let action = group.first;
        let launch = [
            action.process.to_string(),
            program(action),
            HOST.to_owned(),
            report.profile(action).kernel(form.kernel_names),
            extent(action.block),
            extent(action.grid),
            "0".to_owned(),
            report.device.compute_capability.clone(),
            group.actions.len().to_string(),
        ];
        for Line { section, cells } in lines(report, group, form) {
            let own = std::iter::once(section.to_owned()).chain(cells);
            text.push_str(&csv(launch.iter().cloned().chain(own)));
        }
    }
    text
}
