//! The report as HTML: the frame, the GPUs, and what the kinds of figures mean.

mod launch;
mod memory;
mod panel;
mod source;

use gpucast_model::Gpu;
use gpucast_plot::Theme;
use maud::{Markup, html};

use super::launch::Launch;
use crate::gpu::fields;
use crate::html::{Label, Page, Table, numbers, region, words};

const KINDS: &[(&str, &str)] = &[
    (
        "exact",
        "execution alone: PTX instructions and what they access. Any GPU would count the same.",
    ),
    (
        "modelled",
        "a stated model of the hardware: coalescing, banks, caches, or the machine code that NVIDIA's \
         assembler made of the PTX.",
    ),
    ("estimated", "rules that say which machine instructions PTX becomes, or an extrapolation."),
    ("measured", "a profiler's file."),
];

const ASSUMPTIONS: &[&str] = &[
    "Counts are taken as one GPU's profiler would take them. Predictions that rest on counts of \
     another GPU have a warning.",
    "Every repetition of a launch begins with cold caches.",
    "Models but the simulation know rates, not schedules: latency shows only where they ask for \
     warps.",
    "Times cover the kernel alone, without transfers, unless a model says so.",
];

/// The parts of a launch's section that the contents name.
const PARTS: [&str; 7] =
    ["models", "source", "memory", "occupancy", "pictures", "stages", "counts"];

/// The page for launches of the kernels that `inputs` names.
pub(super) fn page(inputs: &[&str], launches: &[Launch], gpus: &[Gpu]) -> String {
    let names: Vec<&str> = gpus.iter().map(|gpu| gpu.name.as_str()).collect();
    let title = format!("{} on {}", inputs.join(", "), names.join(", "));
    let dark = Theme::dark_style(".picture svg");
    let page = Page {
        title: &title,
        heading: &title,
        lead: html! {
            p.muted {
                "Predicted without a GPU by executing PTX on the CPU. gpucast "
                (env!("CARGO_PKG_VERSION")) "; this file needs nothing but itself."
            }
            (contents(launches))
        },
        style: &format!("@media (prefers-color-scheme: dark) {{\n{dark}}}\n"),
        main: html! {
            @for one in launches { (launch::section(one)) }
            (figures(gpus))
            (kinds())
        },
        command: &format!("gpucast report {} --gpu {}", inputs.join(" "), names.join(",")),
    };
    page.document()
}

fn contents(launches: &[Launch]) -> Markup {
    html! {
        nav aria-label="Contents" {
            ul {
                @for launch in launches {
                    li {
                        a href={ "#" (launch.id) } { (launch.kernel) }
                        ul {
                            @for part in PARTS {
                                li { a href={ "#" (launch.id) "-" (part) } { (part) } }
                            }
                        }
                    }
                }
                li { a href="#gpus" { "GPUs" } }
                li { a href="#kinds" { "how far to trust a figure" } }
            }
        }
    }
}

/// Every figure of the GPUs.
fn figures(gpus: &[Gpu]) -> Markup {
    let table = |gpu: &Gpu| {
        let table = Table {
            class: Some("sortable"),
            caption: &format!("Figures of {}", gpu.display_name),
            columns: vec![words("field"), numbers("value"), words("unit"), words("source")],
            rows: html! {
                @for field in fields(gpu) {
                    tr {
                        th scope="row" { code { (field.name) } }
                        td.number { (field.value) }
                        td.name { (field.unit) }
                        td.meaning { (field.source_kind) ": " (field.source) }
                    }
                }
            },
            ..Table::default()
        };
        table.markup()
    };
    html! {
        section id="gpus" aria-labelledby="gpus-title" {
            h2 id="gpus-title" { "GPUs" }
            p {
                "Every figure with its source. What is " em { "derived" }
                " follows from others by the rule that is named; what is " em { "assumed" }
                " is not known."
            }
            @for gpu in gpus {
                details {
                    summary { (gpu.display_name) " (" (gpu.name) ")" }
                    (region("wide", Label::Words(&format!("Figures of {}", gpu.name)), table(gpu)))
                }
            }
        }
    }
}

/// What the kinds of figures mean, and what all models assume.
fn kinds() -> Markup {
    let table = Table {
        caption: "Kinds of figures",
        columns: vec![words("kind"), words("what it rests on")],
        rows: html! {
            @for (kind, meaning) in KINDS { tr { th scope="row" { (kind) } td { (meaning) } } }
        },
        ..Table::default()
    };
    html! {
        section id="kinds" aria-labelledby="kinds-title" {
            h2 id="kinds-title" { "How far to trust a figure" }
            (table.markup())
            p {
                "Levels: figures of the level " em { "ptx" } " count PTX instructions; those of the level "
                em { "machine" } " the instructions that the PTX becomes, by NVIDIA's assembler or by \
                built-in rules."
            }
            h3 { "Assumptions of all models" }
            ul { @for assumption in ASSUMPTIONS { li { (assumption) } } }
        }
    }
}
