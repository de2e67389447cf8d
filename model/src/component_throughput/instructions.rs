//! The instruction pipeline: section 4.1.
//!
//! The paper classifies instructions by the functional units of an SM that execute them (table 1:
//! 10, 8, 4, 1). It adds up the time of the classes, because a GT200 issues one instruction at a
//! time. Rates of other GPUs are those of the vendor's throughput table. From compute capability
//! 2.0 on, an SM has several schedulers and groups of units that work side by side. Its
//! instructions take as long as the slowest of
//!
//! - the issue of all of them,
//! - each group of units with its share, class by class,
//! - the chain of each warp: one instruction in each latency, as the paper relies "on inter-warp,
//!   rather than intra-warp" parallelism.

use gpucast_counters::throughput::Operation;

use super::saturation::Saturation;
use crate::gpu::Gpu;
use crate::inputs::{number, optional};
use crate::predictor::ModelError;

/// Lanes of a warp.
const LANES: f64 = 32.0;

/// Warp instructions by operation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct InstructionCounts([f64; Operation::ALL.len()]);

impl InstructionCounts {
    /// Counts by a function.
    pub fn by(count: impl Fn(Operation) -> f64) -> Self {
        Self(Operation::ALL.map(count))
    }

    /// Warp instructions of an operation.
    #[must_use]
    pub fn of(&self, operation: Operation) -> f64 {
        self.0[operation as usize]
    }

    /// Warp instructions of all operations.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.0.iter().sum()
    }

    /// The computations that floating-point kernels are run for.
    #[must_use]
    pub fn computations(&self) -> f64 {
        use Operation::{Fp16, Fp32, Fp32Multiply, Fp64, Special, Tensor};
        [Fp16, Fp32, Fp32Multiply, Special, Fp64, Tensor].map(|kind| self.of(kind)).iter().sum()
    }

    /// Adds others.
    pub fn add(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(total, count)| *total += count);
    }

    /// All multiplied by a factor of their operation.
    #[must_use]
    pub fn scaled(&self, factor: impl Fn(Operation) -> f64) -> Self {
        Self::by(|operation| self.of(operation) * factor(operation))
    }
}

/// The unit that executes an operation, and that other operations may have to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    /// The scalar processors for single precision.
    Cores,
    /// The integer units, if they are units of their own.
    Integer,
    /// The special-function units, which convert, too.
    Special,
    /// The double-precision units.
    Double,
    /// The load/store units.
    LoadStore,
    /// The tensor cores.
    Tensor,
    /// No unit: it only has to be issued.
    Issue,
}

const UNITS: [Unit; 6] =
    [Unit::Cores, Unit::Integer, Unit::Special, Unit::Double, Unit::LoadStore, Unit::Tensor];

/// The instruction pipeline of a GPU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InstructionPipeline {
    /// Clocks per second of all SMs, 10⁹.
    sm_gigahertz: f64,
    /// Warp instructions of each operation for each clock and SM.
    rates: [f64; Operation::ALL.len()],
    /// Warp instructions that an SM issues in a clock.
    issue_rate: f64,
    /// Clocks until a result can be read.
    latency: f64,
    arrangement: Arrangement,
    /// Operations whose rate the GPU lacks, with the field that would have it.
    unknown: [Option<(Operation, &'static str)>; 4],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Arrangement {
    /// One instruction at a time (compute capability 1.x).
    Single,
    /// Groups of units side by side.
    SideBySide {
        /// True if integers have units of their own (from 7.0 on).
        separate_integers: bool,
    },
}

/// The time of instructions and its parts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InstructionTime {
    /// The time in milliseconds.
    pub time_ms: f64,
    /// The time with as many warps as saturate the pipeline, in milliseconds.
    pub saturated_ms: f64,
}

impl InstructionPipeline {
    /// The pipeline of a GPU.
    ///
    /// # Errors
    ///
    /// When a rate, the issue rate or the latency is not known. Half and double precision, 64-bit
    /// conversions and shuffles are exempt, because not every GPU has them: see
    /// [`InstructionPipeline::lacks`].
    pub fn of(gpu: &Gpu, major: u32) -> Result<Self, ModelError> {
        let (fp32, int_add) = (number!(gpu.fp32_rate), number!(gpu.int_add_rate));
        let (compare, shift) = (number!(gpu.compare_rate), number!(gpu.shift_rate));
        let (special, conversion) = (number!(gpu.special_rate), number!(gpu.conversion_rate));
        let (int_mul, logic) = (number!(gpu.int_mul_rate), number!(gpu.logic_rate));
        let (load_store, issue_rate) = (number!(gpu.load_store_rate), number!(gpu.issue_rate));
        let (fp16_rate, fp64_rate) = (optional!(gpu.fp16_rate), optional!(gpu.fp64_rate));
        let shuffle_rate = optional!(gpu.shuffle_rate);
        let wide_conversion_rate = optional!(gpu.wide_conversion_rate);
        let multiply = number!(gpu.fp32_mul_rate);
        let unknown = [
            (fp16_rate.is_none(), Operation::Fp16, "fp16_rate"),
            (fp64_rate.is_none(), Operation::Fp64, "fp64_rate"),
            (wide_conversion_rate.is_none(), Operation::WideConversion, "wide_conversion_rate"),
            (shuffle_rate.is_none(), Operation::Shuffle, "shuffle_rate"),
        ];
        // An unknown rate is refused where it is needed, so that its value does not matter.
        let rate = |operation| match operation {
            Operation::Fp16 => fp16_rate.unwrap_or(fp32),
            Operation::Fp32 => fp32,
            Operation::Fp32Multiply => multiply,
            Operation::Fp32Compare | Operation::IntegerCompare => compare,
            Operation::Special => special,
            Operation::Fp64 => fp64_rate.unwrap_or(fp32),
            Operation::IntegerAdd => int_add,
            Operation::IntegerMultiply => int_mul,
            Operation::Shift => shift,
            Operation::Logic => logic,
            // The vendor's table gives counts of bits the rate of conversions on every capability.
            Operation::Conversion | Operation::BitCount => conversion,
            Operation::WideConversion => wide_conversion_rate.unwrap_or(conversion),
            Operation::Shuffle => shuffle_rate.unwrap_or(fp32),
            Operation::LoadStore => load_store,
            // Until `multiplying_matrices` says otherwise, products only have to be issued.
            Operation::Tensor => issue_rate * LANES,
            Operation::Other => int_add,
        };
        Ok(Self {
            sm_gigahertz: number!(gpu.sm_count) as f64 * number!(gpu.sp_clock) / 1e3,
            rates: Operation::ALL.map(|operation| rate(operation) / LANES),
            issue_rate,
            latency: number!(gpu.arithmetic_latency) as f64,
            arrangement: match major {
                1 => Arrangement::Single,
                _ => Arrangement::SideBySide { separate_integers: major >= 7 },
            },
            unknown: unknown
                .map(|(is_unknown, operation, field)| is_unknown.then_some((operation, field))),
        })
    }

    /// The same pipeline with a rate of matrix products: warp instructions per clock and SM.
    #[must_use]
    pub fn multiplying_matrices(mut self, rate: f64) -> Self {
        self.rates[Operation::Tensor as usize] = rate;
        self
    }

    /// The field of a rate that the instructions need and the GPU does not have.
    #[must_use]
    pub fn lacks(&self, counts: &InstructionCounts) -> Option<&'static str> {
        let needed = |(operation, _): &(Operation, _)| counts.of(*operation) > 0.0;
        self.unknown.into_iter().flatten().find(needed).map(|(_, field)| field)
    }

    /// Returns true if arithmetic takes an operand from shared memory, so that the load is no
    /// instruction of its own (compute capability 1.x).
    #[must_use]
    pub fn reads_shared_operands(&self) -> bool {
        self.arrangement == Arrangement::Single
    }

    /// 10⁹ warp instructions of an operation per second, if nothing else runs on the GPU, with
    /// `warps` warps of each SM: figure 2, left.
    #[must_use]
    pub fn throughput(&self, operation: Operation, warps: f64) -> f64 {
        let rate = self.rates[operation as usize];
        self.sm_gigahertz * rate.min(self.limit(rate)) * self.saturation(rate).fraction(warps)
    }

    /// The rate that issuing allows an operation of this rate; the scheduler of a GT200 feeds
    /// several units.
    fn limit(&self, rate: f64) -> f64 {
        if self.arrangement == Arrangement::Single { rate } else { self.issue_rate }
    }

    /// Latency times rate: the warps that it takes to keep the units busy.
    fn saturation(&self, rate: f64) -> Saturation {
        let covering = self.latency * rate;
        match self.arrangement {
            Arrangement::Single => Saturation::instructions_of_gt200(covering),
            Arrangement::SideBySide { .. } => Saturation::covered_by(covering),
        }
    }

    /// The warps of an SM that cover the latency of additions.
    #[must_use]
    pub fn covering_warps(&self) -> f64 {
        let rate = self.rates[Operation::Fp32 as usize];
        self.latency * rate.min(self.limit(rate))
    }

    /// The warps of an SM beyond which instructions gain nothing.
    #[must_use]
    pub fn saturating_warps(&self) -> f64 {
        let rate = self.rates[Operation::Fp32 as usize];
        self.saturation(rate.min(self.limit(rate))).saturating_warps()
    }

    /// The time of instructions with `warps` warps of an SM, on a share of the SMs.
    #[must_use]
    pub fn time(&self, counts: &InstructionCounts, warps: f64, busy: f64) -> InstructionTime {
        let gigahertz = 1e6 * self.sm_gigahertz * busy;
        let clocks = match self.arrangement {
            Arrangement::Single => Clocks {
                actual: self.one_by_one(counts, |curve| curve.fraction(warps)),
                saturated: self.one_by_one(counts, Saturation::best),
            },
            Arrangement::SideBySide { separate_integers } => {
                let saturated = self.side_by_side(counts, separate_integers);
                let chain = counts.total() * self.latency / warps;
                Clocks { actual: saturated.max(chain), saturated }
            }
        };
        if counts.total() == 0.0 {
            return InstructionTime { time_ms: 0.0, saturated_ms: 0.0 };
        }
        InstructionTime {
            time_ms: clocks.actual / gigahertz,
            saturated_ms: clocks.saturated / gigahertz,
        }
    }

    /// The sum of all classes' times, in clocks of one SM.
    fn one_by_one(&self, counts: &InstructionCounts, fraction: impl Fn(&Saturation) -> f64) -> f64 {
        let time = |operation| {
            let (count, rate) = (counts.of(operation), self.rates[operation as usize]);
            if count == 0.0 { 0.0 } else { count / rate / fraction(&self.saturation(rate)) }
        };
        Operation::ALL.map(time).iter().sum()
    }

    /// The time of the busiest unit, in clocks of one SM.
    fn side_by_side(&self, counts: &InstructionCounts, separate_integers: bool) -> f64 {
        let unit_time = |unit: Unit| -> f64 {
            let of_unit = |&operation: &Operation| unit_of(operation, separate_integers) == unit;
            Operation::ALL
                .into_iter()
                .filter(|operation| of_unit(operation))
                .map(|operation| counts.of(operation) / self.rates[operation as usize])
                .sum()
        };
        UNITS.map(unit_time).into_iter().fold(counts.total() / self.issue_rate, f64::max)
    }

    /// The operation that takes the largest share of the time beyond its time at the rate of
    /// additions. The second value is that excess as a share of all time.
    #[must_use]
    pub fn most_expensive(&self, counts: &InstructionCounts) -> Option<(Operation, f64)> {
        let cheap = self.rates[Operation::Fp32 as usize];
        let (time, excess) = Operation::ALL.into_iter().fold(
            (0.0, None),
            |(time, worst): (f64, Option<(Operation, f64)>), operation| {
                let own = counts.of(operation) / self.rates[operation as usize];
                let more = own - counts.of(operation) / cheap;
                // Accesses to memory have components of their own.
                let counts_here = more > 0.0 && operation != Operation::LoadStore;
                let is_worst = counts_here && worst.is_none_or(|(_, most)| more > most);
                (time + own, if is_worst { Some((operation, more)) } else { worst })
            },
        );
        excess.map(|(operation, more)| (operation, more / time))
    }
}

struct Clocks {
    actual: f64,
    saturated: f64,
}

/// The units that an operation keeps busy.
fn unit_of(operation: Operation, separate_integers: bool) -> Unit {
    match operation {
        Operation::Fp16 | Operation::Fp32 | Operation::Fp32Multiply | Operation::Fp32Compare => {
            Unit::Cores
        }
        Operation::IntegerAdd
        | Operation::IntegerMultiply
        | Operation::IntegerCompare
        | Operation::Shift
        | Operation::Logic => {
            if separate_integers {
                Unit::Integer
            } else {
                Unit::Cores
            }
        }
        Operation::Special
        | Operation::Conversion
        | Operation::WideConversion
        | Operation::BitCount => Unit::Special,
        Operation::Fp64 => Unit::Double,
        Operation::Shuffle | Operation::LoadStore => Unit::LoadStore,
        Operation::Tensor => Unit::Tensor,
        Operation::Other => Unit::Issue,
    }
}
