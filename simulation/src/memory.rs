//! The memory behind the SMs: servers that all of them share.
//!
//! Each simulated SM stands for several that are alike. What one of them asks for, all of them ask
//! for, and the server works that much longer. So an SM has what the others leave, and SMs that
//! have ended leave all of theirs. A server lets a burst of one unloaded latency pass, and keeps
//! its rate in the long run. In front of DRAM an access also waits for a multiple of
//! `a · u + b · u/(1 − u)` latencies at a utilisation `u`.

use serde::{Deserialize, Serialize};

use crate::launch::{Launch, Request};
use crate::parameters::Parameters;
use crate::server::{AVERAGED_LATENCIES, Server};
use crate::states::State;
use crate::turns::Turns;

/// Clocks between two accesses to DRAM for which the fading is computed beforehand.
const FADES: usize = 64;

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

/// What the L2 needs for a further lane at an address, over what it needs for a sector. An H200
/// takes 24 such lanes of all SMs in a clock, each warp at a word of its own, and 49 sectors with a
/// lane each.
const SERIAL_STEP: f64 = 2.0;

/// Sectors that the L2 could serve in the time of a row of a bulk copy, at least. Boxes with rows
/// of 16 and 32 bytes take 1.5 to 1.9 clocks a row where all SMs copy, on an H100 and an H200. The
/// L2 then serves 1.1 sectors in a clock for each SM if rows are long.
const ROW_SECTORS: f64 = 1.8;

/// Clocks that each server behind an SM works.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Served {
    /// Those of the L2.
    pub l2: f64,
    /// Those of the line of the L2 where atomics of all SMs take most turns.
    pub atomics: f64,
    /// Those of DRAM.
    pub dram: f64,
    /// Sectors that DRAM reads and writes in them.
    pub dram_sectors: f64,
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
        let Self { l2, atomics, dram, dram_sectors } = self;
        Self {
            l2: l2 / divisor,
            atomics: atomics / divisor,
            dram: dram / divisor,
            dram_sectors: dram_sectors / divisor,
        }
    }
}

/// The way of one SM to the memory, and the SMs that it stands for.
#[derive(Clone, Debug)]
pub(crate) struct Ports {
    /// The SM's number among those that are simulated.
    pub(crate) sm: u32,
    /// SMs that ask for the same at the same time.
    pub(crate) alike: f64,
    request: Server,
    reply: Server,
    /// What the servers behind have worked for all of these SMs.
    pub(crate) served: Served,
}

impl Ports {
    /// The ports of an SM that stands for some.
    pub(crate) fn new(sm: u32, alike: f64) -> Self {
        let (request, reply) = (Server::default(), Server::default());
        Self { sm, alike, request, reply, served: Served::default() }
    }
}

/// The clocks at which the servers behind all SMs have served everything taken so far.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Backlogs {
    pub(crate) l2: f64,
    pub(crate) dram: f64,
}

/// The servers behind all SMs.
#[derive(Clone, Debug)]
pub(crate) struct MemorySystem<'a> {
    l2: Server,
    dram: Server,
    /// Sectors read from and written to DRAM, faded.
    reads: f64,
    writes: f64,
    /// Lines of the L2 at which atomics follow each other.
    turns: Turns<'a>,
    clocks_per_second: f64,
    /// What is left of an average after 0, 1, 2, … clocks.
    fades: [f64; FADES],
    parameters: &'a crate::parameters::Memory,
}

impl<'a> MemorySystem<'a> {
    pub(crate) fn new(launch: &'a Launch, parameters: &'a Parameters) -> Self {
        Self {
            l2: Server::default(),
            dram: Server::default(),
            reads: 0.0,
            writes: 0.0,
            turns: Turns::new(launch, parameters),
            clocks_per_second: parameters.sp_clock * 1e6,
            fades: std::array::from_fn(|clocks| {
                let memory = AVERAGED_LATENCIES * parameters.memory.memory_latency;
                (-(clocks as f64) / memory).exp()
            }),
            parameters: &parameters.memory,
        }
    }

    /// Clocks that the L2 and DRAM need for all that they have taken.
    pub(crate) fn served(&self) -> Served {
        Served { l2: self.l2.total(), dram: self.dram.total(), ..Served::default() }
    }

    /// The clocks at which the servers have served everything.
    pub(crate) fn backlogs(&self) -> Backlogs {
        Backlogs { l2: self.l2.backlog(), dram: self.dram.backlog() }
    }

    /// Clocks in which a bandwidth serves one sector of each of some SMs.
    fn clocks_per_sector(&self, bandwidth: f64, sms: f64) -> f64 {
        self.parameters.sector * sms * self.clocks_per_second / bandwidth
    }

    /// Loads sectors from the L2, and others from DRAM, by so many requests to the L2: one for each
    /// row or line of a bulk copy, else one.
    pub(crate) fn load(
        &mut self,
        ports: &mut Ports,
        now: f64,
        arrival: f64,
        (l2, dram): (f64, f64),
        requests: f64,
    ) -> Waits {
        let memory = self.parameters;
        let sectors = l2 + dram;
        let interval = 1.0 / memory.l2_request_rate;
        let request = ports.request.take(now, arrival, requests * interval, interval);
        let at_l2 = arrival + request;
        let served = if requests > 1.0 { sectors.max(ROW_SECTORS * requests) } else { sectors };
        let work = served * self.clocks_per_sector(memory.l2_read_bandwidth, ports.alike);
        ports.served.l2 += work;
        let l2_wait = self.l2.take(now, at_l2, work, memory.l2_latency);
        let (rate, delay) = if dram > 0.0 {
            self.remember(ports.alike * dram, 0.0);
            self.dram_work(ports, now, at_l2 + l2_wait, dram)
        } else {
            (0.0, 0.0)
        };
        let reply = sectors * memory.sector / memory.l2_reply_bytes_rate;
        let port = ports.reply.take(now, at_l2 + l2_wait + rate + delay, reply, reply);
        let l2 = request + l2_wait + port;
        Waits { l2, dram: rate + delay, by_rate: l2 + rate }
    }

    /// Clocks in which DRAM delivers what others ask it for now.
    pub(crate) fn delivery(&mut self, now: f64) -> f64 {
        let memory = self.parameters;
        let utilisation = self.dram.utilisation(now, 0.0, memory.memory_latency, &self.fades);
        memory.memory_latency + memory.queueing_delay(self.written_share(), utilisation)
    }

    /// Stores sectors into the L2, which writes `dram` of them to DRAM. It takes longer for those
    /// that are not `full`.
    pub(crate) fn store(
        &mut self,
        ports: &mut Ports,
        now: f64,
        arrival: f64,
        (sectors, full, dram): (f64, f64, f64),
    ) -> Waits {
        let memory = self.parameters;
        let steps = full + memory.l2_partial_write_cost * (sectors - full);
        let work = steps * self.clocks_per_sector(memory.l2_write_bandwidth, ports.alike);
        ports.served.l2 += work;
        let l2 = self.l2.take(now, arrival, work, memory.l2_latency);
        let (rate, delay) = if dram > 0.0 {
            self.remember(0.0, ports.alike * dram);
            self.dram_work(ports, now, arrival + l2, dram)
        } else {
            (0.0, 0.0)
        };
        Waits { l2, dram: rate + delay, by_rate: l2 + rate }
    }

    /// Changes sectors in the L2 by atomics of a CTA at a place of the SM. Lanes at one address
    /// follow each other, and so do requests at one line.
    pub(crate) fn update(
        &mut self,
        ports: &mut Ports,
        now: f64,
        arrival: f64,
        sectors: f64,
        (cta, request): (u32, &Request),
    ) -> Waits {
        let memory = self.parameters;
        let serial = f64::from(request.serial.max(1));
        let steps = sectors + SERIAL_STEP * (serial - 1.0);
        let at_rate = steps * ports.alike / memory.atomic_rate;
        ports.served.l2 += at_rate;
        let in_turn = (serial - 1.0) * memory.atomic_interval;
        let by_rate = self.l2.take(now, arrival, at_rate, memory.l2_latency);
        let turn = self.turns.wait(now, arrival + by_rate, (ports.sm, cta), request, ports.alike);
        Waits { l2: by_rate + in_turn + turn, dram: 0.0, by_rate }
    }

    /// Adds sectors to the recent traffic of DRAM.
    fn remember(&mut self, read: f64, written: f64) {
        self.reads = self.reads * FADE + read;
        self.writes = self.writes * FADE + written;
    }

    /// The share of the recent traffic of DRAM that is written.
    fn written_share(&self) -> f64 {
        self.writes / (self.reads + self.writes).max(f64::MIN_POSITIVE)
    }

    /// The waits of sectors at DRAM: for its rate, and in queues in front of it.
    fn dram_work(&mut self, ports: &mut Ports, now: f64, arrival: f64, sectors: f64) -> (f64, f64) {
        let memory = self.parameters;
        let share = self.written_share();
        let efficiency = memory.efficiency(share);
        let work =
            sectors * self.clocks_per_sector(memory.dram_bandwidth * efficiency, ports.alike);
        ports.served.dram += work;
        ports.served.dram_sectors += sectors * ports.alike;
        let utilisation = self.dram.utilisation(now, work, memory.memory_latency, &self.fades);
        let delay = memory.queueing_delay(share, utilisation);
        (self.dram.take(now, arrival, work, memory.memory_latency), delay)
    }
}

/// Older reads and writes count this much less with each access.
const FADE: f64 = 0.995;
