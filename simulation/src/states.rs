//! What warps and issue slots spend their clocks on.

use serde::{Deserialize, Serialize};

/// The state of a warp in a clock, under the names of Nsight Compute where it has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum State {
    /// Issues an instruction.
    Selected,
    /// Could issue, but another warp of the sub-core does.
    NotSelected,
    /// Waits out the stall count of its last instruction.
    Wait,
    /// Waits for a result of shared memory, a shuffle, a special function or the like.
    ShortScoreboard,
    /// Waits for the latency of the first-level cache.
    L1Latency,
    /// Waits for the latency of the L2.
    L2Latency,
    /// Waits for the latency of DRAM.
    DramLatency,
    /// Waits because the load-store path of the SM serves other accesses first.
    LoadStoreQueue,
    /// Waits because the L2, or the way to it, serves other accesses first.
    L2Queue,
    /// Waits because DRAM serves other accesses first.
    DramQueue,
    /// The unit of its next instruction is busy.
    MathPipe,
    /// The queue of global and local accesses of its sub-core is full.
    LgThrottle,
    /// The queue of other load-store instructions of its sub-core is full.
    MioThrottle,
    /// Waits at a barrier of its CTA.
    Barrier,
    /// Waits at a fence.
    Membar,
    /// Waits for asynchronous copies.
    Copies,
    /// Waits for asynchronous matrix products.
    Products,
    /// Waits for its next instruction to be fetched.
    NoInstruction,
    /// Waits for a constant to be fetched.
    ConstantMiss,
    /// A CTA starts or replaces another one, and no other warp can issue.
    Launch,
    /// No warp is there: the launch ends.
    Tail,
}

impl State {
    /// Number of states.
    pub const COUNT: usize = Self::Tail as usize + 1;

    /// Every state, in order of declaration.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Selected,
        Self::NotSelected,
        Self::Wait,
        Self::ShortScoreboard,
        Self::L1Latency,
        Self::L2Latency,
        Self::DramLatency,
        Self::LoadStoreQueue,
        Self::L2Queue,
        Self::DramQueue,
        Self::MathPipe,
        Self::LgThrottle,
        Self::MioThrottle,
        Self::Barrier,
        Self::Membar,
        Self::Copies,
        Self::Products,
        Self::NoInstruction,
        Self::ConstantMiss,
        Self::Launch,
        Self::Tail,
    ];

    /// Nsight Compute's name of the stall reason, or ours where it has none or a coarser one.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Selected => "selected",
            Self::NotSelected => "not_selected",
            Self::Wait => "wait",
            Self::ShortScoreboard => "short_scoreboard",
            Self::L1Latency => "long_scoreboard_l1",
            Self::L2Latency => "long_scoreboard_l2",
            Self::DramLatency => "long_scoreboard_dram",
            Self::LoadStoreQueue => "long_scoreboard_load_store",
            Self::L2Queue => "long_scoreboard_l2_queue",
            Self::DramQueue => "long_scoreboard_dram_queue",
            Self::MathPipe => "math_pipe_throttle",
            Self::LgThrottle => "lg_throttle",
            Self::MioThrottle => "mio_throttle",
            Self::Barrier => "barrier",
            Self::Membar => "membar",
            Self::Copies => "copies",
            Self::Products => "gmma",
            Self::NoInstruction => "no_instruction",
            Self::ConstantMiss => "imc_miss",
            Self::Launch => "launch",
            Self::Tail => "tail",
        }
    }

    /// In words.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Selected => "issue",
            Self::NotSelected => "another warp issues",
            Self::Wait => "arithmetic latency",
            Self::ShortScoreboard => "latency of shared memory and special functions",
            Self::L1Latency => "L1 latency",
            Self::L2Latency => "L2 latency",
            Self::DramLatency => "DRAM latency",
            Self::LoadStoreQueue => "load-store bandwidth",
            Self::L2Queue => "L2 bandwidth",
            Self::DramQueue => "DRAM bandwidth",
            Self::MathPipe => "busy pipes",
            Self::LgThrottle => "queue of global accesses",
            Self::MioThrottle => "queue of shared accesses",
            Self::Barrier => "barrier",
            Self::Membar => "fence",
            Self::Copies => "asynchronous copies",
            Self::Products => "matrix products",
            Self::NoInstruction => "instruction fetch",
            Self::ConstantMiss => "fetch of constants",
            Self::Launch => "launch",
            Self::Tail => "tail",
        }
    }
}

/// Clocks by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Clocks(pub [f64; State::COUNT]);

impl Clocks {
    /// The sum over all states.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.0.iter().sum()
    }

    /// The clocks of a state.
    #[must_use]
    pub fn of(&self, state: State) -> f64 {
        self.0[state as usize]
    }

    /// Adds clocks to a state.
    #[inline]
    pub(crate) fn add(&mut self, state: State, clocks: f64) {
        self.0[state as usize] += clocks;
    }

    /// All clocks times a factor.
    #[must_use]
    pub fn scaled(mut self, factor: f64) -> Self {
        for clocks in &mut self.0 {
            *clocks *= factor;
        }
        self
    }
}
