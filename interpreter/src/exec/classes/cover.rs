//! Classes that together are a grid.

use std::sync::{Arc, PoisonError};

use super::ClassEffort;
use super::representative::Representative;
use crate::exec::cluster::{Cluster, ClusterTurn};
use crate::exec::cta::LaunchContext;
use crate::grid_box::GridBox;
use crate::launch::{LaunchError, RunError};
use crate::observer::{Observer, StandIn};

/// Executed CTAs pay while they are at most one in so many of the grid.
const CTAS_PER_EXECUTED: u128 = 4;

/// One in so many CTAs may be executed in vain.
const CTAS_PER_TRIAL: u128 = 64;

/// The most classes, each of which keeps a record.
const MOST_CLASSES: usize = 1 << 16;

/// CTAs that one of them stands for.
pub(super) struct Class<R: StandIn> {
    pub(super) ctas: GridBox,
    /// The record of the first one.
    pub(super) record: R,
    /// The difference of the next one along each dimension in which there is a next one.
    pub(super) shifts: [Option<R::Shift>; 3],
    issued: (u64, u64),
}

/// Disjoint classes, the largest first.
pub(super) struct Cover<R: StandIn> {
    classes: Vec<Class<R>>,
    executed: u64,
}

/// Instructions of all CTAs.
pub(super) struct Issued {
    /// Instructions issued by a warp.
    pub(super) warp_instructions: u128,
    /// The lanes that were active in them.
    pub(super) lanes: u128,
}

/// Executes single CTAs of a launch.
struct Executor<'a, 'c> {
    context: &'a LaunchContext<'c>,
    cluster: Cluster,
    /// Warp-instructions that may still be issued.
    budget: u64,
    executed: u64,
    /// The line of the first operation that is not followed and keeps CTAs apart.
    not_followed: Option<u32>,
}

/// The reason why a CTA did not end as one of a class.
enum Unclassed {
    Because(String),
    Error(RunError),
}

impl From<String> for Unclassed {
    fn from(because: String) -> Self {
        Self::Because(because)
    }
}

impl Executor<'_, '_> {
    /// Makes the next CTAs a representative or others, and returns the representative before.
    fn set(&self, representative: Option<Representative>) -> Option<Representative> {
        let place = self.context.representative?;
        let mut place = place.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *place, representative)
    }

    /// Executes the CTA at a place of the grid as one of many.
    fn execute<R: StandIn>(
        &mut self,
        place: [u32; 3],
        recorder: &mut R,
    ) -> Result<(u64, u64), Unclassed> {
        let context = self.context;
        self.cluster.start_at(context, recorder, place);
        recorder.become_anonymous();
        let recorders = &mut [recorder.listening()];
        let turn = self.cluster.run(context, recorders, self.budget, false);
        if let Some(reason) = context.stop.reason() {
            let ctas = context.shape.ctas();
            return Err(Unclassed::Error(RunError::Stopped { reason, done: 0, ctas }));
        }
        match turn {
            Ok(ClusterTurn::Done) => {}
            Ok(ClusterTurn::Expired | ClusterTurn::Taken) => {
                return Err("its budget of instructions is too small".to_owned().into());
            }
            Err(fault) => return Err(format!("it comes to a fault: {fault}").into()),
        }
        let issued = self.cluster.issued();
        self.budget = self.budget.saturating_sub(issued.0);
        self.executed += 1;
        Ok(issued)
    }
}

impl<R: StandIn> Cover<R> {
    /// Classes of all CTAs, or the reason why there are none or too many.
    pub(super) fn of<O: Observer<Recorder = R>>(
        context: &LaunchContext<'_>,
        observer: &O,
        budget: u64,
        effort: ClassEffort,
    ) -> Result<Result<Self, String>, RunError> {
        match Self::find(context, observer, budget, effort) {
            Ok(cover) => Ok(Ok(cover)),
            Err(Unclassed::Because(because)) => Ok(Err(because)),
            Err(Unclassed::Error(error)) => Err(error),
        }
    }

    fn find<O: Observer<Recorder = R>>(
        context: &LaunchContext<'_>,
        observer: &O,
        budget: u64,
        effort: ClassEffort,
    ) -> Result<Self, Unclassed> {
        let ctas = context.shape.ctas();
        effort.allows(ctas)?;
        let cluster = Cluster::new(context).map_err(|_| {
            let (bytes, buffers) = (Cluster::bytes(context), context.device.total_bytes());
            let needed = buffers.saturating_add(bytes);
            Unclassed::Error(LaunchError::Memory { needed, buffers, limit: None }.into())
        })?;
        let mut executor = Executor { context, cluster, budget, executed: 0, not_followed: None };
        let mut rest = vec![GridBox::whole(context.shape.grid)];
        let mut classes = Vec::new();
        let mut covered = 0;
        // The largest box first: it tells soonest whether classes pay.
        while let Some(largest) = rest.iter().enumerate().max_by_key(|(_, one)| one.ctas()) {
            let whole = rest.swap_remove(largest.0);
            let class = class(&mut executor, observer, whole)?;
            covered += class.ctas.ctas();
            rest.extend(whole.without(&class.ctas));
            classes.push(class);
            let executed = u128::from(executor.executed);
            let pays = executed * CTAS_PER_EXECUTED <= ctas
                && (executed * CTAS_PER_TRIAL <= ctas || executed * CTAS_PER_EXECUTED <= covered);
            if effort == ClassEffort::WhilePaying && !pays || classes.len() > MOST_CLASSES {
                let because = match executor.not_followed {
                    Some(line) => format!(
                        "what line {line} does with a value that depends on the CTA's place is not \
                         followed, so that its CTAs fall into too many classes"
                    ),
                    None => "its CTAs fall into too many classes".to_owned(),
                };
                return Err(because.into());
            }
        }
        classes.sort_by_key(|class: &Class<R>| std::cmp::Reverse(class.ctas.ctas()));
        Ok(Self { classes, executed: executor.executed })
    }

    /// The number of classes.
    pub(super) fn classes(&self) -> usize {
        self.classes.len()
    }

    /// CTAs that were executed.
    pub(super) fn executed(&self) -> u64 {
        self.executed
    }

    /// The classes.
    pub(super) fn classes_mut(&mut self) -> &mut [Class<R>] {
        &mut self.classes
    }

    /// What all CTAs issue, if it can be counted.
    pub(super) fn issued(&self) -> Option<Issued> {
        let mut sums = (0_u128, 0_u128);
        for class in &self.classes {
            let ctas = class.ctas.ctas();
            sums.0 = sums.0.checked_add(ctas.checked_mul(class.issued.0.into())?)?;
            sums.1 = sums.1.checked_add(ctas.checked_mul(class.issued.1.into())?)?;
        }
        Some(Issued { warp_instructions: sums.0, lanes: sums.1 })
    }

    /// The class of a CTA, and its steps from the representative.
    pub(super) fn find_class(&self, place: [u32; 3]) -> Option<(&Class<R>, [u32; 3])> {
        self.classes.iter().find_map(|class| {
            let steps = |axis: usize| class.ctas.steps_to(axis, place[axis]);
            Some((class, [steps(0)?, steps(1)?, steps(2)?]))
        })
    }
}

/// The class of the first CTA of a box.
fn class<O: Observer<Recorder: StandIn>>(
    executor: &mut Executor<'_, '_>,
    observer: &O,
    whole: GridBox,
) -> Result<Class<O::Recorder>, Unclassed> {
    let program = executor.context.program;
    let Some(following) = &program.following else {
        return Err("its registers are not followed".to_owned().into());
    };
    let warps = executor.context.shape.threads_per_cta().div_ceil(32) as usize;
    executor.set(Some(Representative::new(Arc::clone(following), whole, warps)));
    let mut record = observer.recorder(program);
    let issued = executor.execute(whole.start, &mut record);
    let representative = executor.set(None);
    let issued = issued?;
    let Some(representative) = representative else {
        return Err("its registers are not followed".to_owned().into());
    };
    executor.not_followed = executor.not_followed.or(representative.not_followed);
    let ctas = representative.finish()?;
    let mut shifts = [None, None, None];
    for (dimension, shift) in shifts.iter_mut().enumerate() {
        if ctas.count[dimension] == 1 {
            continue;
        }
        let mut neighbour = observer.recorder(program);
        let issued_next = executor.execute(ctas.neighbour(dimension), &mut neighbour)?;
        *shift = record.shift_to(&neighbour).filter(|_| issued_next == issued);
        if shift.is_none() {
            return Err("neighbouring CTAs differ by more than addresses".to_owned().into());
        }
    }
    Ok(Class { ctas, record, shifts, issued })
}
