//! A kernel that is executed, with everything that a profile shows.

use gpucast_model::Gpu;
use gpucast_model::sm_simulation::Analysis;

use super::counting::{self, Counted, Counting, Extras};
use super::execute::Loaded;
use super::machine::Machine;
use super::module;
use super::sources::{self, Counts};
use super::supervisor::Supervisor;
use crate::choice::gpu_argument;
use crate::failure::{Failure, Report};
use crate::input::plan::Plan;
use crate::parametric;
use crate::settings::{LaunchOptions, RungChoice};

/// The way in which kernels are profiled.
pub struct Profiling<'a> {
    /// The GPU whose counters are modelled.
    pub gpu: &'a Gpu,
    /// How kernels are read.
    pub launch: &'a LaunchOptions,
    /// The machine code and the limits of each execution. A limit of time begins when it is called.
    pub counts: &'a dyn Fn() -> Counts,
    /// What is recorded. With a trace, launches are simulated.
    pub extras: Extras,
    /// What of it no formulas give.
    pub beside_formulas: Option<&'static str>,
    /// Hears of progress and can end the executions.
    pub supervisor: &'a dyn Supervisor,
}

/// A kernel's launches.
pub struct Profiled {
    /// The module.
    pub loaded: Loaded,
    /// The counts of each launch.
    pub counted: Vec<Counted>,
    /// The simulation of each launch, if there is a trace.
    pub simulations: Vec<Option<Analysis>>,
}

impl Profiling<'_> {
    /// Executes and counts the kernel with this name and plan.
    ///
    /// # Errors
    ///
    /// A module that cannot be read, a fault, and a simulation that the GPU does not allow.
    pub fn profile(&self, kernel: &str, plan: &Plan) -> Result<Profiled, Failure> {
        let loaded = module::load(plan)?;
        plan.note.iter().for_each(|note| self.supervisor.note(note));
        let counts = (self.counts)();
        let device = gpu_argument::device_model(self.gpu)?;
        let kernels = plan.launches.iter().map(|launch| launch.kernel.as_str());
        let toolchain = self.supervisor.toolchain();
        let machine =
            Machine::new(&counts.machine, &loaded, device.capability, kernels, toolchain)?;
        machine.note.iter().for_each(|note| self.supervisor.note(note));
        let settings = &counts.execution;
        let counting = Counting {
            device,
            machine: &machine,
            extras: self.extras,
            rung: settings.counting,
            sample: settings.sample(),
            caches: settings.caches,
            supervisor: self.supervisor,
        };
        let executed = |because: Option<String>| {
            let mut counted = counting::count(plan, &loaded, &settings.options, &counting)?;
            for one in &mut counted {
                one.counted_by.because = one.counted_by.because.take().or(because.clone());
            }
            Ok::<_, Failure>(counted)
        };
        let counted = match settings.counting {
            RungChoice::Formulas => match self.by_formulas(kernel, &counts)? {
                Ok(counted) => counted,
                Err(because) => executed(Some(because))?,
            },
            _ => executed(None)?,
        };
        let simulation = |one: &Counted| {
            let source = sources::of_counted(one, plan, self.gpu);
            Analysis::of(&source.profile, self.gpu, &source.conditions)
                .map(Some)
                .map_err(|refusal| Report::new(refusal.to_string()))
        };
        let simulations = match self.extras.trace {
            Some(_) => counted.iter().map(simulation).collect::<Result<Vec<_>, Report>>()?,
            None => Vec::new(),
        };
        Ok(Profiled { loaded, counted, simulations })
    }

    /// The counts by formulas that a sweep has kept, or the reason why there are none.
    fn by_formulas(
        &self,
        kernel: &str,
        counts: &Counts,
    ) -> Result<Result<Vec<Counted>, String>, Failure> {
        match self.beside_formulas {
            Some(others) => Ok(Err(format!("{others} have no formulas"))),
            None => {
                parametric::counted_by_kept(kernel, self.launch, self.gpu, counts, self.supervisor)
            }
        }
    }
}
