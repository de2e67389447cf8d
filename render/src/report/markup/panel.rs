//! A model's prediction for a GPU, with every value on the way.

use maud::{Markup, html};

use super::super::launch::Panel;
use crate::html::{Label, Table, numbers, region, words};

/// The prediction for the launch of `kernel`.
pub(super) fn article(kernel: &str, panel: &Panel) -> Markup {
    let place = format!("{} on {}", panel.model, panel.gpu);
    let meters_label = format!("Speed of light of {kernel}: {place}");
    let values_label = format!("Values of {kernel}: {place}");
    html! {
        article data-gpu=(panel.gpu) data-model=(panel.model) aria-label=(place) {
            h4 { (panel.model) " on " (panel.gpu_name) }
            p {
                strong { (panel.time) }
                @if !panel.interval.is_empty() { " (" (panel.interval) ")" }
                ", bound by " (panel.bound) ". " (panel.explanation)
            }
            p { "Measured as: " (panel.measured_as) "." }
            @if !panel.clock.is_empty() { p { "Clock: " (panel.clock) "." } }
            @if !panel.energy.is_empty() { p { "Energy: " (panel.energy) "." } }
            p.muted { (panel.citation) }
            @if !panel.warnings.is_empty() {
                ul.warnings {
                    @for warning in &panel.warnings {
                        li { code { (warning.code) } " " (warning.text) }
                    }
                }
            }
            @if !panel.meters.is_empty() {
                (region("wide meters", Label::Words(&meters_label), meters(panel)))
            }
            details {
                summary { "Every value on the way: " (place) }
                (region("wide", Label::Words(&values_label), symbols(panel)))
            }
        }
    }
}

fn meters(panel: &Panel) -> Markup {
    let table = Table {
        class: Some("meters"),
        caption: "Speed of light: the part of each unit's peak that the kernel uses in the \
                  predicted time",
        columns: vec![words("unit"), numbers("% of peak"), numbers("used"), numbers("peak")],
        rows: html! {
            @for meter in &panel.meters {
                tr {
                    th scope="row" { (meter.unit) }
                    td.number.bar style={ "--part: " (meter.length) "%" } { (meter.percent) " %" }
                    td.number { (meter.achieved) }
                    td.number { (meter.peak) }
                }
            }
        },
        ..Table::default()
    };
    table.markup()
}

fn symbols(panel: &Panel) -> Markup {
    let table = Table {
        caption: "By the paper's symbols",
        columns: vec![words("symbol"), numbers("value"), words("unit")],
        rows: html! {
            @for symbol in &panel.symbols {
                tr {
                    th scope="row" { code { (symbol.name) } }
                    td.number { (symbol.value) }
                    td { (symbol.unit) }
                }
            }
        },
        ..Table::default()
    };
    table.markup()
}
