//! A server that works at a rate, and lets short bursts pass.

/// A server of sectors.
#[derive(Clone, Debug, Default)]
pub(crate) struct Server {
    /// The clock at which everything taken so far would be served at the share's rate.
    backlog: f64,
    /// Work taken, faded over `AVERAGED_LATENCIES`.
    recent: f64,
    last: f64,
    /// The clock of the first work.
    first: Option<f64>,
    /// All work taken so far.
    total: f64,
}

/// Utilisation beyond which the queueing formula is not followed: the rate limits instead.
const MOST_UTILISATION: f64 = 0.95;

/// The utilisation is an average over this many unloaded latencies.
pub(crate) const AVERAGED_LATENCIES: f64 = 8.0;

/// After as many averaging times, what is known of the average differs from 1 by less than the
/// last bit.
const ALL_KNOWN: f64 = 40.0;

impl Server {
    /// All work taken so far.
    pub(crate) fn total(&self) -> f64 {
        self.total
    }

    /// The clock at which everything taken so far would be served.
    pub(crate) fn backlog(&self) -> f64 {
        self.backlog
    }

    /// Takes `work` clocks of service that arrives at `arrival`, told at `now`. Returns the wait
    /// for the rate beyond a burst. Accesses are told in order, but some arrive late; the server
    /// does not idle until they do.
    pub(crate) fn take(&mut self, now: f64, arrival: f64, work: f64, burst: f64) -> f64 {
        self.total += work;
        self.backlog = self.backlog.max(now) + work;
        (self.backlog - arrival - burst).max(0.0)
    }

    /// The utilisation after `work` more clocks of service at `now`, averaged over a few unloaded
    /// latencies.
    pub(crate) fn utilisation(&mut self, now: f64, work: f64, latency: f64, fades: &[f64]) -> f64 {
        let memory = AVERAGED_LATENCIES * latency;
        let elapsed = (now - self.last).max(0.0);
        let whole = elapsed as usize;
        let fade = match fades.get(whole) {
            Some(&fade) if whole as f64 == elapsed => fade,
            _ => (-elapsed / memory).exp(),
        };
        self.recent = self.recent * fade + work;
        self.last = self.last.max(now);
        // Before the average has all of its time behind it, only that is averaged over.
        let first = *self.first.get_or_insert(now);
        let past = (now - first).max(latency) / memory;
        let known = if past > ALL_KNOWN { 1.0 } else { 1.0 - (-past).exp() };
        (self.recent / (memory * known)).min(MOST_UTILISATION)
    }
}
