//! A function for each question.

mod kernels;
mod lab;
mod plots;
mod steps;
mod times;

use std::time::Instant;

use gpucast_forecast::choice::count_on::{CountOn, Group};
use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::choice::model_choice::{Chosen, Models};
use gpucast_forecast::run::sources::Counts;
use gpucast_forecast::settings::{CacheChoice, ExecutionSettings, MachineChoice, MachineSettings};
use gpucast_forecast::{Failure, Report, Supervisor};
use gpucast_interpreter::Options;
use gpucast_model::{Gpu, HierarchicalRoofline};
use gpucast_render::json;
use serde::Serialize;

use crate::kept::CountedKernel;
use crate::request::{Changed, OnGpu, Request};
use crate::{Engine, Limits};

/// Answers a question with a document.
pub(crate) fn answer(
    engine: &mut Engine,
    request: &Request,
    supervisor: &dyn Supervisor,
) -> Result<String, Failure> {
    match request {
        Request::Gpus => kernels::gpus(engine),
        Request::Kernels => kernels::list(),
        Request::Tasks => lab::tasks(),
        Request::Open(kernel) => kernels::open(engine, kernel),
        Request::Profile(profile) => times::profile(engine, profile, supervisor),
        Request::Predict(on) => times::predict(engine, on, supervisor),
        Request::Advise(on) => times::advise(engine, on, supervisor),
        Request::Plot(plot) => plots::plot(engine, plot, supervisor),
        Request::Occupancy(shape) => plots::occupancy(engine, shape, supervisor),
        Request::Steps(steps) => steps::steps(engine, steps, supervisor),
        Request::LabCheck(submission) => lab::check(engine, submission, supervisor),
    }
}

/// A document in JSON.
fn document<T: Serialize>(value: &T) -> Result<String, Failure> {
    Ok(json::document(value)?)
}

impl Limits {
    /// The options of a run that begins now.
    fn options(&self) -> Options {
        Options {
            deadline: Instant::now().checked_add(self.time),
            memory_limit: Some(self.bytes),
            ..Options::default()
        }
    }

    /// How kernels are counted: as the command line does where no assembler is installed, so that
    /// an answer does not depend on the machine.
    fn counts(&self) -> Counts {
        let execution = ExecutionSettings {
            options: self.options(),
            caches: CacheChoice::Auto,
            ..ExecutionSettings::default()
        };
        let machine = MachineSettings { machine: MachineChoice::Rules, ..Default::default() };
        Counts { machine, execution, ..Counts::default() }
    }
}

/// A counted kernel with the GPU that a question is about.
struct Asked<'a> {
    kernel: &'a mut CountedKernel,
    models: Models,
    group: Group,
}

impl Asked<'_> {
    fn gpu(&self) -> Result<&Gpu, Report> {
        self.group.gpus.first().ok_or_else(|| Report::new("no GPU is asked for"))
    }
}

impl Engine {
    /// A GPU with its changes.
    fn gpu(&self, changed: &Changed) -> Result<Gpu, Failure> {
        let gpu = gpu_argument::find(&self.library, &changed.gpu)?;
        let pair = |text: &String| {
            let (field, value) = text.split_once('=').ok_or_else(|| {
                Failure::Usage(Report::new(format!("`{text}` is no FIELD=VALUE")))
            })?;
            Ok((field.to_owned(), value.to_owned()))
        };
        let changes = changed.set.iter().map(pair).collect::<Result<Vec<_>, Failure>>()?;
        match changes.is_empty() {
            true => Ok(gpu),
            false => Ok(gpu_argument::changed(&gpu, &changes)?),
        }
    }

    /// A kernel, counted as its question needs it.
    fn asked(
        &mut self,
        on: &OnGpu,
        has_roofline: bool,
        supervisor: &dyn Supervisor,
    ) -> Result<Asked<'_>, Failure> {
        let gpu = self.gpu(&on.gpu)?;
        let mut models = Models::read(&[], &[])?;
        if has_roofline {
            // The traffic of all levels of memory.
            models = models.with(Chosen::one_of_all(&HierarchicalRoofline));
        }
        let count_on = CountOn::read(&self.library, None)?;
        let group = count_on.groups(vec![gpu], &models)?.into_iter().next();
        let group = group.ok_or_else(|| Report::new("no GPU is asked for"))?;
        let counts = Counts { needs: group.needs, ..self.limits.counts() };
        let compiler = self.compiler.as_ref();
        let kernel =
            self.kept.counted(&on.kernel, &group.counting_gpu, &counts, compiler, supervisor)?;
        Ok(Asked { kernel, models, group })
    }
}
