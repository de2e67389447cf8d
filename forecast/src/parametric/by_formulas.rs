//! Launches counted by formulas, which are found in some sizes and kept for later runs.

use gpucast_formulas::sizes::Sizes;
use gpucast_interpreter::Program;
use gpucast_model::Gpu;
use serde::{Deserialize, Serialize};

use super::PlanAt;
use super::profiles::{Family, ProfileFormulas};
use crate::choice::gpu_argument;
use crate::failure::{Failure, SourceText};
use crate::input::expression::Parameters;
use crate::input::options::LaunchOptions;
use crate::input::plan::{Plan, PlannedLaunch};
use crate::input::unfilled::UnfilledLaunch;
use crate::input::{kernel_argument, packed};
use crate::run::counting::rebuilt::rebuilt;
use crate::run::counting::{Counted, Counting, Extras};
use crate::run::execute::{self, Loaded};
use crate::run::kept::KeptCounts;
use crate::run::machine::Machine;
use crate::run::module;
use crate::run::rung::CountedBy;
use crate::run::sources::Counts;
use crate::run::supervisor::Supervisor;
use crate::settings::CacheChoice;
use crate::store::sealed;

/// Fewer sizes are executed sooner than formulas are found.
const FEWEST_SIZES: usize = 32;

/// The most sets of formulas of one family that are kept.
const MOST_SETS: usize = 4;

/// Launches in many sizes, and the way to count them.
#[derive(Clone, Copy)]
pub struct Problem<'a> {
    /// The names of the parameters, in order of the alphabet.
    pub names: &'a [String],
    /// Makes the plan of some sizes.
    pub plan_at: PlanAt<'a>,
    /// Everything that the plans follow from, but for files that they read.
    pub identity: &'a str,
    /// The GPU whose counters are modelled.
    pub gpu: &'a Gpu,
    /// Settings by which launches are counted.
    pub counts: &'a Counts,
    /// Caller that is told of notes, and can end the search.
    pub supervisor: &'a dyn Supervisor,
}

/// The sizes that somebody wants to know of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Swept {
    /// Those of each parameter: the smallest one, the largest one, and their step.
    pub sizes: Vec<Sizes>,
    /// Their number, of all parameters together.
    pub number: usize,
}

impl Swept {
    /// The sizes that these values of each parameter are; `None` if one is no whole number above 0.
    #[must_use]
    pub fn of(axes: &[Vec<f64>]) -> Option<Self> {
        /// Larger doubles are not all of the whole numbers.
        const LARGEST: f64 = (1_u64 << 53) as f64;
        let mut sizes = Vec::new();
        for values in axes {
            let is_size = |value: &f64| value.fract() == 0.0 && (1.0..=LARGEST).contains(value);
            if !values.iter().all(is_size) {
                return None;
            }
            let whole = values.iter().map(|&value| value as u64);
            let (first, last) = (whole.clone().min()?, whole.clone().max()?);
            let step = whole.fold(0, |step, value| greatest_common_divisor(step, value - first));
            sizes.push(Sizes { first, step: step.max(1), last });
        }
        let number = axes.iter().map(Vec::len).product();
        Some(Self { sizes, number })
    }
}

fn greatest_common_divisor(one: u64, other: u64) -> u64 {
    if other == 0 { one } else { greatest_common_divisor(other, one % other) }
}

/// Launches of a problem that formulas count.
pub struct ByFormulas {
    formulas: ProfileFormulas,
    /// The module that all sizes share.
    module: SourceText,
    loaded: Loaded,
    machine: Machine,
    programs: Vec<Program>,
}

/// What stands before a search.
struct Prepared {
    module: SourceText,
    loaded: Loaded,
    machine: Machine,
    programs: Vec<Program>,
    /// Names the problem in a store.
    identity: String,
}

/// Formulas of a problem as a store has them.
#[derive(Serialize, Deserialize)]
struct KeptSet {
    formulas: Vec<u8>,
    /// Sizes with the hashes of their plans, files included.
    witnesses: Vec<(Vec<u64>, String)>,
}

impl Problem<'_> {
    /// The plan of some sizes.
    fn plan(&self, sizes: &[u64]) -> Result<Plan, Failure> {
        let named = self.names.iter().cloned().zip(sizes.iter().map(|&size| size as f64));
        (self.plan_at)(&named.collect::<Parameters>())
    }

    fn family(&self) -> Family<'_> {
        let Self { names, plan_at, gpu, counts, supervisor, .. } = *self;
        Family { names, plan_at, gpu, counts, supervisor }
    }

    /// The reason why launches are not counted by formulas with these settings, if they are not.
    fn refusal(&self) -> Option<&'static str> {
        let Counts { needs, offload, execution, .. } = self.counts;
        if needs.stages {
            return Some("stages between barriers have no formulas, and a model needs them");
        }
        if needs.features {
            return Some("features of accesses have no formulas, and a model needs them");
        }
        if needs.order && execution.caches != CacheChoice::None {
            return Some("the order of events has no formulas, and a model needs it");
        }
        offload.is_some().then_some("transfers have no formulas, and a model needs them")
    }

    fn prepare(&self, plan: &Plan) -> Result<Prepared, Failure> {
        let device = gpu_argument::device_model(self.gpu)?;
        let loaded = module::load(plan)?;
        let kernels = plan.launches.iter().map(|launch| launch.kernel.as_str());
        let toolchain = self.supervisor.toolchain();
        let machine =
            Machine::new(&self.counts.machine, &loaded, device.capability, kernels, toolchain)?;
        let programs = execute::programs(plan, &loaded)?;
        let Counts { execution, .. } = self.counts;
        let options = &execution.options;
        let identity = format!(
            "{}\n{:?}\n{}\n{device:?}\n{}\n{:?} {} {} {} {:?}\n",
            self.identity,
            self.names,
            sealed::hash(plan.module.text.as_bytes()),
            machine.identity(),
            execution.caches,
            options.heap_bytes,
            options.stack_bytes,
            options.skip_bad_accesses,
            options.schedule,
        );
        Ok(Prepared { module: plan.module.clone(), loaded, machine, programs, identity })
    }

    /// Formulas that were kept, with those that have agreed in the largest sizes first.
    fn kept(&self, prepared: &Prepared) -> Vec<ProfileFormulas> {
        let Some(kept) = self.supervisor.kept_counts() else { return Vec::new() };
        let mut all: Vec<ProfileFormulas> = sets(kept, &prepared.identity)
            .into_iter()
            .filter(|set| set.witnesses.iter().all(|(sizes, hash)| self.is_still(sizes, hash)))
            .filter_map(|set| ProfileFormulas::from_bytes(&set.formulas))
            .collect();
        all.sort_by(|one, other| other.compared().cmp(one.compared()));
        all
    }

    /// True if the plan of these sizes, with the files that it names, has this hash.
    fn is_still(&self, sizes: &[u64], hash: &str) -> bool {
        self.hash(sizes).is_some_and(|now| now == hash)
    }

    fn hash(&self, sizes: &[u64]) -> Option<String> {
        Some(sealed::hash(&packed::pack(&self.plan(sizes).ok()?).ok()?))
    }

    /// Keeps formulas for later runs, before those that were kept with other first sizes or steps.
    fn keep(&self, prepared: &Prepared, formulas: &ProfileFormulas) {
        let Some(kept) = self.supervisor.kept_counts() else { return };
        let witnesses: Option<Vec<(Vec<u64>, String)>> =
            [formulas.first(), formulas.compared().to_vec()]
                .into_iter()
                .map(|sizes| Some((sizes.clone(), self.hash(&sizes)?)))
                .collect();
        let (Some(witnesses), Some(bytes)) = (witnesses, formulas.to_bytes()) else { return };
        let is_other = |set: &KeptSet| {
            ProfileFormulas::from_bytes(&set.formulas)
                .is_some_and(|other| other.is_of_other_sizes(formulas))
        };
        let mut all = vec![KeptSet { formulas: bytes, witnesses }];
        all.extend(sets(kept, &prepared.identity).into_iter().filter(is_other));
        all.truncate(MOST_SETS);
        if let Ok(bytes) = postcard::to_stdvec(&all) {
            kept.keep_formulas(&prepared.identity, &bytes);
        }
    }
}

fn sets(kept: &KeptCounts, identity: &str) -> Vec<KeptSet> {
    let bytes = kept.formulas(identity);
    bytes.and_then(|bytes| postcard::from_bytes(&bytes).ok()).unwrap_or_default()
}

impl ByFormulas {
    /// Formulas for the sizes of a sweep: those that were kept, else new ones, which are kept. The
    /// reason why there are none is in words.
    ///
    /// # Errors
    ///
    /// Errors of the module, and [`Failure::Stopped`] if the supervisor says so.
    pub fn for_sweep(
        problem: &Problem<'_>,
        swept: &Swept,
    ) -> Result<Result<Self, String>, Failure> {
        if let Some(because) = problem.refusal() {
            return Ok(Err(because.to_owned()));
        }
        let first: Vec<u64> = swept.sizes.iter().map(|sizes| sizes.first).collect();
        let second: Vec<u64> = swept.sizes.iter().map(|sizes| sizes.at(1)).collect();
        let last: Vec<u64> = swept.sizes.iter().map(|sizes| sizes.largest()).collect();
        let prepared = match problem.plan(&first).and_then(|plan| problem.prepare(&plan)) {
            Ok(prepared) => prepared,
            Err(Failure::Stopped) => return Err(Failure::Stopped),
            Err(failure) => return Ok(Err(failure.in_one_line()?)),
        };
        let kept = problem.kept(&prepared).into_iter().find(|formulas| {
            // The sizes between are of the same spacing, as a step of theirs is.
            [&first, &second].into_iter().all(|sizes| formulas.has_spacing(sizes))
        });
        if let Some(mut formulas) = kept {
            let before = formulas.clone();
            let is_further = last.iter().zip(formulas.compared()).any(|(last, known)| last > known);
            if !is_further {
                return Ok(Ok(Self::new(prepared, formulas)));
            }
            let further: Vec<u64> = last
                .iter()
                .zip(formulas.compared())
                .map(|(&last, &known)| last.max(known))
                .collect();
            if formulas.extend(&problem.family(), &further)?.is_ok() {
                if formulas != before {
                    problem.keep(&prepared, &formulas);
                }
                return Ok(Ok(Self::new(prepared, formulas)));
            }
        }
        if swept.number < FEWEST_SIZES {
            let number = swept.number;
            return Ok(Err(format!("{number} sizes are executed sooner than formulas are found")));
        }
        let found = ProfileFormulas::find(&problem.family(), swept.sizes.clone(), swept.number)?;
        Ok(found.map(|formulas| {
            problem.keep(&prepared, &formulas);
            Self::new(prepared, formulas)
        }))
    }

    /// Formulas for one problem size, if some that were kept say what is counted there. Nothing is
    /// executed.
    ///
    /// # Errors
    ///
    /// Errors of the module.
    pub fn for_size(problem: &Problem<'_>, sizes: &[u64]) -> Result<Option<Self>, Failure> {
        if problem.refusal().is_some() {
            return Ok(None);
        }
        let prepared = problem.prepare(&problem.plan(sizes)?)?;
        let mut kept = problem.kept(&prepared).into_iter();
        let formulas = kept.find(|formulas| formulas.at(sizes).is_some());
        Ok(formulas.map(|formulas| Self::new(prepared, formulas)))
    }

    fn new(prepared: Prepared, formulas: ProfileFormulas) -> Self {
        let Prepared { module, loaded, machine, programs, identity: _ } = prepared;
        Self { formulas, module, loaded, machine, programs }
    }

    /// Sizes in which the launches were executed to find the formulas.
    #[must_use]
    pub fn executed(&self) -> u64 {
        self.formulas.executed
    }

    /// Sizes in which they were executed afterwards, and agreed.
    #[must_use]
    pub fn held_back(&self) -> u64 {
        self.formulas.held_back
    }

    /// The module of all sizes.
    #[must_use]
    pub fn loaded(&self) -> &Loaded {
        &self.loaded
    }

    /// The counts of a plan's launches, which have these sizes. `None` if formulas do not say them.
    ///
    /// # Errors
    ///
    /// If the user insists on an assembler whose code cannot be read.
    pub fn count(
        &self,
        plan: &Plan,
        sizes: &[u64],
        problem: &Problem<'_>,
    ) -> Result<Option<Vec<Counted>>, Failure> {
        let is_of =
            |(program, launch): (&Program, &PlannedLaunch)| program.kernel() == launch.kernel;
        let is_same = plan.module.text == self.module.text
            && plan.launches.len() == self.programs.len()
            && self.programs.iter().zip(&plan.launches).all(is_of);
        let Some(found_out) = self.formulas.at(sizes).filter(|_| is_same) else { return Ok(None) };
        let execution = &problem.counts.execution;
        let counting = Counting {
            device: gpu_argument::device_model(problem.gpu)?,
            machine: &self.machine,
            extras: Extras::default(),
            rung: execution.counting,
            sample: None,
            caches: execution.caches,
            supervisor: problem.supervisor,
        };
        let counted_by = CountedBy::formulas(self.formulas.all_executed());
        rebuilt(plan, &self.programs, &counting, found_out, &counted_by)
    }
}

/// The values of a problem's parameters, for callers who know them by name.
#[must_use]
pub fn sizes_of(names: &[String], values: &Parameters) -> Option<Vec<u64>> {
    let size = |name: &String| {
        let value = *values.get(name)?;
        (value.fract() == 0.0 && value >= 1.0).then_some(value as u64)
    };
    names.iter().map(size).collect()
}

/// The counts of a launch file's launches by formulas that a sweep has kept, or the reason why
/// there are none. Nothing is executed.
///
/// # Errors
///
/// Errors of the launch file or the module.
pub fn counted_by_kept(
    input: &str,
    options: &LaunchOptions,
    gpu: &Gpu,
    counts: &Counts,
    supervisor: &dyn Supervisor,
) -> Result<Result<Vec<Counted>, String>, Failure> {
    /// More parameters than anybody sweeps over have too many combinations.
    const MOST_PARAMETERS: usize = 8;
    let Some(unfilled) = UnfilledLaunch::read(input, options)? else {
        return Ok(Err("only launch files with parameters have formulas".to_owned()));
    };
    if supervisor.kept_counts().is_none() {
        return Ok(Err("formulas are kept with counts, which are not kept here".to_owned()));
    }
    let all: Vec<String> = unfilled.parameters.keys().take(MOST_PARAMETERS).cloned().collect();
    for chosen in 1..1_usize << all.len() {
        let is_chosen = |at: usize| chosen & (1 << at) != 0;
        let names: Vec<String> = all
            .iter()
            .enumerate()
            .filter(|(at, _)| is_chosen(*at))
            .map(|(_, it)| it.clone())
            .collect();
        let Some(sizes) = sizes_of(&names, &unfilled.parameters) else { continue };
        let plan_at = |sizes: &Parameters| {
            let mut all = unfilled.parameters.clone();
            all.extend(sizes.iter().map(|(name, &size)| (name.clone(), size)));
            let param = all.into_iter().collect();
            Ok(kernel_argument::read(input, &LaunchOptions { param, ..options.clone() })?)
        };
        let identity = unfilled.identity(&names, options);
        let problem = Problem {
            names: &names,
            plan_at: &plan_at,
            identity: &identity,
            gpu,
            counts,
            supervisor,
        };
        if let Some(because) = problem.refusal() {
            return Ok(Err(because.to_owned()));
        }
        let Some(formulas) = ByFormulas::for_size(&problem, &sizes)? else { continue };
        let plan = problem.plan(&sizes)?;
        if let Some(counted) = formulas.count(&plan, &sizes, &problem)? {
            return Ok(Ok(counted));
        }
    }
    Ok(Err("no sweep has kept formulas for this size".to_owned()))
}
