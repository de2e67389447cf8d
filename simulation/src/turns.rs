//! Lines of the L2 at which atomics follow each other.
//!
//! The slice that holds a line changes one sector in a step, and lanes at one address one after the
//! other. So requests to one line queue for it, whichever warp they are of. Where CTAs share the
//! line, all other SMs are taken for copies of the one that is simulated, as for the other servers:
//! a step of this SM then stands for one of each. As there, one unloaded latency's worth of their
//! work passes at once, since the SMs do not ask at the same clock.

use std::collections::HashMap;

use crate::launch::{CtaTrace, Launch, Request, Turn, turns_in};
use crate::memory::Server;
use crate::parameters::Parameters;

/// A line.
#[derive(Clone, Debug, Default)]
struct Line {
    /// What this SM asks for.
    own: Server,
    /// What all SMs ask for.
    all: Server,
}

/// Lines with the CTA's place on the SM, 0 where CTAs share the line.
type Lines = HashMap<(u32, u32), Line>;

/// The lines that atomics of an SM change.
#[derive(Clone, Debug)]
pub(crate) struct Turns<'a> {
    table: &'a [Turn],
    lines: Lines,
    /// Clocks of a step.
    interval: f64,
    /// Clocks of work of all SMs that pass at once.
    burst: f64,
    /// CTAs of the grid for each of this SM. It is less than the SMs where some have one fewer.
    share: f64,
}

impl<'a> Turns<'a> {
    pub(crate) fn new(launch: &'a Launch, parameters: &Parameters) -> Self {
        let ctas = launch.ctas().max(1);
        let own = ctas.div_ceil(parameters.sm_count.max(1).into());
        Self {
            table: &launch.turns,
            lines: Lines::new(),
            interval: parameters.memory.atomic_interval,
            burst: parameters.memory.l2_latency,
            share: ctas as f64 / own as f64,
        }
    }

    /// The clocks that a request waits until its turn begins at the last of its lines. It is told
    /// at `now` and arrives at `arrival`; `cta` is the place of its CTA on the SM.
    pub(crate) fn wait(
        &mut self,
        now: f64,
        arrival: f64,
        cta: u32,
        request: &Request,
        sms: f64,
    ) -> f64 {
        let mut longest = 0.0_f64;
        for turn in turns_in(self.table, request) {
            let work = f64::from(turn.steps) * self.interval;
            let place = if turn.is_shared { 0 } else { cta };
            let line = self.lines.entry((place, turn.line)).or_default();
            longest = longest.max(line.own.take(now, arrival, work, work));
            if turn.is_shared {
                longest = longest.max(line.all.take(
                    now,
                    arrival,
                    work * sms.min(self.share),
                    self.burst,
                ));
            }
        }
        longest
    }
}

/// The steps of atomics at the line where all CTAs of a launch together have most. Lines that a
/// CTA has for itself do not count.
#[must_use]
pub fn busiest_line(launch: &Launch) -> f64 {
    let mut steps: HashMap<u32, f64> = HashMap::new();
    if launch.turns.is_empty() {
        return 0.0;
    }
    for (at, class) in launch.classes.iter().enumerate() {
        let runs = launch.order.iter().filter(|run| run.class as usize == at);
        let ctas: u64 = runs.map(|run| run.ctas).sum();
        let times = ctas as f64 / class.samples.len().max(1) as f64;
        for turn in class.samples.iter().flat_map(|sample| turns_of(launch, sample)) {
            if turn.is_shared {
                *steps.entry(turn.line).or_default() += f64::from(turn.steps) * times;
            }
        }
    }
    steps.into_values().fold(0.0, f64::max)
}

/// All turns of a recorded CTA.
fn turns_of<'a>(launch: &'a Launch, sample: &'a CtaTrace) -> impl Iterator<Item = &'a Turn> {
    let requests = sample.warps.iter().flat_map(|warp| warp.requests.iter().flatten());
    requests.flat_map(|request| launch.turns_of(request))
}
