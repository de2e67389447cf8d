//! Lines of the L2 at which atomics follow each other.
//!
//! The slice that holds a line changes one sector in a step, and lanes at one address one after the
//! other. So requests to one line queue for it, whichever warp they are of. Where CTAs share the
//! line, a step of a simulated SM is one of each SM that it stands for, as for the other servers.
//! As there, one unloaded latency's worth of their work passes at once, since the SMs do not ask at
//! the same clock.

use std::collections::HashMap;

use crate::launch::{CtaTrace, Launch, Request, Turn, turns_in};
use crate::parameters::Parameters;
use crate::server::Server;

/// The lines that atomics change.
#[derive(Clone, Debug)]
pub(crate) struct Turns<'a> {
    table: &'a [Turn],
    /// What each simulated SM asks for, by its number, the CTA's place on it and the line. The
    /// place is 0 where CTAs share the line.
    own: HashMap<(u32, u32, u32), Server>,
    /// What all SMs ask for at lines that CTAs share.
    all: HashMap<u32, Server>,
    /// Clocks of a step.
    interval: f64,
    /// Clocks of work of all SMs that pass at once.
    burst: f64,
}

impl<'a> Turns<'a> {
    pub(crate) fn new(launch: &'a Launch, parameters: &Parameters) -> Self {
        Self {
            table: &launch.turns,
            own: HashMap::new(),
            all: HashMap::new(),
            interval: parameters.memory.atomic_interval,
            burst: parameters.memory.l2_latency,
        }
    }

    /// The clocks that a request waits until its turn begins at the last of its lines. It is told
    /// at `now` and arrives at `arrival`, and as many SMs make it as are `alike`.
    pub(crate) fn wait(
        &mut self,
        now: f64,
        arrival: f64,
        (sm, cta): (u32, u32),
        request: &Request,
        alike: f64,
    ) -> f64 {
        let mut longest = 0.0_f64;
        for turn in turns_in(self.table, request) {
            let work = f64::from(turn.steps) * self.interval;
            let place = if turn.is_shared { 0 } else { cta };
            let own = self.own.entry((sm, place, turn.line)).or_default();
            longest = longest.max(own.take(now, arrival, work, work));
            if turn.is_shared {
                let all = self.all.entry(turn.line).or_default();
                longest = longest.max(all.take(now, arrival, work * alike, self.burst));
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
