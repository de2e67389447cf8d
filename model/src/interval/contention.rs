//! The warps of an SM together.
//!
//! A warp alone takes `C = n + Σ stall` clocks, and issues in a clock with the probability
//! `p = n / C` (GCoM, section 4.2). While it would issue, each instruction of another warp of its
//! sub-core is in its way with that probability; while it stalls, others issue for nothing:
//!
//! ```text
//! T_data = max(C + p · I_others, n + I_others)
//! ```
//!
//! GCoM hides a stall behind at most one interval of each other warp. With the short intervals of
//! machine code, where most dependences end one, that hides too little: six hundred clocks of DRAM
//! are worth more than the next three instructions of the others.
//!
//! Units and servers bound the time from below (`S_struct`, GCoM section 4.3), and delay results
//! while they are busy. Delays depend on the time and the time on the delays, so both are found
//! together.

use gpucast_simulation::parameters::Parameters;
use gpucast_simulation::states::{Clocks, State};

use super::demand::{Busy, Demand, longest};
use super::intervals::Phase;

/// CTAs of a class on an SM.
pub(super) struct Together<'a> {
    /// The representative warp alone, phase by phase.
    pub(super) phases: &'a [Phase],
    /// The work of all warps of a CTA.
    pub(super) demand: &'a Demand,
    /// Warps of a CTA.
    pub(super) warps: f64,
    /// Clocks that the longest warp of a CTA takes beyond the representative (AMALI, `ID`).
    pub(super) imbalance: f64,
    pub(super) parameters: &'a Parameters,
}

/// How many CTAs there are at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Residency {
    /// On the SM.
    pub(super) ctas: f64,
    /// On the whole GPU.
    pub(super) ctas_of_gpu: f64,
    /// Clocks until a CTA's place is in use again; 0 in the first wave.
    pub(super) replacement: f64,
}

/// Rounds in which time and delays find each other.
const ROUNDS: usize = 12;

/// Use of a server beyond which its queue is not followed: the rate bounds the time instead.
const MOST_USE: f64 = 0.9;

/// Delays of results that others cause.
#[derive(Clone, Copy, Debug, Default)]
struct Delays {
    /// Of data from DRAM, in its queues.
    dram: f64,
    /// Of data through the load-store path.
    path: f64,
}

impl Together<'_> {
    /// Warps of the fullest sub-core.
    pub(super) fn warps_of_sub_core(&self, ctas: f64) -> f64 {
        (self.warps * ctas / f64::from(self.parameters.issue.sub_partitions.max(1))).ceil()
    }

    /// The clocks of a residency by what they are spent on.
    pub(super) fn stack(&self, residency: Residency) -> Clocks {
        let mut clocks = 0.0;
        let mut stack = Clocks::default();
        for _ in 0..ROUNDS {
            let delays = self.delays(residency, clocks);
            stack = self.with_delays(residency, delays);
            let next = stack.total();
            if (next - clocks).abs() < 1e-3 * next {
                break;
            }
            // Halfway, so that long queues and long times do not take turns.
            clocks = if clocks > 0.0 { (clocks + next) / 2.0 } else { next };
        }
        stack
    }

    /// The delays when a residency takes some clocks.
    fn delays(&self, residency: Residency, clocks: f64) -> Delays {
        if clocks <= 0.0 {
            return Delays::default();
        }
        let parameters = self.parameters;
        let used = |busy: f64| (busy / clocks).min(MOST_USE);
        let dram = used(self.demand.dram_clocks(residency.ctas_of_gpu, parameters));
        let path = used(self.demand.data * residency.ctas);
        let accesses = (self.demand.port / parameters.load_store.port_interval).max(1.0);
        let service = self.demand.data / accesses;
        // Pollaczek and Khinchine for equal services; half of all other warps are in front at most.
        let queued = service * path / (2.0 * (1.0 - path));
        let most = service * (self.warps * residency.ctas - 1.0).max(0.0) / 2.0;
        Delays {
            dram: parameters.memory.queueing_delay(self.demand.written_share(), dram),
            path: queued.min(most),
        }
    }

    fn with_delays(&self, residency: Residency, delays: Delays) -> Clocks {
        let mut whole = Phase::default();
        self.phases.iter().for_each(|phase| whole.add(phase));
        let overlapped = self.phase(&whole, *self.demand, residency, delays, true);
        // Other CTAs are in other phases and fill what one leaves free. A CTA is alone in its phase
        // with the probability 1/R, and always if the SM holds one.
        let mut serialised = Clocks::default();
        for (at, phase) in self.phases.iter().enumerate() {
            let demand = self.demand.part(&phase.demand, &whole.demand);
            let is_last = at + 1 == self.phases.len();
            let stack = self.phase(phase, demand, residency, delays, is_last);
            serialised.0.iter_mut().zip(stack.0).for_each(|(sum, clocks)| *sum += clocks);
        }
        if serialised.total() <= overlapped.total() {
            return overlapped;
        }
        let alone = 1.0 / residency.ctas.max(1.0);
        let mut stack = overlapped.scaled(1.0 - alone);
        stack.0.iter_mut().zip(serialised.0).for_each(|(sum, clocks)| *sum += alone * clocks);
        stack
    }

    /// The clocks of code that overlaps with itself only; `demand` is that of a CTA.
    fn phase(
        &self,
        phase: &Phase,
        demand: Demand,
        residency: Residency,
        delays: Delays,
        is_last: bool,
    ) -> Clocks {
        let parameters = self.parameters;
        let ctas = residency.ctas;
        let warps = (self.warps * ctas).max(1.0);
        let fullest = (self.warps_of_sub_core(ctas) / warps).min(1.0);
        let mut stalls = phase.stalls;
        stalls.0[State::DramQueue as usize] += delays.dram * phase.dram_waits;
        stalls.0[State::LoadStoreQueue as usize] += delays.path * phase.path_waits;
        if is_last {
            stalls.0[State::NotSelected as usize] += self.imbalance;
            stalls.0[State::Launch as usize] += residency.replacement;
        }
        let own = phase.demand.issue;
        let stalled = stalls.total();
        let alone = own + stalled;
        let all = (demand.issue * ctas * fullest).max(own);
        let probability = if alone > 0.0 { own / alone } else { 0.0 };
        let data = (alone + probability * (all - own)).max(all);
        let busiest = longest([
            demand.busiest_of_sm(ctas, fullest, parameters),
            Busy {
                clocks: demand.l2_clocks(residency.ctas_of_gpu, parameters),
                state: State::L2Queue,
            },
            Busy {
                clocks: demand.dram_clocks(residency.ctas_of_gpu, parameters),
                state: State::DramQueue,
            },
        ]);
        // The stack of GCoM: issue, stalls that nothing hides, contention.
        let shown = if stalled > 0.0 { (data - all) / stalled } else { 0.0 };
        let mut stack = stalls.scaled(shown);
        stack.0[State::Selected as usize] += all;
        stack.0[busiest.state as usize] += (busiest.clocks - data).max(0.0);
        stack
    }
}
