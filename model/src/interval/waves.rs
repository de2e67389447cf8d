//! CTAs of a launch one after the other: start, waves, tail (GCoM, section 4.5; AMALI, section 5).

use gpucast_simulation::busiest_line;
use gpucast_simulation::launch::{CtaClass, Launch};
use gpucast_simulation::parameters::Parameters;
use gpucast_simulation::states::{Clocks, State};
use gpucast_simulation::walk::QueueUses;

use super::contention::{Residency, Together};
use super::demand::{Demand, Machine};
use super::intervals::{Alone, CodeCache, Walked};
use super::representative::{Point, representative};

/// The time of a launch, and what it rests on.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Predicted {
    /// Clocks by what they are spent on.
    pub(super) stack: Clocks,
    /// Instructions of the representative of the class with most CTAs.
    pub(super) instructions: f64,
    /// Its intervals.
    pub(super) intervals: u64,
    /// Its clocks alone.
    pub(super) alone: f64,
    /// Warps of the fullest sub-core.
    pub(super) warps: f64,
}

/// Instructions of a class that are walked at most. More warps say the same again.
const MOST_WALKED: u64 = 1 << 20;

/// A class of CTAs as its warps say.
struct Profile {
    alone: Alone,
    /// Further clocks of the first CTA of an SM, whose code no cache holds.
    cold: f64,
    demand: Demand,
    warps: f64,
    imbalance: f64,
}

/// Predicts a launch of which an SM holds `resident` CTAs at a time.
pub(super) fn predict(launch: &Launch, resident: u32, parameters: &Parameters) -> Predicted {
    let uses = QueueUses::of(&launch.code);
    let ctas = launch.ctas().max(1) as f64;
    let mut predicted = Predicted::default();
    let mut most = 0;
    let mut longest = 0.0_f64;
    for (at, class) in launch.classes.iter().enumerate() {
        let of_class = |run: &&gpucast_simulation::launch::CtaRun| run.class as usize == at;
        let own: u64 = launch.order.iter().filter(of_class).map(|run| run.ctas).sum();
        if own == 0 {
            continue;
        }
        let Some(profile) = profile(launch, class, &uses, parameters) else { continue };
        let whole = profile.alone.whole();
        let (stack, warps) = waves(&profile, ctas, f64::from(resident), parameters);
        let share = own as f64 / ctas * stretch(launch, class);
        let scaled = stack.scaled(share);
        predicted.stack.0.iter_mut().zip(scaled.0).for_each(|(sum, clocks)| *sum += clocks);
        longest = longest.max(whole.clocks() + profile.imbalance);
        if own > most {
            most = own;
            predicted.instructions = whole.demand.instructions;
            predicted.intervals = profile.alone.intervals;
            predicted.alone = whole.clocks();
            predicted.warps = warps;
        }
    }
    // The slice of the line that most atomics change makes one step after the other.
    let turns = busiest_line(launch) * parameters.memory.atomic_interval;
    predicted.stack.0[State::L2Queue as usize] += (turns - predicted.stack.total()).max(0.0);
    // However short the mean is, the longest CTA must end.
    let tail = longest - predicted.stack.total();
    predicted.stack.0[State::Tail as usize] += tail.max(0.0);
    let costs = parameters.launch;
    predicted.stack.0[State::Launch as usize] += costs.launch_start;
    predicted.stack.0[State::Tail as usize] += costs.launch_end;
    predicted
}

/// The warps of a class; `None` if they execute nothing.
fn profile(
    launch: &Launch,
    class: &CtaClass,
    uses: &QueueUses,
    parameters: &Parameters,
) -> Option<Profile> {
    let machine = Machine { parameters, dram_writes_per_store: launch.dram_writes_per_store };
    let samples = class.samples.len().max(1);
    let all = || class.samples.iter().flat_map(|sample| &sample.warps);
    let warps_of_cta = all().count().div_ceil(samples);
    let walked = Walked { code: &launch.code, uses, machine, warps_of_cta };
    let of_path = |warp: &gpucast_simulation::launch::WarpTrace| -> u64 {
        let block = |&block: &u32| launch.code.range(block as usize).len() as u64;
        warp.path.iter().map(block).sum()
    };
    let lengths: Vec<u64> = all().map(of_path).collect();
    let total: u64 = lengths.iter().sum();
    let least = usize::try_from(total.div_ceil(MOST_WALKED)).unwrap_or(usize::MAX);
    let step = step_through_roles(least, warps_of_cta);
    let mut demand = Demand::default();
    let (mut points, mut alones, mut warps) = (Vec::new(), Vec::new(), Vec::new());
    for warp in all().step_by(step).filter(|warp| !warp.path.is_empty()) {
        let alone = walked.alone(warp, CodeCache::Warm, |_| {});
        let whole = alone.whole();
        let instructions = whole.demand.instructions;
        if instructions > 0.0 {
            demand.add(&whole.demand, 1.0);
            points.push(Point { instructions, clocks: whole.clocks() });
            alones.push(alone);
            warps.push(warp);
        }
    }
    let chosen = representative(&points);
    let alone = alones.into_iter().nth(chosen)?;
    let cold = walked.alone(warps[chosen], CodeCache::Cold, |_| {});
    let clocks = points[chosen].clocks;
    let longest = points.iter().map(|point| point.clocks).fold(0.0, f64::max);
    let of_walked = demand.instructions.max(1.0);
    Some(Profile {
        cold: (cold.whole().clocks() - clocks).max(0.0),
        alone,
        demand: demand.scaled(total as f64 / of_walked / samples as f64),
        warps: lengths.iter().filter(|length| **length > 0).count() as f64 / samples as f64,
        imbalance: longest - clocks,
    })
}

/// The least step from `least` on that meets the warps of a CTA equally often, whatever their
/// roles. One that copies for all others must count for itself alone.
pub(super) fn step_through_roles(least: usize, warps_of_cta: usize) -> usize {
    let divides_both =
        |step: usize, one: usize| step.is_multiple_of(one) && warps_of_cta.is_multiple_of(one);
    let is_fair = |step: &usize| !(2..=warps_of_cta).any(|count| divides_both(*step, count));
    (least.max(1)..usize::MAX).find(is_fair).unwrap_or(least)
}

/// Instructions of the CTAs of a class over those that were recorded.
fn stretch(launch: &Launch, class: &CtaClass) -> f64 {
    let (mut kept, mut left_out) = (0_u64, 0_u64);
    for warp in class.samples.iter().flat_map(|sample| &sample.warps) {
        let block = |&block: &u32| launch.code.range(block as usize).len() as u64;
        kept += warp.path.iter().map(block).sum::<u64>();
        left_out += warp.left_out_instructions;
    }
    let scale = if class.scale > 0.0 { class.scale } else { 1.0 };
    if kept > 0 { (kept + left_out) as f64 / kept as f64 * scale } else { 1.0 }
}

/// The clocks of all CTAs as if they were of this class, and the warps of a sub-core.
fn waves(profile: &Profile, ctas: f64, resident: f64, parameters: &Parameters) -> (Clocks, f64) {
    let sms = f64::from(parameters.sm_count.max(1));
    let together = Together {
        phases: &profile.alone.phases,
        demand: &profile.demand,
        warps: profile.warps,
        imbalance: profile.imbalance,
        parameters,
    };
    // The SM with most CTAs decides.
    let own = (ctas / sms).ceil().max(1.0);
    let held = resident.min(own).max(1.0);
    let waves = (own / held).ceil();
    let active = sms.min(ctas);
    let costs = parameters.launch;
    let first = Residency { ctas: held, ctas_of_gpu: (held * sms).min(ctas), replacement: 0.0 };
    let mut stack = together.stack(first);
    // CTAs of the first wave start one after the other; the last of them still runs its way.
    let last_start = costs.cta_launch_interval * (held - 1.0) * active
        + costs.warp_launch_interval * (profile.warps - 1.0).max(0.0);
    let alone = profile.alone.whole().clocks() + profile.imbalance;
    let late = last_start + alone - stack.total();
    stack.0[State::Launch as usize] += late.max(0.0);
    stack.0[State::NoInstruction as usize] += profile.cold;
    let mut add = |residency: Residency, times: f64| {
        let further = together.stack(residency);
        stack.0.iter_mut().zip(further.0).for_each(|(sum, clocks)| *sum += times * clocks);
    };
    let replaced = Residency { replacement: costs.cta_replacement, ..first };
    if waves > 2.0 {
        add(replaced, waves - 2.0);
    }
    if waves > 1.0 {
        let before = (waves - 1.0) * held;
        let left = (ctas - before * sms).max(1.0);
        add(Residency { ctas: own - before, ctas_of_gpu: left, ..replaced }, 1.0);
    }
    (stack, together.warps_of_sub_core(held))
}
