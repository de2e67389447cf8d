//! Typed quantities: a bandwidth cannot be taken for a throughput, nor GHz for MHz.

pub use gpucast_counters::ComputeCapability;
use gpucast_counters::banks::Serving;
use gpucast_counters::coalescing::{Protocol, TransactionRule};
use gpucast_counters::hierarchy::{Replacement, Schedule};
use gpucast_simulation::parameters::Scheduler;
use serde::{Serialize, Serializer};

/// A value as a GPU file holds it, before it has a type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Raw<'a> {
    /// A number.
    Number(f64),
    /// A text.
    Text(&'a str),
}

impl Raw<'_> {
    /// The same value, on its own.
    pub(super) fn owned(self) -> Value {
        match self {
            Self::Number(number) => Value::Number(number),
            Self::Text(text) => Value::Text(text.to_owned()),
        }
    }
}

/// A value of a GPU file that stands on its own.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A number.
    Number(f64),
    /// A text.
    Text(String),
}

impl Value {
    /// The number, if it is one.
    #[must_use]
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Text(_) => None,
        }
    }

    /// The same value, borrowed.
    #[must_use]
    pub fn raw(&self) -> Raw<'_> {
        match self {
            Self::Number(number) => Raw::Number(*number),
            Self::Text(text) => Raw::Text(text),
        }
    }
}

/// Units, each with its factor to the first.
pub type Units = &'static [(&'static str, f64)];

/// A kind of figure that a GPU file can hold.
pub trait Quantity: Serialize + Sized {
    /// The units that a file may use, each with its factor to the first, which is the one that
    /// the value is kept in. Empty for names and versions, which have no unit.
    const UNITS: Units;

    /// The value in the first unit, as a file writes it.
    fn value(&self) -> Value;

    /// The quantity from a value in the first unit.
    ///
    /// # Errors
    ///
    /// The reason why no GPU can have this value.
    fn from_raw(raw: Raw<'_>) -> Result<Self, &'static str>;
}

/// Refuses numbers that no GPU can have.
fn positive(raw: Raw<'_>) -> Result<f64, &'static str> {
    match raw {
        Raw::Text(_) => Err("it must be a number"),
        Raw::Number(number) if number.is_nan() => Err("it is not a number"),
        Raw::Number(number) if number.is_infinite() => Err("no GPU is infinite"),
        Raw::Number(number) if number < 0.0 => Err("it is negative"),
        Raw::Number(0.0) => Err("it is zero; leave out what the GPU does not have"),
        Raw::Number(number) => Ok(number),
    }
}

/// A positive real in the unit that the type names.
macro_rules! real {
    ($(#[$doc:meta])* $name:ident: $($unit:literal = $factor:expr),+) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize)]
        #[serde(transparent)]
        pub struct $name(pub f64);

        impl Quantity for $name {
            const UNITS: Units = &[$(($unit, $factor)),+];

            fn value(&self) -> Value {
                Value::Number(self.0)
            }

            fn from_raw(raw: Raw<'_>) -> Result<Self, &'static str> {
                positive(raw).map(Self)
            }
        }
    };
}

/// A positive whole number of the things that the type names.
macro_rules! count {
    ($(#[$doc:meta])* $name:ident: $($unit:literal = $factor:expr),+) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
        #[serde(transparent)]
        pub struct $name(pub u64);

        impl Quantity for $name {
            const UNITS: Units = &[$(($unit, $factor)),+];

            fn value(&self) -> Value {
                Value::Number(self.0 as f64)
            }

            fn from_raw(raw: Raw<'_>) -> Result<Self, &'static str> {
                const EXACT: f64 = (1_u64 << 53) as f64;
                let number = positive(raw)?;
                if number.fract() != 0.0 {
                    Err("it must be a whole number")
                } else if number > EXACT {
                    Err("it is impossibly large")
                } else {
                    Ok(Self(number as u64))
                }
            }
        }
    };
}

real!(/** Floating-point operations per second, 10⁹. */ Gflops: "GFLOPS" = 1.0, "TFLOPS" = 1e3);
real!(/** Integer operations per second, 10⁹. */ Giops: "GIOPS" = 1.0, "TIOPS" = 1e3);
real!(/** Instructions' operations per second, 10⁹. */ Gops: "GOPS" = 1.0, "TOPS" = 1e3);
real!(/** Bytes per second, 10⁹. */ GigabytesPerSecond: "GB/s" = 1.0, "TB/s" = 1e3);
real!(/** Cycles per second, 10⁶. */ Megahertz: "MHz" = 1.0, "GHz" = 1e3);
real!(/** Results, lanes, bytes or instructions of an SM in each clock. */ PerClock: "/clk/SM" = 1.0);
real!(/** Events of the whole GPU in each clock. */ PerGpuClock: "/clk" = 1.0);
real!(/** Time, 10⁻⁶ s. */ Microseconds: "us" = 1.0, "ns" = 1e-3, "ms" = 1e3);
real!(/** Power. */ Watts: "W" = 1.0);
real!(/** Energy, 10⁻¹² J. */ Picojoules: "pJ" = 1.0, "nJ" = 1e3);

count!(/** Bytes. */ Bytes: "B" = 1.0, "KiB" = 1024.0, "MiB" = 1_048_576.0, "GiB" = 1_073_741_824.0);
/// Bytes of a cache that can be switched off: 0 if it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct CacheBytes(pub u64);

impl Quantity for CacheBytes {
    const UNITS: Units = Bytes::UNITS;

    fn value(&self) -> Value {
        Bytes(self.0).value()
    }

    fn from_raw(raw: Raw<'_>) -> Result<Self, &'static str> {
        match raw {
            Raw::Number(0.0) => Ok(Self(0)),
            raw => Bytes::from_raw(raw).map(|bytes| Self(bytes.0)),
        }
    }
}

count!(/** Bits. */ Bits: "bit" = 1.0);
count!(/** Streaming multiprocessors, AMD's compute units. */ Sms: "SM" = 1.0);
count!(/** Scalar processors. */ Cores: "core" = 1.0);
count!(/** Threads. */ Threads: "thread" = 1.0);
count!(/** Warps, AMD's wavefronts. */ Warps: "warp" = 1.0);
count!(/** Blocks of threads. */ Blocks: "block" = 1.0);
count!(/** Registers of 32 bits. */ Registers: "register" = 1.0);
count!(/** Banks of shared memory. */ Banks: "bank" = 1.0);
count!(/** Parts of a multiprocessor. */ Partitions: "partition" = 1.0);
count!(/** Lines of a set of a cache. */ Ways: "way" = 1.0);
count!(/** Parts of a cache that work side by side. */ Slices: "slice" = 1.0);
count!(/** Clock cycles. */ Clocks: "clock" = 1.0);

count!(/** Instructions. */ Instructions: "instruction" = 1.0);
count!(/** Pipes of a sub-core. */ Pipes: "pipe" = 1.0);
count!(/** Places of a queue or a table. */ Entries: "entry" = 1.0);

/// Clock cycles on average, also none and parts of one.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct Span(pub f64);

/// Numbers of which 0 is one.
macro_rules! number_from_zero {
    ($($quantity:ident in $units:expr;)+) => {$(
        impl Quantity for $quantity {
            const UNITS: Units = $units;

            fn value(&self) -> Value {
                Value::Number(self.0)
            }

            fn from_raw(raw: Raw<'_>) -> Result<Self, &'static str> {
                match raw {
                    Raw::Number(0.0) => Ok(Self(0.0)),
                    raw => positive(raw).map(Self),
                }
            }
        }
    )+};
}

number_from_zero! {
    Span in Clocks::UNITS;
    Latencies in &[("latency", 1.0)];
}

/// Multiples of the unloaded latency of device memory; 0 is allowed.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct Latencies(pub f64);

/// A share in percent, at most 100.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct Percent(pub f64);

impl Quantity for Percent {
    const UNITS: Units = &[("%", 1.0)];

    fn value(&self) -> Value {
        Value::Number(self.0)
    }

    fn from_raw(raw: Raw<'_>) -> Result<Self, &'static str> {
        match positive(raw)? {
            share if share > 100.0 => Err("it is more than 100 %"),
            share => Ok(Self(share)),
        }
    }
}

/// One of several ways, by its name.
macro_rules! choice {
    ($(#[$doc:meta])* $name:ident($choices:ident): $($text:literal = $choice:ident),+; $wrong:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name(pub $choices);

        impl $name {
            fn name(self) -> &'static str {
                match self.0 {
                    $($choices::$choice => $text,)+
                }
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }

        impl Quantity for $name {
            const UNITS: Units = &[];

            fn value(&self) -> Value {
                Value::Text(self.name().to_owned())
            }

            fn from_raw(raw: Raw<'_>) -> Result<Self, &'static str> {
                match raw {
                    $(Raw::Text($text) => Ok(Self($choices::$choice)),)+
                    _ => Err($wrong),
                }
            }
        }
    };
}

choice!(
    /** How the lanes of a warp are put together. */
    LanePairing(Protocol):
        "aligned-half-warps" = AlignedHalfWarps,
        "half-warp-segments" = HalfWarpSegments,
        "lines" = Lines;
    "it is one of `aligned-half-warps`, `half-warp-segments` and `lines`"
);
choice!(
    /** What a profiler calls a transaction. */
    TransactionMeaning(TransactionRule): "lines" = Lines, "sectors" = Sectors, "quads" = Quads,
        "kept-quads-twice" = KeptQuadsTwice;
    "it is one of `lines`, `sectors`, `quads` and `kept-quads-twice`"
);
choice!(
    /** How lanes share the banks of shared memory. */
    SharedServing(Serving):
        "in-phases" = InPhases,
        "in-paired-phases" = InPairedPhases,
        "word-by-word" = WordByWord;
    "it is one of `in-phases`, `in-paired-phases` and `word-by-word`"
);

choice!(
    /** How CTAs follow each other. */
    CtaSchedule(Schedule): "lockstep-waves" = LockstepWaves, "drift" = Drift, "staggered" = Staggered;
    "it is one of `lockstep-waves`, `drift` and `staggered`"
);

choice!(
    /** The warp that a scheduler prefers. */
    WarpScheduler(Scheduler):
        "greedy-then-youngest" = GreedyThenYoungest,
        "greedy-then-oldest" = GreedyThenOldest;
    "it is `greedy-then-youngest` or `greedy-then-oldest`"
);

/// The policy that chooses the line of a cache's set to evict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheReplacement(pub Replacement);

impl CacheReplacement {
    /// The policies by name, with the parameters of their papers.
    const POLICIES: [(&str, Replacement); 10] = [
        ("lru", Replacement::Lru),
        ("random", Replacement::Random { seed: 1 }),
        ("not-most-recent", Replacement::NotMostRecent { seed: 1 }),
        ("not-recently-used", Replacement::NotRecentlyUsed),
        ("bimodal-insertion", Replacement::Bimodal { promote_every: 32 }),
        ("dueling-insertion", Replacement::DuelingInsertion { promote_every: 32 }),
        ("re-reference", Replacement::ReReference),
        ("bimodal-re-reference", Replacement::BimodalReReference { near_every: 32 }),
        ("dueling-re-reference", Replacement::DuelingReReference { near_every: 32 }),
        ("client-re-reference", Replacement::ClientReReference { near_every: 32 }),
    ];
}

impl CacheReplacement {
    fn name(self) -> &'static str {
        let named = Self::POLICIES.iter().find(|(_, policy)| *policy == self.0);
        named.map_or("other", |(name, _)| name)
    }
}

impl Serialize for CacheReplacement {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl Quantity for CacheReplacement {
    const UNITS: Units = &[];

    fn value(&self) -> Value {
        Value::Text(self.name().to_owned())
    }

    fn from_raw(raw: Raw<'_>) -> Result<Self, &'static str> {
        const NAMES: &str = "it is one of `lru`, `random`, `not-most-recent`, \
                             `not-recently-used`, `bimodal-insertion`, `dueling-insertion`, \
                             `re-reference`, `bimodal-re-reference`, `dueling-re-reference` \
                             and `client-re-reference`";
        let Raw::Text(text) = raw else { return Err(NAMES) };
        let named = Self::POLICIES.iter().find(|(name, _)| *name == text);
        named.map(|(_, policy)| Self(*policy)).ok_or(NAMES)
    }
}

/// A name: of a vendor, of an architecture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Text(pub String);

impl Quantity for Text {
    const UNITS: Units = &[];

    fn value(&self) -> Value {
        Value::Text(self.0.clone())
    }

    fn from_raw(raw: Raw<'_>) -> Result<Self, &'static str> {
        match raw {
            Raw::Text("") => Err("it is empty"),
            Raw::Text(text) => Ok(Self(text.to_owned())),
            Raw::Number(_) => Err("it must be a string"),
        }
    }
}

impl Quantity for ComputeCapability {
    const UNITS: Units = &[];

    fn value(&self) -> Value {
        Value::Text(self.to_string())
    }

    fn from_raw(raw: Raw<'_>) -> Result<Self, &'static str> {
        const SHAPE: &str = "it must be a string such as \"8.6\"";
        let Raw::Text(text) = raw else { return Err(SHAPE) };
        text.parse().map_err(|_| SHAPE)
    }
}
