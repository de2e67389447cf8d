//! Classes of CTAs: one CTA is executed for all that do the same at other addresses.
//!
//! The first CTA of a box of the grid is executed as the *representative* of the box. Beside its
//! registers the engine keeps how each of them changes from CTA to CTA ([`motion`]). Each
//! comparison, division and access keeps the CTAs of the box for which it has the same outcome
//! ([`region`]). What is left when the representative has ended is a *class*; the rest of the
//! box is cut into boxes with representatives of their own ([`crate::grid_box`]).
//!
//! That is a proof by induction over the representative's operations: up to each of them, every CTA
//! of the class has taken the same way, its registers hold the representative's values moved by
//! their motions, and its shared memory holds the same. So do the threads' own memories, but for
//! values of which it is known how they move ([`held`]). Nothing is kept about other memory, so
//! values that move must not enter it, and contents that are read must not be written.
//!
//! The neighbours of the representative along each dimension are executed too. They say how much
//! the requests to the caches move. If they differ from the representative by more than
//! addresses, the launch is not counted by classes.
//!
//! An observer then hears of every CTA in order ([`tell`]), or of each class with the number of its
//! CTAs ([`tally`]), or of each class and of the CTAs in some windows of the grid.

mod access;
mod cover;
mod follow;
mod held;
mod held_values;
mod motion;
mod region;
mod representative;
mod tally;
mod tell;
mod transfer;
mod upcoming;

use std::slice;
use std::sync::Mutex;

use super::Request;
use super::cta::LaunchContext;
use super::level::Level;
use super::watch::{Decision, Plan};
use super::{prepare_rest, setup};
use crate::launch::{Host, Launch, LaunchError, Options, RunError, Schedule, Summary};
use crate::memory::DeviceMemory;
use crate::observer::{CountOverflow, Observer, StandIn, Tally, Wants, Windows};
use crate::program::Program;
use cover::{Cover, Issued};
pub(crate) use representative::Representative;

/// The effort to put into classes before a launch is executed CTA by CTA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassEffort {
    /// As long as it is likely to pay.
    WhilePaying,
    /// To the end, up to a limit that memory sets.
    ToTheEnd,
}

/// Grids smaller than this are as soon executed.
const LEAST_CTAS: u128 = 64;

impl ClassEffort {
    /// Decides about a grid of so many CTAs before anything else is known of it.
    ///
    /// # Errors
    ///
    /// The reason why no effort is made.
    pub fn allows(self, ctas: u128) -> Result<(), String> {
        match self {
            Self::WhilePaying if ctas < LEAST_CTAS => {
                Err(format!("a grid of {ctas} CTAs is as soon executed"))
            }
            Self::WhilePaying | Self::ToTheEnd => Ok(()),
        }
    }
}

/// A launch that was counted by classes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ByClasses {
    /// As of an execution of all CTAs.
    pub summary: Summary,
    /// Classes of CTAs.
    pub classes: usize,
    /// CTAs that were executed.
    pub executed: u64,
}

/// Counts a launch by classes of CTAs. The observer hears of every CTA, in order of the grid, what
/// it would hear if all were executed. `program` comes from [`Program::followed`]. The budget
/// of instructions covers what is executed.
///
/// The inner error is the reason why this cannot be done. The observer has heard nothing then.
///
/// # Errors
///
/// As [`super::run`], except for faults of representatives: these are reasons of the inner kind,
/// since the first fault of the grid may be another one.
pub fn run_classes<O: Observer<Recorder: StandIn>>(
    program: &Program,
    launch: &Launch,
    memory: &mut DeviceMemory,
    observer: &mut O,
    options: &Options,
    host: &dyn Host,
    effort: ClassEffort,
) -> Result<Result<ByClasses, String>, RunError> {
    let request = Request { level: Level::detect(), program, launch, options, host };
    request.by_classes(memory, observer, effort, |context, cover, observer| {
        let Some(issued) = cover.issued() else {
            return Ok(Err("it executes 2¹²⁸ instructions or more".to_owned()));
        };
        let all = 0..setup::ctas_in_order(&context.shape)?;
        tell::tell(context, cover, observer, slice::from_ref(&all), host)?;
        Ok(Ok(issued))
    })
}

/// Counts a launch by classes of CTAs for an observer that only adds up. The observer hears of one
/// CTA of each class and of their number, so that the time does not depend on the size of the grid.
/// `program` comes from [`Program::followed`]. The budget of instructions covers what is executed.
///
/// The inner error is the reason why this cannot be done. The observer has heard nothing then.
///
/// # Errors
///
/// As [`run_classes`], and [`LaunchError::Counts`].
pub fn tally_classes<O: Tally>(
    program: &Program,
    launch: &Launch,
    memory: &mut DeviceMemory,
    observer: &mut O,
    options: &Options,
    host: &dyn Host,
    effort: ClassEffort,
) -> Result<Result<ByClasses, String>, RunError> {
    let request = Request { level: Level::detect(), program, launch, options, host };
    request.by_classes(memory, observer, effort, |context, cover, observer| {
        let issued = cover.issued().ok_or(LaunchError::Counts(CountOverflow::Sum))?;
        tally::tally(cover, observer).map_err(LaunchError::Counts)?;
        let ctas = context.shape.ctas();
        host.progress(ctas, ctas);
        Ok(Ok(issued))
    })
}

/// As [`tally_classes`], and then tells the observer of the CTAs that it wants to hear of.
///
/// # Errors
///
/// As [`tally_classes`].
pub fn window_classes<O: Windows>(
    program: &Program,
    launch: &Launch,
    memory: &mut DeviceMemory,
    observer: &mut O,
    options: &Options,
    host: &dyn Host,
    effort: ClassEffort,
) -> Result<Result<ByClasses, String>, RunError> {
    let request = Request { level: Level::detect(), program, launch, options, host };
    request.by_classes(memory, observer, effort, |context, cover, observer| {
        let issued = cover.issued().ok_or(LaunchError::Counts(CountOverflow::Sum))?;
        setup::ctas_in_order(&context.shape)?;
        tally::tally(cover, observer).map_err(LaunchError::Counts)?;
        loop {
            let windows = observer.windows().map_err(LaunchError::Counts)?;
            if windows.is_empty() {
                return Ok(Ok(issued));
            }
            tell::tell(context, cover, observer, &windows, host)?;
        }
    })
}

impl Request<'_> {
    /// Finds the classes of the launch and has `hand_over` tell the observer of them. It returns
    /// what all CTAs issue, or the reason why it cannot.
    fn by_classes<O: Observer<Recorder: StandIn>>(
        &self,
        memory: &mut DeviceMemory,
        observer: &mut O,
        effort: ClassEffort,
        hand_over: impl FnOnce(
            &LaunchContext<'_>,
            &mut Cover<O::Recorder>,
            &mut O,
        ) -> Result<Result<Issued, String>, RunError>,
    ) -> Result<Result<ByClasses, String>, RunError> {
        let Self { program, options, .. } = *self;
        let globals = setup::variables(program, memory)?;
        prepare_rest(program, memory, options)?;
        let wants = Wants::of::<O>();
        let representative = Mutex::new(None);
        let context = self.context(memory, &globals, wants)?;
        let context = LaunchContext { representative: Some(&representative), ..context };
        if let Some(because) = unfit(&context, memory, options, wants) {
            return Ok(Err(because));
        }
        let mut cover = match Cover::of(&context, observer, options.instruction_budget, effort)? {
            Ok(cover) => cover,
            Err(because) => return Ok(Err(because)),
        };
        let Issued { warp_instructions, lanes } = match hand_over(&context, &mut cover, observer)? {
            Ok(issued) => issued,
            Err(because) => return Ok(Err(because)),
        };
        let ordered_because = match options.schedule {
            Schedule::Automatic => program.ordered_because.clone(),
            Schedule::Ordered | Schedule::Parallel => None,
        };
        let summary =
            Summary { warp_instructions, issued_lanes: lanes, ordered_because, watched: false };
        Ok(Ok(ByClasses { summary, classes: cover.classes(), executed: cover.executed() }))
    }
}

/// The reason why CTAs of a launch cannot stand for each other, if that is known beforehand.
pub(super) fn unfit(
    context: &LaunchContext<'_>,
    memory: &DeviceMemory,
    options: &Options,
    wants: Wants,
) -> Option<String> {
    if context.shape.ctas_per_cluster() > 1 {
        return Some("its CTAs form clusters".to_owned());
    }
    if options.skip_bad_accesses || wants.values {
        return Some("values are looked at".to_owned());
    }
    // A program that is followed writes no buffer. Its CTAs may count as if they ran in order, but
    // none of them can tell.
    let is_watched = || {
        let plan = Plan::of(context, memory, context.shape.ctas(), wants.values);
        context.program.ordered_because.is_none() && !matches!(plan, Decision::Independent)
    };
    let depends = match options.schedule {
        Schedule::Parallel => false,
        Schedule::Ordered => true,
        Schedule::Automatic => is_watched(),
    };
    depends.then(|| "its CTAs may depend on each other".to_owned())
}
