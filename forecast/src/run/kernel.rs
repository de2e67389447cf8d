//! A kernel with its launches: the short way from a text to counts.

use std::path::Path;

use gpucast_model::{Gpu, Needs};

use super::module;
use super::sources::{self, CountingGpu, Counts, Launched, Source};
use crate::failure::Failure;
use crate::input::kernel_argument::{self, ReadFailure};
use crate::input::module_listing::Unlaunched;
use crate::input::plan::Plan;
use crate::run::supervisor::{Alone, Supervisor};
use crate::settings::LaunchOptions;

/// A kernel with everything that its launches need.
#[derive(Clone, Debug)]
pub struct Kernel {
    plan: Plan,
}

impl Kernel {
    /// The KERNEL of a command: a corpus name, a launch file, a PTX file, or a file with PTX
    /// inside.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with the argument, its files or the launch, with its place; a
    /// module whose launch is not known. Both become a [`Failure`] for those who do not tell them
    /// apart.
    pub fn open(argument: &str, launch: &LaunchOptions) -> Result<Self, ReadFailure> {
        Ok(Self { plan: kernel_argument::read(argument, launch)? })
    }

    /// A kernel of a PTX text; errors call the text `name`. Paths in arguments are relative to the
    /// current folder.
    ///
    /// # Errors
    ///
    /// Returns the faults of the launch. Errors of the text come when it is executed.
    pub fn from_ptx(name: &str, text: &str, launch: &LaunchOptions) -> Result<Self, Failure> {
        Ok(Self { plan: kernel_argument::of_text(Path::new(name), text, launch)? })
    }

    /// A module's kernel, with a launch that was missing.
    ///
    /// # Errors
    ///
    /// Returns the faults of the launch.
    pub fn of_unlaunched(module: &Unlaunched, launch: &LaunchOptions) -> Result<Self, Failure> {
        Ok(Self { plan: module.launched(launch)? })
    }

    /// Executes the launches and counts as the profiler of `gpu` would. The counts include stages
    /// between barriers and the order of events, so that every model has its inputs. Rules estimate
    /// the machine instructions.
    ///
    /// # Errors
    ///
    /// Errors of the text, of a launch, or of the kernel, and a GPU that cannot be counted on.
    pub fn count(&self, gpu: &Gpu) -> Result<Vec<Source>, Failure> {
        let needs = Needs::STAGES | Needs::ORDER;
        let counts = Counts { needs, ..Counts::default() };
        self.count_with(gpu, &counts, &Alone)
    }

    /// As [`Kernel::count`], with a choice of counts and with a supervisor, who may lend NVIDIA's
    /// assembler.
    ///
    /// # Errors
    ///
    /// As [`Kernel::count`], and [`Failure::Stopped`] if the supervisor says so.
    pub fn count_with(
        &self,
        gpu: &Gpu,
        counts: &Counts,
        supervisor: &dyn Supervisor,
    ) -> Result<Vec<Source>, Failure> {
        sources::counted(&self.plan, gpu, counts, supervisor)
    }

    /// As [`Kernel::count_with`], for several GPUs in their order, with as few executions as give
    /// the same. Each GPU has the needs beside it instead of those of `counts`.
    ///
    /// # Errors
    ///
    /// Errors of the text. Those of each GPU stand beside its counts.
    pub fn count_each(
        &self,
        gpus: &[CountingGpu<'_>],
        counts: &Counts,
        supervisor: &dyn Supervisor,
    ) -> Result<Vec<Result<Vec<Source>, Failure>>, Failure> {
        let loaded = module::load(&self.plan)?;
        let each = sources::launched_each(&self.plan, &loaded, gpus, counts, supervisor);
        let sources =
            |launched: Vec<Launched>| launched.into_iter().map(|launch| launch.source).collect();
        Ok(each.into_iter().map(|launches| launches.map(sources)).collect())
    }

    /// Returns the plan that will be executed.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }
}
