//! What keeps the load-store path, so that its queues are full.

use super::scoreboard::Event;
use crate::states::State;

/// Clocks for which the path was kept of late, by what kept it.
///
/// A warp that finds its queue full waits for whatever keeps the path: work of its own, or a full
/// table of accesses whose data the L2 or DRAM has not sent or taken.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Held {
    /// Work for global and local memory.
    global: f64,
    /// Passes over the banks for shared memory.
    shared: f64,
    l2: f64,
    dram: f64,
}

/// Older clocks count this much less with each access.
const FADE: f64 = 0.99;

impl Held {
    /// The path worked for an access to shared memory.
    pub(super) fn by_shared(&mut self, work: f64) {
        self.fade();
        self.shared += work;
    }

    /// The path worked for an access to global memory, and before it `stood` because a table was
    /// full of accesses that wait as `like` does.
    pub(super) fn by_global<T>(&mut self, work: f64, stood: f64, like: &Event<T>) {
        self.fade();
        self.global += work;
        let [_, l2, dram] = like.waits;
        let from_dram = match like.latency {
            // Neither has a queue: the latency alone fills the table.
            Some(latency) if l2 + dram <= 0.0 => f64::from(u8::from(latency == State::DramLatency)),
            _ => dram / (l2 + dram).max(f64::MIN_POSITIVE),
        };
        self.l2 += stood * (1.0 - from_dram);
        self.dram += stood * from_dram;
    }

    fn fade(&mut self) {
        for clocks in [&mut self.global, &mut self.shared, &mut self.l2, &mut self.dram] {
            *clocks *= FADE;
        }
    }

    /// Divides clocks in front of a full queue among states; all go to `queue` if nothing kept the
    /// path.
    pub(super) fn divide(&self, clocks: f64, queue: State, mut add: impl FnMut(State, f64)) {
        let all = self.global + self.shared + self.l2 + self.dram;
        if all <= 0.0 {
            return add(queue, clocks);
        }
        for (state, part) in [
            (State::LgThrottle, self.global),
            (State::MioThrottle, self.shared),
            (State::L2Queue, self.l2),
            (State::DramQueue, self.dram),
        ] {
            if part > 0.0 {
                add(state, clocks * part / all);
            }
        }
    }
}
