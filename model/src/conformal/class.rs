//! The kinds of times whose errors are alike.

use std::fmt;
use std::str::FromStr;

/// What binds a simulated time.
///
/// It is finer than [`Bound`](crate::Bound): waiting for latency and waiting for bandwidth err
/// differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TimeClass {
    /// Issue slots and the units of arithmetic.
    Issue,
    /// Tensor cores.
    Tensor,
    /// The data path of shared memory and of the first-level cache.
    FirstLevel,
    /// The rate of the L2.
    L2,
    /// The rate of DRAM.
    Dram,
    /// Latencies and barriers that too few warps hide.
    Latency,
    /// What a launch costs, its first and its last CTAs.
    Launch,
}

impl TimeClass {
    /// Every class.
    pub const ALL: [Self; 7] = [
        Self::Issue,
        Self::Tensor,
        Self::FirstLevel,
        Self::L2,
        Self::Dram,
        Self::Latency,
        Self::Launch,
    ];

    /// Its name in documents and in the table of quantiles.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Issue => "issue",
            Self::Tensor => "tensor",
            Self::FirstLevel => "shared-l1",
            Self::L2 => "l2",
            Self::Dram => "dram",
            Self::Latency => "latency",
            Self::Launch => "launch",
        }
    }

    /// What binds, in words that follow "bound by".
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Issue => "issue and arithmetic",
            Self::Tensor => "tensor cores",
            Self::FirstLevel => "shared memory and L1",
            Self::L2 => "the L2",
            Self::Dram => "DRAM",
            Self::Latency => "latency",
            Self::Launch => "the launch",
        }
    }
}

impl fmt::Display for TimeClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A class that does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownClass;

impl FromStr for TimeClass {
    type Err = UnknownClass;

    fn from_str(text: &str) -> Result<Self, UnknownClass> {
        Self::ALL.into_iter().find(|class| class.name() == text).ok_or(UnknownClass)
    }
}
