//! A report of a program as one HTML file.

use gpucast_forecast::number;
use gpucast_host::report::{Copies, KernelRow, ProcessReport};
use gpucast_model::duration;
use maud::{Markup, html};
use serde_json::json;

use crate::html::{Label, Page, Table, numbers, region, sorted, words};

/// The page.
pub(super) fn page(reports: &[ProcessReport]) -> String {
    // Most programs are one process.
    let mut names: Vec<&str> = reports.iter().map(|report| file_name(&report.program)).collect();
    names.dedup();
    let title = match names.as_slice() {
        [] => "Launches of a program".to_owned(),
        names => format!("Launches of {}", names.join(", ")),
    };
    let page = Page {
        title: &title,
        heading: &title,
        lead: html! {
            p.muted {
                "Launches of a program, predicted without a GPU. gpucast " (env!("CARGO_PKG_VERSION"))
                "; this file needs nothing but itself."
            }
        },
        contents: None,
        style: "",
        main: html! {
            @if reports.is_empty() { p { "The program launched no kernel and copied nothing." } }
            @for (at, report) in reports.iter().enumerate() { (process(at, report)) }
        },
        command: "gpucast exec --report",
    };
    page.document()
}

/// A path without its folders.
fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn process(at: usize, report: &ProcessReport) -> Markup {
    let title = format!("process-{at}-title");
    let label = format!("Kernels of {}", report.program);
    html! {
        section id={ "process-" (at) } aria-labelledby=(title) {
            h2 id=(title) { (report.program) }
            p {
                "On " (report.gpu_name) " (" (report.gpu) "). Predicted by " (report.model)
                "; caches are modelled as on the " (report.counted_on)
                "; the last operation ends at " (duration(report.end_ms)) "."
            }
            (region("wide", Label::Words(&label), kernels(&report.kernels)))
            @if !report.copies.is_empty() {
                h3 { "Copies" }
                ul { @for row in &report.copies { li { (copies(row)) } } }
            }
            @if let Some(findings) = report.findings.as_ref().filter(|all| !all.is_empty()) {
                h3 { "Findings" }
                ul {
                    @for found in findings {
                        li { (found.kernel) ": " (found.text) " (" (found.occurrences) " times)" }
                    }
                }
            }
        }
    }
}

fn kernels(rows: &[KernelRow]) -> Markup {
    let row = |row: &KernelRow| {
        let percent = 100.0 * row.share.unwrap_or(0.0);
        let share = row.share.map_or_else(String::new, |share| format!("{:.1} %", 100.0 * share));
        html! {
            tr {
                th scope="row" { code { (row.kernel) } }
                td.number.bar style={ "--part: " (percent) "%" } data-sort=(percent) { (share) }
                (time(row.time_ms))
                td.number { (number::count(row.launches)) }
                (time(row.time_ms.map(|all| all / row.launches.max(1) as f64)))
                (time(row.least_ms))
                (time(row.most_ms))
                td.name { (row.bound.as_deref().unwrap_or_default()) }
                td { @for code in &row.warning_codes { code { (code) } " " } }
            }
        }
    };
    let table = Table {
        class: Some("sortable"),
        caption: "Kernels by their share of the predicted time",
        columns: vec![
            words("kernel"),
            numbers("share"),
            numbers("time"),
            numbers("launches"),
            numbers("mean"),
            numbers("shortest"),
            numbers("longest"),
            words("bound by"),
            words("warnings"),
        ],
        rows: html! { @for one in rows { (row(one)) } },
        ..Table::default()
    };
    table.markup()
}

/// A time, sorted by its milliseconds; empty and endless if nothing is predicted.
fn time(ms: Option<f64>) -> Markup {
    sorted(&ms.map_or_else(String::new, duration), ms.unwrap_or(f64::INFINITY))
}

fn copies(row: &Copies) -> String {
    let direction = json!(row.direction);
    let copied = if row.count == 1 { "copy" } else { "copies" };
    // Without a link copies take no time.
    let time = match row.time_ms {
        0.0 => "no time (--link gives them one)".to_owned(),
        ms => duration(ms),
    };
    format!(
        "{}: {} {copied}, {} bytes, {time}",
        direction.as_str().unwrap_or_default().replace('-', " "),
        number::count(row.count),
        number::count(row.bytes),
    )
}
