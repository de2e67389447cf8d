//! A launch on one SM, extrapolated to all of its CTAs.
//!
//! The SM gets its share of the grid. Where that is more than a few residencies, only some are
//! simulated and the rest follows at the rate of the steady state. Where even these have more
//! instructions than the limit, the run is cut and goes on at the rate of its second half.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::balance::imbalance;
use crate::clock::clock_at;
use crate::distributor::Distributor;
use crate::launch::Launch;
use crate::memory::Served;
use crate::parameters::Parameters;
use crate::sm::{Ended, Prepared, Sm};
use crate::states::{Clocks, State};
use crate::turns::busiest_line;
use crate::work::Work;

/// How far a simulation goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Residencies of CTAs that are simulated at most, as far as they have `steady_instructions`.
    pub residencies: u32,
    /// Warp instructions up to which further residencies are simulated. CTAs of a few instructions
    /// live for one or two latencies of memory, and the use of DRAM settles over many of them.
    pub steady_instructions: u64,
    /// Warp instructions that are simulated at most.
    pub instructions: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { residencies: 6, steady_instructions: 30_000, instructions: 5_000_000 }
    }
}

/// The result of a simulation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Clocks of the SM from the start of the launch to its end.
    pub clocks: f64,
    /// Clocks of a sub-core by what its issue slots were spent on; they add up to `clocks`.
    pub slots: Clocks,
    /// Clocks of warps by instruction of the code and state, of the simulated CTAs.
    pub by_instruction: Vec<Clocks>,
    /// Warp instructions that were simulated.
    pub instructions: u64,
    /// CTAs that were simulated, and those of the SM.
    pub ctas: (u64, u64),
    /// The difference between the rates of the two halves that an extrapolation rests on, over
    /// their mean; 0 if nothing was extrapolated.
    pub drift: f64,
    /// Clocks that the L2 and DRAM work for the SM.
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
    simulated(launch, resident, parameters, limits, true)
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
    simulated(launch, resident, parameters, limits, false).clocks
}

/// Simulates a launch. Unless it `accounts` for clocks, those by state and instruction are zero.
fn simulated(
    launch: &Launch,
    resident: u32,
    parameters: &Parameters,
    limits: Limits,
    accounts: bool,
) -> Outcome {
    let ctas = launch.ctas();
    let sms = u64::from(parameters.sm_count.max(1));
    let resident = u64::from(resident_ctas(launch, resident, parameters));
    let own = ctas.div_ceil(sms).max(1);
    let work = Work::of(launch);
    let of_residency = resident as f64 * work.instructions / ctas.max(1) as f64;
    let steady = (limits.steady_instructions as f64 / of_residency.max(1.0)).ceil() as u64;
    let most = resident * u64::from(limits.residencies.max(3)).max(steady);
    // The rest of the division stays, and with it the shape of the tail.
    let simulated = if own <= most { own } else { most - resident + own % resident };
    let feed = Feed::new(launch, parameters, simulated.min(own));
    let classes: Vec<u32> = feed.next.iter().map(|&(class, _)| class).collect();
    let code = Prepared::new(launch, parameters);
    let mut run = Run {
        sm: Sm::new(launch, &code, parameters, accounts),
        feed,
        work,
        parameters,
        resident,
        ctas,
        own,
        simulated: simulated.min(own),
        classes,
        ends: Vec::new(),
        distributor: Distributor::new(parameters, ctas, resident),
        marks: Vec::new(),
    };
    run.go(limits.instructions);
    run.outcome(launch)
}

/// The CTAs that an SM holds at a time, of `resident` that its other resources allow: each has its
/// own columns of tensor memory.
#[must_use]
pub fn resident_ctas(launch: &Launch, resident: u32, parameters: &Parameters) -> u32 {
    let columns = parameters.tensor.memory.columns;
    let held = columns.checked_div(launch.tensor_columns).unwrap_or(u32::MAX);
    resident.min(held).max(1)
}

/// The CTAs of an SM in order: class, and which sample of it.
struct Feed {
    next: VecDeque<(u32, usize)>,
}

/// The golden section, whose multiples spread evenly.
const GOLDEN: f64 = 0.618_033_988_749_895;

impl Feed {
    /// The first `count` CTAs of a typical SM. The grid is dealt in rounds of one CTA for each SM;
    /// the SM's place in the round changes, so that no pattern of the grid is met always or never.
    fn new(launch: &Launch, parameters: &Parameters, count: u64) -> Self {
        let sms = u64::from(parameters.sm_count.max(1));
        let ctas = launch.ctas();
        let mut places: Vec<u64> = (0..count)
            .map(|round| {
                let first = round * sms;
                let in_round = sms.min(ctas.saturating_sub(first)).max(1);
                let place = ((round + 1) as f64 * GOLDEN).fract() * in_round as f64;
                first + (place as u64).min(in_round - 1)
            })
            .collect();
        // A part of a large grid stands for all of it.
        if let Some(&last) = places.last()
            && last + sms < ctas
        {
            let stretch = ctas as f64 / (last + sms) as f64;
            for place in &mut places {
                *place = ((*place as f64 * stretch) as u64).min(ctas.saturating_sub(1));
            }
        }
        let mut next = VecDeque::new();
        let mut runs = launch.order.iter();
        let mut run = runs.next();
        let mut end = run.map_or(0, |run| run.ctas);
        let mut taken = vec![0_usize; launch.classes.len()];
        for place in places {
            while place >= end {
                let Some(following) = runs.next() else { break };
                run = Some(following);
                end += following.ctas;
            }
            let Some(run) = run else { break };
            if let Some(taken) = taken.get_mut(run.class as usize) {
                next.push_back((run.class, *taken));
                *taken += 1;
            }
        }
        Self { next }
    }
}

struct Run<'a> {
    sm: Sm<'a>,
    feed: Feed,
    work: Work,
    parameters: &'a Parameters,
    resident: u64,
    ctas: u64,
    own: u64,
    simulated: u64,
    /// The classes of the simulated CTAs.
    classes: Vec<u32>,
    ends: Vec<Ended>,
    distributor: Distributor,
    /// Clock and issued instructions from time to time.
    marks: Vec<(u64, u64)>,
}

/// Instructions between two marks.
const MARK: u64 = 1 << 12;

impl Run<'_> {
    fn go(&mut self, limit: u64) {
        let costs = self.parameters.launch;
        let sms = f64::from(self.parameters.sm_count.max(1)).min(self.ctas as f64);
        self.sm.active_sms = sms;
        for _ in 0..self.resident.min(self.simulated) {
            self.start(costs.start);
        }
        let mut next_mark = MARK;
        loop {
            if self.sm.has_ends() {
                for ended in self.sm.take_ends() {
                    self.ends.push(ended);
                    self.start(ended.clock as f64 + costs.replacement);
                    self.set_active();
                }
            } else if !self.sm.step() {
                break;
            }
            if self.sm.issued >= next_mark {
                self.marks.push((self.sm.clock, self.sm.issued));
                next_mark += MARK;
                if self.sm.issued >= limit {
                    break;
                }
            }
        }
        let last = self.sm.take_ends();
        self.ends.extend(last);
    }

    /// Starts the next CTA at a clock, or as soon as the GPU gets round to it.
    fn start(&mut self, at: f64) {
        if let Some((class, sample)) = self.feed.next.pop_front() {
            let at = self.distributor.start(at);
            self.sm.start(class, sample, clock_at(at));
        }
    }

    /// When this SM is at work on its last CTA and others had one fewer, they have ended.
    fn set_active(&mut self) {
        let sms = u64::from(self.parameters.sm_count.max(1));
        let with_one_more = self.ctas % sms;
        let left = self.simulated.saturating_sub(self.ends.len() as u64);
        if with_one_more > 0 && left <= 1 && self.ctas > sms {
            self.sm.active_sms = with_one_more as f64;
        }
    }

    fn outcome(self, launch: &Launch) -> Outcome {
        let Self { sm, work, own, simulated, classes, ends, marks, resident, parameters, .. } =
            self;
        let end_of_sm = sm.clock.max(sm.last_store());
        let done = ends.len() as u64;
        let mut drift = 0.0;
        let mut clocks = end_of_sm as f64;
        if done < simulated {
            // Cut: the instructions that are left follow at the rate of the second half.
            let whole = work.instructions * own as f64 / launch.ctas().max(1) as f64;
            let (rate, change) = second_half(&marks);
            clocks += (whole - sm.issued as f64).max(0.0) * rate;
            drift = change;
        } else if own > simulated {
            let (rate, change) = steady_rate(&ends, resident);
            let of_cta = work.instructions / launch.ctas().max(1) as f64;
            clocks += (own - simulated) as f64 * of_cta * rate;
            drift = change;
        }
        let start = parameters.launch.start.min(clocks);
        // Bursts may be served ahead of their share, but not a whole launch.
        let part = if done < simulated {
            let whole = work.instructions * own as f64 / launch.ctas().max(1) as f64;
            (sm.issued as f64 / whole.max(1.0)).min(1.0)
        } else {
            simulated.max(1) as f64 / own as f64
        };
        let atomics = busiest_line(launch) * parameters.memory.atomic_interval;
        let served = Served { atomics, ..sm.served().over(part.max(f64::MIN_POSITIVE)) };
        let (floor, awaited) = served.busiest();
        let short = (start + floor - clocks).max(0.0);
        clocks += short;
        let lengths = lengths(launch, &work, &ends);
        let sms = parameters.sm_count.max(1) as usize;
        let further = (own - simulated) as f64;
        let uneven = imbalance(launch, &lengths, &classes, further, resident as usize, sms);
        let stretch = work.scale * uneven;
        clocks = start + (clocks - start) * stretch + parameters.launch.end;
        let simulated_end = end_of_sm as f64 + parameters.launch.end;
        let slots = sm.slots(simulated_end);
        // Start and tail are there once, however many CTAs follow each other.
        let once = slots.of(State::Launch).min(start) + slots.of(State::Tail);
        let short = short * stretch;
        let factor = (clocks - short - once) / (slots.total() - once).max(1.0);
        let mut all = slots.scaled(factor);
        let fixed = slots.of(State::Launch).min(start);
        all.0[State::Launch as usize] = (slots.of(State::Launch) - fixed) * factor + fixed;
        all.0[State::Tail as usize] = slots.of(State::Tail);
        all.add(awaited, short);
        Outcome {
            clocks,
            slots: all,
            by_instruction: sm.by_instruction().to_vec(),
            instructions: sm.issued,
            ctas: (done, own),
            drift,
            served: served.over(1.0 / stretch),
            abandoned_barriers: sm.abandoned_barriers,
        }
    }
}

/// The mean clocks of the CTAs of each class that ended. A class without one takes as much longer
/// than the others as it has more instructions.
fn lengths(launch: &Launch, work: &Work, ends: &[Ended]) -> Vec<f64> {
    let mut sums = vec![(0.0, 0.0); launch.classes.len()];
    let mut of_ended = 0.0;
    for ended in ends {
        if let Some((clocks, count)) = sums.get_mut(ended.class as usize) {
            *clocks += (ended.clock - ended.started) as f64;
            *count += 1.0;
            of_ended += work.of_cta(ended.class as usize);
        }
    }
    let clocks: f64 = sums.iter().map(|one| one.0).sum();
    let rate = if of_ended > 0.0 { clocks / of_ended } else { 0.0 };
    let length = |(class, &(clocks, count)): (usize, &(f64, f64))| {
        if count > 0.0 { clocks / count } else { rate * work.of_cta(class) }
    };
    sums.iter().enumerate().map(length).collect()
}

/// Clocks per instruction in the second half of a cut run, and how much its quarters differ.
fn second_half(marks: &[(u64, u64)]) -> (f64, f64) {
    let [.., last] = marks else { return (0.0, 0.0) };
    let rate =
        |from: (u64, u64), to: (u64, u64)| (to.0 - from.0) as f64 / (to.1 - from.1).max(1) as f64;
    let (half, three_quarters) = (marks[marks.len() / 2], marks[marks.len() * 3 / 4]);
    if half.1 == last.1 {
        return (last.0 as f64 / last.1.max(1) as f64, 0.0);
    }
    let whole = rate(half, *last);
    let (first, second) = (rate(half, three_quarters), rate(three_quarters, *last));
    (whole, if whole > 0.0 { (first - second).abs() / whole } else { 0.0 })
}

/// Clocks per instruction in the steady state, and how much its halves differ. The first residency
/// starts cold and as fast as the GPU starts CTAs, and the second one still does so in its wake. So
/// the steady state lasts from the end of the second one, for as many whole residencies as end
/// before the last one. CTAs may end in bunches, so instructions are counted and not ends.
fn steady_rate(ends: &[Ended], resident: u64) -> (f64, f64) {
    let resident = resident.max(1) as usize;
    let Some(last) = ends.len().checked_sub(1) else { return (0.0, 0.0) };
    let rate = |from: usize, to: usize| {
        let (from, to) = (&ends[from], &ends[to]);
        let issued = to.issued.saturating_sub(from.issued).max(1);
        (to.clock as f64 - from.clock as f64).max(0.0) / issued as f64
    };
    // The end of a residency, and whole ones between it and the last one.
    let after = |first: usize| (first, last.saturating_sub(resident + first) / resident);
    let (mut first, mut residencies) = after((2 * resident - 1).min(last));
    if residencies == 0 {
        (first, residencies) = after((resident - 1).min(last));
    }
    if residencies == 0 {
        return (ends[last].clock as f64 / ends[last].issued.max(1) as f64, 0.0);
    }
    let (middle, end) = (first + residencies / 2 * resident, first + residencies * resident);
    let whole = rate(first, end);
    if middle == first || whole <= 0.0 {
        return (whole, 0.0);
    }
    (whole, (rate(first, middle) - rate(middle, end)).abs() / whole)
}
