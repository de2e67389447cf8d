//! The sources of a kernel with the cost of each line.

use maud::{Markup, html};

use super::super::launch::Launch;
use super::super::source::{Listing, Row};
use crate::html::{Column, Label, Table, classed, numbers, region};

/// The listings of a launch; the first one is open.
pub(super) fn listings(launch: &Launch) -> Markup {
    html! {
        p {
            "Shares are of the " (launch.sources.share_of) ". Library code that was inlined belongs to \
            the line that calls it. “Ideal” is what the same requests would take with consecutive \
            addresses and without bank conflicts."
        }
        @for (at, listing) in launch.sources.listings.iter().enumerate() {
            details open[at == 0] {
                summary { (listing.language) }
                (one(launch, listing))
            }
        }
    }
}

fn one(launch: &Launch, listing: &Listing) -> Markup {
    let id = format!("{}-{}", launch.id, listing.language);
    let label = format!("{} of {}", listing.language, launch.kernel);
    let table = Table {
        class: Some("source"),
        id: Some(&id),
        caption: &format!("{label} with its costs"),
        columns: columns(listing),
        rows: html! { @for line in &listing.rows { (row(listing, line)) } },
    };
    html! {
        p.columns hidden {
            label { input type="checkbox" data-columns=(id); " all columns" }
        }
        (region("wide source", Label::Words(&label), table.markup()))
    }
}

/// Returns true if the lines have a column for their CUDA lines.
fn has_cuda_lines(listing: &Listing) -> bool {
    listing.language == "PTX"
}

/// Returns true if the lines have a column for their machine code.
fn has_machine_code(listing: &Listing) -> bool {
    !listing.machine.is_empty()
}

/// Counts that all screens but the narrowest have room for, beside the code.
const FIRST: [&str; 3] = ["warps", "sectors", "shared passes"];

/// The class of a count's column: narrow screens leave out `some`, all but wide ones `more`.
fn count_class(title: &str, is_words: bool) -> &'static str {
    match (is_words, FIRST.contains(&title)) {
        (true, _) => "some words",
        (false, true) => "some number",
        (false, false) => "more number",
    }
}

fn columns(listing: &Listing) -> Vec<Column<'static>> {
    let mut columns =
        vec![classed("line", "line"), numbers("share, %"), classed(listing.language, "text")];
    columns.push(crate::html::words("excess"));
    let counts = listing.titles.iter();
    columns.extend(counts.map(|title| classed(title, count_class(title, *title == listing.words))));
    if has_cuda_lines(listing) {
        columns.push(classed("CUDA line", "number more"));
    }
    if has_machine_code(listing) {
        columns.push(classed(listing.machine, "more"));
    }
    columns
}

fn row(listing: &Listing, row: &Row) -> Markup {
    if row.is_file {
        return html! {
            tr.file { th scope="colgroup" colspan=(listing.titles.len() + 6) { (row.text) } }
        };
    }
    if row.idle {
        return html! {
            tr.idle {
                td.line.number { (row.line) }
                td {}
                td.code { (row.text) }
                td {}
                @for title in &listing.titles {
                    td class=(count_class(title, *title == listing.words)) {}
                }
                @if has_cuda_lines(listing) { td.more {} }
                @if has_machine_code(listing) { td.more {} }
            }
        };
    }
    let bar = (!row.share.is_empty()).then(|| format!("--part: {}%", row.share));
    let stalls = (!row.stalls.is_empty()).then_some(&row.stalls);
    html! {
        tr class={ "heat-" (row.heat) } {
            @if row.line.is_empty() {
                td.line.number {}
            } @else {
                th.line.number scope="row" { (row.line) }
            }
            td.number.share style=[bar] title=[stalls] { (row.share) }
            td.code {
                code { (row.text) }
                @if !row.chains.is_empty() {
                    details.chains {
                        summary { "inlined here" }
                        ul { @for chain in &row.chains { li { (chain) } } }
                    }
                }
            }
            td.excess { (row.excess) }
            @for (title, (text, is_words)) in listing.titles.iter().zip(&row.cells) {
                td class=(count_class(title, *is_words)) { (text) }
            }
            @if has_cuda_lines(listing) { td.number.more { (row.cuda_line) } }
            @if has_machine_code(listing) { td.code.more { code { (row.machine) } } }
        }
    }
}
