//! Measured times, and where the counts for their predictions come from.

use std::path::{Path, PathBuf};

use gpucast_corpus::published::metrics as published_counts;
use gpucast_model::gpu::Clock;
use gpucast_model::{AskedTiming, Gpu, GpuLibrary, Timing};

use crate::choice::count_on::CountOn;
use crate::choice::gpu_argument::{self, Running};
use crate::choice::model_choice::{Chosen, Models};
use crate::failure::Report;
use crate::input::measurements::{self, Measured};
use crate::input::module_text;
use crate::published;
use crate::settings::Size;

/// A measured time, wherever it comes from.
pub struct MeasuredTime {
    pub(super) counts: Origin,
    /// The models that predict it.
    pub(super) models: Vec<Chosen>,
    /// Name of the kernel in the output.
    pub(super) label: String,
    /// Function of the launch, if there are several launches.
    pub(super) function: Option<String>,
    pub(super) gpu: Result<Gpu, String>,
    pub(super) gpu_name: String,
    pub(super) measured_ms: f64,
    pub(super) timing: AskedTiming,
    pub(super) source: Option<String>,
}

/// What is executed.
#[derive(PartialEq)]
pub(super) struct Launched {
    pub(super) input: String,
    pub(super) size: Option<Size>,
    pub(super) parameters: Vec<(String, f64)>,
}

/// Source of the counts; equal ones are taken once.
pub(super) enum Origin {
    Executed {
        launched: Launched,
        /// The GPU whose counters are modelled.
        counting_gpu: Box<Gpu>,
    },
    File(PathBuf),
    Published(&'static str),
    /// A kernel that only its publication has.
    Nowhere,
}

impl Origin {
    /// Returns true if the counts are the same.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Executed { launched, counting_gpu },
                Self::Executed { launched: other, counting_gpu: other_gpu },
            ) => launched == other && counting_gpu.device_model() == other_gpu.device_model(),
            (Self::File(one), Self::File(other)) => one == other,
            (Self::Published(one), Self::Published(other)) => one == other,
            (Self::Nowhere, Self::Nowhere) => true,
            _ => false,
        }
    }

    /// Returns true if an execution for one GPU may serve the other, too.
    pub(super) fn shares_execution(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Executed { launched, counting_gpu },
                Self::Executed { launched: other, counting_gpu: other_gpu },
            ) => {
                let gpus = [counting_gpu, other_gpu];
                launched == other && gpus.iter().all(|gpu| gpu.device_model().is_ok())
            }
            _ => false,
        }
    }
}

/// What says which models predict a time from whose counts.
pub struct TimeChoice<'a> {
    /// The models; times of the thesis are predicted by its own unless others are named.
    pub models: &'a Models,
    /// The GPU whose counters are modelled.
    pub count_on: &'a CountOn,
    /// The GPUs that times may name.
    pub library: &'a GpuLibrary,
    /// How GPUs run; a time says its own clock.
    pub running: Running,
    /// The way of measuring, instead of that of each time.
    pub timing: AskedTiming,
}

impl TimeChoice<'_> {
    /// The times of a file.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, has other columns, or names a GPU that is not known.
    pub fn of_file(&self, path: &Path) -> Result<Vec<MeasuredTime>, Report> {
        let text = module_text::read_text(path)?;
        let measured = measurements::read(&text, path)?;
        measured.into_iter().map(|measurement| self.of_measured(measurement)).collect()
    }

    /// How the GPU of a time runs that was measured at some clock.
    fn running(&self, measured_at: Option<Clock>) -> Running {
        Running { clock: self.running.clock.or(measured_at), ..self.running }
    }

    /// The way of measuring: the one that is asked for, or that of a time.
    fn timing_of(&self, measured_as: Option<Timing>) -> AskedTiming {
        match (self.timing, measured_as) {
            (AskedTiming::OfFile, Some(timing)) => AskedTiming::As(timing),
            (asked, _) => asked,
        }
    }

    fn of_measured(&self, one: Measured) -> Result<MeasuredTime, Report> {
        let gpu = gpu_argument::find(self.library, &one.gpu)
            .and_then(|gpu| self.running(one.clock).of(gpu))
            .map_err(|report| match report.anchor {
                Some(_) => report,
                None => report.at(&one.anchor),
            })?;
        let label = match one.size {
            Some(Size::Small) => format!("{} (small)", one.kernel),
            Some(Size::Paper) | None => one.kernel.clone(),
        };
        let (counts, models) = match one.metrics {
            // Counts of a file have no order of events, which the simulation needs.
            Some(path) => (Origin::File(path), self.models.clone().or_thesis()),
            None => {
                let counts = Launched { input: one.kernel, size: one.size, parameters: Vec::new() };
                (self.executed(counts, &gpu, self.models), self.models.clone())
            }
        };
        Ok(MeasuredTime {
            counts,
            models: models.of(&gpu),
            label,
            function: one.function,
            gpu_name: gpu.name.clone(),
            gpu: Ok(gpu),
            measured_ms: one.measured_ms,
            timing: self.timing_of(one.timing),
            source: None,
        })
    }

    /// The counts of a kernel as `models` need them for a GPU.
    fn executed(&self, launched: Launched, gpu: &Gpu, models: &Models) -> Origin {
        let counting_gpu = self.count_on.of(gpu, &models.of(gpu));
        Origin::Executed { launched, counting_gpu: counting_gpu.clone().into() }
    }

    /// The times that were published by sources with these words. With `printed_counts`, counts
    /// are those that were published with them. Where the thesis printed a time, its prediction is
    /// reproduced, too, unless a model is named.
    ///
    /// # Errors
    ///
    /// If a GPU file of the user's own hides one that times name, and cannot be read.
    pub fn of_publications(
        &self,
        words: &str,
        printed_counts: bool,
    ) -> Result<Vec<MeasuredTime>, Report> {
        let time = |time: &published::Published| {
            let gpu = gpu_argument::find(self.library, &time.gpu)?;
            let models = match time.is_of_thesis || printed_counts {
                true => self.models.clone().or_thesis(),
                false => self.models.clone(),
            };
            let counts = match time.entry {
                None => Origin::Nowhere,
                Some(entry) if printed_counts => Origin::Published(entry),
                Some(entry) => {
                    let (input, parameters) = (entry.to_owned(), time.parameters.clone());
                    self.executed(Launched { input, size: None, parameters }, &gpu, &models)
                }
            };
            Ok(MeasuredTime {
                counts,
                models: models.of(&gpu),
                label: time.label(),
                function: None,
                gpu: self.running(time.clock).of(gpu).map_err(|report| report.message),
                gpu_name: time.gpu.clone(),
                measured_ms: time.measured_ms,
                timing: self.timing_of(time.timing),
                source: Some(time.source.clone()),
            })
        };
        let words = words.to_lowercase();
        let is_meant = |one: &&published::Published| {
            let has_counts = || one.entry.is_none_or(|entry| published_counts(entry).is_some());
            one.source.to_lowercase().contains(&words) && (!printed_counts || has_counts())
        };
        published::times().iter().filter(is_meant).map(time).collect()
    }
}
