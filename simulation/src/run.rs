//! A launch on a few SMs that stand for all, extrapolated to all of their CTAs.
//!
//! The CTAs are dealt to SMs, and one SM of each class is simulated. They go on side by side before
//! one memory. The launch ends with the SM that ends last. Where an SM has more CTAs than a few
//! residencies, only some are simulated and the rest follows at the rate of the steady state. Where
//! even these have more instructions than the limit, the run is cut and goes on at the rate of its
//! last CTAs. It is cut as soon as the rate stays the same.

use std::cell::RefCell;
use std::rc::Rc;

use serde::{Deserialize, Serialize};

use crate::dispatch::{SmClass, dispatch};
use crate::feed::Feed;
use crate::launch::Launch;
use crate::limits::Limits;
use crate::memory::{MemorySystem, Served};
use crate::observer::Observer;
use crate::order::{Frame, Listener, Order, Step, Writer};
use crate::parameters::Parameters;
use crate::recording::{Recorder, Recording};
use crate::representative::{End, Representative, Standing};
use crate::sm::Prepared;
use crate::states::{Clocks, State};
use crate::turns::busiest_line;
use crate::work::Work;

/// The result of a simulation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Clocks of the SM that ends last, from the start of the launch to its end.
    pub clocks: f64,
    /// Clocks of a sub-core of that SM by what its issue slots were spent on; they add up to
    /// `clocks`.
    pub slots: Clocks,
    /// Clocks of warps by instruction of the code and state, of that SM's simulated CTAs.
    pub by_instruction: Vec<Clocks>,
    /// Warp instructions that were simulated.
    pub instructions: u64,
    /// CTAs of that SM that were simulated, and all of them.
    pub ctas: (u64, u64),
    /// The difference between the rates of the two halves that an extrapolation rests on, over
    /// their mean; 0 if nothing was extrapolated.
    pub drift: f64,
    /// Clocks that the L2 and DRAM work.
    pub served: Served,
    /// Barriers that warps were let through because nobody else could come.
    pub abandoned_barriers: u64,
}

/// Simulates a launch of which an SM holds `resident` CTAs at a time.
#[must_use]
pub fn simulate(
    launch: &Launch,
    resident: u32,
    parameters: &Parameters,
    limits: Limits,
) -> Outcome {
    simulated(launch, resident, parameters, (limits, true), None, |_| ()).outcome
}

/// The clocks of [`simulate`] to the last bit, without what they were spent on, which takes a good
/// part of the time.
#[must_use]
pub fn simulate_clocks(
    launch: &Launch,
    resident: u32,
    parameters: &Parameters,
    limits: Limits,
) -> f64 {
    simulated(launch, resident, parameters, (limits, false), None, |_| ()).outcome.clocks
}

/// The order of issue of [`simulate`]; none if the launch has too many warps or SMs to name.
#[must_use]
pub fn order_of_issue(
    launch: &Launch,
    resident: u32,
    parameters: &Parameters,
    limits: Limits,
) -> Option<Order> {
    let writer = Rc::new(RefCell::new(Writer::default()));
    let listener = |standing: Standing| Listener::new(standing.number, &writer);
    drop(simulated(launch, resident, parameters, (limits, false), None, listener));
    let lengths = lengths(launch, &Work::of(launch), parameters);
    let resident = resident_ctas(launch, resident, parameters).into();
    let writer = Rc::into_inner(writer)?.into_inner();
    writer.finish(Frame::of(resident, parameters, limits), lengths)
}

/// The result of [`simulate`] in an order of issue of the same launch; none if a run cannot have
/// that order.
#[must_use]
pub fn simulate_in_order(
    order: &Order,
    launch: &Launch,
    resident: u32,
    parameters: &Parameters,
    limits: Limits,
) -> Option<Outcome> {
    in_order(order, launch, resident, parameters, (limits, true))
}

/// The clocks of [`simulate_in_order`] to the last bit.
#[must_use]
pub fn simulate_clocks_in_order(
    order: &Order,
    launch: &Launch,
    resident: u32,
    parameters: &Parameters,
    limits: Limits,
) -> Option<f64> {
    Some(in_order(order, launch, resident, parameters, (limits, false))?.clocks)
}

fn in_order(
    order: &Order,
    launch: &Launch,
    resident: u32,
    parameters: &Parameters,
    (limits, accounts): (Limits, bool),
) -> Option<Outcome> {
    let held = resident_ctas(launch, resident, parameters).into();
    if !order.suits(&Frame::of(held, parameters, limits)) {
        return None;
    }
    let extent = (limits, accounts);
    let run = simulated(launch, resident, parameters, extent, Some(order), |_| ());
    run.has_its_order.then_some(run.outcome)
}

/// The result of [`simulate`], and all that happened on each SM on the way, the SM that ends last
/// first.
#[must_use]
pub fn record(
    launch: &Launch,
    resident: u32,
    parameters: &Parameters,
    limits: Limits,
) -> (Outcome, Vec<Recording>) {
    let recorder = |standing: Standing| Recorder::new(standing.sms as f64);
    let run = simulated(launch, resident, parameters, (limits, true), None, recorder);
    (run.outcome, run.observers.into_iter().map(Recorder::finish).collect())
}

/// About how many clocks a CTA of each class takes. Of one class nobody asks.
fn lengths(launch: &Launch, work: &Work, parameters: &Parameters) -> Vec<f64> {
    match launch.classes.len() {
        0 | 1 => Vec::new(),
        _ => work.lengths(launch, parameters),
    }
}

/// A run that has come to its end.
struct Finished<O> {
    outcome: Outcome,
    /// That of the SM which ends last first.
    observers: Vec<O>,
    /// False if it could not follow the order that it was given.
    has_its_order: bool,
}

/// Simulates a launch with an observer of each SM, made of what the SM stands for. Unless it
/// `accounts` for clocks, those by state and instruction are zero. It follows an order, if there is
/// one.
fn simulated<O: Observer>(
    launch: &Launch,
    resident: u32,
    parameters: &Parameters,
    (limits, accounts): (Limits, bool),
    order: Option<&Order>,
    observer: impl Fn(Standing) -> O,
) -> Finished<O> {
    let held = u64::from(resident_ctas(launch, resident, parameters));
    let work = Work::of(launch);
    let lengths = match order {
        Some(order) => order.lengths().to_vec(),
        None => lengths(launch, &work, parameters),
    };
    let mut classes = dispatch(&launch.order, &lengths, held, parameters.sm_count.into());
    if classes.is_empty() {
        classes.push(SmClass { sms: 1, runs: Vec::new() });
    }
    let active = classes.iter().map(|class| class.sms).sum::<u64>() as f64;
    // Those of a class are nearly alike, and all of them together have the CTAs of the launch.
    let of_class = |class: &SmClass| class.sms as f64 * work.of_runs(&class.runs);
    let of_classes: f64 = classes.iter().map(of_class).sum();
    let part = if of_classes > 0.0 { work.instructions / of_classes } else { 1.0 };
    let code = Prepared::new(launch, parameters);
    let stand_for = |(number, class): (u32, &SmClass)| {
        let alike = class.sms as f64 * part;
        let most = most_simulated(work.of_runs(&class.runs), class, held, limits);
        let feed = Feed::new(launch, &work, &class.runs, (most, held), &lengths);
        let standing = Standing { number, sms: class.sms, alike, active, resident: held };
        let watched = (standing, accounts, observer(standing));
        Representative::new(launch, &code, parameters, (class, feed), &work, watched)
    };
    let mut run = Run {
        sms: (0..).zip(&classes).map(stand_for).collect(),
        memory: MemorySystem::new(launch, parameters),
    };
    let has_its_order = match order {
        None => {
            run.go(limits);
            true
        }
        Some(order) => run.follow(order),
    };
    let (outcome, observers) = run.outcome(launch, parameters, &work);
    Finished { outcome, observers, has_its_order }
}

/// CTAs of an SM that are simulated at most, which executes so many warp instructions.
fn most_simulated(instructions: f64, class: &SmClass, resident: u64, limits: Limits) -> u64 {
    let ctas: u64 = class.runs.iter().map(|run| run.ctas).sum();
    let of_residency = resident as f64 * instructions / ctas.max(1) as f64;
    let steady = (limits.steady_instructions as f64 / of_residency.max(1.0)).ceil() as u64;
    resident * u64::from(limits.residencies.max(3)).max(steady)
}

/// The CTAs that an SM holds at a time, of `resident` that its other resources allow: each has its
/// own columns of tensor memory.
#[must_use]
pub fn resident_ctas(launch: &Launch, resident: u32, parameters: &Parameters) -> u32 {
    let columns = parameters.tensor.memory.tensor_memory_columns;
    let held = columns.checked_div(launch.tensor_columns).unwrap_or(u32::MAX);
    resident.min(held).max(1)
}

/// A run that will be cut is looked at after this part of the limit, and after each doubling.
const FIRST_LOOK: u64 = 8;

/// SMs side by side, and the memory behind them.
struct Run<'a, O: Observer> {
    sms: Vec<Representative<'a, O>>,
    memory: MemorySystem<'a>,
}

impl<O: Observer> Run<'_, O> {
    /// Goes on until all CTAs have ended. Where the limit comes first, it is cut there, or as soon
    /// as it is steady.
    fn go(&mut self, limits: Limits) {
        let planned: f64 = self.sms.iter().map(Representative::planned).sum();
        let is_cut = planned > limits.instructions as f64;
        let mut look_at = if is_cut { limits.instructions / FIRST_LOOK } else { u64::MAX };
        loop {
            let issued: u64 = self.sms.iter().map(|sm| sm.sm.issued).sum();
            if issued >= limits.instructions {
                break;
            }
            if issued >= look_at {
                look_at *= 2;
                if self.sms.iter().all(Representative::is_steady) {
                    break;
                }
            }
            // The SM whose event comes first goes on until another's does.
            let (mut first, mut until) = (None, u64::MAX);
            let mut earliest = u64::MAX;
            for (at, one) in self.sms.iter().enumerate().filter(|(_, one)| !one.is_done) {
                if first.is_none() || one.next_event < earliest {
                    until = if first.is_none() { u64::MAX } else { earliest };
                    (first, earliest) = (Some(at), one.next_event);
                } else {
                    until = until.min(one.next_event);
                }
            }
            let Some(first) = first else { break };
            self.sms[first].advance(until, &mut self.memory);
        }
    }

    /// Goes on in an order, to its end. Returns false if a warp that it names has nothing to issue.
    fn follow(&mut self, order: &Order) -> bool {
        let is_followed = order.steps().all(|Step { sm, warp }| {
            self.sms.get_mut(sm).is_some_and(|sms| sms.follow(warp, &mut self.memory))
        });
        // Behind the last issue only CTAs without instructions are left.
        self.sms.iter_mut().for_each(Representative::replace_all_ended);
        is_followed
    }

    /// The result, and the observers, that of the SM which ends last first.
    fn outcome(
        mut self,
        launch: &Launch,
        parameters: &Parameters,
        work: &Work,
    ) -> (Outcome, Vec<O>) {
        let ends: Vec<End> = self.sms.iter_mut().map(Representative::end).collect();
        let last = (0..ends.len()).max_by(|&one, &other| {
            let order = ends[one].clocks.total_cmp(&ends[other].clocks);
            // Of those that end together the first one.
            order.then(other.cmp(&one))
        });
        let last = last.unwrap_or(0);
        for (one, end) in self.sms.iter_mut().zip(&ends).filter(|_| O::WATCHES) {
            one.sm.tell_end(end.simulated, parameters.launch.launch_end);
        }
        let End { mut clocks, simulated, ctas, .. } = ends[last];
        let sm = &self.sms[last].sm;
        let start = parameters.launch.launch_start.min(clocks);
        let mut served = Served {
            atomics: busiest_line(launch) * parameters.memory.atomic_interval * work.scale,
            ..Served::default()
        };
        for end in &ends {
            served.l2 += end.served.l2;
            served.dram += end.served.dram;
            served.dram_sectors += end.served.dram_sectors;
        }
        // Bursts may be served ahead of their share, but not a whole launch.
        let (floor, awaited) = served.busiest();
        let short = (start + floor - clocks).max(0.0);
        clocks += short + parameters.launch.launch_end;
        let slots = sm.slots(simulated + parameters.launch.launch_end);
        // Start and tail are there once, however many CTAs follow each other.
        let once = slots.of(State::Launch).min(start) + slots.of(State::Tail);
        let factor = (clocks - short - once) / (slots.total() - once).max(1.0);
        let mut all = slots.scaled(factor);
        let fixed = slots.of(State::Launch).min(start);
        all.0[State::Launch as usize] = (slots.of(State::Launch) - fixed) * factor + fixed;
        all.0[State::Tail as usize] = slots.of(State::Tail);
        all.add(awaited, short);
        let outcome = Outcome {
            clocks,
            slots: all,
            by_instruction: sm.by_instruction().to_vec(),
            instructions: self.sms.iter().map(|sm| sm.sm.issued).sum(),
            ctas,
            drift: ends.iter().map(|end| end.drift).fold(0.0, f64::max),
            served,
            abandoned_barriers: self.sms.iter().map(|sm| sm.sm.abandoned_barriers).sum(),
        };
        self.sms.swap(0, last);
        (outcome, self.sms.into_iter().map(|sm| sm.sm.observer).collect())
    }
}
