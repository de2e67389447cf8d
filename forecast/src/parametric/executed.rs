//! Counts at sizes, each executed once.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use gpucast_counters::definitions::{Definition, definition};
use gpucast_counters::{Kind, Level, Number};
use gpucast_interpreter::Options;
use gpucast_model::Gpu;

use crate::choice::gpu_argument;
use crate::choice::metric_choice::MetricChoice;
use crate::failure::{Failure, Report};
use crate::input::expression::Parameters;
use crate::input::plan::Plan;
use crate::run::counting::{self, Counted, Counting, Extras};
use crate::run::execute::Loaded;
use crate::run::machine::Machine;
use crate::run::module;
use crate::run::rung::Rung;
use crate::run::sources::Counts;
use crate::run::supervisor::{Silent, Supervisor};
use crate::settings::RungChoice;

/// Warp instructions after which a size counts as one at which the launches do not run: the search
/// meets sizes that wrap around, where loops have no end.
const MOST_INSTRUCTIONS: u64 = 1 << 27;

/// After so many sizes without classes, and none with, none is expected to have any.
const MOST_BAD_TRIES: u32 = 4;

/// The place of a launch in its file, and a metric.
pub(super) type Key = (usize, &'static str);

/// The counts of all launches at some sizes.
#[derive(Debug)]
pub(super) struct At {
    /// Every metric that is a count.
    pub(super) counts: BTreeMap<Key, u64>,
    /// Metrics that are ratios, or means.
    pub(super) ratios: BTreeSet<Key>,
    /// The kind and the level of each metric.
    pub(super) origins: BTreeMap<Key, (Kind, Level)>,
    /// The kernel of each launch.
    pub(super) kernels: Vec<String>,
    /// Extents of blocks, and threads of blocks.
    pub(super) of_blocks: BTreeSet<u64>,
    /// Thread instructions that were executed.
    pub(super) work: u64,
}

/// Makes the plan of the launches with these parameters.
pub type PlanAt<'a> = &'a dyn Fn(&Parameters) -> Result<Plan, Failure>;

/// Executes launches at sizes that are asked for, and remembers their counts.
pub(super) struct Executed<'a> {
    names: Vec<String>,
    plan_at: PlanAt<'a>,
    gpu: &'a Gpu,
    counts: &'a Counts,
    metrics: &'a MetricChoice,
    supervisor: &'a dyn Supervisor,
    known: HashMap<Vec<u64>, Option<Rc<At>>>,
    /// The module that the last plan had, with its machine code.
    module: Option<Module>,
    /// Sizes that were counted by classes of CTAs, and others.
    classes: Tries,
    /// The reason why the first sizes that did not run did not.
    pub(super) refusal: Option<Report>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Tries {
    good: u32,
    bad: u32,
}

struct Module {
    /// The plan that it was loaded for.
    plan: Plan,
    loaded: Loaded,
    machine: Machine,
}

impl<'a> Executed<'a> {
    pub(super) fn new(
        names: Vec<String>,
        plan_at: PlanAt<'a>,
        gpu: &'a Gpu,
        counts: &'a Counts,
        metrics: &'a MetricChoice,
        supervisor: &'a dyn Supervisor,
    ) -> Self {
        let (known, module, refusal) = (HashMap::new(), None, None);
        let classes = Tries::default();
        Self { names, plan_at, gpu, counts, metrics, supervisor, known, module, classes, refusal }
    }

    /// The number of sizes at which the launches ran.
    pub(super) fn number(&self) -> usize {
        self.known.values().flatten().count()
    }

    /// The sizes at which the launches ran.
    pub(super) fn sizes(&self) -> impl Iterator<Item = &[u64]> {
        self.known.iter().filter(|(_, at)| at.is_some()).map(|(sizes, _)| sizes.as_slice())
    }

    /// True if these sizes have been asked for.
    pub(super) fn knows(&self, sizes: &[u64]) -> bool {
        self.known.contains_key(sizes)
    }

    /// The counts at these sizes, or `None` if the launches do not run there.
    ///
    /// # Errors
    ///
    /// [`Failure::Stopped`] if the supervisor says so.
    pub(super) fn at(&mut self, sizes: &[u64]) -> Result<Option<Rc<At>>, Failure> {
        if let Some(known) = self.known.get(sizes) {
            return Ok(known.clone());
        }
        if self.supervisor.should_stop() {
            return Err(Failure::Stopped);
        }
        let at = match self.count(sizes) {
            Ok(at) => Some(Rc::new(at)),
            Err(Failure::Input(reports)) => {
                if self.refusal.is_none() {
                    self.refusal = reports.into_iter().next();
                }
                None
            }
            Err(Failure::Usage(report)) => {
                self.refusal.get_or_insert(report);
                None
            }
            Err(failure @ (Failure::Stopped | Failure::Explained)) => return Err(failure),
        };
        self.known.insert(sizes.to_vec(), at.clone());
        Ok(at)
    }

    fn count(&mut self, sizes: &[u64]) -> Result<At, Failure> {
        let named = self.names.iter().cloned().zip(sizes.iter().map(|&size| size as f64));
        let plan = (self.plan_at)(&named.collect())?;
        let device = gpu_argument::device_model(self.gpu)?;
        // Sizes are too many to be heard of, and too cheap to be kept.
        let supervisor = &Silent(self.supervisor);
        let is_loaded = |module: &Module| {
            let kernels = |plan: &Plan| {
                plan.launches.iter().map(|launch| launch.kernel.clone()).collect::<Vec<_>>()
            };
            module.plan.module == plan.module
                && module.plan.symbols == plan.symbols
                && kernels(&module.plan) == kernels(&plan)
        };
        if !self.module.as_ref().is_some_and(is_loaded) {
            let loaded = module::load(&plan)?;
            let kernels = plan.launches.iter().map(|launch| launch.kernel.as_str());
            let machine = Machine::new(
                &self.counts.machine,
                &loaded,
                device.capability,
                kernels,
                supervisor.toolchain(),
            )?;
            machine.note.iter().for_each(|note| self.supervisor.note(note));
            self.module = Some(Module { plan: plan.clone(), loaded, machine });
        }
        let Some(Module { loaded, machine, .. }) = &self.module else {
            return Err(Report::new("the module is not loaded").into());
        };
        let execution = &self.counts.execution;
        let count = |rung: RungChoice| {
            let caches = execution.caches;
            let extras = Extras::default();
            let sample = None;
            let counting = Counting { device, machine, extras, rung, sample, caches, supervisor };
            let budget = execution.options.instruction_budget.min(MOST_INSTRUCTIONS);
            let options = Options { instruction_budget: budget, ..execution.options };
            counting::count(&plan, loaded, &options, &counting)
        };
        // Sizes are many and small: classes pay where they would not for a single launch.
        let tries_classes = self.classes.good > 0 || self.classes.bad < MOST_BAD_TRIES;
        let counted = match execution.counting {
            RungChoice::Auto if tries_classes => match count(RungChoice::Classes) {
                Err(Failure::Input(_)) => {
                    let counted = count(RungChoice::Auto)?;
                    self.classes.bad += 1;
                    counted
                }
                counted => {
                    self.classes.good += u32::from(counted.is_ok());
                    counted?
                }
            },
            rung => count(rung)?,
        };
        Ok(at(&plan, &counted, self.metrics))
    }
}

/// The counts of the launches of a plan.
fn at(plan: &Plan, counted: &[Counted], metrics: &MetricChoice) -> At {
    let mut at = At {
        counts: BTreeMap::new(),
        ratios: BTreeSet::new(),
        origins: BTreeMap::new(),
        kernels: plan.launches.iter().map(|launch| launch.kernel.clone()).collect(),
        of_blocks: BTreeSet::new(),
        work: 0,
    };
    for launch in &plan.launches {
        let threads = launch.block.iter().map(|&extent| u64::from(extent)).product();
        at.of_blocks.extend(launch.block.map(u64::from));
        at.of_blocks.insert(threads);
    }
    for (launch, one) in counted.iter().enumerate() {
        let profile = &one.profile;
        let ctas: u64 = profile.grid.iter().map(|&extent| u64::from(extent)).product();
        let executed = match (one.counted_by.rung, one.counted_by.classes) {
            (Rung::Classes, Some(classes)) => classes as u64,
            _ => ctas,
        };
        let all = u128::from(one.timing.thread_instructions);
        let work = all * u128::from(executed) / u128::from(ctas.max(1));
        at.work = at.work.saturating_add(work.try_into().unwrap_or(u64::MAX));
        for (name, metric) in &profile.metrics {
            let Some(&Definition { name, .. }) = definition(name) else { continue };
            if !metrics.names(name) {
                continue;
            }
            let key = (launch, name);
            at.origins.insert(key, (metric.kind, profile.level(name)));
            match metric.value {
                Number::Count(count) => {
                    at.counts.insert(key, count);
                }
                Number::Real(_) => {
                    at.ratios.insert(key);
                }
            }
        }
    }
    at
}
