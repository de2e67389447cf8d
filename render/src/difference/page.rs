//! Two runs side by side as one HTML file.

use gpucast_forecast::difference::{CountChange, Difference, LaunchChange, TimeChange};
use maud::{Markup, html};

use super::lines::{LineChange, SHOWN};
use super::{AdviceChange, Parts, change, percent, title, value};
use crate::advice::{self, capitalised};
use crate::html::{Column, Label, Page, Table, classed, numbers, region, sorted, words};

/// The page.
pub(super) fn page(
    difference: &Difference,
    [before, after]: [&str; 2],
    parts: &[Option<Parts<'_>>],
) -> String {
    let launches = difference.launches.iter().zip(parts).enumerate();
    let several = difference.launches.len() > 1;
    let page = Page {
        title: &format!("{before} and {after}"),
        heading: &format!("{before} → {after}"),
        lead: html! {
            p.muted { "Two predictions side by side. This file needs nothing but itself." }
        },
        contents: None,
        style: "",
        main: html! {
            section aria-labelledby="totals-title" {
                h2 id="totals-title" { "All launches together" }
                (region(
                    "wide",
                    Label::Words("Times of all launches"),
                    times("Predicted times before and after", &difference.totals),
                ))
            }
            @for (at, (change, parts)) in launches { (launch(at, change, *parts, several)) }
        },
        command: "gpucast diff",
    };
    page.document()
}

/// The times by GPU and model.
fn times(caption: &str, times: &[TimeChange]) -> Markup {
    let table = Table {
        class: Some("sortable"),
        caption,
        columns: vec![
            words("GPU"),
            words("model"),
            numbers("before"),
            numbers("after"),
            numbers("change"),
        ],
        rows: html! {
            @for time in times {
                tr {
                    th scope="row" { (time.gpu) }
                    td.name { (time.model) }
                    td.number { (time.texts[0]) }
                    td.number { (time.texts[1]) }
                    td.number data-sort=(time.change) { strong { (percent(time.change)) } }
                }
            }
        },
        ..Table::default()
    };
    table.markup()
}

/// The section on a launch; `several` if the difference has others.
fn launch(at: usize, launch: &LaunchChange, parts: Option<Parts<'_>>, several: bool) -> Markup {
    let id = format!("launch-{at}");
    let title = title(launch);
    let label = |part: &str| format!("{id}-title {id}-{part}");
    let metrics = format!("{id}-metrics");
    let source = format!("{id}-table");
    html! {
        section id=(id) aria-labelledby={ (id) "-title" } {
            h2 id={ (id) "-title" } { (title) }
            @if several {
                (region(
                    "wide",
                    Label::Words(&format!("Times of {title}")),
                    times("Predicted times of this launch", &launch.times),
                ))
            }
            @if let Some(parts) = parts {
                h3 id={ (id) "-advice" } { "What to change" }
                @if parts.advice.is_empty() {
                    p { (advice::NO_CHANGE) }
                } @else {
                    (region("wide", Label::Elements(&label("advice")), causes(parts.advice)))
                }
                h3 id={ (id) "-lines" } { "Lines" }
                p.columns hidden {
                    label { input type="checkbox" data-columns=(source); " all columns" }
                }
                (region("wide source", Label::Elements(&label("lines")), lines(&source, parts.lines)))
            }
            h3 id={ (id) "-counts" } { "Counts" }
            p.search hidden {
                label { "Search " input type="search" data-filter=(metrics); }
                " "
                label {
                    input type="checkbox" data-differing=(metrics) checked;
                    " only what differs"
                }
                " "
                span id={ (metrics) "-found" } role="status" {}
            }
            (region("wide", Label::Elements(&label("counts")), counts(&metrics, &launch.counts)))
        }
    }
}

/// What slows the launch before and after.
fn causes(changes: &[AdviceChange]) -> Markup {
    let row = |one: &AdviceChange| {
        let [before, after] = one.gains();
        // What was changed, if the cause is gone.
        let said = one.said().map_or("", |found| found.change.as_str());
        html! {
            tr {
                td.name { (one.state.word()) }
                th.cause scope="row" { (capitalised(one.title)) " " code { (one.rule) } }
                td.number { (before) }
                td.number { (after) }
                td.name { (one.models()) }
                td.name { (one.gpu) }
                td.name { (one.place()) }
                td.reason { (said) }
            }
        }
    };
    let table = Table {
        class: Some("sortable"),
        caption: "Causes that are gone, new, or stay, with what their change would gain before and \
                  after",
        columns: vec![
            words("state"),
            words("cause"),
            numbers("before"),
            numbers("after"),
            words("by"),
            words("GPU"),
            words("at"),
            words("change"),
        ],
        rows: html! { @for one in changes { (row(one)) } },
        ..Table::default()
    };
    table.markup()
}

/// The class of a column of costs; narrow screens show two of them.
fn cost_class(at: usize) -> &'static str {
    if matches!(at, 1 | 3) { "number" } else { "number more" }
}

/// Costs of each line.
fn lines(id: &str, lines: &[LineChange]) -> Markup {
    let row = |line: &LineChange| {
        let [before, after] = line.numbers();
        // In words, so that no colour alone says it.
        let state = match (&line.before, &line.after) {
            _ if line.is_same() => "",
            (Some(_), Some(_)) => "changed",
            (None, _) => "new",
            (_, None) => "gone",
        };
        html! {
            tr class=(if state.is_empty() { "idle" } else { "heat-2" }) {
                td.line.number { (before) }
                td.number.more { (after) }
                td.more { (state) }
                @for (at, (_, cost)) in SHOWN.iter().enumerate() {
                    td class=(cost_class(at)) { (line.cell(*cost)) }
                }
                td.code {
                    @for (sign, text) in line.texts() { div { (sign) " " code { (text) } } }
                }
            }
        }
    };
    let shown = SHOWN.iter().enumerate();
    let mut columns =
        vec![classed("before", "line"), classed("after", "number more"), classed("state", "more")];
    columns.extend(shown.map(|(at, (title, _))| classed(title, cost_class(at))));
    columns.push(words("source"));
    let table = Table {
        class: Some("source"),
        id: Some(id),
        caption: "Costs of each line, before → after",
        columns,
        rows: html! { @for line in lines { (row(line)) } },
    };
    table.markup()
}

/// The metrics of a launch.
fn counts(id: &str, counts: &[CountChange]) -> Markup {
    let columns: Vec<Column<'_>> = vec![
        words("metric"),
        numbers("before"),
        numbers("after"),
        words("unit"),
        numbers("change"),
    ];
    let row = |count: &CountChange| {
        let changed = if count.is_same() { String::new() } else { change(count) };
        html! {
            tr class=[count.is_same().then_some("muted")] {
                th scope="row" { code { (count.metric) } }
                td.number { (value(count.before)) }
                td.number { (value(count.after)) }
                td.name { (count.unit) }
                (sorted(&changed, count.change().unwrap_or(0.0)))
            }
        }
    };
    let table = Table {
        class: Some("sortable"),
        id: Some(id),
        caption: "Metrics before and after",
        columns,
        rows: html! { @for count in counts { (row(count)) } },
    };
    table.markup()
}
