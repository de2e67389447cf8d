//! The result of counting one launch.

mod doubt;
mod figures;
mod local;
mod reach;
mod sampled;

use std::collections::BTreeMap;
use std::sync::Arc;

use gpucast_interpreter::GridLimits;
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

pub(crate) use doubt::{Answer, Doubt};
use local::LocalShares;

use crate::definitions::{definition, instruction_metrics, metrics};
use crate::hierarchy::L2Traffic;
use crate::machine::{MachineProfile, SharedPasses, shared_passes};
use crate::metric::{Level, MetricValue, Metrics};
use crate::occupancy::CtaShape;
use crate::profile::KernelProfile;
use crate::refusal::{Extents, RequestedLaunch};
use crate::table::BaseTable;
use crate::totals::{Direction, Extent, LaunchFacts, Replay, Totals};
use crate::trace::LaunchTrace;

/// The name and version of the JSON file that holds launch profiles under `launches`.
pub const PROFILE_SCHEMA: &str = "gpucast.profile/1";

/// The counts of one launch.
///
/// Serialises to an entry of `launches` of [`PROFILE_SCHEMA`]. Its fields are `kernel`, `grid`,
/// `block`, `invocations` and `metrics`, each metric with its level. If machine instructions were
/// counted, it also has `machine` and `ptx_metrics`. The base table is not part of it. The table
/// serialises on its own, to a list with one object per static instruction.
#[derive(Clone, Debug, PartialEq)]
pub struct LaunchProfile {
    /// The kernel's name.
    pub kernel: String,
    /// CTAs in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a CTA in x, y and z.
    pub block: [u32; 3],
    /// Invocations of the launch; `metrics` are those of one.
    pub invocations: u64,
    /// Metrics by their nvprof name.
    pub metrics: Metrics,
    /// The same metrics counted on PTX, as far as `metrics` count machine instructions.
    pub ptx_metrics: Metrics,
    /// The machine instructions, if a back end has been asked for them.
    pub machine: Option<MachineProfile>,
    /// Bounds of the metrics that are estimated from a part of the grid: of 95 %.
    pub intervals: Intervals,
    /// The table that every metric was summed from.
    pub table: BaseTable,
    /// The order of events in some CTAs, if it was recorded
    /// ([`Counter::with_trace`](crate::Counter::with_trace)). Of several launches, that of the
    /// first.
    pub trace: Option<Arc<LaunchTrace>>,
    pub(crate) launch: LaunchFacts,
    pub(crate) l2: L2Traffic,
    pub(crate) replay: Replay,
    pub(crate) extent: Extent,
    /// Other tables that the executed or replayed part of a grid admits.
    pub(crate) doubt: Option<Arc<Doubt>>,
}

/// The least and the greatest value of metrics, by name.
pub type Intervals = BTreeMap<String, [f64; 2]>;

impl LaunchProfile {
    /// The profile for one invocation: `l2` is the traffic of the L2, as far as
    /// `replay` says, and the counts are those of `extent`.
    pub(crate) fn new(
        kernel: String,
        (grid, block): ([u32; 3], [u32; 3]),
        launch: LaunchFacts,
        table: BaseTable,
        l2: L2Traffic,
        (replay, extent): (Replay, Extent),
    ) -> Self {
        let mut profile = Self {
            kernel,
            grid,
            block,
            invocations: 1,
            metrics: Metrics::new(),
            ptx_metrics: Metrics::new(),
            machine: None,
            intervals: Intervals::new(),
            table,
            trace: None,
            launch,
            l2,
            replay,
            extent,
            doubt: None,
        };
        profile.metrics = metrics(&profile.totals());
        profile
    }

    /// The resources that a CTA of the launch takes on an SM.
    #[must_use]
    pub fn cta_shape(&self) -> CtaShape {
        self.launch.cta
    }

    /// The launch, as far as a GPU may refuse it.
    #[must_use]
    pub fn requested(&self) -> RequestedLaunch {
        // Such a grid is counted only if the user says that it may be beyond CUDA.
        let most = GridLimits::Cuda.extents();
        let is_possible = self.grid.iter().zip(most).all(|(&extent, most)| extent <= most);
        let grid = is_possible.then_some(self.grid);
        RequestedLaunch {
            cta: self.launch.cta,
            extents: Some(Extents { grid, block: self.block }),
            cluster_ctas: self.launch.cluster_ctas,
            estimated_registers: self.launch.estimated_registers,
        }
    }

    /// Registers of a thread that are surely spilled, and that no machine code shows.
    #[must_use]
    pub fn spilled_registers(&self) -> u32 {
        self.launch.spilled_registers
    }

    /// The same launch with the metrics of instructions counted on the machine's. Their values on
    /// PTX go to [`LaunchProfile::ptx_metrics`]. Local memory that machine code keeps in registers
    /// causes no traffic.
    #[must_use]
    pub fn with_machine(mut self, machine: MachineProfile) -> Self {
        // A second back end finds the table scaled to the first one's local memory.
        if self.machine.take().is_none() {
            self.ptx_metrics = instruction_metrics(&self.totals());
        }
        self.machine = Some(machine);
        if let Some(shares) = LocalShares::of(&self.totals()) {
            shares.apply(&mut self.table, &mut self.l2);
        }
        self.metrics = metrics(&self.totals());
        self.set_intervals();
        self
    }

    /// The same counts with other traffic that they may have.
    pub(crate) fn with_doubt(mut self, doubt: Doubt) -> Self {
        self.doubt = Some(Arc::new(doubt));
        self.set_intervals();
        self
    }

    fn set_intervals(&mut self) {
        if let Some(doubt) = &self.doubt {
            self.intervals = doubt.intervals(self);
        }
    }

    /// Accesses to shared memory in one direction and their passes over the banks, by the PTX
    /// instruction that they stand for: the machine's if they are known. `None` stands for machine
    /// instructions that stand for no PTX instruction.
    #[must_use]
    pub fn shared_passes(&self, direction: Direction) -> BTreeMap<Option<u32>, SharedPasses> {
        shared_passes(&self.table, self.machine.as_ref(), direction)
    }

    /// The level of the instructions that a metric of [`LaunchProfile::metrics`] counts.
    #[must_use]
    pub fn level(&self, metric: &str) -> Level {
        let definition = definition(metric);
        definition.map_or(Level::Ptx, |definition| definition.basis.level(self.machine.is_some()))
    }

    /// True if requests went through caches: otherwise there are no metrics that depend on them.
    #[must_use]
    pub fn has_caches(&self) -> bool {
        self.replay != Replay::None
    }

    /// True if the metrics that depend on caches come from windows of the grid.
    #[must_use]
    pub fn is_of_windows(&self) -> bool {
        matches!(self.replay, Replay::Sampled { in_windows: true, .. })
    }

    /// One line of memory in so many went through the caches, if not all did.
    #[must_use]
    pub fn lines_per_replayed(&self) -> Option<u64> {
        match self.replay {
            Replay::Sampled { lines, .. } if lines > 1 => Some(lines),
            Replay::Sampled { .. } | Replay::Whole | Replay::Part | Replay::None => None,
        }
    }

    /// True if every count is an estimate from a sample of the grid's CTAs.
    #[must_use]
    pub fn is_of_sample(&self) -> bool {
        self.extent == Extent::Sample
    }

    /// CTAs that were drawn at random to estimate the counts, if they were. The ends of the grid
    /// are not among them.
    #[must_use]
    pub fn drawn_ctas(&self) -> Option<u64> {
        self.doubt.as_ref().and_then(|doubt| doubt.drawn_ctas())
    }

    /// True if formulas gave the counts, and no execution.
    #[must_use]
    pub fn is_of_formulas(&self) -> bool {
        self.extent == Extent::Formulas
    }

    /// The part that a model needs.
    #[must_use]
    pub fn to_kernel_profile(&self) -> KernelProfile {
        KernelProfile {
            kernel: self.kernel.clone(),
            invocations: self.invocations,
            measured_on: None,
            metrics: self.metrics.clone(),
        }
    }

    fn totals(&self) -> Totals<'_> {
        Totals {
            table: &self.table,
            machine: self.machine.as_ref(),
            launch: self.launch,
            l2: self.l2,
            replay: self.replay,
            extent: self.extent,
        }
    }
}

/// A metric with its level, as profile files have it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LeveledMetric {
    /// The figure.
    #[serde(flatten)]
    pub figure: MetricValue,
    /// The level of the instructions that it counts.
    pub level: Level,
    /// Bounds of 95 %, if the figure is estimated from a part of the grid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<[f64; 2]>,
}

impl Serialize for LaunchProfile {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let metrics: BTreeMap<&str, LeveledMetric> = self
            .metrics
            .iter()
            .map(|(name, &figure)| {
                let interval = self.intervals.get(name).copied();
                (name.as_str(), LeveledMetric { figure, level: self.level(name), interval })
            })
            .collect();
        let mut profile = serializer.serialize_struct("LaunchProfile", 7)?;
        profile.serialize_field("kernel", &self.kernel)?;
        profile.serialize_field("grid", &self.grid)?;
        profile.serialize_field("block", &self.block)?;
        profile.serialize_field("invocations", &self.invocations)?;
        if let Some(machine) = &self.machine {
            profile.serialize_field("machine", machine)?;
            profile.serialize_field("ptx_metrics", &self.ptx_metrics)?;
        }
        profile.serialize_field("metrics", &metrics)?;
        profile.end()
    }
}

#[cfg(test)]
mod tests;
