//! The pages of single launches: details, raw values, and the session.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::form::{Page, PageForm};
use super::launches::{COLUMNS, process};
use super::number::{NumberForm, Printed};
use super::report::{Action, ProfileReport};
use super::sections::{Row, SECTIONS, Section};
use super::source::source;
use super::tables::{METRICS, csv, draw};

/// The name of the section that shows metrics asked for by name.
pub(super) const COMMAND_LINE: &str = "Command line profiler metrics";

/// A page of a report.
#[must_use]
pub fn page(report: &ProfileReport, form: &PageForm) -> String {
    match (form.page, form.csv) {
        (Page::Details, true) => details_csv(report, form),
        (Page::Raw, true) => raw_csv(report, form),
        (Page::Source, _) => source(report, form),
        (Page::Session, _) => session(report, form.csv),
        (Page::Details | Page::Raw, false) => text(report, form),
    }
}

/// The sections of a report, in the order of the page.
pub(super) fn sections(report: &ProfileReport) -> impl Iterator<Item = &'static Section> {
    SECTIONS
        .iter()
        .filter(|section| report.sections.iter().any(|identifier| identifier == section.identifier))
}

fn details_csv(report: &ProfileReport, form: &PageForm) -> String {
    let metrics = ["Section Name", "Metric Name", "Metric Unit", "Metric Value"];
    let mut text = csv(COLUMNS.into_iter().chain(metrics));
    for (id, action) in report.actions.iter().enumerate() {
        let (cells, launch) = (report.cells(id, action, form.kernel_names), report.profile(action));
        let mut line = |section: &str, name: &str, Printed { unit, value }: Printed| {
            let own = [section.to_owned(), name.to_owned(), unit, value];
            text.push_str(&csv(cells.iter().cloned().chain(own)));
        };
        for name in &report.metrics {
            line(COMMAND_LINE, name, form.numbers.details(launch.figure(name)));
        }
        for section in sections(report) {
            for row in form.tables(section).into_iter().flat_map(|(_, rows)| rows) {
                let printed = form.numbers.details(launch.figure(row.metric));
                line(section.name, &form.label(row), printed);
            }
        }
    }
    text
}

fn raw_csv(report: &ProfileReport, form: &PageForm) -> String {
    let names: BTreeSet<&str> =
        report.actions.iter().flat_map(|action| report.profile(action).names()).collect();
    let mut text = csv(COLUMNS.into_iter().chain(names.iter().copied()));
    // Values of a column share a unit, so that units stay as they are.
    let numbers = NumberForm { base_units: true, ..form.numbers };
    let unit = |name: &&str| {
        let mut figures =
            report.actions.iter().filter_map(|action| report.profile(action).figure(name));
        figures.next().map_or(String::new(), |figure| figure.unit.clone())
    };
    let none = COLUMNS.iter().map(|_| String::new());
    text.push_str(&csv(none.chain(names.iter().map(unit))));
    for (id, action) in report.actions.iter().enumerate() {
        let launch = report.profile(action);
        let values = names.iter().map(|name| numbers.raw(launch.figure(name)).value);
        let cells = report.cells(id, action, form.kernel_names);
        text.push_str(&csv(cells.into_iter().chain(values)));
    }
    text
}

fn text(report: &ProfileReport, form: &PageForm) -> String {
    let mut text = String::new();
    let mut last: Option<&Action> = None;
    for action in &report.actions {
        if last.is_none_or(|last| last.process != action.process) {
            text.push_str(&process(action));
        }
        last = Some(action);
        text.push_str(&report.title(action, form.kernel_names));
        match form.page {
            Page::Raw => raw_table(report, action, form, &mut text),
            Page::Details | Page::Source | Page::Session => {
                details(report, action, form, &mut text)
            }
        }
    }
    text
}

/// A row of a table of metrics.
fn row(name: String, Printed { unit, value }: Printed) -> Vec<String> {
    vec![name, unit, value]
}

fn details(report: &ProfileReport, action: &Action, form: &PageForm, text: &mut String) {
    let launch = report.profile(action);
    // Writing to a string cannot fail.
    if !report.metrics.is_empty() {
        let metric = |name: &String| row(name.clone(), form.numbers.details(launch.figure(name)));
        let rows: Vec<Vec<String>> = report.metrics.iter().map(metric).collect();
        let _ = writeln!(text, "    Section: {COMMAND_LINE}\n{}", draw(&METRICS, &rows));
    }
    for section in sections(report) {
        let tables = form.tables(section);
        if tables.is_empty() {
            continue;
        }
        let _ = writeln!(text, "    Section: {}", section.name);
        for (name, rows) in tables {
            if let Some(name) = name {
                let _ = writeln!(text, "    Table Name : {name}");
            }
            let metric =
                |one: &Row| row(form.label(one), form.numbers.details(launch.figure(one.metric)));
            let rows: Vec<Vec<String>> = rows.iter().map(metric).collect();
            let _ = writeln!(text, "{}", draw(&METRICS, &rows));
        }
    }
}

fn raw_table(report: &ProfileReport, action: &Action, form: &PageForm, text: &mut String) {
    let launch = report.profile(action);
    let metric = |name: &str| row(name.to_owned(), form.numbers.raw(launch.figure(name)));
    let rows: Vec<Vec<String>> = launch.names().map(metric).collect();
    let _ = writeln!(text, "{}", draw(&METRICS, &rows));
}

fn session(report: &ProfileReport, is_csv: bool) -> String {
    let device = &report.device;
    let rows = [
        ("Command line", report.command.join(" ")),
        ("Device", format!("{} ({}), modelled", device.display_name, device.name)),
        ("Compute capability", device.compute_capability.clone()),
        ("Times", format!("predicted by {} of gpucast {}", report.model, report.version)),
        ("Results", report.actions.len().to_string()),
    ];
    if is_csv {
        return csv(["Name", "Value"]) + &rows.map(|(name, value)| csv([name, &value])).concat();
    }
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let line = |(name, value): (&str, String)| format!("    {name:<width$}  {value}\n");
    format!("  Session\n{}", rows.map(line).concat())
}
