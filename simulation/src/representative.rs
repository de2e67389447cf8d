//! An SM that is simulated, and the CTAs of it.

use crate::clock::clock_at;
use crate::dispatch::SmClass;
use crate::distributor::Distributor;
use crate::feed::Feed;
use crate::launch::Launch;
use crate::memory::{MemorySystem, Ports, Served};
use crate::observer::Observer;
use crate::parameters::Parameters;
use crate::rates::{is_steady, second_half, steady_rate};
use crate::sm::{Ended, Prepared, Sm};
use crate::work::Work;

/// What an SM stands for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Standing {
    /// Its number among those that are simulated.
    pub(crate) number: u32,
    /// SMs of its class.
    pub(crate) sms: u64,
    /// SMs that do the same, so that all together have the work of the launch.
    pub(crate) alike: f64,
    /// SMs of the GPU that have CTAs.
    pub(crate) active: f64,
    /// CTAs that it holds at a time.
    pub(crate) resident: u64,
}

/// An SM that stands for those of its class.
pub(crate) struct Representative<'a, O: Observer> {
    pub(crate) sm: Sm<'a, O>,
    feed: Feed,
    ends: Vec<Ended>,
    distributor: Distributor,
    /// Clock and issued instructions from time to time.
    marks: Vec<(u64, u64)>,
    next_mark: u64,
    /// The clock of its next event.
    pub(crate) next_event: u64,
    /// True if all of its simulated CTAs have ended.
    pub(crate) is_done: bool,
    parameters: &'a Parameters,
    resident: u64,
    own: u64,
    /// Warp instructions of its CTAs, by the paths that stand for them.
    instructions: f64,
    /// Instructions of its CTAs over those of the paths.
    scale: f64,
}

/// The end of an SM's CTAs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct End {
    /// The clock at which the last CTA has ended and the L2 has its stores.
    pub(crate) clocks: f64,
    /// The same where what was not simulated is left out.
    pub(crate) simulated: f64,
    /// The difference between the halves that the extrapolation rests on.
    pub(crate) drift: f64,
    /// Clocks that the servers behind work for all CTAs of its class.
    pub(crate) served: Served,
    /// CTAs that were simulated, and all.
    pub(crate) ctas: (u64, u64),
}

/// Instructions between two marks.
const MARK: u64 = 1 << 12;

impl<'a, O: Observer> Representative<'a, O> {
    /// An SM with CTAs of a class of SMs, of which about `most` are simulated.
    pub(crate) fn new(
        launch: &'a Launch,
        code: &'a Prepared,
        parameters: &'a Parameters,
        (class, feed): (&SmClass, Feed),
        work: &Work,
        (standing, accounts, observer): (Standing, bool, O),
    ) -> Self {
        let ports = Ports::new(standing.number, standing.alike);
        let mut representative = Self {
            sm: Sm::new(launch, code, parameters, ports, (accounts, observer)),
            feed,
            ends: Vec::new(),
            distributor: Distributor::new(parameters, standing.active, standing.resident),
            marks: Vec::new(),
            next_mark: MARK,
            next_event: 0,
            is_done: false,
            parameters,
            resident: standing.resident,
            own: class.runs.iter().map(|run| run.ctas).sum(),
            instructions: work.of_runs(&class.runs),
            scale: work.scale_of(&class.runs),
        };
        for _ in 0..standing.resident.min(representative.feed.simulated()) {
            representative.start(parameters.launch.launch_start);
        }
        representative.next_event = representative.sm.next_event();
        representative
    }

    /// Starts the next CTA at a clock, or as soon as the GPU gets round to it.
    fn start(&mut self, at: f64) {
        if let Some((class, sample)) = self.feed.next.pop_front() {
            let at = self.distributor.start(at);
            self.sm.start(class, sample, clock_at(at));
        }
    }

    /// Goes on until an event that comes later than a clock. Returns at a mark, too.
    pub(crate) fn advance(&mut self, until: u64, memory: &mut MemorySystem<'_>) {
        loop {
            if self.sm.has_ends() {
                self.replace_ended();
            } else if !self.sm.step(memory) {
                self.is_done = true;
                return;
            }
            if self.mark() {
                self.next_event = self.sm.next_event();
                return;
            }
            // One that is alone need not ask.
            if until < u64::MAX {
                self.next_event = self.sm.next_event();
                if self.next_event > until {
                    return;
                }
            }
        }
    }

    /// Issues the next instruction of a warp. Returns false if it has none.
    pub(crate) fn follow(&mut self, warp: u32, memory: &mut MemorySystem<'_>) -> bool {
        self.replace_all_ended();
        let issues = self.sm.issue_of(warp, memory);
        self.mark();
        issues
    }

    /// Starts CTAs in the places of all that have ended. Some end as they start.
    pub(crate) fn replace_all_ended(&mut self) {
        while self.sm.has_ends() {
            self.replace_ended();
        }
    }

    /// Starts CTAs in the places of those that have ended.
    fn replace_ended(&mut self) {
        for ended in self.sm.take_ends() {
            self.ends.push(ended);
            self.start(ended.clock as f64 + self.parameters.launch.cta_replacement);
        }
    }

    /// Notes the clock from time to time. Returns true if it did.
    #[inline]
    fn mark(&mut self) -> bool {
        let is_due = self.sm.issued >= self.next_mark;
        if is_due {
            self.marks.push((self.sm.clock, self.sm.issued));
            self.next_mark += MARK;
        }
        is_due
    }

    /// Warp instructions that are simulated unless it is cut.
    pub(crate) fn planned(&self) -> f64 {
        let left: f64 = self.feed.parts.iter().map(|part| part.left).sum();
        self.instructions - left
    }

    /// Returns true if its rate will stay as it is, as far as whole lives of CTAs can tell.
    pub(crate) fn is_steady(&self) -> bool {
        self.is_done || (self.ends.len() as u64 >= self.resident && is_steady(&self.marks))
    }

    /// Where it comes to an end.
    pub(crate) fn end(&mut self) -> End {
        let last = self.sm.take_ends();
        self.ends.extend(last);
        let (done, simulated) = (self.ends.len() as u64, self.feed.simulated());
        let end = self.sm.clock.max(self.sm.last_store()) as f64;
        let left: f64 = self.feed.parts.iter().map(|part| part.left).sum();
        let (mut clocks, mut drift) = (end, 0.0_f64);
        let mut part = 1.0 - left / self.instructions.max(1.0);
        if done < simulated {
            // Cut: the instructions that are left follow at the rate of whole CTAs, since parts of
            // them may differ, or else of the second half.
            let (rate, change) = if done >= 3 * self.resident {
                steady_rate(&self.ends, self.resident)
            } else {
                second_half(&self.marks)
            };
            let issued = self.sm.issued as f64;
            clocks += (self.instructions - issued).max(0.0) * rate;
            drift = change;
            part = (issued / self.instructions.max(1.0)).min(1.0);
        } else if left > 0.0 {
            let mut rest = self.ends.as_slice();
            for part in &self.feed.parts {
                let (ends, later) = rest.split_at((part.simulated as usize).min(rest.len()));
                rest = later;
                if part.left > 0.0 {
                    let (rate, change) = steady_rate(ends, self.resident);
                    clocks += part.left * rate;
                    drift = drift.max(change);
                }
            }
        }
        let start = self.parameters.launch.launch_start.min(clocks);
        let served = self.sm.served().over(part.max(f64::MIN_POSITIVE) / self.scale);
        End {
            clocks: start + (clocks - start) * self.scale,
            simulated: end,
            drift,
            served,
            ctas: (done, self.own),
        }
    }
}
