//! The report on a kernel on GPUs, as one HTML file that refers to nothing outside.
//!
//! The structures here are its content, already in words; `markup` makes elements of them.

mod advised;
mod launch;
mod markup;
mod memory_chart;
mod occupancy;
mod source;
mod speed_of_light;

use gpucast_advice::Advice;
use gpucast_forecast::prediction::KernelView;
use gpucast_model::Gpu;

use crate::profile::View;
use launch::Launch;

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
            let advice: Vec<&Advice> =
                self.advice.iter().filter(|advice| advice.launch == at).collect();
            Launch::new(&self.profile, counted, view, &advice, gpus, first + at)
        };
        launches.map(section).collect()
    }
}

/// The page for all launches of all kernels.
pub fn page(parts: &[Part<'_>], gpus: &[Gpu]) -> String {
    let inputs: Vec<&str> = parts.iter().map(|part| part.name).collect();
    let mut launches = Vec::new();
    for part in parts {
        launches.extend(part.launches(gpus, launches.len()));
    }
    markup::page(&inputs, &launches, gpus)
}
