//! The memory behind the SM: servers with this SM's share of their bandwidth.
//!
//! All other SMs are taken for copies of the one that is simulated. Of each server this SM has the
//! bandwidth over the active SMs. A server lets a burst of one unloaded latency pass, keeps the
//! long-run rate at the share. In front of DRAM an access also waits for a multiple of
//! `a · u + b · u/(1 − u)` latencies at a utilisation `u`.

use serde::{Deserialize, Serialize};

use crate::parameters::Parameters;
use crate::states::State;

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
const AVERAGED_LATENCIES: f64 = 8.0;

/// After as many averaging times, what is known of the average differs from 1 by less than the
/// last bit.
const ALL_KNOWN: f64 = 40.0;

/// Clocks between two accesses to DRAM for which the fading is computed beforehand.
const FADES: usize = 64;

impl Server {
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
    fn utilisation(&mut self, now: f64, work: f64, latency: f64, fades: &[f64]) -> f64 {
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

/// The waits of one access beyond the SM, in clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Waits {
    /// For the L2 and the way to it.
    pub(crate) l2: f64,
    /// For DRAM.
    pub(crate) dram: f64,
    /// The part of both that a rate imposes, and not queues in front of it.
    pub(crate) by_rate: f64,
}

/// Clocks that each server behind an SM works.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Served {
    /// Those of the L2.
    pub l2: f64,
    /// Those of the line of the L2 where atomics of all SMs take most turns.
    pub atomics: f64,
    /// Those of DRAM.
    pub dram: f64,
}

impl Served {
    /// The server that works longest: its clocks, and the state of what waits for it.
    #[must_use]
    pub fn busiest(self) -> (f64, State) {
        let l2 = self.l2.max(self.atomics);
        if self.dram >= l2 { (self.dram, State::DramQueue) } else { (l2, State::L2Queue) }
    }

    /// The same over `divisor`.
    #[must_use]
    pub fn over(self, divisor: f64) -> Self {
        let Self { l2, atomics, dram } = self;
        Self { l2: l2 / divisor, atomics: atomics / divisor, dram: dram / divisor }
    }
}

/// The servers behind one SM.
#[derive(Clone, Debug)]
pub(crate) struct MemorySystem<'a> {
    request_port: Server,
    reply_port: Server,
    l2: Server,
    dram: Server,
    /// Sectors read from and written to DRAM, faded.
    reads: f64,
    writes: f64,
    clocks_per_second: f64,
    /// What is left of an average after 0, 1, 2, … clocks.
    fades: [f64; FADES],
    parameters: &'a crate::parameters::Memory,
}

impl<'a> MemorySystem<'a> {
    pub(crate) fn new(parameters: &'a Parameters) -> Self {
        Self {
            request_port: Server::default(),
            reply_port: Server::default(),
            l2: Server::default(),
            dram: Server::default(),
            reads: 0.0,
            writes: 0.0,
            clocks_per_second: parameters.clock_mhz * 1e6,
            fades: std::array::from_fn(|clocks| {
                let memory = AVERAGED_LATENCIES * parameters.memory.dram_latency;
                (-(clocks as f64) / memory).exp()
            }),
            parameters: &parameters.memory,
        }
    }

    /// Clocks that the L2 and DRAM need for all that they have taken.
    pub(crate) fn served(&self) -> Served {
        Served { l2: self.l2.total, dram: self.dram.total, ..Served::default() }
    }

    /// Clocks in which a bandwidth shared by `sms` serves one sector of one of them.
    fn clocks_per_sector(&self, bandwidth: f64, sms: f64) -> f64 {
        self.parameters.sector_bytes * sms * self.clocks_per_second / bandwidth
    }

    /// Loads sectors from the L2, and of them `dram` from DRAM.
    pub(crate) fn load(&mut self, now: f64, arrival: f64, l2: f64, dram: f64, sms: f64) -> Waits {
        let memory = self.parameters;
        let sectors = l2 + dram;
        let interval = 1.0 / memory.request_rate;
        let request = self.request_port.take(now, arrival, interval, interval);
        let at_l2 = arrival + request;
        let work = sectors * self.clocks_per_sector(memory.l2_read_bandwidth, sms);
        let l2_wait = self.l2.take(now, at_l2, work, memory.l2_latency);
        let (rate, delay) = if dram > 0.0 {
            self.remember(dram, 0.0);
            self.dram_work(now, at_l2 + l2_wait, dram, sms)
        } else {
            (0.0, 0.0)
        };
        let reply = sectors * memory.sector_bytes / memory.reply_bytes;
        let port = self.reply_port.take(now, at_l2 + l2_wait + rate + delay, reply, reply);
        let l2 = request + l2_wait + port;
        Waits { l2, dram: rate + delay, by_rate: l2 + rate }
    }

    /// Stores sectors into the L2, which writes `dram` of them to DRAM.
    pub(crate) fn store(
        &mut self,
        now: f64,
        arrival: f64,
        sectors: f64,
        dram: f64,
        sms: f64,
    ) -> Waits {
        let memory = self.parameters;
        let work = sectors * self.clocks_per_sector(memory.l2_write_bandwidth, sms);
        let l2 = self.l2.take(now, arrival, work, memory.l2_latency);
        let (rate, delay) = if dram > 0.0 {
            self.remember(0.0, dram);
            self.dram_work(now, arrival + l2, dram, sms)
        } else {
            (0.0, 0.0)
        };
        Waits { l2, dram: rate + delay, by_rate: l2 + rate }
    }

    /// Changes sectors in the L2 by atomics: `serial` lanes at one address follow each other.
    pub(crate) fn update(
        &mut self,
        now: f64,
        arrival: f64,
        sectors: f64,
        serial: f64,
        sms: f64,
    ) -> Waits {
        let memory = self.parameters;
        let at_rate = sectors * sms / memory.atomic_rate;
        let in_turn = (serial - 1.0).max(0.0) * memory.atomic_interval;
        let by_rate = self.l2.take(now, arrival, at_rate, memory.l2_latency);
        Waits { l2: by_rate + in_turn, dram: 0.0, by_rate }
    }

    /// Adds sectors to the recent traffic of DRAM.
    fn remember(&mut self, read: f64, written: f64) {
        self.reads = self.reads * FADE + read;
        self.writes = self.writes * FADE + written;
    }

    /// The waits of sectors at DRAM: for its rate, and in queues in front of it.
    fn dram_work(&mut self, now: f64, arrival: f64, sectors: f64, sms: f64) -> (f64, f64) {
        let memory = self.parameters;
        let share = self.writes / (self.reads + self.writes).max(f64::MIN_POSITIVE);
        let efficiency = memory.efficiency(share);
        let work = sectors * self.clocks_per_sector(memory.dram_bandwidth * efficiency, sms);
        let utilisation = self.dram.utilisation(now, work, memory.dram_latency, &self.fades);
        let delay = memory.queueing_delay(share, utilisation);
        (self.dram.take(now, arrival, work, memory.dram_latency), delay)
    }
}

/// Older reads and writes count this much less with each access.
const FADE: f64 = 0.995;
