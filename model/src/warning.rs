//! Assumptions of a model that a kernel breaks.

use std::fmt;

use gpucast_counters::refusal::{Refusal, reasons};
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

use crate::text::duration;

/// An assumption that does not hold, in a sentence that states the consequence; it serialises as
/// that sentence.
#[derive(Clone, Debug, PartialEq)]
pub enum Warning {
    /// Too few blocks to fill the GPU (Konstantinidis 2017, section 5.1.4: at least 90).
    FewBlocks {
        /// Blocks of the grid.
        blocks: u64,
        /// The number that the model wants.
        wanted: u64,
    },
    /// A launch that fills a small part of the GPU, though it has blocks enough for smaller ones.
    SmallPartOfGpu {
        /// Threads of the grid.
        threads: u128,
        /// Those threads over the threads that the GPU can hold at once.
        share: f64,
    },
    /// Blocks too small to fill the GPU (section 5.1.4: at least 64 threads).
    SmallBlocks {
        /// Threads of a block.
        threads: u64,
        /// The number that the model wants.
        wanted: u64,
    },
    /// A launch that the GPU refuses.
    Unlaunchable {
        /// The GPU.
        gpu: String,
        /// The reasons.
        refusals: Vec<Refusal>,
    },
    /// Registers that are an estimate, with whose upper end an SM holds fewer blocks or none.
    EstimatedRegisters {
        /// The estimate, registers of a thread.
        registers: u32,
        /// The least of its range.
        least: u32,
        /// The most of its range.
        most: u32,
        /// Blocks that an SM holds with the estimate.
        blocks: u32,
        /// Blocks that it holds with the most; 0 if the GPU refuses the launch.
        blocks_at_most: u32,
    },
    /// Values of a thread need more registers than it has. What is spilled is in no count, because
    /// no assembler made the code.
    UncountedSpills {
        /// Registers of a thread.
        registers: u32,
        /// The registers that its values surely need.
        needed: u32,
    },
    /// An invocation shorter than half a millisecond (section 5.2.6), if launching takes a visible
    /// part of it.
    ShortLaunch {
        /// The predicted time of one invocation.
        milliseconds: f64,
        /// The part of the time that launching takes, if the GPU's overhead is known.
        share: Option<f64>,
    },
    /// Something that the model leaves out, with which the time would be much longer.
    LeftOut {
        /// The work that it leaves out.
        what: &'static str,
        /// The refinement that charges it.
        refinement: &'static str,
        /// The time with it.
        milliseconds: f64,
    },
    /// Lanes idle because threads of a warp part.
    Divergence {
        /// Active lanes over all lanes, in percent.
        efficiency_percent: f64,
    },
    /// A metric is missing and was taken to be zero.
    AssumedZero {
        /// The metric.
        metric: &'static str,
    },
    /// Arithmetic that the model has no throughput for.
    Uncharged {
        /// The kind of instructions.
        what: &'static str,
        /// The number of instructions.
        instructions: f64,
    },
    /// Products of tensor cores on formats whose throughput is not known.
    OtherTensorFormats {
        /// The number of operations.
        operations: f64,
    },
    /// The compute operations are integer ones, whose cost varies (section 6.2).
    IntegerOperations,
    /// The kernel does none of the operations that the model counts.
    NoOperations,
    /// The kernel moves no bytes to or from device memory.
    NoTraffic,
    /// Transfers were calibrated with another GPU than the one predicted for.
    OtherMachine {
        /// The GPU of the calibration, if it says which.
        measured: Option<String>,
        /// The model that gives the time of the execution instead.
        executed_by: &'static str,
    },
    /// A calibrated cost is negative (Stevens & Klöckner 2020, section 4).
    NegativeCost {
        /// The parameter.
        parameter: String,
        /// Its value.
        value: f64,
    },
    /// The time itself is negative.
    NegativeTime,
    /// Work that no feature of a cost model counts.
    NoCost {
        /// The work, in words.
        what: String,
    },
    /// Accesses that several features of a cost model count.
    SeveralCosts {
        /// The accesses, in words.
        what: String,
    },
    /// Features of a cost model that the kernel has none of.
    AbsentFeatures {
        /// Their names.
        features: String,
    },
    /// A ratio of accesses to footprint rests on a sample of the memory.
    EstimatedFootprint,
    /// The counts follow another GPU's coalescing, banks and caches.
    CountedElsewhere {
        /// The GPU that they follow.
        counted_on: String,
    },
    /// The GPU's memory keeps ECC bits beside the data ([`Gpu::has_inline_ecc`]).
    ///
    /// [`Gpu::has_inline_ecc`]: crate::Gpu::has_inline_ecc
    InlineEcc,
    /// Texels are fetched in a fixed latency, wherever they come from.
    TexelsWithoutMemory {
        /// The time that all bytes of device memory take at its bandwidth.
        milliseconds: f64,
    },
    /// The time is shorter than the counted work takes on a unit at its peak.
    BelowRoof {
        /// The unit.
        unit: &'static str,
        /// The least time of its work.
        milliseconds: f64,
    },
    /// A field that was changed and that the model does not read.
    UnreadField {
        /// The field.
        field: &'static str,
        /// The model.
        model: &'static str,
    },
    /// The registers of a thread are not known, so that they limit no occupancy.
    UnknownRegisters,
    /// Counts between barriers are those of PTX, scaled to the machine-level counts of the launch.
    ScaledStages,
    /// Stages beyond those that are told apart.
    MergedStages {
        /// The number of stages that are part of the last one.
        merged: u64,
    },
    /// The counts say nothing of a level of memory, so that its bandwidth bounds nothing.
    UnknownLevel {
        /// The level.
        level: &'static str,
    },
    /// Most instructions are no floating-point ones, which a roofline leaves out.
    FewComputations {
        /// The share of floating-point instructions.
        share: f64,
    },
    /// Fewer warps than cover the latency of instructions.
    FewWarps {
        /// Warps of an SM.
        warps: f64,
        /// The number that covers it.
        needed: f64,
    },
    /// A simulation had not reached its steady state when it was extrapolated.
    Unsteady {
        /// The difference between the rates of its halves, over their mean.
        share: f64,
    },
    /// Blocks of which none like them was recorded.
    UnrecordedBlocks {
        /// Their number.
        blocks: u64,
        /// The largest factor between their instructions and those of the block that stands in,
        /// either way.
        factor: f64,
    },
    /// Warps were let through barriers that nobody else could reach any more.
    AbandonedBarriers {
        /// The number of barriers.
        barriers: u64,
    },
    /// The interval model gives a time that is far from the simulation's.
    ModelsDisagree {
        /// The time of the interval model, in milliseconds.
        milliseconds: f64,
        /// That time over the simulation's.
        ratio: f64,
    },
    /// The GPU's default model lacks an input, and another model predicts in its place.
    DefaultDeclined {
        /// The default model.
        model: &'static str,
        /// Reason why it declines.
        reason: String,
    },
    /// The time was multiplied by E_util of the reference GPU (equation 5.13).
    Corrected {
        /// The reference GPU.
        reference: String,
        /// E_util.
        factor: f64,
    },
}

/// The ending of a word that `count` goes with.
fn plural(count: u64) -> &'static str {
    if count == 1 { "" } else { "s" }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FewBlocks { blocks, wanted } => write!(
                f,
                "the grid has {blocks} block{}, fewer than {wanted}: latency, not throughput, may \
                 bound it, and the prediction is a lower bound of the time",
                plural(*blocks)
            ),
            Self::SmallPartOfGpu { threads, share } => write!(
                f,
                "the grid's {threads} threads are {:.0} % of those that the GPU holds together: \
                 latency, not throughput, may bound it, and the prediction is a lower bound of the \
                 time",
                100.0 * share
            ),
            Self::SmallBlocks { threads, wanted } => write!(
                f,
                "a block has {threads} thread{}, fewer than {wanted}: latency, not throughput, may \
                 bound it, and the prediction is a lower bound of the time",
                plural(*threads)
            ),
            Self::Unlaunchable { gpu, refusals } => write!(
                f,
                "the {gpu} refuses this launch: {}; the time is that of a GPU which runs one block \
                 on an SM",
                reasons(refusals)
            ),
            Self::EstimatedRegisters { registers, least, most, blocks, blocks_at_most } => {
                let so_many = match blocks_at_most {
                    0 => "the GPU refuses the launch".to_owned(),
                    _ => format!("an SM holds {blocks_at_most} of its blocks, not {blocks}"),
                };
                write!(
                    f,
                    "{registers} registers a thread are estimated, {least} to {most} are likely: with \
                     {most} {so_many} (`--registers` states them)"
                )
            }
            Self::UncountedSpills { registers, needed } => write!(
                f,
                "a thread has {registers} registers, and its values need {needed} or more: the rest is \
                 spilled to local memory, which no count has (`--machine ptxas` counts it)"
            ),
            Self::ShortLaunch { milliseconds, share: None } => write!(
                f,
                "an invocation is predicted to take {}, less than 0.5 ms: the cost of launching, \
                 which the model leaves out, shows",
                duration(*milliseconds)
            ),
            Self::ShortLaunch { milliseconds, share: Some(share) } => write!(
                f,
                "an invocation is predicted to take {}: the cost of launching, which the model \
                 leaves out, is {:.0} % of the time",
                duration(*milliseconds),
                100.0 * share
            ),
            Self::LeftOut { what, refinement, milliseconds } => write!(
                f,
                "the model leaves out {what}, with which the kernel would take {}: --refine \
                 {refinement}",
                duration(*milliseconds)
            ),
            Self::Divergence { efficiency_percent } => write!(
                f,
                "only {efficiency_percent:.1} % of the lanes are active: the model charges \
                 divergence as other instructions and does not see how other GPUs handle it"
            ),
            Self::AssumedZero { metric } => {
                write!(f, "the metric `{metric}` is missing and was taken to be zero")
            }
            Self::Uncharged { what, instructions } => write!(
                f,
                "{instructions:.0} {what} instructions are charged as other instructions: the \
                 model knows no throughput of their operations, and the prediction leaves them out"
            ),
            Self::OtherTensorFormats { operations } => write!(
                f,
                "{operations:.0} operations of tensor cores are left out: their throughput is known \
                 for fp16, bf16 and tf32 only"
            ),
            Self::IntegerOperations => f.write_str(
                "the kernel is an integer one: every integer instruction is charged as a \
                 multiply-add, though additions are up to five times faster",
            ),
            Self::NoOperations => f.write_str(
                "the kernel has no arithmetic that the model counts: its throughput is zero, and \
                 the time is that of its other instructions or of its memory traffic",
            ),
            Self::NoTraffic => f.write_str(
                "the kernel has no traffic to device memory: its operational intensity is \
                 infinite, and the bandwidth of the caches, which may bound it, is not modelled",
            ),
            Self::OtherMachine { measured, executed_by } => {
                let measured = measured.as_deref().unwrap_or("a machine that it does not name");
                write!(
                    f,
                    "the calibration was measured on {measured}: its link is taken to be this \
                     one's, and the time of the execution is that of {executed_by}"
                )
            }
            Self::NegativeCost { parameter, value } => write!(
                f,
                "the cost {parameter} is {value:e}: no work makes a kernel faster, so the \
                 calibration does not explain the times that it was made from"
            ),
            Self::NegativeTime => f.write_str("the time is negative: the model does not fit"),
            Self::NoCost { what } => {
                write!(f, "the model charges nothing for {what}")
            }
            Self::SeveralCosts { what } => {
                write!(f, "more than one feature of the model counts {what}")
            }
            Self::AbsentFeatures { features } => {
                write!(f, "the kernel has nothing that these features count: {features}")
            }
            Self::EstimatedFootprint => f.write_str(
                "accesses touch more memory than is recorded: a ratio of accesses to footprint \
                 is extrapolated from a sample",
            ),
            Self::CountedElsewhere { counted_on } => write!(
                f,
                "transactions, bank conflicts and cache hits are those of a {counted_on}, not of this \
                 GPU: --count-on target counts them for it"
            ),
            Self::InlineEcc => f.write_str(
                "this GPU's memory keeps ECC bits beside the data: the bandwidth includes reading \
                 them with streams of data; scattered accesses read more of them, and no count \
                 contains them",
            ),
            Self::TexelsWithoutMemory { milliseconds } => write!(
                f,
                "texels take a fixed latency, wherever they come from: what they read from the L2 \
                 and from device memory is not in the time, and all bytes of device memory take {} at \
                 its bandwidth",
                duration(*milliseconds)
            ),
            Self::BelowRoof { unit, milliseconds } => write!(
                f,
                "the counted work keeps {unit} busy for {} at the peak rate: no such launch is faster, \
                 and the model leaves that out",
                duration(*milliseconds)
            ),
            Self::UnreadField { field, model } => write!(
                f,
                "{model} reads neither `{field}` nor anything that follows from it: its change moves no \
                 time"
            ),
            Self::UnknownRegisters => f.write_str(
                "how many registers a thread has is not known, so that they do not limit the blocks of \
                 an SM: fewer may fit",
            ),
            Self::ScaledStages => f.write_str(
                "instructions between barriers are those of PTX, scaled class by class to the machine \
                 instructions of the whole launch",
            ),
            Self::MergedStages { merged } => write!(
                f,
                "{merged} further stages are part of the last one, and share its bottleneck"
            ),
            Self::UnknownLevel { level } => write!(
                f,
                "the counts have no bytes of the {level}: its bandwidth may bound the kernel and is left \
                 out"
            ),
            Self::FewComputations { share } => write!(
                f,
                "only {:.0} % of the instructions are floating-point ones: the others take time that the \
                 roofline leaves out, and the prediction is a lower bound",
                100.0 * share
            ),
            Self::FewWarps { warps, needed } => write!(
                f,
                "an SM has {warps:.0} warps, fewer than the {needed:.0} that cover the latency of \
                 instructions: independent instructions of a warp, which the model leaves out, make the \
                 kernel faster than predicted"
            ),
            Self::Unsteady { share } => write!(
                f,
                "the rate of the simulation still changed by {:.0} % where it was extrapolated",
                100.0 * share
            ),
            Self::UnrecordedBlocks { blocks, factor } => write!(
                f,
                "none like {blocks} block{} of the grid was recorded: in the simulation others stand in, \
                 with up to {factor:.1} times fewer or more instructions",
                plural(*blocks)
            ),
            Self::AbandonedBarriers { barriers } => write!(
                f,
                "the simulation let warps through {barriers} barrier{} that no other warp would \
                 have reached",
                plural(*barriers)
            ),
            Self::ModelsDisagree { milliseconds, ratio } => write!(
                f,
                "the interval model predicts {}, {:.1} times {}: few models agree on this kernel, and \
                 the prediction is less certain than its interval says",
                duration(*milliseconds),
                ratio.max(1.0 / ratio),
                if *ratio > 1.0 { "as much" } else { "less" }
            ),
            Self::DefaultDeclined { model, reason } => write!(
                f,
                "{model}, the default for this GPU, cannot predict here, and another model does: \
                 {reason}"
            ),
            Self::Corrected { reference, factor } => write!(
                f,
                "the time was multiplied by {factor:.4}, measured over predicted on {reference}: \
                 it is no longer a lower bound"
            ),
        }
    }
}

/// Writes [`Warning::code`] and [`Warning::CODES`] from one row per variant.
macro_rules! codes {
    ($($variant:ident => $code:literal, $meaning:literal;)+) => {
        impl Warning {
            /// Every code with its meaning, in the order of `docs/codes.md`.
            pub const CODES: &[(&'static str, &'static str)] = &[$(($code, $meaning)),+];

            /// The stable name, which programs match instead of the sentence.
            #[must_use]
            pub fn code(&self) -> &'static str {
                match self {
                    $(Self::$variant { .. } => $code,)+
                }
            }
        }
    };
}

codes! {
    FewBlocks => "few-blocks", "The grid has too few blocks to fill the GPU.";
    SmallPartOfGpu => "small-part-of-gpu", "The launch fills a small part of the GPU.";
    SmallBlocks => "small-blocks", "Blocks have too few threads to fill the GPU.";
    Unlaunchable => "unlaunchable", "The GPU refuses the launch: threads, registers, shared memory, extents or clusters.";
    EstimatedRegisters => "estimated-registers", "Registers are estimated; with the most of their range an SM holds fewer blocks, or none.";
    UncountedSpills => "uncounted-spills", "Values need more registers than a thread has; their spills are in no count.";
    ShortLaunch => "short-launch", "Launching takes a share of the time that the model leaves out.";
    LeftOut => "left-out", "A refinement that was not asked for would make the time much longer.";
    Divergence => "divergence", "Lanes idle because threads of a warp part.";
    AssumedZero => "assumed-zero", "A missing metric was taken to be zero.";
    Uncharged => "uncharged", "The model has no throughput for some arithmetic.";
    OtherTensorFormats => "other-tensor-formats", "Tensor cores work on formats whose throughput is not known.";
    IntegerOperations => "integer-operations", "The operations are integer ones, whose cost varies.";
    NoOperations => "no-operations", "The kernel does none of the operations that the model counts.";
    NoTraffic => "no-traffic", "The kernel moves no bytes to or from device memory.";
    OtherMachine => "other-machine", "Transfers were calibrated with another GPU.";
    NegativeCost => "negative-cost", "A calibrated cost is negative.";
    NegativeTime => "negative-time", "The predicted time is negative.";
    NoCost => "no-cost", "No feature of the cost model counts some work.";
    SeveralCosts => "several-costs", "Several features of the cost model count the same accesses.";
    AbsentFeatures => "absent-features", "The kernel has nothing that some features count.";
    EstimatedFootprint => "estimated-footprint", "A ratio of accesses to footprint rests on a sample.";
    CountedElsewhere => "counted-elsewhere", "The counts follow the memory system of another GPU.";
    InlineEcc => "inline-ecc", "ECC bits take bandwidth, and no count contains them.";
    TexelsWithoutMemory => "texels-without-memory", "Texels take a fixed latency, wherever they come from.";
    BelowRoof => "below-roof", "The time is shorter than a unit needs at its peak for the counted work.";
    UnreadField => "unread-field", "A field of the GPU was changed that the model does not read.";
    UnknownRegisters => "unknown-registers", "The registers of a thread are not known and limit no occupancy.";
    ScaledStages => "scaled-stages", "Instructions between barriers are scaled from PTX.";
    MergedStages => "merged-stages", "Further stages are part of the last one.";
    UnknownLevel => "unknown-level", "The counts have no bytes of a level of memory.";
    FewComputations => "few-computations", "Most instructions are no floating-point ones.";
    FewWarps => "few-warps", "There are fewer warps than cover the latency of instructions.";
    Unsteady => "unsteady", "A simulation was extrapolated before its rate was steady.";
    UnrecordedBlocks => "unrecorded-blocks", "No block like some of the grid was recorded for the simulation.";
    AbandonedBarriers => "abandoned-barriers", "A simulation let warps through barriers that nobody else reached.";
    ModelsDisagree => "models-disagree", "The simulation and the interval model differ by more than a factor of two.";
    DefaultDeclined => "default-declined", "The default model lacks an input, and another one predicts.";
    Corrected => "corrected", "The time was corrected by a measurement on another GPU.";
}

/// Writes `warnings`, the sentences, and `warning_codes` beside each other into the surrounding
/// map.
pub(crate) fn with_codes<S: Serializer>(
    warnings: &[Warning],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let codes: Vec<&str> = warnings.iter().map(Warning::code).collect();
    let mut map = serializer.serialize_map(Some(2))?;
    map.serialize_entry("warnings", warnings)?;
    map.serialize_entry("warning_codes", &codes)?;
    map.end()
}

impl Serialize for Warning {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
