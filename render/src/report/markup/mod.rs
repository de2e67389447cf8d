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

/// Words of the first screen; the glossary of the documentation has more.
const WORDS: &[(&str, &str)] = &[
    ("block", "threads that share memory and barriers and run on one SM; PTX calls it a CTA"),
    ("warp", "32 threads that execute an instruction together"),
    ("SM", "the unit that executes blocks; a GPU has tens to hundreds of them"),
    ("issue slot", "a clock in which a sub-core of an SM can issue an instruction"),
    ("bound", "the resource that is busy longest"),
    ("wave", "the blocks that fit on the GPU at once"),
    ("tail", "the end of a launch, when some SMs have no warp left"),
    ("occupancy", "warps that an SM holds, divided by the most that it can hold"),
    ("request", "one access of one warp to memory"),
    ("sector", "32 bytes: the least that the caches and device memory move"),
    ("pass", "one use of the banks of shared memory by a request"),
    ("replay", "a pass beyond the first"),
    ("queue of global accesses", "it is full: Nsight Compute's lg_throttle"),
    ("queue of shared accesses", "it is full: Nsight Compute's mio_throttle"),
    ("L1, L2, DRAM latency", "warps wait for a result of that level: part of long_scoreboard"),
    ("load-store, L2, DRAM bandwidth", "other accesses come first there: part of long_scoreboard"),
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
const PARTS: [&str; 8] =
    ["changes", "source", "models", "memory", "occupancy", "pictures", "stages", "counts"];

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
        },
        contents: Some(contents(launches)),
        style: &format!("@media (prefers-color-scheme: dark) {{\n{dark}}}\n"),
        main: html! {
            @for one in launches { (launch::section(one)) }
            (figures(gpus))
            (kinds())
            (glossary())
        },
        command: &format!("gpucast report {} --gpu {}", inputs.join(" "), names.join(",")),
    };
    page.document()
}

fn contents(launches: &[Launch]) -> Markup {
    html! {
        ul {
            @for launch in launches {
                li {
                    a.launch href={ "#" (launch.id) } { (launch.kernel) }
                    ul {
                        @for part in PARTS {
                            li { a href={ "#" (launch.id) "-" (part) } { (part) } }
                        }
                    }
                }
            }
            li { a href="#gpus" { "GPUs" } }
            li { a href="#kinds" { "trust" } }
            li { a href="#words" { "words" } }
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

/// The words of the first screen.
fn glossary() -> Markup {
    let table = Table {
        caption: "Words of this page",
        columns: vec![words("word"), words("meaning")],
        rows: html! {
            @for (word, meaning) in WORDS { tr { th scope="row" { (word) } td { (meaning) } } }
        },
        ..Table::default()
    };
    html! {
        section id="words" aria-labelledby="words-title" {
            h2 id="words-title" { "Words" }
            details {
                summary { "What the words of this page mean" }
                (table.markup())
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
            details {
                summary { "Assumptions of all models" }
                ul { @for assumption in ASSUMPTIONS { li { (assumption) } } }
            }
        }
    }
}
