//! The section on a launch: the verdict, what to change, and what both rest on.

use gpucast_forecast::input::kernel_name::readable_in;
use maud::{Markup, PreEscaped, html};

use super::super::advised::{Advised, Change};
use super::super::launch::{Card, Launch, Picture};
use super::super::occupancy::Occupancy;
use super::{memory, panel, source};
use crate::html::{Label, Table, numbers, region, sorted, words};

/// The section.
pub(super) fn section(launch: &Launch) -> Markup {
    let id = &launch.id;
    html! {
        section id=(id) data-launch aria-labelledby={ (id) "-title" } {
            h2 id={ (id) "-title" } { (launch.kernel) }
            p { (launch.shape) @if !launch.verdict.is_empty() { " " strong { (launch.verdict) } } }
            div.first {
                div.verdict { @for one in &launch.cards { (card(one)) } }
                @if let Some(picture) = &launch.first { (drawn(&launch.kernel, picture)) }
            }
            p.muted { (launch.origin) }
            h3 id={ (id) "-changes" } { "What to change" }
            (changes(launch))
            h3 id={ (id) "-source" } { "Source, with what each line costs" }
            (source::listings(launch))
            h3 id={ (id) "-models" } { "Models side by side" }
            (models(launch))
            h3 id={ (id) "-memory" } { "Memory" }
            (memory::charts(launch))
            h3 id={ (id) "-occupancy" } { "Occupancy" }
            @for one in &launch.occupancies { (occupancy(&launch.kernel, one)) }
            h3 id={ (id) "-pictures" } { "Pictures" }
            (pictures(launch))
            h3 id={ (id) "-stages" } { "Stages between barriers" }
            (stages(launch))
            h3 id={ (id) "-counts" } { "Counts" }
            (counts(launch))
        }
    }
}

/// The identifiers of the section's heading and of a part's.
fn headings(launch: &Launch, part: &str) -> String {
    format!("{0}-title {0}-{part}", launch.id)
}

/// A picture that scrolls where it is wider than the screen.
fn drawn(kernel: &str, picture: &Picture) -> Markup {
    let label = format!("{}: {kernel}", picture.name);
    region("picture", Label::Words(&label), PreEscaped(picture.svg.clone()))
}

/// All pictures; those after the rooflines are folded.
fn pictures(launch: &Launch) -> Markup {
    let is_open = |picture: &Picture| picture.name.starts_with("The roofline");
    html! {
        @for picture in &launch.pictures {
            details data-gpu=[&picture.gpu] open[is_open(picture)] {
                summary { (picture.name) }
                (drawn(&launch.kernel, picture))
            }
        }
        @for reason in &launch.undrawn { p.muted { (reason) } }
    }
}

fn card(card: &Card) -> Markup {
    html! {
        div.card {
            div { strong { (card.gpu) } }
            div.time { (card.time) }
            @if !card.interval.is_empty() { div { (card.interval) } }
            div { "bound by " (card.bound) ", says " (card.model) }
            @for line in [&card.others, &card.measured] {
                @if !line.is_empty() { div.muted { (line) } }
            }
        }
    }
}

/// The advice on all GPUs, side by side where there is room.
fn changes(launch: &Launch) -> Markup {
    html! {
        @if launch.advised.is_empty() {
            p { "Advice needs a GPU whose generation is known." }
        }
        div.changes { @for one in &launch.advised { (advised(one)) } }
    }
}

fn advised(one: &Advised) -> Markup {
    html! {
        div.advice data-advice=(one.gpu) {
            h4 { "For the " (one.gpu_name) }
            p.costliest {
                (one.costliest)
                @if !one.code.is_empty() { ": " code { (one.code) } }
            }
            @if one.changes.is_empty() {
                p { "No rule finds a change that would gain 5 %." }
            } @else {
                ol { @for one in &one.changes { li { (change(one)) } } }
            }
        }
    }
}

fn change(change: &Change) -> Markup {
    html! {
        strong { (change.gain) }
        " "
        @if !change.times.is_empty() { span.muted { (change.times) } " " }
        code { (change.rule) }
        p { strong { (change.title) "." } " " (change.change) }
        @if !change.places.is_empty() {
            ul.places {
                @for line in &change.places {
                    li {
                        (line.at)
                        @if !line.code.is_empty() { " " code { (line.code) } }
                    }
                }
            }
        }
        details {
            summary { "Counters and models for " (change.rule) }
            ul {
                @for one in &change.evidence { li { (one) } }
                li { (change.models) }
            }
        }
    }
}

/// The table of predictions, the switches, and each prediction in detail.
fn models(launch: &Launch) -> Markup {
    let table = Table {
        class: Some("sortable"),
        caption: &format!("Predicted times of {}", launch.kernel),
        columns: vec![
            words("GPU"),
            words("model"),
            numbers("time"),
            words("bound by"),
            numbers("measured"),
            numbers("error"),
            words("warnings"),
        ],
        rows: html! {
            @for panel in &launch.panels {
                tr {
                    th scope="row" { (panel.gpu) }
                    td.name { (panel.model) }
                    (sorted(&panel.time, panel.time_ms))
                    td.name { (panel.bound) }
                    td.number { (panel.measured) }
                    td.number { (panel.error) }
                    td.reason { @for warning in &panel.warnings { code { (warning.code) } " " } }
                }
            }
            @for row in &launch.declined {
                tr {
                    th scope="row" { (row.gpu) }
                    td.name { (row.model) }
                    (sorted("–", f64::INFINITY))
                    td { "no prediction" }
                    td {}
                    td {}
                    td.reason { (readable_in(&row.reason, &row.kernel)) }
                }
            }
        },
        ..Table::default()
    };
    html! {
        (region("wide", Label::Elements(&headings(launch, "models")), table.markup()))
        div.switches hidden {
            label {
                "GPU "
                select data-switch="gpu" {
                    @for (name, display_name) in &launch.gpus {
                        option value=(name) { (display_name) }
                    }
                }
            }
            " "
            label {
                "Model "
                select data-switch="model" {
                    @for model in &launch.model_names { option value=(model) { (model) } }
                }
            }
        }
        p.no-panel.muted hidden {
            "This model has no prediction for this GPU; the table says why."
        }
        @for one in &launch.panels { (panel::article(&launch.kernel, one)) }
    }
}

fn occupancy(kernel: &str, one: &Occupancy) -> Markup {
    let label = format!("Limits on {} of {kernel}", one.gpu);
    let limits = Table {
        caption: &format!("Blocks that each limit allows on an SM of {}", one.gpu),
        columns: vec![words("limit"), numbers("blocks"), words("effect")],
        rows: html! {
            @for limit in &one.limits {
                tr {
                    th scope="row" { (limit.name) }
                    td.number { (limit.blocks) }
                    td { @if limit.binds { "◀ limits" } }
                }
            }
        },
        ..Table::default()
    };
    html! {
        div data-gpu=(one.gpu) {
            h4 { (one.gpu) }
            p { (one.words) }
            (region("wide limits", Label::Words(&label), limits.markup()))
            details {
                summary { "Other blocks, registers and shared memory on the " (one.gpu) }
                @for (at, svg) in one.pictures.iter().enumerate() {
                    (region(
                        "picture",
                        Label::Words(&format!("Occupancy on {} of {kernel}, {}", one.gpu, at + 1)),
                        PreEscaped(svg.clone()),
                    ))
                }
            }
        }
    }
}

/// The table of more stages is folded.
const FEW_STAGES: usize = 8;

fn stages(launch: &Launch) -> Markup {
    let column = |(at, title): (usize, &&'static str)| match at {
        0 => words(title),
        _ => numbers(title),
    };
    let table = Table {
        caption: "Counts of each stage",
        columns: launch.stage_titles.iter().enumerate().map(column).collect(),
        rows: html! {
            @for stage in &launch.stages {
                tr {
                    @for (at, cell) in stage.iter().enumerate() {
                        @if at == 0 {
                            th scope="row" { (cell) }
                        } @else {
                            td.number { (cell) }
                        }
                    }
                }
            }
        },
        ..Table::default()
    };
    html! {
        p { (launch.stages_words) }
        @if !launch.stages.is_empty() {
            details open[launch.stages.len() <= FEW_STAGES] {
                summary { "Counts of " (launch.stages.len()) " stages" }
                (region("wide", Label::Elements(&headings(launch, "stages")), table.markup()))
            }
        }
    }
}

fn counts(launch: &Launch) -> Markup {
    let id = format!("{}-metrics", launch.id);
    let table = Table {
        class: Some("sortable"),
        id: Some(&id),
        caption: &format!("Metrics of {}", launch.kernel),
        columns: vec![
            words("metric"),
            numbers("value"),
            words("unit"),
            words("kind"),
            words("level"),
            words("meaning"),
        ],
        rows: html! {
            @for count in &launch.counts {
                tr {
                    th scope="row" { code { (count.name) } }
                    (sorted(&count.value, count.raw))
                    td.name { (count.unit) }
                    td { (count.kind) }
                    td { (count.level) }
                    td.meaning { (count.meaning) }
                }
            }
        },
    };
    html! {
        p { (launch.counts_words) }
        details {
            summary { "All " (launch.counts.len()) " metrics" }
            p.search hidden {
                label { "Search " input type="search" data-filter=(id); }
                " "
                span id={ (id) "-found" } role="status" {}
            }
            (region("wide", Label::Elements(&headings(launch, "counts")), table.markup()))
        }
    }
}
