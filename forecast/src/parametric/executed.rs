//! Counts at sizes, each executed once.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use gpucast_counters::cells::Cell;
use gpucast_counters::definitions::{Definition, definition};
use gpucast_counters::table::Row;
use gpucast_counters::{Kind, LaunchProfile, Level, Number};
use gpucast_interpreter::Options;
use gpucast_model::Gpu;
use serde::{Deserialize, Serialize};

use crate::choice::gpu_argument;
use crate::choice::metric_choice::MetricChoice;
use crate::failure::{Failure, Report};
use crate::input::expression::Parameters;
use crate::input::plan::Plan;
use crate::run::counting::rebuilt::FoundOut;
use crate::run::counting::{self, Counted, Counting, Extras};
use crate::run::execute::Loaded;
use crate::run::machine::Machine;
use crate::run::module;
use crate::run::rung::Rung;
use crate::run::sources::Counts;
use crate::run::supervisor::{Silent, Supervisor};
use crate::settings::RungChoice;

/// Warp instructions after which a size counts as one at which the launches do not run: the search
/// meets sizes that wrap around, where loops have no end. This is for the first size; others say
/// more about what comes next.
const MOST_INSTRUCTIONS: u64 = 1 << 27;

/// A size may take so many times what the most expensive one took so far. Doubling three sizes of
/// a loop within loops takes eight times as much, and a fourth dimension sixteen.
const GROWTH: u64 = 32;

/// A size may take so much whatever others took: a fraction of a second.
const FEW_INSTRUCTIONS: u64 = 1 << 22;

/// After so many sizes without classes, and none with, none is expected to have any.
const MOST_BAD_TRIES: u32 = 4;

/// A count of one of the launches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    /// The place of the launch in its file.
    pub(super) launch: usize,
    pub(super) count: Name,
}

/// The name of a count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Name {
    Metric(&'static str),
    Cell(Cell),
}

/// The counts that are looked at.
#[derive(Clone, Copy)]
pub(super) enum Wanted<'a> {
    /// These metrics.
    Metrics(&'a MetricChoice),
    /// All that an execution finds out. A count that a size lacks is zero there.
    Cells,
}

/// The counts of all launches at some sizes.
#[derive(Debug)]
pub(super) struct At {
    /// Every metric that is a count, or every cell that is not zero.
    pub(super) counts: BTreeMap<Key, u128>,
    /// True if counts that are not there are zero.
    others_are_zero: bool,
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
    /// Warp instructions that were executed.
    instructions: u64,
    /// What else the executions said of each launch, if cells are looked at.
    pub(super) said: Vec<Said>,
}

/// What an execution says of a launch beside counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Said {
    /// Reason why CTAs ran one after the other, if they did.
    pub(super) ordered_because: Option<String>,
    /// True if CTAs were watched for one that depends on their order.
    pub(super) watched: bool,
}

impl At {
    /// True if counts that are not there are zero.
    pub(super) fn others_are_zero(&self) -> bool {
        self.others_are_zero
    }

    /// A count; `None` if the launches do not have it in this size.
    pub(super) fn count(&self, key: &Key) -> Option<u128> {
        let zero = self.others_are_zero.then_some(0);
        self.counts.get(key).copied().or(zero)
    }
}

/// Makes the plan of the launches with these parameters.
pub type PlanAt<'a> = &'a dyn Fn(&Parameters) -> Result<Plan, Failure>;

/// Executes launches at sizes that are asked for, and remembers their counts.
pub(super) struct Executed<'a> {
    names: Vec<String>,
    plan_at: PlanAt<'a>,
    gpu: &'a Gpu,
    counts: &'a Counts,
    wanted: Wanted<'a>,
    supervisor: &'a dyn Supervisor,
    known: HashMap<Vec<u64>, Option<Rc<At>>>,
    /// The module that the last plan had, with its machine code.
    module: Option<Module>,
    /// Sizes that were counted by classes of CTAs, and others.
    classes: Tries,
    /// The reason why the first sizes that did not run did not.
    pub(super) refusal: Option<Report>,
    /// Warp instructions after which a size counts as one at which the launches do not run.
    most_instructions: u64,
    /// Warp instructions of the most expensive size, once one has run.
    most_executed: Option<u64>,
    /// The lines and mnemonics of the instructions of each launch, if cells are looked at.
    instructions: Vec<Vec<Instruction>>,
}

/// An instruction, as a reader of the PTX finds it.
struct Instruction {
    line: u32,
    mnemonic: &'static str,
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
        wanted: Wanted<'a>,
        supervisor: &'a dyn Supervisor,
    ) -> Self {
        Self {
            names,
            plan_at,
            gpu,
            counts,
            wanted,
            supervisor,
            known: HashMap::new(),
            module: None,
            classes: Tries::default(),
            refusal: None,
            most_instructions: MOST_INSTRUCTIONS,
            most_executed: None,
            instructions: Vec::new(),
        }
    }

    /// Lets sizes take what the caller allows: those that come now would be executed anyway.
    pub(super) fn allow_large_sizes(&mut self) {
        self.most_instructions = u64::MAX;
    }

    /// Warp instructions that the next size may take.
    fn budget(&self) -> u64 {
        let follows = |most: u64| most.saturating_mul(GROWTH).max(FEW_INSTRUCTIONS);
        match self.most_executed {
            Some(most) if self.most_instructions == MOST_INSTRUCTIONS => {
                follows(most).min(MOST_INSTRUCTIONS)
            }
            _ => self.most_instructions,
        }
    }

    /// A count in words, with the line that it belongs to.
    pub(super) fn described(&self, key: &Key) -> String {
        match key.count {
            Name::Metric(name) => name.to_owned(),
            Name::Cell(cell) => {
                let of_launch = self.instructions.get(key.launch);
                let instruction = of_launch.and_then(|all| all.get(cell.instruction as usize));
                match instruction.filter(|_| cell.is_of_instruction()) {
                    Some(Instruction { line, mnemonic }) => {
                        format!("{} of `{mnemonic}` in line {line}", cell.what())
                    }
                    None => cell.what().to_owned(),
                }
            }
        }
    }

    /// The number of sizes at which the launches ran.
    pub(super) fn number(&self) -> usize {
        self.known.values().flatten().count()
    }

    /// The sizes at which the launches ran.
    pub(super) fn sizes(&self) -> impl Iterator<Item = &[u64]> {
        self.known.iter().filter(|(_, at)| at.is_some()).map(|(sizes, _)| sizes.as_slice())
    }

    /// True if the launches ran in every size that was asked for.
    pub(super) fn ran_in_all(&self) -> bool {
        self.known.values().all(Option::is_some)
    }

    /// Every count that some size has.
    pub(super) fn keys(&self) -> BTreeSet<Key> {
        self.known.values().flatten().flat_map(|at| at.counts.keys().copied()).collect()
    }

    /// True if two counts are equal in every size.
    pub(super) fn agree(&self, one: &Key, other: &Key) -> bool {
        self.known.values().flatten().all(|at| at.count(one) == at.count(other))
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
            Ok(at) => {
                self.most_executed = self.most_executed.max(Some(at.instructions));
                Some(Rc::new(at))
            }
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
        let is_same = self.module.as_ref().is_some_and(is_loaded);
        if !is_same && self.module.is_some() && matches!(self.wanted, Wanted::Cells) {
            // Instructions are named by their places, which differ.
            return Err(Report::new("the module differs between sizes").into());
        }
        if !is_same {
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
        let most_instructions = self.budget();
        let count = |rung: RungChoice| {
            let caches = execution.caches;
            let only_executed = matches!(self.wanted, Wanted::Cells);
            let extras = Extras { only_executed, ..Extras::default() };
            let sample = None;
            let counting = Counting { device, machine, extras, rung, sample, caches, supervisor };
            let budget = execution.options.instruction_budget.min(most_instructions);
            let options = Options { instruction_budget: budget, ..execution.options };
            counting::count(&plan, loaded, &options, &counting)
        };
        // Sizes are many and small: classes pay where they would not for a single launch.
        let tries_classes = self.classes.good > 0 || self.classes.bad < MOST_BAD_TRIES;
        let counted = match execution.counting {
            RungChoice::Auto | RungChoice::Formulas if tries_classes => {
                match count(RungChoice::Classes) {
                    Err(Failure::Input(_)) => {
                        let counted = count(RungChoice::Auto)?;
                        self.classes.bad += 1;
                        counted
                    }
                    counted => {
                        self.classes.good += u32::from(counted.is_ok());
                        counted?
                    }
                }
            }
            rung => count(rung)?,
        };
        if self.instructions.is_empty() && matches!(self.wanted, Wanted::Cells) {
            self.instructions = counted.iter().map(instructions).collect();
        }
        at(&plan, &counted, self.wanted)
    }
}

fn instructions(counted: &Counted) -> Vec<Instruction> {
    let rows = counted.profile.table.rows.iter();
    let instruction = |row: &Row| Instruction {
        line: row.description.line,
        mnemonic: row.description.opcode.text(),
    };
    rows.map(instruction).collect()
}

/// The counts of the launches of a plan.
///
/// # Errors
///
/// If cells are looked at, and an execution says more than them.
fn at(plan: &Plan, counted: &[Counted], wanted: Wanted<'_>) -> Result<At, Failure> {
    let mut at = At {
        counts: BTreeMap::new(),
        others_are_zero: matches!(wanted, Wanted::Cells),
        ratios: BTreeSet::new(),
        origins: BTreeMap::new(),
        kernels: plan.launches.iter().map(|launch| launch.kernel.clone()).collect(),
        of_blocks: BTreeSet::new(),
        work: 0,
        instructions: 0,
        said: Vec::new(),
    };
    for launch in &plan.launches {
        let threads = launch.block.iter().map(|&extent| u64::from(extent)).product();
        at.of_blocks.extend(launch.block.map(u64::from));
        at.of_blocks.insert(threads);
    }
    for (launch, one) in counted.iter().enumerate() {
        let profile = &one.profile;
        let ctas: u128 = profile.grid.iter().map(|&extent| u128::from(extent)).product();
        let executed = match (one.counted_by.rung, one.counted_by.classes) {
            (Rung::Classes, Some(classes)) => classes as u128,
            _ => ctas,
        };
        let share = |all: u128| {
            let executed = all.saturating_mul(executed) / ctas.max(1);
            u64::try_from(executed).unwrap_or(u64::MAX)
        };
        let rows = profile.table.rows.iter();
        let warp_instructions = rows.map(|row| row.warp_executions).fold(0, u128::saturating_add);
        at.work = at.work.saturating_add(share(one.timing.thread_instructions));
        at.instructions = at.instructions.saturating_add(share(warp_instructions));
        match wanted {
            Wanted::Metrics(metrics) => at.take_metrics(launch, profile, metrics),
            Wanted::Cells => at.take_cells(launch, one)?,
        }
    }
    Ok(at)
}

impl At {
    fn take_metrics(&mut self, launch: usize, profile: &LaunchProfile, metrics: &MetricChoice) {
        for (name, metric) in &profile.metrics {
            let Some(&Definition { name, .. }) = definition(name) else { continue };
            if !metrics.names(name) {
                continue;
            }
            let key = Key { launch, count: Name::Metric(name) };
            self.origins.insert(key, (metric.kind, profile.level(name)));
            match metric.value {
                Number::Count(count) => {
                    self.counts.insert(key, count);
                }
                Number::Real(_) => {
                    self.ratios.insert(key);
                }
            }
        }
    }

    fn take_cells(&mut self, launch: usize, counted: &Counted) -> Result<(), Report> {
        let Some(FoundOut { cells, ordered_because, watched }) = FoundOut::of(counted) else {
            let kernel = &counted.profile.kernel;
            return Err(Report::new(format!("invocations of {kernel} differ, or are estimated")));
        };
        let named = |(cell, count)| (Key { launch, count: Name::Cell(cell) }, count);
        self.counts.extend(cells.into_iter().map(named));
        self.said.push(Said { ordered_because, watched });
        Ok(())
    }
}
