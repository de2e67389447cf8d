//! A judgement as one HTML file.

use gpucast_forecast::number;
use gpucast_judge::judgement::{Case, Evidence, Judgement, LeftOut};
use gpucast_judge::time::{SideTime, Times};
use gpucast_judge::work::Work;
use maud::{Markup, html};

use super::evidence::{self, Quotable, Told};
use super::{cost, text};
use crate::advice::{capitalised, gain};
use crate::html::{Label, Page, Table, classed, numbers, region, words};

/// Lines of code that are shown before and behind the one that is meant.
const NEIGHBOURS: u32 = 3;

/// The page.
pub(super) fn page(judgement: &Judgement) -> String {
    let Judgement { candidate, reference, verdict, .. } = judgement;
    let title = format!("{}: {candidate} against {reference}", verdict.name());
    let page = Page {
        title: &title,
        heading: &title,
        lead: html! {
            p { (text::meaning(judgement)) " " (text::tried(judgement)) }
            p.muted {
                "Judged without a GPU. gpucast " (env!("CARGO_PKG_VERSION"))
                "; this file needs nothing but itself."
            }
        },
        contents: None,
        style: "",
        main: html! {
            (cards(judgement))
            @if !judgement.evidence.is_empty() {
                section aria-labelledby="faults-title" {
                    h2 id="faults-title" { "What is wrong" }
                    @for one in &judgement.evidence { (faults(one, judgement)) }
                }
            }
            @if let Some(times) = &judgement.times { (times_of(times)) }
            @if let Some(work) = &judgement.work { (work_of(work)) }
            (advice(judgement))
            (runs(judgement))
            (limits(judgement))
        },
        command: "gpucast judge",
    };
    page.document()
}

/// The answer in a few words.
fn cards(judgement: &Judgement) -> Markup {
    let agreeing = judgement.cases.iter().filter(|case| case.agrees).count() as u64;
    let runs = judgement.cases.len() as u64;
    html! {
        div.verdict {
            div.card {
                div.muted { "Verdict" }
                div.time { (judgement.verdict.name()) }
                @if let Some(confidence) = judgement.confidence() {
                    div { "confidence " (number::percent(confidence)) }
                }
            }
            div.card {
                div.muted { "Results" }
                div.time { (number::count(agreeing)) " of " (number::count(runs)) }
                div { "runs agree" }
            }
            @if let Some(times) = &judgement.times {
                div.card {
                    div.muted { "Time on " (times.gpu) }
                    div.time { (times.candidate.text) }
                    div { "the reference " (times.reference.text) }
                }
            }
        }
    }
}

fn faults(one: &Evidence, judgement: &Judgement) -> Markup {
    let at = one.at.as_ref().map(|(size, inputs)| text::place_in_words(size, *inputs));
    let told = evidence::told(one, judgement);
    html! { @for one in &told { (fault(one, at.as_deref())) } }
}

fn fault(told: &Told, at: Option<&str>) -> Markup {
    html! {
        h3 { (told.code) }
        p {
            @if let Some(place) = &told.place { code { (place) } ": " }
            (told.message)
            @if let Some(at) = at { " (" (at) ")" }
        }
        @if let Some(place) = &told.place { (code(&place.code)) }
        @if !told.facts.is_empty() { ul { @for fact in &told.facts { li { (fact) } } } }
        @if let Some(hint) = &told.hint { p { strong { "Help: " } (hint) } }
    }
}

/// The line that is meant, among its neighbours.
fn code(code: &Quotable) -> Markup {
    let around = code.around(NEIGHBOURS);
    if around.is_empty() {
        return html! {};
    }
    let caption = format!("Around {}:{}", code.file, code.line);
    let table = Table {
        class: Some("source"),
        caption: &caption,
        columns: vec![classed("line", "line"), words("code")],
        rows: html! {
            @for (number, line) in around {
                tr class=(if number == code.line { "heat-4" } else { "idle" }) {
                    th.line.number scope="row" { (number) }
                    td.code { code { (line) } }
                }
            }
        },
        ..Table::default()
    };
    region("wide source", Label::Words(&caption), table.markup())
}

fn times_of(times: &Times) -> Markup {
    let row = |name: &str, side: &SideTime| {
        html! {
            tr {
                th scope="row" { (name) }
                td.number { (side.text) }
                td.name { (cost::interval(side)) }
                td.name { (side.bound) }
                td.name { (side.model) }
                td.reason { (side.measured_as.text()) }
            }
        }
    };
    let table = Table {
        caption: "Predicted times, with the interval that 4 of 5 measured kernels lie in",
        columns: vec![
            words("kernel"),
            numbers("time"),
            words("interval"),
            words("bound by"),
            words("model"),
            words("measured as"),
        ],
        rows: html! {
            (row("reference", &times.reference))
            (row("candidate", &times.candidate))
        },
        ..Table::default()
    };
    html! {
        section aria-labelledby="times-title" {
            h2 id="times-title" { "Time on " (times.gpu) }
            p { (cost::speed_up(times)) }
            (region("wide", Label::Elements("times-title"), table.markup()))
        }
    }
}

fn work_of(work: &Work) -> Markup {
    let table = Table {
        caption: "Distinct bytes and operations of both sides",
        columns: vec![words("what"), numbers("reference"), numbers("candidate")],
        rows: html! {
            @for [what, reference, candidate] in cost::work_rows(work) {
                tr {
                    th scope="row" { (what) }
                    td.number { (reference) }
                    td.number { (candidate) }
                }
            }
        },
        ..Table::default()
    };
    html! {
        section aria-labelledby="work-title" {
            h2 id="work-title" { "Work against the reference’s" }
            @if !work.skipped.is_empty() {
                ul.warnings {
                    @for skipped in &work.skipped {
                        li { (capitalised(&cost::sentence(skipped))) "." }
                    }
                }
            }
            (region("wide", Label::Elements("work-title"), table.markup()))
        }
    }
}

fn advice(judgement: &Judgement) -> Markup {
    let Some(item) = &judgement.advice else { return html! {} };
    html! {
        section aria-labelledby="advice-title" {
            h2 id="advice-title" { "What to change first" }
            p {
                strong { (capitalised(item.title)) } " (" code { (item.rule) } ", " (gain(item)) ")"
            }
            p { (item.change) }
            @if let Some(place) = item.places.first() {
                p {
                    "At " code { (place.file) ":" (place.line) } " "
                    code { (place.text.as_deref().unwrap_or_default()) }
                }
            }
        }
    }
}

fn runs(judgement: &Judgement) -> Markup {
    let row = |case: &Case| {
        html! {
            tr {
                th scope="row" { (text::place_in_words(&case.size, case.inputs)) }
                td { (if case.agrees { "agree" } else { "differ" }) }
            }
        }
    };
    let table = Table {
        caption: "Sizes and inputs, with the results of both sides",
        columns: vec![words("run"), words("results")],
        rows: html! { @for case in &judgement.cases { (row(case)) } },
        ..Table::default()
    };
    html! {
        section aria-labelledby="runs-title" {
            h2 id="runs-title" { "What was tried" }
            @if !judgement.cases.is_empty() {
                (region("wide", Label::Elements("runs-title"), table.markup()))
            }
            @if !judgement.left_out.is_empty() {
                h3 { "Not tried" }
                ul {
                    @for LeftOut { what, because } in &judgement.left_out {
                        li { (what) ": " (because) }
                    }
                }
            }
        }
    }
}

/// By what the candidate was held back.
fn limits(judgement: &Judgement) -> Markup {
    let Some(limits) = &judgement.confinement else { return html! {} };
    let free = text::free(judgement);
    html! {
        section aria-labelledby="limits-title" {
            h2 id="limits-title" { "Limits" }
            p {
                "A process of its own, with " (number::count(limits.seconds)) " s and "
                (number::count(limits.bytes)) " bytes."
                @if !free.is_empty() { " Not held back on this system: " (free) "." }
            }
        }
    }
}
