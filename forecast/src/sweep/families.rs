//! Cases that differ in the sizes of a problem alone, counted by formulas in these sizes.

use std::cell::RefCell;
use std::collections::BTreeSet;

use gpucast_counters::DeviceModel;
use gpucast_model::Gpu;

use super::cases::{Case, CaseSource, Counting, Group, InFamily, Origin};
use crate::failure::Failure;
use crate::input::expression::Parameters;
use crate::input::plan::Plan;
use crate::number;
use crate::parametric::{ByFormulas, Problem, Swept};
use crate::run::sources::{self, Counts, Source};
use crate::run::supervisor::Supervisor;

/// Makes the plan of some sizes.
pub type PlanOfSizes<'a> = dyn Fn(&Parameters) -> Result<Plan, Failure> + 'a;

/// A KERNEL in all the sizes of a sweep.
pub struct Family<'a> {
    /// The KERNEL, with the parameters that do not vary.
    pub name: String,
    /// The names of the parameters that vary, in order of the alphabet.
    pub names: Vec<String>,
    /// The sizes of each of them, or the reason why formulas have none.
    pub swept: Result<Swept, String>,
    /// Makes the plan of some sizes.
    pub plan_at: Box<PlanOfSizes<'a>>,
    /// Everything that the plans follow from, but for files that they read.
    pub identity: String,
}

/// Counts cases by the formulas of their families. Those that have none are executed.
pub struct CountingByFormulas<'a> {
    /// The way to count all others.
    pub counting: Counting<'a>,
    families: &'a [Family<'a>],
    known: RefCell<Vec<Known>>,
    /// Reasons that were told.
    told: RefCell<BTreeSet<String>>,
    /// Hears why families have no formulas, once of each reason.
    tell: &'a dyn Fn(&str),
}

/// A family, counted as on one GPU.
struct Known {
    family: usize,
    device: DeviceModel,
    formulas: Option<ByFormulas>,
    by_formulas: u64,
    executed: u64,
}

impl<'a> CountingByFormulas<'a> {
    /// `tell` hears why families have no formulas, once of each reason.
    pub fn new(counting: Counting<'a>, families: &'a [Family<'a>], tell: &'a dyn Fn(&str)) -> Self {
        Self { counting, families, known: RefCell::default(), told: RefCell::default(), tell }
    }

    /// Says how many cases formulas have counted; `None` if they have counted none.
    pub fn report(&self) -> Option<String> {
        let known = self.known.borrow();
        let with_formulas: Vec<(&Known, &ByFormulas)> =
            known.iter().filter_map(|family| Some((family, family.formulas.as_ref()?))).collect();
        let sum = |of: fn(&(&Known, &ByFormulas)) -> u64| with_formulas.iter().map(of).sum::<u64>();
        let mut text = format!(
            "{} sizes by formulas, which were found in {} sizes and agreed in {} others",
            number::count(sum(|(one, _)| one.by_formulas)),
            number::count(sum(|(_, formulas)| formulas.executed())),
            number::count(sum(|(_, formulas)| formulas.held_back())),
        );
        let executed = sum(|(one, _)| one.executed);
        if executed > 0 {
            text += &format!("; {} have none, and were executed", number::count(executed));
        }
        (!with_formulas.is_empty()).then_some(text)
    }

    /// The counts of a case by formulas; `None` if it has to be executed.
    fn by_formulas(
        &self,
        place: &InFamily,
        group: &Group,
        gpu: &Gpu,
    ) -> Result<Option<Vec<Source>>, Failure> {
        let (Some(family), Some(device)) = (self.families.get(place.family), group.device) else {
            return Ok(None);
        };
        let counts = Counts { needs: group.needs, ..self.counting.counts.clone() };
        let problem = Problem {
            names: &family.names,
            plan_at: &*family.plan_at,
            identity: &family.identity,
            gpu,
            counts: &counts,
            supervisor: self.counting.supervisor,
        };
        let mut known = self.known.borrow_mut();
        let is_this = |one: &Known| one.family == place.family && one.device == device;
        let at = match known.iter().position(is_this) {
            Some(at) => at,
            None => {
                let found = match &family.swept {
                    Ok(swept) => ByFormulas::for_sweep(&problem, swept)?,
                    Err(because) => Err(because.clone()),
                };
                if let Err(because) = &found
                    && self.told.borrow_mut().insert(because.clone())
                {
                    (self.tell)(&format!("{} is executed in each size: {because}", family.name));
                }
                let family = place.family;
                let formulas = found.ok();
                known.push(Known { family, device, formulas, by_formulas: 0, executed: 0 });
                known.len() - 1
            }
        };
        let known = &mut known[at];
        let Some(formulas) = &known.formulas else { return Ok(None) };
        let named = family.names.iter().cloned().zip(place.sizes.iter().map(|&size| size as f64));
        let plan = (family.plan_at)(&named.collect())?;
        let counted = formulas.count(&plan, &place.sizes, &problem)?;
        match &counted {
            Some(_) => known.by_formulas += 1,
            None => known.executed += 1,
        }
        let Some(counted) = counted else { return Ok(None) };
        Ok(Some(counted.iter().map(|launch| sources::of_counted(launch, &plan, gpu)).collect()))
    }
}

impl Origin<CaseSource> for CountingByFormulas<'_> {
    fn supervisor(&self) -> &dyn Supervisor {
        self.counting.supervisor
    }

    fn count(&self, case: &Case, group: &Group) -> Result<Result<Vec<Source>, String>, Failure> {
        let (Ok(CaseSource::Execution { place: Some(place), .. }), Ok(gpu)) =
            (&case.source, &group.gpu)
        else {
            return self.counting.count(case, group);
        };
        match self.by_formulas(place, group, gpu) {
            Ok(Some(mut sources)) => {
                sources.iter_mut().for_each(|source| source.ask(self.counting.timing));
                Ok(Ok(sources))
            }
            Ok(None) => self.counting.count(case, group),
            Err(failure) => failure.in_one_line().map(Err),
        }
    }
}

/// The reason why values that are no sizes have no formulas.
#[must_use]
pub fn no_sizes(names: &[String]) -> String {
    let names = names.join(", ");
    format!("formulas are in whole numbers above 0, and {names} has others")
}
