//! The simulation with one of its parts taken away: what each of them is worth.
//!
//! A part is taken away from the inputs, so that the simulation itself stays as it is.

use gpucast_simulation::code::Control;
use gpucast_simulation::launch::{CtaRun, Launch, Request};
use gpucast_simulation::parameters::{ConstantCosts, LaunchCosts, Parameters};
use gpucast_simulation::{Limits, simulate};

/// A part of the simulation that is taken away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Without {
    /// Stall counts and barriers: each instruction may follow the one before in the next clock.
    /// Units, queues and rates limit alone.
    ControlCodes,
    /// The width at which the first-level cache returns lanes to registers: lines and passes over
    /// banks limit alone.
    LaneWidth,
    /// The time to start the launch, its CTAs and their warps, to replace CTAs, and to fetch code
    /// and constants for the first time.
    Launches,
    /// Waves and the tail: every CTA takes as long as one in the middle of a full GPU.
    Tail,
    /// The level of each request: the sectors of an instruction come from the caches in the shares
    /// of the whole launch, evenly mixed.
    Levels,
}

impl Without {
    pub(crate) const ALL: [Self; 5] =
        [Self::ControlCodes, Self::LaneWidth, Self::Launches, Self::Tail, Self::Levels];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ControlCodes => "no control codes",
            Self::LaneWidth => "no lane-width return",
            Self::Launches => "no launch or replacement",
            Self::Tail => "no tail",
            Self::Levels => "mean levels",
        }
    }

    /// The clocks of a launch of which an SM holds `resident` CTAs.
    pub(crate) fn clocks(self, launch: &Launch, resident: u32, parameters: &Parameters) -> f64 {
        let mut launch = launch.clone();
        let mut parameters = parameters.clone();
        match self {
            Self::ControlCodes => {
                for instruction in &mut launch.code.instructions {
                    instruction.control = Control::NEXT;
                }
            }
            Self::LaneWidth => parameters.load_store.l1_bytes_rate = f64::INFINITY,
            Self::Launches => {
                parameters.launch = LaunchCosts {
                    cta_launch_interval: 0.0,
                    cta_replacement: 0.0,
                    warp_launch_interval: 0.0,
                    launch_start: 0.0,
                    launch_end: 0.0,
                    code_latency: 0.0,
                    code_line_interval: 0.0,
                    constants: ConstantCosts {
                        constant_near_latency: 0.0,
                        constant_far_latency: 0.0,
                        ..parameters.launch.constants
                    },
                    ..parameters.launch
                }
            }
            Self::Tail => return without_tail(&launch, resident, &parameters),
            Self::Levels => mix_levels(&mut launch),
        }
        simulate(&launch, resident, &parameters, Limits::default()).clocks
    }
}

/// The time of two full residencies between the second and the fourth, over their CTAs, times those
/// of the launch.
fn without_tail(launch: &Launch, resident: u32, parameters: &Parameters) -> f64 {
    let full = u64::from(resident) * u64::from(parameters.sm_count);
    let of = |residencies: u64| {
        let sized = resized(launch, residencies * full);
        simulate(&sized, resident, parameters, Limits::default()).clocks / sized.ctas() as f64
            * (residencies * full) as f64
    };
    (of(4) - of(2)) / (2 * full) as f64 * launch.ctas() as f64
}

/// The launch with about as many CTAs. Each class has its share: were the CTAs counted together,
/// edges that come at regular distances could be all that is left.
fn resized(launch: &Launch, ctas: u64) -> Launch {
    let share = ctas as f64 / launch.ctas().max(1) as f64;
    let mut order = Vec::new();
    // CTAs of each class in the launch so far, and those taken of them.
    let mut so_far = vec![(0_u64, 0_u64); launch.classes.len()];
    for run in &launch.order {
        let (before, done) = &mut so_far[run.class as usize];
        *before += run.ctas;
        let until = (*before as f64 * share).round() as u64;
        if until > *done {
            order.push(CtaRun { ctas: until - *done, ..*run });
            *done = until;
        }
    }
    Launch { order, ..launch.clone() }
}

/// Gives the requests of each instruction the levels of all of its requests, evenly mixed.
fn mix_levels(launch: &mut Launch) {
    for queue in 0..launch.code.queues as usize {
        let mut sums = [0_u64; 3];
        for_each_request(launch, queue, |request| {
            sums.iter_mut().zip(levels(request)).for_each(|(sum, one)| *sum += u64::from(one));
        });
        let all: u64 = sums.iter().sum();
        if all == 0 {
            continue;
        }
        // What rounding left over goes to the next request.
        let mut owed = [0.0; 3];
        for_each_request(launch, queue, |request| {
            let mut left: u16 = levels(request).iter().sum();
            for (owed, sum) in owed.iter_mut().zip(sums) {
                *owed += f64::from(left) * sum as f64 / all as f64;
            }
            let mut given = [0; 3];
            for level in [2, 1] {
                given[level] = (owed[level].max(0.0) as u16).min(left);
                left -= given[level];
            }
            given[0] = left;
            owed.iter_mut().zip(given).for_each(|(owed, given)| *owed -= f64::from(given));
            [request.l1_sectors, request.l2_sectors, request.dram_sectors] = given;
        });
    }
}

fn levels(request: &Request) -> [u16; 3] {
    [request.l1_sectors, request.l2_sectors, request.dram_sectors]
}

fn for_each_request(launch: &mut Launch, queue: usize, mut visit: impl FnMut(&mut Request)) {
    let samples = launch.classes.iter_mut().flat_map(|class| &mut class.samples);
    for warp in samples.flat_map(|sample| &mut sample.warps) {
        warp.requests.get_mut(queue).into_iter().flatten().for_each(&mut visit);
    }
}
