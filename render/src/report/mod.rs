//! The report on a kernel on GPUs, as one HTML file that refers to nothing outside.
//!
//! `templates/report.html` is the page, which escapes everything but the style sheets, the
//! script and the pictures; the structures here are its content, already in words.

mod advised;
mod launch;
mod memory_chart;
mod occupancy;
mod source;
mod speed_of_light;

use askama::Template;
use gpucast_advice::Advice;
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
    /// Switches, sorting, searching and values on demand; the page is whole without it.
    script: &'static str,
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

/// A kernel of the report.
pub struct Part<'a> {
    /// The kernel, as the command line has it.
    pub name: &'a str,
    /// Its launches by line.
    pub profile: View<'a>,
    /// The predictions of each launch.
    pub kernels: &'a [KernelView],
    /// The advice on each launch on each GPU.
    pub advice: &'a [Advice],
}

impl Part<'_> {
    /// The sections of its launches; `first` is the number of the first one in the page.
    fn launches(&self, gpus: &[Gpu], first: usize) -> Vec<Launch> {
        let launches = self.profile.counted.iter().zip(self.kernels).enumerate();
        let section = |(at, (counted, view))| {
            let advice: Vec<&Advice> = self.advice.iter().filter(|one| one.launch == at).collect();
            Launch::new(&self.profile, counted, view, &advice, gpus, first + at)
        };
        launches.map(section).collect()
    }
}

/// The page for all launches of all kernels.
///
/// # Errors
///
/// Returns an error if the template cannot be filled, which no input brings about.
pub fn page(parts: &[Part<'_>], gpus: &[Gpu]) -> Result<String, Report> {
    let names: Vec<&str> = gpus.iter().map(|gpu| gpu.name.as_str()).collect();
    let inputs: Vec<&str> = parts.iter().map(|part| part.name).collect();
    let mut launches = Vec::new();
    for part in parts {
        launches.extend(part.launches(gpus, launches.len()));
    }
    let page = Page {
        title: format!("{} on {}", inputs.join(", "), names.join(", ")),
        version: env!("CARGO_PKG_VERSION"),
        style: include_str!("../../templates/report.css"),
        script: include_str!("../../templates/report.js"),
        dark_pictures: Theme::dark_style(".picture svg"),
        launches,
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
        command: format!("gpucast report {} --gpu {}", inputs.join(" "), names.join(",")),
    };
    page.render().map_err(|error| Report::new(format!("the report: {error}")))
}
