//! From stored counts to the rows of the table.

use gpucast_model::CountedOn;

use super::counts;
use super::plan::{Opened, Planned};
use super::stored::{self, Stored};
use crate::choice::gpu_argument;
use crate::failure::{Failure, Report, in_one_line};
use crate::run::sources::Source;
use crate::run::supervisor::Supervisor;
use crate::store::Store;
use crate::sweep::cases::{Group, Origin};
use crate::sweep::{Answers, Case, Grid, Rows};

/// The rows of items that nobody has executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// There must be none.
    Refused,
    /// They say so in place of a time.
    Told,
}

/// Predicts from stored counts. The rows are those that one process writes.
///
/// # Errors
///
/// Items that are missing or damaged; [`Failure::Stopped`] if the supervisor says so; errors of the
/// store and of `rows`.
pub fn merge(
    plan: &Opened,
    store: &dyn Store,
    missing: Missing,
    supervisor: &dyn Supervisor,
    rows: &mut dyn Rows,
) -> Result<(), Failure> {
    let stored = Stored::list(store)?;
    if missing == Missing::Refused {
        let items = plan.items();
        let lacking = items.iter().filter(|item| stored.names(item).next().is_none()).count();
        if lacking > 0 {
            let message = format!("{lacking} of {} executions are missing", items.len());
            return Err(Report::new(message)
                .hint("run `gpucast sweep work`, or merge what there is with --allow-missing")
                .into());
        }
    }
    let origin = Merging { plan, store, stored, missing, supervisor };
    let Opened { axes, cases, points, models, count_on, .. } = plan;
    let answers = Answers::Times(models);
    Grid { axes, cases, points, answers, count_on }.run(0, &origin, rows)
}

struct Merging<'a> {
    plan: &'a Opened,
    store: &'a dyn Store,
    stored: Stored<'a>,
    missing: Missing,
    supervisor: &'a dyn Supervisor,
}

impl Origin<Planned> for Merging<'_> {
    fn supervisor(&self) -> &dyn Supervisor {
        self.supervisor
    }

    fn count(
        &self,
        case: &Case<Planned>,
        group: &Group,
    ) -> Result<Result<Vec<Source>, String>, Failure> {
        let timing = match &case.source {
            Ok(planned) => planned.timing,
            Err(reason) => return Ok(Err(reason.clone())),
        };
        let gpu = match &group.gpu {
            Ok(gpu) => gpu,
            Err(reason) => return Ok(Err(reason.clone())),
        };
        let (item, device) = match (self.plan.item(case, group), gpu_argument::device_model(gpu)) {
            (Some(item), Ok(device)) => (item, device),
            (_, Err(report)) => return Ok(Err(in_one_line(&[report]))),
            (None, Ok(_)) => return Ok(Err("it cannot be executed".to_owned())),
        };
        let mut damaged = None;
        for name in self.stored.names(&item) {
            let launches = match stored::read(self.store, name)? {
                Some(Err(reason)) => return Ok(Err(reason)),
                Some(Ok(launches)) => launches,
                None => {
                    // Gone, so that a worker executes it again.
                    self.store.remove(&counts::object(name))?;
                    damaged = Some(name);
                    continue;
                }
            };
            let source = |launch: counts::Counts| {
                let counted_on = CountedOn { gpu: gpu.name.clone(), device };
                launch.source(group.needs, counted_on, timing)
            };
            if let Some(sources) = launches.into_iter().map(source).collect() {
                return Ok(Ok(sources));
            }
        }
        let Some(name) = damaged else { return Ok(Err("it is not executed yet".to_owned())) };
        let message = format!("the counts {name} in {} are damaged", self.store.place());
        match self.missing {
            Missing::Told => Ok(Err(message)),
            Missing::Refused => Err(Report::new(message)
                .hint("they are removed; run `gpucast sweep work` again")
                .into()),
        }
    }
}
