//! The report on a kernel on GPUs, as one HTML file that refers to nothing outside.
//!
//! `templates/report.html` is the page, which escapes everything but the style sheets and the
//! pictures; the structures here are its content, already in words.

mod launch;
mod source;

use askama::Template;
use gpucast_forecast::Report;
use gpucast_forecast::prediction::KernelView;
use gpucast_model::Gpu;
use gpucast_plot::Theme;

use crate::gpu::{Field, fields};
use crate::profile::View;
use launch::Launch;

#[derive(Template)]
#[template(path = "report.html")]
struct Page {
    title: String,
    version: &'static str,
    style: &'static str,
    /// The colours of pictures on dark screens.
    dark_pictures: String,
    launches: Vec<Launch>,
    gpus: Vec<GpuView>,
    kinds: &'static [(&'static str, &'static str)],
    assumptions: &'static [&'static str],
    command: String,
}

/// A GPU with its figures.
struct GpuView {
    name: String,
    display_name: String,
    fields: Vec<Field>,
}

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

/// The page for all launches.
///
/// # Errors
///
/// Returns an error if the template cannot be filled, which no input brings about.
pub fn page(
    profile: &View<'_>,
    kernels: &[KernelView],
    gpus: &[Gpu],
    input: &str,
) -> Result<String, Report> {
    let names: Vec<&str> = gpus.iter().map(|gpu| gpu.name.as_str()).collect();
    let launches = profile.counted.iter().zip(kernels).enumerate();
    let page = Page {
        title: format!("{input} on {}", names.join(", ")),
        version: env!("CARGO_PKG_VERSION"),
        style: include_str!("../../templates/report.css"),
        dark_pictures: Theme::dark_style(".picture svg"),
        launches: launches
            .map(|(at, (counted, view))| Launch::new(profile, counted, view, gpus, at))
            .collect(),
        gpus: gpus
            .iter()
            .map(|gpu| GpuView {
                name: gpu.name.clone(),
                display_name: gpu.display_name.clone(),
                fields: fields(gpu),
            })
            .collect(),
        kinds: KINDS,
        assumptions: ASSUMPTIONS,
        command: format!("gpucast report {input} --gpu {}", names.join(",")),
    };
    page.render().map_err(|error| Report::new(format!("the report: {error}")))
}
