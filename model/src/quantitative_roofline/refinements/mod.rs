//! The thesis's proposals for its model: section 7.2, with the limitations of sections 5.2.6 and
//! 6.2 that each proposal answers.
//!
//! All of them are off by default: the thesis suggests to "extend the model only on special cases",
//! and none was evaluated there. Each is a function of its own that adds a cost to the pipeline, a
//! roof to the roofline, or a time to every launch. Costs are in the unit of equations 4.13 to
//! 4.15: for each of the kernel's instructions, in single-precision multiply-adds.

mod costs;
mod roofs;

use gpucast_counters::KernelProfile;
use thiserror::Error;

use super::kernel::{Counts, KernelParameters};
use super::weights::Weights;
use crate::gpu::Gpu;
use crate::prediction::{Component, Outcome};
use crate::predictor::{Conditions, GpuParameter, Model, ModelError};
use crate::reads::{COUNTED, FIRST_LEVEL, Fields, OCCUPANCY};
use crate::warning::Warning;

/// One of the thesis's proposals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Refinement {
    /// Integer instructions are charged by their kind (sections 5.2.6, 6.2 and 7.2.1).
    SeparateIntegers,
    /// Shared accesses of 8 and 16 bytes a thread are charged as the passes that they take
    /// (sections 5.2.3 and 7.2.1).
    WideShared,
    /// The passes over the banks that conflicts add are charged as loads and stores (sections 6.2
    /// and 7.2.1).
    BankConflicts,
    /// The passes that loads of several constants add are charged as loads (sections 6.2 and
    /// 7.2.1).
    ConstantSerialisation,
    /// Idle lanes are charged like the others (sections 5.2.6 and 7.2).
    Divergence,
    /// Each launch takes the GPU's launch overhead (sections 5.2.6 and 7.2).
    LaunchOverhead,
    /// The bandwidths of the L2 and of the first-level caches are roofs, too (sections 5.2.6 and
    /// 6.2).
    CacheBandwidth,
}

/// A refinement that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("there is no refinement named `{name}`")]
pub struct UnknownRefinement {
    /// The name.
    pub name: String,
}

impl Refinement {
    /// All of them, in the order in which they are applied.
    pub const ALL: [Self; 7] = [
        Self::SeparateIntegers,
        Self::WideShared,
        Self::BankConflicts,
        Self::ConstantSerialisation,
        Self::Divergence,
        Self::LaunchOverhead,
        Self::CacheBandwidth,
    ];

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::SeparateIntegers => "separate-integers",
            Self::WideShared => "wide-shared",
            Self::BankConflicts => "bank-conflicts",
            Self::ConstantSerialisation => "constant-serialisation",
            Self::Divergence => "divergence",
            Self::LaunchOverhead => "launch-overhead",
            Self::CacheBandwidth => "cache-bandwidth",
        }
    }

    /// The refinement of a name.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub fn by_name(name: &str) -> Result<Self, UnknownRefinement> {
        let found = Self::ALL.into_iter().find(|refinement| refinement.name() == name);
        found.ok_or_else(|| UnknownRefinement { name: name.to_owned() })
    }

    /// Returns true if this settles a warning of the unrefined model.
    pub(super) fn answers(self, warning: &Warning) -> bool {
        match self {
            Self::SeparateIntegers => matches!(warning, Warning::IntegerOperations),
            Self::Divergence => matches!(warning, Warning::Divergence { .. }),
            Self::LaunchOverhead => matches!(warning, Warning::ShortLaunch { .. }),
            Self::CacheBandwidth => matches!(warning, Warning::NoTraffic),
            Self::WideShared | Self::BankConflicts | Self::ConstantSerialisation => false,
        }
    }
}

/// Table 4.3, and the parameters that refinements read besides; the latter have no symbol in the
/// thesis.
const GPU_PARAMETERS: &[GpuParameter] = &[
    GpuParameter::new("sp_throughput", "T_SP"),
    GpuParameter::new("dp_throughput", "T_DP"),
    GpuParameter::new("int_throughput", "T_int"),
    GpuParameter::new("int_add_throughput", "T_add"),
    GpuParameter::new("load_store_throughput", "T_ldst"),
    GpuParameter::new("memory_bandwidth", "B_mem"),
    GpuParameter::new("int_add_rate", "add"),
    GpuParameter::new("shift_rate", "shift"),
    GpuParameter::new("logic_rate", "logic"),
    GpuParameter::new("compare_rate", "compare"),
    GpuParameter::new("shared_bank_width", "bank"),
    GpuParameter::new("l1_bandwidth", "B_L1"),
    GpuParameter::new("l2_bandwidth", "B_L2"),
    GpuParameter::new("launch_overhead", "launch"),
];

/// The model of Konstantinidis 2017 with refinements.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RefinedRoofline {
    refinements: Vec<Refinement>,
}

impl RefinedRoofline {
    /// The model with these refinements, whatever their order.
    #[must_use]
    pub fn new(refinements: &[Refinement]) -> Self {
        let mut refinements = refinements.to_vec();
        refinements.sort_unstable();
        refinements.dedup();
        Self { refinements }
    }

    /// Its refinements.
    #[must_use]
    pub fn refinements(&self) -> &[Refinement] {
        &self.refinements
    }
}

/// The fields that refinements read besides.
const READ: &[&str] = &[
    "compare_rate",
    "int_add_rate",
    "logic_rate",
    "shift_rate",
    "l1_bandwidth",
    "l2_bandwidth",
    "launch_overhead",
];

impl Model for RefinedRoofline {
    fn name(&self) -> &'static str {
        "refined-roofline"
    }

    fn citation(&self) -> &'static str {
        "Konstantinidis 2017, eq. 4.1–4.18 and section 7.2"
    }

    fn reads_counts_of_gtx_480(&self) -> bool {
        true
    }

    fn gpu_parameters(&self) -> &'static [GpuParameter] {
        GPU_PARAMETERS
    }

    fn includes_launches(&self) -> bool {
        self.refinements.contains(&Refinement::LaunchOverhead)
    }

    fn reads(&self) -> Fields {
        &[super::READ, READ, FIRST_LEVEL, OCCUPANCY, COUNTED]
    }

    fn evaluate(
        &self,
        profile: &KernelProfile,
        gpu: &Gpu,
        conditions: &Conditions,
    ) -> Result<Outcome, ModelError> {
        super::outcome(profile, gpu, conditions, &self.refinements)
    }
}

/// A cost that a refinement adds to the pipeline; negative if the unrefined model charges too much.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct AddedCost {
    /// The name of the cost: the thesis has no symbol for it.
    pub(super) symbol: &'static str,
    /// The cost in multiply-adds per instruction of the kernel.
    pub(super) cost: f64,
}

/// A further bandwidth that may bound the kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Roof {
    /// The names of the traffic and of the bandwidth.
    pub(super) symbols: (&'static str, &'static str),
    pub(super) bytes: f64,
    /// The bandwidth in GB/s.
    pub(super) bandwidth: f64,
    pub(super) component: Component,
}

/// The results of a prediction's refinements.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Refinements {
    pub(super) costs: Vec<AddedCost>,
    pub(super) roofs: Vec<Roof>,
    pub(super) overhead_ms: Option<f64>,
    /// The effect of each, in a sentence.
    pub(super) sentences: Vec<String>,
}

/// The inputs of refinements.
struct Inputs<'a> {
    counts: Counts<'a>,
    gpu: &'a Gpu,
    kernel: &'a KernelParameters,
    weights: &'a Weights,
}

impl Refinements {
    /// Applies refinements in the order of [`Refinement::ALL`], in which the slice is.
    ///
    /// # Errors
    ///
    /// When the counts lack a metric or the GPU a parameter that one of them needs.
    pub(super) fn of(
        refinements: &[Refinement],
        profile: &KernelProfile,
        gpu: &Gpu,
        kernel: &KernelParameters,
        weights: &Weights,
    ) -> Result<Self, ModelError> {
        let inputs = Inputs { counts: Counts { profile }, gpu, kernel, weights };
        let mut refined = Self::default();
        for refinement in refinements {
            match refinement {
                Refinement::SeparateIntegers => refined.add(costs::separate_integers(&inputs)?),
                Refinement::WideShared => refined.add(costs::wide_shared(&inputs)?),
                Refinement::BankConflicts => refined.add(costs::bank_conflicts(&inputs)?),
                Refinement::ConstantSerialisation => {
                    refined.add(costs::constant_serialisation(&inputs)?);
                }
                Refinement::Divergence => {
                    let integers = refined.costs.iter().find(|it| it.symbol == costs::INTEGERS);
                    let integers = integers.map_or(0.0, |added| added.cost);
                    refined.add(costs::divergence(&inputs, integers)?);
                }
                Refinement::LaunchOverhead => {
                    let (overhead_ms, sentence) = roofs::launch_overhead(&inputs)?;
                    refined.overhead_ms = Some(overhead_ms);
                    refined.sentences.push(sentence);
                }
                Refinement::CacheBandwidth => {
                    let (roofs, sentence) = roofs::cache_bandwidth(&inputs)?;
                    refined.roofs = roofs;
                    refined.sentences.push(sentence);
                }
            }
        }
        Ok(refined)
    }

    fn add(&mut self, (cost, sentence): (AddedCost, String)) {
        self.costs.push(cost);
        self.sentences.push(sentence);
    }
}

impl Inputs<'_> {
    /// The sum of metrics, all of which must be there.
    fn sum(&self, metrics: &[&'static str]) -> Result<f64, ModelError> {
        let lacking = self.counts.lacking(metrics);
        if !lacking.is_empty() {
            return Err(self.counts.missing_metrics(lacking));
        }
        metrics.iter().map(|metric| self.counts.require(metric)).sum()
    }

    /// The cost of loads and stores that `passes` of warps stand for, in the unit of eq. 4.14.
    fn load_store_cost(&self, passes: f64) -> f64 {
        super::WARP_LANES * passes / self.kernel.instructions * self.weights.load_store
    }
}
